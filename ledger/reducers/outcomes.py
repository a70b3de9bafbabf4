"""What a decision leaves in the World: the last result of its subject, or an open refusal.

Deciding and reading history do the same here, so that a World folded from recorded decisions is
the World that made them.
"""

from dataclasses import replace

from ledger.facts.decision import Decision
from ledger.facts.division import Division
from ledger.facts.refusal import Refusal
from ledger.reducers import retries
from ledger.reducers.candidates import wish
from ledger.reducers.rooms import claims_replaced
from ledger.reducers.world import LastDivision, OpenRefusal, Question, World
from ledger.units import DecisionNumber, Position


def decided(world: World, decision: Decision) -> World:
    """The World in which a decision is in force."""
    # Before its event is folded the World stands at the event's position, afterwards behind it.
    position = world.position if decision.deadline else Position(world.position - 1)
    assert decision.position == position, f"{decision.position} is not what is being decided"
    assert decision.number == world.decisions, f"{decision.number} is not the next decision"

    world = replace(
        world,
        decisions=DecisionNumber(decision.number + 1),
        latest=world.latest.set(decision.subject, decision.number),
    )
    world = retries.counted(world, decision)
    match decision.outcome:
        case Division() as division:
            return _divided(world, decision, division)
        case Refusal() as refusal:
            question = Question(refusal.wanted, decision.subject)
            refused = OpenRefusal(decision.number, refusal)
            return retries.opened(world, question, refused, wish(world.workload(decision.subject)))


def _divided(world: World, decision: Decision, division: Division) -> World:
    subject = decision.subject
    epochs = world.divisions.epochs
    if decision.lot is not None:
        epochs = epochs.set(subject, decision.lot.epoch + 1)
    workload = world.workload(subject)
    assert workload is not None, f"{subject} is divided and not there"
    last = LastDivision(
        decision.number, decision.position, division, in_force=True, request=workload.request
    )
    before = world.divisions.last.get(subject)
    world = replace(
        world,
        divisions=replace(
            world.divisions, last=world.divisions.last.set(subject, last), epochs=epochs
        ),
    )
    world = retries.closed(world, Question("division", subject), wish(workload))
    return claims_replaced(world, before, last)
