"""How fast a log is folded and decided in memory, against only decoding its rows."""

from collections.abc import Sequence
from time import perf_counter

from ledger.cli.bench import figures, material
from ledger.cli.bench.servers import Postgres
from ledger.decisions.step import advance
from ledger.facts.genesis import Genesis
from ledger.log import fleets, lines, read
from ledger.log.database import connect
from ledger.log.folding import event
from ledger.log.read import StoredEvent
from ledger.reducers.world import begin
from ledger.units import FleetName, Incarnation, Position


async def fold(postgres: Postgres, *, events: int, rounds: int) -> str:
    """The log is read once; then its rows are decoded, and decoded and decided, in turns."""
    genesis, rows = await _history(postgres, events)
    taken: list[figures.Round] = []
    decisions = 0
    for _ in range(rounds):
        floor = _decoded(rows)
        seconds, decisions = _decided(genesis, rows)
        taken.append(figures.Round(events, seconds, events, floor))
    told = {"decisions": decisions}
    return figures.line("fold", taken, postgres=postgres.version, more=told)


async def _history(postgres: Postgres, events: int) -> tuple[Genesis, list[StoredEvent]]:
    async with postgres.database() as url:
        connection = await connect(url, "ledger_writer")
        try:
            await lines.ingest(connection, material.lines(events))
            fleet = await fleets.find(connection, FleetName(material.FLEET))
            assert fleet is not None
            genesis = await fleets.read_genesis(connection, fleet)
            assert genesis is not None
            pages = read.pages(connection, fleet, first=Position(0))
            return genesis, [row async for page in pages for row in page]
        finally:
            await connection.close()


def _decoded(rows: Sequence[StoredEvent]) -> float:
    began = perf_counter()
    for row in rows:
        event(row)
    return perf_counter() - began


def _decided(genesis: Genesis, rows: Sequence[StoredEvent]) -> tuple[float, int]:
    began = perf_counter()
    world = begin(genesis, incarnation=Incarnation(1))
    decisions = 0
    for row in rows:
        step = advance(world, event(row))
        world = step.world
        decisions += len(step.decisions)
    return perf_counter() - began, decisions
