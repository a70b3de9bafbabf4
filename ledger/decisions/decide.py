"""What follows from an event: ``decide(world, event)``, the World after it in, decisions out.

The World says which questions are due. They are asked kind by kind, in an order of the kinds that
never changes; each answer is folded before the next is asked, so a later question sees what an
earlier one took. An answer may raise questions of later kinds.

Within a kind those come first that were refused and may be served now, the oldest refusal first;
then those that are touched, by subject. If somebody was served, whatever room that set free may
serve others: they are asked in a pass of their own, until one serves nobody. Nobody about whom
something was decided is asked again in the same event, and no more than the policy allows of those
who were refused are served in one (``ledger.reducers.retries``).

A kind of decision is a row of ``_KINDS``; how it is answered is told in a module of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ledger.decisions import division
from ledger.facts.decision import Deadline, Decision, Kind
from ledger.facts.event import Event
from ledger.reducers.evolve import evolve
from ledger.reducers.world import Causes, Question, World
from ledger.units import DecisionNumber, Position

Answer = Callable[[World, Question, Causes, Position, Deadline | None], Decision | None]
"""How a kind is answered: from the World, for a question with its causes, at a position, because
of a deadline."""


@dataclass(frozen=True, slots=True)
class Decided:
    """The decisions in the order of their numbers, and the World with all of them folded."""

    world: World
    decisions: tuple[Decision, ...]


def decide(world: World, event: Event, *, deadline: Deadline | None = None) -> Decided:
    """Ask what is due after ``event`` was folded, or after ``deadline`` fired before it."""
    if world.policy.hold:
        return Decided(world, ())
    made: list[Decision] = []
    for kind, answer in _KINDS:
        asking = _Asking(kind, answer, event.position, deadline, world, made, {})
        asking.all()
        world = asking.world
    return Decided(world, tuple(made))


@dataclass(slots=True)
class _Asking:
    """The questions of one kind while they are asked."""

    kind: Kind
    answer: Answer
    position: Position
    deadline: Deadline | None
    world: World
    made: list[Decision]
    asked: dict[Question, DecisionNumber]
    """Who was asked, and which decision came next then."""

    def all(self) -> None:
        touched = sorted(question for question in self.world.due if question.kind == self.kind)
        served = self._retry(frozenset(touched))
        for question in touched:
            served |= self._ask(question, self.world.due[question])
        while served:
            served = self._retry(frozenset())

    def _retry(self, touched: frozenset[Question]) -> bool:
        """Ask those marked since they were asked last; says whether somebody was served."""
        served = False
        for question in sorted(
            (
                question
                for question in self.world.retries.marked
                if question.kind == self.kind
                and question not in touched
                and self._may_ask_again(question)
            ),
            key=lambda question: self.world.refusals[question].number,
        ):
            if self.world.retries.served >= self.world.policy.retry.max_subjects:
                return served
            served |= self._ask(question, self.world.retries.marked[question].causes)
        return served

    def _may_ask_again(self, question: Question) -> bool:
        retries = self.world.retries
        if self.world.latest[question.subject] >= retries.first:
            return False
        asked = self.asked.get(question)
        return asked is None or retries.marked[question].since > asked

    def _ask(self, question: Question, causes: Causes) -> bool:
        self.asked[question] = self.world.decisions
        decision = self.answer(self.world, question, causes, self.position, self.deadline)
        if decision is None:
            return False
        self.world = evolve(self.world, decision)
        self.made.append(decision)
        return decision.kind != "refusal"


_KINDS: Final[tuple[tuple[Kind, Answer], ...]] = (("division", division.answer),)
"""In the order in which they are asked: by what one makes possible for the next."""
