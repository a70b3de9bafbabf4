"""What runs on an embedded server outlives it: a crashed one is started again, a stopped one is left alone."""

import asyncio
import os
import shutil
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from ledger.cli.database import migrate
from ledger.errors import LogUnavailable, SetupProblem
from ledger.log import lines
from ledger.log.database import connected, parse
from ledger.log.embedded import address, binaries, reviving, server
from tests.cli.test_up import children
from tests.events_for_tests import cluster_line, workload_line
from tests.feeding import until
from tests.postgres import refuse

pytestmark = pytest.mark.postgres

SERVICES = {"up": ["up"], "decide": ["decide", "--quiet"]}


@pytest.fixture(scope="module", autouse=True)
def _programs() -> None:
    try:
        binaries.find("18")
    except SetupProblem as problem:
        refuse(str(problem))


@pytest_asyncio.fixture
async def data() -> AsyncIterator[Path]:
    """A directory on which the server of an empty ledger runs."""
    place = server.temporary_directory()
    await migrate((await server.start(place, settings={"fsync": "off"})).url)
    yield place
    await server.stop(place, mode="immediate")
    shutil.rmtree(place, ignore_errors=True)


@asynccontextmanager
async def running(data: Path, words: list[str]) -> AsyncIterator[Process]:
    """``ledger`` as a process of its own, on this directory."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ledger.cli.main", *words, "--data", str(data)),
        env={"PATH": os.defpath, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=DEVNULL,
        stderr=PIPE,
    )
    try:
        yield process
        process.terminate()
        async with asyncio.timeout(30):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def said(process: Process, words: str) -> None:
    """Read what is logged up to a line with these words."""
    assert process.stderr is not None
    async with asyncio.timeout(60):
        while words.encode() not in (line := await process.stderr.readline()):
            assert line, f"{words} was not said"


async def ingested(data: Path, *values: bytes) -> None:
    async with connected(server.url(data), "ledger_writer") as connection:
        await lines.ingest(connection, values)


def decided(data: Path, count: int) -> Callable[[], Awaitable[bool]]:
    """Whether so much is decided; nothing is started to find that out."""

    async def is_decided() -> bool:
        if server.status(data).state != "ready":
            return False
        async with connected(server.url(data), None) as connection:
            found: int = await connection.fetchval("SELECT count(*) FROM ledger.decisions")
            return found == count

    return is_decided


def kill(data: Path, by: signal.Signals = signal.SIGKILL) -> None:
    pid = server.status(data).pid
    assert pid is not None
    os.kill(pid, by)


def is_down(data: Path) -> Callable[[], Awaitable[bool]]:
    async def is_down() -> bool:
        return server.status(data).pid is None

    return is_down


@pytest.mark.parametrize("service", SERVICES)
async def test_a_killed_server_is_started_again_and_what_comes_then_is_decided(
    data: Path, service: str
) -> None:
    await ingested(data, cluster_line(1), workload_line(1, replicas=2, weights={"c1": 1}))
    async with running(data, SERVICES[service]) as process:
        await until(decided(data, 1), seconds=60)

        kill(data)
        await said(process, "postgres_started_again")
        await ingested(data, workload_line(2, replicas=3, weights={"c1": 1}))
        await until(decided(data, 2), seconds=60)


@pytest.mark.parametrize("service", SERVICES)
async def test_a_stopped_server_stays_down_until_somebody_starts_it_wherever_that_is(
    data: Path, service: str
) -> None:
    await ingested(data, cluster_line(1), workload_line(1, replicas=2, weights={"c1": 1}))
    async with running(data, SERVICES[service]) as process:
        await until(decided(data, 1), seconds=60)
        port = server.status(data).port
        assert port is not None

        await server.stop(data)
        for _ in range(3):
            await said(process, "PostgreSQL was stopped")
        assert server.status(data).state == "stopped"

        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", port))
            taken.listen()
            assert (await server.start(data)).port != port
            await ingested(data, workload_line(2, replicas=3, weights={"c1": 1}))
            await until(decided(data, 2), seconds=60)


async def test_a_part_that_ended_does_not_start_a_server_that_was_stopped(data: Path) -> None:
    async with running(data, ["up"]) as process:
        await said(process, "ask: ")
        await server.stop(data)
        await said(process, "PostgreSQL was stopped")
        for pid, words in children(process.pid).items():
            if " decide " in words:
                os.kill(pid, signal.SIGKILL)

        await said(process, "part_ended")
        for _ in range(6):
            await said(process, "PostgreSQL was stopped")
        assert server.status(data).state == "stopped"


async def test_a_server_that_gave_up_has_crashed_though_it_took_its_file_away(data: Path) -> None:
    # What a full disk comes to: an end without a checkpoint, and no file that names a server.
    kill(data, signal.SIGQUIT)
    await until(is_down(data))

    assert server.status(data).state == "stopped"
    assert server.crashed(data)
    async with connected(address.of(data), None) as connection:
        assert await connection.fetchval("SELECT 1") == 1

    await server.stop(data)
    assert not server.crashed(data)
    with pytest.raises(LogUnavailable, match="was stopped"):
        await reviving.url(data)


async def test_a_server_that_others_told_to_end_was_told(data: Path) -> None:
    kill(data, signal.SIGTERM)
    await until(is_down(data))

    assert not server.crashed(data)


async def test_who_puts_other_data_in_the_place_of_a_stopped_server_is_left_alone(
    data: Path,
) -> None:
    await server.stop(data)
    # A copy of one that ran says that it did not end.
    kept = (data / "postgres" / "global" / "pg_control").read_bytes()
    running = kept[:16] + (6).to_bytes(4, sys.byteorder) + kept[20:]
    (data / "postgres" / "global" / "pg_control").write_bytes(running)
    (data / "postgres" / "postmaster.pid").write_text("1\n")

    with pytest.raises(LogUnavailable, match="was stopped"):
        await reviving.url(data)

    (data / "postgres" / "postmaster.pid").unlink()
    (data / "postgres" / "global" / "pg_control").write_bytes(kept)
    await server.start(data)
    assert parse(await reviving.url(data)).parts.port == server.status(data).port


async def test_what_keeps_a_crashed_server_from_starting_is_waited_out(data: Path) -> None:
    kill(data)
    password = data / "password"
    kept = password.rename(data / "elsewhere")

    with pytest.raises(LogUnavailable, match="password: is missing"):
        await reviving.url(data)

    kept.rename(password)
    assert parse(await reviving.url(data)).parts.port == server.status(data).port


def test_an_address_names_any_directory(tmp_path: Path) -> None:
    odd = tmp_path / "50% of #1?" / "über"

    assert address.directory(address.of(odd)) == odd
    assert address.directory("postgresql://localhost/ledger") is None
