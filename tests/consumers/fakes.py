"""A Kafka and a log that do as a test says, around the real poll loop.

``Broker`` holds partitions that can lose their leader, be made anew or carry a record nobody can
read; its clients answer as aiokafka does. ``Books`` stands for Postgres: epochs, receipts, halts,
and as slow as wanted. ``consuming`` runs the loop between the two.

What a client or a database really does is shown in ``tests/services``. Here it is about time and
order: what happens while something else is slow, silent or gone.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
import pytest
from aiokafka import TopicPartition
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.errors import OffsetOutOfRangeError

from consumers import clients, feed
from consumers.settings import Settings
from consumers.topic import Topic
from consumers.totals import Totals
from ledger.errors import StaleEpoch
from ledger.log.intake import Taken
from ledger.log.messages import Claim, Headers, Message, record_digest
from ledger.log.receipts import Adopted, Halt, HaltReason, Receipt
from ledger.units import FleetName, Offset
from tests.feeding import Feeding, node, until

TOPIC: Final = "t"
HEADERS: Final[Headers] = (("content-type", b"application/cloudevents+json"),)


def part(number: int) -> TopicPartition:
    """A partition of the one topic there is."""
    return TopicPartition(TOPIC, number)


@dataclass(slots=True)
class Record:
    """A record as aiokafka hands it over, as far as the loop looks at it."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


@dataclass(slots=True)
class Partition:
    """What a broker has of a partition."""

    records: list[Record] = field(default_factory=list)
    led: bool = True
    """Without a leader nobody learns anything of it."""
    broken: dict[int, Exception] = field(default_factory=dict)
    """What a client raises of the record at an offset."""
    endless: bool = False
    """Whoever has read everything finds twenty more a moment later."""
    written_at: float = 0

    def write(
        self, count: int, *, fleet: str = "alpha", timestamp: int = 1, padding: int = 0
    ) -> None:
        """Put so many events at its end, each larger by so many bytes."""
        for offset in range(len(self.records), len(self.records) + count):
            event = node(offset, fleet=fleet, source=f"test/{timestamp}")
            event["data"]["labels"] = {"padding": "x" * padding}
            value = orjson.dumps(event)
            self.records.append(Record(offset, timestamp, fleet.encode(), value, HEADERS))

    def make_anew(self, count: int) -> None:
        """Delete everything, and write other records."""
        self.records.clear()
        self.write(count, timestamp=2)


async def _nothing(*_: object) -> None:
    pass


class Broker:
    """Partitions, and how clients get at them."""

    def __init__(self, partitions: int) -> None:
        self.partitions = {part(number): Partition() for number in range(partitions)}
        self.stuck: Callable[[int, TopicPartition], bool] = lambda _client, _at: False
        """Whether the client of that number hears nothing any more of a partition."""
        self.on_reading: Callable[[], None] = lambda: None
        """Called when records are about to be handed over."""
        self.on_asking: Callable[[int, TopicPartition], Awaitable[None]] = _nothing
        """Called when the client of that number asks where a partition ends."""
        self.clients = 0
        self.told: dict[TopicPartition, int] = {}
        """Up to where the group was told that partitions were taken."""

    def __getitem__(self, number: int) -> Partition:
        return self.partitions[part(number)]

    def client(self, _settings: object) -> "Client":
        """A member of the group, to which everything is assigned."""
        self.clients += 1
        return Client(self, self.clients)

    def witness(self, _settings: Settings) -> "Client":
        """A client of the number 0, which is never stuck unless a test says so."""
        return Client(self, 0)


class Client:
    """What the loop uses of ``AIOKafkaConsumer``."""

    def __init__(self, broker: Broker, number: int) -> None:
        self._broker = broker
        self._number = number
        self._positions: dict[TopicPartition, int] = {}
        self._paused: set[TopicPartition] = set()

    async def start(self) -> None:
        pass

    async def stop(self) -> None:
        pass

    def subscribe(self, _topics: Sequence[str], *, listener: ConsumerRebalanceListener) -> None:
        listener.on_partitions_assigned(frozenset(self._broker.partitions))

    def pause(self, *partitions: TopicPartition) -> None:
        self._paused |= set(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        self._paused -= set(partitions)

    def seek(self, at: TopicPartition, offset: int) -> None:
        self._positions[at] = offset

    async def position(self, at: TopicPartition) -> int:
        return self._positions[at]

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._broker.told |= offsets

    async def committed(self, at: TopicPartition) -> int | None:
        await self._until_led([at])
        return self._broker.told.get(at)

    async def beginning_offsets(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, int]:
        await self._until_led(partitions)
        return dict.fromkeys(partitions, 0)

    async def end_offsets(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, int]:
        await self._until_led(partitions)
        for at in partitions:
            await self._broker.on_asking(self._number, at)
        return {at: len(self._broker.partitions[at].records) for at in partitions}

    async def _until_led(self, partitions: Collection[TopicPartition]) -> None:
        """Wait until all of them can be asked about; aiokafka answers for all or for none."""

        async def answered() -> bool:
            return all(
                self._broker.partitions[at].led and not self._broker.stuck(self._number, at)
                for at in partitions
            )

        await until(answered, seconds=600, every=0.05)

    async def getmany(
        self, *partitions: TopicPartition, timeout_ms: int, max_records: int
    ) -> dict[TopicPartition, list[Record]]:
        """What there is, in the order of the partitions; waits for something at most that long."""
        deadline = asyncio.get_running_loop().time() + timeout_ms / 1000
        while True:
            found: dict[TopicPartition, list[Record]] = {}
            for at in partitions:
                records = self._read(at, max_records)
                if records:
                    found[at] = records
                    max_records -= len(records)
                if not max_records:
                    break
            if found or asyncio.get_running_loop().time() >= deadline:
                return found
            await asyncio.sleep(0.01)

    def _read(self, at: TopicPartition, most: int) -> list[Record]:
        partition = self._broker.partitions.get(at)
        position = self._positions.get(at)
        if (
            partition is None
            or position is None
            or at in self._paused
            or not partition.led
            or self._broker.stuck(self._number, at)
        ):
            return []
        if position > len(partition.records):
            raise OffsetOutOfRangeError({at: position})
        now = asyncio.get_running_loop().time()
        if partition.endless and partition.written_at < now - 0.01:
            partition.written_at = now
            partition.write(20)
        records = partition.records[position : position + most]
        for record in records:
            if record.offset in partition.broken:
                raise partition.broken[record.offset]
        self._positions[at] = position + len(records)
        if records:
            self._broker.on_reading()
        return records


@dataclass(frozen=True, slots=True)
class Batch:
    """What went into the log in one transaction."""

    partition: int
    first: int
    last: int
    size: int
    """Bytes of all values."""
    at: float
    """When, on the loop's clock."""


class Books:
    """The log, as the loop sees it through its door."""

    def __init__(self) -> None:
        self.taken: list[Batch] = []
        self.halts: list[tuple[int, HaltReason, str]] = []
        self.epochs: dict[int, int] = {}
        self.receipts: dict[int, Receipt] = {}
        self.behind: dict[FleetName, int] = {}
        """How many events a fleet's decider is behind; none where it is not named."""
        self.slow: Callable[[Claim], float] = lambda _claim: 0
        """How many seconds a batch of a partition takes."""
        self.before_adopting: Callable[[int], None] = lambda _partition: None
        self.opening: Callable[[], Awaitable[None]] = _nothing
        self._sizes: dict[FleetName, int] = {}

    async def open(self, _url: str, *, owner: str, create_fleets: bool) -> "Books":
        del owner, create_fleets
        await self.opening()
        return self

    async def close(self) -> None:
        pass

    async def adopt(self, _topic: str, partition: int) -> Adopted:
        self.before_adopting(partition)
        self.epochs[partition] = self.epochs.get(partition, 0) + 1
        claim = Claim(TOPIC, partition, self.epochs[partition])
        halt = next(
            (
                Halt(1, halted=True, reason=reason, detail=detail, resume_at=None, by="")
                for number, reason, detail in self.halts
                if number == partition
            ),
            None,
        )
        return Adopted(claim, self.receipts.get(partition), halt, recovered=False)

    async def report(self, _claim: Claim, _kind: str, _detail: str, *, id_: str) -> bool:
        del id_
        return False

    async def take(
        self, messages: Sequence[Message], claim: Claim, *, timestamp: int, after: Offset | None
    ) -> Taken:
        await asyncio.sleep(self.slow(claim))
        if claim.epoch != self.epochs[claim.partition]:
            raise StaleEpoch(f"{claim.partition}")
        receipt = self.receipts.get(claim.partition)
        assert after == (None if receipt is None else receipt.next)
        first, last = messages[0].at.coordinate, messages[-1].at.coordinate
        assert first is not None
        assert last is not None
        size = sum(len(message.value or b"") for message in messages)
        now = asyncio.get_running_loop().time()
        self.taken.append(Batch(claim.partition, first, last, size, now))
        number = 0 if receipt is None else receipt.number + 1
        self.receipts[claim.partition] = Receipt(
            number, Offset(last + 1), timestamp, record_digest(messages[-1])
        )
        sizes: dict[FleetName, int] = {}
        for message in messages:
            fleet = FleetName((message.key or b"").decode())
            self._sizes[fleet] = sizes[fleet] = self._sizes.get(fleet, 0) + 1
        return Taken(appended=len(messages), sizes=sizes)

    async def halt(self, claim: Claim, reason: HaltReason, detail: str) -> None:
        if claim.epoch != self.epochs[claim.partition]:
            raise StaleEpoch(f"{claim.partition}")
        self.halts.append((claim.partition, reason, detail))

    async def standing(self, _topic: str, partition: int) -> Halt | None:
        for number, reason, detail in self.halts:
            if number == partition:
                return Halt(1, halted=True, reason=reason, detail=detail, resume_at=None, by="")
        return None

    async def undecided(self, names: Collection[FleetName]) -> dict[FleetName, int]:
        return {name: self.behind.get(name, 0) for name in names}

    def through(self, partition: int) -> int:
        """How far a partition is taken."""
        receipt = self.receipts.get(partition)
        return 0 if receipt is None else receipt.next


@asynccontextmanager
async def consuming(
    monkeypatch: pytest.MonkeyPatch, broker: Broker, books: Books, **settings: Any
) -> AsyncIterator[Feeding]:
    """Run the poll loop between a broker and the books for the length of the block."""
    monkeypatch.setattr(clients, "group_consumer", broker.client)
    monkeypatch.setattr(clients, "witness", broker.witness)
    monkeypatch.setattr(feed, "Door", books)
    stop, totals = asyncio.Event(), Totals()
    running = feed.run(
        Settings(**{"undecided_limit": 0} | settings),
        "",
        stop=stop,
        topics=[Topic(TOPIC, frozenset({"cluster"}))],
        totals=totals,
    )
    fed = Feeding(stop, asyncio.create_task(running), totals)
    try:
        yield fed
    finally:
        stop.set()
        await asyncio.wait([fed.task], timeout=30)
        fed.task.cancel()
