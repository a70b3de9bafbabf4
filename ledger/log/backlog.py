"""How far the deciders are behind the log: what back-pressure is measured by."""

from collections.abc import Collection

import asyncpg

from ledger.units import FleetName


async def undecided(
    connection: asyncpg.Connection, names: Collection[FleetName]
) -> dict[FleetName, int]:
    """How many events of each of these fleets are recorded and not decided yet."""
    rows = await connection.fetch(
        "SELECT f.name,"
        "       coalesce((SELECT max(h.size) FROM ledger.heads h"
        "                  WHERE h.fleet = f.number AND h.tree = 'events'), 0)"
        "     - coalesce((SELECT max(d.through) + 1 FROM ledger.decided d"
        "                  WHERE d.fleet = f.number), 0) AS undecided"
        "  FROM ledger.fleets f WHERE f.name = ANY($1::text[])",
        list(names),
    )
    return {FleetName(row["name"]): row["undecided"] for row in rows}
