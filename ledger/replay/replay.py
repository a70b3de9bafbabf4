"""Show that every decision follows from the log.

The log is verified first (``ledger.replay.verify``); a replay over rows that do not fit their tree
would prove nothing and is not started. Then every event is folded through the one pure step that
decided live, and each decision it yields must be, byte for byte, the one that was recorded
(``ledger.replay.recomputing``). History is cut at recorded snapshots (``ledger.replay.segments``), so
that several processes can do it at once (``ledger.replay.workers``); the World at each cut must be the
recorded one, whoever made it. The first difference is reported. In the end the World that came out of
it is added up again from nothing (``ledger.reducers.conservation``): a sum that is not what it is the
sum of is our own mistake, and would be made again by every replay.

Of a range only the decisions within are compared, on top of what was recorded before; of a subject
only those about it. What that shows is less, and the report says so. Events behind the decider's
cursor are verified but not compared: they are not decided yet.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from ledger.log import fleets
from ledger.log.database import Connection
from ledger.log.fleets import Fleet
from ledger.log.garbage import seldom_collected
from ledger.replay import workers
from ledger.replay.report import Divergence, Report, Shown
from ledger.replay.segments import START, Range, Segment, cut, cuts
from ledger.replay.verify import Verified, reported, verify
from ledger.replay.workers import Task
from ledger.units import Position, Subject

Phase = Literal["verify", "replay"]

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


EVERYTHING = Wanted()


async def replay(
    connection: Connection,
    fleet: Fleet,
    *,
    url: str | None = None,
    wanted: Wanted = EVERYTHING,
    on_progress: OnProgress | None = None,
) -> Report:
    """Verify the log of a fleet, then recompute and compare decisions.

    ``url`` is where workers connect; without it there is one, and it is this process.
    """
    tell = _nobody if on_progress is None else on_progress
    with seldom_collected():
        verified = await verify(
            connection, fleet, on_progress=lambda count: tell("verify", count, None)
        )
        if verified.trouble is not None:
            return reported(fleet, verified)
        trouble, shown = await _recompute(connection, fleet, url, verified, wanted, tell)
    return replace(reported(fleet, replace(verified, trouble=trouble)), shown=shown)


async def _recompute(
    connection: Connection,
    fleet: Fleet,
    url: str | None,
    verified: Verified,
    wanted: Wanted,
    tell: OnProgress,
) -> tuple[Divergence | None, Shown | None]:
    genesis = await fleets.read_genesis(connection, fleet)
    last = verified.through if wanted.through is None else min(wanted.through, verified.through)
    if genesis is None or last < wanted.first:
        return None, None
    incarnation = await fleets.incarnation(connection, fleet)
    found = await cuts(connection, fleet, incarnation, verified)
    segments = cut(Range(wanted.first, last), found.stored)
    task = Task(fleet, genesis, incarnation, wanted.subject, adds_up=wanted.subject is None)
    total = sum(segment.events for segment in segments)

    def folded(count: int) -> None:
        tell("replay", count, total)

    several = min(wanted.workers, len(segments)) if url is not None else 1
    if several > 1 and url is not None:
        trouble = await workers.at_once(url, task, segments, workers=several, on_folded=folded)
    else:
        trouble = await workers.one_by_one(connection, task, segments, on_folded=folded)
    return trouble, Shown(
        first=wanted.first,
        through=last,
        begins_at=_believed(segments),
        segments=len(segments),
        workers=several,
        subject=wanted.subject,
        left_out=found.left_out,
    )


def _believed(segments: list[Segment]) -> int:
    """Where the chain of segments begins."""
    return segments[0].first


def _nobody(_phase: Phase, _count: int, _total: int | None) -> None:
    """Where nobody watches."""
