"""Two courses of one history side by side: as it was decided, and as it would have been.

    course = begun(question, genesis)
    for each event of the log with its decisions:  yield from course.take(event, decisions)
    course.end()

What was is folded from its recorded decisions and never asked again. The branch goes through the one
pure step that decides live and in replay; what it decides is nowhere written. Until something is
otherwise both are the same World and only one is folded.

Positions count in a branch as they do in a log: an event that is put in has one of its own, and one
that is left out has none. A report that says nothing in the branch (``ledger.replay.what_if.reports``)
still lets its time pass there. So a place is named by the log: the event at ``position``, or the
``nth`` of those that stand behind it in the branch alone.
"""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from ledger.decisions.step import advance
from ledger.errors import InvalidRequest
from ledger.facts.cluster import ClusterUpserted
from ledger.facts.control import PolicyChanged
from ledger.facts.decision import Decision
from ledger.facts.disk import VolumeRemoved, VolumeUpserted
from ledger.facts.event import Event, Fact, MessageReleased
from ledger.facts.genesis import Genesis, policy_digest
from ledger.facts.own import TimePassed
from ledger.facts.policy import merge
from ledger.facts.quota import QueueUpserted, QuotaUpserted
from ledger.facts.workload import WorkloadRescheduled, WorkloadUpserted
from ledger.reducers import lives
from ledger.reducers.evolve import follow
from ledger.reducers.objects import Noun
from ledger.reducers.world import World, begin
from ledger.replay.what_if.question import (
    SOURCE,
    Added,
    Question,
    Weighing,
    concerns,
    said_otherwise,
    weighed,
)
from ledger.replay.what_if.reports import Ignored, heard
from ledger.units import EventType, Microseconds, Subject

_NEVER: Final = Microseconds(0)


class Place(NamedTuple):
    """Where something happens: with the log's event, or behind it in the branch alone."""

    position: int
    nth: int = 0
    """0 is the event of the log itself; -1 as a position is before the first."""


BEFORE_ALL: Final = Place(-1)


class Moment(NamedTuple):
    """What one event came to on both sides."""

    place: Place
    was: Sequence[Decision]
    would_be: Sequence[Decision]


@dataclass(slots=True)
class Course:
    """How far both have come."""

    question: Question
    log: World
    branch: World
    ignored: Counter[Ignored] = field(default_factory=Counter)
    """Reports that said nothing in the branch."""
    left_out: int = 0
    put_in: int = 0
    _parted: bool = False
    _last: Place = BEFORE_ALL
    _time: Microseconds = _NEVER
    """When the last event of the log was recorded."""
    _waiting: deque[Added] = field(default_factory=deque)
    _met: set[str] = field(default_factory=set)
    """What was asked for by name and is there."""
    _weighed: set[Weighing] = field(default_factory=set)
    """The other weights that said something of somebody."""
    _clusters: set[str] = field(default_factory=set)
    """Those that a weight could be of."""

    def take(self, event: Event, decisions: Sequence[Decision]) -> Iterator[Moment]:
        """One more event of the log, with what was recorded for it."""
        if event.position == self.question.first:
            yield from self._begun(event.recorded_at)
        while self._waiting and self._is_before(self._waiting[0], event):
            yield self._put_in(self._waiting.popleft(), event.recorded_at)
        identity = f"{event.source}/{event.id}"
        leaving = [one.told for one in self.question.without if one.takes(event.position, identity)]
        if leaving and event.position < self.question.first:
            raise InvalidRequest(
                "invalid_event", f"{leaving[0]}: the branch begins at {self.question.first} only"
            )
        self._met.update(leaving)
        log = follow(self.log, event, decisions)
        made = self._in_branch(event, decisions, log, left_out=bool(leaving))
        self.log = log
        self._time, self._last = event.recorded_at, Place(event.position)
        yield Moment(self._last, decisions, made)

    def end(self) -> Iterator[Moment]:
        """What stands behind the last event; what was asked for and not met is refused."""
        size = self.log.position
        if self.question.first > size:
            raise InvalidRequest(
                "invalid_moment", f"{self.question.first}: only {size} events were decided"
            )
        if self.question.first == size:
            yield from self._begun(self._time)
        for added in self._waiting:
            if added.before is not None and added.before > size:
                raise InvalidRequest(
                    "invalid_moment", f"{added.before}: only {size} events were decided"
                )
        while self._waiting:
            yield self._put_in(self._waiting.popleft(), None)
        for told in self.question.without:
            if told.told not in self._met:
                raise InvalidRequest("unknown_event", f"{told.told}: no such event was decided")
        for one in self.question.weights:
            self._refuse_in_vain(one)

    def _refuse_in_vain(self, one: Weighing) -> None:
        names = [name for name, _ in one.weights]
        if one not in self._weighed:
            raise InvalidRequest(
                f"unknown_{one.what}",
                f"{one.subject}: from {self.question.first} on there is no such {one.what} with"
                f" a weight to change: {', '.join(names)}",
            )
        if one.what == "workload":
            for name in names:
                if name not in self._clusters:
                    raise InvalidRequest("unknown_cluster", f"{name}: no such cluster is there")

    def _hear(self, fact: Fact) -> None:
        """Notice whether other weights can have an effect."""
        if isinstance(fact, MessageReleased):
            fact = fact.fact
        if isinstance(fact, ClusterUpserted):
            self._clusters.add(fact.name)
        self._weighed.update(one for one in self.question.weights if concerns(one, fact))

    def _in_branch(
        self, event: Event, decisions: Sequence[Decision], log: World, *, left_out: bool
    ) -> Sequence[Decision]:
        if left_out:
            self.left_out += 1
            self._parted = True
            return ()
        fact = event.fact
        if event.position >= self.question.first:
            self._hear(fact)
            fact = said_otherwise(fact, self.question)
        if not self._parted and fact == event.fact:
            self.branch = log
            return decisions
        self._parted = True
        said = heard(self.log, self.branch, event.subject, fact)
        self.ignored.update(dict(said.ignored))
        fact = TimePassed(event.recorded_at) if said.fact is None else said.fact
        return self._advance(replace(event, position=self.branch.position, fact=fact))

    def _advance(self, event: Event) -> Sequence[Decision]:
        step = advance(self.branch, event)
        self.branch = step.world
        return step.decisions

    def _begun(self, time: Microseconds) -> Iterator[Moment]:
        """Where the branch begins, everything that is otherwise from here on is told to it."""
        question = self.question
        if self.branch.position == 0:
            if question.policy:
                # Nothing was decided yet, so the fleet simply begins with it.
                genesis = self.branch.genesis
                policy = merge(genesis.policy, question.policy, default=genesis.policy)
                self.branch = replace(
                    self.branch, policy=policy, policy_digest=policy_digest(genesis, policy)
                )
                self._parted = True
        else:
            for subject, fact in self._told():
                yield self._said(subject, fact, time)
        self._waiting.extend(question.added)

    def _told(self) -> Iterator[tuple[Subject, Fact]]:
        question, fleet = self.question, Subject(self.branch.fleet)
        if question.policy:
            yield fleet, PolicyChanged(question.policy, None)
        if question.weights:
            for _, known in _in_force(self.branch, "cluster"):
                if isinstance(known, ClusterUpserted):
                    self._hear(known)
            for noun in ("workload", "queue", "quota"):
                yield from self._reweighed(noun)
        if question.ask_again:
            yield from self._asked_again()

    def _reweighed(self, noun: Noun) -> Iterator[tuple[Subject, Fact]]:
        for subject, fact in _in_force(self.branch, noun):
            if isinstance(fact, WorkloadUpserted | QueueUpserted | QuotaUpserted):
                self._hear(fact)
                other = weighed(fact, self.question.weights)
                if other != fact:
                    # Without a revision it applies, and leaves the order of the others alone.
                    yield subject, replace(other, revision=None)

    def _asked_again(self) -> Iterator[tuple[Subject, Fact]]:
        """Workloads by being decided anew, volumes by beginning a new life once all are gone."""
        for subject, fact in _in_force(self.branch, "workload"):
            if isinstance(fact, WorkloadUpserted):
                yield subject, WorkloadRescheduled(fact.namespace, fact.name, None, fresh=True)
        volumes = list(_in_force(self.branch, "volume"))
        for subject, fact in volumes:
            if isinstance(fact, VolumeUpserted):
                yield subject, VolumeRemoved(fact.name, None, None)
        for subject, fact in volumes:
            if isinstance(fact, VolumeUpserted):
                yield subject, replace(fact, revision=None)

    def _said(self, subject: Subject, fact: Fact, time: Microseconds) -> Moment:
        return self._happens(SOURCE, str(self._last.nth + 1), subject, fact, time)

    def _is_before(self, added: Added, event: Event) -> bool:
        if event.position < self.question.first:
            return False
        if added.before is not None:
            return added.before <= event.position
        assert added.time is not None, "what has no place has a time"
        return added.time < event.recorded_at

    def _put_in(self, added: Added, next_: Microseconds | None) -> Moment:
        self.put_in += 1
        time = max(self._time, self._time if added.time is None else added.time)
        if next_ is not None:
            time = min(time, next_)
        self._hear(added.fact)
        fact = said_otherwise(added.fact, self.question)
        return self._happens(added.source, added.id, added.subject, fact, time)

    def _happens(
        self, source: str, id_: str, subject: Subject, fact: Fact, time: Microseconds
    ) -> Moment:
        """Something happens in the branch alone."""
        self._parted = True
        self._time = time
        self._last = Place(self._last.position, self._last.nth + 1)
        made = self._advance(
            Event(
                position=self.branch.position,
                recorded_at=time,
                source=source,
                id=id_,
                type=EventType(type(fact).__name__),
                subject=subject,
                fact=fact,
            )
        )
        return Moment(self._last, (), made)


def begun(question: Question, genesis: Genesis) -> Course:
    """Both before the first event."""
    for added in question.added:
        if added.before is not None and added.before < question.first:
            raise InvalidRequest(
                "invalid_moment", f"{added.before}: the branch begins at {question.first} only"
            )
    world = begin(genesis, incarnation=lives.FIRST)
    return Course(question, world, world)


def _in_force(world: World, noun: Noun) -> Iterator[tuple[Subject, object]]:
    for key in sorted(key for key in world.objects.known if key.noun == noun):
        fact = world.objects.fact(noun, key.subject)
        if fact is not None:
            yield key.subject, fact
