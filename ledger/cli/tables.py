"""How a command prints a table: what others wrote stands in it as they wrote it, on one line in a pipe."""

from typing import Final

from rich.console import Console
from rich.table import Table

WITHOUT_AN_EDGE: Final = 10_000
"""Columns of a pipe: it has no edge to fold at."""


def print_table(table: Table) -> Console:
    """Print a table on standard output; nothing in its cells is markup. What follows it can go there."""
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = WITHOUT_AN_EDGE
    console.print(table)
    return console
