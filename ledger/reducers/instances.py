"""Which instances of workloads are on which nodes, and what each subject still waits for.

A subject is a workload in one cluster. What it has there is kept as the last decision about it said,
less what was lost since; beside that stands what a next decision needs: the share, the lost numbers
that wait for another place, whether an order for so many on each node is open.

So that an event costs what it touches, there is an index of who sits on a node, and one of the
clusters in which a workload is or was. What follows from a change is told elsewhere
(``ledger.reducers.deployments``).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from immutables import Map

from ledger.facts.deployment import Instance, Waiting
from ledger.reducers.book import Change, Holding
from ledger.reducers.replacing import replace
from ledger.units import ClusterName, DecisionNumber, NodeName, Subject, Uid


class Deployed(NamedTuple):
    """A workload in one cluster."""

    workload: Subject
    cluster: ClusterName
    uid: Uid
    """Of the life that the instances belong to."""
    share: int
    instances: tuple[Instance, ...] = ()
    """In force, by number."""
    waiting: tuple[Waiting, ...] = ()
    """Lost ones that wait for another place, by number."""
    lost: tuple[NodeName, ...] = ()
    """The nodes of those that were lost since the last decision."""
    awaited: tuple[NodeName, ...] = ()
    """The nodes of those that had been lost before it, and that it left waiting."""
    ordered: bool = False
    """Whether so many instances on each node were ordered and not placed yet."""
    number: DecisionNumber | None = None
    """Of the last deployment decision."""
    over: bool = False
    """Whether the life that the instances belong to is over: all of them are to be given up."""
    target: int | None = None
    """How many of the lowest numbers belong on on-demand nodes, as a decision said last; None: none did
    since what that depends on changed."""


class LastTarget(NamedTuple):
    """What was recorded last about a subject's capacity class."""

    target: int | None
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Deployments:
    """All of them."""

    of: Map[Subject, Deployed]
    """By workload@cluster: where there is a share, something is held, or was and no decision tells
    that it is lost."""
    on: Map[Subject, Map[Subject, int]]
    """Who has how many instances on a node, by cluster/node."""
    clusters: Map[Subject, Map[ClusterName, None]]
    """The clusters in which a workload has or had a share, for as long as it is known; after that,
    those in which it still holds something."""
    targets: Map[Subject, LastTarget]
    annotations: Map[Subject, str]
    """The newest text about availability that could be read, by workload."""


NO_DEPLOYMENTS: Final = Deployments(Map(), Map(), Map(), Map(), Map())

_NOBODY: Final[Map[Subject, int]] = Map()


def subject_of(workload: Subject, cluster: ClusterName) -> Subject:
    """What decisions about a workload in a cluster are about; no name holds an ``@``."""
    return Subject(f"{workload}@{cluster}")


def workload_of(subject: Subject) -> Subject:
    """Whose share a subject is."""
    return Subject(subject.rpartition("@")[0])


def node_of(cluster: ClusterName, node: NodeName) -> Subject:
    """A node everywhere."""
    return Subject(f"{cluster}/{node}")


def there(deployments: Deployments, subject: Subject, node: Subject) -> tuple[Instance, ...]:
    """The instances of a subject on a node, by number."""
    if subject not in deployments.on.get(node, _NOBODY):
        return ()
    name = node.partition("/")[2]
    return tuple(one for one in deployments.of[subject].instances if one.node == name)


def holding(instance: Instance) -> Holding:
    """What an instance takes of its node."""
    request, storage, _ = instance.terms
    devices: dict[str, int] = {}
    for volume in instance.volumes:
        devices[volume.device] = devices.get(volume.device, 0) + volume.size
    return Holding(
        cpu=request.cpu if request.cpu_bind else 0,
        memory=request.memory,
        storage=storage,
        pods=1,
        pieces=instance.cores,
        numa=((instance.group, request.memory),) if instance.group and request.memory else (),
        volumes=tuple((device, size) for device, size in sorted(devices.items()) if size),
    )


def on_demand_below(held: Deployed, target: int) -> int:
    """The number below which all belong on on-demand nodes, as many as the target says.

    They are the lowest of those that are held, lost or not placed yet together.
    """
    used = sorted([*(one.number for one in held.instances), *(one.number for one in held.waiting)])
    new = max(0, held.share - len(used))
    found = end = 0
    for number in used:
        # A share may be far larger than what is held, so new numbers are counted and not made.
        before = min(number - end, new, target - found)
        if found + before == target:
            return end + before
        new -= before
        found += before + 1
        end = number + 1
    return end + target - found


def exchanged(
    cluster: ClusterName, before: Iterable[Instance], after: Iterable[Instance]
) -> list[Change]:
    """What a subject takes and gives back when these instances take the place of those."""
    counts: dict[tuple[NodeName, Holding], int] = {}
    left = {one.number: one for one in before}
    for instance in after:
        if left.get(instance.number) == instance:
            # Most stay as they are, and take what they took.
            del left[instance.number]
        else:
            where = instance.node, holding(instance)
            counts[where] = counts.get(where, 0) + 1
    for instance in left.values():
        where = instance.node, holding(instance)
        counts[where] = counts.get(where, 0) - 1
    return [
        Change(node_of(cluster, node), what, times)
        for (node, what), times in counts.items()
        if times
    ]


def with_deployed(deployments: Deployments, subject: Subject, after: Deployed) -> Deployments:
    """With what a subject now has; one that has nothing and is to have nothing is not kept.

    What it lost has to be told by a decision first.
    """
    before = deployments.of.get(subject)
    of = deployments.of
    if after.share or after.instances or after.lost:
        of = of.set(subject, after)
    elif before is not None:
        of = of.delete(subject)
    clusters = deployments.clusters
    known = clusters.get(after.workload)
    if known is None or after.cluster not in known:
        named: Map[ClusterName, None] = Map() if known is None else known
        clusters = clusters.set(after.workload, named.set(after.cluster, None))
    held = () if before is None else before.instances
    on = deployments.on
    if held is not after.instances:
        on = _seated(on, subject, after.cluster, held, after.instances)
    return replace(deployments, of=of, on=on, clusters=clusters)


def forgotten(deployments: Deployments, workload: Subject) -> tuple[Deployments, list[Subject]]:
    """Without what was only remembered about a workload; also says who of its subjects is no more."""
    targets, left, gone = deployments.targets, deployments.clusters[workload], []
    for cluster in sorted(left):
        subject = subject_of(workload, cluster)
        if subject not in deployments.of:
            gone.append(subject)
            left = left.delete(cluster)
            targets = targets.delete(subject) if subject in targets else targets
    clusters = deployments.clusters
    clusters = clusters.set(workload, left) if left else clusters.delete(workload)
    return replace(deployments, targets=targets, clusters=clusters), gone


def _seated(
    on: Map[Subject, Map[Subject, int]],
    subject: Subject,
    cluster: ClusterName,
    before: tuple[Instance, ...],
    after: tuple[Instance, ...],
) -> Map[Subject, Map[Subject, int]]:
    more: dict[NodeName, int] = {}
    for instance in after:
        more[instance.node] = more.get(instance.node, 0) + 1
    for instance in before:
        more[instance.node] = more.get(instance.node, 0) - 1
    for name in sorted(more):
        if not more[name]:
            continue
        node = node_of(cluster, name)
        seated = on.get(node, _NOBODY)
        count = seated.get(subject, 0) + more[name]
        seated = seated.set(subject, count) if count else seated.delete(subject)
        on = on.set(node, seated) if seated else on.delete(node)
    return on
