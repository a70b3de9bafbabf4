"""Stop a fleet in the database, where everybody who writes for it looks.

The signer, Kafka and a running decider each remember something of a fleet's log that is not in the
database. Where one of them remembers more than is there, or something else, the database was restored
to an earlier point, and going on would use numbers anew that are known outside. Whoever notices writes
it down here; from then on neither tree of the fleet grows (``ledger.lock_tree``) in the life that it is
in. The next life, which ``ledger.log.recovery`` begins, has no such row.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import asyncpg

from ledger.errors import FleetStopped
from ledger.log.database import refusals_named
from ledger.log.fleets import Fleet
from ledger.units import LEDGER_FLEET

Component = Literal["signer", "consumer", "publisher", "decider"]

StopReason = Literal["log_rewound", "log_forked", "log_rewritten"]
"""It ends before what is remembered; it goes on otherwise than is remembered; what was signed is not
what is there. The names are public (docs/errors.md)."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a fleet stands."""

    component: Component
    reason: StopReason
    detail: str

    def of(self, fleet: Fleet) -> FleetStopped:
        """The error that says so."""
        return FleetStopped(
            f"{fleet.name}: stopped by the {self.component}: {self.reason}: {self.detail};"
            " see `ledger recover`"
        )


async def stop(connection: asyncpg.Connection, fleet: Fleet, why: Stop) -> None:
    """Stop a fleet in the life that it is in; saying it twice changes nothing.

    The ledger's own fleet is never stopped: incidents are recorded there, this one too.
    """
    if fleet.name == LEDGER_FLEET:
        return
    with refusals_named():
        await connection.execute(
            "INSERT INTO ledger.fleet_stops (fleet, incarnation, component, reason, detail)"
            " SELECT $1, max(incarnation), $2, $3, $4 FROM ledger.incarnations WHERE fleet = $1"
            " ON CONFLICT DO NOTHING",
            fleet.number,
            why.component,
            why.reason,
            why.detail,
        )


async def stopped(connection: asyncpg.Connection, fleet: Fleet, why: Stop) -> FleetStopped:
    """Stop a fleet, and the error to raise."""
    await stop(connection, fleet, why)
    return why.of(fleet)


async def standing(connection: asyncpg.Connection, fleet: Fleet) -> tuple[Stop, ...]:
    """Who stopped a fleet in the life that it is in, the first one first."""
    with refusals_named():
        rows = await connection.fetch(
            "SELECT component, reason, detail FROM ledger.fleet_stops"
            " WHERE fleet = $1 AND incarnation ="
            "   (SELECT max(incarnation) FROM ledger.incarnations WHERE fleet = $1)"
            " ORDER BY stopped_at, component",
            fleet.number,
        )
    return tuple(Stop(*row) for row in rows)


async def stand_among(connection: asyncpg.Connection, names: Collection[str]) -> bool:
    """Whether any of these fleets stands in the life that it is in."""
    with refusals_named():
        found: bool = await connection.fetchval(
            "SELECT EXISTS (SELECT FROM ledger.fleet_stops s"
            "  JOIN ledger.fleets f ON f.number = s.fleet"
            " WHERE f.name = ANY($1::text[]) AND s.incarnation ="
            "   (SELECT max(i.incarnation) FROM ledger.incarnations i WHERE i.fleet = f.number))",
            list(names),
        )
    return found
