"""Which clusters a workload may be divided over, and which workloads a cluster's change touches.

The candidates of a wish are the clusters it names; else those its selector matches; else those it
gives a weight; else every cluster: of these, the ones that exist and count, which is to say are
ready or were so recently (``ledger.reducers.clusters``).

So that a cluster's change costs what it touches, each wish is listed under hooks: the clusters it
names, one of the labels it selects by, or one hook for all that take every cluster. A change looks
only under the hooks of the cluster that changed, and only a workload for which the cluster becomes
a candidate or stops being one is touched.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from immutables import Map

from ledger.facts.workload import DivisionSpec, WorkloadUpserted
from ledger.reducers.world import Causes, Cluster, Due, Question, World
from ledger.units import ClusterName, Subject

Hook = tuple[str, ...]

_EVERY: Final[Hook] = ("every",)
_NOBODY: Final[Map[Subject, None]] = Map()
_TOUCHED: Final[Causes] = frozenset({"candidates"})


@dataclass(frozen=True, slots=True)
class Candidates:
    """Who can be weighed, and who was named or matched and cannot, each in order of the names."""

    clusters: tuple[ClusterName, ...]
    passed_over: tuple[tuple[ClusterName, str], ...]


def wish(workload: WorkloadUpserted | None) -> DivisionSpec | None:
    """How a workload wants to be divided; a job with a queue does not, its tasks are allocated."""
    if workload is None or (workload.kind == "Job" and workload.queue is not None):
        return None
    return workload.division


def candidates(world: World, spec: DivisionSpec) -> Candidates:
    """The candidates of a wish as things are."""
    return _candidates(world.clusters, spec)


# Wishes are asked about again and again while no cluster changes as far as they can see.
@lru_cache(maxsize=1 << 12)
def _candidates(known: Map[ClusterName, Cluster], spec: DivisionSpec) -> Candidates:
    names = named(spec)
    selects = names is None and bool(spec.cluster_selector)
    clusters: list[ClusterName] = []
    passed_over: list[tuple[ClusterName, str]] = []
    for name in sorted(known) if names is None else names:
        cluster = known.get(name)
        if cluster is None:
            passed_over.append((name, "unknown"))
        elif selects and not _matches(spec, cluster):
            continue
        elif cluster.counts:
            clusters.append(name)
        else:
            passed_over.append((name, "not_ready"))
    return Candidates(tuple(clusters), tuple(passed_over))


def unmatched(world: World, spec: DivisionSpec) -> tuple[tuple[ClusterName, str], ...]:
    """The clusters that a wish passes by because it selects others, in order.

    Every cluster is looked at, so this is for those who say why nothing came of a wish.
    """
    if named(spec) is not None:
        return ()
    known = world.clusters
    return tuple((name, "selector") for name in sorted(known) if not _matches(spec, known[name]))


def list_under(
    interested: Map[Hook, Map[Subject, None]],
    subject: Subject,
    *,
    before: DivisionSpec | None,
    after: DivisionSpec | None,
) -> Map[Hook, Map[Subject, None]]:
    """The index with a workload under the hooks of its new wish and no longer of its old one."""
    old = _hooks(before)
    new = _hooks(after)
    if old == new:
        return interested
    for hook in old:
        left = interested[hook].delete(subject)
        interested = interested.set(hook, left) if left else interested.delete(hook)
    for hook in new:
        interested = interested.set(hook, interested.get(hook, _NOBODY).set(subject, None))
    return interested


def touched(
    world: World, name: ClusterName, *, before: Cluster | None, after: Cluster | None
) -> Due:
    """The workloads whose set of candidates changes when a cluster does; ``world`` is either side."""
    counted = before is not None and before.counts
    counts = after is not None and after.counts
    interested = world.divisions.interested
    due: dict[Question, Causes] = {}
    for hook in _hooks_of(name, before, after):
        # In no order, into a map that has none.
        for subject in interested.get(hook, _NOBODY):
            spec = wish(world.workload(subject))
            assert spec is not None, f"{subject} is listed without a wish"
            by_name = named(spec) is not None
            was = counted and (by_name or _matches(spec, before))
            is_ = counts and (by_name or _matches(spec, after))
            if was != is_:
                due[Question("division", subject)] = _TOUCHED
    return Map(due)


def concerned(
    world: World, listed: Map[Hook, Map[Subject, None]], name: ClusterName
) -> list[Subject]:
    """Who of those listed under hooks may be divided to a cluster as it is, in order."""
    cluster = world.clusters.get(name)
    if cluster is None or not cluster.counts:
        return []
    hooks = [("cluster", name), _EVERY, *(("label", *label) for label in cluster.labels)]
    found: set[Subject] = set()
    for hook in hooks:
        for subject in listed.get(hook, _NOBODY):
            spec = wish(world.workload(subject))
            assert spec is not None, f"{subject} is listed without a wish"
            if named(spec) is not None or _matches(spec, cluster):
                found.add(subject)
    return sorted(found)


def named(spec: DivisionSpec) -> tuple[ClusterName, ...] | None:
    """The clusters that a wish names; None if it takes what matches instead."""
    if spec.clusters:
        return tuple(sorted(set(spec.clusters)))
    if spec.cluster_selector or not spec.weights:
        return None
    return tuple(sorted(cluster for cluster, _ in spec.weights))


def _matches(spec: DivisionSpec, cluster: Cluster | None) -> bool:
    """Whether a cluster has every label that is selected by; no selector takes every cluster."""
    return cluster is not None and all(label in cluster.labels for label in spec.cluster_selector)


def _hooks(spec: DivisionSpec | None) -> tuple[Hook, ...]:
    if spec is None:
        return ()
    names = named(spec)
    if names is not None:
        return tuple(("cluster", name) for name in names)
    if spec.cluster_selector:
        # One label is enough to be found by; the others are checked when it is.
        return (("label", *spec.cluster_selector[0]),)
    return (_EVERY,)


def _hooks_of(name: ClusterName, before: Cluster | None, after: Cluster | None) -> Iterator[Hook]:
    """Where the workloads are listed for which this change can make a difference."""
    counted = before is not None and before.counts
    counts = after is not None and after.counts
    labels_before = () if before is None else before.labels
    labels_after = () if after is None else after.labels
    if not (counted or counts) or (counted == counts and labels_before == labels_after):
        return
    if counted != counts:
        yield ("cluster", name)
        yield _EVERY
    for label in sorted({*labels_before, *labels_after}):
        yield ("label", *label)
