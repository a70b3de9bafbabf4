"""The lives of a fleet's log: which one it is in, and what it was when that one began.

A log is opened in its first life. Restored to an earlier point it goes on in the next one, whose first
event says what the life before had signed and handed on at its end (``ledger.log.recovery``). The row
of a life repeats what its event says, so nobody who appends or signs needs the partition in which that
lies; `ledger verify --deep` holds the two against each other.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import asyncpg

from ledger.errors import LedgerStopped
from ledger.events.codec import decode
from ledger.facts.own import LogRecovered
from ledger.log import decisions
from ledger.log.database import refusals_named
from ledger.log.fleets import Fleet
from ledger.log.trees import Tree
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
            "SELECT incarnation, from_size, said, revision FROM ledger.incarnations"
            " WHERE fleet = $1 ORDER BY incarnation DESC LIMIT 1",
            fleet.number,
        )
    assert row is not None, "an open fleet has a life"
    incarnation, begins = Incarnation(row["incarnation"]), Position(row["from_size"])
    if incarnation == 1:
        return Life(incarnation, begins, None)
    said = None if row["said"] is None else decode(row["said"], revision=row["revision"])
    if not isinstance(said, LogRecovered) or said.incarnation != incarnation:
        raise LedgerStopped(
            f"{fleet.name}: life {incarnation} began at {begins}, and nothing says with what;"
            " see `ledger verify --deep`"
        )
    return Life(incarnation, begins, said)


async def kept_of(
    connection: asyncpg.Connection, fleet: Fleet, incarnation: Incarnation
) -> Mapping[Tree, int] | None:
    """How much the log has of what its trees had at the end of a life; None: it is in that life.

    Of the decisions those are kept that were made about events that are.
    """
    with refusals_named():
        kept = await connection.fetchval(
            "SELECT min(from_size) FROM ledger.incarnations WHERE fleet = $1 AND incarnation > $2",
            fleet.number,
            incarnation,
        )
    if kept is None:
        return None
    made = await decisions.made_by(connection, fleet, Position(kept - 1)) if kept else 0
    return {"events": kept, "decisions": made}
