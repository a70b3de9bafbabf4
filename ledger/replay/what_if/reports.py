"""Which reports speak of what was decided otherwise in a branch, and what is to be made of them.

Clusters report what became of what the ledger really decided. In a branch that decided otherwise a
pod on a node where the branch placed nothing says nothing, and a pod that ended where the branch
still has an instance has not ended there. Such reports are left out and counted. They are those

- of pods of a workload whose nodes the ledger decides, on a node where it has another number of
  instances or tasks in the branch than it had in the log; a full list leaves such pods as they were;
- of a replica of a volume that is on another disk, or on none;
- of a proposal that the branch did not make, or made with other moves.

Everything else is taken as it was said: nodes, disks and what is left on them, and that a task is done.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import replace as with_other
from typing import Literal

from immutables import Map

from ledger.facts.cluster import InventoryListed
from ledger.facts.control import ProposalApproved
from ledger.facts.disk import ReplicaFailed, ReplicaRecovered
from ledger.facts.event import Fact, MessageReleased, OwnFact
from ledger.facts.workload import PodDeleted, PodObserved
from ledger.reducers.pods import decided
from ledger.reducers.replicas import Address, numbered
from ledger.reducers.sightings import Crew, crew_of
from ledger.reducers.world import World
from ledger.units import Subject

Ignored = Literal["pods", "replicas", "approvals"]

_NOBODY: Map[Subject, int] = Map()


@dataclass(frozen=True, slots=True)
class Heard:
    """What is left of a report in the branch."""

    fact: Fact | None
    """None: nothing."""
    ignored: tuple[tuple[Ignored, int], ...] = ()


def heard(log: World, branch: World, subject: Subject, fact: Fact) -> Heard:
    """What the branch hears; ``log`` is what really was just before."""
    match fact:
        case PodObserved() | PodDeleted():
            if _pod_elsewhere(log, branch, subject, fact):
                return Heard(None, (("pods", 1),))
            return Heard(fact)
        case InventoryListed(noun="pod"):
            return _list_heard(log, branch, fact)
        case ReplicaFailed() | ReplicaRecovered():
            if _address(log, fact) != _address(branch, fact):
                return Heard(None, (("replicas", 1),))
            return Heard(fact)
        case ProposalApproved():
            return _approval_heard(log, branch, fact)
        case MessageReleased():
            inner = heard(log, branch, fact.subject, fact.fact)
            if inner.fact is None or inner.fact is fact.fact:
                return Heard(None if inner.fact is None else fact, inner.ignored)
            assert not isinstance(inner.fact, OwnFact), "what was heard of it is of the same kind"
            return Heard(with_other(fact, fact=inner.fact), inner.ignored)
        case _:
            return Heard(fact)


def _pod_elsewhere(
    log: World, branch: World, subject: Subject, fact: PodObserved | PodDeleted
) -> bool:
    known = fact if isinstance(fact, PodObserved) else None
    for world in (log, branch):
        before = world.objects.fact("pod", subject)
        if known is None and isinstance(before, PodObserved):
            known = before
    return known is not None and any(
        _decided_otherwise(log, branch, crew) for crew in _crews(log, branch, known)
    )


def _crews(log: World, branch: World, pod: PodObserved) -> Iterator[Crew]:
    """Whose a pod is where it is, as long as it lives."""
    alive = with_other(pod, phase="Running", terminating=False)
    for world in (log, branch):
        crew = crew_of(world.objects, alive)
        if crew is not None:
            yield crew


def _decided_otherwise(log: World, branch: World, crew: Crew) -> bool:
    if decided(log, crew) is None and decided(branch, crew) is None:
        return False
    return _placed(log, crew) != _placed(branch, crew)


def _placed(world: World, crew: Crew) -> int:
    instances = world.deployments.on.get(crew.node, _NOBODY).get(crew.subject, 0)
    return instances + world.jobs.on.get(crew.node, _NOBODY).get(crew.owner, 0)


def _list_heard(log: World, branch: World, fact: InventoryListed) -> Heard:
    there = frozenset(fact.keys)
    kept = []
    for subject in branch.objects.inside("pod", fact.cluster):
        pod = branch.objects.fact("pod", subject)
        if subject in there or not isinstance(pod, PodObserved):
            continue
        if any(_decided_otherwise(log, branch, crew) for crew in _crews(log, branch, pod)):
            kept.append(subject)
    if not kept:
        return Heard(fact)
    return Heard(with_other(fact, keys=tuple(sorted((*fact.keys, *kept)))), (("pods", len(kept)),))


def _address(world: World, fact: ReplicaFailed | ReplicaRecovered) -> Address | None:
    volume = Subject(fact.volume)
    copies = world.disks.volumes.get(volume)
    if copies is None or copies.over:
        return None
    one = numbered(volume, copies, fact.replica)
    return None if one is None else one.at


def _approval_heard(log: World, branch: World, fact: ProposalApproved) -> Heard:
    """Decisions have other numbers in a branch, so a proposal is known by what it would move."""
    matter = log.proposals.matters.get(fact.proposal)
    if matter is None:
        return Heard(None)  # It did nothing, and there is nothing to be found by its number.
    there, here = log.proposals.open[matter], branch.proposals.open.get(matter)
    if here is None or here.moves != there.moves:
        return Heard(None, (("approvals", 1),))
    return Heard(with_other(fact, proposal=here.number))
