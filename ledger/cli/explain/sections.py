"""What is said of a decision, section by section, and how it stands on a page.

Each kind of decision tells its own sections, in one order: what was asked, what was known, the last
result, the steps with their numbers, the draw, who lost, what changed, and what made it due. A page
is 80 columns wide, as far as names allow; tables and commands are never broken.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from textwrap import wrap
from typing import Final

from ledger.cli.explain import words
from ledger.cli.solve.meanings import WHY_IT_GOT_SO_MANY
from ledger.cli.solve.telling import table
from ledger.facts.reason import Losers

WIDTH: Final = 80
INDENT: Final = "  "

ROWS_TOLD: Final = 40
"""Rows of a table that a person wants to see; `--json` has all of them."""

LOSERS_TOLD: Final[tuple[Mapping[str, str], ...]] = (
    {str(code): told for code, told in WHY_IT_GOT_SO_MANY.items()},
)
"""Why a node got nothing, in the words of the explainers."""


@dataclass(slots=True)
class Sections:
    """Lines under headings, in the order in which they are read."""

    pod: list[str] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    why_not: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    last_result: list[str] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    draw: list[str] = field(default_factory=list)
    losers: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    caused_by: list[str] = field(default_factory=list)
    now: list[str] = field(default_factory=list)
    then: list[str] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)

    def told(self) -> dict[str, list[str]]:
        """Those that say something, by name."""
        every = {
            "pod": self.pod,
            "pending": self.pending,
            "why_not": self.why_not,
            "asked": self.asked,
            "known": self.known,
            "last_result": self.last_result,
            "steps": self.steps,
            "draw": self.draw,
            "losers": self.losers,
            "changed": self.changed,
            "caused_by": self.caused_by,
            "now": self.now,
            "then": self.then,
            "checked": self.checked,
        }
        return {name: lines for name, lines in every.items() if lines}


def page(sections: Sections) -> list[tuple[str, list[str]]]:
    """Each heading with its lines, folded where they are prose."""
    return [
        (
            name.replace("_", " ").upper(),
            [folded for line in lines for folded in fold(line)],
        )
        for name, lines in sections.told().items()
    ]


def fold(line: str, *, indent: str = INDENT) -> list[str]:
    """A line of prose as several; what has columns, or is for a shell, is left as it is."""
    if len(line) <= WIDTH - len(indent) or INDENT in line or line.startswith("echo "):
        return [f"{indent}{line}" if line else ""]
    return wrap(
        line,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}{INDENT}",
        break_long_words=False,
        break_on_hyphens=False,
    )


def rows(head: Sequence[str], body: Sequence[Sequence[str]], *, numbers: range) -> list[str]:
    """A table with its first rows, and how many more there are."""
    lines = table([head, *islice(body, ROWS_TOLD)], numbers=numbers)
    if len(body) > ROWS_TOLD:
        lines.append(f"and {len(body) - ROWS_TOLD} more: `--json` has them")
    return lines


def losers(found: Losers, *, words_of: Sequence[Mapping[str, str]] = ()) -> list[str]:
    """Who lost and why, and how many that are not named."""
    if not found.counts:
        return ["nobody"]
    lines = [f"{name}: {why_lost(code, words_of)}" for name, code in found.named]
    total = sum(count for _, count in found.counts)
    if total > len(found.named):
        counted = ", ".join(f"{code} {count}" for code, count in found.counts)
        lines.append(f"the first {len(found.named)} of {total}; of all: {counted}")
    return lines


def _compared(code: str, number: str) -> str:
    if not number.isdigit():
        return number
    if code == "disk_pressure":
        return f"{number}%"
    return words.bytes_(int(number)) if code in words.COMPARED_IN_BYTES else number


def why_lost(code: str, words_of: Sequence[Mapping[str, str]] = ()) -> str:
    """What a loser's code means, with the numbers that stand behind it."""
    first, _, rest = code.partition(" ")
    if first == "anti_affinity":
        rung, _, others = rest.partition(" ")
        return f"is kept free of them by {', '.join(others.split())} (anti_affinity on {rung})"
    told = words.LOST_BECAUSE.get(first)
    for more in words_of:
        told = told or more.get(first)
    numbers = f", {' against '.join(_compared(first, one) for one in rest.split())}" if rest else ""
    return f"{first}{numbers}" if told is None else f"{told} ({first}{numbers})"
