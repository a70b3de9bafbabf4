"""One event through the pure heart: the single path that live deciding and replay share.

    step = advance(world, event)

fires each deadline that passed before the event and decides what it raises, folds the event, and
decides what that raises. It is evolve and decide and nothing else. The engine writes
``step.decisions``, ``step.effect`` and ``step.ended`` down and goes on with ``step.world``; replay
compares the decisions with those that were written, and goes on with the same World. Where a
decider batches its events shows in nothing. The policy before the event names the version of the
engine: how is folded (``ledger.reducers.evolve.FOLDING``) and what is asked (``DECIDING``).

History that is not to be decided again, because it is a standby's or was decided before a
restart, goes through ``ledger.reducers.evolve.follow`` with its recorded decisions, and ends in an
equal World.
"""

from typing import Final, NamedTuple, Protocol

from ledger.decisions.decide import Decided, decide
from ledger.facts.decision import Decision
from ledger.facts.event import Event
from ledger.facts.reason import Deadline
from ledger.reducers import deadlines, incidents, lives
from ledger.reducers.evolve import ENGINE_VERSION, FOLDING
from ledger.reducers.incidents import Righted
from ledger.reducers.objects import Effect
from ledger.reducers.registry import Versions
from ledger.reducers.world import Account, Ended, Released, World


class Step(NamedTuple):
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
    righted: tuple[Righted, ...]
    """Incidents that ended with them or with the decisions, in order."""
    turned: tuple[Account, ...]
    """Of what they, or the decisions, changed the page in the book, in order."""


class Decides(Protocol):
    """One version of what is asked of a World after an event, or a deadline before it, was folded."""

    def __call__(self, world: World, event: Event, *, deadline: Deadline | None = None) -> Decided:
        """Ask everything that is due."""
        ...


DECIDING: Final[Versions[Decides]] = Versions("engine", {ENGINE_VERSION: decide})
"""By the version of the engine."""


def advance(world: World, event: Event) -> Step:
    """Let time pass up to an event, fold it, decide everything that follows."""
    engine = world.policy.algorithms.engine
    folding, decides = FOLDING.of(engine), DECIDING.of(engine)
    made: list[Decision] = []
    ended: list[Ended] = []
    released: list[Released] = []
    righted: list[Righted] = []
    turned: set[Account] = set()
    world = lives.entered(world, event)
    while (deadline := deadlines.due(world.deadlines, event.recorded_at)) is not None:
        decided = decides(folding.lapse(world), event, deadline=deadline)
        world = decided.world
        made += decided.decisions
        ended += world.ended
        released += world.released
        righted += incidents.righted(world.incidents, world.decisions)
        turned.update(world.turned)
    world, decisions = decides(folding.evolve(world, event), event)
    turned.update(world.turned)
    return Step(
        world=world,
        decisions=(*made, *decisions),
        effect=world.last_effect,
        ended=(*ended, *world.ended),
        released=(*released, *world.released),
        righted=(*righted, *incidents.righted(world.incidents, world.decisions)),
        turned=tuple(sorted(turned)),
    )
