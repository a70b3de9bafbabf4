"""A fleet's history in the order in which it was folded: each event with what was decided on it."""

from collections import deque
from collections.abc import AsyncIterator
from typing import Final

import asyncpg

from ledger.log import decisions, read
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
) -> AsyncIterator[list[Decided]]:
    """Events from ``first`` to ``through``, page after page, each with its recorded decisions.

    ``number`` is that of the first decision behind ``first``. A page has as many events as were
    read at once, or fewer where many decisions were made about them, so that no more than a few
    pages of rows are in memory.
    """
    pages = decisions.pages(connection, fleet, first=number)
    waiting: deque[StoredDecision] = deque()
    more = True
    async for page in read.pages(connection, fleet, first=first, before=through + 1):
        decided: list[Decided] = []
        count = 0
        for event in page:
            made: list[StoredDecision] = []
            while True:
                if not waiting and more:
                    found = await anext(pages, None)
                    more = found is not None
                    waiting.extend(found or ())
                if not waiting or waiting[0].position > event.position:
                    break
                made.append(waiting.popleft())
            decided.append((event, made))
            count += len(made)
            if count >= decisions.PAGE:
                yield decided
                decided, count = [], 0
        if decided:
            yield decided
