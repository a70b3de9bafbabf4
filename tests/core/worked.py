"""How a worked example stands on a page of docs/core, for the tests that ask each and compare.

An example is a block marked ``worked``: what is asked, four dashes, what comes out. On most pages a
line is a word and what is said of it, and no word stands twice on one side; a page whose examples
are written otherwise brings its own ``reading`` of a side. What the words mean is for the tests.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "core"
BLOCK = re.compile(r"^```worked\n(.*?)^```$", re.DOTALL | re.MULTILINE)

Lines = dict[str, str]


def words(text: str) -> Lines:
    """Each line's first word, and the rest of the line."""
    lines = word_by_word(text)
    assert len(dict(lines)) == len(lines), "the same word twice"
    return dict(lines)


def word_by_word(text: str) -> list[tuple[str, str]]:
    """The same line by line, where a word may stand more than once and the order tells something."""
    lines = [line.split(maxsplit=1) for line in text.strip().splitlines()]
    return [(first, "".join(rest)) for first, *rest in lines]


def examples(page: str, reading: Callable[[str], object] = words) -> list[Any]:
    """Of each block on the page: what is asked and what comes out, as parameters of a test."""
    text = text_of(page)
    found = []
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        asked, dashes, answered = block[1].partition("\n----\n")
        assert dashes, f"{page}:{line} has no line of four dashes"
        found.append(pytest.param(reading(asked), reading(answered), id=f"{page}:{line}"))
    return found


def text_of(page: str) -> str:
    return (PAGES / page).read_text(encoding="utf-8")


def pairs(text: str) -> list[tuple[str, str]]:
    """The names and values of a line such as ``a=1 b=2``."""
    split = (pair.partition("=") for pair in text.split())
    return [(name, value) for name, _, value in split]


def counts(text: str) -> dict[str, int]:
    return {name: int(number) for name, number in pairs(text)}


def listed(amounts: Mapping[Any, object]) -> str:
    """What ``pairs`` reads."""
    return " ".join(f"{name}={amount}" for name, amount in amounts.items())
