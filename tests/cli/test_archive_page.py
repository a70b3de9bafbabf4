"""docs/archive.md is true: its commands do what it says, and its questions are answered by DuckDB."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
from typer.testing import CliRunner

from ledger.cli.commands import as_asked
from ledger.log import lines
from ledger.log.archive.layout import TABLES
from ledger.log.database import connect
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line
from tests.postgres import Postgres

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "archive.md").read_text(encoding="utf-8")
NO_DATABASE = "postgresql://nobody@127.0.0.1:1/nothing"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def commands() -> list[list[str]]:
    """What the page types, without its comments."""
    (block,) = blocks("sh")
    return [shlex.split(line, comments=True)[1:] for line in block.splitlines()]


ASK = """
import json, sys, duckdb
rows = [duckdb.sql(question).to_arrow_table().to_pylist() for question in json.load(sys.stdin)]
print(json.dumps(rows, default=str))
"""


def asked(questions: list[str]) -> list[list[dict[str, Any]]]:
    """What DuckDB answers in this directory; by a process of its own, it speaks when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    answers: list[list[dict[str, Any]]] = json.loads(done.stdout)
    return answers


class Said(NamedTuple):
    code: int
    out: str
    aside: str


def ledger(words: list[str], url: str = NO_DATABASE) -> Said:
    """What a command says; it runs in this process, since each of its own takes long to start."""
    done = CliRunner().invoke(as_asked(words), words, env={"LEDGER_DATABASE_URL": url})
    return Said(done.exit_code, done.stdout, done.stderr)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shop(postgres: Postgres) -> AsyncIterator[str]:
    """A fleet with thirty events, and what was decided on them."""
    async with postgres.database() as url:
        connection = await connect(url, None)
        weights = {"c1": 3, "c2": 2, "c3": 1}
        told = [cluster_line(number, fleet="shop") for number in (1, 2, 3)]
        for number in range(4, 31):
            name = "cart" if number % 2 else "till"
            told.append(
                workload_line(number, replicas=number, weights=weights, fleet="shop", name=name)
            )
        await lines.ingest(connection, told)
        await connection.close()
        await decide_all(url)
        yield url


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_page_from_the_first_command_to_the_last_question(shop: str) -> None:
    for words in commands():
        said = ledger(words, NO_DATABASE if "--archive" in words else shop)
        assert (said.code, said.aside) == (0, ""), (words, said)
        if words[0] == "export":
            assert f"to {words[-1] if '--to' in words else 29}" in said.out.splitlines()[-1]

    replayed = ["replay", "--fleet", "shop", "--json"]
    assert ledger([*replayed, "--archive", "archive"]) == ledger(replayed, shop)
    happened, replicas, moved, allocations, wrong = asked(blocks("sql"))
    assert sum(row["events"] for row in happened) == 30
    assert [row["replicas"] for row in replicas] == list(range(4, 31))
    assert {row["subject"] for row in moved} == {"shop/cart", "shop/till"}
    assert sum(json.loads(allocations[-1]["allocation"]).values()) == 30
    assert wrong == []


def test_a_damaged_archive_is_named_with_the_exit_code_of_an_invalid_log(
    shop: str, tmp_path: Path
) -> None:
    exported = ledger(["export", "shop", "archive", "--json"], shop)
    assert (exported.code, json.loads(exported.out)["events"]) == (0, 30)
    (file,) = (tmp_path / "archive" / "shop").glob("events-*")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)

    for words in (["verify"], ["replay", "--fleet", "shop"]):
        said = ledger([*words, "--archive", "archive"])
        assert said.code == 2
        assert "file_damaged at position" in said.out
        assert file.name in said.out
    manifest = tmp_path / "archive" / "shop" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"clock": "wall"', '"clock": "event"'))
    for words in (["verify"], ["replay", "--fleet", "shop"]):
        said = ledger([*words, "--archive", "archive", "--json"])
        trouble = json.loads(said.out)["diverged"]["trouble"]
        assert (said.code, trouble) == (2, "manifest_damaged")


def test_without_pyarrow_the_extra_is_named(
    shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "archive" / "shop").mkdir(parents=True)
    (tmp_path / "archive" / "shop" / "manifest.json").write_text("{}")
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    for words in (
        ["export", "shop", "archive"],
        ["verify", "--archive", "archive"],
        ["replay", "--fleet", "shop", "--archive", "archive"],
    ):
        said = ledger(words, shop)
        assert said.code == 78, said
        assert "pip install 'ledger-scheduling[arrow]'" in said.aside


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["verify", "--archive", "nowhere"], "there is no such directory"),
        (["verify", "--archive", "."], "there is no archive in it"),
        (["replay", "--fleet", "shop", "--archive", "."], "there is no archive in it"),
        (["maintain", "--detach", "0"], "--archive"),
        (["verify", "--archive", ".", "--deep"], "--archive"),
    ],
)
def test_what_is_no_archive_is_said(words: list[str], why: str) -> None:
    said = ledger(words)

    assert said.code in (64, 78)
    assert why in said.aside


def test_what_the_page_says_of_detaching_is_refused_where_a_fleet_needs_it(shop: str) -> None:
    assert ledger(["export", "shop", "archives"], shop).code == 0

    said = ledger(["maintain", "--detach", "0", "--archive", "archives"], shop)

    assert said.code == 76
    assert "fleet shop" in said.aside


def test_every_column_is_on_the_page() -> None:
    for table in ("events", "decisions"):
        rows = re.search(rf"\| column of `{table}` \| is \|\n\|---.*?\n((?:\|.*\n)+)", PAGE)
        assert rows is not None
        told = [row.split("|")[1] for row in rows[1].splitlines()]
        names = [name for cell in told for name in re.findall(r"`(\w+)`", cell)]
        assert sorted(names) == sorted(column.name for column in TABLES[table])
