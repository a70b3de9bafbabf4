"""A small decided log that is signed for, restored and recovered, for tests of what comes of that."""

from pathlib import Path

from ledger.errors import LedgerStopped
from ledger.log import fleets, lines, recovery
from ledger.log.database import Connection, connected
from ledger.log.fleets import Fleet
from ledger.log.known_ends import Signers, remembered
from ledger.log.publishing import Directory
from ledger.log.recovery import Assessment, Remembered
from ledger.log.sealer import Sealer
from ledger.log.sealing import Site
from ledger.log.signed import memory, recalled
from ledger.units import FleetName
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line
from tests.restoring import Restorable

SITE = Site("ledger.example", (bytes(32),))
NOTHING = Remembered({}, None, {})


async def grow(database: Restorable, first: int, count: int) -> None:
    async with connected(database.url, "ledger_writer") as connection:
        told = [cluster_line(number) for number in (1, 2)] if first == 1 else []
        told += [
            workload_line(number, replicas=number, weights={"c1": 1, "c2": 1})
            for number in range(first, first + count)
        ]
        await lines.ingest(connection, told)
    await decide_all(database.url)


async def sealed(database: Restorable, folder: Path, name: str = "test") -> LedgerStopped | None:
    with memory(folder / "signed.json") as kept:
        sealer = Sealer(SITE, kept, [Directory(folder / "notes")])
        async with connected(database.url, "ledger_signer") as connection:
            await sealer.round(connection)
    return sealer.stopped.get(name)


async def the_fleet(connection: Connection) -> Fleet:
    fleet = await fleets.find(connection, FleetName("test"))
    assert fleet is not None
    return fleet


async def assessed(database: Restorable, outside: Remembered) -> Assessment:
    async with connected(database.url, "ledger_writer") as connection:
        return await recovery.assess(connection, await the_fleet(connection), outside)


async def recovered(database: Restorable, outside: Remembered) -> Assessment:
    async with connected(database.url, "ledger_writer") as connection:
        found = await recovery.assess(connection, await the_fleet(connection), outside)
        await recovery.begin(connection, found, why="it was restored", by="anna")
    return found


def by_the_signer(folder: Path) -> Remembered:
    found = recalled(folder / "signed.json")
    return Remembered(found.last, None, {}, tuple(remembered(found)), Signers(site=found.signs_as))


async def restored(log: Restorable, folder: Path) -> None:
    """Restored to where four workloads were decided; seven were signed for."""
    assert await sealed(log, folder) is None
    backup = await log.back_up()
    await grow(log, 5, 3)
    assert await sealed(log, folder) is None
    await log.restore(backup)
