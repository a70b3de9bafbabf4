"""A history of every family, decided, with snapshots all over it, for tests that cut it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import asyncpg

from ledger.cli.simulator.history import Simulation
from ledger.cli.simulator.sizes import Sizes
from ledger.engine import decider
from ledger.engine.snapshots import Interval
from ledger.log import decisions, fleets, lines
from ledger.log.fleets import Fleet
from ledger.units import FleetName
from tests.engine.deciding import UNHURRIED

FLEET = FleetName("demo")


@dataclass(frozen=True, slots=True)
class Cut:
    """A decided log, over a connection that may do anything."""

    url: str
    connection: asyncpg.Connection
    fleet: Fleet
    last: int
    """Position of the last event that was decided, ticks included."""


AfterEach = Callable[[asyncpg.Connection], Awaitable[object]]


async def cut_history(
    url: str, connection: asyncpg.Connection, events: int, *, after_each: AfterEach | None = None
) -> Cut:
    """Decide so many events, with a snapshot behind each hundred or so."""
    simulation = Simulation(5, fleet=FLEET, sizes=Sizes(clusters=4, nodes=2, workloads=20, disks=2))
    told = list(simulation.events(events))
    for first in range(0, events, 100):
        await lines.ingest(connection, told[first : first + 100], clock="event")
        await decider.decide(
            url,
            holder="tests",
            until_idle=True,
            stop=asyncio.Event(),
            snapshots=Interval(events=90, seconds=0),
            pace=UNHURRIED,
        )
        if after_each is not None:
            await after_each(connection)
    fleet = await fleets.find(connection, FLEET)
    assert fleet is not None
    through, _ = await decisions.cursor(connection, fleet)
    return Cut(url, connection, fleet, through)


async def snapshots_at(connection: asyncpg.Connection) -> list[int]:
    """Of the last event in each."""
    rows = await connection.fetch("SELECT through FROM ledger.snapshots ORDER BY through")
    return [row["through"] for row in rows]
