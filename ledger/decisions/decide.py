"""What follows from an event: ``decide(world, event)``, the World after it in, decisions out.

The World says which questions are due. They are asked kind by kind, in an order of the kinds that
never changes; each answer is folded before the next is asked, so a later question sees what an
earlier one took. An answer may raise questions of later kinds.

Within a kind, everybody touched first gives up what it does not want any more, where the kind
knows of such a thing; that is free at once. Then those come that were refused and may be served
now, the oldest refusal first; then those that are touched, by subject. If somebody was served,
whatever room that set free may serve others: they are asked in a pass of their own, until one
serves nobody. Nobody about whom something was decided is asked again in the same event, and no
more than the policy allows of those who were refused are served in one
(``ledger.reducers.retries``).

What is given up before the decision that says so is taken out of a World that only serves for
asking. The World that comes out is always the one that folding the decisions makes, so it cannot
differ from the one that a reader of history arrives at.

A round of jobs is no question about a subject: it closes (``ledger.reducers.rounds``) and answers
with many decisions at once. If it evicted, deployments that were refused get one closing pass over what
its evictions freed and it left.

An approved proposal is carried out before the kinds that it makes decisions of are asked, so that
others may have at once what it frees; proposals are made last, of what everybody else left behind.

The admission of a pod is answered once targets are decided, by rows that nobody else's answer changes;
under ``hold`` it is the only question that is asked.

When everything has been decided, whatever still contradicts the book is recorded
(``ledger.decisions.incident``).

A kind of decision is a row of ``_RULES``; how it is answered is told in a module of its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from ledger.decisions import (
    admission,
    capacity_class,
    deployment,
    disk_placement,
    division,
    incident,
    proposal,
    proposal_execution,
    rounds,
    unknown_queue,
)
from ledger.decisions.answer import Answered, GivenUp
from ledger.facts.admission import Admission
from ledger.facts.decision import Decision
from ledger.facts.event import Event
from ledger.facts.incident import Incident
from ledger.facts.proposal import Proposal
from ledger.facts.reason import Deadline, Kind
from ledger.facts.refusal import Refusal
from ledger.facts.repair import Repair
from ledger.reducers.evolve import evolve
from ledger.reducers.rounds import is_closing
from ledger.reducers.world import Causes, Question, World
from ledger.units import DecisionNumber, Position, Subject

Answer = Callable[[World, World, Question, Causes], Sequence[Answered]]
"""How a question is answered: from the World before anybody of the kind gave up anything, which
says what the subject held, and the World as it now is."""


GiveUp = Callable[[World, Question, Causes], GivenUp | None]
"""None where the subject gives up nothing."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How the questions of a kind are asked."""

    kind: Kind
    answer: Answer
    give_up: GiveUp | None = None


@dataclass(frozen=True, slots=True)
class Together:
    """How questions are answered that are only decided together."""

    closes: Callable[[World], bool]
    answer: Callable[[World], Sequence[Answered]]
    unblocks: Kind | None = None
    """Whose refusals get a closing pass over room that evictions freed."""
    one_by_one: bool = False
    """Whether it is asked until nothing is due any more: each answer makes it less."""


class Decided(NamedTuple):
    """The decisions in the order of their numbers, and the World with all of them folded."""

    world: World
    decisions: tuple[Decision, ...]


def decide(world: World, event: Event, *, deadline: Deadline | None = None) -> Decided:
    """Ask what is due after ``event`` was folded, or after ``deadline`` fired before it."""
    if is_nothing_due(world):
        return Decided(world, ())
    return ask_everybody(world, event, deadline=deadline)


def is_nothing_due(world: World) -> bool:
    """Whether nobody is to be asked anything: most of what happens is a report like the one before."""
    if world.due or world.retries.marked or world.incidents.untold:
        return False
    return not any(rule.closes(world) for rule in _TOGETHER)


def ask_everybody(world: World, event: Event, *, deadline: Deadline | None = None) -> Decided:
    """Go through the kinds and ask what is due of each."""
    made: list[Decision] = []
    for rule in (_ADMISSION,) if world.policy.hold else _RULES:
        match rule:
            case Rule():
                if not (world.due or world.retries.marked):
                    continue
                decided = {one.subject for one in made if _kind_of(one) == rule.kind}
                asking = _Asking(rule, event.position, deadline, world, world, [], {}, decided)
                asking.all()
                made += asking.made
                world = asking.folded()
            case Together():
                while rule.closes(world):
                    together = _together(rule, world, event.position, deadline, made)
                    made += together.decisions
                    world = together.world
                    if not rule.one_by_one:
                        break
    if world.policy.hold:
        return Decided(world, tuple(made))
    for found in incident.untold(world):
        decision = _decision(world, found, event.position, deadline)
        world = evolve(world, decision)
        made.append(decision)
    return Decided(world, tuple(made))


def _together(
    together: Together,
    world: World,
    position: Position,
    deadline: Deadline | None,
    earlier: Sequence[Decision],
) -> Decided:
    """Decide what is only decided together, and once more whom its evictions unblocked."""
    before = world
    made: list[Decision] = []
    for answered in together.answer(world):
        decision = _decision(world, answered, position, deadline)
        world = evolve(world, decision)
        made.append(decision)
    if any(decision.kind == "eviction" for decision in made):
        for rule in _RULES:
            if isinstance(rule, Rule) and rule.kind == together.unblocks:
                asked = dict.fromkeys(world.retries.marked, before.decisions)
                decided = {one.subject for one in earlier if _kind_of(one) == rule.kind}
                closing = _Asking(rule, position, deadline, world, world, [], asked, decided)
                closing.closing()
                made += closing.made
                world = closing.folded()
    return Decided(world, tuple(made))


def _kind_of(decision: Decision) -> Kind:
    """Of what kind the question was that a decision answers."""
    outcome = decision.outcome
    return outcome.wanted if isinstance(outcome, Refusal) else outcome.kind


@dataclass(slots=True)
class _Asking:
    """The questions of one kind while they are asked."""

    rule: Rule
    position: Position
    deadline: Deadline | None
    before: World
    """Before the first of them."""
    world: World
    """As it is for whoever is asked next."""
    made: list[Decision]
    asked: dict[Question, DecisionNumber]
    """Who was asked, and which decision came next then."""
    decided: set[Subject]
    """About whom something was decided; what another kind decided about the same subject is not meant."""
    gave_up: bool = False
    """Whether ``world`` lacks more than the decisions made so far say."""

    def all(self) -> None:
        due = self.before.due
        touched = sorted(question for question in due if question.kind == self.rule.kind)
        for question in touched:
            self._give_up(question, due[question])
        served = self._retry(frozenset(touched))
        for question in touched:
            if question not in self.asked:
                served |= self._ask(question, due[question])
        while served:
            served = self._retry(frozenset())

    def closing(self) -> None:
        """Ask once those for whom something grew since those in ``asked`` were asked."""
        self._retry(frozenset())

    def folded(self) -> World:
        """The World after what was decided, and nothing else."""
        if not self.gave_up:
            return self.world
        world = self.before
        for decision in self.made:
            world = evolve(world, decision)
        return world

    def _give_up(self, question: Question, causes: Causes) -> None:
        if self.rule.give_up is None:
            return
        given_up = self.rule.give_up(self.world, question, causes)
        if given_up is None:
            return
        if given_up.answered:
            self.asked[question] = self.world.decisions
            self._record(given_up.answered)
        else:
            self.gave_up = True
            self.world = given_up.world

    def _retry(self, touched: frozenset[Question]) -> bool:
        """Ask those marked since they were asked last; says whether somebody was served."""
        served = False
        for question in sorted(
            (
                question
                for question in self.world.retries.marked
                if question.kind == self.rule.kind
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
        if question.subject in self.decided:
            return False
        asked = self.asked.get(question)
        return asked is None or self.world.retries.marked[question].since > asked

    def _ask(self, question: Question, causes: Causes) -> bool:
        self.asked[question] = self.world.decisions
        return self._record(self.rule.answer(self.before, self.world, question, causes))

    def _record(self, answers: Sequence[Answered]) -> bool:
        """Make decisions of answers and fold them; says whether one served somebody."""
        served = False
        for answered in answers:
            decision = _decision(self.world, answered, self.position, self.deadline)
            self.world = evolve(self.world, decision)
            self.made.append(decision)
            self.decided.add(decision.subject)
            served |= decision.kind != "refusal"
        return served


def _decision(
    world: World, answered: Answered, position: Position, deadline: Deadline | None
) -> Decision:
    return Decision(
        fleet=world.fleet,
        incarnation=world.incarnation,
        number=world.decisions,
        position=position,
        deadline=deadline,
        subject=answered.subject,
        algorithm=answered.algorithm,
        version=answered.version,
        policy=world.policy_digest,
        lot=answered.lot,
        inputs=answered.inputs,
        previous=_previous(world, answered),
        branch=answered.branch,
        outcome=answered.outcome,
        moved=answered.moved,
    )


def _previous(world: World, answered: Answered) -> DecisionNumber | None:
    """The decision about the same subject before it; a node has none, whatever shares its name."""
    outcome = answered.outcome
    if isinstance(outcome, Proposal):
        return proposal.replaced(world, answered.subject, outcome.what)
    if isinstance(outcome, Repair):
        return outcome.proposal
    if isinstance(outcome, Admission):
        return admission.previous(world, outcome)
    if isinstance(outcome, Refusal) and outcome.wanted == "proposal":
        return proposal_execution.closes(outcome)
    if isinstance(outcome, Incident) and outcome.node == answered.subject:
        return None
    return world.latest.get(answered.subject)


_ADMISSION: Final = Together(admission.is_due, admission.answer)

_RULES: Final[tuple[Rule | Together, ...]] = (
    Rule("division", division.answer),
    Rule("capacity_class", capacity_class.answer),
    _ADMISSION,
    Together(proposal_execution.is_due, proposal_execution.answer, one_by_one=True),
    Rule("deployment", deployment.answer, deployment.give_up),
    Rule("allocation", unknown_queue.answer),
    Together(is_closing, rounds.answer, unblocks="deployment"),
    Rule("disk_placement", disk_placement.answer, disk_placement.give_up),
    Together(proposal.is_due, proposal.answer),
)
"""In the order in which they are asked: by what one makes possible for the next."""

_TOGETHER: Final = tuple(rule for rule in _RULES if isinstance(rule, Together))
