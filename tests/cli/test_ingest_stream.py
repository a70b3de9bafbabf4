"""``ledger ingest -`` on a pipe: what is there is written, and it goes when it is asked."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest
import pytest_asyncio

from ledger.log import lines
from ledger.log.database import connect
from tests.events_for_tests import cluster_line
from tests.feeding import until


@pytest_asyncio.fixture
async def writer(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await connect(database_url, "ledger_writer")
    yield connection
    await connection.close()


@asynccontextmanager
async def ledger(database_url: str, *words: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """The command as a process of its own, with a pipe for its standard input."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "ledger.cli.main",
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | {"LEDGER_DATABASE_URL": database_url, "LEDGER_FLEET_CREATE": "auto"},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def appended(writer: asyncpg.Connection) -> int:
    found: int = await writer.fetchval("SELECT count(*) FROM ledger_api.events")
    return found


async def until_appended(writer: asyncpg.Connection, count: int) -> None:
    async def there() -> bool:
        return await appended(writer) == count

    await until(there, seconds=20)


async def said(process: asyncio.subprocess.Process) -> dict[str, int]:
    assert process.stdout is not None
    async with asyncio.timeout(20):
        answer: dict[str, int] = json.loads(await process.stdout.read())
        assert await process.wait() == 0
    return answer


async def test_lines_of_a_quiet_producer_are_written_without_its_end(
    database_url: str, writer: asyncpg.Connection
) -> None:
    async with ledger(database_url, "ingest", "-", "--json") as process:
        assert process.stdin is not None
        process.stdin.write(cluster_line(1) + b"\n" + cluster_line(2) + b"\n" + b'{"half')
        await until_appended(writer, 2)
        process.stdin.write(b' a line"\n\n' + cluster_line(3))
        process.stdin.close()

        counts = await said(process)

    assert (counts["appended"], counts["quarantined"]) == (3, 1)
    address = await writer.fetchval("SELECT address FROM ledger_api.quarantine")
    assert address == "stdin@3"


@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGINT])
async def test_an_ingest_that_waits_for_lines_goes_when_asked(
    database_url: str, writer: asyncpg.Connection, asked: signal.Signals
) -> None:
    async with ledger(database_url, "ingest", "-", "--json") as process:
        assert process.stdin is not None
        process.stdin.write(cluster_line(1) + b"\n")
        await until_appended(writer, 1)

        process.send_signal(asked)
        counts = await said(process)

    assert counts["appended"] == 1


async def test_a_command_that_only_asks_is_cancelled_by_the_first_signal(
    database_url: str, writer: asyncpg.Connection
) -> None:
    async with ledger(database_url, "sql", "SELECT pg_sleep(600)") as process:

        async def asking() -> bool:
            found: int = await writer.fetchval(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE application_name = 'ledger reader' AND datname = current_database()"
            )
            return found > 0

        await until(asking, seconds=20)
        process.send_signal(signal.SIGTERM)

        async with asyncio.timeout(20):
            assert await process.wait() == 130


async def test_a_stopped_ingest_has_written_every_batch_it_began(
    writer: asyncpg.Connection,
) -> None:
    stop = asyncio.Event()
    file = [cluster_line(number) for number in range(100)]

    taken = await lines.ingest(writer, file, batch=10, on_batch=lambda _: stop.set(), stop=stop)

    assert 10 <= taken.appended < 100
    assert taken.appended % 10 == 0
    assert await appended(writer) == taken.appended


async def test_a_trickle_that_never_falls_silent_is_written_meanwhile(
    writer: asyncpg.Connection,
) -> None:
    reading, writing = os.pipe()
    sizes: list[int] = []

    async def trickle() -> None:
        for number in range(20):
            os.write(writing, cluster_line(number) + b"\n")
            await asyncio.sleep(lines.PATIENCE_SECONDS / 4)
        os.close(writing)

    trickling = asyncio.create_task(trickle())
    taken = await lines.ingest(
        writer, lines.Arriving(reading), on_batch=lambda so_far: sizes.append(so_far.appended)
    )
    await trickling
    os.close(reading)

    assert taken.appended == 20
    assert len(sizes) > 2


async def test_a_fast_pipe_fills_its_batches(writer: asyncpg.Connection) -> None:
    reading, writing = os.pipe()
    sizes: list[int] = []

    def pour() -> None:
        with os.fdopen(writing, "wb") as pipe:
            pipe.writelines(cluster_line(number) + b"\n" for number in range(5_000))

    pouring = asyncio.create_task(asyncio.to_thread(pour))
    taken = await lines.ingest(
        writer, lines.Arriving(reading), on_batch=lambda so_far: sizes.append(so_far.appended)
    )
    await pouring
    os.close(reading)

    assert taken.appended == 5_000
    assert len(sizes) < 10
