"""Instances that an approved proposal moves: on the nodes that it names, bound anew there.

The moves are looked at in their order, each on nodes as those before it leave them
(``ledger.decisions.seats``). Each workload in a cluster that has one among them gets one decision.
"""

from collections.abc import Sequence

from ledger.decisions.answer import Answered
from ledger.decisions.deployment_record import SYSTEM, changes, moved
from ledger.decisions.moved_replicas import MOVED
from ledger.decisions.planned import Hindered
from ledger.decisions.seats import Floor
from ledger.facts.canonical import digest
from ledger.facts.deployment import Deployment, Move
from ledger.facts.proposal import Proposed
from ledger.facts.reason import NO_LOSERS
from ledger.reducers.instances import workload_of
from ledger.reducers.open_proposals import OpenProposal
from ledger.reducers.world import Question, World
from ledger.units import NodeName, Subject


def hindered(world: World, moves: Sequence[Proposed]) -> Hindered | None:
    """The first move that cannot be made, and why."""
    return _made(world, moves)[1]


def carried_out(world: World, proposal: OpenProposal) -> list[Answered]:
    """One decision for each workload in a cluster with instances that are moved."""
    floor, in_the_way = _made(world, proposal.moves)
    assert in_the_way is None, "all moves can be made"
    return [
        _moved(world, floor, subject, proposal)
        for subject in sorted({move.subject for move in proposal.moves})
    ]


def _made(world: World, moves: Sequence[Proposed]) -> tuple[Floor, Hindered | None]:
    """Make the moves in thought, as far as they can be made."""
    floor = Floor(world)
    for place, move in enumerate(moves):
        seats = floor.of(move.subject)
        if seats is None:
            return floor, Hindered(place, "not_movable")
        number, into = int(move.thing), _node(move.into)
        why = seats.hindrance(number, _node(move.out), into)
        if why is not None:
            return floor, Hindered(place, why)
        floor.move(seats, number, into)
    return floor, None


def _moved(world: World, floor: Floor, subject: Subject, proposal: OpenProposal) -> Answered:
    seats = floor.of(subject)
    assert seats is not None, f"{subject} has instances that are moved"
    was = seats.held
    namespace, name = workload_of(subject).split("/")
    after = tuple(seats.instances[number] for number in sorted(seats.instances))
    moves = [move for move in proposal.moves if move.subject == subject]
    decided = Deployment(
        namespace=namespace,
        workload=name,
        uid=was.uid,
        cluster=was.cluster,
        share=was.share,
        strategy=seats.deploy.strategy,
        instances=after,
        waiting=was.waiting,
        ordered=was.ordered,
        complete=Question("deployment", subject) not in world.refusals,
        target=seats.target,
        changes=changes(was, after),
        moves=tuple(
            sorted(
                Move(int(move.thing), _node(move.out), _node(move.into), "proposal")
                for move in moves
            )
        ),
        given_up=(),
        asked=(),
        losers=NO_LOSERS,
        because=("approved",),
        proposal=proposal.number,
    )
    return Answered(
        subject=subject,
        algorithm=SYSTEM,
        version=world.policy.algorithms.placement,
        inputs=digest(
            {
                "proposal": proposal.number,
                "held": [[one.number, one.node] for one in was.instances],
                "moves": [[move.thing, move.out, move.into] for move in moves],
            }
        ).hex(),
        branch=MOVED,
        outcome=decided,
        moved=moved(was, decided),
    )


def _node(name: str) -> NodeName:
    """A node in its cluster, which has no slash in its name."""
    return NodeName(name.partition("/")[2])
