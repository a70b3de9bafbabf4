"""The commands of docs/recover.md say what the page says that they say."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from ledger.log import lines
from ledger.log.database import connected
from ledger.log.publishing import Directory
from ledger.log.sealer import Sealer
from ledger.log.sealing import Site
from ledger.log.signed import memory
from ledger.log.stops import StopReason
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line
from tests.postgres import Postgres
from tests.restoring import Restorable, restorable

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "recover.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, flags=re.DOTALL)


async def grow(database: Restorable, first: int, *, more: int = 0) -> None:
    async with connected(database.url, "ledger_writer") as connection:
        told = [cluster_line(number, fleet="shop") for number in (1, 2)] if first == 1 else []
        told += [
            workload_line(number, replicas=number + more, weights={"c1": 1, "c2": 1}, fleet="shop")
            for number in range(first, first + 4)
        ]
        await lines.ingest(connection, told)
    await decide_all(database.url)


async def seal(database: Restorable, folder: Path) -> None:
    with memory(folder / "signed.json") as remembered:
        places = [Directory(folder / "notes")]
        sealer = Sealer(Site("ledger.example", (bytes(32),)), remembered, places)
        async with connected(database.url, "ledger_signer") as connection:
            await sealer.round(connection)


async def test_what_was_lost_is_told_and_the_log_goes_on(
    postgres: Postgres, tmp_path: Path
) -> None:
    async with restorable(postgres) as database:
        await grow(database, 1)
        await seal(database, tmp_path)
        backup = await database.back_up()
        await grow(database, 5)
        await seal(database, tmp_path)
        await database.restore(backup)

        def ledger(*words: str, code: int) -> str:
            return asking(database, tmp_path, words, code)

        asked, done = [shlex.split(line)[1:] for line in blocks("sh")[0].splitlines()]
        lost, goes_on = blocks("text")
        # Somebody signs for it: without what that remembers nothing is guessed.
        ledger(*asked[:2], code=78)
        assert ledger(*asked, code=76) == lost
        assert ledger(*done, code=0) == lost + goes_on
        again = ledger(*asked, code=0)
        assert again.count("what that life lost is told by the first event of life 2") == 2
        assert "in the log" not in again


async def test_another_history_is_not_taken_for_a_restore(
    postgres: Postgres, tmp_path: Path
) -> None:
    """It has as many events as were signed first, and the same ids; so each says who tells of it."""
    async with restorable(postgres) as database:
        await grow(database, 1)
        await seal(database, tmp_path)
        await grow(database, 5)
        await seal(database, tmp_path)
        await database.restore(postgres.template)
        await grow(database, 1, more=1)
        path = tmp_path / "signed.json"
        plain = json.loads(path.read_text())
        del plain["before"]
        (tmp_path / "old.json").write_text(json.dumps(plain | {"layout": 1}))

        def recover(*words: str, code: int) -> dict[str, Any]:
            words = ("recover", "shop", "--without-kafka", "--json", *words)
            said: dict[str, Any] = json.loads(asking(database, tmp_path, words, code) or "{}")
            return said

        for told in (["signed.json"], ["old.json", "--notes", "notes"]):
            found = recover("--memory", *told, "--yes", code=76)
            assert found == {}
            found = recover("--memory", *told, code=76)
            assert [one.partition(":")[0].rpartition("/")[2] for one in found["forked"]] == [
                "events",
                "decisions",
            ]
        assert recover("--memory", "old.json", "--yes", code=78) == {}
        assert recover("--memory", "old.json", code=76)["as_signed"] == {
            "events": 0,
            "decisions": 0,
        }
        assert recover("--memory", "old.json", "--yes", "--unvouched", code=0)["recovered"]


def asking(database: Restorable, folder: Path, words: Sequence[str], code: int) -> str:
    """What a command prints, in a folder with the signer's files and without a Kafka."""
    without_kafka = {name: os.environ[name] for name in os.environ if "KAFKA" not in name}
    done = subprocess.run(
        [sys.executable, "-m", "ledger.cli.main", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=folder,
        env=without_kafka | {"LEDGER_DATABASE_URL": database.url, "PYTHONPATH": str(REPOSITORY)},
    )
    assert done.returncode == code, (words, done.stdout, done.stderr)
    return done.stdout


def test_every_reason_for_a_fleet_to_stop_is_on_the_page() -> None:
    for reason in get_args(StopReason):
        assert f"| `{reason}` |" in PAGE
