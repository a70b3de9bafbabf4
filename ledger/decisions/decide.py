"""What follows from an event: ``decide(world, event)``, the World after it in, decisions out.

The World says which questions are due. They are asked kind by kind, in an order of the kinds that
never changes, and within a kind by subject; each answer is folded before the next is asked, so a
later question sees what an earlier one took. An answer may raise questions of later kinds.

A kind of decision is a row of ``_KINDS``; how it is answered is told in a module of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ledger.decisions import division
from ledger.facts.decision import Deadline, Decision, Kind
from ledger.facts.event import Event
from ledger.reducers.evolve import evolve
from ledger.reducers.world import Question, World
from ledger.units import Position

Answer = Callable[[World, Question, Position, Deadline | None], Decision | None]
"""How a kind is answered: from the World, for a question, at a position, because of a deadline."""


@dataclass(frozen=True, slots=True)
class Decided:
    """The decisions in the order of their numbers, and the World with all of them folded."""

    world: World
    decisions: tuple[Decision, ...]


def decide(world: World, event: Event, *, deadline: Deadline | None = None) -> Decided:
    """Ask what is due after ``event`` was folded, or after ``deadline`` fired before it."""
    made: list[Decision] = []
    for kind, answer in _KINDS:
        for question in sorted(question for question in world.due if question.kind == kind):
            decision = answer(world, question, event.position, deadline)
            if decision is not None:
                world = evolve(world, decision)
                made.append(decision)
    return Decided(world, tuple(made))


_KINDS: Final[tuple[tuple[Kind, Answer], ...]] = (("division", division.answer),)
