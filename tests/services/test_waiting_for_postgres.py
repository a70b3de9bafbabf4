"""A service that is started before its database waits for it and says so; a command that asks does not."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from ledger.cli.metrics.serving import free_port
from ledger.log import lines
from ledger.log.database import connect, parse
from ledger.log.signing_keys import make
from tests.events_for_tests import cluster_line, workload_line
from tests.feeding import until

SITE = ("--site", "ledger.example")
SERVICES = {
    "decide": ["decide", "--quiet"],
    "consume": ["consume"],
    "publish": ["publish"],
    "maintain": ["maintain", "--every", "60"],
    "seal": ["seal", "--key", "secret", *SITE, "--memory", "signed.json", "--publish", "notes"],
}
WITHOUT_KAFKA = {"consume": "kafka_unavailable", "publish": "cannot_publish_now"}
ASKING = {
    "decide": ["decide", "--until-idle"],
    "maintain": ["maintain"],
    "seal": ["seal", "--key", "secret", *SITE, "--memory", "signed.json", "--once"],
    "status": ["status"],
}


class Way:
    """An address at which the database is not reached before it is opened."""

    def __init__(self, database_url: str) -> None:
        self._there = parse(database_url)
        self._port = free_port()
        name = self._there.parts.path
        account = self._there.parts.username
        self.url = f"postgresql://{account}@127.0.0.1:{self._port}{name}"
        password = self._there.parts.password
        if password:
            self.url = f"postgresql://{account}:{password}@127.0.0.1:{self._port}{name}"

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Let whoever comes through, for as long as the block runs."""
        async with await asyncio.start_server(self._passed, "127.0.0.1", self._port):
            yield

    async def _passed(self, asked: asyncio.StreamReader, told: asyncio.StreamWriter) -> None:
        parts = self._there.parts
        answers, questions = await asyncio.open_connection(parts.hostname, parts.port or 5432)
        await asyncio.gather(_copied(asked, questions), _copied(answers, told))


async def _copied(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await source.read(65_536):
            target.write(data)
            await target.drain()
    target.close()


@asynccontextmanager
async def started(url: str, words: list[str], directory: Path) -> AsyncIterator[Process]:
    """``ledger`` as a process of its own."""
    make(directory / "secret")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ledger.cli.main", *words),
        cwd=directory,
        env={
            "LEDGER_DATABASE_URL": url,
            "LEDGER_KAFKA_BOOTSTRAP": "127.0.0.1:1",
            "PYTHONPATH": str(Path(__file__).parents[2]),
        },
        stdout=PIPE,
        stderr=PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def said(process: Process, word: str) -> None:
    """Read what a service logs up to a line with this word."""
    assert process.stderr is not None
    async with asyncio.timeout(30):
        while word.encode() not in (line := await process.stderr.readline()):
            assert line, f"{word} was not said"


@pytest.mark.parametrize("service", SERVICES)
async def test_a_service_waits_for_its_database_and_ends_when_asked(
    database_url: str, tmp_path: Path, service: str
) -> None:
    async with started(Way(database_url).url, SERVICES[service], tmp_path) as process:
        await said(process, "log_unavailable")
        await said(process, "log_unavailable")

        process.terminate()

        assert await process.wait() == 0


async def test_a_decider_begins_when_its_database_is_there(
    database_url: str, tmp_path: Path
) -> None:
    connection = await connect(database_url, None)
    await lines.ingest(
        connection, [cluster_line(1), workload_line(1, replicas=5, weights={"c1": 1})]
    )

    async def decided() -> bool:
        return bool(await connection.fetchval("SELECT count(*) FROM ledger.decisions"))

    way = Way(database_url)
    async with started(way.url, SERVICES["decide"], tmp_path) as process:
        await said(process, "log_unavailable")
        async with way.open():
            await said(process, "lease_taken")
            await until(decided)
            process.terminate()
            assert await process.wait() == 0
    await connection.close()


@pytest.mark.parametrize("service", ["consume", "publish"])
async def test_who_waits_for_kafka_says_so_in_lines_of_json(
    database_url: str, tmp_path: Path, service: str
) -> None:
    async with started(database_url, SERVICES[service], tmp_path) as process:
        assert process.stderr is not None
        names: set[str] = set()
        async with asyncio.timeout(60):
            while not names >= {"aiokafka", WITHOUT_KAFKA[service]}:
                names.add(json.loads(await process.stderr.readline())["event"])

        process.terminate()
        _, rest = await process.communicate()

    assert all(map(json.loads, rest.splitlines()))
    assert process.returncode == 0


@pytest.mark.parametrize("command", ASKING)
async def test_a_command_that_ends_by_itself_gives_up(
    database_url: str, tmp_path: Path, command: str
) -> None:
    async with started(Way(database_url).url, ASKING[command], tmp_path) as process:
        _, told = await process.communicate()

    assert process.returncode == 75
    assert b"ledger: the database: " in told
