"""The same history has the same roots, however it is taken in and wherever it is decided.

Real processes with other hash seeds, time zones and locales, batches of other sizes, snapshots or
none, one decider or four: a function of the log cannot depend on what is not in the log.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ledger.cli.simulator.history import Simulation
from ledger.cli.simulator.sizes import Sizes
from ledger.log.database import connected
from ledger.views import reading
from tests.feeding import until
from tests.postgres import Postgres

HISTORY = 1200

SURROUNDINGS = (
    {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8"},
    {"PYTHONHASHSEED": "1", "TZ": "Asia/Kathmandu", "LC_ALL": "C"},
    {"PYTHONHASHSEED": "4242", "TZ": "America/St_Johns", "LC_ALL": "C.UTF-8"},
)
BATCHES = (1, 7, 1000)
SNAPSHOTS = {"LEDGER_SNAPSHOT_EVENTS": "100", "LEDGER_SNAPSHOT_SECONDS": "0"}


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("history") / "events.jsonl"
    sizes = Sizes(clusters=5, nodes=2, workloads=25)
    events = Simulation(7, fleet="demo", sizes=sizes).events(HISTORY)
    file.write_bytes(b"".join(line + b"\n" for line in events))
    return file


async def ledger(url: str, surroundings: dict[str, str], *words: str) -> dict[str, object]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "ledger.cli.main",
        *words,
        "--json",
        env=os.environ | surroundings | {"LEDGER_DATABASE_URL": url},
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, words
    answer: dict[str, object] = json.loads(said)
    return answer


@asynccontextmanager
async def deciding_live(url: str, processes: int) -> AsyncIterator[None]:
    """So many deciders that want the same lease, each in surroundings of its own."""
    started = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ledger.cli.main", "decide", "--quiet"),
            env=os.environ
            | SURROUNDINGS[place % len(SURROUNDINGS)]
            | SNAPSHOTS
            | {"LEDGER_DATABASE_URL": url, "LEDGER_LOG_LEVEL": "error"},
        )
        for place in range(processes)
    ]
    try:
        yield
    finally:
        for one in started:
            one.terminate()
        for one in started:
            await one.wait()


async def all_decided(url: str) -> bool:
    async with connected(url, "ledger_reader") as connection:
        rows = await reading.lags(connection)
    return [row.undecided for row in rows] == [0]


async def told(
    url: str,
    history: Path,
    *,
    batch: int,
    deciding: dict[str, str],
    replaying: dict[str, str],
    processes: int = 1,
) -> dict[str, object]:
    """Take the history in, decide it, replay it; what the replay said."""
    taking_in = ("ingest", str(history), "--clock", "event", "--batch", str(batch))
    if processes == 1:
        await ledger(url, deciding, *taking_in)
    else:
        async with deciding_live(url, processes):
            await ledger(url, deciding, *taking_in)
            await until(lambda: all_decided(url), seconds=60)
    await ledger(url, deciding, "decide", "--until-idle")
    return await ledger(url, replaying, "replay", "--fleet", "demo")


async def test_roots_depend_on_nothing_but_the_events(postgres: Postgres, history: Path) -> None:
    reports = []
    for place, batch in enumerate(BATCHES):
        async with postgres.database() as url:
            deciding = SURROUNDINGS[place] | (SNAPSHOTS if place else {"LEDGER_SNAPSHOTS": "off"})
            replaying = SURROUNDINGS[place - 1]
            reports.append(
                await told(url, history, batch=batch, deciding=deciding, replaying=replaying)
            )
    async with postgres.database() as url:
        reports.append(
            await told(
                url,
                history,
                batch=100,
                deciding=SURROUNDINGS[0],
                replaying=SURROUNDINGS[1],
                processes=4,
            )
        )

    first = reports[0]
    assert first["diverged"] is None
    assert first["events"] == HISTORY
    assert isinstance(first["decisions"], int)
    assert first["decisions"] > 100
    assert reports == [first] * (len(BATCHES) + 1)
