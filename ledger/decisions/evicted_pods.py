"""Pods that an approved proposal evicts or lowers: told to whoever does that.

Who is evicted is as good as gone from then on, who is lowered counts no more as on-demand.
The ledger has no pods to move and no places of them in its book, so all that follows here is a decision
that names them (``ledger.facts.repair``).
"""

from collections.abc import Sequence

from ledger.core.spot.labels import CapacityClass
from ledger.decisions.answer import Answered
from ledger.decisions.planned import Hindered, system
from ledger.decisions.pod_classes import class_of
from ledger.facts.canonical import digest
from ledger.facts.proposal import Proposed
from ledger.facts.repair import Named, Repair
from ledger.facts.workload import PodObserved
from ledger.reducers.instances import workload_of
from ledger.reducers.open_proposals import OpenProposal
from ledger.reducers.sightings import crew_of
from ledger.reducers.world import World
from ledger.units import ClusterName, Subject

EVICTED = "evicted"
LOWERED = "lowered"
"""The branches."""


def hindered(world: World, moves: Sequence[Proposed]) -> Hindered | None:
    """The first pod to be evicted that is gone, or on-demand by now, and so need not go."""
    return _hindered(world, moves, "spot")


def lowering_hindered(world: World, moves: Sequence[Proposed]) -> Hindered | None:
    """The first pod to be lowered that is gone, or on-demand no more."""
    return _hindered(world, moves, "od")


def _hindered(world: World, moves: Sequence[Proposed], while_: CapacityClass) -> Hindered | None:
    for place, move in enumerate(moves):
        pod = world.objects.fact("pod", _pod(move))
        if (
            not isinstance(pod, PodObserved)
            or crew_of(world.objects, pod) is None
            or f"{pod.cluster}/{pod.node}" != move.out
            or class_of(world, pod) != while_
        ):
            return Hindered(place, "not_movable")
    return None


def carried_out(world: World, proposal: OpenProposal) -> list[Answered]:
    """One decision that names all who go; a proposal of evictions is about one workload."""
    return _named(world, proposal, EVICTED)


def lowered(world: World, proposal: OpenProposal) -> list[Answered]:
    """One decision that names all who are lowered."""
    return _named(world, proposal, LOWERED)


def _named(world: World, proposal: OpenProposal, branch: str) -> list[Answered]:
    subject = proposal.moves[0].subject
    pods = tuple(Named(_namespace(subject), move.thing, move.out) for move in proposal.moves)
    by = system(world, "repair")
    return [
        Answered(
            subject=subject,
            algorithm=by.name,
            version=by.version,
            inputs=digest(
                {
                    "proposal": proposal.number,
                    "moves": [[move.thing, move.out] for move in proposal.moves],
                }
            ).hex(),
            branch=branch,
            outcome=Repair(
                cluster=_cluster(subject),
                evict=pods if branch == EVICTED else (),
                lower=pods if branch == LOWERED else (),
                proposal=proposal.number,
                because=("approved",),
            ),
            moved=0,
        )
    ]


def _pod(move: Proposed) -> Subject:
    """A pod everywhere."""
    return Subject(f"{_cluster(move.subject)}/{_namespace(move.subject)}/{move.thing}")


def _cluster(subject: Subject) -> ClusterName:
    return ClusterName(subject.rpartition("@")[2])


def _namespace(subject: Subject) -> str:
    return workload_of(subject).partition("/")[0]
