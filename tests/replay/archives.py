"""A decided and signed history in a database, and its archive, for tests that read either."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from ledger.cli.simulator.history import Simulation
from ledger.cli.simulator.sizes import Sizes
from ledger.engine import decider
from ledger.engine.snapshots import Interval
from ledger.events.codec import accept
from ledger.log import lines, receipts
from ledger.log.archive.reading import Archive
from ledger.log.archive.writing import export
from ledger.log.database import connect
from ledger.log.intake import Intake
from ledger.log.messages import Claim, Coordinates, Message
from ledger.log.notes import Key
from ledger.log.sealer import Sealer
from ledger.log.sealing import Site
from ledger.log.signed import memory
from ledger.log.signing_keys import origin, signing
from ledger.units import Incarnation, Position
from tests.engine.deciding import UNHURRIED
from tests.postgres import Postgres
from tests.replay.cut_history import FLEET, Cut, cut_history

SITE = Site("ledger.example", (bytes(range(32)),))
POSITIONS = 128
"""Of a range, so that a short history has several."""

TOPIC = "ledger.everything"
HEADERS = (("content-type", b"application/cloudevents+json"),)

KEYS: list[Key] = [
    signing(SITE.seeds[0], origin(SITE.name, FLEET, Incarnation(1), tree)).key
    for tree in ("events", "decisions", "both")
]


@dataclass(frozen=True, slots=True)
class Kept:
    """A log, and the folder of its archive."""

    history: Cut
    folder: Path

    @property
    def archive(self) -> Archive:
        """As it lies there now."""
        return Archive.open(self.folder)


async def taken_history(
    url: str,
    connection: asyncpg.Connection,
    folder: Path,
    *,
    events: int,
    first: int = 0,
    seed: int = 5,
) -> None:
    """A history as consumers take it from Kafka, decided with snapshots and signed in portions."""
    simulation = Simulation(
        seed, fleet=FLEET, sizes=Sizes(clusters=4, nodes=2, workloads=20, disks=2)
    )
    told = list(simulation.events(events))
    with memory(folder / "signed.json") as remembered:
        sealer = Sealer(SITE, remembered)
        for place in range(first, events, 60):
            await _by_offsets(connection, told[place : place + 60], place)
            await decider.decide(
                url,
                holder="tests",
                until_idle=True,
                stop=asyncio.Event(),
                snapshots=Interval(events=50, seconds=0),
                pace=UNHURRIED,
            )
            await sealer.round(connection)


async def _by_offsets(connection: asyncpg.Connection, values: Sequence[bytes], offset: int) -> None:
    """As one consumer takes a portion of one partition."""
    epoch = await receipts.open_epoch(connection, TOPIC, 0, owner="tests")
    batch = [
        Message(
            Coordinates("kafka", TOPIC, 0, offset + place),
            accept(value, headers=HEADERS, families=lines.FAMILIES, fleet=FLEET),
            FLEET.encode(),
            value,
            HEADERS,
        )
        for place, value in enumerate(values)
    ]
    intake = Intake(connection, create_fleets=True, clock="event")
    await intake.take(batch, Claim(TOPIC, 0, epoch), timestamp=offset)


@asynccontextmanager
async def kept_history(postgres: Postgres, folder: Path, events: int) -> AsyncIterator[Kept]:
    """Decided in pieces with snapshots, signed in the middle and at the end, exported in two parts."""
    async with postgres.database() as url:
        connection = await connect(url, None)
        with memory(folder / "signed.json") as remembered:
            sealer = Sealer(SITE, remembered)
            history = await cut_history(url, connection, events, after_each=sealer.round)
            kept = Kept(history, folder / "archive" / FLEET)
            for through in (Position(events // 2), None):
                await export(
                    connection,
                    history.fleet,
                    kept.folder,
                    through=through,
                    positions=POSITIONS,
                    on_written=lambda _reached, _end: None,
                )
            yield kept
        await connection.close()
