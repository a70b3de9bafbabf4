"""Ask a log what it would have come to, had something been otherwise.

The log is only read. What was is taken as it was recorded: that it follows from the log is for
`ledger replay` to show. What would have been can be kept as a file, and a branch that was kept can
take the place of what was.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ledger.errors import InvalidRequest
from ledger.facts.decision import from_record
from ledger.log import decisions, fleets, trees
from ledger.log.database import Connection
from ledger.log.fleets import Fleet
from ledger.log.folding import event
from ledger.log.garbage import seldom_collected
from ledger.log.history import decided_pages
from ledger.reducers.world import World
from ledger.replay.what_if.branch import BEFORE_ALL, Course, Moment, Place, begun
from ledger.replay.what_if.comparison import Comparison
from ledger.replay.what_if.kept import Heading, Keeping, KeptBranch, keeping
from ledger.replay.what_if.measures import Measures, all_places, measured
from ledger.replay.what_if.question import Question
from ledger.units import Position

SAMPLES: Final = 200
"""How often both sides are measured on the way: as many points as a picture shows apart."""

OnProgress = Callable[[int, int], None]
"""How many events were folded so far, and of how many."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of it."""

    fleet: str
    first: Position
    through: int
    asked: Mapping[str, Any]
    """What was otherwise, as it was asked for."""
    against: Heading | None
    """The kept branch that it is compared with; None: with what was."""
    comparison: Comparison
    ignored: Mapping[str, int]
    """Reports on what was decided otherwise."""
    left_out: int
    put_in: int


async def ask(
    connection: Connection,
    fleet: Fleet,
    question: Question,
    *,
    asked: Mapping[str, Any],
    through: Position | None = None,
    keep: Path | None = None,
    against: Path | None = None,
    on_progress: OnProgress | None = None,
) -> Answer:
    """Fold the log and a branch of it; nothing is written but the file in which it is kept."""
    genesis = await fleets.read_genesis(connection, fleet)
    decided, _ = await decisions.cursor(connection, fleet)
    last = decided if through is None else through
    if genesis is None or decided < 0:
        raise InvalidRequest("nothing_decided", f"fleet {fleet.name} has decided nothing yet")
    if last > decided:
        raise InvalidRequest("invalid_moment", f"{last}: only {decided + 1} events were decided")
    incarnation = await fleets.incarnation(connection, fleet)
    root = await trees.root_at(connection, fleet.number, "events", size=last + 1)
    heading = Heading(fleet.name, incarnation, last, root.hex(), asked)
    other = None if against is None else _opened(against, heading)
    course = begun(question, genesis)
    with seldom_collected(), ExitStack() as open_:
        kept = None if keep is None else open_.enter_context(keeping(keep, heading))
        both = _Both(course, Comparison(), other, kept)
        every = max(1, last // SAMPLES)
        expected = 0
        async for page in decided_pages(connection, fleet, through=last):
            for stored, made in page:
                if stored.position != expected:
                    raise PositionMissing(expected)
                expected += 1
                recorded = [from_record(one.record) for one in made]
                for moment in course.take(event(stored), recorded):
                    both.add(moment)
                if stored.position % every == 0:
                    both.measure()
            if on_progress is not None:
                on_progress(expected, last + 1)
        if expected != last + 1:
            raise PositionMissing(expected)
        for moment in course.end():
            both.add(moment)
        both.end()
    return Answer(
        fleet=fleet.name,
        first=question.first,
        through=last,
        asked=asked,
        against=None if other is None else other.heading,
        comparison=both.comparison,
        ignored=dict(sorted(course.ignored.items())),
        left_out=course.left_out,
        put_in=course.put_in,
    )


class PositionMissing(InvalidRequest):
    """The log is not whole, so nothing can be said of what would have been."""

    def __init__(self, position: int) -> None:
        """Name the first event that is not there."""
        super().__init__("position_missing", f"position {position} is not in the log")


@dataclass(slots=True)
class _Both:
    """Both sides while they go on."""

    course: Course
    comparison: Comparison
    other: KeptBranch | None
    keeping: Keeping | None
    _at: Place = BEFORE_ALL
    _measured: tuple[World, Measures] | None = None

    def add(self, moment: Moment) -> None:
        place, was, would_be = moment
        self._at = place
        if self.keeping is not None:
            self.keeping.decided(place, would_be)
        if self.other is not None:
            for earlier, made in self.other.between(place):
                self.comparison.add(earlier, made, ())
            was = self.other.taken(place)
        self.comparison.add(place, was, would_be)

    def measure(self) -> None:
        would_be = self._measure(self.course.branch)
        if self.keeping is not None:
            self.keeping.stood(self._at, would_be)
        if self.other is None:
            was = self._measure(self.course.log)
        else:
            was = self.other.measures(would_be)
        self.comparison.sample(self._at, was, would_be)

    def end(self) -> None:
        if self.other is not None:
            for earlier, made in self.other.between(Place(self.course.log.position)):
                self.comparison.add(earlier, made, ())
        self.measure()
        would_be = all_places(self.course.branch)
        if self.keeping is not None:
            self.keeping.end(would_be)
        was = all_places(self.course.log) if self.other is None else self.other.places()
        self.comparison.end(was, would_be)

    def _measure(self, world: World) -> Measures:
        if self._measured is None or self._measured[0] is not world:
            self._measured = world, measured(world)
        return self._measured[1]


def _opened(path: Path, heading: Heading) -> KeptBranch:
    kept = KeptBranch(path)
    mine, its = heading[:-1], kept.heading[:-1]
    if mine != its:
        raise InvalidRequest(
            "another_log",
            f"{path}: it is of fleet {its[0]}/{its[1]} through event {its[2]}"
            f" (root {its[3][:12]}), not of {mine[0]}/{mine[1]} through {mine[2]}"
            f" (root {mine[3][:12]}); --to says through which event",
        )
    return kept
