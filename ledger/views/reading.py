"""What the command shows of the views: how the fleets stand, what waits in quarantine."""

from dataclasses import dataclass
from datetime import datetime

import asyncpg


@dataclass(frozen=True, slots=True)
class FleetStanding:
    """How far a fleet has come, and who decides for it now."""

    fleet: str
    clock: str
    incarnation: int
    events: int
    decisions: int
    decided_through: int | None
    undecided: int
    event_root: str | None
    decision_root: str | None
    decider: str | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a person should look at."""

    quarantined: int
    incidents: int
    halted: int


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A message that was set aside."""

    position: int
    address: str
    reason: str
    detail: str
    fleet: str | None
    type: str | None
    outcome: str | None
    quarantined_at: datetime


async def fleets(connection: asyncpg.Connection) -> list[FleetStanding]:
    """Every fleet, by name, without the ledger's own."""
    rows = await connection.fetch(
        "SELECT v.fleet, v.clock, v.incarnation, v.events, v.decisions, v.decided_through,"
        "       v.undecided, v.event_root, v.decision_root, l.holder"
        "  FROM ledger_api.fleets v"
        "  JOIN ledger.fleets f ON f.name = v.fleet"
        "  LEFT JOIN ledger.leases l ON l.fleet = f.number AND l.duty = 'decide'"
        "   AND l.expires_at > clock_timestamp()"
        " WHERE v.fleet <> '_ledger' ORDER BY v.fleet"
    )
    return [FleetStanding(*row) for row in rows]


async def undecided(connection: asyncpg.Connection, fleet: str) -> int:
    """How many events of a fleet wait to be decided."""
    waiting = await connection.fetchval(
        "SELECT undecided FROM ledger_api.fleets WHERE fleet = $1", fleet
    )
    return waiting or 0


async def waiting(connection: asyncpg.Connection) -> Waiting:
    """Counts of what a person should look at."""
    row = await connection.fetchrow(
        "SELECT (SELECT count(*) FROM ledger_api.quarantine WHERE outcome IS NULL),"
        "       (SELECT count(*) FROM ledger_api.incidents),"
        "       (SELECT count(*) FROM (SELECT DISTINCT ON (topic, partition) halted"
        "            FROM ledger.partition_halts ORDER BY topic, partition, number DESC) h"
        "         WHERE h.halted)"
    )
    assert row is not None, "counts are always one row"
    return Waiting(*row)


async def quarantined(
    connection: asyncpg.Connection, *, everything: bool, limit: int
) -> list[Quarantined]:
    """The newest messages in quarantine, those that still wait or all."""
    rows = await connection.fetch(
        "SELECT position, address, reason, detail, fleet, type, outcome, quarantined_at"
        "  FROM ledger_api.quarantine WHERE outcome IS NULL OR $1"
        " ORDER BY position DESC LIMIT $2",
        everything,
        limit,
    )
    return [Quarantined(*row) for row in rows]


async def quarantined_value(connection: asyncpg.Connection, position: int) -> bytes | None:
    """A quarantined message as it was received; None where there is no such message."""
    row = await connection.fetchrow(
        "SELECT coalesce(value, '') AS value FROM ledger_api.quarantine WHERE position = $1",
        position,
    )
    return None if row is None else row["value"]
