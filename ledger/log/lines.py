"""Ingest CloudEvents from JSON lines: the way in for people without Kafka.

The same contract, the same identity, the same quarantine. Exactly once rests on identity here:
a file read twice, or half a file read again after a crash, appends what was not there yet and
counts the rest as duplicates.

Lines are at hand (a file, a list) or arrive (a pipe, a terminal). Those that arrive keep nobody
waiting: what is there is written within a fraction of a second, however little it is.
"""

import asyncio
import os
import select
from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final

import asyncpg

from ledger.events.codec import accept_line
from ledger.events.contract import Family
from ledger.log.fleets import Clock
from ledger.log.garbage import seldom_collected
from ledger.log.intake import Intake, Taken
from ledger.log.messages import Coordinates, Message
from ledger.units import FleetName

FAMILIES: Final[frozenset[Family]] = frozenset({"cluster", "workload", "quota", "disk", "control"})
"""What the command line may say: everything but the ledger's own records."""

BATCH: Final = 1000
"""Lines a transaction: a fleet's lock is held for some hundredths of a second, and the wait for the
disk is hidden behind judging the next ones. Larger ones would gain nothing."""

SLICE: Final = 32
"""Lines judged between two turns of the event loop: under a millisecond, so that the batch before,
which is being written meanwhile, waits little for each of its some thirty turns."""

PATIENCE_SECONDS: Final = 0.2
"""How long a batch waits for lines that have not arrived: a person does not notice, and a producer
of a line at a time still shares its transactions."""

CHUNK: Final = 1024 * 1024
"""The most bytes read at once; a pipe seldom holds more than a sixteenth of it."""


class Arriving:
    """Lines that somebody is still writing, read from a pipe, a socket or a terminal.

    Nothing is read before it is asked for: what waits, waits in the pipe, and holds up its writer.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._whole: deque[bytes] = deque()
        self._begun = bytearray()
        self._closed = False
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    @property
    def ended(self) -> bool:
        """Whether there will be no more lines."""
        return self._closed and not self._whole

    async def take(self, most: int) -> list[bytes]:
        """The lines of a batch: fewer, or none, where no more are there when patience runs out."""
        until = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        found: list[bytes] = []
        while len(found) < most and (self._whole or await self._arrive(until)):
            size = min(most - len(found), len(self._whole))
            found += [self._whole.popleft() for _ in range(size)]
            await asyncio.sleep(0)
        return found

    async def _arrive(self, until: float) -> bool:
        while not self._whole and not self._closed:
            if not await self._readable(until):
                return False
            self._read()
        return bool(self._whole)

    async def _readable(self, until: float) -> bool:
        if self._poll.poll(0):
            return True
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(self._descriptor, readable.set)
        try:
            async with asyncio.timeout_at(until):
                await readable.wait()
        except TimeoutError:
            return False
        finally:
            loop.remove_reader(self._descriptor)
        return True

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, CHUNK)
        except BlockingIOError:
            return  # Another reader of the same pipe was faster.
        if not data:
            self._closed = True
            if self._begun:
                self._whole.append(bytes(self._begun))
            return
        self._begun += data
        if b"\n" in data:
            *whole, self._begun = self._begun.split(b"\n")
            self._whole.extend(bytes(line) + b"\n" for line in whole)


class _AtHand:
    """Lines that are there when they are asked for."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines = iter(lines)
        self.ended = False

    async def take(self, most: int) -> list[bytes]:
        """The lines of a batch."""
        found = list(islice(self._lines, most))
        self.ended = len(found) < most
        return found


async def ingest(
    connection: asyncpg.Connection,
    lines: Iterable[bytes] | Arriving,
    *,
    fleet: FleetName | None = None,
    clock: Clock | None = None,
    create_fleets: bool = True,
    batch: int = BATCH,
    first_line: int = 1,
    on_batch: Callable[[Taken], None] | None = None,
    stop: asyncio.Event | None = None,
) -> Taken:
    """Take every line into the log; judge the next batch while Postgres writes the one before.

    ``first_line`` is the number of the first line, for callers that hand over a file in parts.
    Once ``stop`` is set no new batch is begun; those that were are written.
    """
    intake = Intake(connection, create_fleets=create_fleets, clock=clock)
    total = Taken()

    def count(taken: Taken) -> None:
        total.add(taken)
        if on_batch is not None:
            on_batch(total)

    source = lines if isinstance(lines, Arriving) else _AtHand(lines)

    def over() -> bool:
        return source.ended or (stop is not None and stop.is_set())

    writing: asyncio.Task[Taken] | None = None
    with seldom_collected():
        try:
            while not over():
                found = await source.take(batch)
                messages = await _judged(found, first_line, fleet)
                first_line += len(found)
                if writing is not None:
                    count(await writing)
                    writing = None
                if messages:
                    writing = asyncio.create_task(intake.take(messages))
            if writing is not None:
                count(await writing)
        finally:
            if writing is not None:
                writing.cancel()
    return total


async def _judged(found: list[bytes], first_line: int, fleet: FleetName | None) -> list[Message]:
    """What the contract says of each line; empty ones say nothing."""
    messages: list[Message] = []
    for start in range(0, len(found), SLICE):
        for number, line in enumerate(found[start : start + SLICE], first_line + start):
            if line.isspace():
                continue
            value = line.rstrip(b"\r\n")
            verdict = accept_line(value, families=FAMILIES, fleet=fleet)
            messages.append(Message(Coordinates("file", None, None, number), verdict, None, value))
        await asyncio.sleep(0)
    return messages
