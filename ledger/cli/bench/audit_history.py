"""The log that ``ledger bench audit`` audits: the mixed history of the engine, decided, with snapshots."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Final

from ledger.cli.bench.engine_history import FLEET, simulation
from ledger.cli.bench.servers import Postgres
from ledger.cli.simulator.sizes import Sizes
from ledger.engine import decider
from ledger.engine.snapshots import Interval
from ledger.log import lines
from ledger.log.database import connected
from ledger.units import FleetName

SNAPSHOTS: Final = 10
"""How many are written on the way; by default a fleet of this length has as many."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What is measured on; nobody changes it."""

    url: str
    fleet: FleetName
    events: int
    """Without those that the decider told."""
    postgres: str
    """Which version of it."""


@asynccontextmanager
async def decided(postgres: Postgres, sizes: Sizes, *, events: int) -> AsyncIterator[Ground]:
    """The history taken in and decided, in a database of its own."""
    async with postgres.database() as url:
        async with connected(url, "ledger_writer") as connection:
            told = islice(simulation(sizes).events(events), events)
            taken = await lines.ingest(connection, told, clock="event")
        assert taken.appended == events, f"{taken}: all events of a benchmark are new and good"
        await decider.decide(
            url,
            holder="bench",
            until_idle=True,
            stop=asyncio.Event(),
            only=frozenset({FLEET}),
            snapshots=Interval(max(1, events // SNAPSHOTS), 0.0),
        )
        gc.collect()
        yield Ground(url, FLEET, events, postgres.version)
