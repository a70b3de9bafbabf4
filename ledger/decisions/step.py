"""One event through the pure heart: the single path that live deciding and replay share.

    step = advance(world, event)

fires each deadline that passed before the event and decides what it raises, folds the event, and
decides what that raises. It is evolve and decide and nothing else. The engine writes
``step.decisions``, ``step.effect`` and ``step.ended`` down and goes on with ``step.world``; replay
compares the decisions with those that were written, and goes on with the same World. Where a
decider batches its events shows in nothing.

History that is not to be decided again, because it is a standby's or was decided before a
restart, goes through ``ledger.reducers.evolve.follow`` with its recorded decisions, and ends in an
equal World.
"""

from dataclasses import dataclass

from ledger.decisions.decide import decide
from ledger.facts.decision import Decision
from ledger.facts.event import Event
from ledger.reducers import deadlines
from ledger.reducers.evolve import evolve, lapse
from ledger.reducers.objects import Effect
from ledger.reducers.world import Account, Ended, Released, World


@dataclass(frozen=True, slots=True)
class Step:
    """What one event came to."""

    world: World
    decisions: tuple[Decision, ...]
    """In the order of their numbers; those with a ``deadline`` come before the event itself."""
    effect: Effect
    ended: tuple[Ended, ...]
    """What the event, or a deadline before it, put out of force by itself. A number says which
    decision ended, so it can have been made in this very step."""
    released: tuple[Released, ...]
    """Places that they took from decisions that stay in force otherwise, in order."""
    turned: tuple[Account, ...]
    """Of what they, or the decisions, changed the page in the book, in order."""


def advance(world: World, event: Event) -> Step:
    """Let time pass up to an event, fold it, decide everything that follows."""
    made: list[Decision] = []
    ended: list[Ended] = []
    released: list[Released] = []
    turned: set[Account] = set()
    while (deadline := deadlines.due(world.deadlines, event.recorded_at)) is not None:
        decided = decide(lapse(world), event, deadline=deadline)
        world = decided.world
        made += decided.decisions
        ended += world.ended
        released += world.released
        turned.update(world.turned)
    decided = decide(evolve(world, event), event)
    return Step(
        world=decided.world,
        decisions=(*made, *decided.decisions),
        effect=decided.world.last_effect,
        ended=(*ended, *decided.world.ended),
        released=(*released, *decided.world.released),
        turned=tuple(sorted(turned.union(decided.world.turned))),
    )
