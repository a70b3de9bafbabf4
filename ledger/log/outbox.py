"""The outbox: how far a fleet's decisions were handed on.

A cursor over the gapless decision numbers, one row a batch, written under the lease ``publish``.
It moves after the brokers have acknowledged, so a crash in between hands some decisions on again;
none is left out and their order never changes.
"""

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
