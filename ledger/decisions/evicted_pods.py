"""Pods that an approved proposal evicts: told to whoever evicts them, and as good as gone from then on.

The ledger has no pods to move and no places of them in its book, so all that follows here is a decision
that names them (``ledger.facts.repair``).
"""

from collections.abc import Sequence

from ledger.decisions.answer import Answered
from ledger.decisions.planned import Hindered, system
from ledger.decisions.pod_classes import class_of
from ledger.facts.canonical import digest
from ledger.facts.proposal import Proposed
from ledger.facts.repair import Repair, ToEvict
from ledger.facts.workload import PodObserved
from ledger.reducers.instances import workload_of
from ledger.reducers.open_proposals import OpenProposal
from ledger.reducers.sightings import crew_of
from ledger.reducers.world import World
from ledger.units import ClusterName, Subject

EVICTED = "evicted"
"""The branch."""


def hindered(world: World, moves: Sequence[Proposed]) -> Hindered | None:
    """The first pod that is not there any more, or is on-demand by now, and so need not go."""
    for place, move in enumerate(moves):
        pod = world.objects.fact("pod", _pod(move))
        if (
            not isinstance(pod, PodObserved)
            or crew_of(world.objects, pod) is None
            or f"{pod.cluster}/{pod.node}" != move.out
            or class_of(world, pod) != "spot"
        ):
            return Hindered(place, "not_movable")
    return None


def carried_out(world: World, proposal: OpenProposal) -> list[Answered]:
    """One decision that names all of them; a proposal of evictions is about one workload."""
    subject = proposal.moves[0].subject
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
            branch=EVICTED,
            outcome=Repair(
                cluster=_cluster(subject),
                evict=tuple(
                    ToEvict(_namespace(subject), move.thing, move.out) for move in proposal.moves
                ),
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
