"""The segments of a replay, done one after the other or by several processes at once.

Whoever does them, the outcome is the same where the Worlds at the cuts are right, and where one is
not, that is found: the divergence with the lowest position is reported, and of two at one position
that of the earlier segment. A worker that comes past a divergence that is known already
stops, because nothing behind it can be the first.

Workers are forked, so they have the program as it is in the memory of their parent. Each opens the
history for itself, holds one World, and ends when its parent is gone.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Any, Final

from ledger.errors import DamagedArchive, SetupProblem, UnusableSnapshot
from ledger.facts.genesis import Genesis
from ledger.log.fleets import Fleet
from ledger.log.garbage import seldom_collected
from ledger.reducers.world import World
from ledger.replay import recomputing
from ledger.replay.histories import History, Place
from ledger.replay.recomputing import GoOn
from ledger.replay.report import Divergence
from ledger.replay.segments import Segment
from ledger.replay.slices import Evidence
from ledger.units import Position, Subject

NOWHERE: Final = 2**62
"""Behind every position: nothing has diverged."""

POLL_SECONDS: Final = 0.1
"""How often progress is looked at."""

OnFolded = Callable[[int], None]
"""Told how many events of all segments were folded so far."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is the same for all segments of a replay."""

    fleet: Fleet
    genesis: Genesis
    subject: Subject | None
    adds_up: bool
    """Whether the book is added up at the end."""


@dataclass(frozen=True, slots=True)
class Done:
    """How one segment ended."""

    place: int
    trouble: Divergence | None
    evidence: Evidence | None


async def one_by_one(
    history: History, task: Task, segments: Sequence[Segment], *, on_folded: OnFolded
) -> Done:
    """All segments in this process, each beginning with the World that the one before it ended with."""
    world = None
    first = segments[0].first

    def go_on(position: Position) -> bool:
        on_folded(position - first)
        return True

    for segment in segments:
        if world is None:
            try:
                world = await _beginning(history, task, segment)
            except UnusableSnapshot as error:
                return Done(segment.place, _unusable(segment, error), None)
        done = await _fold(history, task, segment, world, go_on)
        if done.trouble is not None:
            return Done(segment.place, done.trouble, done.evidence)
        world = done.world
    return Done(len(segments), None, None)


async def at_once(
    place: Place, task: Task, segments: Sequence[Segment], *, workers: int, on_folded: OnFolded
) -> Done:
    """The segments in as many processes, the longest first."""
    fork = get_context("fork")
    # What each segment has folded, and behind them the lowest position at which something diverged.
    shared = fork.Array("q", [0] * len(segments) + [NOWHERE])
    loop = asyncio.get_running_loop()
    pool = ProcessPoolExecutor(workers, fork, initializer=_begin, initargs=(shared, os.getpid()))
    try:
        waiting = {
            loop.run_in_executor(pool, _work, place, task, segment)
            for segment in sorted(segments, key=lambda one: (-one.events, one.place))
        }
        done: list[Done] = []
        while waiting:
            ended, waiting = await asyncio.wait(
                waiting, timeout=POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            done += [one.result() for one in ended]
            on_folded(sum(shared[: len(segments)]))
    except BrokenProcessPool as broken:
        raise SetupProblem(
            "replay: a worker was ended from outside; with fewer --workers less memory is needed"
        ) from broken
    finally:
        shared[len(segments)] = -1  # Nobody waits for them any more.
        pool.shutdown(cancel_futures=True)
    return min(done, key=_order)


_shared: Any
"""What ``at_once`` shares with its workers: what they share it by has no type to be named here."""
_parent: int


def _begin(shared: Any, parent: int) -> None:
    """The first thing a worker does: what its parent does about signals is not its own to do."""
    global _shared, _parent  # A worker is one process, and this is what it is given.
    signal.set_wakeup_fd(-1)
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # A terminal tells all; its parent tells it to stop.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _shared, _parent = shared, parent


def _work(place: Place, task: Task, segment: Segment) -> Done:
    def go_on(position: Position) -> bool:
        if os.getppid() != _parent:
            os._exit(1)
        _shared[segment.place] = position - segment.first
        return bool(position <= _shared[len(_shared) - 1])

    async def main() -> Done:
        async with place.open(task.fleet) as history:
            try:
                world = await _beginning(history, task, segment)
                done = await _fold(history, task, segment, world, go_on)
                return Done(segment.place, done.trouble, done.evidence)
            except UnusableSnapshot as error:
                return Done(segment.place, _unusable(segment, error), None)
            except DamagedArchive as damaged:
                # While we read: it was verified before or after that.
                found = Divergence(damaged.reason, segment.first, path=damaged.file)
                return Done(segment.place, replace(found, recorded=damaged.detail), None)

    with seldom_collected():
        done = asyncio.run(main())
    with _shared.get_lock():
        last = len(_shared) - 1
        _shared[last] = min(_shared[last], _order(done)[0])
    return done


async def _beginning(history: History, task: Task, segment: Segment) -> World:
    return await recomputing.beginning(history, segment.begins, task.genesis)


async def _fold(
    history: History, task: Task, segment: Segment, world: World, go_on: GoOn
) -> recomputing.Recomputed:
    """Recompute a segment, and hold its end against what is recorded of it."""
    pages = history.decided_pages(
        first=segment.first, number=segment.number, through=segment.through
    )
    done = await recomputing.recompute(pages, world, segment, subject=task.subject, go_on=go_on)
    if done.world is None:
        return done
    if segment.ends is None:
        return replace(done, trouble=recomputing.added_up(done.world) if task.adds_up else None)
    trouble = recomputing.at_end(done.world, segment.ends)
    if trouble is not None:
        try:
            recorded = await recomputing.beginning(history, segment.ends, task.genesis)
            trouble = recomputing.unlike(trouble, recorded, done.world)
        except UnusableSnapshot as error:
            trouble = replace(trouble, recorded=str(error))
    return replace(done, trouble=trouble)


def _unusable(segment: Segment, error: UnusableSnapshot) -> Divergence:
    """Its bytes are what they are said to be, and no World."""
    return Divergence("snapshot_differs", segment.first - 1, stage="fold", recorded=str(error))


def _order(done: Done) -> tuple[int, int]:
    """What is found first comes first; nothing found, behind everything."""
    trouble = done.trouble
    if trouble is None:
        return NOWHERE, done.place
    assert trouble.position is not None, "what is found in a segment is at a position"
    return trouble.position, done.place
