"""Rows into a table, many or few.

COPY is the cheapest way in for many rows and costs a few more messages between client and server than a
statement does. Where a commit has to wait for a handful of rows, as an admission does, these messages
are most of the waiting.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import asyncpg

FEW: Final = 16
"""Rows that go into one statement. Each number of them is a statement of its own, which is prepared once
for each connection."""


async def write(
    connection: asyncpg.Connection,
    table: str,
    columns: tuple[str, ...],
    records: Sequence[tuple[Any, ...]],
) -> None:
    """Write rows into a table of the log."""
    if len(records) > FEW:
        await connection.copy_records_to_table(
            table, schema_name="ledger", columns=columns, records=records
        )
    elif records:
        values = [value for record in records for value in record]
        await connection.execute(_insert(table, columns, len(records)), *values)


@cache
def _insert(table: str, columns: tuple[str, ...], count: int) -> str:
    width = len(columns)
    rows = (
        ", ".join(f"${row * width + column}" for column in range(1, width + 1))
        for row in range(count)
    )
    values = ", ".join(f"({row})" for row in rows)
    into = f"ledger.{table} ({', '.join(columns)})"
    return f"INSERT INTO {into} VALUES {values}"  # noqa: S608 - names are constants of the callers, values are parameters
