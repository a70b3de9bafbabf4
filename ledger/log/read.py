"""Read a fleet's events in order, and hear of new ones.

Positions are drawn under the append lock and committed before the lock is let go, so whoever has
read up to a position has missed nothing before it: reading on from there by key, in pages, each a
short transaction of its own, is all it takes. Notifications only save waiting; what was read is
the truth.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final, Literal, NamedTuple, Self

import asyncpg

from ledger.errors import LogUnavailable, SetupProblem
from ledger.log.database import connect, refusals_named
from ledger.log.fleets import Fleet
from ledger.units import Position

PAGE: Final = 1000
"""Rows a page: past a few hundred the round trip is lost in the noise, and memory stays small."""

PAGE_BYTES: Final = 8 * 1024 * 1024
"""And a page ends behind the event that reaches this: one alone may have a mebibyte."""


class StoredEvent(NamedTuple):
    """A row of the log: everything its leaf is made of, and the leaf."""

    position: int
    incarnation: int
    recorded_at_micros: int
    event_time_micros: int | None
    revision: int
    channel: str
    topic: str | None
    partition: int | None
    coordinate: int | None
    source: str
    id: str
    type: str
    subject: str
    payload: bytes
    leaf: bytes


_NAMES = ", ".join(StoredEvent._fields)

_PAGE = f"""
SELECT {_NAMES} FROM (
  SELECT {_NAMES}, sum(octet_length(payload)) OVER (ORDER BY position) - octet_length(payload) AS before
    FROM ledger.events WHERE fleet = $1 AND position >= $2 AND position < $3
   ORDER BY position LIMIT $4
) AS page WHERE before < $5 ORDER BY position
"""  # noqa: S608 - the names are our own


async def page(
    connection: asyncpg.Connection,
    fleet: Fleet,
    *,
    first: Position,
    before: int = 2**63 - 1,
    limit: int = PAGE,
) -> list[StoredEvent]:
    """Up to ``limit`` events from position ``first`` on, in order; fewer where they are large."""
    with refusals_named():
        rows = await connection.fetch(_PAGE, fleet.number, first, before, limit, PAGE_BYTES)
    return [StoredEvent._make(row) for row in rows]


async def pages(
    connection: asyncpg.Connection, fleet: Fleet, *, first: Position, before: int = 2**63 - 1
) -> AsyncIterator[list[StoredEvent]]:
    """Page after page, until there is nothing more."""
    while found := await page(connection, fleet, first=first, before=before):
        yield found
        first = Position(found[-1].position + 1)


class Bell:
    """Rings when something was appended anywhere; waiting on it always ends after a while too."""

    def __init__(
        self,
        connection: asyncpg.Connection,
        channel: Literal["ledger_events", "ledger_decisions"] = "ledger_events",
    ) -> None:
        self._connection = connection
        self._channel = channel
        self._rung = asyncio.Event()

    async def listen(self) -> None:
        """Begin to listen, on a connection that nobody else uses."""
        with refusals_named():
            await self._connection.add_listener(self._channel, self.ring)

    def ring(self, *_: object) -> None:
        """Wake whoever waits."""
        self._rung.set()

    async def wait(self, *, at_most: float) -> None:
        """Wait for a notification, at most so many seconds: polling stays the truth."""
        try:
            async with asyncio.timeout(at_most):
                await self._rung.wait()
        except TimeoutError:
            pass
        self._rung.clear()


class Ear:
    """A connection of its own on which decisions are heard of."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self.bell = Bell(connection, "ledger_decisions")

    @classmethod
    async def open(cls, url: str) -> Self:
        """Connect, and listen."""
        ear = cls(await connect(url, "ledger_reader"))
        await ear.bell.listen()
        return ear

    @property
    def closed(self) -> bool:
        """Whether nothing is heard on it any more."""
        return self._connection.is_closed()

    async def close(self) -> None:
        """Hear no more."""
        with suppress(LogUnavailable, SetupProblem), refusals_named():
            await self._connection.close(timeout=5)
