"""How a consumer gets on with others: slow deciders, clients that got stuck, those who end it."""

import asyncio
import json
import os
import signal
import struct
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest
import pytest_asyncio

from consumers.settings import Settings
from ledger.errors import KafkaUnavailable
from tests.feeding import FLEET, Log, Stream, fed, feeding, looking, node, nodes, until
from tests.kafka import Kafka, own_kafka

FETCH = 1
"""The number of the request by which a client asks for records."""


@pytest_asyncio.fixture
async def log(database_url: str) -> AsyncIterator[Log]:
    async with looking(database_url) as look:
        yield look


async def test_partitions_wait_while_the_decider_of_their_fleet_is_behind_and_no_other_does(
    kafka: Kafka, database_url: str, log: Log
) -> None:
    stream = await Stream.create(kafka.bootstrap, partitions=2)
    settings = stream.settings(undecided_limit=100, kafka_batch=20)
    await stream.send(nodes(0, 1000))

    async with feeding(settings, database_url) as running:
        await running.until(lambda totals: totals.held == 1)
        await stream.send(nodes(0, 90, fleet="beta"), partition=1, key=b"beta")
        await running.until(lambda totals: totals.records >= 90 + 100)
        undecided = await log.size()
        # What was judged already when the limit was met still goes in.
        assert 100 < undecided <= 100 + 3 * 20
        await asyncio.sleep(1)
        assert await log.size() == undecided

        while (size := await log.size()) < 1000:
            await _decide(log, through=size - 1)
            await until(lambda: _grew(log, size))
        totals = await running.end()

    assert totals.records == 1090
    assert await log.size() == 1000


async def test_asked_to_end_it_finishes_its_batch_and_leaves_the_group(
    kafka: Kafka, database_url: str, log: Log
) -> None:
    stream = await Stream.create(kafka.bootstrap)
    # Whoever did not leave would be waited for this long.
    settings = stream.settings(kafka_session_ms=60_000, kafka_batch=10)
    await stream.send(nodes(0, 3000))

    process = await _process(settings, database_url)
    await until(lambda: _grew(log, 50))
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == 0
    taken = (await log.receipts(stream.topic("cluster")))[-1][1]
    assert await log.size() == taken < 3000

    totals = await fed(stream, database_url, 3000 - taken, kafka_session_ms=60_000)
    assert (totals.appended, totals.duplicates, totals.redelivered) == (3000 - taken, 0, 0)
    assert await log.size() == 3000


async def test_a_client_without_progress_is_replaced(
    database_url: str, log: Log, tmp_path: Path
) -> None:
    async with _behind_a_valve(tmp_path) as (bootstrap, valve):
        stream = await Stream.create(bootstrap)
        settings = stream.settings(kafka_stall_seconds=1.5)
        await stream.send(nodes(0, 10))

        async with feeding(settings, database_url) as running:
            valve.closed = True
            await running.until(lambda totals: totals.stalled == 1, seconds=60)
            valve.closed = False
            await running.until(lambda totals: totals.records == 10, seconds=60)
            await running.end()

    assert await log.size() == 10


async def test_a_client_replaced_in_vain_ends_the_process(
    database_url: str, tmp_path: Path
) -> None:
    async with _behind_a_valve(tmp_path) as (bootstrap, valve):
        stream = await Stream.create(bootstrap)
        settings = stream.settings(kafka_stall_seconds=1)
        await stream.send(nodes(0, 10))
        valve.closed = True

        async with feeding(settings, database_url) as running:
            with pytest.raises(KafkaUnavailable, match="in vain"):
                await asyncio.wait_for(asyncio.shield(running.task), 90)
            assert running.totals.stalled == 2


async def test_a_quiet_partition_shows_its_last_record_again(
    kafka: Kafka, database_url: str
) -> None:
    stream = await Stream.create(kafka.bootstrap)
    await stream.send(nodes(0, 5))

    # A quarter of the time in which a client would count as stuck is quiet.
    async with feeding(stream.settings(kafka_stall_seconds=1), database_url) as running:
        await running.until(lambda totals: totals.proven >= 3)
        await stream.send(nodes(5, 5))
        await running.until(lambda totals: totals.records == 10)
        totals = await running.end()

    assert (totals.appended, totals.duplicates, totals.halted) == (10, 0, 0)
    assert totals.stalled == 0


async def test_both_modes_and_what_is_none_of_them_come_by_one_partition(
    kafka: Kafka, database_url: str, log: Log
) -> None:
    stream = await Stream.create(kafka.bootstrap)
    attributes = [
        (f"ce_{name}", value.encode()) for name, value in node(7).items() if name != "data"
    ]
    await stream.send([*nodes(0, 150), b"?", *nodes(150, 50)])
    await stream.send([orjson.dumps(node(7)["data"]), None], headers=attributes)

    totals = await fed(stream, database_url, 203, kafka_batch=100)

    assert (totals.appended, totals.duplicates, totals.quarantined) == (200, 1, 2)
    assert await log.rows("SELECT reason, value FROM ledger.quarantine ORDER BY reason") == [
        ("no_data", None),
        ("not_json", b"?"),
    ]
    assert await log.rows(
        "SELECT payload FROM ledger.events e JOIN ledger.fleets f ON f.number = e.fleet"
        " WHERE f.name = $1 ORDER BY position",
        FLEET,
    ) == [(value,) for value in nodes(0, 200)]


async def _grew(log: Log, size: int) -> bool:
    return await log.size() > size


async def _decide(log: Log, *, through: int) -> None:
    """Say that a decider has come so far."""
    await log.rows(
        "INSERT INTO ledger.decided (fleet, through, decisions, epoch)"
        " SELECT number, $2, 0, 1 FROM ledger.fleets WHERE name = $1",
        FLEET,
        through,
    )


async def _process(settings: Settings, database_url: str) -> asyncio.subprocess.Process:
    environment = os.environ | {
        "LEDGER_DATABASE_URL": database_url,
        "LEDGER_KAFKA_BOOTSTRAP": settings.kafka_bootstrap,
        "LEDGER_KAFKA_GROUP": settings.kafka_group,
        "LEDGER_KAFKA_TOPIC_PREFIX": settings.kafka_topic_prefix,
        "LEDGER_KAFKA_SESSION_MS": str(settings.kafka_session_ms),
        "LEDGER_KAFKA_BATCH": str(settings.kafka_batch),
        "LEDGER_FLEET_CREATE": "auto",
        "LEDGER_UNDECIDED_LIMIT": "0",
    }
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "consumers", env=environment, stderr=asyncio.subprocess.DEVNULL
    )


@dataclass(slots=True)
class Valve:
    """Lets everything through but, while closed, requests for records: those are never answered."""

    directory: Path
    closed: bool = False
    _writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Stand between one client and the broker."""
        layout = json.loads((self.directory / "cluster.json").read_text())
        try:
            answers, questions = await asyncio.open_connection(
                "127.0.0.1", layout["brokers"][0]["port"]
            )
        except OSError:
            writer.close()
            return
        self._writers += [writer, questions]
        passing = asyncio.create_task(self._pass_on(answers, writer))
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readexactly(4)
                body = await reader.readexactly(struct.unpack(">i", head)[0])
                if self.closed and struct.unpack(">h", body[:2])[0] == FETCH:
                    # From here on nothing is heard of this connection, which stays open.
                    await reader.read()
                    break
                questions.write(head + body)
                await questions.drain()
        questions.close()
        await passing

    async def _pass_on(self, answers: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await answers.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    def end(self) -> None:
        """Close every connection."""
        for writer in self._writers:
            writer.close()


@asynccontextmanager
async def _behind_a_valve(directory: Path) -> AsyncIterator[tuple[str, Valve]]:
    """A broker that everybody reaches through a valve."""
    valve = Valve(directory / "kafka")
    server = await asyncio.start_server(valve.serve, "127.0.0.1", 0)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        async with own_kafka(
            valve.directory, settings={"advertised.listeners": f"PLAINTEXT://{address}"}
        ):
            yield address, valve
    finally:
        server.close()
        valve.end()
