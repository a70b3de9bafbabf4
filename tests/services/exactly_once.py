"""Exactly once, whatever dies: randomised runs with real brokers, a real Postgres, real processes.

    python -m tests.services.exactly_once --runs 200 --seed 1

A run is a seed. It makes topics and a database of its own, starts one to four consumers as
processes, and sends events for a few seconds: most of them new, some sent twice, some in other
words, some that contradict what was said before, some that nobody can read. Meanwhile things
happen: consumers are killed, frozen until the group has given their partitions away and then let
go on as if nothing had happened, added, asked to leave; the broker is killed; Postgres is stopped
without a checkpoint. In the end whatever is left reads the rest, and the books are balanced:

* the topics hold everything that was acknowledged (read by another client than the one under test)
* each fleet's log holds each distinct event once, from the first offset it came by, byte for byte
* quarantine holds exactly the records that contradict or cannot be read, under their addresses
* positions have no gaps, recorded times do not run backwards
* receipts continue one another, and account for every record in every partition
* the root over leaves recomputed from the rows is the root of the head

What the topics mean is told by headers that the driver adds and the ledger does not know, so the
contract under test is not asked about its own work.
"""

import argparse
import asyncio
import logging
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count, islice
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, Final, Literal, get_args

import asyncpg
import orjson
import typer
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError
from confluent_kafka import Consumer, TopicPartition

from consumers.local_kafka import brokers, topics
from consumers.local_kafka.brokers import BrokerId, Cluster
from ledger.log import merkle
from ledger.log.embedded import server
from ledger.log.leaf import stored_leaf
from ledger.log.read import StoredEvent
from tests.feeding import STRUCTURED, Event, plain
from tests.postgres import Postgres, migrate, named

Fault = Literal[
    "kill consumer",
    "freeze consumer",
    "add consumer",
    "dismiss consumer",
    "kill broker",
    "stop postgres",
]
Kind = Literal["good", "bad"]
Place = tuple[str, int, int]
"""Topic, partition, offset."""

FAMILIES: Final = ("cluster", "workload")
PARTITIONS: Final = 3
FLEETS: Final = ("north", "south", "west")
SESSION_MS: Final = 1_000
MOST_CONSUMERS: Final = 4
DRAIN_SECONDS: Final = 60.0
LEAST_SENT: Final = 200
MOST_SENT: Final = 2_500

TOLD: Final = {"log_unavailable", "kafka_unavailable", "fenced", "out_of_step", "client_stuck"}

BATCHES: Final = (3, 10, 40, 200)
"""Mostly small ones: then there is a transaction in work whenever something dies."""

SERVER: Final = {"fsync": "off"}
"""Processes die here and the machine does not: what was handed to the kernel survives them. Waiting
for the disk would show nothing more, and make every recovery sync thousands of files."""

WEIGHTS: Final[dict[Fault, int]] = {
    "kill consumer": 5,
    "freeze consumer": 3,
    "add consumer": 3,
    "dismiss consumer": 3,
    # A broker alone needs seconds to come back, and nothing else happens meanwhile.
    "kill broker": 2,
    "stop postgres": 6,
}


class BooksDoNotBalance(AssertionError):
    """What a run found; its message names the seed."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A message of the driver: what it is, and what the log should make of it."""

    family: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    kind: Kind
    fleet: str
    id: str
    content: str
    """Equal for messages that say the same, in whatever words."""

    def told(self) -> list[tuple[str, bytes]]:
        """The headers, with what only the driver understands."""
        meaning = orjson.dumps([self.kind, self.fleet, self.id, self.content])
        return [*self.headers, ("x-meaning", meaning)]


@dataclass(slots=True)
class Report:
    """What happened in a run."""

    seed: int
    seconds: float = 0
    sent: int = 0
    events: int = 0
    duplicates: int = 0
    quarantined: int = 0
    receipts: int = 0
    epochs: int = 0
    consumers: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    felt: Counter[str] = field(default_factory=Counter)
    """What the consumers said about them."""
    trouble: str = ""

    def line(self) -> str:
        """One line for people."""
        faults = _listed(self.faults)
        return (
            f"seed {self.seed}: {'FAILED' if self.trouble else 'ok'} in {self.seconds:.1f} s;"
            f" {self.sent} sent, {self.events} events, {self.duplicates} duplicates,"
            f" {self.quarantined} quarantined, {self.receipts} receipts, {self.epochs} epochs,"
            f" {self.consumers} consumers; {faults}; {_listed(self.felt)}"
            f"{self.trouble and ': ' + self.trouble}"
        )


def _listed(counted: Counter[str]) -> str:
    return ", ".join(f"{n}x {what}" for what, n in sorted(counted.items())) or "nothing"


def event(number: int, family: str, fleet: str, *, size: int) -> Event:
    """An event; the same number is the same identity, another size another content."""
    said: Event = {
        "specversion": "1.0",
        "id": f"{family}-{number}",
        "source": f"chaos/{fleet}",
        "fleet": fleet,
        "time": "2026-03-01T12:00:00Z",
    }
    if family == "cluster":
        return said | {
            "type": "ledger.cluster.node.upserted.v1",
            "subject": f"east/n{number}",
            "data": {"cluster": "east", "name": f"n{number}", "cpu": str(size)},
        }
    return said | {
        "type": "ledger.workload.workload.upserted.v1",
        "subject": f"shop/w{number}",
        "data": {
            "namespace": "shop",
            "name": f"w{number}",
            "kind": "Deployment",
            "replicas": size,
            "division": {"strategy": "static", "weights": {"east": 2, "west": 1}},
        },
    }


def messages(luck: random.Random) -> Iterator[Sent]:
    """New events without end, and now and then a message about or beside an earlier one."""
    said: list[tuple[int, str, str]] = []
    for number in count():
        family, fleet = luck.choice(FAMILIES), luck.choice(FLEETS)
        draw = luck.random()
        if said and draw < 0.08:
            yield _good(*luck.choice(said), size=1)
        elif said and draw < 0.11:
            yield _good(*luck.choice(said), size=1, spelling="loose")
        elif said and draw < 0.15:
            yield _good(*luck.choice(said), size=luck.choice((2, 3)))
        elif draw < 0.21:
            yield _bad(luck, number, family, fleet)
        else:
            said.append((number, family, fleet))
            yield _good(number, family, fleet, size=1)


def _good(number: int, family: str, fleet: str, *, size: int, spelling: str = "compact") -> Sent:
    said = event(number, family, fleet, size=size)
    value = orjson.dumps(said)
    if spelling == "loose":
        value = orjson.dumps(dict(reversed(said.items())), option=orjson.OPT_INDENT_2)
    return Sent(
        family, fleet.encode(), value, STRUCTURED, "good", fleet, said["id"], f"{number}/{size}"
    )


def _bad(luck: random.Random, number: int, family: str, fleet: str) -> Sent:
    said = event(number, family, fleet, size=1)
    key: bytes | None = fleet.encode()
    headers: tuple[tuple[str, bytes], ...] = STRUCTURED
    value: bytes | None
    match luck.randrange(8):
        case 0:
            value = b'{"specversion": "1.0", ' + bytes(luck.randbytes(5))
        case 1:
            value = None
        case 2:
            value = orjson.dumps(said | {"type": "ledger.cluster.comet.upserted.v1"})
        case 3:
            other = "workload" if family == "cluster" else "cluster"
            value = orjson.dumps(event(number, other, fleet, size=1))
        case 4:
            value = orjson.dumps(
                said | {"type": "ledger.time.time.passed.v1", "data": {"now": "2026-03-01"}}
            )
        case 5:
            value = orjson.dumps(said | {"fleet": f"not-{fleet}"})
        case 6:
            value, headers = orjson.dumps(said), ()
        case _:
            value = orjson.dumps(said | {"subject": "some\u0000thing"})
    return Sent(family, key, value, headers, "bad", fleet, f"bad-{number}", "")


@dataclass(slots=True)
class Arena:
    """What runs share: brokers, a Postgres that may be stopped, and a nursery of processes."""

    cluster: Cluster
    postgres: Path
    template: Postgres
    logs: Path

    async def restart_postgres(self) -> None:
        """Stop it as a loss of power would, and start it again where it was."""
        await server.stop(self.postgres, mode="immediate")
        await server.start(self.postgres, settings=SERVER)


@asynccontextmanager
async def arena(directory: Path, *, nodes: int = 1) -> AsyncIterator[Arena]:
    """Start brokers and Postgres; they end with the block."""
    data = server.temporary_directory()
    cluster = await brokers.start(directory / "kafka", brokers=nodes)
    try:
        running = await server.start(data, settings=SERVER)
        template = "chaos_template"
        connection = await asyncpg.connect(plain(running.url))
        await connection.execute(f"CREATE DATABASE {template}")
        await connection.close()
        await migrate(named(running.url, template))
        logs = directory / "logs"
        logs.mkdir()
        yield Arena(cluster, data, Postgres(running.url, template), logs)
    finally:
        cluster.kill_all()
        await server.stop(data, mode="immediate")
        shutil.rmtree(data, ignore_errors=True)


def _consume(environment: dict[str, str], log: str) -> None:
    """What a consumer process does: the same as ``python -m consumers``."""
    from consumers.__main__ import main  # noqa: PLC0415 - in the child, where it is loaded already

    os.environ.update(environment)
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(target, 1)
    os.dup2(target, 2)
    sys.exit(main([]))


class Run:
    """One seed."""

    def __init__(self, arena: Arena, seed: int) -> None:
        """Nothing has happened yet."""
        self._arena = arena
        self._luck = random.Random(seed)
        self._prefix = f"chaos-{seed}-{os.getpid()}-{time.monotonic_ns()}."
        self.report = Report(seed)
        self._url = ""
        self._consumers: list[ForkServerProcess] = []
        self._acknowledged: dict[Place, Sent] = {}
        self._nursery = multiprocessing.get_context("forkserver")
        self._nursery.set_forkserver_preload(["consumers.__main__"])

    async def play(self) -> Report:
        """Let it happen, and balance the books."""
        started = time.monotonic()
        names = [f"{self._prefix}{family}" for family in FAMILIES]
        replicas = len(self._arena.cluster.nodes)
        config = {"min.insync.replicas": "2"} if replicas > 2 else {}
        await asyncio.gather(
            *(
                topics.create_topic(
                    self._arena.cluster.bootstrap,
                    name,
                    partitions=PARTITIONS,
                    replication=min(3, replicas),
                    config=config,
                )
                for name in names
            )
        )
        try:
            async with self._arena.template.database() as self._url:
                try:
                    await self._happen()
                    await self._drain()
                finally:
                    self._end_all()
                await self._balance()
        except* (AssertionError, KafkaError, OSError, TimeoutError) as errors:
            self.report.trouble = "; ".join(f"{type(e).__name__}: {e}" for e in _all(errors))
        finally:
            self.report.seconds = time.monotonic() - started
            self.report.felt = self._felt()
            await self._forget(names)
        return self.report

    async def _happen(self) -> None:
        luck = self._luck
        for _ in range(luck.randint(1, MOST_CONSUMERS)):
            self._add_consumer()
        kinds = get_args(Fault)
        faults = luck.choices(kinds, [WEIGHTS[kind] for kind in kinds], k=luck.randint(1, 5))
        # One broker is enough to lose; each time costs seconds in which nothing else can happen.
        while faults.count("kill broker") > 1:
            faults.remove("kill broker")
        begun, over = asyncio.Event(), asyncio.Event()
        async with asyncio.TaskGroup() as everything:
            everything.create_task(self._send(begun, over))
            # A producer that has not met a broker yet does not wait for one: it gives up.
            await begun.wait()
            everything.create_task(self._break(faults, over))

    async def _send(self, begun: asyncio.Event, over: asyncio.Event) -> None:
        """Send in bursts for as long as things happen, and keep what was acknowledged."""
        # Its own luck: what is sent first must not depend on what happens meanwhile.
        luck = random.Random(self.report.seed + 1)
        pending: list[tuple[Sent, asyncio.Future[Any]]] = []
        producer = AIOKafkaProducer(
            bootstrap_servers=self._arena.cluster.bootstrap,
            acks="all",
            enable_idempotence=True,
            linger_ms=5,
            metadata_max_age_ms=2_000,
        )
        await producer.start()
        begun.set()
        try:
            stream = messages(luck)
            while len(pending) < MOST_SENT and not (over.is_set() and len(pending) >= LEAST_SENT):
                for sent in islice(stream, luck.randint(1, 60)):
                    topic, headers = f"{self._prefix}{sent.family}", sent.told()
                    future = await producer.send(topic, sent.value, key=sent.key, headers=headers)
                    pending.append((sent, future))
                await asyncio.sleep(luck.uniform(0.01, 0.12))
            for sent, future in pending:
                done = await future
                self._acknowledged[done.topic, done.partition, done.offset] = sent
        finally:
            await producer.stop()
        self.report.sent = len(pending)

    async def _break(self, faults: Sequence[Fault], over: asyncio.Event) -> None:
        """Let one thing happen after the other, mostly in the midst of work."""
        receipts = 0
        for fault in faults:
            if self._luck.random() < 0.8:
                receipts = await self._progress(receipts)
            await asyncio.sleep(self._luck.uniform(0, 0.2))
            if await self._fault(fault):
                self.report.faults[fault] += 1
        over.set()

    async def _progress(self, before: int) -> int:
        """Wait a while for more receipts than ``before``; how many there are."""
        connection = await asyncpg.connect(plain(self._url))
        try:
            deadline = time.monotonic() + 5
            while True:
                found: int = await connection.fetchval("SELECT count(*) FROM ledger.receipts")
                if found > before or time.monotonic() > deadline:
                    return found
                await asyncio.sleep(0.01)
        finally:
            await connection.close()

    async def _fault(self, fault: Fault) -> bool:
        """Let it happen; False where there is nobody left for it to happen to."""
        luck = self._luck
        match fault:
            case "kill broker":
                node = BrokerId(luck.choice(self._arena.cluster.nodes))
                await self._arena.cluster.kill(node)
                await self._arena.cluster.start(node)
            case "stop postgres":
                await self._arena.restart_postgres()
            case "add consumer":
                if len(self._consumers) >= MOST_CONSUMERS:
                    return False
                self._add_consumer()
            case _ if not self._consumers:
                self._add_consumer()
                return False
            case "kill consumer":
                victim = luck.choice(self._consumers)
                self._consumers.remove(victim)
                victim.kill()
                # Its supervisor starts another, sooner or later.
                if luck.random() < 0.7 or not self._consumers:
                    self._add_consumer()
            case "dismiss consumer":
                leaving = luck.choice(self._consumers)
                self._consumers.remove(leaving)
                leaving.terminate()
                await asyncio.to_thread(leaving.join, 20)
                _left_well(leaving)
                if not self._consumers:
                    self._add_consumer()
            case "freeze consumer":
                victim = luck.choice(self._consumers)
                assert victim.pid is not None
                os.kill(victim.pid, signal.SIGSTOP)
                await asyncio.sleep(luck.uniform(0.2, 1.6) * SESSION_MS / 1000)
                os.kill(victim.pid, signal.SIGCONT)
        return True

    def _add_consumer(self) -> None:
        environment = {
            "LEDGER_DATABASE_URL": self._url,
            "LEDGER_KAFKA_BOOTSTRAP": self._arena.cluster.bootstrap,
            "LEDGER_KAFKA_GROUP": f"{self._prefix}group",
            "LEDGER_KAFKA_TOPIC_PREFIX": self._prefix,
            "LEDGER_KAFKA_SESSION_MS": str(SESSION_MS),
            "LEDGER_KAFKA_BATCH": str(self._luck.choice(BATCHES)),
            "LEDGER_FLEET_CREATE": "auto",
            "LEDGER_UNDECIDED_LIMIT": "0",
        }
        log = self._arena.logs / f"{self.report.seed}-{self.report.consumers}.log"
        consumer = self._nursery.Process(target=_consume, args=(environment, str(log)))
        consumer.start()
        self._consumers.append(consumer)
        self.report.consumers += 1

    async def _drain(self) -> None:
        """Wait until the log has an account of everything the topics hold."""
        ends: dict[tuple[str, int], int] = {}
        for topic, partition, offset in self._acknowledged:
            at = (topic, partition)
            ends[at] = max(ends.get(at, 0), offset + 1)
        deadline = time.monotonic() + DRAIN_SECONDS
        connection = await asyncpg.connect(plain(self._url))
        try:
            while True:
                rows = await connection.fetch(
                    "SELECT topic, partition, max(next) AS next FROM ledger.receipts GROUP BY 1, 2"
                )
                taken = {(row["topic"], row["partition"]): row["next"] for row in rows}
                if all(taken.get(at, 0) >= end for at, end in ends.items()):
                    break
                for gone in [c for c in self._consumers if c.exitcode is not None]:
                    raise BooksDoNotBalance(f"a consumer ended by itself with {gone.exitcode}")
                if time.monotonic() > deadline:
                    behind = {at: (taken.get(at), end) for at, end in ends.items()}
                    raise BooksDoNotBalance(f"not read to the end: {behind}")
                await asyncio.sleep(0.05)
        finally:
            await connection.close()
        for consumer in self._consumers:
            consumer.terminate()
        for consumer in self._consumers:
            await asyncio.to_thread(consumer.join, 20)
            _left_well(consumer)

    def _end_all(self) -> None:
        for consumer in self._consumers:
            consumer.kill()
            consumer.join()
            consumer.close()
        self._consumers.clear()

    async def _balance(self) -> None:
        """Compare the log with what the topics say it should be."""
        names = [f"{self._prefix}{family}" for family in FAMILIES]
        found = await asyncio.to_thread(_everything, self._arena.cluster.bootstrap, names)
        _same("acknowledged but not in the topics", set(self._acknowledged) - set(found), set())
        expected = _expected(found)
        connection = await asyncpg.connect(plain(self._url))
        try:
            books = Books(connection)
            await books.check_logs(expected, found)
            await books.check_quarantine(expected, found)
            self.report.receipts, self.report.epochs = await books.check_receipts(expected, found)
        finally:
            await connection.close()
        self.report.events = len(expected.first)
        self.report.duplicates = len(expected.duplicates)
        self.report.quarantined = len(expected.quarantined)

    def _felt(self) -> Counter[str]:
        felt: Counter[str] = Counter()
        for log in self._arena.logs.glob(f"{self.report.seed}-*.log"):
            for line in log.read_text(errors="replace").splitlines():
                if line.startswith("{") and (said := orjson.loads(line)["event"]) in TOLD:
                    felt[said] += 1
        return felt

    async def _forget(self, names: list[str]) -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=self._arena.cluster.bootstrap)
        with suppress(KafkaError, OSError):
            await admin.start()
            await admin.delete_topics(names)
        await admin.close()


@dataclass(frozen=True, slots=True)
class Read:
    """A record as another client read it."""

    value: bytes | None
    key: bytes | None
    meaning: tuple[str, str, str, str]
    """Kind, fleet, id and content, as the driver told them."""


@dataclass(slots=True)
class Expected:
    """What the log should have made of the topics."""

    first: dict[tuple[str, str], Place] = field(default_factory=dict)
    """Where each event came by first, by fleet and id."""
    duplicates: set[Place] = field(default_factory=set)
    quarantined: set[Place] = field(default_factory=set)


def _expected(found: dict[Place, Read]) -> Expected:
    expected = Expected()
    contents: dict[tuple[str, str], str] = {}
    # An identity comes by one partition only, so the order between partitions does not matter.
    for place in sorted(found):
        kind, fleet, id_, content = found[place].meaning
        if kind == "bad":
            expected.quarantined.add(place)
        elif (fleet, id_) not in contents:
            contents[fleet, id_] = content
            expected.first[fleet, id_] = place
        elif contents[fleet, id_] == content:
            expected.duplicates.add(place)
        else:
            expected.quarantined.add(place)
    return expected


def _everything(bootstrap: str, names: list[str]) -> dict[Place, Read]:
    """All records of the topics, by librdkafka."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "books",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": False,
        }
    )
    try:
        places = [TopicPartition(name, n, 0) for name in names for n in range(PARTITIONS)]
        ends = {
            (p.topic, p.partition): consumer.get_watermark_offsets(p, timeout=20)[1] for p in places
        }
        missing = {at for at, end in ends.items() if end > 0}
        consumer.assign(places)
        found: dict[Place, Read] = {}
        deadline = time.monotonic() + 30
        while missing:
            if time.monotonic() > deadline:
                raise TimeoutError("the topics could not be read")
            for message in consumer.consume(1000, timeout=0.2):
                assert message.error() is None, message.error()
                topic, partition, offset = message.topic(), message.partition(), message.offset()
                assert topic is not None
                assert partition is not None
                assert offset is not None
                headers = dict(message.headers() or ())
                told = headers["x-meaning"]
                assert isinstance(told, bytes)
                meaning = tuple(orjson.loads(told))
                value, key = message.value(), message.key()
                assert not isinstance(value, str)
                assert not isinstance(key, str)
                found[topic, partition, offset] = Read(value, key, meaning)
                if offset + 1 >= ends[topic, partition]:
                    missing.discard((topic, partition))
        return found
    finally:
        consumer.close()


class Books:
    """What the tables say."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        """Look through this connection."""
        self._connection = connection

    async def check_logs(self, expected: Expected, found: dict[Place, Read]) -> None:
        """Each fleet's log: what is in it, in which order, under which root."""
        logged: dict[tuple[str, str], Place] = {}
        for number, name in await self._rows("SELECT number, name FROM ledger.fleets"):
            events = [
                StoredEvent._make(row)
                for row in await self._rows(
                    f"SELECT {', '.join(StoredEvent._fields)} FROM ledger.events"
                    " WHERE fleet = $1 ORDER BY position",
                    number,
                )
            ]
            _same(f"positions of {name}", [e.position for e in events], list(range(len(events))))
            times = [e.recorded_at_micros for e in events]
            _same(f"recorded times of {name}", times, sorted(times))
            leaves = [stored_leaf(name, e) for e in events]
            _same(f"leaves of {name}", leaves, [e.leaf for e in events])
            ((size, root),) = await self._rows(
                "SELECT size, root FROM ledger.heads WHERE fleet = $1 AND tree = 'events'"
                " ORDER BY size DESC LIMIT 1",
                number,
            )
            _same(f"head of {name}", (size, root), (len(events), merkle.root(leaves)))
            ((identities,),) = await self._rows(
                "SELECT count(*) FROM ledger.event_identity WHERE fleet = $1", number
            )
            _same(f"identities of {name}", identities, len(events))
            if name == "_ledger":
                continue
            for e in events:
                assert e.topic is not None
                assert e.partition is not None
                assert e.coordinate is not None
                place = (e.topic, e.partition, e.coordinate)
                if (name, e.id) in logged:
                    raise BooksDoNotBalance(f"{name}/{e.id} is in the log twice")
                logged[name, e.id] = place
                _same(f"bytes of {name}/{e.id}", e.payload, found[place].value)
        _same("events in the log", logged, expected.first)

    async def check_quarantine(self, expected: Expected, found: dict[Place, Read]) -> None:
        """Exactly the bad ones, whole, and each of them an event of the reserved fleet."""
        rows = await self._rows(
            "SELECT q.topic, q.partition, q.coordinate, q.value, q.key, e.subject = q.address"
            " FROM ledger.quarantine q"
            " LEFT JOIN ledger.fleets f ON f.name = '_ledger'"
            " LEFT JOIN ledger.events e ON e.fleet = f.number AND e.position = q.position"
        )
        kept = [((t, p, o), value, key, told) for t, p, o, value, key, told in rows]
        _same("quarantined", sorted(k[0] for k in kept), sorted(expected.quarantined))
        for place, value, key, told in kept:
            _same(
                f"quarantined {place}",
                (value, key, told),
                (found[place].value, found[place].key, True),
            )

    async def check_receipts(self, expected: Expected, found: dict[Place, Read]) -> tuple[int, int]:
        """Each continues the one before, and together they account for every record."""
        receipts_found = 0
        for topic, partition in sorted({place[:2] for place in found}):
            here = [place for place in found if place[:2] == (topic, partition)]
            receipts = await self._rows(
                "SELECT number, first, next, records, appended, duplicates, quarantined, epoch"
                " FROM ledger.receipts WHERE topic = $1 AND partition = $2 ORDER BY number",
                topic,
                partition,
            )
            receipts_found += len(receipts)
            at = f"{topic}/{partition}"
            _same(f"receipts of {at}", [r[0] for r in receipts], list(range(len(receipts))))
            next_, epoch = 0, 0
            for _, first, after, records, *_, of in receipts:
                offsets = [o for _, _, o in here if next_ <= o < after]
                _same(f"{at} from {next_}", (first, records), (min(offsets), len(offsets)))
                if of < epoch:
                    raise BooksDoNotBalance(f"{at}: epoch {of} wrote after {epoch}")
                next_, epoch = after, of
            _same(f"end of {at}", next_, max(o for _, _, o in here) + 1)
            firsts = set(expected.first.values())
            _same(
                f"accounts of {at}",
                tuple(sum(r[n] for r in receipts) for n in (4, 5, 6)),
                (
                    sum(place in firsts for place in here),
                    sum(place in expected.duplicates for place in here),
                    sum(place in expected.quarantined for place in here),
                ),
            )
        ((halts,),) = await self._rows("SELECT count(*) FROM ledger.partition_halts")
        _same("halts", halts, 0)
        ((epochs,),) = await self._rows("SELECT count(*) FROM ledger.partition_epochs")
        return receipts_found, epochs

    async def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await self._connection.fetch(query, *values)]


def _left_well(consumer: ForkServerProcess) -> None:
    # By the signal itself ends who had not yet come so far as to listen for it.
    if consumer.exitcode not in {0, -signal.SIGTERM}:
        raise BooksDoNotBalance(f"asked to leave, a consumer gave {consumer.exitcode}")


def _all(errors: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in errors.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _all(error)
        else:
            yield error


def _same(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise BooksDoNotBalance(f"{what}: {_differs(found, expected)}")


def _differs(found: object, expected: object) -> str:
    if isinstance(found, dict) and isinstance(expected, dict):
        more = sorted(k for k in found if found[k] != expected.get(k))[:3]
        less = sorted(k for k in expected if k not in found)[:3]
        return f"{len(found)} for {len(expected)}; too much or otherwise {more}, missing {less}"
    if isinstance(found, list) and isinstance(expected, list):
        more = [x for x in found if x not in expected][:3]
        less = [x for x in expected if x not in found][:3]
        return f"{len(found)} for {len(expected)}; too much {more}, missing {less}"
    return f"{str(found)[:200]} for {str(expected)[:200]}"


async def play(seeds: Sequence[int], *, nodes: int) -> int:
    """Run every seed, one after the other; how many failed."""
    reports: list[Report] = []
    with tempfile.TemporaryDirectory(prefix="ledger-chaos-") as directory:
        async with arena(Path(directory), nodes=nodes) as shared:
            for seed in seeds:
                report = await Run(shared, seed).play()
                reports.append(report)
                typer.echo(report.line())
                if report.trouble:
                    _show_logs(shared.logs, seed)
                for log in shared.logs.glob(f"{seed}-*.log"):
                    log.unlink()
    failed = [r.seed for r in reports if r.trouble]
    faults: Counter[str] = sum((r.faults for r in reports), Counter())
    felt: Counter[str] = sum((r.felt for r in reports), Counter())
    typer.echo(
        f"{len(reports)} runs, {len(failed)} failed {failed}; {sum(r.sent for r in reports)} sent,"
        f" {sum(r.events for r in reports)} events, {sum(r.duplicates for r in reports)}"
        f" duplicates, {sum(r.quarantined for r in reports)} quarantined,"
        f" {sum(r.consumers for r in reports)} consumers; {_listed(faults)}; {_listed(felt)};"
        f" {sum(r.seconds for r in reports) / max(len(reports), 1):.1f} s each"
    )
    return len(failed)


def _show_logs(logs: Path, seed: int) -> None:
    for log in sorted(logs.glob(f"{seed}-*.log")):
        tail = log.read_text(errors="replace").splitlines()[-25:]
        typer.echo("\n".join([f"--- {log.name}", *tail]))


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description="Exactly once, whatever dies.")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1, help="the first seed; they count up")
    parser.add_argument("--brokers", type=int, default=1)
    chosen = parser.parse_args()
    # The producer's client has much to say while a broker is down.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    seeds = range(chosen.seed, chosen.seed + chosen.runs)
    return 1 if asyncio.run(play(seeds, nodes=chosen.brokers)) else 0


if __name__ == "__main__":
    sys.exit(main())
