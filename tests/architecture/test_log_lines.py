"""A line of a log is for programs first: its name is one word, and its reason is always under ``why``."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}
NAME = re.compile(r"[a-z]+(_[a-z]+)*")
NOT_WHY = {"error", "said", "message", "cause"}


def lines_told(source: str) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            whose = node.func.value
            if isinstance(whose, ast.Name) and whose.id == "log" and node.func.attr in LEVELS:
                yield node


def wrong(source: str) -> list[str]:
    """What is told in another form."""
    found = []
    for call in lines_told(source):
        name = call.args[0]
        choices = [name.body, name.orelse] if isinstance(name, ast.IfExp) else [name]
        found += [
            f"{call.lineno}: {one.value!r} is no name"
            for one in choices
            if isinstance(one, ast.Constant) and not NAME.fullmatch(str(one.value))
        ]
        found += [
            f"{call.lineno}: {keyword.arg}= is why="
            for keyword in call.keywords
            if keyword.arg in NOT_WHY
        ]
    return found


@pytest.mark.parametrize("room", ["consumers", "ledger"])
def test_every_line_has_a_name_and_its_reason_in_one_place(room: str) -> None:
    files = sorted((ROOT / room).rglob("*.py"))
    found = {str(file.relative_to(ROOT)): wrong(file.read_text()) for file in files}

    assert {file: lines for file, lines in found.items() if lines} == {}
    assert any(list(lines_told(file.read_text())) for file in files)


def test_what_is_wrong_is_found() -> None:
    told = 'log.info("going on" if odd else "held")\nlog.warning("fenced", error=str(error))'

    assert wrong(told) == ["1: 'going on' is no name", "2: error= is why="]
