"""Rows of a projection as they are stored, read along in the order of what they follow from.

A cursor is held over each table, so that no table is in memory however long its history. Numbers and
JSON are compared as they are shown: 1 and 1.0 are not the same.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, Final

from ledger.log.database import Connection, refusals_named
from ledger.log.fleets import Fleet
from ledger.replay.report import ABSENT, Divergence
from ledger.views.table import Row, Table

PAGE: Final = 2000

NUMERIC: Final = frozenset(
    {
        "allocated",
        "cpu",
        "deserved",
        "memory",
        "requested",
        "scheduled",
        "storage",
        "total",
        "weight",
    }
)
"""Columns that are shown to every digit they have."""

JSON: Final = frozenset({"cores", "volumes", "declared", "placed", "seen"})


class StoredRows:
    """The rows of a table that belong to a fleet, by one of its whole-numbered columns."""

    def __init__(
        self,
        connection: Connection,
        fleet: Fleet,
        table: Table,
        *,
        by: str,
        instead: dict[str, str] | None = None,
        beside: str = "",
    ) -> None:
        """``instead`` has what is read in the place of a column, ``beside`` what that is read from."""
        self.table = table
        self._place = table.columns.index(by)
        self._shown = shown(table)
        columns = ", ".join(_read(name, instead or {}) for name in table.columns)
        order = ", ".join(dict.fromkeys((by, *table.columns[1 : table.key])))
        self._query = (
            f"SELECT {columns} FROM ledger.{table.name} {beside} WHERE fleet = $1 ORDER BY {order}"  # noqa: S608 - names are constants of the modules that ask, the fleet is a parameter
        )
        self._connection = connection
        self._fleet = fleet
        self._cursor: Any = None
        self._more = True
        self._waiting: deque[Row] = deque()

    async def through(self, last: int) -> list[Row]:
        """The rows up to this number that were not read before, in order."""
        while self._more and (not self._waiting or self._waiting[-1][self._place] <= last):
            await self._read_more()
        found: list[Row] = []
        while self._waiting and self._waiting[0][self._place] <= last:
            found.append(self._waiting.popleft())
        return found

    async def next(self) -> list[Row]:
        """Some more rows, whatever their number; none at the end."""
        if not self._waiting and self._more:
            await self._read_more()
        found = list(self._waiting)
        self._waiting.clear()
        return found

    async def _read_more(self) -> None:
        with refusals_named():
            if self._cursor is None:
                self._cursor = await self._connection.cursor(self._query, self._fleet.number)
            rows = await self._cursor.fetch(PAGE)
        self._more = len(rows) == PAGE
        self._waiting.extend(self._shown(row) for row in rows)


def shown(table: Table) -> Callable[[Any], Row]:
    """How a row of a table is compared: its JSON in one spelling, its numbers as text."""
    spelled = [
        (place, _spelled if _is_json(table, name) else _digits)
        for place, name in enumerate(table.columns)
        if _is_json(table, name) or name in NUMERIC
    ]
    if not spelled:
        return tuple

    def one(row: Any) -> Row:
        values = list(row)
        for place, spell in spelled:
            values[place] = spell(values[place])
        return tuple(values)

    return one


def difference(
    table: Table, expected: Iterable[Row], stored: Sequence[Row]
) -> tuple[Row, Divergence] | None:
    """The first row, by its key, that is not stored as it should be, or should not be there."""
    shape = shown(table)
    wanted = sorted(map(shape, expected), key=itemgetter(slice(1, table.key)))
    there = sorted(stored, key=itemgetter(slice(1, table.key)))
    if wanted == there:
        return None
    by_key = {row[1 : table.key]: row for row in wanted}
    found = {row[1 : table.key]: row for row in there}
    for key in sorted(by_key.keys() | found.keys()):
        trouble = unlike(table, by_key.get(key), found.get(key))
        if trouble is not None:
            return by_key.get(key) or found[key], trouble
    # Tables of what was have no key of their own: a row may stand there again.
    again = next(two for one, two in pairwise(there) if one[1 : table.key] == two[1 : table.key])
    trouble = unlike(table, None, again)
    assert trouble is not None, "it is one too many"
    return again, trouble


def unlike(table: Table, wanted: Row | None, stored: Row | None) -> Divergence | None:
    """What is wrong with a row; the first of its columns that differs is named."""
    if wanted == stored:
        return None
    one = wanted or stored
    assert one is not None, "one of them is there"
    key = " ".join(str(value) for value in one[1 : table.key])
    if wanted is None:
        return Divergence(
            "row_unexpected", None, subject=key, path=table.name, recorded=str(one[table.key :])
        )
    if stored is None:
        return Divergence(
            "row_missing", None, subject=key, path=table.name, recomputed=str(one[table.key :])
        )
    place = next(n for n, (a, b) in enumerate(zip(wanted, stored, strict=True)) if a != b)
    return Divergence(
        "row_differs",
        None,
        subject=key,
        path=f"{table.name}.{table.columns[place]}",
        recorded=_told(stored[place]),
        recomputed=_told(wanted[place]),
    )


def _told(value: object) -> str:
    return ABSENT if value is None else str(value)


def _is_json(table: Table, name: str) -> bool:
    return name in JSON or (table.name == "node_books" and name == "tasks")


def _read(name: str, instead: dict[str, str]) -> str:
    if name in NUMERIC:
        return f"{name}::text"
    return instead.get(name, name)


def _digits(value: object) -> object:
    return None if value is None else str(value)


def _spelled(value: str | None) -> str | None:
    return None if value is None else json.dumps(json.loads(value), sort_keys=True)
