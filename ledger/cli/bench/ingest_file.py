"""How fast ``ledger ingest FILE`` takes events in, against raw COPY of the same lines."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from ledger.cli.bench import copying, figures, material, processes
from ledger.cli.bench.servers import Postgres
from ledger.log import lines
from ledger.log.database import connect


async def ingest_file(
    postgres: Postgres, *, events: int, rounds: int, batch: int = lines.BATCH
) -> str:
    """Each round reads the same file into a new database, and copies it into another."""
    drawn = material.lines(events)
    streams = copying.encoded(drawn, batch=batch)
    mean = sum(map(len, drawn)) // len(drawn)
    cost = _Cost()
    taken: list[figures.Round] = []
    with TemporaryDirectory(prefix="ledger-bench-") as directory:
        path = Path(directory, "events.jsonl")
        material.write(path, drawn)
        del drawn
        for _ in range(rounds):
            async with postgres.database() as url:
                await postgres.settle()
                floor = await copying.copied(url, streams)
            async with postgres.database() as url:
                await postgres.settle()
                seconds = await _ingested(url, path, events, batch, cost, local=postgres.local)
            taken.append(figures.Round(events, seconds, events, floor))
    told = {"bytes_per_event": mean, "batch": batch} | cost.told()
    return figures.line("ingest-file", taken, postgres=postgres.version, more=told)


class _Cost:
    """Processor time over all rounds: ours, and that of the one server process that serves us."""

    def __init__(self) -> None:
        self._events = 0
        self._ours = 0.0
        self._server = 0.0

    def add(self, events: int, *, ours: float, server: float) -> None:
        self._events += events
        self._ours += ours
        self._server += server

    def told(self) -> dict[str, object]:
        micro = 1e6 / self._events
        told: dict[str, object] = {"cpu_us_per_event": round(self._ours * micro, 1)}
        if self._server:
            told["server_cpu_us_per_event"] = round(self._server * micro, 1)
        return told


async def _ingested(
    url: str, path: Path, events: int, batch: int, cost: _Cost, *, local: bool
) -> float:
    connection = await connect(url, "ledger_writer")
    try:
        server = connection.get_server_pid() if local else None
        ours_before = processes.cpu_seconds(os.getpid())
        server_before = 0.0 if server is None else processes.cpu_seconds(server)
        began = perf_counter()
        with path.open("rb") as file:
            taken = await lines.ingest(connection, file, batch=batch)
        seconds = perf_counter() - began
        assert taken.appended == events, f"{taken}: a benchmark's events are all new and all good"
        cost.add(
            events,
            ours=processes.cpu_seconds(os.getpid()) - ours_before,
            server=0.0 if server is None else processes.cpu_seconds(server) - server_before,
        )
        return seconds
    finally:
        await connection.close()
