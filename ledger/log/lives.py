"""The lives of a fleet's log: which one it is in, and what it was when that one began.

A log is opened in its first life. Restored to an earlier point it goes on in the next one, whose first
event says what the life before had signed and handed on at its end (``ledger.log.recovery``).
"""

from dataclasses import dataclass

import asyncpg

from ledger.errors import LedgerStopped
from ledger.facts.own import LogRecovered
from ledger.log import folding, read
from ledger.log.database import refusals_named
from ledger.log.fleets import Fleet
from ledger.units import Incarnation, Position


@dataclass(frozen=True, slots=True)
class Life:
    """A life of a log."""

    incarnation: Incarnation
    begins: Position
    """Of its first event."""
    recovered: LogRecovered | None
    """What that event says; None in the life that a log is opened in."""


async def newest(connection: asyncpg.Connection, fleet: Fleet) -> Life:
    """The life that a fleet's log is in; LedgerStopped where nothing says how it began."""
    with refusals_named():
        row = await connection.fetchrow(
            "SELECT incarnation, from_size FROM ledger.incarnations WHERE fleet = $1"
            " ORDER BY incarnation DESC LIMIT 1",
            fleet.number,
        )
    assert row is not None, "an open fleet has a life"
    incarnation, begins = Incarnation(row["incarnation"]), Position(row["from_size"])
    if incarnation == 1:
        return Life(incarnation, begins, None)
    found = await read.page(connection, fleet, first=begins, before=begins + 1)
    said = folding.event(found[0]).fact if found else None
    if not isinstance(said, LogRecovered) or said.incarnation != incarnation:
        raise LedgerStopped(
            f"{fleet.name}: life {incarnation} is to begin at {begins}, and no event there says so;"
            " see `ledger verify --deep`"
        )
    return Life(incarnation, begins, said)
