"""The outbox against a real broker: everything, in order, at least once, by one publisher."""

import asyncio
import hashlib
import inspect
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from aiokafka import ConsumerRecord

from consumers import __main__ as consuming
from consumers import publisher
from consumers.local_kafka import topics
from consumers.settings import Settings
from ledger import errors
from ledger.cli import run as commands
from ledger.errors import LedgerError, LogUnavailable, SetupProblem, StaleEpoch, WrongPosition
from ledger.events.codec import accept
from ledger.log import database, decisions, fleets, leases, lines, outbox, quarantine
from ledger.log.database import connect, connected
from ledger.log.decisions import StoredDecision
from ledger.log.intake import Intake
from ledger.log.messages import Coordinates, Headers, Message
from ledger.log.quarantine import SetAside
from ledger.units import LEDGER_FLEET, DecisionNumber, FleetName, Position
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line
from tests.feeding import Stream, until
from tests.kafka import Kafka
from tests.postgres import Postgres

WEIGHTS = {"c1": 3, "c2": 2}


async def decided(database_url: str, numbers: range) -> None:
    connection = await connect(database_url, "ledger_writer")
    lines_ = [cluster_line(1), cluster_line(2)] + [
        workload_line(number, replicas=number, name=f"w{number % 5}", weights=WEIGHTS)
        for number in numbers
    ]
    await lines.ingest(connection, lines_)
    await connection.close()
    await decide_all(database_url)


@asynccontextmanager
async def publishing(
    settings: Settings, database_url: str, *, holder: str = "tests"
) -> AsyncIterator[asyncio.Task[None]]:
    stop = asyncio.Event()
    running = asyncio.create_task(publisher.run(settings, database_url, holder=holder, stop=stop))
    try:
        yield running
    finally:
        stop.set()
        with suppress(asyncio.CancelledError):
            await running


async def published(database_url: str) -> int:
    connection = await connect(database_url, "ledger_publisher")
    try:
        fleet = await fleets.find(connection, FleetName("test"))
        assert fleet is not None
        return await outbox.next_number(connection, fleet)
    finally:
        await connection.close()


async def until_handed_on(database_url: str, name: FleetName, next_: int) -> None:
    connection = await connect(database_url, "ledger_publisher")

    async def reached() -> bool:
        fleet = await fleets.find(connection, name)
        return fleet is not None and await outbox.next_number(connection, fleet) == next_

    try:
        await until(reached)
    finally:
        await connection.close()


@pytest.fixture
async def stream(kafka: Kafka) -> Stream:
    made = await Stream.create(kafka.bootstrap, partitions=3)
    for name in ("decisions", "deadletter"):
        await topics.create_topic(kafka.bootstrap, made.topic(name), partitions=3)
    return made


LITTLE = 20_000
"""More than a batch of small messages has, and less than a large one."""


@pytest.fixture
async def narrow(kafka: Kafka) -> Stream:
    """Topics that take no message over ``LITTLE``."""
    made = await Stream.create(kafka.bootstrap)
    for name in ("decisions", "deadletter"):
        await topics.create_topic(
            kafka.bootstrap, made.topic(name), config={"max.message.bytes": str(LITTLE)}
        )
    return made


async def decided_in_two_fleets(database_url: str) -> None:
    """Three decisions in ``alpha``, the second too large for a narrow topic, and one in ``beta``."""
    names = [f"c{number}" for number in range(300)]
    async with connected(database_url, "ledger_writer") as connection:
        await lines.ingest(
            connection,
            [
                *(cluster_line(number, fleet="alpha") for number in range(300)),
                workload_line(1, fleet="alpha", replicas=1, weights={"c1": 1}),
                workload_line(2, fleet="alpha", replicas=600, weights=dict.fromkeys(names, 1)),
                workload_line(3, fleet="alpha", replicas=1, weights={"c1": 1}),
                cluster_line(1, fleet="beta"),
                workload_line(1, fleet="beta", replicas=1, weights={"c1": 1}),
            ],
        )
    await decide_all(database_url)


def number(record: ConsumerRecord) -> int:
    found: int = json.loads(record.value)["data"]["number"]
    return found


async def test_every_decision_goes_out_with_the_bytes_its_digest_is_of(
    database_url: str, stream: Stream
) -> None:
    await decided(database_url, range(1, 40))

    async with publishing(stream.settings(), database_url):

        async def all_of_them() -> bool:
            return await published(database_url) == 39

        await until(all_of_them)

    records = await stream.records("decisions")
    assert sorted(map(number, records)) == list(range(39))
    for record in records:
        event = json.loads(record.value)
        data = record.value[record.value.index(b',"data":') + 8 : -1]
        assert event["digest"] == hashlib.sha256(b"\0" + data).hexdigest()
        assert event["id"] == f"test/1/{event['data']['number']}"
        assert record.key == f"test/{event['subject']}".encode()


async def test_decisions_about_a_subject_arrive_in_order(database_url: str, stream: Stream) -> None:
    await decided(database_url, range(1, 60))

    async with publishing(stream.settings(), database_url):

        async def all_of_them() -> bool:
            return await published(database_url) == 59

        await until(all_of_them)

    by_subject: dict[bytes, list[int]] = {}
    for record in await stream.records("decisions"):
        by_subject.setdefault(record.key, []).append(number(record))
    assert len(by_subject) == 5
    assert all(found == sorted(found) for found in by_subject.values())


async def test_a_second_publisher_goes_on_where_the_first_stopped(
    database_url: str, stream: Stream
) -> None:
    for numbers in (range(1, 10), range(10, 20)):
        await decided(database_url, numbers)
        wanted = numbers[-1]
        async with publishing(stream.settings(), database_url, holder=str(wanted)):

            async def all_of_them(wanted: int = wanted) -> bool:
                return await published(database_url) == wanted

            await until(all_of_them)

    assert sorted(map(number, await stream.records("decisions"))) == list(range(19))


async def test_a_replaced_publisher_does_not_move_the_cursor(database_url: str) -> None:
    await decided(database_url, range(1, 5))
    connection = await connect(database_url, "ledger_publisher")
    fleet = await fleets.find(connection, FleetName("test"))
    assert fleet is not None
    old = await leases.acquire(connection, fleet, "publish", holder="old")
    assert old is not None
    await leases.let_go(connection, old)
    new = await leases.acquire(connection, fleet, "publish", holder="new")
    assert new is not None

    with pytest.raises(StaleEpoch):
        await outbox.move(connection, old, before=0, after=4)
    await outbox.move(connection, new, before=0, after=3)
    with pytest.raises(WrongPosition):
        await outbox.move(connection, new, before=0, after=4)

    assert await published(database_url) == 3
    await connection.close()


async def test_a_record_too_large_for_a_topic_is_announced(database_url: str) -> None:
    await decided(database_url, range(1, 2))
    connection = await connect(database_url, "ledger_publisher")
    fleet = await fleets.find(connection, FleetName("test"))
    assert fleet is not None
    (page,) = [page async for page in decisions.pages(connection, fleet)]
    await connection.close()
    large = StoredDecision(
        DecisionNumber(0), Position(2), page[0].record + b" " * publisher.LARGEST_RECORD, b"\1" * 32
    )

    sent = publisher.parcel(large, publisher.head(FleetName("test"), page[0]))
    event = json.loads(sent.whole.value or b"")

    assert sent.whole == sent.announced
    assert event["data"] == {"address": "test/1/0", "bytes": len(large.record)}
    assert event["digest"] == "01" * 32


def refused(offset: int, key: bytes | None, value: bytes | None, headers: Headers = ()) -> Message:
    verdict = accept(value, headers=headers, families=lines.FAMILIES, fleet=None)
    return Message(Coordinates("kafka", "cluster", 0, offset), verdict, key, value, headers)


async def set_aside(database_url: str, *messages: Message) -> None:
    connection = await connect(database_url, "ledger_writer")
    taken = await Intake(connection, create_fleets=False).take(messages)
    assert taken.quarantined == len(messages)
    await connection.close()


async def test_what_was_refused_goes_out_as_it_was_received(
    database_url: str, stream: Stream
) -> None:
    own: Headers = (("trace", b"7"), ("empty", None))
    await set_aside(
        database_url,
        refused(4, b"alpha", b"\xff{", own),
        refused(5, None, b"second"),
        refused(6, b"alpha", None),
        refused(7, None, None),
    )

    async with publishing(stream.settings(), database_url):
        await until_handed_on(database_url, LEDGER_FLEET, 4)
        await set_aside(database_url, refused(8, b"later", b"third"))
        await until_handed_on(database_url, LEDGER_FLEET, 5)

    records = {
        dict(record.headers)["ledger-address"]: record
        for record in await stream.records("deadletter")
    }
    assert {place: (record.key, record.value) for place, record in records.items()} == {
        b"cluster/0@4": (b"alpha", b"\xff{"),
        b"cluster/0@5": (None, b"second"),
        b"cluster/0@6": (b"alpha", None),
        b"cluster/0@7": (None, b""),
        b"cluster/0@8": (b"later", b"third"),
    }
    first = records[b"cluster/0@4"].headers
    assert first[:2] == own
    assert [name for name, _ in first[2:]] == ["ledger-reason", "ledger-address", "ledger-detail"]
    connection = await connect(database_url, "ledger_publisher")
    (row, *_) = await quarantine.page(connection, first=Position(0))
    await connection.close()
    assert dict(first)["ledger-reason"] == row.reason.encode()
    assert dict(first)["ledger-detail"] == row.detail.encode()


async def test_a_page_of_refused_messages_is_bounded_by_bytes_and_number(database_url: str) -> None:
    await set_aside(database_url, *(refused(n, None, b"x" * 1000) for n in range(7)))
    connection = await connect(database_url, "ledger_publisher")

    async def positions(first: int, **limits: int) -> list[int]:
        page = await quarantine.page(connection, first=Position(first), **limits)
        return [row.position for row in page]

    assert await positions(0) == list(range(7))
    assert await positions(2, limit=3) == [2, 3, 4]
    assert await positions(2, bytes_=2500) == [2, 3]
    assert await positions(2, bytes_=1) == [2]
    assert await positions(7) == []
    await connection.close()


def test_a_refused_message_too_large_for_a_topic_is_announced() -> None:
    found = SetAside(
        Position(0), "file@1", "too_large", "why", None, b"k", b"x" * publisher.LARGEST_LETTER, ()
    )

    sent = publisher.letter(found).whole

    assert (sent.key, sent.value) == (None, b"")
    assert dict(sent.headers) == {
        "ledger-reason": b"too_large",
        "ledger-address": b"file@1",
        "ledger-detail": b"why",
        "ledger-bytes": str(publisher.LARGEST_LETTER + 1).encode(),
    }


def test_a_page_of_decisions_is_bounded_by_bytes() -> None:
    record = b"x" * (publisher.PAGE_BYTES // 2)
    page = [StoredDecision(DecisionNumber(n), Position(n), record, b"") for n in range(3)]
    alone = StoredDecision(DecisionNumber(0), Position(0), record * 3, b"")

    assert publisher.within(page) == page[:2]
    assert publisher.within([alone, *page]) == [alone]
    assert publisher.within([]) == []


async def test_a_decision_that_kafka_finds_too_large_is_announced_and_holds_up_nobody(
    database_url: str, narrow: Stream
) -> None:
    await decided_in_two_fleets(database_url)

    async with publishing(narrow.settings(), database_url):
        await until_handed_on(database_url, FleetName("beta"), 1)
        await until_handed_on(database_url, FleetName("alpha"), 3)

    said = [json.loads(record.value) for record in await narrow.records("decisions")]
    first_met = dict.fromkeys(event["id"] for event in said if event["fleet"] == "alpha")
    assert list(first_met) == ["alpha/1/0", "alpha/1/1", "alpha/1/2"]
    assert "beta/1/0" in {event["id"] for event in said}
    announced = {event["id"]: event for event in said if "address" in event["data"]}
    assert set(announced) == {"alpha/1/1"}
    async with connected(database_url, "ledger_publisher") as connection:
        row = await connection.fetchrow(
            "SELECT d.record, d.digest FROM ledger.decisions d JOIN ledger.fleets f"
            " ON f.number = d.fleet WHERE f.name = 'alpha' AND d.number = 1"
        )
    assert row is not None
    assert announced["alpha/1/1"]["data"] == {"address": "alpha/1/1", "bytes": len(row["record"])}
    assert announced["alpha/1/1"]["digest"] == row["digest"].hex()


async def test_a_record_that_this_release_cannot_read_holds_up_its_own_fleet_only(
    database_url: str, stream: Stream
) -> None:
    await decided_in_two_fleets(database_url)
    async with connected(database_url, None) as owner:
        await owner.execute("ALTER TABLE ledger.decisions DISABLE TRIGGER ALL")
        await owner.execute(
            "UPDATE ledger.decisions SET record = convert_to("
            """replace(convert_from(record, 'UTF8'), '"record":1', '"record":2'), 'UTF8')"""
            " WHERE number = 1"
        )

    async with publishing(stream.settings(), database_url) as running:
        await until_handed_on(database_url, FleetName("beta"), 1)
        await until_handed_on(database_url, FleetName("alpha"), 1)
        assert not running.done()

    assert len(await stream.records("decisions")) == 2


async def test_a_fleet_that_cannot_be_published_holds_up_no_dead_letters(
    database_url: str, stream: Stream, kafka: Kafka
) -> None:
    await topics.delete_topic(kafka.bootstrap, stream.topic("decisions"))
    await topics.create_topic(
        kafka.bootstrap,
        stream.topic("decisions"),
        partitions=stream.partitions,
        config={"max.message.bytes": "80"},
    )
    await decided_in_two_fleets(database_url)
    await set_aside(database_url, refused(4, b"alpha", b"{"))

    async with publishing(stream.settings(), database_url) as running:
        await until_handed_on(database_url, LEDGER_FLEET, 1)
        assert not running.done()

    assert await stream.records("decisions") == []


async def test_a_refused_message_that_kafka_finds_too_large_is_announced(
    database_url: str, narrow: Stream
) -> None:
    values = [b"first", b"x" * 2 * LITTLE, b"third"]
    await set_aside(database_url, *(refused(n, b"k", value) for n, value in enumerate(values)))

    async with publishing(narrow.settings(), database_url):
        await until_handed_on(database_url, LEDGER_FLEET, 3)

    records = {
        dict(record.headers)["ledger-address"]: record
        for record in await narrow.records("deadletter")
    }
    assert {place: record.value for place, record in records.items()} == {
        b"cluster/0@0": b"first",
        b"cluster/0@1": b"",
        b"cluster/0@2": b"third",
    }
    headers = dict(records[b"cluster/0@1"].headers)
    assert headers["ledger-reason"] == b"not_a_cloudevent"
    assert headers["ledger-bytes"] == str(2 * LITTLE + 1).encode()


def parcel(name: str, size: int, *, key: bytes = b"subject") -> publisher.Parcel:
    return publisher.Parcel(
        name,
        publisher.Outgoing(key, name.encode().ljust(size, b"."), ()),
        publisher.Outgoing(key, f"announced {name}".encode(), ()),
    )


async def test_nothing_slips_in_front_of_what_was_refused(narrow: Stream) -> None:
    post = publisher.Post(narrow.settings())
    topic = narrow.topic("decisions")
    parcels = [parcel("one", 2 * LITTLE), parcel("two", 10), parcel("three", 10)]

    while parcels:
        parcels = parcels[await post.hand_on(topic, parcels) :]
    await post.close()

    values = [record.value.rstrip(b".") for record in await narrow.records("decisions")]
    assert values == [b"announced one", b"two", b"three"]


async def test_what_a_topic_refused_is_not_tried_again_and_again(narrow: Stream) -> None:
    post = publisher.Post(narrow.settings())
    topic = narrow.topic("decisions")
    large = [parcel(f"large {number}", 2 * LITTLE) for number in range(5)]

    taken = [await post.hand_on(topic, large), await post.hand_on(topic, large[1:])]
    await post.close()

    assert taken == [1, 4]
    assert len(await narrow.records("decisions")) == 5


async def test_the_largest_letter_is_one_that_a_topic_takes(
    database_url: str, stream: Stream
) -> None:
    def of(size: int) -> SetAside:
        return SetAside(Position(0), "a", "r", "d", None, b"k", b"x" * size, ())

    room = publisher.LARGEST_LETTER - publisher.letter(of(0)).whole.size
    largest = next(
        size for size in range(room, 0, -1) if publisher.letter(of(size)).whole.value != b""
    )
    post = publisher.Post(stream.settings())

    await post.hand_on(stream.topic("deadletter"), [publisher.letter(of(largest))])
    await post.close()

    (record,) = await stream.records("deadletter")
    assert len(record.value) == largest > publisher.LARGEST_LETTER - 200


def test_every_header_of_a_refused_message_is_counted() -> None:
    """Each header costs two bytes more than its name and its content."""
    headers: Headers = tuple((f"h{number:05}", b"abc") for number in range(95_316))
    found = SetAside(Position(0), "file@1", "not_json", "why", None, b"k", b"v", headers)

    sent = publisher.letter(found)

    assert publisher.Outgoing(b"k", b"v", headers).size < publisher.LARGEST_LETTER
    assert sent.whole == sent.announced
    assert dict(sent.announced.headers)["ledger-address"] == b"file@1"


def test_an_announcement_is_small_whatever_was_refused() -> None:
    found = SetAside(
        Position(0), "file@1", "not_json", "why " * 10_000, None, b"k" * 10_000, b"v", ()
    )

    announced = publisher.letter(found).announced

    assert announced.size < 2_000
    assert dict(announced.headers)["ledger-reason"] == b"not_json"
    assert b"why why" in (dict(announced.headers)["ledger-detail"] or b"")


def ended_with(database_url: str, *words: str, **environment: str) -> int:
    return subprocess.run(
        [sys.executable, "-m", *words],
        env=os.environ | {"LEDGER_DATABASE_URL": database_url} | environment,
        capture_output=True,
        timeout=60,
        check=False,
    ).returncode


@pytest.mark.parametrize("duty", ["consume", "publish"])
def test_both_ways_to_start_a_process_say_that_a_setting_is_wrong(
    database_url: str, duty: str
) -> None:
    for program in ("consumers", "ledger.cli.main"):
        assert ended_with(database_url, program, duty, LEDGER_KAFKA_BATCH="0") == 78


async def test_both_ways_to_start_a_process_say_that_the_schema_is_missing(
    postgres: Postgres, kafka: Kafka
) -> None:
    for program in ("consumers", "ledger.cli.main"):
        code = await asyncio.to_thread(
            ended_with, postgres.url, program, "publish", LEDGER_KAFKA_BOOTSTRAP=kafka.bootstrap
        )
        assert code == 78


def test_every_error_has_one_exit_code() -> None:
    kinds = [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, LedgerError)
    ]
    assert len(kinds) > 5

    for kind in kinds:
        error = kind.__new__(kind)
        assert consuming.exit_code(error) == commands.exit_code(error), kind


def test_settings_that_are_wrong_are_named_in_one_line() -> None:
    with pytest.raises(SetupProblem) as refused:
        Settings(kafka_batch=0, kafka_session_ms="soon")

    said = str(refused.value)
    assert "LEDGER_KAFKA_BATCH: " in said
    assert "LEDGER_KAFKA_SESSION_MS: " in said
    assert "\n" not in said


async def test_a_second_connection_that_fails_leaves_no_first_one_open(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[database.Connection] = []

    async def connect_once(url: str, role: database.Role | None) -> database.Connection:
        if opened:
            stop.set()
            raise LogUnavailable("no more connections")
        opened.append(await connect(url, role))
        return opened[0]

    stop = asyncio.Event()
    monkeypatch.setattr(database, "connect", connect_once)

    await publisher.run(Settings(), database_url, holder="tests", stop=stop)

    assert opened[0].is_closed()
