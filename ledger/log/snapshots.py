"""Where snapshots are kept: a row that says of what, and the bytes in compressed parts.

A snapshot is a cache. Its row stays, so that the digests of a fleet's Worlds are a chain that
replays can meet at. Of the bytes those of the newest are kept, for whoever starts, and of the older
ones a few that lie spread over the log, so that a replay can begin in many places at once. Whether
one is to be believed is for its reader to find out: nothing is signed here. What the bytes mean is
not known here either.
"""

import asyncio
import zlib
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import asyncpg

from ledger.errors import UnusableSnapshot
from ledger.log.database import refusals_named
from ledger.log.fleets import Fleet
from ledger.units import DecisionNumber, Incarnation, Position

KEPT: Final = 3
"""Of each layout: the newest could be damaged, and the one before it be read while it goes."""

SPREAD: Final = 32
"""And of the layout written last so many at most, and half as many at least, over the whole log:
each stretch of it keeps its first one, and a stretch is twice as long once there are too many."""

LAYOUTS_KEPT: Final = 2
"""This release's and another's, so that going back to that one is quick too."""

COMPRESSION: Final = 1
"""A quarter more bytes than the best there is, in a third of its time."""


class Layout(NamedTuple):
    """What must be equal for a program to read a snapshot."""

    engine: int
    layout: int
    types: bytes


@dataclass(frozen=True, slots=True)
class Described:
    """What a snapshot says of itself."""

    incarnation: Incarnation
    through: Position
    """Of the last event in it."""
    decisions: DecisionNumber
    """How many were folded: the number of the next one."""
    layout: Layout
    digest: bytes
    event_root: bytes
    decision_root: bytes
    bytes: int


@dataclass(frozen=True, slots=True)
class Stored:
    """A snapshot whose bytes are there."""

    number: int
    described: Described


async def newest(connection: asyncpg.Connection, fleet: Fleet) -> list[Stored]:
    """Those whose bytes are kept, the newest first, of whatever layout."""
    with refusals_named():
        rows = await connection.fetch(
            "SELECT s.number, s.incarnation, s.through, s.decisions, s.engine, s.layout, s.types,"
            "       s.digest, s.event_root, s.decision_root, s.bytes"
            "  FROM ledger.snapshots s"
            "  JOIN ledger.snapshot_parts p ON p.snapshot = s.number AND p.part = 0"
            " WHERE s.fleet = $1 ORDER BY s.through DESC, s.number DESC",
            fleet.number,
        )
    return [
        Stored(
            row["number"],
            Described(
                incarnation=Incarnation(row["incarnation"]),
                through=Position(row["through"]),
                decisions=DecisionNumber(row["decisions"]),
                layout=Layout(row["engine"], row["layout"], row["types"]),
                digest=row["digest"],
                event_root=row["event_root"],
                decision_root=row["decision_root"],
                bytes=row["bytes"],
            ),
        )
        for row in rows
    ]


def compressed(content: bytes) -> bytes:
    """A part as it is kept."""
    return zlib.compress(content, COMPRESSION)


def decompressed(content: bytes) -> bytes:
    """A part as it was; raises UnusableSnapshot where it is damaged."""
    try:
        return zlib.decompress(content)
    except zlib.error as error:
        raise UnusableSnapshot(str(error)) from error


class Hash(Protocol):
    """What a digest is made with."""

    def update(self, told: bytes, /) -> None:
        """Take more bytes in."""


async def lines(
    connection: asyncpg.Connection, stored: Stored, whole: Hash | None = None
) -> AsyncIterator[list[bytes]]:
    """The lines of a snapshot, a part at a time, each with its end.

    They stop early if somebody deletes the parts meanwhile. ``whole`` takes in what they are made of.
    """
    contents = (content async for _, content in parts(connection, stored))
    async with aclosing(unpacked(contents, whole)) as found:
        async for some in found:
            yield some


async def unpacked(
    contents: AsyncIterable[bytes], whole: Hash | None = None
) -> AsyncGenerator[list[bytes]]:
    """The lines of parts as they are kept. A thread unpacks the next part while this one is read."""

    def unpack(content: bytes) -> bytes:
        plain = decompressed(content)
        if whole is not None:
            whole.update(plain)
        return plain

    loop = asyncio.get_running_loop()
    ahead: asyncio.Future[bytes] | None = None
    begun = b""
    # One thread: a digest takes in one part after the other.
    with ThreadPoolExecutor(1) as thread:
        try:
            async for content in contents:
                this, ahead = ahead, loop.run_in_executor(thread, unpack, content)
                if this is not None:
                    found, begun = _lines(begun + await this)
                    yield found
            if ahead is not None:
                found, begun = _lines(begun + await ahead)
                yield found
        finally:
            if ahead is not None:
                await asyncio.wait({ahead})
                ahead.exception()  # Nobody is left to be told.


def _lines(told: bytes) -> tuple[list[bytes], bytes]:
    """Those that are whole, and what has only begun."""
    found = told.splitlines(keepends=True)  # A snapshot has no other line breaks.
    return (found, b"") if not found or told.endswith(b"\n") else (found[:-1], found[-1])


async def parts(connection: asyncpg.Connection, stored: Stored) -> AsyncIterator[tuple[int, bytes]]:
    """The parts of a snapshot as they are kept, one after the other."""
    part = 0
    while True:
        with refusals_named():
            content = await connection.fetchval(
                "SELECT content FROM ledger.snapshot_parts WHERE snapshot = $1 AND part = $2",
                stored.number,
                part,
            )
        if content is None:
            return
        yield part, content
        part += 1


async def write(
    connection: asyncpg.Connection,
    fleet: Fleet,
    described: Described,
    contents: Iterable[bytes],
    *,
    stored_bytes: int,
    holder: str,
) -> bytes | None:
    """Keep a snapshot, and delete the parts of those that are old by now.

    Where there is one of this position and layout already, nothing is written, and the answer is
    its digest: two folds of one log have the same.
    """
    with refusals_named():
        async with connection.transaction():
            number = await connection.fetchval(
                "INSERT INTO ledger.snapshots (fleet, incarnation, through, decisions, engine,"
                "  layout, types, digest, event_root, decision_root, bytes, stored_bytes, written_by)"
                " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
                " ON CONFLICT DO NOTHING RETURNING number",
                fleet.number,
                described.incarnation,
                described.through,
                described.decisions,
                *described.layout,
                described.digest,
                described.event_root,
                described.decision_root,
                described.bytes,
                stored_bytes,
                holder,
            )
            if number is None:
                return await _digest_there(connection, fleet, described)
            await connection.copy_records_to_table(
                "snapshot_parts",
                schema_name="ledger",
                columns=("snapshot", "part", "content"),
                records=((number, part, content) for part, content in enumerate(contents)),
            )
            await connection.execute(_FORGET, fleet.number, KEPT, LAYOUTS_KEPT, SPREAD)
    return None


_FORGET: Final = """
WITH kept AS (
  SELECT s.number, s.through,
         row_number() OVER (kind ORDER BY s.through DESC) AS place,
         max(s.number) OVER kind AS newest,
         max(s.through) OVER kind AS last
    FROM ledger.snapshots s
    JOIN ledger.snapshot_parts p ON p.snapshot = s.number AND p.part = 0
   WHERE s.fleet = $1
  WINDOW kind AS (PARTITION BY s.incarnation, s.engine, s.layout, s.types)
), stretched AS (
  SELECT number, through, place,
         dense_rank() OVER (ORDER BY newest DESC) AS kind,
         -- The least power of two of which $4 hold the last one.
         (SELECT min(1::bigint << n) FROM generate_series(0, 50) n WHERE (1::bigint << n) * $4 > last)
           AS stretch
    FROM kept
), ranked AS (
  SELECT number, place, kind,
         row_number() OVER (PARTITION BY kind, through / stretch ORDER BY through) AS in_stretch
    FROM stretched
)
DELETE FROM ledger.snapshot_parts
 WHERE snapshot IN (
   SELECT number FROM ranked WHERE kind > $3 OR place > $2 AND (kind > 1 OR in_stretch > 1)
 )
"""


async def _digest_there(
    connection: asyncpg.Connection, fleet: Fleet, described: Described
) -> bytes | None:
    digest: bytes | None = await connection.fetchval(
        "SELECT digest FROM ledger.snapshots"
        " WHERE fleet = $1 AND incarnation = $2 AND through = $3"
        "   AND engine = $4 AND layout = $5 AND types = $6",
        fleet.number,
        described.incarnation,
        described.through,
        *described.layout,
    )
    return digest
