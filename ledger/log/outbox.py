"""The outbox: how far a fleet's decisions were handed on.

A cursor over the gapless decision numbers, one row a batch, written under the lease ``publish``.
It moves after the brokers have acknowledged, so a crash in between hands some decisions on again;
none is left out and their order never changes.
"""

from collections.abc import Sequence

import asyncpg

from ledger.errors import WrongPosition
from ledger.log import leases
from ledger.log.database import refusals_named
from ledger.log.fleets import Fleet
from ledger.log.leases import Lease


async def next_number(connection: asyncpg.Connection, fleet: Fleet) -> int:
    """The number of the next decision to hand on."""
    with refusals_named():
        found = await connection.fetchval(
            "SELECT max(next) FROM ledger.published WHERE fleet = $1", fleet.number
        )
    return found or 0


async def moved_at(connection: asyncpg.Connection) -> int | None:
    """When a cursor of any fleet was moved last, in milliseconds; None where none ever was."""
    with refusals_named():
        moment: int | None = await connection.fetchval(
            "SELECT ledger.micros(max(published_at)) / 1000 FROM ledger.published"
        )
    return moment


async def recorded(
    connection: asyncpg.Connection, fleet: Fleet, numbers: Sequence[int]
) -> dict[int, tuple[int, str]]:
    """Life and digest of decisions, by number, as far as they are in the log."""
    with refusals_named():
        rows = await connection.fetch(
            "SELECT number, incarnation, encode(digest, 'hex') AS digest FROM ledger.decisions"
            " WHERE fleet = $1 AND number = ANY($2::bigint[])",
            fleet.number,
            numbers,
        )
    return {row["number"]: (row["incarnation"], row["digest"]) for row in rows}


async def move(connection: asyncpg.Connection, lease: Lease, *, before: int, after: int) -> None:
    """Move the cursor; nothing moves where the lease or the cursor is somebody else's by now."""
    fleet = lease.fleet
    with refusals_named():
        async with connection.transaction():
            await leases.check(connection, lease)
            found = await next_number(connection, fleet)
            if found != before:
                raise WrongPosition(f"{fleet.name}: published up to {found}, expected {before}")
            await connection.execute(
                "INSERT INTO ledger.published (fleet, next, epoch) VALUES ($1, $2, $3)",
                fleet.number,
                after,
                lease.epoch,
            )
