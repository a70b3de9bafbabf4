"""Events and decisions as an audit reads them: rows in order, and the leaf that each must have.

What a leaf is made of comes from Postgres in the order in which it is hashed, so that a row needs no
names on the way. A page holds few bytes however large an event is: the payloads of large ones are
asked for one by one. The next page is on its way while one is hashed.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final

import orjson

from ledger.log.archive.reading import Archive
from ledger.log.database import Connection, refusals_named
from ledger.log.detached import stretches
from ledger.log.fleets import Fleet
from ledger.log.leaf import LEAF_LAYOUT
from ledger.log.merkle import LEAF_PREFIX
from ledger.replay.told_events import RECOVERED

PAGE: Final = 1000

_LARGE: Final = 16 * 1024
"""Bytes of a payload that does not come with its page, but of an event with which a life begins."""

POSITION, LEAF, PAYLOAD, INCARNATION, TYPE, SUBJECT = 0, 1, 2, 3, 6, 7
EVENT_TIME, RECORDED_AT, REVISION = 8, 9, 10
"""Places of a row."""

_HASHED: Final = 3
"""Place from which on a row is what its leaf begins with, behind layout and fleet."""

COLUMNS: Final = (
    *("position", "leaf", "payload", "incarnation", "source", "id", "type", "subject"),
    *("event_time", "recorded_at", "revision", "channel", "topic", "partition", "coordinate"),
)
"""The same by the names they have in an archive."""

_EVENTS: Final = f"""
SELECT position, leaf, CASE WHEN octet_length(payload) < {_LARGE} OR type = $4 THEN payload END,
       incarnation, source, id, type, subject, event_time_micros, recorded_at_micros, revision,
       channel, topic, partition, coordinate
  FROM ledger.events WHERE fleet = $1 AND position >= $2 AND position < $3
 ORDER BY position LIMIT {PAGE}
"""  # noqa: S608 - whole numbers of our own

Row = Any
"""A row as the driver has it: its values, in order."""


async def event_pages(
    connection: Connection,
    fleet: Fleet,
    archive: Archive | None = None,
    *,
    first: int,
    before: int,
) -> AsyncIterator[list[Row]]:
    """Page after page of events, by position, without the payloads of large ones.

    What was detached from the database comes from its archive, payloads and all.
    """
    for stretch in await stretches(connection, fleet, archive, first=first, before=before):
        if stretch.archive is not None:
            for page in stretch.archive.event_rows(stretch.first, stretch.before, COLUMNS):
                yield page
            continue
        with refusals_named():
            statement = await connection.prepare(_EVENTS)
            rows = await statement.fetch(fleet.number, stretch.first, stretch.before, RECOVERED)
        while rows:
            yield list(rows)
            with refusals_named():
                after = rows[-1][POSITION] + 1
                rows = await statement.fetch(fleet.number, after, stretch.before, RECOVERED)


async def payload(connection: Connection, fleet: Fleet, row: Row) -> bytes:
    """The bytes of an event, asked for if they did not come with its page."""
    if row[PAYLOAD] is not None:
        return bytes(row[PAYLOAD])
    with refusals_named():
        found: bytes = await connection.fetchval(
            "SELECT payload FROM ledger.events WHERE fleet = $1 AND position = $2",
            fleet.number,
            row[POSITION],
        )
    return found


class EventPages:
    """The events of a fleet up to a size, page after page, the next one asked for early."""

    def __init__(
        self, connection: Connection, fleet: Fleet, archive: Archive | None, *, before: int
    ) -> None:
        self._connection = connection
        self._pages = event_pages(connection, fleet, archive, first=0, before=before)
        self._coming: asyncio.Task[list[Row]] | None = None

    async def next(self) -> list[Row]:
        """The next page; none where there are no more events."""
        if self._coming is None:
            return await self._fetched()
        coming, self._coming = self._coming, None
        return await coming

    async def ask(self) -> None:
        """Ask for the next page now. Until ``next`` nothing else is said over the connection."""
        self._coming = asyncio.create_task(self._fetched())
        # Once around the loop: the question is on its way before anything else is done here.
        await asyncio.sleep(0)

    async def stop(self) -> None:
        """Leave the connection to others, however far this came."""
        if self._coming is not None:
            with suppress(Exception):
                await self._coming
            self._coming = None

    async def _fetched(self) -> list[Row]:
        return await anext(self._pages, [])


def leaf_hash(fleet: str, row: Row, content: bytes) -> bytes:
    """The leaf that an event of these bytes must have."""
    return leaf_hashes(fleet, [(*row[:PAYLOAD], content, *row[_HASHED:])])[0]


def leaf_hashes(fleet: str, rows: Sequence[Row]) -> list[bytes]:
    """The leaf that each event must have; ``ledger.log.leaf`` says what it is made of."""
    # One loop and no calls of our own in it: it runs for every event there ever was.
    dumps, layout, prefix = orjson.dumps, LEAF_LAYOUT, LEAF_PREFIX
    return [
        sha256(
            prefix
            + dumps(
                (
                    layout,
                    fleet,
                    *row[_HASHED:],
                    len(content := row[PAYLOAD]),
                    sha256(content).hexdigest(),
                )
            )
        ).digest()
        for row in rows
    ]
