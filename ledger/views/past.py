"""How a table of state is brought up to date so that what it said before can still be asked for.

Beside each such table is one of the same rows as they were, each from a position until another. A row that
gives way to another one goes there, in the transaction that records the decisions. What a batch of events
put there and took away again goes there too: which rows held at a position does not tell how the events
around it were batched.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import asyncpg

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class State:
    """A table of ``ledger``: what names a row, with its types, and what else a row says."""

    table: str
    key: Mapping[str, str]
    says: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of a row, with the fleet and since when it holds."""
        return ("fleet", *self.key, *self.says, "from_position")


PLACEMENTS: Final = State(
    "placements",
    {"kind": "text", "subject": "text", "cluster": "text", "node": "text", "disk": "text"},
    ("count", "number", "since_position"),
)
RUNNING_TASKS: Final = State(
    "running_tasks",
    {"namespace": "text", "job": "text", "task": "bigint"},
    ("cluster", "node", "number", "cpu", "memory", "storage"),
)
FAIR_SHARES: Final = State(
    "fair_shares",
    {"queue": "text", "namespace": "text", "resource": "text"},
    (
        "number",
        "weight",
        "requested",
        "deserved",
        "deserved_exact",
        "allocated",
        "weighted_share",
    ),
)
OPEN_REFUSALS: Final = State(
    "open_refusals",
    {"wanted": "text", "subject": "text"},
    ("number", "reason", "waits_for"),
)
DISK_BOOKS: Final = State(
    "disk_books",
    {"cluster": "text", "node": "text", "disk": "text"},
    ("maximum", "available", "reserved", "scheduled"),
)
JOB_BOOKS: Final = State(
    "job_books",
    {"namespace": "text", "job": "text"},
    ("queue", "tasks", "cpu", "memory", "storage"),
)
QUEUE_BOOKS: Final = State(
    "queue_books",
    {"queue": "text", "namespace": "text"},
    ("tasks", "cpu", "memory", "storage"),
)


class Change(NamedTuple):
    """What an event, or a decision that it made due, made of a row."""

    position: int
    key: Row
    says: Row | None
    """None takes the row away."""


class Span(NamedTuple):
    """A row, and where it held: from the one position on, and no more at the other."""

    row: Row
    """Its key and what it says."""
    begin: int
    end: int

    @property
    def fork(self) -> int:
        """The place in it that is divisible by the highest power of two, counted from 1.

        Who looks for the rows of a position looks at the few forks whose spans can have it.
        """
        first, last = self.begin + 1, self.end
        return last & -(1 << max((first ^ last).bit_length() - 1, 0))


async def bring_up_to_date(
    connection: asyncpg.Connection, fleet: int, state: State, changes: Iterable[Change]
) -> None:
    """Make these changes, those of one row in the order of their positions."""
    made = list(changes)
    if not made:
        return
    keys = sorted({change.key for change in made})
    standing = await _taken_out(connection, fleet, state, keys)
    past = changed(standing, made)
    now = [(fleet, *key, *says, begin) for key, (says, begin) in sorted(standing.items())]
    await write_now(connection, state, now)
    await write_past(connection, fleet, state, past)


def changed(standing: dict[Row, tuple[Row, int]], changes: Iterable[Change]) -> list[Span]:
    """Make these changes of what rows say, each since a position; what held until one of them."""
    past: list[Span] = []
    for change in changes:
        says, begin = standing.get(change.key, (None, 0))
        if change.says == says:
            continue
        if says is not None and begin < change.position:
            past.append(Span((*change.key, *says), begin, change.position))
        if change.says is None:
            del standing[change.key]
        else:
            standing[change.key] = (change.says, change.position)
    return past


async def _taken_out(
    connection: asyncpg.Connection, fleet: int, state: State, keys: Sequence[Row]
) -> dict[Row, tuple[Row, int]]:
    """What the rows of these keys say, and since when: they are written anew."""
    types = enumerate(state.key.values(), 2)
    rows = await connection.fetch(
        f"DELETE FROM ledger.{state.table} s"  # noqa: S608 - our own names
        f" USING unnest({', '.join(f'${place}::{type_}[]' for place, type_ in types)})"
        f" AS t({', '.join(state.key)})"
        f" WHERE s.fleet = $1 AND {' AND '.join(f's.{name} = t.{name}' for name in state.key)}"
        f" RETURNING {', '.join(f's.{name}' for name in state.columns[1:])}",
        fleet,
        *(list(column) for column in zip(*keys, strict=True)),
    )
    size = len(state.key)
    return {tuple(row[:size]): (tuple(row[size:-1]), row[-1]) for row in map(tuple, rows)}


async def write_now(connection: asyncpg.Connection, state: State, rows: Sequence[Row]) -> None:
    """Write rows as they are now, spelled as ``State.columns`` has them."""
    if rows:
        await connection.copy_records_to_table(
            state.table, schema_name="ledger", columns=state.columns, records=rows
        )


async def write_past(
    connection: asyncpg.Connection, fleet: int, state: State, spans: Sequence[Span]
) -> None:
    """Write rows as they were."""
    if spans:
        await connection.copy_records_to_table(
            f"past_{state.table}",
            schema_name="ledger",
            columns=(*state.columns, "until_position", "fork"),
            records=[(fleet, *one.row, one.begin, one.end, one.fork) for one in spans],
        )
