"""Show that everything people read follows from what is recorded: ``ledger verify --deep``.

The trees are verified first (``ledger.replay.verify``); rows held against records that are not whole
would show nothing. Then events and decisions are read once more, in order, and everything that was
derived from them is made again and compared: the typed columns of events and what they are known by,
the columns and JSON of decisions, the rows of each decision, what events ended, and at last what is
in force now and what the book shows.

All of it is read in one snapshot of the database, so that a decider may go on meanwhile. Rows of
history are compared as they come; in memory is what the fleet is now, the World and what is in force.
Nothing is decided again here: whether the decisions follow from the events is for
``ledger.replay.replay``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Final

from ledger.facts import genesis as geneses
from ledger.facts.decision import Decision, from_record
from ledger.facts.event import Event
from ledger.facts.genesis import Genesis
from ledger.log import detached
from ledger.log.archive.reading import Archive
from ledger.log.database import Connection, refusals_named
from ledger.log.decisions import COLUMNS
from ledger.log.fleets import Fleet
from ledger.log.folding import event as folded
from ledger.log.garbage import seldom_collected
from ledger.log.history import Decided, decided_pages
from ledger.log.notes import Key
from ledger.log.read import StoredEvent
from ledger.reducers import lives
from ledger.reducers.world import begin
from ledger.replay import beginnings
from ledger.replay.followed import Followed
from ledger.replay.given_answers import GivenAnswers
from ledger.replay.in_force import STATES, InForce, past_table
from ledger.replay.kept_snapshots import KeptSnapshots
from ledger.replay.report import Divergence, Report
from ledger.replay.stored_rows import StoredRows, difference
from ledger.replay.told_events import IDENTITIES, ToldEvents, identities
from ledger.replay.verify import OnProgress, Verified, reported, verify
from ledger.units import LEDGER_FLEET, Position
from ledger.views.allocations import TASK_MOVES, task_rows
from ledger.views.deployments import BINDINGS, DEPLOYMENTS, binding_rows, deployment_rows
from ledger.views.disk_placements import DISK_PLACEMENTS, disk_placement_rows
from ledger.views.incidents import ENDED_INCIDENTS
from ledger.views.projection import DIVISIONS, division_rows
from ledger.views.proposals import ENDED_PROPOSALS, ended_proposals
from ledger.views.refusals import ENDED_REFUSALS
from ledger.views.table import Row, Table

RECORDED: Final = ("record", "digest")
"""What a decision is recorded by; the other columns follow from it."""

DECISIONS: Final = Table(
    "decisions", tuple(name for name in COLUMNS if name not in RECORDED), key=2
)

AS_RECORDED: Final = {
    name: f"({name}::text = (told -> '{name}')::text)" for name in ("result", "reasons")
}
"""Whether the JSON people ask is that of the record, as the server that shows it would spell it."""

TOLD: Final = (
    "CROSS JOIN LATERAL (SELECT convert_from(record, 'UTF8')::jsonb AS told OFFSET 0) AS t"
)
"""What a record tells. It is read once for all that is asked of it: without the offset, once for each."""

EFFECTS: Final = Table("event_effects", ("fleet", "position", "effect"), key=2)

OF_DECISIONS: Final[tuple[tuple[Table, Callable[..., list[Row]]], ...]] = (
    (DIVISIONS, division_rows),
    (DEPLOYMENTS, deployment_rows),
    (BINDINGS, binding_rows),
    (DISK_PLACEMENTS, disk_placement_rows),
    (TASK_MOVES, task_rows),
)
"""The rows that are written with a decision and never again."""

CURSORS: Final = Table("decided", ("fleet", "through", "due_at_micros"), key=2)
"""What of a cursor the trees do not tell."""

LARGEST: Final = 2**63 - 1


async def deep(
    connection: Connection,
    fleet: Fleet,
    *,
    keys: Sequence[Key] = (),
    on_progress: OnProgress | None = None,
    archive: Archive | None = None,
) -> Report:
    """Verify a fleet's log, and everything that is derived from it."""
    with seldom_collected(), refusals_named():
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            # Folding what one event led to may take longer than a writer may leave us waiting.
            await connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            verified = await verify(
                connection, fleet, keys=keys, on_progress=on_progress, archive=archive
            )
            if verified.trouble is None:
                trouble = await _derived(connection, fleet, verified, on_progress, archive)
                verified = replace(verified, trouble=trouble)
    return reported(fleet, verified)


async def _derived(
    connection: Connection,
    fleet: Fleet,
    verified: Verified,
    on_progress: OnProgress | None,
    archive: Archive | None,
) -> Divergence | None:
    genesis, trouble = await _genesis(connection, fleet, verified)
    if trouble is not None:
        return trouble
    begun = await beginnings.recorded(connection, fleet)
    events = ToldEvents(fleet, begun)
    stored = StoredRows(connection, fleet, IDENTITIES, by="position")
    size = verified.events.size
    trouble = await beginnings.unlike(connection, fleet, begun, size)
    if trouble is not None:
        return trouble
    rows = _Projected(connection, fleet)
    answers = GivenAnswers(connection, fleet)
    first = Position(0)
    if genesis is not None and fleet.name != LEDGER_FLEET:
        followed = Followed(begin(genesis, incarnation=lives.FIRST))
        snapshots = KeptSnapshots(connection, fleet, archive)
        pages = decided_pages(connection, fleet, through=verified.through, archive=archive)
        async for page in pages:
            trouble = (
                await _of_events(connection, events, stored, [event for event, _ in page])
                or await _follow(followed, snapshots, page)
                or await rows.compare(followed)
                or await answers.compare(followed.answers, [event for event, _ in page])
            )
            if trouble is not None:
                return trouble
            followed.forget()
            first = Position(page[-1][0].position + 1)
            if on_progress is not None:
                on_progress(first)
        trouble = (
            await rows.end(followed, verified.decisions.size)
            or await rows.in_force.end(connection, fleet, followed.world)
            or await snapshots.end(followed.world)
        )
        if trouble is not None:
            return trouble
    rest = detached.pages(connection, fleet, archive, first=first, before=size)
    async for undecided in rest:
        trouble = await _of_events(connection, events, stored, undecided) or await answers.compare(
            (), undecided
        )
        if trouble is not None:
            return trouble
    return await answers.end() or _beyond(IDENTITIES, await stored.through(LARGEST))


async def _genesis(
    connection: Connection, fleet: Fleet, verified: Verified
) -> tuple[Genesis | None, Divergence | None]:
    """What the fleet began with, if it is what its digest says."""
    with refusals_named():
        row = await connection.fetchrow(
            "SELECT document, digest FROM ledger.geneses WHERE fleet = $1", fleet.number
        )
    if row is None:
        absent = Divergence("genesis_mismatch", 0, recorded="none", recomputed="one")
        return None, absent if verified.events.size else None
    found = sha256(row["document"]).digest()
    if found != row["digest"]:
        return None, Divergence(
            "genesis_mismatch", 0, recorded=row["digest"].hex(), recomputed=found.hex()
        )
    genesis = geneses.from_document(row["document"])
    if genesis.fleet != fleet.name:
        return None, Divergence(
            "genesis_mismatch", 0, recorded=genesis.fleet, recomputed=fleet.name
        )
    return genesis, None


async def _of_events(
    connection: Connection, events: ToldEvents, stored: StoredRows, page: Sequence[StoredEvent]
) -> Divergence | None:
    """Hold a page of events against their bytes, and what they are known by against its table."""
    for event in page:
        trouble = events.take(event)
        if trouble is not None:
            return trouble
    there = await stored.through(page[-1].position)
    wanted = await identities(connection, events, there)
    different = difference(IDENTITIES, wanted, there)
    events.forget()
    if different is None:
        return None
    (_, position, *_), trouble = different
    return replace(trouble, position=position)


async def _follow(
    followed: Followed, snapshots: KeptSnapshots, page: Sequence[Decided]
) -> Divergence | None:
    for stored, decided in page:
        event: Event = folded(stored)
        followed.take(event, [from_record(decision.record) for decision in decided])
        trouble = await snapshots.at(followed.world)
        if trouble is not None:
            return trouble
    return None


class _Projected:
    """What is written once of decisions and events, page after page."""

    def __init__(self, connection: Connection, fleet: Fleet) -> None:
        self.in_force = InForce(fleet.number)
        self._fleet = fleet.number
        self._cursors = StoredRows(connection, fleet, CURSORS, by="through")
        self._decisions = StoredRows(
            connection, fleet, DECISIONS, by="number", instead=AS_RECORDED, beside=TOLD
        )
        self._of_decisions = [
            (StoredRows(connection, fleet, table, by="number"), rows)
            for table, rows in OF_DECISIONS
        ]
        self._effects = StoredRows(connection, fleet, EFFECTS, by="position")
        self._ended = [
            StoredRows(connection, fleet, table, by="position")
            for table in (ENDED_REFUSALS, ENDED_INCIDENTS, ENDED_PROPOSALS)
        ]
        self._past = {
            state.table: StoredRows(connection, fleet, past_table(state), by="until_position")
            for state in STATES
        }

    async def compare(self, page: Followed) -> Divergence | None:
        """Hold what a page came to against what is stored of it."""
        fleet, decisions, through = self._fleet, page.decisions, page.world.position - 1
        positions: dict[int, int] = {one.number: one.position for one in decisions}
        compared: list[tuple[StoredRows, list[Row], int]] = []
        if decisions:
            made = decisions[-1].number
            compared.append((self._decisions, [_columns(fleet, one) for one in decisions], made))
            compared += [
                (stored, rows(fleet, decisions), made) for stored, rows in self._of_decisions
            ]
        effects = [(fleet, position, effect) for position, effect in sorted(page.effects.items())]
        turned = self.in_force.take(page)
        compared += [
            (self._effects, effects, through),
            (self._ended[0], turned.refusals, through),
            (self._ended[1], turned.incidents, through),
            (self._ended[2], ended_proposals(fleet, decisions, page.ended), through),
        ]
        compared += [(self._past[name], rows, through) for name, rows in turned.were.items()]
        for stored, expected, last in compared:
            different = difference(stored.table, expected, await stored.through(last))
            if different is not None:
                return _located(stored.table, *different, positions)
        cursors = await self._cursors.through(through)
        due = [(fleet, at, page.due_at.get(at)) for _, at, _ in cursors]
        different = difference(CURSORS, due, cursors)
        return None if different is None else _located(CURSORS, *different, positions)

    async def end(self, page: Followed, decisions: int) -> Divergence | None:
        """Whether there are rows of what was never decided."""
        for stored in (self._decisions, *(one for one, _ in self._of_decisions)):
            trouble = _beyond(stored.table, await stored.through(LARGEST), decisions)
            if trouble is not None:
                return trouble
        for stored in (self._effects, *self._ended, *self._past.values()):
            trouble = _beyond(stored.table, await stored.through(LARGEST), page.world.position)
            if trouble is not None:
                return trouble
        return None


def _columns(fleet: int, decision: Decision) -> Row:
    """A decision's row; of its JSON only that it is the record's."""
    return (
        fleet,
        decision.number,
        decision.incarnation,
        decision.position,
        decision.kind,
        decision.subject,
        decision.algorithm,
        decision.version,
        decision.branch,
        decision.moved,
        decision.previous,
        True,
        True,
    )


def _located(
    table: Table, row: Row, trouble: Divergence, positions: Mapping[int, int]
) -> Divergence:
    """Where a row belongs: its decision, and the event that made it due."""
    told = dict(zip(table.columns, row, strict=True))
    number = told.get("number")
    position = told.get("until_position", told.get("position", told.get("through")))
    if position is None and number is not None:
        position = positions.get(number)
    return replace(trouble, position=position, decision=number)


def _beyond(table: Table, rows: Sequence[Row], size: int = 0) -> Divergence | None:
    """The first row of what is not in the log."""
    if not rows:
        return None
    different = difference(table, (), rows)
    assert different is not None, "there are rows and none are expected"
    located = _located(table, *different, {})
    return replace(located, recomputed=f"nothing from {size} on" if size else None)
