"""A fleet's history in the order in which it was folded: each event with what was decided on it."""

from collections import deque
from collections.abc import AsyncIterator
from typing import Final

import asyncpg

from ledger.log import decisions, detached
from ledger.log.archive.reading import Archive
from ledger.log.decisions import StoredDecision
from ledger.log.fleets import Fleet
from ledger.log.read import StoredEvent
from ledger.units import Position

FIRST: Final = Position(0)

Decided = tuple[StoredEvent, list[StoredDecision]]


async def decided_pages(
    connection: asyncpg.Connection,
    fleet: Fleet,
    *,
    through: Position,
    first: Position = FIRST,
    number: int = 0,
    archive: Archive | None = None,
) -> AsyncIterator[list[Decided]]:
    """Events from ``first`` to ``through``, page after page, each with its recorded decisions.

    ``number`` is that of the first decision behind ``first``; what was detached from the database comes
    from its archive.
    """
    events = detached.pages(connection, fleet, archive, first=first, before=through + 1)
    made = decisions.pages(connection, fleet, first=number)
    async for page in joined(events, made):
        yield page


async def archived_pages(
    archive: Archive, *, through: Position, first: Position = FIRST, number: int = 0
) -> AsyncIterator[list[Decided]]:
    """The same from an archive alone."""

    async def events() -> AsyncIterator[list[StoredEvent]]:
        for page in archive.events(first, through + 1):
            yield page

    async def made() -> AsyncIterator[list[StoredDecision]]:
        for page in archive.decisions(number, archive.manifest.ends.decisions.size):
            yield page

    async for page in joined(events(), made()):
        yield page


async def joined(
    events: AsyncIterator[list[StoredEvent]], made: AsyncIterator[list[StoredDecision]]
) -> AsyncIterator[list[Decided]]:
    """Pages of events with the decisions on each, by position.

    A page has as many events as were read at once, or fewer where many decisions were made about them,
    so that no more than a few pages of rows are in memory.
    """
    waiting: deque[StoredDecision] = deque()
    more = True
    async for page in events:
        decided: list[Decided] = []
        count = 0
        for event in page:
            own: list[StoredDecision] = []
            while True:
                if not waiting and more:
                    found = await anext(made, None)
                    more = found is not None
                    waiting.extend(found or ())
                if not waiting or waiting[0].position > event.position:
                    break
                own.append(waiting.popleft())
            decided.append((event, own))
            count += len(own)
            if count >= decisions.PAGE:
                yield decided
                decided, count = [], 0
        if decided:
            yield decided
