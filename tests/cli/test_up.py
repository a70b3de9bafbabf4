"""``ledger up``: everything in one command, started again where a part ends, gone when asked."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from ledger.cli.operating import environment_of_parts
from ledger.log import lines
from ledger.log.database import connect
from tests.events_for_tests import cluster_line, workload_line
from tests.feeding import until


def children(parent: int) -> dict[int, str]:
    """Living child processes, by pid, with what they run."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        state, ppid = stat.rpartition(")")[2].split()[:2]
        if int(ppid) == parent and state != "Z":
            found[int(entry.name)] = b" ".join(words).decode()
    return found


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def test_up_decides_survives_a_killed_part_and_goes_when_asked(database_url: str) -> None:
    connection = await connect(database_url, None)
    up = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "ledger.cli.main",
        "up",
        "--database-url",
        database_url,
        env={key: value for key, value in os.environ.items() if key != "LEDGER_KAFKA_BOOTSTRAP"},
    )

    async def decided(count: int) -> bool:
        found: int = await connection.fetchval("SELECT count(*) FROM ledger.decisions")
        return found == count

    try:
        await lines.ingest(
            connection, [cluster_line(1), workload_line(1, replicas=2, weights={"c1": 1})]
        )
        await until(lambda: decided(1))
        (decider,) = (pid for pid, words in children(up.pid).items() if "decide" in words)

        os.kill(decider, signal.SIGKILL)
        await lines.ingest(connection, [workload_line(2, replicas=3, weights={"c1": 1})])
        await until(lambda: decided(2))

        parts = children(up.pid)
        assert len(parts) == 2
        up.send_signal(signal.SIGTERM)
        async with asyncio.timeout(30):
            assert await up.wait() == 0
        assert not any(map(alive, parts))
    finally:
        if up.returncode is None:
            up.kill()
            await up.wait()
        await connection.close()


def test_the_parts_open_fleets_on_sight_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("LEDGER_FLEET_CREATE", raising=False)
    assert environment_of_parts("url")["LEDGER_FLEET_CREATE"] == "auto"

    monkeypatch.setenv("LEDGER_FLEET_CREATE", "never")
    assert environment_of_parts("url")["LEDGER_FLEET_CREATE"] == "never"
