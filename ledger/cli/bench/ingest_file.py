"""How fast ``ledger ingest FILE`` takes events in, against raw COPY of the same lines."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from ledger.cli.bench import copying, figures, material
from ledger.cli.bench.processes import Cost
from ledger.cli.bench.servers import Postgres
from ledger.log import lines
from ledger.log.database import connect


async def ingest_file(postgres: Postgres, *, events: int, rounds: int, batch: int) -> str:
    """Each round copies the lines into one new database, and ingests their file into another."""
    drawn = material.lines(events)
    mean_size = sum(map(len, drawn)) // events
    streams = copying.encoded(drawn, batch=batch)
    cost = Cost()
    taken: list[figures.Round] = []
    with TemporaryDirectory(prefix="ledger-bench-") as directory:
        path = Path(directory, "events.jsonl")
        material.write(path, drawn)
        del drawn
        for _ in range(rounds):
            async with postgres.database() as url:
                floor = await copying.copied(url, streams)
            async with postgres.database() as url:
                seconds = await _ingested(url, path, events, batch, cost, local=postgres.local)
            taken.append(figures.Round(events, seconds, events, floor))
    told = {"bytes_per_event": mean_size, "batch": batch} | cost.told()
    return figures.line("ingest-file", taken, postgres=postgres.version, more=told)


async def _ingested(
    url: str, path: Path, events: int, batch: int, cost: Cost, *, local: bool
) -> float:
    connection = await connect(url, "ledger_writer")
    try:
        cost.begin([os.getpid()], [connection.get_server_pid()] if local else [])
        began = perf_counter()
        with path.open("rb") as file:
            taken = await lines.ingest(connection, lines.AtHand(file), batch=batch)
        seconds = perf_counter() - began
        cost.end(events)
    finally:
        await connection.close()
    assert taken.appended == events, f"{taken}: all events of a benchmark are new and good"
    return seconds
