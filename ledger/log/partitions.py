"""Partitions of the events table: made ahead, watched, detached when everybody has passed them."""

from dataclasses import dataclass
from typing import Final

import asyncpg

from ledger.errors import LedgerStopped
from ledger.log.database import refusals_named

REFUSED: Final = frozenset({"LG012", "LG013"})
"""There is no such partition, or a fleet still needs it."""

AHEAD: Final = 2
"""Partitions kept ready beyond the one in use: over eight million events between two looks."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How the partitions of the log are doing."""

    made: int
    in_default: int
    """Rows that found no partition: 0, or somebody let maintenance slip."""
    incomplete: tuple[str, ...]
    """Fleets whose attached and archived rows do not add up to their head."""


async def make_ahead(connection: asyncpg.Connection) -> int:
    """Make the partitions that the longest log will need next; says how many were missing.

    Where rows have spilled into the default partition already, it becomes the partition of their
    range first.
    """
    with refusals_named():
        adopted = await connection.fetchval("SELECT ledger.adopt_default()")
        made = await connection.fetchval(
            "WITH used AS ("
            "  SELECT coalesce(max(size), 0) / ledger.positions_per_partition() AS ordinal"
            "    FROM ledger.heads WHERE tree = 'events')"
            " SELECT count(*) FILTER (WHERE ledger.make_partition(o))"
            "   FROM used, generate_series(used.ordinal, used.ordinal + $1) AS o"
            "  WHERE NOT ledger.has_partition(o)",
            AHEAD,
        )
    return int(made) + (adopted is not None)


async def detach(connection: asyncpg.Connection, ordinal: int) -> str:
    """Detach a partition that every fleet has left behind; the table stays, under its name.

    Raises LedgerStopped where somebody still needs it. Whether it is archived is looked at before, by
    ``ledger.replay.detaching``.
    """
    try:
        with refusals_named():
            return str(await connection.fetchval("SELECT ledger.detach_partition($1)", ordinal))
    except asyncpg.PostgresError as error:
        if error.sqlstate in REFUSED:
            raise LedgerStopped(str(error)) from error
        raise


async def reach(connection: asyncpg.Connection, ordinal: int) -> range:
    """Which positions a partition holds."""
    with refusals_named():
        size = int(await connection.fetchval("SELECT ledger.positions_per_partition()"))
    return range(ordinal * size, (ordinal + 1) * size)


async def strays(connection: asyncpg.Connection) -> int:
    """How many rows found no partition of their own."""
    with refusals_named():
        return int(await connection.fetchval("SELECT count(*) FROM ledger.events_default"))


async def standing(connection: asyncpg.Connection, *, made: int = 0) -> Standing:
    """Count rows in the default partition, and fleets whose rows do not add up: reads every key."""
    stray = await strays(connection)
    with refusals_named():
        rows = await connection.fetch(
            "SELECT f.name FROM ledger.fleets f"
            " WHERE coalesce((SELECT max(h.size) FROM ledger.heads h"
            "                  WHERE h.fleet = f.number AND h.tree = 'events'), 0)"
            "    <> (SELECT count(*) FROM ledger.events e WHERE e.fleet = f.number)"
            "     + coalesce((SELECT sum(a.next - a.first) FROM ledger.archived_ranges a"
            "                  WHERE a.fleet = f.number), 0)"
            " ORDER BY f.name"
        )
    return Standing(made, stray, tuple(row["name"] for row in rows))
