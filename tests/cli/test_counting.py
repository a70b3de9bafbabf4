"""What is counted is spelled by its number, wherever a command tells it to people."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ledger.cli.commands import as_asked
from ledger.cli.counting import be, count, noun

COMMANDS = Path(__file__).parents[2] / "ledger" / "cli"

COUNTED = re.compile(
    r" (?:older |signed )?(bytes|cores|decisions|duplicates|events|incidents|instances|moves|nodes|notes|partitions|pieces"
    r"|places|pods|replicas|rows|segments|subjects|tasks|terms)\b"
)


def test_one_is_one_and_everything_else_is_several() -> None:
    assert [count(number, "pod") for number in (0, 1, 2)] == ["0 pods", "1 pod", "2 pods"]
    assert f"{1_000:,} {noun(1_000, 'signed note')}" == "1,000 signed notes"
    assert [be(number) for number in (0, 1, 2)] == ["are", "is", "are"]


def bare_plurals(source: str) -> Iterator[str]:
    """A number that is not known before, with the word for several behind it."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.JoinedStr):
            continue
        for number, words in zip(node.values, node.values[1:], strict=False):
            if not isinstance(number, ast.FormattedValue) or not isinstance(words, ast.Constant):
                continue
            # What is written in capitals is a limit, and more than one.
            limit = isinstance(number.value, ast.Name) and number.value.id.isupper()
            if not limit and COUNTED.match(str(words.value)):
                yield ast.unparse(node)


def test_no_command_says_so_many_of_one() -> None:
    found = {
        str(file.relative_to(COMMANDS)): told
        for file in sorted(COMMANDS.rglob("*.py"))
        if "bench" not in file.parts and (told := list(bare_plurals(file.read_text("utf-8"))))
    }

    assert found == {}


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (
            '{"op": "spot.parse_min_available", "input": {"annotation": "1", "replicas": 3}}',
            "A count: 1 pod.",
        ),
        (
            '{"op": "spot.parse_min_available", "input": {"annotation": "40%", "replicas": 1}}',
            "40% of 1 replica, rounded up: 1 pod.",
        ),
        (
            '{"op": "spot.target", "input": {"annotation": "1", "replicas": 3, "kind": "Deployment"}}',
            "'1' of 3 replicas asks for 1 pod.\nTarget: min(1, 3) = 1 pod on on-demand nodes",
        ),
        (
            (
                '{"op": "placement.deploy", "input": {"strategy": "EACH", "count": 1,'
                ' "nodes_limit": 1, "nodes": [{"name": "n1", "capacity": 0}]}}'
            ),
            "wanted is 1 node, and 0 can serve",
        ),
    ],
)
def test_solve_counts_one(asked: str, told: str) -> None:
    said = CliRunner().invoke(as_asked(["solve"]), ["solve", "--explain"], input=asked).stdout

    assert told in said
