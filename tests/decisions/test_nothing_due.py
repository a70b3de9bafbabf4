"""Where nothing is due nobody is asked, and asking everybody would have come to nothing."""

from ledger.decisions.decide import ask_everybody, is_nothing_due
from ledger.decisions.step import advance
from ledger.reducers import deadlines, lives
from ledger.reducers.evolve import evolve, lapse
from tests.simulated import beginning, events

EVENTS = 1500


def test_where_nothing_is_due_asking_everybody_decides_and_changes_nothing() -> None:
    world, quiet, loud = beginning(), 0, 0

    for event in events(7, EVENTS):
        before = lives.entered(world, event)
        fired = deadlines.due(before.deadlines, event.recorded_at) is not None
        folded = lapse(before) if fired else evolve(before, event)
        if is_nothing_due(folded):
            asked = ask_everybody(folded, event)
            assert asked.decisions == ()
            assert asked.world == folded
            quiet += 1
        else:
            loud += 1
        world = advance(world, event).world

    assert quiet > EVENTS // 10
    assert loud > EVENTS // 10
