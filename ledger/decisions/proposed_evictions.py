"""Which pods would be evicted, so that what comes instead is on-demand; and which are so needlessly.

This is for workloads whose nodes the ledger does not decide: it knows them by their pods. A running pod
cannot be moved, but its replacement is admitted anew, and on-demand as long as too few are. The core
says who is short, and only of what has come to rest (``ledger.core.spot.repair``): of a Deployment each
ReplicaSet by itself, with as many pods as it was told to have; of a StatefulSet all of it, by ordinals.
How old a pod is no report says, so the last by name counts as the youngest.

A pod is of the class that it was admitted to, or that its label or node says (``pod_classes``). Where
nobody says anything of one of the pods, nothing is proposed for those that it is counted with. Whoever
was told to go already, or must be gone by what else was admitted, is as good as gone: then nothing is
at rest, no more than while a reservation is open. Every replica is wanted where the workload is not divided; else
the share of the cluster.

Of a Deployment's pods more may be on-demand than are due: a minimum was lowered, a share of fewer replicas
is smaller, or one that was given up came after all. They disturb nobody and nobody is evicted. But their
deletion cost keeps them longest, so the last of them by name are proposed to be lowered.

The score is how many are short, ``deficit``, or how many are too many, ``surplus``.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final, Literal, NamedTuple

from ledger.core.spot import ordinal
from ledger.core.spot.labels import DESIRED_WORDS, CapacityClass
from ledger.core.spot.slots import Held, Template
from ledger.core.spot.target import Target
from ledger.decisions import versions
from ledger.decisions.capacity_class import replicas_in, target_of
from ledger.decisions.planned import Limits, Planned
from ledger.decisions.pod_classes import class_of
from ledger.decisions.versions import SpotRules
from ledger.facts.proposal import Proposed
from ledger.facts.workload import PodObserved, ReplicaSetUpserted, WorkloadUpserted
from ledger.reducers.instances import workload_of
from ledger.reducers.sightings import behind
from ledger.reducers.world import World
from ledger.units import Bytes, ClusterName, Subject

Code = Literal["deficit", "surplus"]

NOTHING_MORE: Final = Planned(
    "surplus", Fraction(0), Fraction(0), (), "no_better_move", lambda: "nothing_more"
)


class Seen(NamedTuple):
    """A pod that runs; in the order of the names."""

    name: str
    node: Subject
    capacity: CapacityClass | None
    behind: Subject | None
    """The ReplicaSet that it names."""
    pinned: bool
    """Whether its user insists on its class: then what comes instead would have the same."""
    has_row: bool
    """Whether its template's reservations are kept, and it is among them."""


class Standing(NamedTuple):
    """The pods of a workload in a cluster, and how many of them are wanted and on-demand."""

    workload: WorkloadUpserted
    share: int
    target: Target
    pods: list[Seen]


def standing(world: World, subject: Subject) -> Standing | None:
    """How a workload stands whose nodes the ledger does not decide; None where no class is due."""
    workload = world.workload(workload_of(subject))
    if workload is None or workload.deploy is not None:
        return None
    cluster = ClusterName(subject.rpartition("@")[2])
    share = replicas_in(world, workload, cluster)
    if share is None:
        return None
    target = target_of(world, workload, share)
    if target.pods is None:
        return None
    return Standing(workload, share, target, _seen(world, workload, cluster))


def evictions(world: World, subject: Subject, stands: Standing, limits: Limits) -> Planned | None:
    """Those that would mend what is short; None where nothing is, or can be said to be."""
    rules = versions.spot(world.policy.algorithms.spot)
    if stands.workload.kind == "StatefulSet":
        going = _of_set(rules, stands)
    else:
        going = [
            one
            for told, group in _templates(world, stands.pods)
            for one in _of_template(rules, group, told, stands.target, "deficit")
        ]
    return _planned(world, subject, stands, limits, going, "deficit")


def lowerings(world: World, subject: Subject, stands: Standing, limits: Limits) -> Planned | None:
    """What would make those easy to take that are too many; None where nobody is.

    Of a StatefulSet the highest ordinals go first, whatever they cost.
    """
    if stands.workload.kind == "StatefulSet":
        return None
    rules = versions.spot(world.policy.algorithms.spot)
    lowered = [
        one
        for told, group in _templates(world, stands.pods)
        for one in _of_template(rules, group, told, stands.target, "surplus")
    ]
    return _planned(world, subject, stands, limits, lowered, "surplus")


def _planned(
    world: World,
    subject: Subject,
    stands: Standing,
    limits: Limits,
    going: Sequence[Seen],
    measure: Code,
) -> Planned | None:
    if not going:
        return None
    moves = going[: limits.moves]
    target = stands.target
    return Planned(
        measure=measure,
        before=Fraction(len(going)),
        after=Fraction(len(going) - len(moves)),
        moves=tuple(
            Proposed(
                subject=subject,
                thing=one.name,
                out=one.node,
                into="",
                size=Bytes(0),
                score=Fraction(len(going) - place),
            )
            for place, one in enumerate(moves, start=1)
        ),
        ended="no_better_move" if len(moves) == len(going) else "max_moves",
        inputs=lambda: {
            "subject": subject,
            "share": stands.share,
            "target": target.pods,
            "mode": target.mode,
            "pods": stands.pods,
            "told": [[told, len(group)] for told, group in _templates(world, stands.pods)],
        },
    )


def _seen(world: World, workload: WorkloadUpserted, cluster: ClusterName) -> list[Seen]:
    """The pods of a workload that run in a cluster and stay, by name."""
    owner = Subject(f"{workload.namespace}/{workload.name}")
    found = []
    for crew in sorted(world.pods.of.get(owner, ())):
        if crew.cluster != cluster or crew.kind != workload.kind:
            continue
        for name in sorted(world.pods.crews.get(crew, ())):
            pod = world.objects.fact("pod", crew.pod(name))
            assert isinstance(pod, PodObserved), f"{name} is no pod"
            row = world.admissions.row_of(pod)
            gone = row is not None and row.standing != "confirmed"
            if not gone and world.proposals.evicted.get(crew.pod(name)) != pod.uid:
                pinned = row is not None and row.pinned
                class_ = class_of(world, pod)
                found.append(
                    Seen(name, crew.node, class_, behind(pod), pinned, has_row=row is not None)
                )
    return sorted(found, key=lambda one: one.name)


def _templates(world: World, pods: Sequence[Seen]) -> Iterator[tuple[int | None, list[Seen]]]:
    """The pods of each ReplicaSet, and how many it was told to have, if that was heard."""
    groups: dict[Subject, list[Seen]] = {}
    for one in pods:
        if one.behind is not None:
            groups.setdefault(one.behind, []).append(one)
    for replicaset in sorted(groups):
        kept = world.admissions.templates.get(replicaset)
        if kept is not None and kept.open:
            continue
        fact = world.objects.fact("replicaset", replicaset)
        told = fact.replicas if isinstance(fact, ReplicaSetUpserted) else None
        yield told, groups[replicaset]


def _of_template(
    rules: SpotRules, pods: Sequence[Seen], told: int | None, target: Target, code: Code
) -> list[Seen]:
    """Who of the pods of one template is to go, or to be lowered."""
    if any(one.capacity is None for one in pods):
        return []
    of = {
        capacity: Held(
            confirmed=tuple(place for place, one in enumerate(pods) if one.capacity == capacity)
        )
        for capacity in DESIRED_WORDS
    }
    found = rules.repair(Template(replicas=told, od=of["od"], spot=of["spot"]), target)
    if found is None or found.code != code:
        return []
    candidates = [pods[place] for place in found.candidates]
    if code == "surplus":
        # Nobody remembers of a pod without a row that it was lowered.
        candidates = [one for one in candidates if one.has_row]
    return [one for one in candidates if not one.pinned][: found.count]


def _of_set(rules: SpotRules, stands: Standing) -> list[Seen]:
    """Who of the pods of a StatefulSet is to go."""
    name, target = stands.workload.name, stands.target
    by_index: dict[int, Seen] = {}
    for one in stands.pods:
        index = ordinal.place(ordinal.Pod(one.name, name), target).index
        if index is None or one.capacity is None:
            return []
        by_index[index] = one
    if len(by_index) != stands.share:
        return []
    due = rules.recreate({index: one.capacity for index, one in by_index.items()}, target)
    return [by_index[index] for index in due]
