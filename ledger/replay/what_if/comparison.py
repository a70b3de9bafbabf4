"""What two courses of one history came to, side by side.

A decision is *other* where about the same subject, on the same event, something else was decided:
other places, another result, or a decision where there was none. Which of several alike instances or
replicas is at which of the places is no difference, and neither is by which steps a result was found
or under which policy; the kept branch has it.

Of decisions that differ the first ones are told in full and all are counted, so that a comparison
of a long history stays small.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ledger.facts.decision import Decision, result
from ledger.facts.disk_placement import DiskPlacement
from ledger.facts.places import Places, elsewhere, places
from ledger.facts.reason import Kind
from ledger.facts.refusal import Refusal
from ledger.replay.what_if.branch import Place
from ledger.replay.what_if.measures import Kept, Measures
from ledger.units import Subject

TOLD: Final = 10_000
"""Decisions that differ, in full: more than anybody reads, and few enough to be kept in memory."""


_PLACING: Final[frozenset[Kind]] = frozenset(
    {"division", "deployment", "allocation", "eviction", "disk_placement"}
)


@dataclass(slots=True)
class Tally:
    """What one side decided so far."""

    decisions: int = 0
    by_kind: Counter[Kind] = field(default_factory=Counter)
    moved: Counter[Kind] = field(default_factory=Counter)
    """Replicas over clusters, instances over nodes, replicas over disks."""
    bytes_moved: int = 0
    """Of replicas of volumes."""
    tasks_placed: int = 0
    tasks_evicted: int = 0

    def add(self, decisions: Iterable[Decision]) -> None:
        """Count decisions."""
        for one in decisions:
            self.decisions += 1
            self.by_kind[one.kind] += 1
            self.moved[one.kind] += one.moved
            match one.outcome:
                case DiskPlacement(size=size):
                    self.bytes_moved += one.moved * size
                case _ if one.kind == "allocation":
                    self.tasks_placed += sum(places(one.outcome).values())
                case _ if one.kind == "eviction":
                    self.tasks_evicted += sum(places(one.outcome).values())
                case _:
                    pass

    def copied(self) -> "Tally":
        """As it is now."""
        return Tally(
            self.decisions,
            self.by_kind.copy(),
            self.moved.copy(),
            self.bytes_moved,
            self.tasks_placed,
            self.tasks_evicted,
        )


class Brief(NamedTuple):
    """One decision in short."""

    number: int
    kind: Kind
    branch: str
    moved: int
    places: Places
    reason: str
    """Of a refusal; empty for what is none."""


class Other(NamedTuple):
    """A question that was answered otherwise."""

    place: Place
    kind: Kind
    """Of what was asked."""
    subject: Subject
    was: tuple[Brief, ...]
    would_be: tuple[Brief, ...]


class Elsewhere(NamedTuple):
    """Something that is in other places at the end."""

    kind: str
    subject: Subject
    was: Places
    would_be: Places

    @property
    def moves(self) -> int:
        """How many are in another place."""
        return elsewhere(self.was, self.would_be)


@dataclass(frozen=True, slots=True)
class Standing:
    """One side at one place."""

    tally: Tally
    measures: Measures


class Sample(NamedTuple):
    """Both sides at one place."""

    place: Place
    was: Standing
    would_be: Standing


@dataclass(slots=True)
class Comparison:
    """Both sides, as far as they have come."""

    was: Tally = field(default_factory=Tally)
    would_be: Tally = field(default_factory=Tally)
    others: list[Other] = field(default_factory=list)
    """The first ones."""
    other: Counter[Kind] = field(default_factory=Counter)
    """All that differ, by what was asked."""
    unmade: int = 0
    """Of them, those that the other course did not decide about at all."""
    anew: int = 0
    """Of them, those about which nothing had been decided."""
    samples: list[Sample] = field(default_factory=list)
    elsewhere: tuple[Elsewhere, ...] = ()

    def add(self, place: Place, was: Sequence[Decision], would_be: Sequence[Decision]) -> None:
        """What one event came to on both sides."""
        self.was.add(was)
        self.would_be.add(would_be)
        if was is would_be:
            return
        before, after = _by_question(was), _by_question(would_be)
        for question in [*before, *(one for one in after if one not in before)]:
            there, here = before.get(question, []), after.get(question, [])
            if _answers(there) == _answers(here):
                continue
            kind, subject = question
            self.other[kind] += 1
            self.unmade += not here
            self.anew += not there
            if len(self.others) < TOLD:
                briefs = tuple(map(_brief, there)), tuple(map(_brief, here))
                self.others.append(Other(place, kind, subject, *briefs))

    def sample(self, place: Place, was: Measures, would_be: Measures) -> None:
        """How both stand at a place."""
        self.samples.append(
            Sample(
                place,
                Standing(self.was.copied(), was),
                Standing(self.would_be.copied(), would_be),
            )
        )

    def end(self, was: Mapping[Kept, Places], would_be: Mapping[Kept, Places]) -> None:
        """Where everything is in the end."""
        found = [
            Elsewhere(kept.kind, kept.subject, was.get(kept, {}), would_be.get(kept, {}))
            for kept in sorted({*was, *would_be})
        ]
        self.elsewhere = tuple(one for one in found if one.was != one.would_be)

    @property
    def same(self) -> bool:
        """Whether nothing would have been otherwise."""
        return not (self.other or self.elsewhere)


def _by_question(decisions: Sequence[Decision]) -> dict[tuple[Kind, Subject], list[Decision]]:
    found: dict[tuple[Kind, Subject], list[Decision]] = {}
    for one in decisions:
        wanted = one.outcome.wanted if isinstance(one.outcome, Refusal) else one.kind
        found.setdefault((wanted, one.subject), []).append(one)
    return found


def _answers(decisions: Sequence[Decision]) -> list[object]:
    return [
        (one.kind, places(one.outcome) if one.kind in _PLACING else result(one.outcome))
        for one in decisions
    ]


def _brief(decision: Decision) -> Brief:
    outcome = decision.outcome
    return Brief(
        decision.number,
        decision.kind,
        decision.branch,
        decision.moved,
        places(outcome),
        outcome.reason if isinstance(outcome, Refusal) else "",
    )
