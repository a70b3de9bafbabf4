"""How long it takes from an append to its decisions being visible in SQL, while events stream in.

A fleet is raised and decided. Then one connection appends, a hundredth of a second's events a
transaction, a decider process of its own decides, and a third connection asks again and again how
far it has come: a transaction's events are visible when the cursor has passed them, and their
decisions with it. The time of a transaction runs from its commit; asking costs up to two
milliseconds, which are counted.

Before that, events stream in for a quarter of a minute uncounted, and then there is a checkpoint, where whoever
asks may have one: as on any server every few minutes. Behind it each page is written whole into the
server's own log when it changes first, and files of that log are used again. A server that was made
a moment ago has none to use again: every 16 MB a commit of its waits until zeros fill a new one.

The fleet is on the wall clock, so that rounds close as they do in life. What happened is told
beside what was asked for: an event counts as one that decides if a decision stands at its position,
and as a round if one closed there that moved a task.
"""

import asyncio
import sys
from collections import deque
from collections.abc import Iterator
from itertools import islice
from time import perf_counter
from typing import Final

from ledger.cli.bench.engine_finding import Bar, Finding, digits, percentile
from ledger.cli.bench.engine_history import FLEET, MIX, simulation
from ledger.cli.bench.servers import Postgres
from ledger.cli.bench.services import deciding
from ledger.cli.simulator.sizes import Sizes
from ledger.errors import SetupProblem
from ledger.log import decisions, fleets, lines, trees
from ledger.log.database import Connection, connect
from ledger.log.fleets import Fleet
from ledger.log.read import Bell

P99_MS: Final = 50
APPENDS_A_SECOND: Final = 100
_ASK_SECONDS: Final = 0.001
_WARM_SECONDS: Final = 15.0
"""What the first events take is a process's beginning, and a server's, and not counted."""
_STILL_SECONDS: Final = 120

_HAPPENED: Final = """
SELECT count(*) FILTER (WHERE decided) AS decide,
       count(*) FILTER (WHERE NOT decided AND report) AS report,
       count(*) FILTER (WHERE NOT decided AND NOT report) AS upsert,
       count(*) FILTER (WHERE type = 'ledger.time.time.passed.v1') AS ticks,
       count(*) FILTER (WHERE round) AS rounds
  FROM (SELECT e.type,
               split_part(e.type, '.', 3) IN ('pod', 'replicaset', 'inventory') AS report,
               EXISTS (SELECT FROM ledger.decisions d
                        WHERE d.fleet = e.fleet AND d.position = e.position) AS decided,
               EXISTS (SELECT FROM ledger.decisions d
                        WHERE d.fleet = e.fleet AND d.position = e.position
                          AND d.kind IN ('allocation', 'eviction')) AS round
          FROM ledger.events e WHERE e.fleet = $1 AND e.position >= $2) happened
"""


async def latency(postgres: Postgres, sizes: Sizes, *, rate: int, seconds: float) -> Finding:
    """Stream at ``rate`` for so long, beside a decider."""
    history = simulation(sizes)
    feed = history.events(sys.maxsize)
    async with postgres.database() as url:
        appender, asker = await connect(url, "ledger_writer"), await connect(url, None)
        try:
            await lines.ingest(appender, islice(feed, history.opening), clock="wall")
            fleet = await fleets.find(appender, FLEET)
            assert fleet is not None
            async with deciding(url):
                await _caught_up(asker, fleet)
                stream = _Stream(appender, fleet, feed, rate)
                await stream.run(asker, min(_WARM_SECONDS, seconds), counted=False)
                await postgres.settle()
                first = await _size(asker, fleet)
                await stream.run(asker, seconds, counted=True)
                happened = await asker.fetchrow(_HAPPENED, fleet.number, first)
        finally:
            await appender.close()
            await asker.close()
    assert happened is not None
    waits = sorted(stream.waits)
    told = {name: happened[name] for name in ("report", "upsert", "decide")}
    total = sum(told.values())
    figures = {
        "events": stream.appended,
        "asked_per_second": rate,
        "per_second": round(stream.appended / stream.seconds),
        "p50_ms": digits(percentile(waits, 50)),
        "p99_ms": digits(percentile(waits, 99)),
        "max_ms": digits(waits[-1]),
        "asked_for_percent": {
            "report": MIX.reports // 10,
            "upsert": MIX.changes // 10,
            "decide": MIX.decisions // 10,
        },
        "happened_percent": {name: digits(100 * of / total) for name, of in told.items()},
        "rounds": happened["rounds"],
        "ticks": happened["ticks"],
    }
    return Finding(
        part="latency",
        about=f"append to decision visible, at {rate:,} events a second",
        figures=figures,
        bars=[
            Bar("p99 ms", percentile(waits, 99), at_most=P99_MS),
            Bar("events a second", figures["per_second"], at_least=rate * 99 // 100),
        ],
        postgres=postgres.version,
    )


class _Stream:
    """Events at a rate, and how long each transaction of them waited to be decided."""

    def __init__(
        self, appender: Connection, fleet: Fleet, feed: Iterator[bytes], rate: int
    ) -> None:
        self._appender = appender
        self._fleet = fleet
        self._feed = feed
        self._at_once = max(1, rate // APPENDS_A_SECOND)
        self._every = self._at_once / rate
        self._waiting: deque[tuple[int, float]] = deque()
        self.waits: list[float] = []
        """Milliseconds, one for each transaction."""
        self.appended = 0
        self.seconds = 0.0

    async def run(self, asker: Connection, seconds: float, *, counted: bool) -> None:
        """Append for so long, and ask until all of it is decided."""
        done = asyncio.Event()
        asking = asyncio.create_task(self._ask(asker, done))
        try:
            began = perf_counter()
            appended = await self._append(until=began + seconds)
            took = perf_counter() - began
        finally:
            done.set()
            await asking
        if counted:
            self.appended, self.seconds = appended, took
        else:
            self.waits.clear()

    async def _append(self, *, until: float) -> int:
        appended = 0
        due = perf_counter()
        while due < until:
            batch = list(islice(self._feed, self._at_once))
            await lines.ingest(self._appender, batch)
            committed = perf_counter()
            # Ticks of the decider may stand in between; then a little more is waited for.
            size = await _size(self._appender, self._fleet)
            self._waiting.append((size, committed))
            appended += len(batch)
            due += self._every
            await asyncio.sleep(max(0.0, due - perf_counter()))
        return appended

    async def _ask(self, asker: Connection, done: asyncio.Event) -> None:
        moved = perf_counter()
        while self._waiting or not done.is_set():
            through, _ = await decisions.cursor(asker, self._fleet)
            now = perf_counter()
            while self._waiting and self._waiting[0][0] <= through + 1:
                _, committed = self._waiting.popleft()
                # The cursor may pass a transaction before whoever committed it hears of it.
                self.waits.append(1000 * max(0.0, now - committed))
                moved = now
            if now - moved > _STILL_SECONDS:
                raise SetupProblem(f"nothing was decided for {_STILL_SECONDS} s")
            await asyncio.sleep(_ASK_SECONDS)


async def _caught_up(asker: Connection, fleet: Fleet) -> None:
    bell = Bell(asker, "ledger_decisions")
    await bell.listen()
    async with asyncio.timeout(_STILL_SECONDS):
        while (await decisions.cursor(asker, fleet))[0] + 1 < await _size(asker, fleet):
            await bell.wait(at_most=0.1)


async def _size(connection: Connection, fleet: Fleet) -> int:
    size, _ = await trees.recorded_root(connection, fleet.number, "events")
    return size
