"""Rows into tables, many or few.

COPY is the cheapest way in for many rows and costs a few more messages between client and server than a
statement does. Where a commit has to wait for a handful of rows, as an admission does, these messages
are most of the waiting: then the rows of several tables go in one statement.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import asyncpg

FEW: Final = 16
"""Rows that go into one statement. Each number of them is a statement of its own, which is prepared once
for each connection."""


class Rows(NamedTuple):
    """What a table gets."""

    table: str
    columns: tuple[str, ...]
    records: Sequence[tuple[Any, ...]]


async def write(
    connection: asyncpg.Connection,
    table: str,
    columns: tuple[str, ...],
    records: Sequence[tuple[Any, ...]],
) -> None:
    """Write rows into a table of the log."""
    await write_all(connection, [Rows(table, columns, records)])


async def write_all(connection: asyncpg.Connection, tables: Sequence[Rows]) -> None:
    """Write rows into several of them, whatever order they are written in."""
    few = [one for one in tables if 0 < len(one.records) <= FEW]
    if few:
        shape = tuple((one.table, one.columns, len(one.records)) for one in few)
        values = [value for one in few for record in one.records for value in record]
        await connection.execute(_insert(shape), *values)
    for table, columns, records in tables:
        if len(records) > FEW:
            await connection.copy_records_to_table(
                table, schema_name="ledger", columns=columns, records=records
            )


@cache
def _insert(shape: tuple[tuple[str, tuple[str, ...], int], ...]) -> str:
    inserts = []
    last = 0
    for table, columns, count in shape:
        rows = []
        for _ in range(count):
            rows.append(", ".join(f"${last + place}" for place in range(1, len(columns) + 1)))
            last += len(columns)
        values = ", ".join(f"({row})" for row in rows)
        inserts.append(f"INSERT INTO ledger.{table} ({', '.join(columns)}) VALUES {values}")  # noqa: S608 - names are constants of the callers, values are parameters
    *before, final = inserts
    named = ", ".join(f"_{number} AS ({one})" for number, one in enumerate(before))
    return f"WITH {named} {final}" if named else final
