"""The outcome table of ingest, row by row, with a real broker and a real Postgres.

Each test is one row: what the log had taken, what Kafka then held, and what became of it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
import pytest_asyncio
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CommitFailedError
from aiokafka.structs import OffsetAndMetadata

from consumers import cluster
from consumers.judging import judge
from consumers.local_kafka import topics
from ledger.errors import StaleEpoch
from ledger.log.door import Door
from ledger.log.messages import Message, read_headers
from ledger.units import Offset
from tests.feeding import FLEET, Log, Stream, fed, feeding, looking, node, nodes
from tests.kafka import Kafka


@pytest_asyncio.fixture
async def stream(kafka: Kafka) -> Stream:
    return await Stream.create(kafka.bootstrap, partitions=2)


@pytest_asyncio.fixture
async def log(database_url: str) -> AsyncIterator[Log]:
    async with looking(database_url) as look:
        yield look


async def test_a_batch_continues_where_the_last_receipt_ended(
    stream: Stream, database_url: str, log: Log
) -> None:
    await stream.send(nodes(0, 100))
    await fed(stream, database_url, 100)

    await stream.send(nodes(100, 50))
    totals = await fed(stream, database_url, 50)

    assert (totals.appended, totals.proven) == (50, 1)
    assert await _taken(log, stream) == 150
    assert await log.size() == 150


async def test_a_batch_that_was_committed_already_changes_nothing(
    stream: Stream, database_url: str, log: Log
) -> None:
    await stream.send(nodes(0, 150))
    await fed(stream, database_url, 150)
    before = await log.receipts(stream.topic("cluster"))

    async with _door(database_url) as door:
        adopted = await door.adopt(stream.topic("cluster"), 0)
        taken = await door.take(
            await _messages(stream, 100, 150), adopted.claim, timestamp=0, after=None
        )

    assert (taken.appended, taken.duplicates, taken.redelivered) == (0, 0, 50)
    assert await log.receipts(stream.topic("cluster")) == before


async def test_a_restarted_consumer_reads_on_where_the_log_ends_and_not_where_kafka_says(
    stream: Stream, database_url: str, log: Log
) -> None:
    await stream.send(nodes(0, 150))
    await fed(stream, database_url, 150)
    await _commit_to_broker(stream, 100)

    async with feeding(stream.settings(), database_url) as running:
        await running.until(lambda totals: totals.proven == 1)
        await stream.send(nodes(150, 1))
        await running.until(lambda totals: totals.records == 1)
        totals = await running.end()

    assert (totals.appended, totals.redelivered) == (1, 0)
    assert await _taken(log, stream) == 151


async def test_of_a_batch_that_overlaps_only_the_rest_is_appended(
    stream: Stream, database_url: str, log: Log
) -> None:
    await stream.send(nodes(0, 120))
    await fed(stream, database_url, 120)
    await stream.send(nodes(120, 30))

    async with _door(database_url) as door:
        adopted = await door.adopt(stream.topic("cluster"), 0)
        taken = await door.take(
            await _messages(stream, 100, 150), adopted.claim, timestamp=0, after=Offset(120)
        )

    assert (taken.appended, taken.redelivered) == (30, 20)
    assert (await log.receipts(stream.topic("cluster")))[-1] == (120, 150, 30, 0, 0)
    assert await log.size() == 150


async def test_offsets_may_jump_over_what_no_reader_sees(
    stream: Stream, database_url: str, log: Log
) -> None:
    await stream.send(nodes(0, 100))
    await fed(stream, database_url, 100)
    await stream.abort(4)

    await stream.send(nodes(100, 10))
    totals = await fed(stream, database_url, 10)

    # Four aborted records and the marker that aborted them: the receipts show the jump.
    assert (await log.receipts(stream.topic("cluster")))[-1] == (105, 115, 10, 0, 0)
    assert totals.halted == 0
    assert set(await log.incidents()) == {"partition_adopted"}
    assert await log.size() == 110


async def test_retention_that_overtook_us_stops_the_partition(
    stream: Stream, database_url: str, log: Log
) -> None:
    await stream.send(nodes(0, 100))
    await fed(stream, database_url, 100)
    await stream.send(nodes(100, 200))
    await topics.delete_records(
        stream.bootstrap, stream.topic("cluster"), partition=0, before=Offset(200)
    )

    async with feeding(stream.settings(), database_url) as running:
        await running.until(lambda totals: totals.halted == 1)
        totals = await running.end()

    assert totals.appended == 0
    assert await log.size() == 100
    assert await _taken(log, stream) == 100
    assert "retention_overrun" in await log.incidents()
    ((halted, reason, detail),) = await log.rows(
        "SELECT halted, reason, detail FROM ledger.partition_halts"
    )
    assert (halted, reason) == (True, "retention_overrun")
    assert "100 offsets are gone" in detail


async def test_an_owner_that_was_replaced_is_refused_by_the_database(
    stream: Stream, database_url: str, log: Log
) -> None:
    await stream.send(nodes(0, 10))
    messages = await _messages(stream, 0, 10)

    async with _door(database_url) as old, _door(database_url) as new:
        before = await old.adopt(stream.topic("cluster"), 0)
        await new.adopt(stream.topic("cluster"), 0)

        with pytest.raises(StaleEpoch, match="epoch 1 was replaced by 2"):
            await old.take(messages, before.claim, timestamp=0, after=None)

    assert await log.size() == 0
    assert await log.receipts(stream.topic("cluster")) == []


async def test_the_same_event_by_another_partition_is_a_duplicate(
    stream: Stream, database_url: str, log: Log
) -> None:
    # Without a key the partition is the producer's choice; the fleet has to be let in by both.
    await stream.send(nodes(0, 1))
    await fed(stream, database_url, 1)
    await log.value(
        "INSERT INTO ledger.partition_pins (fleet, topic, partition, confirmed_by)"
        " VALUES ($1, $2, 1, 'test')",
        FLEET,
        stream.topic("cluster"),
    )

    await stream.send(nodes(0, 1), partition=1, key=None)
    totals = await fed(stream, database_url, 1)

    assert (totals.appended, totals.duplicates) == (0, 1)
    assert await log.receipts(stream.topic("cluster"), 1) == [(0, 1, 0, 1, 0)]
    assert await log.size() == 1


async def test_the_same_identity_with_other_content_is_a_conflict(
    stream: Stream, database_url: str, log: Log
) -> None:
    first, second = orjson.dumps(node(7, cpu="32")), orjson.dumps(node(7, cpu="64"))
    await stream.send([first, second])

    totals = await fed(stream, database_url, 2)

    assert (totals.appended, totals.conflicts, totals.quarantined) == (1, 1, 1)
    assert await log.rows("SELECT payload FROM ledger.events WHERE id = 'node-7'") == [(first,)]
    ((reason, detail, value, address),) = await log.rows(
        "SELECT reason, detail, value, address FROM ledger.quarantine"
    )
    assert (reason, value) == ("identity_conflict", second)
    assert address == f"{stream.topic('cluster')}/0@1"
    ((digest,),) = await log.rows(
        "SELECT encode(i.digest, 'hex') FROM ledger.event_identity i"
        " JOIN ledger.fleets f ON f.number = i.fleet WHERE f.name = $1",
        FLEET,
    )
    assert digest in detail
    assert detail.count("digest") == 1
    assert await _taken(log, stream) == 2


async def test_what_cannot_be_read_is_kept_whole_in_the_same_transaction(
    stream: Stream, database_url: str, log: Log
) -> None:
    unreadable = b'{"specversion": \xff\x00'
    await stream.send([unreadable, *nodes(0, 1)])

    totals = await fed(stream, database_url, 2)

    assert (totals.appended, totals.quarantined) == (1, 1)
    ((address, topic, partition, offset, value, reason, key),) = await log.rows(
        "SELECT address, topic, partition, coordinate, value, reason, key FROM ledger.quarantine"
    )
    assert (topic, partition, offset) == (stream.topic("cluster"), 0, 0)
    assert (value, reason, key) == (unreadable, "not_utf8", FLEET.encode())
    ((subject, xmin),) = await log.rows(
        "SELECT subject, xmin::text FROM ledger.events"
        " WHERE type = 'ledger.quarantine.message.quarantined.v1'"
    )
    assert subject == address
    assert await log.rows("SELECT DISTINCT xmin::text FROM ledger.receipts") == [(xmin,)]
    assert await log.receipts(stream.topic("cluster")) == [(0, 2, 1, 0, 1)]


async def test_a_tombstone_is_a_message_without_data(
    stream: Stream, database_url: str, log: Log
) -> None:
    event = node(1)
    attributes = [(f"ce_{name}", value.encode()) for name, value in event.items() if name != "data"]
    await stream.send([None], headers=attributes)
    await stream.send([orjson.dumps(event["data"])], headers=attributes)

    totals = await fed(stream, database_url, 2)

    assert (totals.appended, totals.quarantined) == (1, 1)
    assert await log.rows("SELECT reason, value, source, id FROM ledger.quarantine") == [
        ("no_data", None, event["source"], event["id"])
    ]
    assert await _taken(log, stream) == 2


async def test_a_refused_commit_to_the_broker_has_no_effect(
    stream: Stream, database_url: str, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = asyncio.Event()

    async def refuse(*_: object) -> None:
        refused.set()
        raise CommitFailedError

    monkeypatch.setattr(AIOKafkaConsumer, "commit", refuse)
    await stream.send(nodes(0, 20))
    totals = await fed(stream, database_url, 20)
    assert refused.is_set()
    assert totals.broker_commits == 0

    monkeypatch.undo()
    await stream.send(nodes(20, 5))
    totals = await fed(stream, database_url, 5)

    assert (totals.appended, totals.redelivered, totals.proven) == (5, 0, 1)
    assert await log.size() == 25


async def test_a_partition_nobody_ever_read_begins_at_its_beginning_and_that_is_recorded(
    stream: Stream, database_url: str, log: Log
) -> None:
    await stream.send(nodes(0, 30))
    await _commit_to_broker(stream, 25)

    await fed(stream, database_url, 30)

    assert await log.size() == 30
    assert set(await log.incidents()) == {"partition_adopted"}
    # Each partition of each topic, and each once however often it is taken over.
    await fed(stream, database_url, 0)
    assert len(await log.incidents()) == 2 * 5


@pytest.mark.parametrize(
    ("reason", "family", "key", "changed"),
    [
        ("wrong_topic", "quota", b"alpha", {}),
        ("wrong_topic", "control", b"alpha", {}),
        ("reserved_type", "cluster", b"alpha", {"type": "ledger.time.time.passed.v1"}),
        (
            "reserved_type",
            "control",
            b"alpha",
            {"type": "ledger.workload.admission.requested.v1"},
        ),
        ("wrong_fleet", "cluster", b"beta", {}),
        ("wrong_fleet", "cluster", b"_ledger", {"fleet": "_ledger"}),
        ("wrong_fleet", "cluster", b"\xff\xfe", {}),
        ("missing_attribute", "cluster", None, {"fleet": None}),
        ("unknown_type", "cluster", b"alpha", {"type": "ledger.cluster.comet.seen.v1"}),
        ("invalid_attribute", "cluster", b"alpha", {"subject": "east/n\x001"}),
    ],
)
async def test_what_may_not_stand_is_quarantined_by_name(
    stream: Stream,
    database_url: str,
    log: Log,
    reason: str,
    family: str,
    key: bytes | None,
    changed: dict[str, Any],
) -> None:
    value = orjson.dumps(node(1) | changed)
    await stream.send([value], family=family, key=key)

    totals = await fed(stream, database_url, 1)

    assert (totals.appended, totals.quarantined) == (0, 1)
    assert await log.rows("SELECT reason, value, key FROM ledger.quarantine") == [
        (reason, value, key)
    ]
    assert await log.receipts(stream.topic(family)) == [(0, 1, 0, 0, 1)]


async def test_an_unknown_fleet_is_quarantined_where_fleets_are_opened_by_people(
    stream: Stream, database_url: str, log: Log
) -> None:
    await stream.send(nodes(0, 2))

    totals = await fed(stream, database_url, 2, fleet_create="never")

    assert (totals.appended, totals.quarantined) == (0, 2)
    assert await log.rows("SELECT DISTINCT reason, fleet FROM ledger.quarantine") == [
        ("unknown_fleet", FLEET)
    ]


async def test_without_a_key_the_fleet_an_event_names_is_its_fleet(
    stream: Stream, database_url: str, log: Log
) -> None:
    await stream.send(nodes(0, 2), key=None)

    totals = await fed(stream, database_url, 2)

    assert totals.appended == 2
    assert await log.size() == 2


async def test_a_header_without_a_value_is_kept_as_that(
    stream: Stream, database_url: str, log: Log
) -> None:
    nothing: Any = None
    await stream.send([b"?"], headers=[("trace", nothing), ("empty", b"")])

    totals = await fed(stream, database_url, 1)

    assert totals.quarantined == 1
    ((headers,),) = await log.rows("SELECT headers FROM ledger.quarantine")
    assert read_headers(headers) == (("trace", None), ("empty", b""))


async def _taken(log: Log, stream: Stream) -> int:
    receipts = await log.receipts(stream.topic("cluster"))
    return receipts[-1][1]


async def _messages(stream: Stream, first: int, before: int) -> list[Message]:
    records = [r for r in await stream.records() if r.partition == 0]
    topic = cluster.TOPIC.under(stream.prefix)
    return await judge(topic, 0, [r for r in records if first <= r.offset < before])


@asynccontextmanager
async def _door(database_url: str) -> AsyncIterator[Door]:
    door = await Door.open(database_url, owner="test", create_fleets=True)
    try:
        yield door
    finally:
        await door.close()


async def _commit_to_broker(stream: Stream, offset: int) -> None:
    settings = stream.settings()
    consumer = AIOKafkaConsumer(
        bootstrap_servers=stream.bootstrap, group_id=settings.kafka_group, enable_auto_commit=False
    )
    await consumer.start()
    try:
        at = TopicPartition(stream.topic("cluster"), 0)
        consumer.assign([at])
        await consumer.commit({at: OffsetAndMetadata(offset, "")})
    finally:
        await consumer.stop()
