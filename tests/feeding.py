"""What tests of the consumers need: events to send, a feed that runs meanwhile, a look at the log.

``Stream`` is a set of topics nobody else has, on a real broker. ``feeding`` runs the poll loop as a
task beside the test; ``Log`` reads the tables as a superuser would.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import asyncpg
import orjson
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition

from consumers import feed, subscription
from consumers.feed import OnBatch
from consumers.local_kafka import topics
from consumers.settings import Settings
from consumers.totals import Totals
from ledger.log import database
from tests.kafka import fresh_name

STRUCTURED: Final = (("content-type", b"application/cloudevents+json; charset=UTF-8"),)
FLEET: Final = "alpha"

Event = dict[str, Any]


def node(number: int, *, fleet: str = FLEET, cpu: str = "32", source: str = "test/nodes") -> Event:
    """A node event; the same number is the same identity, another cpu another content."""
    return {
        "specversion": "1.0",
        "id": f"node-{number}",
        "source": source,
        "type": "ledger.cluster.node.upserted.v1",
        "subject": f"east/n{number}",
        "time": "2026-03-01T12:00:00Z",
        "fleet": fleet,
        "data": {"cluster": "east", "name": f"n{number}", "cpu": cpu, "memory": "128Gi"},
    }


def nodes(first: int, count: int, *, fleet: str = FLEET) -> list[bytes]:
    """So many node events, as bytes."""
    return [orjson.dumps(node(number, fleet=fleet)) for number in range(first, first + count)]


@dataclass(frozen=True, slots=True)
class Stream:
    """The five topics under a prefix of their own."""

    bootstrap: str
    prefix: str
    partitions: int

    @classmethod
    async def create(cls, bootstrap: str, *, partitions: int = 1) -> "Stream":
        """Make the topics."""
        stream = cls(bootstrap, fresh_name("") + ".", partitions)
        await asyncio.gather(
            *(
                topics.create_topic(bootstrap, topic.name, partitions=partitions)
                for topic in subscription.topics(stream.prefix)
            )
        )
        return stream

    def topic(self, family: str) -> str:
        """The full name of a family's topic."""
        return f"{self.prefix}{family}"

    def settings(self, **changed: Any) -> Settings:
        """Settings of a consumer of these topics, quick to notice what a test does to it."""
        wishes: dict[str, Any] = {
            "kafka_bootstrap": self.bootstrap,
            "kafka_group": f"{self.prefix}group",
            "kafka_topic_prefix": self.prefix,
            "kafka_session_ms": 6_000,
            "fleet_create": "auto",
            "undecided_limit": 0,
        }
        return Settings(**wishes | changed)

    async def send(
        self,
        values: Iterable[bytes | None],
        *,
        family: str = "cluster",
        partition: int = 0,
        key: bytes | None = FLEET.encode(),
        headers: Sequence[tuple[str, bytes]] = STRUCTURED,
        compression: str | None = None,
    ) -> None:
        """Send values in order to one partition, and wait until the broker has them."""
        async with _producer(self.bootstrap, compression_type=compression) as producer:
            sent = [
                await producer.send(
                    self.topic(family), value, key=key, partition=partition, headers=list(headers)
                )
                for value in values
            ]
            await asyncio.gather(*sent)

    async def abort(self, count: int, *, family: str = "cluster", partition: int = 0) -> None:
        """Leave offsets behind that no reader of committed records sees."""
        async with _producer(self.bootstrap, transactional_id=fresh_name("aborts")) as producer:
            await producer.begin_transaction()
            for value in nodes(1_000_000, count):
                await producer.send_and_wait(
                    self.topic(family), value, partition=partition, headers=list(STRUCTURED)
                )
            await producer.abort_transaction()
        # Kafka answers before its marker is written, and other records could still slip in between.
        before = await self._end(family, partition, isolation_level="read_uncommitted")

        async def marked() -> bool:
            return await self._end(family, partition, isolation_level="read_committed") >= before

        await until(marked)

    async def _end(self, family: str, partition: int, **how: Any) -> int:
        consumer = AIOKafkaConsumer(bootstrap_servers=self.bootstrap, **how)
        await consumer.start()
        try:
            at = TopicPartition(self.topic(family), partition)
            end: int = (await consumer.end_offsets([at]))[at]
            return end
        finally:
            await consumer.stop()

    async def records(self, family: str = "cluster") -> list[ConsumerRecord]:
        """Everything that can be read from a topic now, by a client of its own."""
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
        )
        await consumer.start()
        try:
            all_of_it = [
                TopicPartition(self.topic(family), number) for number in range(self.partitions)
            ]
            consumer.assign(all_of_it)
            ends = await consumer.end_offsets(all_of_it)
            found: list[ConsumerRecord] = []
            for at in all_of_it:
                while await consumer.position(at) < ends[at]:
                    got = await consumer.getmany(at, timeout_ms=500)
                    found += got.get(at, [])
            return found
        finally:
            await consumer.stop()


@asynccontextmanager
async def _producer(bootstrap: str, **more: Any) -> AsyncIterator[AIOKafkaProducer]:
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap, acks="all", enable_idempotence=True, linger_ms=2, **more
    )
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


@dataclass(slots=True)
class Feeding:
    """A feed that runs beside the test."""

    stop: asyncio.Event
    task: asyncio.Task[Totals]
    totals: Totals = field(default_factory=Totals)

    async def until(
        self, condition: Callable[[Totals], bool | Awaitable[bool]], *, seconds: float = 30
    ) -> None:
        """Wait until the feed has come so far; its own end is a failure."""

        async def reached() -> bool:
            if self.task.done():
                self.task.result()
                raise AssertionError("the feed ended by itself")
            answer = condition(self.totals)
            return answer if isinstance(answer, bool) else await answer

        await until(reached, seconds=seconds)

    async def end(self) -> Totals:
        """Ask it to end, and wait for that."""
        self.stop.set()
        return await self.task


@asynccontextmanager
async def feeding(
    settings: Settings, database_url: str, *, on_batch: OnBatch | None = None
) -> AsyncIterator[Feeding]:
    """Run the poll loop for the length of the block."""
    stop, totals = asyncio.Event(), Totals()
    running = feed.run(settings, database_url, stop=stop, totals=totals, on_batch=on_batch)
    fed = Feeding(stop, asyncio.create_task(running), totals)
    try:
        yield fed
    finally:
        stop.set()
        await asyncio.wait([fed.task], timeout=30)
        fed.task.cancel()


async def fed(stream: Stream, database_url: str, records: int, **changed: Any) -> Totals:
    """Run the poll loop until it has dealt with so many records, and end it."""
    async with feeding(stream.settings(**changed), database_url) as running:
        await running.until(lambda totals: totals.records >= records)
        return await running.end()


async def until(
    condition: Callable[[], Awaitable[bool]], *, seconds: float = 30, every: float = 0.02
) -> None:
    """Wait for something that happens in another process."""
    deadline = time.monotonic() + seconds
    while not await condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        await asyncio.sleep(every)


class Log:
    """A look at the tables, as a superuser would have it."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Rows as tuples."""
        return [tuple(row) for row in await self._connection.fetch(query, *values)]

    async def value(self, query: str, *values: object) -> Any:
        """The first column of the first row."""
        return await self._connection.fetchval(query, *values)

    async def receipts(self, topic: str, partition: int = 0) -> list[tuple[int, ...]]:
        """(first, next, appended, duplicates, quarantined) of each receipt, oldest first."""
        return await self.rows(
            "SELECT first, next, appended, duplicates, quarantined FROM ledger.receipts"
            " WHERE topic = $1 AND partition = $2 ORDER BY number",
            topic,
            partition,
        )

    async def size(self, fleet: str = FLEET) -> int:
        """How many events a fleet has."""
        found: int = await self.value(
            "SELECT count(*) FROM ledger.events e JOIN ledger.fleets f ON f.number = e.fleet"
            " WHERE f.name = $1",
            fleet,
        )
        return found

    async def incidents(self) -> list[str]:
        """The kinds of all incidents, in order."""
        rows = await self.rows(
            "SELECT payload FROM ledger.events WHERE type = 'ledger.incident.incident.recorded.v1'"
            " ORDER BY position"
        )
        return [orjson.loads(payload)["data"]["kind"] for (payload,) in rows]


@asynccontextmanager
async def looking(database_url: str) -> AsyncIterator[Log]:
    """A connection to look with."""
    connection = await asyncpg.connect(plain(database_url))
    try:
        yield Log(connection)
    finally:
        await connection.close()


def plain(database_url: str) -> str:
    """The URL as asyncpg itself wants it."""
    return database.parse(database_url).dsn
