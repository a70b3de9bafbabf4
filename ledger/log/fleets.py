"""Fleets as the log knows them: number, clock, and the genesis written at the first append."""

from dataclasses import dataclass
from typing import Final, Literal, cast

import asyncpg

from ledger.errors import SetupProblem
from ledger.events.codec import CONTRACT_REVISION
from ledger.facts import genesis
from ledger.facts.genesis import Genesis
from ledger.log.database import refusals_named
from ledger.units import LEDGER_FLEET, FleetName, Incarnation

Clock = Literal["wall", "event"]
"""Where ``recorded_at`` comes from: the clock under the lock, or the time an event carries."""

LAST_NUMBER: Final = 2**31 - 1
"""The number of ``_ledger``. Locks are taken by number, and whether a batch has something to tell
``_ledger`` is often known only once the other fleets are locked: so it comes last."""


NO_NUMBER: Final = 0
"""A fleet has a number in a database only."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """A fleet that is open: these three never change."""

    number: int
    name: FleetName
    clock: Clock


async def find(connection: asyncpg.Connection, name: FleetName) -> Fleet | None:
    """The fleet of this name, if it has been opened."""
    with refusals_named():
        row = await connection.fetchrow(
            "SELECT number, name, clock FROM ledger.fleets WHERE name = $1", name
        )
    return None if row is None else Fleet(row["number"], row["name"], row["clock"])


async def named(connection: asyncpg.Connection, name: str) -> Fleet:
    """The fleet of this name; SetupProblem where there is none."""
    found = await find(connection, FleetName(name))
    if found is None:
        raise SetupProblem(f"fleet {name}: there is none of this name; see `ledger status`")
    return found


async def every(connection: asyncpg.Connection) -> tuple[Fleet, ...]:
    """All fleets, by name, without the ledger's own."""
    with refusals_named():
        rows = await connection.fetch(
            "SELECT number, name, clock FROM ledger.fleets WHERE name <> $1 ORDER BY name",
            LEDGER_FLEET,
        )
    return tuple(Fleet(row["number"], row["name"], row["clock"]) for row in rows)


async def open_(connection: asyncpg.Connection, name: FleetName, *, clock: Clock) -> Fleet:
    """Open a fleet, or find the one that somebody opened first.

    Its genesis waits for the first append, because a first event may still set the salt.
    """
    await connection.execute(
        "INSERT INTO ledger.fleets (number, name, clock)"
        " VALUES (CASE WHEN $1 = $3 THEN $4 ELSE nextval('ledger.fleet_numbers') END, $1, $2)"
        # Of any key: the ledger's own fleet has a number that two who open it at once both say.
        " ON CONFLICT DO NOTHING",
        name,
        clock,
        LEDGER_FLEET,
        LAST_NUMBER,
    )
    fleet = await find(connection, name)
    assert fleet is not None, "it was inserted, or somebody else's insert was waited for"
    await connection.execute(
        "INSERT INTO ledger.incarnations (fleet, incarnation, from_size, reason)"
        " VALUES ($1, 1, 0, 'opened') ON CONFLICT DO NOTHING",
        fleet.number,
    )
    await connection.execute(
        "INSERT INTO ledger.append_locks (fleet, tree)"
        " VALUES ($1, 'events'), ($1, 'decisions') ON CONFLICT DO NOTHING",
        fleet.number,
    )
    return fleet


async def write_genesis(connection: asyncpg.Connection, fleet: Fleet, salt: str | None) -> None:
    """Fix what the fleet begins with; called under its lock, before its first event."""
    born = genesis.born(fleet.name, salt=salt, revision=CONTRACT_REVISION)
    await connection.execute(
        "INSERT INTO ledger.geneses (fleet, document, digest) VALUES ($1, $2, $3)",
        fleet.number,
        genesis.document(born),
        bytes.fromhex(genesis.genesis_digest(born)),
    )


async def read_genesis(connection: asyncpg.Connection, fleet: Fleet) -> Genesis | None:
    """What the fleet began with; None before its first append."""
    with refusals_named():
        stored = await connection.fetchval(
            "SELECT document FROM ledger.geneses WHERE fleet = $1", fleet.number
        )
    return None if stored is None else genesis.from_document(cast("bytes", stored))


async def incarnation(connection: asyncpg.Connection, fleet: Fleet) -> Incarnation:
    """Which life of its log the fleet is in."""
    with refusals_named():
        newest = await connection.fetchval(
            "SELECT max(incarnation) FROM ledger.incarnations WHERE fleet = $1", fleet.number
        )
    return Incarnation(newest)


async def bind(connection: asyncpg.Connection, source: str, name: FleetName) -> None:
    """Let a source speak for this fleet, and for no other that it is not bound to as well."""
    await connection.execute(
        "INSERT INTO ledger.source_bindings (source, fleet) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        source,
        name,
    )
