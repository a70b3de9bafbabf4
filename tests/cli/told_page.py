"""A page of the documentation that tells a history and commands: run it, and hold it against what it shows.

The history is the page's one block of JSON lines. The commands are its console blocks, run one after the
other in one directory, so that a file that one writes is there for the next. ``...`` in what is shown
stands for anything up to the next thing that is shown.

``LEDGER_REWRITE=1`` writes what is printed today into the page, where it is not as shown.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from ledger.cli.sql import CAUTION
from ledger.log import lines
from ledger.log.database import connect
from tests.engine.deciding import decide_all

CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
HISTORY = re.compile(r"^```jsonl\n(.*?)^```$", re.DOTALL | re.MULTILINE)

SLOWEST = 1200
"""Seconds for a page: each of its commands is a process of its own, and a busy machine takes long to start one."""

ANSWERED = {0, 1, 2, 64}
"""Exit codes of commands that answered, if only with a refusal."""


def examples(page: str) -> Iterator[tuple[str, str]]:
    """Each command of a page with what it is said to print."""
    for block in CONSOLE.finditer(page):
        for example in re.split(r"^\$ ", block[1], flags=re.MULTILINE)[1:]:
            command, _, printed = example.partition("\n")
            yield command, printed


async def lived(path: Path, url: str) -> None:
    """Put the history of a page into a database, and decide it."""
    (history,) = _history(path)
    connection = await connect(url, None)
    taken = await lines.ingest(connection, history.encode().splitlines(), clock="event")
    await connection.close()
    assert taken.appended == len(history.splitlines())
    await decide_all(url)


def _history(path: Path) -> list[str]:
    return HISTORY.findall(path.read_text(encoding="utf-8"))


def run(command: str, url: str, directory: Path) -> str:
    """What a command prints, on whichever side."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command],
        env=os.environ | {"PATH": programs, "LEDGER_DATABASE_URL": url},
        capture_output=True,
        text=True,
        check=False,
        cwd=directory,
        timeout=250,
    )
    assert done.returncode in ANSWERED, done
    # Whoever reads the page has the embedded server, where `ledger sql` has a login of its own.
    aside = [line for line in done.stderr.splitlines(keepends=True) if CAUTION not in line]
    return done.stdout + "".join(aside)


def told(path: Path, url: str, directory: Path) -> None:
    """Run every command of a page and hold it against what the page shows."""
    page = path.read_text(encoding="utf-8")
    for command, printed in examples(page):
        said = run(command, url, directory)
        if _fits(printed, said):
            continue
        if os.environ.get("LEDGER_REWRITE") != "1":
            assert said.rstrip("\n") == printed.rstrip("\n"), f"{path.name}: $ {command}"
        now = path.read_text(encoding="utf-8")
        path.write_text(now.replace(f"$ {command}\n{printed}", f"$ {command}\n{said}", 1))


def _fits(printed: str, said: str) -> bool:
    shown = (re.escape(part) for part in printed.rstrip("\n").split("..."))
    return re.fullmatch(".*?".join(shown), said.rstrip("\n"), re.DOTALL) is not None
