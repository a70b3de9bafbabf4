"""How fast a consumer drains a real Kafka topic into the log, against raw COPY of the same events.

What is measured is the process that users run (``python -m consumers``), or several of them that
share the partitions, durable and exactly once: receipts, validation, identity, tree. Their speed is
read off the receipts, from the first batch after the last partition was taken over to the last
batch of all, so that starting up counts nowhere. The topic is filled before that; a run too long for
the disk is filled while it is drained, a fixed lead ahead, and then shares the processors with
whoever fills.

Memory is looked at all along: what a consumer needs must not depend on how much has passed
through it.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice
from tempfile import TemporaryFile
from typing import Final

from consumers import subscription
from consumers.local_kafka.filling import Filler
from consumers.local_kafka.topics import create_topic, delete_topic
from consumers.workload import TOPIC
from ledger.cli.bench import copying, figures, material
from ledger.cli.bench.processes import Cost, memory_mb
from ledger.cli.bench.servers import Postgres, fresh_name
from ledger.errors import SetupProblem
from ledger.log.database import Connection, connect

MOST_FILLED_BEFORE: Final = 500_000
"""Events that a topic is filled with before anybody reads; more are written while they are read."""

_LEAD: Final = 300_000
_CHUNK: Final = 20_000
_LOOK_SECONDS: Final = 0.2
_STILL_SECONDS: Final = 60
"""Without a new receipt for so long, something is wrong."""

_TAKEN: Final = "SELECT coalesce(sum(records), 0)::bigint FROM ledger.receipts"
_SPEED: Final = """
SELECT (sum(records) - (array_agg(records ORDER BY written_at))[1])::bigint AS measured,
       extract(epoch FROM max(written_at) - min(written_at))::float8 AS seconds,
       round(avg(records))::bigint AS batch
  FROM ledger.receipts
 WHERE written_at > (SELECT max(opened_at) FROM ledger.partition_epochs)
"""
_AT_WORK: Final = """
SELECT count(DISTINCT e.owner)
  FROM ledger.receipts r JOIN ledger.partition_epochs e USING (topic, partition, epoch)
 WHERE r.written_at > (SELECT max(opened_at) FROM ledger.partition_epochs)
"""
_BACKENDS: Final = """
SELECT pid FROM pg_stat_activity
 WHERE datname = current_database() AND application_name = 'ledger writer'
"""


@dataclass(slots=True)
class _Watched:
    """What was seen of the consumers while they ran."""

    memory_mb: list[int] = field(default_factory=list)
    memory_mb_max: int = 0

    def look(self, pids: Sequence[int]) -> None:
        """Look at all of them; the largest counts."""
        looked = [memory_mb(pid) for pid in pids]
        self.memory_mb.append(max(now for now, _ in looked))
        self.memory_mb_max = max(self.memory_mb_max, *(most for _, most in looked))

    def tenths(self) -> list[int]:
        """The memory at each tenth of the run."""
        last = len(self.memory_mb) - 1
        return [self.memory_mb[last * tenth // 10] for tenth in range(11)]


@dataclass(frozen=True, slots=True)
class Shape:
    """What is drained by whom: each fleet has a partition of its own."""

    events: int
    fleets: int
    consumers: int
    batch: int


async def ingest_kafka(postgres: Postgres, bootstrap: str, shape: Shape, *, rounds: int) -> str:
    """Each round drains a new topic into a new database."""
    if shape.consumers > shape.fleets:
        raise SetupProblem(
            f"{shape.consumers} consumers for the partitions of {shape.fleets} fleets:"
            " some would have nothing to do"
        )
    events = shape.events
    drawn = material.workload_lines(min(events, MOST_FILLED_BEFORE))
    mean_size = sum(map(len, drawn)) // len(drawn)
    cost = Cost()
    watched = _Watched()
    taken: list[figures.Round] = []
    mean_batch = shape.batch
    for _ in range(rounds):
        async with postgres.database() as url:
            measured, seconds, mean_batch = await _drained(
                url, bootstrap, drawn, shape, cost, watched, local=postgres.local
            )
        streams = copying.encoded(drawn, batch=mean_batch)
        async with postgres.database() as url:
            floor = await copying.copied(url, streams)
        taken.append(figures.Round(measured, seconds, len(drawn), floor))
    told: dict[str, object] = {
        "fleets": shape.fleets,
        "consumers": shape.consumers,
        "bytes_per_event": mean_size,
        "batch": mean_batch,
        "consumer_mb_max": watched.memory_mb_max,
        "consumer_mb_at_each_tenth": watched.tenths(),
        "filled_meanwhile": events > MOST_FILLED_BEFORE,
    }
    return figures.line("ingest-kafka", taken, postgres=postgres.version, more=told | cost.told())


async def _drained(
    url: str,
    bootstrap: str,
    drawn: list[bytes],
    shape: Shape,
    cost: Cost,
    watched: _Watched,
    *,
    local: bool,
) -> tuple[int, float, int]:
    """Fill and drain a topic: how many events were measured, in how many seconds, mean batch."""
    events = shape.events
    prefix = f"{fresh_name()}."
    topics = [topic.name for topic in subscription.topics(prefix)]
    for name in topics:
        await create_topic(bootstrap, name, partitions=shape.fleets)
    reader = await connect(url, None)
    try:
        async with Filler(bootstrap) as filler:
            filling = _Filling(filler, TOPIC.under(prefix).name, drawn, events, shape.fleets)
            await filling.up_to(MOST_FILLED_BEFORE)
            async with AsyncExitStack() as running:
                processes = [
                    await running.enter_async_context(
                        _consumer(url, bootstrap, prefix, shape.batch)
                    )
                    for _ in range(shape.consumers)
                ]
                await _begun(reader, processes, events)
                backends = [row["pid"] for row in await reader.fetch(_BACKENDS)] if local else []
                before = await reader.fetchval(_TAKEN)
                cost.begin([process.pid for process in processes], backends)
                await _watch(reader, processes, filling, watched, events)
                cost.end(events - before)
        row = await reader.fetchrow(_SPEED)
        appended = await reader.fetchval("SELECT sum(appended)::bigint FROM ledger.receipts")
    finally:
        await reader.close()
        for name in topics:
            await delete_topic(bootstrap, name)
    assert row is not None
    assert appended == events, "all events of a benchmark are new and good"
    if not row["measured"]:
        raise SetupProblem(f"{events} events are one batch: too few to measure a speed by")
    return row["measured"], row["seconds"], row["batch"]


class _Filling:
    """The events of a topic, written as far as somebody asks for them."""

    def __init__(
        self, filler: Filler, topic: str, drawn: list[bytes], events: int, fleets: int
    ) -> None:
        self._filler = filler
        self._topic = topic
        self._fleets = [f"{material.FLEET}-{number}" for number in range(fleets)]
        self._sources = [
            islice(
                material.endless(material.renamed(drawn, fleet)),
                events // fleets + (n == 0) * (events % fleets),
            )
            for n, fleet in enumerate(self._fleets)
        ]
        self.written = 0
        self.events = events

    async def up_to(self, events: int) -> None:
        """Write until about so many are there, each fleet's into a partition of its own."""
        while self.written < min(events, self.events):
            for partition, fleet in enumerate(self._fleets):
                chunk = list(islice(self._sources[partition], _CHUNK // len(self._fleets) + 1))
                await self._filler.fill(self._topic, partition, key=fleet.encode(), events=chunk)
                self.written += len(chunk)


@asynccontextmanager
async def _consumer(
    url: str, bootstrap: str, prefix: str, batch: int
) -> AsyncIterator[asyncio.subprocess.Process]:
    environment = os.environ | {
        "LEDGER_DATABASE_URL": url,
        "LEDGER_KAFKA_BOOTSTRAP": bootstrap,
        "LEDGER_KAFKA_TOPIC_PREFIX": prefix,
        "LEDGER_KAFKA_GROUP": prefix,
        "LEDGER_KAFKA_BATCH": str(batch),
        "LEDGER_FLEET_CREATE": "auto",
        # Nobody decides here, and what is measured is not how long we wait for them.
        "LEDGER_UNDECIDED_LIMIT": "0",
    }
    with TemporaryFile() as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "consumers", env=environment, stdout=log, stderr=log
        )
        try:
            yield process
        except SetupProblem as problem:
            log.seek(0)
            words = log.read().decode(errors="replace").splitlines()[-20:]
            raise SetupProblem("\n".join([str(problem), *words])) from problem
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


async def _begun(
    reader: Connection, processes: Sequence[asyncio.subprocess.Process], events: int
) -> None:
    """Return once every consumer has written a receipt for what it took over last."""
    async with _patience():
        while await reader.fetchval(_AT_WORK) < len(processes):
            _refuse_end(processes)
            if await reader.fetchval(_TAKEN) == events and len(processes) > 1:
                raise SetupProblem(f"{events} events were gone before every consumer had begun")
            await asyncio.sleep(_LOOK_SECONDS / 10)


async def _watch(
    reader: Connection,
    processes: Sequence[asyncio.subprocess.Process],
    filling: _Filling,
    watched: _Watched,
    events: int,
) -> None:
    """Look at the consumers until they have taken everything, and keep them supplied."""
    taken = 0
    while taken < events:
        async with _patience():
            before = taken
            while taken == before:
                _refuse_end(processes)
                watched.look([process.pid for process in processes])
                if filling.written < filling.events:
                    await filling.up_to(taken + _LEAD)
                await asyncio.sleep(_LOOK_SECONDS)
                taken = await reader.fetchval(_TAKEN)


@asynccontextmanager
async def _patience() -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(_STILL_SECONDS):
            yield
    except TimeoutError as error:
        raise SetupProblem(f"nothing was taken for {_STILL_SECONDS} s") from error


def _refuse_end(processes: Sequence[asyncio.subprocess.Process]) -> None:
    for process in processes:
        if process.returncode is not None:
            raise SetupProblem(f"a consumer ended with {process.returncode}")
