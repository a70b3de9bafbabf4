"""The same history has the same roots, however it is taken in and wherever it is decided.

Real processes with other hash seeds, time zones and locales, and batches of other sizes: what a
function of the log is allowed to depend on, and none of these is in the log.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from ledger.cli.simulator.history import Simulation
from ledger.cli.simulator.sizes import Sizes
from tests.postgres import Postgres

HISTORY = 1200

SURROUNDINGS = (
    {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8"},
    {"PYTHONHASHSEED": "1", "TZ": "Asia/Kathmandu", "LC_ALL": "C"},
    {"PYTHONHASHSEED": "4242", "TZ": "America/St_Johns", "LC_ALL": "C.UTF-8"},
)
BATCHES = (1, 7, 1000)


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


async def told(
    url: str, history: Path, *, batch: int, deciding: dict[str, str], replaying: dict[str, str]
) -> dict[str, object]:
    """Take the history in, decide it, replay it; what the replay said."""
    await ledger(url, deciding, "ingest", str(history), "--clock", "event", "--batch", str(batch))
    await ledger(url, deciding, "decide", "--until-idle")
    return await ledger(url, replaying, "replay", "--fleet", "demo")


async def test_roots_depend_on_nothing_but_the_events(postgres: Postgres, history: Path) -> None:
    reports = []
    for place, batch in enumerate(BATCHES):
        async with postgres.database() as url:
            deciding, replaying = SURROUNDINGS[place], SURROUNDINGS[place - 1]
            reports.append(
                await told(url, history, batch=batch, deciding=deciding, replaying=replaying)
            )

    first = reports[0]
    assert first["diverged"] is None
    assert first["events"] == HISTORY
    assert isinstance(first["decisions"], int)
    assert first["decisions"] > 100
    assert reports == [first] * len(BATCHES)
