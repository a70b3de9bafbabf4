"""Ingest CloudEvents from JSON lines: the way in for people without Kafka.

The same contract, the same identity, the same quarantine. Exactly once rests on identity here:
a file read twice, or half a file read again after a crash, appends what was not there yet and
counts the rest as duplicates.

Lines are at hand (a file, a list) or arrive (a pipe, a terminal). Those that arrive keep nobody
waiting: what is there is written within a fraction of a second, however little it is.

Memory does not grow with what is read. A batch ends early where its lines are large, and a line
longer than any event can be is not collected to its end: it goes to quarantine as ``too_large``,
with its first LONGEST_LINE bytes as they came and, in the detail, the length and the SHA-256 of the
whole line without its newline. What is beyond the head is not kept. Reading goes on behind it.
"""

import asyncio
import os
import select
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Any, BinaryIO, Final

import asyncpg

from ledger.events.codec import Rejected, accept_line
from ledger.events.contract import Family
from ledger.events.strict_json import LARGEST_DOCUMENT
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

LONGEST_LINE: Final = LARGEST_DOCUMENT + CHUNK
"""What is kept of a line. More than an event may have, so that what was cut off can never be let in
for the whole; the margin is for those that are only a little too large, which are kept whole."""

BATCH_BYTES: Final = 8 * 1024 * 1024
"""Where so much was read for a batch, it is large enough: two of them are in memory at a time, one
being judged and one being written."""


@dataclass(frozen=True, slots=True)
class TooLong:
    """What is kept of a line over LONGEST_LINE: its beginning, and what it was altogether."""

    head: bytes
    length: int
    sha256: str


Line = bytes | TooLong
"""A line with its newline; the last of a file may have none. One that is too long never has it."""


class Cutter:
    """Cuts lines out of bytes, in whatever portions they come; holds at most one and a portion."""

    def __init__(self) -> None:
        """Nothing has come yet."""
        self._begun = bytearray()
        self._beyond: Any = None
        self._length = 0

    def add(self, data: bytes) -> list[Line]:
        """The lines that end in ``data``, which is shorter than the longest line."""
        begun, *rest = data.split(b"\n")
        self._collect(begun)
        if not rest:
            return []
        *whole, begun = rest
        found: list[Line] = [self._line(b"\n")]
        found += [line + b"\n" for line in whole]
        self._collect(begun)
        return found

    def end(self) -> list[Line]:
        """The last line, where it was begun and not ended."""
        return [self._line(b"")] if self._begun else []

    def _collect(self, piece: bytes) -> None:
        if self._beyond is not None:
            self._beyond.update(piece)
            self._length += len(piece)
            return
        self._begun += piece
        if len(self._begun) > LONGEST_LINE:
            self._beyond = sha256(self._begun)
            self._length = len(self._begun)
            del self._begun[LONGEST_LINE:]

    def _line(self, newline: bytes) -> Line:
        kept = bytes(self._begun)
        line: Line = kept + newline
        if self._beyond is not None:
            line = TooLong(kept, self._length, self._beyond.hexdigest())
        self._begun.clear()
        self._beyond = None
        return line


class _Source:
    """Lines that were read and not taken yet."""

    def __init__(self) -> None:
        self._cutter = Cutter()
        self._whole: deque[Line] = deque()
        self._closed = False
        self.bytes_read = 0

    @property
    def ended(self) -> bool:
        """Whether there will be no more lines."""
        return self._closed and not self._whole

    def _add(self, data: bytes) -> None:
        self.bytes_read += len(data)
        if data:
            self._whole.extend(self._cutter.add(data))
        else:
            self._closed = True
            self._whole.extend(self._cutter.end())

    def _move(self, found: list[Line], most: int) -> None:
        size = min(most - len(found), len(self._whole))
        found += [self._whole.popleft() for _ in range(size)]


class Arriving(_Source):
    """Lines that somebody is still writing, read from a pipe, a socket or a terminal.

    Nothing is read before it is asked for: what waits, waits in the pipe, and holds up its writer.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    async def take(self, most: int) -> list[Line]:
        """The lines of a batch: fewer, or none, where no more are there when patience runs out."""
        until = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        enough = self.bytes_read + BATCH_BYTES
        found: list[Line] = []
        while len(found) < most and (self._whole or await self._arrive(until, enough)):
            self._move(found, most)
            await asyncio.sleep(0)
        return found

    async def _arrive(self, until: float, enough: int) -> bool:
        while not self._whole and not self._closed:
            # A line that does not end keeps nobody waiting either.
            if self.bytes_read >= enough or not await self._readable(until):
                return False
            self._read()
            await asyncio.sleep(0)
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
        self._add(data)


class AtHand(_Source):
    """The lines of a file, which are there when they are asked for."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file

    async def take(self, most: int) -> list[Line]:
        """The lines of a batch: fewer, or none, where they are large, or one of them is."""
        enough = self.bytes_read + BATCH_BYTES
        found: list[Line] = []
        while len(found) < most and not self.ended:
            if not self._whole:
                if self.bytes_read >= enough:
                    break
                self._add(self._file.read(CHUNK))
                await asyncio.sleep(0)
            self._move(found, most)
        return found


class _Given:
    """Lines that somebody has in memory already."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines = iter(lines)
        self.ended = False

    async def take(self, most: int) -> list[Line]:
        """The lines of a batch."""
        found: list[Line] = list(islice(self._lines, most))
        self.ended = len(found) < most
        return found


async def ingest(
    connection: asyncpg.Connection,
    lines: Iterable[bytes] | AtHand | Arriving,
    *,
    fleet: FleetName | None = None,
    clock: Clock | None = None,
    create_fleets: bool = True,
    batch: int = BATCH,
    first_line: int = 1,
    named: str | None = None,
    on_batch: Callable[[Taken], None] | None = None,
    stop: asyncio.Event | None = None,
) -> Taken:
    """Take every line into the log; judge the next batch while Postgres writes the one before.

    ``first_line`` is the number of the first line, for callers that hand over a file in parts; ``named``
    is what the file is called.
    Once ``stop`` is set no new batch is begun; those that were are written.
    """
    intake = Intake(connection, create_fleets=create_fleets, clock=clock)
    total = Taken()

    def count(taken: Taken) -> None:
        total.add(taken)
        if on_batch is not None:
            on_batch(total)

    source = lines if isinstance(lines, AtHand | Arriving) else _Given(lines)

    def over() -> bool:
        return source.ended or (stop is not None and stop.is_set())

    writing: asyncio.Task[Taken] | None = None
    with seldom_collected():
        try:
            while not over():
                found = await source.take(batch)
                messages = await _judged(found, first_line, fleet, named)
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


async def _judged(
    found: list[Line], first_line: int, fleet: FleetName | None, named: str | None
) -> list[Message]:
    """What the contract says of each line; empty ones say nothing."""
    messages: list[Message] = []
    for start in range(0, len(found), SLICE):
        for number, line in enumerate(found[start : start + SLICE], first_line + start):
            at = Coordinates("file", None, None, number)
            if isinstance(line, TooLong):
                messages.append(Message(at, _refused(line, fleet), None, line.head, (), named))
            elif not line.isspace():
                value = line.rstrip(b"\r\n")
                verdict = accept_line(value, families=FAMILIES, fleet=fleet)
                messages.append(Message(at, verdict, None, value, (), named))
        await asyncio.sleep(0)
    return messages


def _refused(line: TooLong, fleet: FleetName | None) -> Rejected:
    """The contract's own refusal, about the line as it was and not as it is kept."""
    verdict = accept_line(line.head, families=FAMILIES, fleet=fleet)
    assert isinstance(verdict, Rejected), "the head alone is larger than any event"
    return verdict._replace(
        detail=f"{line.length} bytes with SHA-256 {line.sha256}, of which the first"
        f" {len(line.head)} are kept; at most {LARGEST_DOCUMENT} are read"
    )
