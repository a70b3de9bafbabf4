"""A fleet's history in the order in which it was folded: each event with what was decided on it."""

from collections.abc import AsyncIterator

import asyncpg

from ledger.log import decisions, read
from ledger.log.decisions import StoredDecision
from ledger.log.fleets import Fleet
from ledger.log.read import StoredEvent
from ledger.units import Position

Decided = tuple[StoredEvent, list[StoredDecision]]


async def decided_pages(
    connection: asyncpg.Connection, fleet: Fleet, *, through: Position
) -> AsyncIterator[list[Decided]]:
    """Events from the first to ``through``, page after page, each with its recorded decisions."""
    pages = decisions.pages(connection, fleet)
    waiting: list[StoredDecision] = []
    more = True
    async for page in read.pages(connection, fleet, first=Position(0), before=through + 1):
        last = page[-1].position
        while more and (not waiting or waiting[-1].position <= last):
            found = await anext(pages, None)
            more = found is not None
            waiting += found or []
        decided: list[Decided] = []
        taken = 0
        for event in page:
            first = taken
            while taken < len(waiting) and waiting[taken].position <= event.position:
                taken += 1
            decided.append((event, waiting[first:taken]))
        waiting = waiting[taken:]
        yield decided
