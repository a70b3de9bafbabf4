"""What is in force, who runs, what is refused and how the book stands, made again from history.

The same steps as in ``ledger.views`` bring it up to date, page after page; what they keep in Postgres
is kept in memory here, and held against Postgres at the end. What held until something else did is
held against its table as it comes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from ledger.log.database import Connection, refusals_named
from ledger.log.fleets import Fleet
from ledger.reducers.node_books import node_books
from ledger.reducers.world import World
from ledger.replay.followed import Followed
from ledger.replay.report import Divergence
from ledger.replay.stored_rows import StoredRows, shown, unlike
from ledger.units import Subject
from ledger.views.allocations import share_changes, total_changes, weight_changes
from ledger.views.books import disk_changes, job_changes, queue_changes
from ledger.views.incidents import happenings
from ledger.views.incidents import settle as incidents_settled
from ledger.views.node_books import NODE_BOOKS, page_rows
from ledger.views.past import (
    DISK_BOOKS,
    FAIR_SHARES,
    JOB_BOOKS,
    NAMESPACE_WEIGHTS,
    OPEN_INCIDENTS,
    OPEN_REFUSALS,
    PLACED_BY,
    PLACEMENTS,
    QUEUE_BOOKS,
    RUNNING_TASKS,
    SHARED_TOTALS,
    Change,
    Span,
    State,
    changed,
)
from ledger.views.projection import Held, Placed, Where, placements_turned, turn_places
from ledger.views.refusals import Open, Question, questions_told, settle
from ledger.views.running_tasks import task_changes
from ledger.views.table import Row, Table

STATES: Final = (
    PLACEMENTS,
    PLACED_BY,
    RUNNING_TASKS,
    FAIR_SHARES,
    NAMESPACE_WEIGHTS,
    SHARED_TOTALS,
    OPEN_REFUSALS,
    OPEN_INCIDENTS,
    DISK_BOOKS,
    JOB_BOOKS,
    QUEUE_BOOKS,
)

_PAGES: Final = 1000
"""Pages of the book made at a time."""


def now_table(state: State) -> Table:
    """Where the rows of a state are kept as they are now."""
    return Table(state.table, state.columns, key=1 + len(state.key))


def past_table(state: State) -> Table:
    """Where they are kept as they were, by where they ended."""
    columns = ("fleet", "until_position", "from_position", *state.key, *state.says, "fork")
    return Table(f"past_{state.table}", columns, key=3 + len(state.key))


class Turned(NamedTuple):
    """What a page of history brought to an end."""

    refusals: list[Row]
    incidents: list[Row]
    were: dict[str, list[Row]]
    """By the table of the state: what held until something else did."""


class InForce:
    """What holds after the history read so far."""

    def __init__(self, fleet: int) -> None:
        self._fleet = fleet
        self._places: dict[Placed, dict[Where, Held]] = {}
        self._open: dict[Question, Open] = {}
        self._questions: dict[int, Question] = {}
        self._rows: dict[str, dict[Row, tuple[Row, int]]] = {
            state.table: {} for state in STATES if state not in (PLACEMENTS, OPEN_REFUSALS)
        }

    def take(self, page: Followed) -> Turned:
        """Go on with a page of history."""
        decisions, ended, released = page.decisions, page.ended, page.released
        moves = placements_turned(decisions, ended, released)
        places, by = turn_places(self._places, moves)
        past: dict[str, list[Span]] = {PLACEMENTS.table: places}
        told: tuple[tuple[State, Iterable[Change]], ...] = (
            (PLACED_BY, by),
            (RUNNING_TASKS, task_changes(decisions, released)),
            (FAIR_SHARES, share_changes(decisions)),
            (NAMESPACE_WEIGHTS, weight_changes(decisions)),
            (SHARED_TOTALS, total_changes(decisions)),
            (DISK_BOOKS, disk_changes(page.disks)),
            (JOB_BOOKS, job_changes(page.jobs)),
            (QUEUE_BOOKS, queue_changes(page.queues)),
        )
        for state, changes in told:
            past[state.table] = changed(self._rows[state.table], changes)
        turn = questions_told(decisions, ended)
        touched = {question for question, _ in turn.told}
        touched |= {self._questions[number] for number in turn.moot if number in self._questions}
        open_ = {question: self._open[question] for question in touched if question in self._open}
        for question, was in open_.items():
            del self._open[question], self._questions[was.number]
        over, past[OPEN_REFUSALS.table] = settle(self._fleet, open_, turn)
        self._open |= open_
        self._questions |= {one.number: question for question, one in open_.items()}
        righted, past[OPEN_INCIDENTS.table] = incidents_settled(
            self._fleet,
            self._rows[OPEN_INCIDENTS.table],
            happenings(decisions, page.righted),
        )
        were = {table: list(map(self._was, spans)) for table, spans in past.items()}
        return Turned(over, righted, were)

    async def end(self, connection: Connection, fleet: Fleet, world: World) -> Divergence | None:
        """Hold all of it against what is stored."""
        for state in STATES:
            table = now_table(state)
            trouble = await _compared(connection, fleet, table, self._now(state), self._by)
            if trouble is not None:
                return trouble
        return await _compared(connection, fleet, NODE_BOOKS, self._nodes(world), self._by)

    def _by(self, table: Table, row: Row) -> int:
        """The decision that a row is of; -1 where it is of none."""
        if "number" in table.columns:
            return int(row[table.columns.index("number")])
        if table.name != PLACEMENTS.table:
            return -1
        says, _ = self._rows[PLACED_BY.table].get(row[1 : 1 + len(PLACED_BY.key)], ((-1,), 0))
        return int(says[0])

    def _was(self, span: Span) -> Row:
        return (self._fleet, span.end, span.begin, *span.row, span.fork)

    def _now(self, state: State) -> Iterator[Row]:
        if state is PLACEMENTS:
            for key, places in self._places.items():
                for where, held in places.items():
                    yield (self._fleet, *key, *where, *held)
        elif state is OPEN_REFUSALS:
            for question, refusal in self._open.items():
                yield (self._fleet, *question, *refusal)
        else:
            for key, (says, begin) in self._rows[state.table].items():
                yield (self._fleet, *key, *says, begin)

    def _nodes(self, world: World) -> Iterator[Row]:
        known = {Subject(name) for noun, name in world.objects.known if noun == "node"}
        held = {Subject(name) for name in (*world.book, *world.jobs.on)}
        held |= {crew.node for crew in world.pods.crews}
        for names in _some(known | held):
            yield from page_rows(self._fleet, node_books(world, names))


def _some(names: Iterable[Subject]) -> Iterator[Sequence[Subject]]:
    in_order = sorted(names)
    for first in range(0, len(in_order), _PAGES):
        yield in_order[first : first + _PAGES]


async def _compared(
    connection: Connection,
    fleet: Fleet,
    table: Table,
    expected: Iterable[Row],
    by: Callable[[Table, Row], int],
) -> Divergence | None:
    """The first row of a table that is not as it should be; ``by`` says which decision a row is of."""
    shape = shown(table)
    wanted = {row[1 : table.key]: row for row in map(shape, expected)}
    stored = StoredRows(connection, fleet, table, by=table.columns[1])
    while rows := await stored.next():
        for row in rows:
            trouble = unlike(table, wanted.pop(row[1 : table.key], None), row)
            if trouble is not None:
                return await _placed(connection, fleet, trouble, by(table, row))
    if not wanted:
        return None
    missing = wanted[min(wanted)]
    trouble = unlike(table, missing, None)
    assert trouble is not None, "it is not there"
    return await _placed(connection, fleet, trouble, by(table, missing))


async def _placed(
    connection: Connection, fleet: Fleet, trouble: Divergence, number: int
) -> Divergence:
    if number < 0:
        return trouble
    with refusals_named():
        position = await connection.fetchval(
            "SELECT position FROM ledger.decisions WHERE fleet = $1 AND number = $2",
            fleet.number,
            number,
        )
    return replace(trouble, position=position, decision=number)
