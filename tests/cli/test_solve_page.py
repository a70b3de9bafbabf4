"""docs/solve.md is true: its examples come out as written, its tables are those of the code."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.cli import outputs
from ledger.cli.solve import main
from ledger.cli.solve.catalogue import CATALOGUE
from tests.vectors.test_core_vectors import FACTS

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "solve.md").read_text(encoding="utf-8")

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SECTIONS = dict(section.split("\n", 1) for section in PAGE.split("\n## ")[1:])


def examples() -> Iterator[tuple[str, str]]:
    """Each command of the page with what it is said to print."""
    for block in BLOCK.finditer(PAGE):
        for example in re.split(r"^\$ ", block[1], flags=re.MULTILINE)[1:]:
            command, _, printed = example.partition("\n")
            yield command, printed


def codes(section: str) -> set[str]:
    """The words in the first column of a section's table."""
    rows = re.findall(r"^\| (`.*?) \|", SECTIONS[section], re.MULTILINE)
    return {word for row in rows for word in re.findall(r"`(\w+)`", row)}


@pytest.mark.parametrize(("command", "printed"), list(examples()))
def test_an_example_prints_what_is_shown(command: str, printed: str) -> None:
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    done = subprocess.run(
        ["sh", "-c", command],
        env=os.environ | {"PATH": programs},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.rstrip("\n") == printed.rstrip("\n")
    assert done.stderr == ""


def test_every_block_of_the_page_is_an_example() -> None:
    assert PAGE.count("```") == 2 * len(BLOCK.findall(PAGE)) > 0


def test_the_page_lists_every_op_in_its_words() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| (.*) \|$", SECTIONS["What can be asked"], re.MULTILINE)

    assert rows == [(op.name, op.about) for op in CATALOGUE.ops()]


def test_every_code_that_an_answer_can_have_is_told() -> None:
    told = codes("When the answer is no")

    assert told >= {fact["expect"]["error"] for fact in FACTS if "error" in fact["expect"]}
    assert told >= set(raised())
    assert told >= {"insufficient_capacity", "insufficient_resource", "internal_error"}


def test_no_code_is_told_that_there_is_not() -> None:
    source = "".join(file.read_text(encoding="utf-8") for file in sources())

    assert [code for code in codes("When the answer is no") if f'"{code}"' not in source] == []


def test_every_exit_code_is_told() -> None:
    numbers = set(re.findall(r"^\| (\d+) \|", SECTIONS["When the answer is no"], re.MULTILINE))

    ours = (main.MISUSED, main.OUR_MISTAKE, outputs.CANNOT_WRITE, main.CANNOT_READ)
    assert numbers == {str(code) for code in (0, *ours, main.INTERRUPTED, outputs.READER_WENT)}


def sources() -> Iterator[Path]:
    for room in ("core", "cli/solve"):
        yield from sorted((REPOSITORY / "ledger" / room).rglob("*.py"))


def raised() -> Iterator[str]:
    """The codes that stand where a refusal is raised."""
    for file in sources():
        for node in ast.walk(ast.parse(file.read_bytes())):
            match node:
                case ast.Call(
                    func=ast.Name(id="InvalidRequest" | "Refused"),
                    args=[ast.Constant(value=str() as code), *_],
                ):
                    yield code
                case _:
                    pass
