"""Pieces of what is told to people who ask to have an answer explained."""

from collections.abc import Sequence


def yes(answer: bool) -> str:
    """The word for it."""
    return "yes" if answer else "no"


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows with their columns below one another, two spaces apart."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
