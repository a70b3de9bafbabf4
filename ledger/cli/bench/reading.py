"""How fast the log is read back in order, against a raw SELECT of the same columns by the same pages."""

from time import perf_counter
from typing import Final

from ledger.cli.bench import figures, material
from ledger.cli.bench.servers import Postgres
from ledger.log import fleets, lines, read
from ledger.log.database import Connection, connect
from ledger.log.fleets import Fleet
from ledger.units import FleetName, Position

_FLOOR: Final = f"""
SELECT {", ".join(read.StoredEvent._fields)}
  FROM ledger.events WHERE fleet = $1 AND position >= $2 ORDER BY position LIMIT $3
"""  # noqa: S608 - the names are our own


async def read_back(postgres: Postgres, *, events: int, rounds: int) -> str:
    """The same rows are read in turns, over one connection, from a server that has them in memory."""
    async with postgres.database() as url:
        connection = await connect(url, "ledger_writer")
        try:
            await lines.ingest(connection, material.lines(events))
            fleet = await fleets.find(connection, FleetName(material.FLEET))
            assert fleet is not None
            await _select(connection, fleet)
            taken: list[figures.Round] = []
            for _ in range(rounds):
                floor_rows, floor = await _select(connection, fleet)
                rows, seconds = await _read(connection, fleet)
                assert rows == floor_rows == events
                taken.append(figures.Round(events, seconds, events, floor))
        finally:
            await connection.close()
    return figures.line("read", taken, postgres=postgres.version, more={"page": read.PAGE})


async def _select(connection: Connection, fleet: Fleet) -> tuple[int, float]:
    began = perf_counter()
    position = 0
    while found := await connection.fetch(_FLOOR, fleet.number, position, read.PAGE):
        position = found[-1]["position"] + 1
    return position, perf_counter() - began


async def _read(connection: Connection, fleet: Fleet) -> tuple[int, float]:
    began = perf_counter()
    rows = 0
    async for page in read.pages(connection, fleet, first=Position(0)):
        rows += len(page)
    return rows, perf_counter() - began
