"""docs/explain.md is true: its examples come out as written, over the history that it tells."""

import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from ledger.log import lines
from ledger.log.database import connect
from tests.engine.deciding import decide_all
from tests.postgres import Postgres

PATH = Path(__file__).parents[2] / "docs" / "explain.md"
PAGE = PATH.read_text(encoding="utf-8")

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
HISTORY = re.compile(r"^```jsonl\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def examples() -> Iterator[tuple[str, str]]:
    """Each command of the page with what it is said to print."""
    for block in BLOCK.finditer(PAGE):
        for example in re.split(r"^\$ ", block[1], flags=re.MULTILINE)[1:]:
            command, _, printed = example.partition("\n")
            yield command, printed


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def told(postgres: Postgres) -> AsyncIterator[str]:
    """A database in which the history of the page was decided."""
    (history,) = HISTORY.findall(PAGE)
    async with postgres.database() as url:
        connection = await connect(url, None)
        taken = await lines.ingest(connection, history.encode().splitlines(), clock="event")
        await connection.close()
        assert taken.appended == len(history.splitlines())
        await decide_all(url)
        yield url


def run(command: str, url: str) -> str:
    """What a command prints, on whichever side."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command],
        env=os.environ | {"PATH": programs, "LEDGER_DATABASE_URL": url},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 64), done
    return done.stdout + done.stderr


@pytest.mark.parametrize(("command", "printed"), list(examples()))
def test_an_example_prints_what_is_shown(told: str, command: str, printed: str) -> None:
    said = run(command, told)

    if os.environ.get("LEDGER_REWRITE") == "1":
        page = PATH.read_text(encoding="utf-8")
        PATH.write_text(page.replace(f"$ {command}\n{printed}", f"$ {command}\n{said}", 1))
    else:
        assert said.rstrip("\n") == printed.rstrip("\n")


def shown() -> Iterator[str]:
    """The lines of the page that people are shown on a terminal."""
    for command, printed in examples():
        if "--json" not in command:
            yield from (line for line in printed.splitlines() if not line.startswith("ledger: "))


def test_every_line_that_redoes_something_redoes_it(told: str) -> None:
    redoing = [line.strip() for line in shown() if line.strip().startswith("echo ")]

    assert redoing
    for line in redoing:
        assert line.endswith("| ledger solve --explain")
        answered = json.loads(run(line.removesuffix(" --explain"), told))
        assert "error" not in answered


def test_no_line_for_people_is_wider_than_a_terminal() -> None:
    wide = [line for line in shown() if len(line) > 80]

    assert all(line.strip().startswith("echo ") for line in wide)


@pytest.mark.parametrize(
    ("section", "command"),
    [
        ("## For machines", "ledger explain 4 --json"),
        ("## What changed", "ledger diff 6 15 --json"),
    ],
)
def test_the_fields_for_machines_are_those_of_the_page(
    told: str, section: str, command: str
) -> None:
    rows = re.findall(r"^\| (`.*?) \|", PAGE.split(section)[1].split("\n## ")[0], re.MULTILINE)
    documented = [word for row in rows for word in re.findall(r"`(\w+)`", row)]

    answered = json.loads(run(command, told))

    assert sorted(answered) == sorted(documented)


def test_every_block_of_the_page_is_run() -> None:
    assert PAGE.count("```") == 2 * (len(BLOCK.findall(PAGE)) + len(HISTORY.findall(PAGE)))
