"""What Kafka has of the decisions that were handed on, held against the log.

The cursor of the outbox is in the database, so a database that was restored to an earlier point has
forgotten what it handed on since. The topic has not: whatever was handed on must be in the log, under
the same id and with the same digest, or else the id is used anew. Only what the restored database cannot
know is read, which is what came after the last time that it moved a cursor, and a little before that.

Decisions of lives before the one that a log is in may be missing: a recovery says that they are lost.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import orjson
import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition

from consumers import clients
from consumers.settings import Settings
from ledger.errors import KafkaUnavailable
from ledger.log import fleets, outbox
from ledger.log.database import Connection
from ledger.log.fleets import Fleet
from ledger.log.recovery import HandedOn, decision_id
from ledger.log.stops import Stop
from ledger.units import DecisionNumber, FleetName, Incarnation, Offset

SLACK_MS: Final = 120_000
"""How far before the last move of a cursor reading begins: longer than a batch is under way, and than
clocks differ."""

PAGE: Final = 1000
"""Messages looked up in the log at once: a question an event would be slow, and more need not be held."""

LOOKUP_SECONDS: Final = 5.0
"""How long Kafka may take to say where to begin, or to give the next records."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Told:
    """What a message of the topic says of a decision."""

    fleet: FleetName
    incarnation: Incarnation
    number: DecisionNumber
    digest: str

    @property
    def id(self) -> tuple[Incarnation, DecisionNumber]:
        """By which it is known, beside its fleet."""
        return self.incarnation, self.number


def told(value: bytes | None) -> Told | None:
    """Read a message; None where it tells no decision."""
    try:
        event = orjson.loads(value or b"")
        fleet, incarnation, number = event["id"].rsplit("/", 2)
        return Told(
            FleetName(fleet),
            Incarnation(int(incarnation)),
            DecisionNumber(int(number)),
            event["digest"],
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError):
        return None


_Span = tuple[DecisionNumber, DecisionNumber]
"""The first and the last of some decisions of one life."""


class Looked:
    """What was found so far, fleet by fleet."""

    def __init__(self) -> None:
        self.newest: dict[FleetName, tuple[Incarnation, DecisionNumber]] = {}
        self._lost: dict[FleetName, dict[Incarnation, _Span]] = {}
        self._other: dict[FleetName, tuple[Incarnation, DecisionNumber]] = {}

    def add(self, found: Told, recorded: tuple[int, str] | None, life: Incarnation | None) -> None:
        """Note a message: ``recorded`` is life and digest of the decision of its number.

        ``life`` is the one that the fleet's log is in; None where there is no such fleet.
        """
        name, id_ = found.fleet, found.id
        self.newest[name] = max(id_, self.newest.get(name, id_))
        if recorded is not None and recorded[0] == found.incarnation:
            if recorded[1] != found.digest:
                self._other[name] = min(id_, self._other.get(name, id_))
        elif life is None or found.incarnation >= life:
            spans = self._lost.setdefault(name, {})
            number = found.number
            first, last = spans.get(found.incarnation, (number, number))
            spans[found.incarnation] = min(number, first), max(number, last)

    def of(self, name: FleetName) -> HandedOn | None:
        """What was found of a fleet; None where nothing was handed on lately."""
        newest = self.newest.get(name)
        if newest is None:
            return None
        other = self._other.get(name)
        if name not in self._lost:
            return HandedOn(newest, None, 0, other)
        spans = self._lost[name]
        life = min(spans)
        # What is lost of a life is its end, and numbers have no gaps.
        lost = sum(last - first + 1 for first, last in spans.values())
        return HandedOn(newest, (life, spans[life][0]), lost, other)


async def look(
    settings: Settings, connection: Connection, stop: asyncio.Event | None = None
) -> Looked:
    """Hold what was handed on lately against the log; KafkaUnavailable where Kafka does not say.

    ``stop`` ends it early: what was found by then is true, and not all.

    A partition without a leader is left out and said: it keeps nobody else from being published.
    """
    topic = f"{settings.kafka_topic_prefix}decisions"
    looked = Looked()
    since = await outbox.moved_at(connection)
    client = clients.witness(settings)
    async with clients.running(client):
        with clients.denials_named():
            for at in await _parts(client, topic):
                try:
                    async with asyncio.timeout(LOOKUP_SECONDS):
                        end = await _begin(client, at, since)
                except TimeoutError:
                    log.warning("not_looked_at", topic=at.topic, partition=at.partition)
                    continue
                await read_up_to(client, at, end, connection, looked, stop or asyncio.Event())
    return looked


async def _parts(client: AIOKafkaConsumer, topic: str) -> list[TopicPartition]:
    """The partitions of the topic, assigned to the client and asleep; none where there is no topic."""
    try:
        async with asyncio.timeout(LOOKUP_SECONDS):
            if topic not in await client.topics():
                return []
    except TimeoutError as error:
        raise KafkaUnavailable(f"{topic}: Kafka does not say what topics it has") from error
    # A client learns how many partitions a topic has only once it has to do with one of them.
    first = TopicPartition(topic, 0)
    client.assign([first])
    with suppress(TimeoutError):
        async with asyncio.timeout(LOOKUP_SECONDS):
            await client.end_offsets([first])
    parts = [
        first._replace(partition=one) for one in sorted(client.partitions_for_topic(topic) or ())
    ]
    if not parts:
        raise KafkaUnavailable(f"{topic}: Kafka does not say what partitions it has")
    client.assign(parts)
    client.pause(*parts)
    return parts


async def _begin(client: AIOKafkaConsumer, at: TopicPartition, since_ms: int | None) -> Offset:
    """Have the client read from where the database may have forgotten; where the partition ends."""
    end = Offset((await client.end_offsets([at]))[at])
    if since_ms is None:
        first = (await client.beginning_offsets([at]))[at]
    else:
        found = (await client.offsets_for_times({at: max(0, since_ms - SLACK_MS)}))[at]
        first = end if found is None else found.offset
    client.seek(at, first)
    return end


async def read_up_to(
    client: AIOKafkaConsumer,
    at: TopicPartition,
    end: Offset,
    connection: Connection,
    looked: Looked,
    stop: asyncio.Event,
) -> None:
    """Read a partition up to where it ended; KafkaUnavailable where it goes no further for long."""
    client.resume(at)
    try:
        async with asyncio.timeout(LOOKUP_SECONDS) as patience:
            reached = await client.position(at)
            while reached < end and not stop.is_set():
                records = await client.getmany(at, timeout_ms=1000, max_records=PAGE)
                found = [told(record.value) for record in records.get(at, ())]
                before, reached = reached, await client.position(at)
                if reached > before:
                    # The log takes the time that it takes.
                    patience.reschedule(None)
                    await _compare(connection, looked, [one for one in found if one is not None])
                    patience.reschedule(asyncio.get_running_loop().time() + LOOKUP_SECONDS)
    except TimeoutError as error:
        raise KafkaUnavailable(f"{at.topic}/{at.partition}: Kafka gives nothing more") from error
    client.pause(at)


async def _compare(connection: Connection, looked: Looked, found: Sequence[Told]) -> None:
    by_fleet: dict[FleetName, list[Told]] = {}
    for one in found:
        by_fleet.setdefault(one.fleet, []).append(one)
    for name in sorted(by_fleet):
        fleet = await fleets.find(connection, name)
        recorded: Mapping[int, tuple[int, str]] = {}
        life = None
        if fleet is not None:
            life = await fleets.incarnation(connection, fleet)
            numbers = [one.number for one in by_fleet[name]]
            recorded = await outbox.recorded(connection, fleet, numbers)
        for one in by_fleet[name]:
            looked.add(one, recorded.get(one.number), life)


async def told_of_group(
    settings: Settings, parts: Iterable[tuple[str, int]]
) -> dict[tuple[str, int], Offset]:
    """Up to where the group was told that partitions were taken."""
    wanted = [TopicPartition(*part) for part in parts]
    if not wanted:
        return {}
    client = clients.group_reader(settings)
    found: dict[tuple[str, int], Offset] = {}
    async with clients.running(client):
        with clients.denials_named():
            try:
                for at in wanted:
                    async with asyncio.timeout(LOOKUP_SECONDS):
                        offset = await client.committed(at)
                    if offset is not None:
                        found[at.topic, at.partition] = Offset(offset)
            except TimeoutError as error:
                raise KafkaUnavailable("Kafka does not say what was taken") from error
    return found


def contradiction(fleet: Fleet, handed_on: HandedOn | None) -> Stop | None:
    """Why a fleet's decisions may not be handed on; None where nothing speaks against it."""
    if handed_on is None:
        return None
    if handed_on.other is not None:
        return Stop(
            "publisher",
            "log_forked",
            f"{decision_id(fleet, handed_on.other)} was handed on to Kafka with another content than"
            " the log has",
        )
    if handed_on.first_lost is not None:
        return Stop(
            "publisher",
            "log_rewound",
            f"{handed_on.lost} decisions were handed on to Kafka that are not in the log, from"
            f" {decision_id(fleet, handed_on.first_lost)} on; the database was restored to an earlier"
            " point",
        )
    return None
