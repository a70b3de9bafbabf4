"""A table that is projected from decisions, and how rows are written into such tables.

Who writes a row and who later holds it against the decisions that it follows from
(``ledger.replay``) mean the same columns in the same order.

What a batch of decisions comes to is a few rows in each of a dozen tables. COPY is the cheapest way in for
many rows of one table, but costs messages between client and server, and these would be most of the waiting,
on both sides: what is little goes in one statement for several tables. Its text depends on the tables and
not on how many rows there are, so that it is prepared once for each connection; a table that gets nothing
is not named, because each of them costs something to begin with.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import asyncpg

FEW: Final = 200
"""Rows of a table that go into the one statement; from about here on COPY is cheaper."""

Row = tuple[Any, ...]


class Table(NamedTuple):
    """Where rows of a projection are kept. The first column is the fleet's number."""

    name: str
    columns: tuple[str, ...]
    key: int
    """How many of the columns, from the first on, tell one row from the others."""

    def gets(self, records: Sequence[Row]) -> "Rows":
        """These rows, to be written."""
        return Rows(self.name, self.columns, records)


class Rows(NamedTuple):
    """Rows that a table gets."""

    table: str
    columns: tuple[str, ...]
    records: Sequence[Row]


class Put(NamedTuple):
    """Rows that take the place of those of the same key, where there are any."""

    table: str
    columns: tuple[str, ...]
    key: int
    records: Sequence[Row]


class Gone(NamedTuple):
    """Rows that a table loses, by what names them."""

    table: str
    columns: tuple[str, ...]
    records: Sequence[Row]


Write = Rows | Put | Gone


async def write_all(connection: asyncpg.Connection, writes: Sequence[Write]) -> None:
    """Do all of this, in whatever order: no two of them may be about the same row."""
    many = [one for one in writes if isinstance(one, Rows) and len(one.records) > FEW]
    few = [one for one in writes if one.records and one not in many]
    if few:
        for one in few:
            await types(connection, one.table)
        lists = [each for one in few for each in zip(*one.records, strict=True)]
        await connection.execute(_statement(tuple(one._replace(records=()) for one in few)), *lists)
    for table, names, records in many:
        await connection.copy_records_to_table(
            table, schema_name="ledger", columns=names, records=records
        )


_TYPES: Final[dict[str, Mapping[str, str]]] = {}
"""By table and column. They are the same in every database of the schema that this release speaks to."""


async def types(connection: asyncpg.Connection, table: str) -> Mapping[str, str]:
    """The type of each column of a projection."""
    if table not in _TYPES:
        found = await connection.fetch(
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute"
            " WHERE attrelid = ('ledger.' || $1)::regclass AND attnum > 0 AND NOT attisdropped",
            table,
        )
        _TYPES[table] = dict(map(tuple, found))
    return _TYPES[table]


def listed(table: str, columns: Sequence[str], *, first: int) -> str:
    """Parameters from a number on, a list for each of these columns, as the rows that they make."""
    lists = [f"${place}::{_TYPES[table][name]}[]" for place, name in enumerate(columns, first)]
    return f"unnest({', '.join(lists)}) AS t({', '.join(columns)})"


def found(table: str, columns: Sequence[str], *, first: int, told: str) -> str:
    """What is told of the rows of a table that such parameters name.

    They are looked for one after the other, by their key: how many there will be is not known when it is
    settled how they are looked for.
    """
    named = " AND ".join(f"s.{name} = t.{name}" for name in columns)
    return (
        f"SELECT f.* FROM {listed(table, columns, first=first)}"  # noqa: S608 - our own names
        f" CROSS JOIN LATERAL (SELECT {told} FROM ledger.{table} s WHERE {named} OFFSET 0) AS f"
    )


@cache
def _statement(shape: tuple[Write, ...]) -> str:
    parts = []
    first = 1
    for one in shape:
        parts.append(_part(one, first))
        first += len(one.columns)
    *before, final = parts
    named = ", ".join(f"_{number} AS ({part})" for number, part in enumerate(before))
    return f"WITH {named} {final}" if named else final


def _part(one: Write, first: int) -> str:
    # Names are constants of the callers, values are parameters.
    into = f"INSERT INTO ledger.{one.table} ({', '.join(one.columns)})"
    match one:
        case Rows(table, columns):
            return f"{into} SELECT * FROM {listed(table, columns, first=first)}"  # noqa: S608 - see above
        case Put(table, columns, key):
            now = ", ".join(f"{name} = excluded.{name}" for name in columns[key:])
            return (
                f"{into} SELECT * FROM {listed(table, columns, first=first)}"  # noqa: S608 - see above
                f" ON CONFLICT ({', '.join(columns[:key])}) DO UPDATE SET {now}"
            )
        case Gone(table, columns):
            rows = found(table, columns, first=first, told="s.ctid")
            return f"DELETE FROM ledger.{table} WHERE ctid = ANY (ARRAY({rows}))"  # noqa: S608 - see above
