"""A table that is projected from decisions: its name, its columns, and which of them are its key.

Who writes a row and who later holds it against the decisions that it follows from
(``ledger.replay``) mean the same columns in the same order.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import asyncpg

Row = tuple[Any, ...]


class Table(NamedTuple):
    """Where rows of a projection are kept. The first column is the fleet's number."""

    name: str
    columns: tuple[str, ...]
    key: int
    """How many of the columns, from the first on, tell one row from the others."""


async def put(connection: asyncpg.Connection, table: Table, rows: Sequence[Row]) -> None:
    """Write these rows, if there are any."""
    if rows:
        await connection.copy_records_to_table(
            table.name, schema_name="ledger", columns=table.columns, records=rows
        )
