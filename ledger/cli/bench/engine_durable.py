"""How fast a log is decided end to end: read, folded, decided, and the decisions durable in Postgres.

All events are in the log before the clock starts. Then everything is decided that there is, as
``ledger decide --until-idle`` does it: with records, tree, projections and cursor, committed with
``fsync`` on, and with the ticks of all deadlines.
"""

import asyncio
import os
from itertools import islice
from statistics import median
from time import perf_counter
from typing import Final

from ledger.cli.bench.engine_finding import Bar, Finding, digits
from ledger.cli.bench.engine_history import FLEET, simulation
from ledger.cli.bench.processes import cpu_seconds
from ledger.cli.bench.servers import Postgres
from ledger.cli.simulator.sizes import Sizes
from ledger.engine import decider
from ledger.engine.decider import Progress
from ledger.log import lines
from ledger.log.database import connect

PER_SECOND: Final = 5_000


async def durable(postgres: Postgres, sizes: Sizes, *, events: int, rounds: int) -> Finding:
    """Each round decides the mixed history in a database of its own."""
    drawn = list(islice(simulation(sizes).events(events), events))
    taken: list[tuple[float, float, Progress]] = []
    for _ in range(rounds):
        async with postgres.database() as url:
            taken.append(await _decided(url, drawn))
    seconds = median(one for one, _, _ in taken)
    progress = taken[-1][2]
    figures = {
        "events": events,
        "decisions": progress.decisions,
        "ticks": progress.events - events,
        "seconds": digits(seconds),
        "per_second": round(events / seconds),
        "decider_cpu_seconds": digits(median(cpu for _, cpu, _ in taken)),
        "rounds": rounds,
    }
    return Finding(
        part="durable",
        about="a log to durable decisions, end to end",
        figures=figures,
        bars=[Bar("events a second", figures["per_second"], at_least=PER_SECOND)],
        postgres=postgres.version,
    )


async def _decided(url: str, drawn: list[bytes]) -> tuple[float, float, Progress]:
    connection = await connect(url, "ledger_writer")
    try:
        taken = await lines.ingest(connection, drawn, clock="event")
    finally:
        await connection.close()
    assert taken.appended == len(drawn), f"{taken}: all events of a benchmark are new and good"
    before = cpu_seconds(os.getpid())
    began = perf_counter()
    done = await decider.decide(
        url, holder="bench", until_idle=True, stop=asyncio.Event(), only=frozenset({FLEET})
    )
    seconds = perf_counter() - began
    return seconds, cpu_seconds(os.getpid()) - before, done
