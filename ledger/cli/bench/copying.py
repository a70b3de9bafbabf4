"""The floor of every way in: raw binary COPY of the same bytes into a table with the same keys.

No validation, no order between writers, no tree, no receipts: only what Postgres itself must do to
keep these bytes under a key of position and a key of identity, in transactions of the same size.
The rows are encoded before the clock starts, so that not even Python stands in the way.
"""

from collections.abc import AsyncIterator, Sequence
from hashlib import sha256
from struct import Struct
from time import perf_counter
from typing import Final

from ledger.log.database import connect

_TABLE: Final = """
CREATE TABLE bench_floor (
  fleet    integer NOT NULL,
  position bigint NOT NULL,
  identity bytea NOT NULL,
  payload  bytea NOT NULL,
  PRIMARY KEY (fleet, position),
  UNIQUE (fleet, identity)
)
"""
_HEADER: Final = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_TRAILER: Final = b"\xff\xff"
_ROW: Final = Struct(">hiiiqi16si")
"""Four fields, each after its length; the last length is the payload's, which follows."""


def encoded(lines: Sequence[bytes], *, batch: int) -> list[bytes]:
    """The COPY streams of ``lines``, one a transaction."""
    return [
        _stream(lines[first : first + batch], first=first) for first in range(0, len(lines), batch)
    ]


def _stream(lines: Sequence[bytes], *, first: int) -> bytes:
    rows = [
        _ROW.pack(4, 4, 1, 8, position, 16, sha256(line).digest()[:16], len(line)) + line
        for position, line in enumerate(lines, first)
    ]
    return b"".join((_HEADER, *rows, _TRAILER))


async def copied(url: str, streams: Sequence[bytes]) -> float:
    """Seconds that Postgres takes for ``streams``, each a transaction."""
    connection = await connect(url, None)
    try:
        await connection.execute(_TABLE)
        began = perf_counter()
        for stream in streams:
            await connection.copy_to_table("bench_floor", source=_whole(stream), format="binary")
        return perf_counter() - began
    finally:
        await connection.close()


async def _whole(stream: bytes) -> AsyncIterator[bytes]:
    yield stream
