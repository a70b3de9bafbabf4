"""What was to come to an end of its own and was stopped before it says so, and ends with 130."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from ledger.cli.simulator.history import Simulation
from ledger.log import lines
from ledger.log.database import connect
from tests.feeding import until

EVENTS = 3000
INTERRUPTED = 130


@pytest_asyncio.fixture
async def anybody(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await connect(database_url, None)
    yield connection
    await connection.close()


@asynccontextmanager
async def ledger(database_url: str, *words: str) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ledger.cli.main", *words, "--json"),
        stdout=PIPE,
        stderr=PIPE,
        env=os.environ | {"LEDGER_DATABASE_URL": database_url, "LEDGER_FLEET_CREATE": "auto"},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def stopped(process: Process, asked: signal.Signals) -> dict[str, Any]:
    """What it says last when it is asked to stop."""
    process.send_signal(asked)
    async with asyncio.timeout(60):
        told, aside = await process.communicate()
    assert process.returncode == INTERRUPTED
    assert b"ledger: interrupted: " in aside
    counts: dict[str, Any] = json.loads(told.splitlines()[-1])
    assert counts["interrupted"] is True
    return counts


async def until_more(connection: asyncpg.Connection, question: str) -> None:
    async def there() -> bool:
        return bool(await connection.fetchval(question))

    await until(there, seconds=60)


@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM])
async def test_deciding_everything_there_is(
    database_url: str, anybody: asyncpg.Connection, asked: signal.Signals
) -> None:
    await lines.ingest(anybody, Simulation(1, fleet="test").events(EVENTS), clock="event")

    async with ledger(database_url, "decide", "--until-idle", "--batch", "1") as process:
        await until_more(anybody, "SELECT max(through) > 10 FROM ledger.decided")
        counts = await stopped(process, asked)
    assert 10 < counts["events"] < EVENTS

    async with ledger(database_url, "decide", "--until-idle") as process:
        told, _ = await process.communicate()
    assert process.returncode == 0
    rest = json.loads(told)
    assert "interrupted" not in rest
    assert counts["events"] + rest["events"] >= EVENTS


@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM])
async def test_ingesting_a_file(
    database_url: str, anybody: asyncpg.Connection, tmp_path: Path, asked: signal.Signals
) -> None:
    file = tmp_path / "events.jsonl"
    file.write_bytes(b"".join(line + b"\n" for line in Simulation(1).events(EVENTS)))

    async with ledger(database_url, "ingest", str(file), "--batch", "1") as process:
        await until_more(anybody, "SELECT count(*) > 10 FROM ledger_api.events")
        counts = await stopped(process, asked)

    assert 10 < counts["appended"] < EVENTS
    assert counts["appended"] == await anybody.fetchval("SELECT count(*) FROM ledger_api.events")


async def test_simulating_into_a_file(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    words = ("simulate", str(file), "--events", str(EVENTS), "--rate", "200")

    async def begun() -> bool:
        return file.exists() and file.stat().st_size > 0

    async with ledger("", *words) as process:
        await until(begun)
        counts = await stopped(process, signal.SIGINT)

    told = file.read_bytes().splitlines()
    assert 0 < counts["events"] == len(told) < EVENTS
    assert told == list(Simulation(1, fleet="demo").events(len(told)))


async def test_watching_a_demo(database_url: str, anybody: asyncpg.Connection) -> None:
    words = ("demo", "--events", str(EVENTS), "--rate", "100")
    async with ledger(database_url, *words) as process:
        await until_more(anybody, "SELECT count(*) > 10 FROM ledger_api.events")
        counts = await stopped(process, signal.SIGINT)

    assert 10 < counts["appended"] < EVENTS
    assert counts["replay"]["fleet"] == "demo"
