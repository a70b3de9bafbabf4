"""An approved proposal is carried out, or refused because it cannot be any more.

The moves are looked at in their order, each in the World that those before it leave behind; whether
they still lower the score is not asked again. If all of them can be made, each owner of something
that is moved gets one ordinary decision of its kind, which names the proposal. If one cannot, none is
made: the refusal names the first that stands in the way, closes the proposal and waits for nothing.

Whoever is to be decided anyway in the same event is not moved before: its proposal is refused too.
Of several approved proposals, which only a ``hold`` makes possible, one is carried out in each event,
the lowest number first.
"""

from collections.abc import Sequence
from typing import Final

from ledger.decisions import moved_replicas
from ledger.decisions.answer import REFUSED, Answered
from ledger.decisions.planned import Hindered, system
from ledger.facts.canonical import digest
from ledger.facts.proposal import Proposed
from ledger.facts.reason import losers
from ledger.facts.refusal import Refusal
from ledger.reducers.open_proposals import Matter, OpenProposal
from ledger.reducers.retries import WAITS_FOR_NOTHING
from ledger.reducers.world import Question, World
from ledger.units import DecisionNumber

BEING_DECIDED: Final = "being_decided"


def is_due(world: World) -> bool:
    """Whether a proposal was approved and is open."""
    return bool(world.proposals.approved)


def answer(world: World) -> Sequence[Answered]:
    """Carry out the first approved proposal."""
    number = min(world.proposals.approved)
    matter = world.proposals.matters[number]
    proposal = world.proposals.open[matter]
    hindered = _in_decision(world, proposal.moves) or moved_replicas.hindered(world, proposal.moves)
    if hindered is not None:
        return [_refused(world, matter, proposal, hindered)]
    return moved_replicas.carried_out(world, proposal)


def closes(refusal: Refusal) -> DecisionNumber | None:
    """Which proposal a refused approval closes; None where a request was refused."""
    number = dict(refusal.detail).get("proposal")
    return None if number is None else DecisionNumber(number)


def _in_decision(world: World, moves: Sequence[Proposed]) -> Hindered | None:
    """The first move of something about whose owner a question is due."""
    for place, move in enumerate(moves):
        if Question("disk_placement", move.subject) in world.due:
            return Hindered(place, BEING_DECIDED)
    return None


def _refused(world: World, matter: Matter, proposal: OpenProposal, hindered: Hindered) -> Answered:
    move = proposal.moves[hindered.place]
    told = f"{move.thing} {move.out} -> {move.into}"
    by = system(world, matter.what)
    return Answered(
        subject=matter.subject,
        algorithm=by.name,
        version=by.version,
        inputs=digest({"proposal": proposal.number, "move": hindered}).hex(),
        branch=REFUSED,
        outcome=Refusal(
            wanted="proposal",
            reason=hindered.why,
            waits_for=WAITS_FOR_NOTHING,
            detail=(
                ("move", hindered.place + 1),
                ("moves", len(proposal.moves)),
                ("proposal", proposal.number),
            ),
            losers=losers([(told, hindered.why)]),
            because=("approved",),
        ),
        moved=0,
    )
