"""Show that every decision follows from the log.

The log is verified (``ledger.replay.verify``); a replay over rows that do not fit their tree would
prove nothing, and nothing is said of it. Then every event is folded through the one pure step that
decided live, and each decision it yields must be, byte for byte, the one that was recorded
(``ledger.replay.recomputing``). History is cut at recorded snapshots (``ledger.replay.segments``), so
that several processes can do it at once (``ledger.replay.workers``), while this one verifies; the World at
each cut must be the recorded one, whoever made it. The first difference is reported. In the end the World that came out of
it is added up again from nothing (``ledger.reducers.conservation``): a sum that is not what it is the
sum of is our own mistake, and would be made again by every replay.

Of a range only the decisions within are compared, on top of what was recorded before; of a subject
only those about it. What that shows is less, and the report says so. Events behind the decider's
cursor are verified but not compared: they are not decided yet.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from ledger.errors import DamagedArchive, InvalidRequest, SetupProblem
from ledger.log.archive.reading import Archive
from ledger.log.database import Connection
from ledger.log.fleets import Fleet
from ledger.log.garbage import seldom_collected
from ledger.log.snapshots import Stored
from ledger.replay import slices, workers
from ledger.replay.histories import (
    ArchiveHistory,
    ArchivePlace,
    DatabaseHistory,
    DatabasePlace,
    History,
    Place,
)
from ledger.replay.reducing import MOST_FOLDED, Candidates, smallest
from ledger.replay.report import Divergence, Report, Shown
from ledger.replay.segments import START, Range, Segment, cut, cuts, is_intact
from ledger.replay.slices import Evidence, Slice
from ledger.replay.verify import Verified, reported
from ledger.replay.workers import Done, Task
from ledger.units import Position, Subject

Phase = Literal["verify", "replay", "slice"]

OnProgress = Callable[[Phase, int, int | None], None]
"""Told now and then what is done, how much of it, and of how much where that is known."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be recomputed, and by how many."""

    first: Position = START
    through: Position | None = None
    """None: as far as was decided."""
    subject: Subject | None = None
    """None: whoever was decided about."""
    workers: int = 1
    checks_snapshots: bool = False
    """Cut at every snapshot there is, so that each is compared, however many workers there are."""
    slice_to: Callable[[Divergence], Path] | None = None
    """The file for the slice of a divergence; None: none is written."""


EVERYTHING: Final = Wanted()


async def replay(
    connection: Connection,
    fleet: Fleet,
    *,
    url: str | None = None,
    wanted: Wanted = EVERYTHING,
    on_progress: OnProgress | None = None,
    archive: Archive | None = None,
) -> Report:
    """Verify the log of a fleet, then recompute and compare decisions.

    ``url`` is where workers connect; without it there is one, and it is this process. What was detached
    from the database lies in ``archive``.
    """
    place = None if url is None else DatabasePlace(url, archive)
    history = DatabaseHistory(connection, fleet, archive)
    return await _replayed(history, place, wanted, on_progress)


async def replay_archive(
    archive: Archive, *, wanted: Wanted = EVERYTHING, on_progress: OnProgress | None = None
) -> Report:
    """The same from an archive alone. One that begins late is recomputed from its first snapshot on."""
    return await _replayed(ArchiveHistory(archive), ArchivePlace(archive), wanted, on_progress)


async def _replayed(
    history: History, place: Place | None, wanted: Wanted, on_progress: OnProgress | None
) -> Report:
    tell = _nobody if on_progress is None else on_progress
    with seldom_collected():
        if place is not None and wanted.workers > 1:
            early = await _planned_early(history, wanted)
            if early is not None and len(early.segments) > 1:
                return await _beside(history, place, early, wanted, tell)
        verified = await history.verified(on_progress=_verifying(tell))
        plan = None
        if verified.trouble is None:
            decided = verified.through, verified.decisions.size
            plan = await _planned(history, wanted, *decided)
        if plan is None:
            return reported(history.fleet, verified)
        done = await workers.one_by_one(
            history, plan.task, plan.segments, on_folded=plan.telling(tell)
        )
        return await _told(history, verified, plan, done, wanted, tell, workers=1)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be done, by segments."""

    task: Task
    segments: list[Segment]
    range: Range
    compared: int
    """Decisions that were recorded of what is wanted."""
    left_out: tuple[str, ...]

    def telling(self, tell: OnProgress) -> Callable[[int], None]:
        """Tells how many of all events were folded."""
        total = sum(segment.events for segment in self.segments)
        return lambda count: tell("replay", count, total)

    def report(self, fleet: Fleet, verified: Verified, *, workers: int) -> Report:
        """What was found, and what it shows."""
        shown = Shown(
            first=self.range.first,
            through=self.range.through,
            compared=self.compared,
            begins_at=self.segments[0].first,
            segments=len(self.segments),
            workers=workers,
            subject=self.task.subject,
            left_out=self.left_out,
            same=verified.trouble is None,
        )
        return replace(reported(fleet, verified), shown=shown)


async def _beside(
    history: History, place: Place, plan: _Plan, wanted: Wanted, tell: OnProgress
) -> Report:
    """Workers recompute while this process verifies; if the log is not whole, nothing they say counts."""
    several = len(plan.segments)
    recomputing = asyncio.create_task(
        workers.at_once(
            place, plan.task, plan.segments, workers=several, on_folded=plan.telling(tell)
        )
    )
    try:
        verified = await history.verified(on_progress=_verifying(tell))
        if verified.trouble is not None:
            return reported(history.fleet, verified)
        done = await recomputing
    finally:
        recomputing.cancel()
        await asyncio.wait({recomputing})
        if not recomputing.cancelled():
            recomputing.exception()  # Looked at, so that nobody is told of it once more.
    return await _told(history, verified, plan, done, wanted, tell, workers=several)


async def _told(
    history: History,
    verified: Verified,
    plan: _Plan,
    done: Done,
    wanted: Wanted,
    tell: OnProgress,
    *,
    workers: int,
) -> Report:
    """The report, with the slice written of what it says."""
    trouble = done.trouble
    if trouble is not None and done.evidence is not None and wanted.slice_to is not None:
        piece = await _sliced(history, done.evidence, trouble, tell)
        file = wanted.slice_to(trouble)
        try:
            written = slices.write(file, piece, trouble)
        except OSError as error:
            trouble = replace(trouble, slice_missing=f"{file}: {error.strerror}")
        else:
            trouble = replace(trouble, slice=str(written))
    return plan.report(history.fleet, replace(verified, trouble=trouble), workers=workers)


async def _sliced(
    history: History, evidence: Evidence, trouble: Divergence, tell: OnProgress
) -> Slice:
    found = Candidates(evidence)
    last = evidence.piece.events[-1].position
    number = await history.made_by(Position(history.first - 1)) if history.first else 0
    pages = history.decided_pages(through=last, first=history.first, number=number)
    await found.gather(pages, number)
    return smallest(found, trouble, on_folded=lambda count: tell("slice", count, MOST_FOLDED))


async def _planned_early(history: History, wanted: Wanted) -> _Plan | None:
    """A plan before the log was verified; None where what is recorded does not even allow one."""
    try:
        return await _planned(history, wanted, *await history.cursor())
    # A head of another form than heads have, or a file that is no longer what it was: verifying says which.
    # What is asked of a log that is not whole is not refused before that was said.
    except (AssertionError, DamagedArchive, InvalidRequest):
        return None


async def _planned(history: History, wanted: Wanted, through: Position, count: int) -> _Plan | None:
    """For a log decided so far; None where nothing is decided. Raises InvalidRequest for what is not in it."""
    genesis = await history.genesis()
    if genesis is None or through < START:
        return None
    _require_decided(history.fleet, wanted, through)
    last = through if wanted.through is None else wanted.through
    made = count if last == through else await history.made_by(last)
    incarnation = await history.incarnation()
    found = await cuts(history, incarnation, through=through, count=count)
    places, left_out = found.stored, found.left_out
    while True:
        range_ = Range(_first(history, wanted, places), last)
        if range_.through < range_.first:
            raise InvalidRequest(
                "empty_range",
                f"the archive's snapshots allow to compare from position {range_.first} on, and"
                f" {range_.through} comes before that",
            )
        segments = cut(range_, made, places, workers=wanted.workers, every=wanted.checks_snapshots)
        damaged = [
            one.begins
            for one in segments
            if one.begins is not None and not await is_intact(history, one.begins)
        ]
        if not damaged:
            break
        left_out += [f"{one.described.through}: its bytes are damaged" for one in damaged]
        places = [one for one in places if one not in damaged]
    compared = await history.decided_about(wanted.subject, range_.first, range_.through)
    if wanted.subject is not None and not compared:
        raise InvalidRequest(
            "unknown_subject",
            f"nothing was decided about {wanted.subject} from {range_.first} to {range_.through}",
        )
    return _Plan(
        Task(history.fleet, genesis, wanted.subject, adds_up=wanted.subject is None),
        segments,
        range_,
        compared,
        tuple(left_out),
    )


def _require_decided(fleet: Fleet, wanted: Wanted, through: Position) -> None:
    """Whether everything that is wanted is decided: a replay of nothing shows nothing."""
    last = through if wanted.through is None else wanted.through
    if last > through or wanted.first > through:
        beyond = last if last > through else wanted.first
        raise InvalidRequest(
            "not_decided", f"{beyond}: fleet {fleet.name} is decided through {through}"
        )
    if wanted.first > last:
        raise InvalidRequest(
            "empty_range", f"{last} is before {wanted.first}: name the earlier one first"
        )


def _first(history: History, wanted: Wanted, places: Sequence[Stored]) -> Position:
    """From where on can be compared: what begins late begins with the first snapshot in it."""
    if not history.first:
        return wanted.first
    if not places:
        raise SetupProblem(
            f"fleet {history.fleet.name}: the archive begins at position {history.first} and has no"
            " snapshot that this program can begin with; it can be verified, and not replayed"
        )
    return max(wanted.first, Position(places[0].described.through + 1))


def _verifying(tell: OnProgress) -> Callable[[int], None]:
    return lambda count: tell("verify", count, None)


def _nobody(_phase: Phase, _count: int, _total: int | None) -> None:
    """Where nobody watches."""
