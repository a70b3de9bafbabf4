"""How a table of state is brought up to date so that what it said before can still be asked for.

Beside each such table is one of the same rows as they were, each from a position until another. A row that
gives way to another one goes there, in the transaction that records the decisions. What a batch of events
put there and took away again goes there too: which rows held at a position does not tell how the events
around it were batched.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

import asyncpg

from ledger.views.table import Gone, Put, Row, Rows, Write, found, types, write_all


@dataclass(frozen=True, slots=True)
class State:
    """A table of ``ledger``: what names a row, and what else a row says."""

    table: str
    key: tuple[str, ...]
    says: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of a row, with the fleet and since when it holds."""
        return ("fleet", *self.key, *self.says, "from_position")


PLACEMENTS: Final = State(
    "placements",
    ("kind", "subject", "cluster", "node", "disk"),
    ("count",),
)
PLACED_BY: Final = State(
    "placed_by",
    ("kind", "subject"),
    ("number",),
)
RUNNING_TASKS: Final = State(
    "running_tasks",
    ("namespace", "job", "task"),
    ("cluster", "node", "number", "cpu", "memory", "storage"),
)
FAIR_SHARES: Final = State(
    "fair_shares",
    ("queue", "namespace", "resource"),
    ("number", "requested", "deserved", "deserved_exact", "allocated"),
)
NAMESPACE_WEIGHTS: Final = State(
    "namespace_weights",
    ("namespace",),
    ("weight",),
)
SHARED_TOTALS: Final = State(
    "shared_totals",
    ("resource",),
    ("total",),
)
OPEN_REFUSALS: Final = State(
    "open_refusals",
    ("wanted", "subject"),
    ("number", "reason", "waits_for"),
)
OPEN_INCIDENTS: Final = State(
    "open_incidents",
    ("subject", "what", "node"),
    ("number",),
)
DISK_BOOKS: Final = State(
    "disk_books",
    ("cluster", "node", "disk"),
    ("maximum", "available", "reserved", "scheduled"),
)
JOB_BOOKS: Final = State(
    "job_books",
    ("namespace", "job"),
    ("queue", "tasks", "cpu", "memory", "storage"),
)
QUEUE_BOOKS: Final = State(
    "queue_books",
    ("queue", "namespace"),
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
        """Where it is looked for."""
        return fork(self.begin, self.end)


def fork(begin: int, end: int) -> int:
    """The place in a span that is divisible by the highest power of two, counted from 1.

    Who looks for the rows of a position looks at the few forks whose spans can have it.
    """
    assert begin < end, "what held nowhere was not there"
    differing = ((begin + 1) ^ end).bit_length()
    return end & -(1 << differing >> 1 or 1)


Standing = tuple[Row, int]
"""What a row says, and since which position all of it holds."""


class Turning(NamedTuple):
    """Rows of a state that may change, and what they come to."""

    state: State
    by: int
    """How many columns of its key, from the first on, they are found by."""
    keys: Sequence[Row]
    turn: Callable[[dict[Row, Standing]], "Turned"]
    """Told the rows that are found, by their whole keys, which it may change."""


class Turned(NamedTuple):
    """What rows of a state came to."""

    standing: Mapping[Row, Standing]
    past: Sequence[Span]
    beside: Sequence[Write] = ()
    """What follows from it for other tables."""


def turning(state: State, changes: Iterable[Change]) -> Turning:
    """Make these changes, those of one row in the order of their positions."""
    made = list(changes)

    def turn(found: dict[Row, Standing]) -> Turned:
        past = changed(found, made)
        return Turned(found, past)

    return Turning(state, len(state.key), sorted({change.key for change in made}), turn)


def changed(standing: dict[Row, Standing], changes: Iterable[Change]) -> list[Span]:
    """Make these changes of what rows say, each since a position; what held until one of them."""
    past: list[Span] = []
    for position, key, after in changes:
        says, begin = standing.get(key, (None, 0))
        if after == says:
            continue
        if says is not None and begin < position:
            past.append(Span((*key, *says), begin, position))
        if after is None:
            del standing[key]
        else:
            standing[key] = (after, position)
    return past


async def bring_up_to_date(
    connection: asyncpg.Connection, fleet: int, turnings: Sequence[Turning]
) -> None:
    """Ask once what stands of all these rows, and write what they come to, state by state."""
    asked = [one for one in turnings if one.keys]
    if not asked:
        return
    before = await _standing(connection, fleet, asked)
    for one, standing in zip(asked, before, strict=True):
        turned = one.turn(dict(standing))
        await write_all(connection, list(_writes(fleet, one.state, standing, turned)))


async def _standing(
    connection: asyncpg.Connection, fleet: int, asked: Sequence[Turning]
) -> list[dict[Row, Standing]]:
    """The rows that are there of those asked for."""
    for one in asked:
        await types(connection, one.state.table)
    rows = await connection.fetch(
        _ask(tuple((one.state, one.by) for one in asked)),
        *(each for one in asked for each in zip(*((fleet, *key) for key in one.keys), strict=True)),
    )
    sizes = [len(one.state.key) for one in asked]
    standing: list[dict[Row, Standing]] = [{} for _ in asked]
    for place, row in rows:
        size = sizes[place]
        standing[place][row[:size]] = (row[size:-1], row[-1])
    return standing


@cache
def _ask(asked: tuple[tuple[State, int], ...]) -> str:
    """One question for all of them, which is one answer to wait for."""
    parts = []
    first = 1
    for place, (state, by) in enumerate(asked):
        columns = ("fleet", *state.key[:by])
        told = ", ".join(f"s.{name}" for name in state.columns[1:])
        parts.append(found(state.table, columns, first=first, told=f"{place}, ROW({told})"))
        first += len(columns)
    return " UNION ALL ".join(parts)


def _writes(
    fleet: int, state: State, before: Mapping[Row, Standing], turned: Turned
) -> Iterator[Write]:
    """What makes the table say so. A row that says what it said stays as it is."""
    standing, past, beside = turned
    key = ("fleet", *state.key)
    new, changed = [], []
    for one, (says, begin) in standing.items():
        was = before.get(one)
        if was is None:
            new.append((fleet, *one, *says, begin))
        elif was != (says, begin):
            changed.append((fleet, *one, *says, begin))
    gone = [(fleet, *one) for one in before if one not in standing]
    were = [(fleet, *row, begin, end, fork(begin, end)) for row, begin, end in past]
    yield Gone(state.table, key, gone)
    yield Put(state.table, state.columns, len(key), changed)
    yield Rows(state.table, state.columns, new)
    yield Rows(f"past_{state.table}", (*state.columns, "until_position", "fork"), were)
    yield from beside
