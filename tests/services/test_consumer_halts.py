"""When a partition stands still, what becomes of it, and what does not stop it."""

from collections.abc import AsyncIterator, Callable

import asyncpg
import pytest
import pytest_asyncio
from aiokafka import codec
from aiokafka.producer import message_accumulator
from aiokafka.record.util import calc_crc32c

from consumers.local_kafka import topics
from ledger.errors import LedgerStopped
from ledger.log import receipts
from ledger.log.database import connect
from ledger.units import FleetName, Offset
from tests.engine.deciding import decide_all
from tests.feeding import FLEET, Log, Stream, fed, feeding, looking, nodes
from tests.kafka import Kafka


@pytest_asyncio.fixture
async def stream(kafka: Kafka) -> Stream:
    return await Stream.create(kafka.bootstrap, partitions=2)


@pytest_asyncio.fixture
async def log(database_url: str) -> AsyncIterator[Log]:
    async with looking(database_url) as look:
        yield look


@pytest_asyncio.fixture
async def person(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """Somebody with the rights of a writer, who has looked."""
    connection = await connect(database_url, "ledger_writer")
    yield connection
    await connection.close()


async def test_a_topic_that_was_made_anew_is_recognised_by_the_record_before(
    stream: Stream, database_url: str, log: Log
) -> None:
    await stream.send(nodes(0, 50))
    await fed(stream, database_url, 50)

    await _make_anew(stream, nodes(500, 60))
    async with feeding(stream.settings(), database_url) as running:
        await running.until(lambda totals: totals.halted == 1)
        totals = await running.end()

    assert (totals.appended, totals.proven) == (0, 0)
    assert await _standing(log, stream) == (True, "topic_recreated")
    assert await log.size() == 50
    assert "topic_recreated" in await log.incidents()


async def test_a_topic_that_ends_before_what_was_taken_stops(
    stream: Stream, database_url: str, log: Log
) -> None:
    await stream.send(nodes(0, 50))
    await fed(stream, database_url, 50)

    await _make_anew(stream, nodes(500, 10))
    async with feeding(stream.settings(), database_url) as running:
        await running.until(lambda totals: totals.halted == 1)

    assert await _standing(log, stream) == (True, "offset_regression")
    assert await log.size() == 50


async def test_a_topic_that_is_made_anew_under_our_eyes_stops_too(
    stream: Stream, database_url: str, log: Log
) -> None:
    async with feeding(stream.settings(), database_url) as running:
        await stream.send(nodes(0, 50))
        await running.until(lambda totals: totals.records == 50)

        await _make_anew(stream, nodes(500, 10))
        await running.until(lambda totals: totals.halted == 1, seconds=60)

    assert await log.size() == 50


async def test_a_topic_that_is_made_anew_while_it_waits_for_a_decider_stops_when_it_goes_on(
    stream: Stream, database_url: str, log: Log
) -> None:
    async with feeding(stream.settings(undecided_limit=20), database_url) as running:
        await stream.send(nodes(0, 50))
        await running.until(lambda totals: totals.records == 50 and totals.held == 1)

        # Past the old place: by its offsets alone it would be the same.
        await _make_anew(stream, nodes(500, 80))
        await decide_all(database_url)
        await running.until(lambda totals: totals.halted == 1, seconds=60)

    assert await _standing(log, stream) == (True, "topic_recreated")
    assert await log.size() == 50


async def test_after_a_person_said_where_it_goes_on_it_does_and_the_receipts_show_the_jump(
    stream: Stream, database_url: str, log: Log, person: asyncpg.Connection
) -> None:
    await stream.send(nodes(0, 50))
    await fed(stream, database_url, 50)
    await _make_anew(stream, nodes(500, 10))
    await _halted(stream, database_url)

    await receipts.resume(
        person, stream.topic("cluster"), 0, at=Offset(0), why="made anew", by="anna"
    )
    totals = await fed(stream, database_url, 10)
    again = await fed(stream, database_url, 0)

    assert (totals.appended, totals.halted) == (10, 0)
    assert again.halted == 0
    assert await log.size() == 60
    assert await log.receipts(stream.topic("cluster")) == [
        (0, 50, 50, 0, 0),
        (50, 0, 0, 0, 0),
        (0, 10, 10, 0, 0),
    ]
    assert await log.rows(
        "SELECT number, resumed_by FROM ledger.receipts WHERE resumed_by IS NOT NULL"
    ) == [(1, "anna")]
    assert "partition_resumed" in await log.incidents()


async def test_resumed_at_a_place_that_is_not_there_it_halts_again(
    stream: Stream, database_url: str, log: Log, person: asyncpg.Connection
) -> None:
    await stream.send(nodes(0, 50))
    await fed(stream, database_url, 50)
    await _make_anew(stream, nodes(500, 10))
    await _halted(stream, database_url)

    await receipts.resume(person, stream.topic("cluster"), 0, at=Offset(11), why="guess", by="anna")
    await _halted(stream, database_url)

    assert await _standing(log, stream) == (True, "offset_regression")
    with pytest.raises(LedgerStopped, match="not halted"):
        await receipts.resume(person, stream.topic("cluster"), 1, at=None, why="?", by="anna")


async def test_a_consumer_that_runs_notices_that_its_partition_was_resumed(
    stream: Stream, database_url: str, log: Log, person: asyncpg.Connection
) -> None:
    await stream.send(nodes(0, 20))
    await fed(stream, database_url, 20)
    await stream.send(nodes(20, 30))
    await topics.delete_records(
        stream.bootstrap, stream.topic("cluster"), partition=0, before=Offset(40)
    )

    async with feeding(stream.settings(), database_url) as running:
        await running.until(lambda totals: totals.halted == 1)
        # What stands still is one partition: the others go on.
        await stream.send(nodes(900, 5, fleet="beta"), partition=1, key=b"beta")
        await running.until(lambda totals: totals.records == 5)

        await receipts.resume(
            person, stream.topic("cluster"), 0, at=Offset(40), why="lost", by="anna"
        )
        await running.until(lambda totals: totals.records == 15)

    assert await log.size() == 30
    assert (await log.receipts(stream.topic("cluster")))[-1] == (40, 50, 10, 0, 0)


async def test_retention_that_took_the_proof_but_nothing_else_is_recorded_once_and_stops_nothing(
    stream: Stream, database_url: str, log: Log
) -> None:
    await stream.send(nodes(0, 30))
    await fed(stream, database_url, 30)
    await topics.delete_records(
        stream.bootstrap, stream.topic("cluster"), partition=0, before=Offset(30)
    )

    for _ in range(2):
        async with feeding(stream.settings(), database_url) as running:
            await running.until(lambda totals: totals.adopted == 10)
            totals = await running.end()
            assert totals.halted == 0
    await stream.send(nodes(30, 5))
    totals = await fed(stream, database_url, 5)

    assert totals.appended == 5
    assert (await log.incidents()).count("proof_expired") == 1


async def test_a_fleet_that_comes_by_another_partition_waits_until_the_move_is_confirmed(
    stream: Stream, database_url: str, log: Log, person: asyncpg.Connection
) -> None:
    topic = stream.topic("cluster")
    await stream.send(nodes(0, 10))
    await fed(stream, database_url, 10)
    await stream.send(nodes(10, 10), partition=1)
    await _halted(stream, database_url)
    assert await _standing(log, stream, 1) == (True, "partition_moved")

    # Without a confirmation it is as before.
    await receipts.resume(person, topic, 1, at=None, why="try", by="anna")
    await _halted(stream, database_url)
    assert await log.size() == 10

    await receipts.confirm(person, FleetName(FLEET), topic, 1, by="anna")
    await receipts.resume(person, topic, 1, at=None, why="enlarged", by="anna")
    totals = await fed(stream, database_url, 10)

    assert (totals.appended, totals.halted) == (10, 0)
    assert await log.size() == 20
    assert await log.receipts(topic, 1) == [(0, 10, 10, 0, 0)]


async def test_a_record_that_no_client_can_read_stops_its_partition_and_no_other(
    stream: Stream,
    database_url: str,
    log: Log,
    person: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await stream.send(nodes(0, 25))
    with monkeypatch.context() as patched:
        patched.setattr(message_accumulator.BatchBuilder, "_build", _with_a_bad_header_name())
        await stream.send(nodes(25, 1), headers=[("spoiled-name", b"x")])
    await stream.send(nodes(26, 25))
    await stream.send(nodes(100, 40, fleet="beta"), partition=1, key=b"beta")

    async with feeding(stream.settings(), database_url) as running:
        await running.until(lambda totals: totals.halted == 1 and totals.records == 65)
    assert await _standing(log, stream) == (True, "unreadable_record")
    ((detail,),) = await log.rows("SELECT detail FROM ledger.partition_halts")
    assert "nothing can be read at 25" in detail
    assert await log.size() == 25

    await receipts.resume(
        person, stream.topic("cluster"), 0, at=Offset(26), why="looked at", by="anna"
    )
    totals = await fed(stream, database_url, 25)

    assert (totals.appended, totals.halted) == (25, 0)
    assert await log.size() == 50


async def test_a_compression_that_is_not_installed_stops_its_partition_until_it_is(
    stream: Stream,
    database_url: str,
    log: Log,
    person: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await stream.send(nodes(0, 25), compression="gzip")
    await stream.send(nodes(25, 25), compression="zstd")
    await stream.send(nodes(100, 40, fleet="beta"), partition=1, key=b"beta")

    with monkeypatch.context() as patched:
        patched.setattr(codec, "has_zstd", lambda: False)
        async with feeding(stream.settings(), database_url) as running:
            await running.until(lambda totals: totals.halted == 1 and totals.records == 65)
    assert await _standing(log, stream) == (True, "unreadable_record")
    ((detail,),) = await log.rows("SELECT detail FROM ledger.partition_halts")
    assert "nothing can be read at 25" in detail
    assert "install the extra `compression`" in detail

    await receipts.resume(person, stream.topic("cluster"), 0, at=None, why="installed", by="anna")
    totals = await fed(stream, database_url, 25)

    assert (totals.appended, totals.halted) == (25, 0)
    assert await log.size() == 50


async def test_a_stopped_partition_stays_stopped_for_whoever_takes_it_over(
    stream: Stream, database_url: str, log: Log
) -> None:
    await stream.send(nodes(0, 10))
    await fed(stream, database_url, 10)
    await _make_anew(stream, nodes(500, 20))
    await _halted(stream, database_url)

    async with feeding(stream.settings(), database_url) as running:
        await running.until(lambda totals: totals.adopted == 10)
        await stream.send(nodes(600, 10))
        await stream.send(nodes(900, 5, fleet="beta"), partition=1, key=b"beta")
        await running.until(lambda totals: totals.records == 5)
        totals = await running.end()

    assert totals.halted == 0
    assert await log.size() == 10
    assert (await log.incidents()).count("topic_recreated") == 1


async def _make_anew(stream: Stream, values: list[bytes]) -> None:
    await topics.delete_topic(stream.bootstrap, stream.topic("cluster"))
    await topics.create_topic(
        stream.bootstrap, stream.topic("cluster"), partitions=stream.partitions
    )
    await stream.send(values)


async def _halted(stream: Stream, database_url: str) -> None:
    async with feeding(stream.settings(), database_url) as running:
        await running.until(lambda totals: totals.halted == 1)


async def _standing(log: Log, stream: Stream, partition: int = 0) -> tuple[bool, str]:
    rows = await log.rows(
        "SELECT halted, reason FROM ledger.partition_halts WHERE topic = $1 AND partition = $2"
        " ORDER BY number DESC LIMIT 1",
        stream.topic("cluster"),
        partition,
    )
    ((halted, reason),) = rows
    return halted, reason


def _with_a_bad_header_name() -> Callable[[object], bytearray]:
    """What a producer might send that does not care for UTF-8; Kafka takes it as it is."""
    build = message_accumulator.BatchBuilder._build

    def spoiled(builder: object) -> bytearray:
        batch = bytearray(build(builder))
        at = batch.index(b"spoiled-name")
        batch[at] = 0xFF
        # The checksum covers everything behind itself.
        batch[17:21] = calc_crc32c(batch[21:]).to_bytes(4, "big")
        return batch

    return spoiled
