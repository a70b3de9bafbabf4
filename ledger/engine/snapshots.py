"""When a snapshot of a World in memory is written, and by whom.

A World is a value, so a snapshot is of whatever was in memory at one moment. A child process spells
it (``ledger.engine.spelling_child``); the parts go to Postgres from here, over a connection of their
own, in one short transaction, while deciding goes on. One snapshot at a time, whatever the number of
fleets.

A fleet's snapshot is written by whoever stands by for it. A decider that nobody stands by for, or
whose standby does not come to it, writes its own. Which one is believed is told in
``ledger.engine.restoring``.
"""

import asyncio
import os
import tempfile
from dataclasses import dataclass, field
from typing import Final

import structlog

from ledger.engine.activity import Activity
from ledger.engine.restoring import own_layout, roots
from ledger.engine.spelling_child import Written, end, fork, why_not
from ledger.errors import LedgerError
from ledger.log import leases
from ledger.log import snapshots as kept
from ledger.log.database import Connection, connected
from ledger.log.fleets import Fleet
from ledger.log.snapshots import Described
from ledger.reducers.world import World
from ledger.units import DecisionNumber, Position

PATIENCE: Final = 3
"""A decider leaves its snapshot to a standby until so many are due."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Interval:
    """How often a fleet's snapshot is written: after so many events, and no sooner than that."""

    events: int = 20_000
    """What a restart folds at most, give or take what happens while one is written."""
    seconds: float = 30.0


@dataclass(slots=True)
class _Due:
    """When to look whether a fleet wants a snapshot."""

    position: int
    not_before: float = 0.0


@dataclass(slots=True)
class Snapshots:
    """Writes the snapshots of a process, one at a time, beside its other work."""

    url: str
    holder: str
    interval: Interval
    activity: Activity
    _due: dict[str, _Due] = field(default_factory=dict)
    _task: asyncio.Task[None] | None = None
    _child: int | None = None

    def offer(self, fleet: Fleet, world: World, *, leads: bool) -> None:
        """A World that the log says: written if it is time for one. Costs nothing if it is not."""
        due = self._due.setdefault(fleet.name, _Due(self.interval.events))
        if world.position < due.position or self._task is not None:
            return
        if asyncio.get_running_loop().time() < due.not_before:
            return
        self._task = asyncio.create_task(self._consider(fleet, world, due, leads=leads))
        self._task.add_done_callback(self._done)

    async def finish(self) -> None:
        """Wait for the one that is being written."""
        while self._task is not None:
            await asyncio.wait({self._task})

    async def stop(self) -> None:
        """Give up the one that is being written."""
        if self._child is not None:
            end(self._child)
        await self.finish()

    def _done(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled():
            task.result()

    async def _consider(self, fleet: Fleet, world: World, due: _Due, *, leads: bool) -> None:
        try:
            async with connected(self.url, "ledger_decider") as connection:
                wanted = await self._wanted_from(connection, fleet, leads=leads)
                if world.position < wanted:
                    due.position = wanted
                    return
                await self._write(connection, fleet, world)
            due.position = world.position + self.interval.events
        except (LedgerError, OSError) as error:
            self.activity.snapshots.failed += 1
            log.warning(
                "snapshot_failed", fleet=fleet.name, position=world.position - 1, why=str(error)
            )
        finally:
            due.not_before = asyncio.get_running_loop().time() + self.interval.seconds

    async def _wanted_from(self, connection: Connection, fleet: Fleet, *, leads: bool) -> int:
        """From which position on a snapshot is this process's to write."""
        own = own_layout()
        behind = [
            stored.described.through + 1
            for stored in await kept.newest(connection, fleet)
            if stored.described.layout == own
        ]
        patience = 1
        if leads and await leases.somebody_stands_by(
            connection, fleet, "decide", beside=self.holder
        ):
            patience = PATIENCE
        return max(behind, default=0) + patience * self.interval.events

    async def _write(self, connection: Connection, fleet: Fleet, world: World) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        through, decisions = Position(world.position - 1), world.decisions
        event_root, decision_root = await roots(connection, fleet, through, decisions)
        with tempfile.TemporaryFile(buffering=0) as file:
            forking = loop.time()
            self._child = fork(world, file.fileno())
            pause = loop.time() - forking
            try:
                _, status = await asyncio.to_thread(os.waitpid, self._child, 0)
            finally:
                self._child = None
            if status != 0:
                raise OSError(f"the process that spelled it {why_not(file, status)}")
            written = Written.read(file)
            another = await kept.write(
                connection,
                fleet,
                Described(
                    incarnation=world.incarnation,
                    through=through,
                    decisions=DecisionNumber(decisions),
                    layout=own_layout(),
                    digest=written.digest,
                    event_root=event_root,
                    decision_root=decision_root,
                    bytes=written.size,
                ),
                written.parts(file),
                stored_bytes=written.stored_bytes,
                holder=self.holder,
            )
        seconds = loop.time() - began
        if another is not None:
            if another != written.digest:
                log.error(
                    "snapshots_differ",
                    fleet=fleet.name,
                    position=through,
                    theirs=another.hex(),
                    ours=written.digest.hex(),
                )
            return
        counted = self.activity.snapshots
        counted.written += 1
        counted.seconds += seconds
        counted.pause_seconds += pause
        counted.bytes += written.stored_bytes
        log.info(
            "snapshot_written",
            fleet=fleet.name,
            position=through,
            bytes=written.size,
            stored_bytes=written.stored_bytes,
            seconds=round(seconds, 3),
            pause_seconds=round(pause, 6),
        )
