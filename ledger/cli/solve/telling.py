"""Pieces of what is told to people who ask to have an answer explained."""

from collections.abc import Container, Sequence


def yes(answer: bool) -> str:
    """The word for it."""
    return "yes" if answer else "no"


def table(rows: Sequence[Sequence[str]], *, numbers: Container[int] = ()) -> list[str]:
    """The rows with their columns below one another, two spaces apart.

    Columns of ``numbers``, by their places from 0, end below one another; the others begin so.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if place in numbers else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
