"""Hand on to Kafka: decisions in the order of their numbers, and what could not be accepted.

One process publishes for a fleet at a time, by lease. It reads the decisions behind the fleet's
cursor, sends them, waits until they are acknowledged, and moves the cursor: each goes out at
least once. A reader keeps the last life and number it has seen of a subject and ignores what is not
above them.

A decision goes out as a CloudEvent whose data is the record itself, so that whoever receives it
can recompute its leaf: SHA-256 over a zero byte and the canonical JSON of ``data``. A record too
large for a topic is announced instead, by its digest and by where to read it. What is too large is
said by LARGEST_RECORD, and by the broker, whose topics may take less.

Quarantined messages go out the same way, under the lease and the cursor of the ledger's own fleet:
key, value and headers as they were received, and why they were refused in headers of ours.

What was handed on before must be what the log says (``consumers.handed_on``): whoever begins to publish
looks first, and a fleet of which the log has less, or something else, is stopped for everybody.

A fleet that cannot be served rests a while and holds up no other. So does one whose next message
is for a partition that takes nothing: after PATIENCE_SECONDS it is left alone for a while, whoever
has something for it. Kafka or the log being away holds up all of them, and is waited for.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import Any, Final

import orjson
import structlog
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError, MessageSizeTooLargeError, RecordListTooLargeError
from aiokafka.partitioner import DefaultPartitioner
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from consumers import clients
from consumers.handed_on import Looked, contradiction, look
from consumers.settings import Settings
from consumers.totals import Sent
from ledger.errors import (
    KafkaUnavailable,
    LedgerError,
    LedgerStopped,
    LogUnavailable,
    WrongPosition,
)
from ledger.facts.decision import RECORD_LAYOUT
from ledger.log import decisions, fleets, leases, outbox, quarantine, stops
from ledger.log.database import Connection, connected
from ledger.log.decisions import StoredDecision
from ledger.log.fleets import Fleet
from ledger.log.leases import Lease
from ledger.log.messages import Headers
from ledger.log.quarantine import SetAside
from ledger.log.read import Bell
from ledger.units import LEDGER_FLEET, FleetName, Position

LARGEST_RECORD: Final = 512 * 1024
"""Half of what a broker takes in one message unless told otherwise."""

LARGEST_LETTER: Final = 1024 * 1024
"""What the client sends in one message, and a broker takes unless told otherwise. A quarantined
message came by a topic as a rule, and goes out whole if our headers still fit behind its own."""

DETAIL_BYTES: Final = 1024
"""What an announcement says of the why: it must fit where nothing else does."""

PAGE_BYTES: Final = 4 * 1024 * 1024
"""What is under way to the brokers at a time: with the largest records, a page is a few of them."""

BATCH_BYTES: Final = 16 * 1024
"""What the client puts together at most; a larger message travels alone. Topics are expected to
take so much: of one that does not, subjects may be met out of their order."""

POLL_SECONDS: Final = 0.5
RETRY_SECONDS: Final = 1.0

REMEMBERED_SECONDS: Final = 60.0
"""How long messages of a size that a topic refused are announced at once, until it is tried again
whether the topic was widened."""

REST_SECONDS: Final = 5.0
"""How long a fleet rests that could not be served: a person, or another release, has to help."""

PATIENCE_SECONDS: Final = 5.0
"""How long a partition may take to acknowledge what is next. One without a leader, or with too few
replicas, does not say that it takes nothing; it says nothing."""

SILENT_SECONDS: Final = 30.0
"""How long such a partition is left alone, until a single message is tried again."""

CONTENT_TYPE: Final = b"application/cloudevents+json; charset=UTF-8"

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Head:
    """What the envelope of a decision repeats of its record."""

    fleet: str
    incarnation: int
    number: int
    kind: str
    subject: str


def head(fleet: FleetName, stored: StoredDecision) -> Head:
    """Read it; LedgerStopped where a newer release wrote the record in a layout of its own."""
    plain = orjson.loads(stored.record)
    if plain["record"] != RECORD_LAYOUT:
        raise LedgerStopped(
            f"{fleet}/{stored.number}: record layout {plain['record']} is not known here,"
            f" only {RECORD_LAYOUT}; let a release publish that knows it"
        )
    return Head(
        plain["fleet"], plain["incarnation"], plain["number"], plain["kind"], plain["subject"]
    )


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message as Kafka gets it."""

    key: bytes | None
    value: bytes | None
    headers: Headers

    @property
    def size(self) -> int:
        """The most it can take of a topic, by the client's own count."""
        size: int = DefaultRecordBatchBuilder.estimate_size_in_bytes(
            self.key, self.value, list(self.headers)
        )
        return size


@dataclass(frozen=True, slots=True)
class Parcel:
    """What is handed on, and what goes out instead where that is too large."""

    address: str
    whole: Outgoing
    announced: Outgoing


def parcel(stored: StoredDecision, said: Head) -> Parcel:
    """The CloudEvent that tells a decision. Kafka keeps those about one subject in order."""
    name = f"{said.fleet}/{said.incarnation}/{said.number}"
    event: dict[str, Any] = {
        "specversion": "1.0",
        "id": name,
        "source": f"ledger/{said.fleet}",
        "type": f"ledger.decision.{said.kind}.recorded.v1",
        "subject": said.subject,
        "fleet": said.fleet,
        "digest": stored.digest.hex(),
    }
    key = f"{said.fleet}/{said.subject}".encode()
    headers: Headers = (("content-type", CONTENT_TYPE),)
    short = orjson.dumps(event | {"data": {"address": name, "bytes": len(stored.record)}})
    announced = Outgoing(key, short, headers)
    if len(stored.record) > LARGEST_RECORD:
        return Parcel(name, announced, announced)
    # The record is JSON already, and its bytes are what the digest is taken of.
    whole = orjson.dumps(event)[:-1] + b',"data":' + stored.record + b"}"
    return Parcel(name, Outgoing(key, whole, headers), announced)


def within(page: Sequence[StoredDecision]) -> Sequence[StoredDecision]:
    """The beginning of a page that is not larger than PAGE_BYTES, or its first decision alone."""
    size = 0
    for place, stored in enumerate(page):
        size += len(stored.record)
        if place and size > PAGE_BYTES:
            return page[:place]
    return page


def letter(found: SetAside) -> Parcel:
    """The message as received, with our headers behind its own; announced, our headers alone."""
    reason = ("ledger-reason", found.reason.encode())
    address = ("ledger-address", found.address.encode())
    detail = found.detail.encode()
    parts = [found.key, found.value]
    for name, content in found.headers:
        parts += [name.encode(), content]
    received = sum(len(part) for part in parts if part is not None)
    announced = Outgoing(
        None,
        b"",
        (
            reason,
            address,
            ("ledger-detail", detail[:DETAIL_BYTES]),
            ("ledger-bytes", str(received).encode()),
        ),
    )
    # Kafka could hold a record with neither key nor value, but its client will not send one.
    value = b"" if found.key is None and found.value is None else found.value
    whole = Outgoing(found.key, value, (*found.headers, reason, address, ("ledger-detail", detail)))
    return Parcel(found.address, announced if whole.size > LARGEST_LETTER else whole, announced)


_TOO_LARGE: Final = (MessageSizeTooLargeError, RecordListTooLargeError)


class Post:
    """The way to the brokers: a producer, and a new one after each refusal.

    A producer numbers what it sends to a partition, and a message that was refused leaves a gap in
    the numbers. A broker that knows the producer takes nothing more of it then; one that has taken
    nothing of it before does not see the gap. So nothing may be on its way behind a message about
    the same subject that might be refused.
    """

    def __init__(self, settings: Settings) -> None:
        """Nothing is opened yet."""
        self._settings = settings
        self._open = AsyncExitStack()
        self._producer: Any = None
        self._partition_of = DefaultPartitioner()
        self._refused: dict[str, tuple[int, float]] = {}
        self._silent: dict[TopicPartition, float] = {}
        """Partitions that acknowledged nothing, and until when they are left alone."""

    async def ready(self) -> None:
        """Have a producer; KafkaUnavailable where none can be had."""
        if self._producer is None:
            producer = clients.producer(self._settings)
            await self._open.enter_async_context(clients.running(producer))
            self._producer = producer

    async def close(self) -> None:
        """Give the producer up, if there is one."""
        self._producer = None
        await self._open.aclose()

    async def hand_on(self, topic: str, parcels: Sequence[Parcel]) -> int:
        """Send parcels in order, and say how many are with the brokers.

        All are, or those in front of one that is too large. If that is the first, it is announced
        and the only one: so their number can be noted between one refusal and the next. One for a
        partition that takes nothing ends them too; KafkaUnavailable if that is the first.
        """
        taken = await self._send(topic, [self._fitting(topic, one) for one in parcels])
        if taken or not parcels:
            return taken
        # Small ones share a batch, and a narrow topic may refuse them all for being together.
        first = parcels[0]
        if not await self._send(topic, [first.whole]):
            now = asyncio.get_running_loop().time()
            self._refused[topic] = first.whole.size, now + REMEMBERED_SECONDS
            if not await self._send(topic, [first.announced]):
                raise KafkaUnavailable(
                    f"{first.address}: {topic} takes not even {first.announced.size} bytes;"
                    " raise its max.message.bytes"
                )
            log.warning("announced", topic=topic, address=first.address, size=first.whole.size)
        return 1

    def _fitting(self, topic: str, one: Parcel) -> Outgoing:
        size, until = self._refused.get(topic, (0, 0.0))
        known = asyncio.get_running_loop().time() < until
        return one.announced if known and one.whole.size >= size else one.whole

    async def _send(self, topic: str, messages: Sequence[Outgoing]) -> int:
        """Send messages in order; how many are acknowledged in front of one that cannot be had so."""
        await self.ready()
        ways = await self._ways(topic, messages)
        waiting: list[asyncio.Future[Any]] = []
        unsure: dict[bytes | None, asyncio.Future[Any]] = {}
        failure: BaseException | None = None
        try:
            for one, at in zip(messages, ways, strict=False):
                before = unsure.pop(one.key, None)
                if before is not None:
                    await _outcome(before)
                async with asyncio.timeout(PATIENCE_SECONDS):
                    sent = await self._producer.send(
                        topic,
                        key=one.key,
                        value=one.value,
                        headers=list(one.headers),
                        partition=at.partition,
                    )
                waiting.append(sent)
                if one.size > BATCH_BYTES:
                    unsure[one.key] = sent
        except (KafkaError, TimeoutError) as error:
            failure = error
        taken = 0
        try:
            for sent, at in zip(waiting, ways, strict=False):
                # Whoever was not patient once has been with all of them.
                await _outcome(sent, patience=0 if failure else PATIENCE_SECONDS)
                self._silent.pop(at, None)
                taken += 1
        except (KafkaError, TimeoutError) as error:
            failure = error
        if failure is not None:
            await self._start_anew(waiting)
            if isinstance(failure, TimeoutError):
                failure = self._fell_silent(ways[taken])
            if not taken and not isinstance(failure, _TOO_LARGE):
                with clients.denials_named():
                    raise failure
        return taken

    async def _ways(self, topic: str, messages: Sequence[Outgoing]) -> list[TopicPartition]:
        """The partitions of messages, as far as these can be sent now."""
        try:
            with clients.denials_named():
                async with asyncio.timeout(PATIENCE_SECONDS):
                    partitions = sorted(await self._producer.partitions_for(topic))
        except TimeoutError as error:
            raise KafkaUnavailable(f"{topic}: Kafka does not say what partitions it has") from error
        now = asyncio.get_running_loop().time()
        left_alone = {at for at, until in self._silent.items() if now < until}
        others = [one for one in partitions if TopicPartition(topic, one) not in left_alone]
        ways: list[TopicPartition] = []
        for message in messages:
            at = TopicPartition(topic, self._partition_of(message.key, partitions, others))
            if at in left_alone:
                if not ways:
                    raise KafkaUnavailable(_silence(at))
                break
            ways.append(at)
            if at in self._silent:
                break
        return ways

    def _fell_silent(self, at: TopicPartition) -> KafkaUnavailable:
        self._silent[at] = asyncio.get_running_loop().time() + SILENT_SECONDS
        log.warning("left_alone", topic=at.topic, partition=at.partition, seconds=SILENT_SECONDS)
        return KafkaUnavailable(_silence(at))

    async def _start_anew(self, waiting: Sequence[asyncio.Future[Any]]) -> None:
        """Give the producer up, with what it has not brought to the brokers."""
        for sent in waiting:
            # An outcome at which nobody looks would be complained of.
            if not sent.cancel() and not sent.cancelled():
                sent.exception()
        await clients.forget_unacknowledged(self._producer)
        await self.close()


def _silence(at: TopicPartition) -> str:
    return (
        f"{at.topic}/{at.partition}: acknowledges nothing; look whether it has a leader, and as"
        " many replicas as its min.insync.replicas"
    )


async def _outcome(sent: asyncio.Future[Any], *, patience: float = PATIENCE_SECONDS) -> None:
    """Wait for an acknowledgement; raise what came instead, TimeoutError if nothing did."""
    await asyncio.wait([sent], timeout=patience)
    if not sent.done():
        raise TimeoutError
    sent.result()


_HandOn = Callable[[Fleet, int], Awaitable[int]]
"""Send what stands behind a cursor, and say where the cursor belongs then."""


class _Publisher:
    """Publishes for every fleet in turn, as long as both sides are there."""

    def __init__(
        self,
        post: Post,
        connection: Connection,
        prefix: str,
        holder: str,
        sent: Sent,
        looked: Looked,
    ) -> None:
        self._looked = looked
        self._post = post
        self._sent = sent
        self._connection = connection
        self._decisions_topic = f"{prefix}decisions"
        self._letters_topic = f"{prefix}deadletter"
        self._holder = holder
        self._held: dict[str, tuple[Lease, float]] = {}
        self._resting: dict[str, float] = {}

    async def turn(self) -> bool:
        """One page of each fleet; False where there was nothing to hand on."""
        busy = [
            await self._publish(fleet, self._decisions)
            for fleet in await fleets.every(self._connection)
        ]
        own = await fleets.find(self._connection, LEDGER_FLEET)
        if own is not None:
            busy.append(await self._publish(own, self._letters))
        return any(busy)

    async def let_go(self) -> None:
        """Give every lease back."""
        for lease, _ in self._held.values():
            await leases.let_go(self._connection, lease)
        self._held.clear()
        self._sent.leases_held = 0

    async def _publish(self, fleet: Fleet, hand_on: _HandOn) -> bool:
        now = asyncio.get_running_loop().time()
        if now < self._resting.get(fleet.name, now):
            return False
        # Without Kafka no fleet can be served: that is not for one of them to rest for.
        await self._post.ready()
        try:
            lease = await self._lease(fleet)
            if lease is None:
                return False
            first = await outbox.next_number(self._connection, fleet)
            after = await hand_on(fleet, first)
            if after == first:
                return False
            await outbox.move(self._connection, lease, before=first, after=after)
        except WrongPosition as error:
            log.warning("lease_lost", fleet=fleet.name, why=str(error))
            self._held.pop(fleet.name, None)
            self._sent.leases_lost += 1
            return False
        except (KafkaUnavailable, LedgerStopped) as error:
            self._rest(fleet, error)
            return False
        finally:
            self._sent.leases_held = len(self._held)
        self._sent.batches += 1
        log.info("published", fleet=fleet.name, first=first, next=after)
        return True

    async def _lease(self, fleet: Fleet) -> Lease | None:
        now = asyncio.get_running_loop().time()
        if fleet.name not in self._held:
            lease = await leases.acquire(self._connection, fleet, "publish", holder=self._holder)
            if lease is not None:
                self._held[fleet.name] = lease, now
            return lease
        lease, renewed = self._held[fleet.name]
        if now - renewed > leases.RENEW_SECONDS:
            await leases.renew(self._connection, lease)
            self._held[fleet.name] = lease, now
        return lease

    async def _decisions(self, fleet: Fleet, first: int) -> int:
        empty: list[StoredDecision] = []
        page = within(await anext(decisions.pages(self._connection, fleet, first=first), empty))
        if page:
            await self._require_going(fleet)
        parcels: list[Parcel] = []
        for stored in page:
            try:
                parcels.append(parcel(stored, head(fleet.name, stored)))
            except LedgerStopped:
                if not parcels:
                    raise
                break
        taken = await self._post.hand_on(self._decisions_topic, parcels)
        self._sent.decisions += taken
        return first + taken

    async def stop_contradicted(self) -> None:
        """Stop every fleet of which Kafka has what the log has not, before it is decided further."""
        for fleet in await fleets.every(self._connection):
            try:
                await self._require_going(fleet)
            except LedgerStopped as error:
                self._rest(fleet, error)

    def _rest(self, fleet: Fleet, error: LedgerError) -> None:
        log.error("cannot_publish", fleet=fleet.name, why=str(error))
        self._resting[fleet.name] = asyncio.get_running_loop().time() + REST_SECONDS
        self._sent.postponed += 1

    async def _require_going(self, fleet: Fleet) -> None:
        """What was handed on is in the log, and nobody else has stopped the fleet."""
        handed_on = self._looked.of(fleet.name)
        why = contradiction(fleet, handed_on)
        if handed_on is not None and why is not None:
            life = await fleets.incarnation(self._connection, fleet)
            if why.reason == "log_forked" or life <= handed_on.newest[0]:
                raise await stops.stopped(self._connection, fleet, why)
        for stop in await stops.standing(self._connection, fleet):
            raise stop.of(fleet)

    async def _letters(self, _fleet: Fleet, first: int) -> int:
        page = await quarantine.page(self._connection, first=Position(first))
        taken = await self._post.hand_on(self._letters_topic, [letter(found) for found in page])
        self._sent.letters += taken
        return page[taken - 1].position + 1 if taken else first


async def run(
    settings: Settings,
    database_url: str,
    *,
    holder: str,
    stop: asyncio.Event,
    sent: Sent | None = None,
) -> None:
    """Publish until ``stop`` is set; a side that goes away is waited for.

    What is handed on is counted in ``sent`` as it happens.
    """
    sent = Sent() if sent is None else sent
    while not stop.is_set():
        try:
            await _while_both_are_there(settings, database_url, holder, stop, sent)
        except (KafkaUnavailable, LogUnavailable) as error:
            sent.interrupted += 1
            sent.leases_held = 0
            log.warning("cannot_publish_now", why=str(error))
            await _wait(stop, RETRY_SECONDS)


async def _while_both_are_there(
    settings: Settings, database_url: str, holder: str, stop: asyncio.Event, sent: Sent
) -> None:
    async with AsyncExitStack() as open_:
        connection = await open_.enter_async_context(connected(database_url, "ledger_publisher"))
        listening = await open_.enter_async_context(connected(database_url, "ledger_publisher"))
        bell = Bell(listening, "ledger_decisions")
        await bell.listen()
        post = Post(settings)
        open_.push_async_callback(post.close)
        await post.ready()
        # The log may be another one than it was when it was here last.
        looked = await look(settings, connection, stop)
        publisher = _Publisher(post, connection, settings.kafka_topic_prefix, holder, sent, looked)
        await publisher.stop_contradicted()
        while not stop.is_set():
            if not await publisher.turn():
                await bell.wait(at_most=POLL_SECONDS)
        await publisher.let_go()


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()
