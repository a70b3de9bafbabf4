"""Write decisions, and how far a fleet is decided, in one transaction; read them back in order.

The canonical record goes in with its columns, its leaf and the cursor; what people read beyond
that is projected by ``ledger.views`` in the same transaction. All of it is derived from the record
and could be made again from it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import asyncpg
import orjson

from ledger.errors import WrongPosition
from ledger.events import strict_json
from ledger.facts.canonical import Plain, canonical
from ledger.facts.decision import Decision, as_plain
from ledger.log import leases, merkle, rows, trees
from ledger.log.database import refusals_named
from ledger.log.fleets import Fleet
from ledger.log.leases import Lease
from ledger.units import DecisionNumber, Microseconds, Position, Subject

Effect = Literal["applied", "stale", "no_effect"]

PAGE: Final = 1000

COLUMNS: Final = (
    "fleet",
    "number",
    "incarnation",
    "position",
    "kind",
    "subject",
    "algorithm",
    "version",
    "branch",
    "moved",
    "previous_number",
    "result",
    "reasons",
    "record",
    "digest",
)

NOTHING_DECIDED: Final = -1
"""The cursor before the first event was decided."""


Project = Callable[[asyncpg.Connection], Awaitable[None]]
"""Writes what people read of the decisions, inside the same transaction (``ledger.views``)."""


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """A row of decisions as an audit needs it."""

    number: DecisionNumber
    position: Position
    record: bytes
    digest: bytes


async def cursor(connection: asyncpg.Connection, fleet: Fleet) -> tuple[Position, int]:
    """Position of the last event that was decided (-1: none), and how many decisions there were."""
    with refusals_named():
        row = await connection.fetchrow(
            "SELECT through, decisions FROM ledger.decided WHERE fleet = $1"
            " ORDER BY through DESC LIMIT 1",
            fleet.number,
        )
    if row is None:
        return Position(NOTHING_DECIDED), 0
    return Position(row["through"]), row["decisions"]


async def made_by(connection: asyncpg.Connection, fleet: Fleet, position: Position) -> int:
    """How many decisions were made about the events up to a position."""
    with refusals_named():
        number = await connection.fetchval(
            "SELECT number FROM ledger.decisions WHERE fleet = $1 AND position <= $2"
            " ORDER BY position DESC, number DESC LIMIT 1",
            fleet.number,
            position,
        )
    return 0 if number is None else number + 1


async def made_about(
    connection: asyncpg.Connection,
    fleet: Fleet,
    subject: Subject | None,
    *,
    first: Position,
    through: Position,
) -> int:
    """How many decisions were made between two positions; with a subject, those about it alone.

    A workload's deployments are about the workload.
    """
    with refusals_named():
        count: int = await connection.fetchval(
            "SELECT count(*) FROM ledger.decisions WHERE fleet = $1"
            "   AND position >= $2 AND position <= $3"
            "   AND ($4::text IS NULL OR subject = $4 OR starts_with(subject, $4 || '@'))",
            fleet.number,
            first,
            through,
            subject,
        )
    return count


async def write(
    connection: asyncpg.Connection,
    lease: Lease,
    *,
    after: Position,
    through: Position,
    decisions: Sequence[Decision],
    effects: Mapping[Position, Effect],
    due_at: Microseconds | None,
    project: Project,
) -> None:
    """Record what the events from ``after`` + 1 to ``through`` led to.

    From ``due_at`` on time alone has something to do if nothing else happens.
    Raises StaleEpoch or WrongPosition, with nothing written, where somebody else went on first.
    """
    fleet = lease.fleet
    spelled = [_spelled(decision) for decision in decisions]
    with refusals_named():
        async with connection.transaction():
            head = await trees.lock(connection, fleet.number, "decisions")
            found = await _require_newest(connection, lease)
            if found != after:
                raise WrongPosition(f"{fleet.name}: decided through {found}, expected {after}")
            if decisions and decisions[0].number != head.frontier.size:
                raise WrongPosition(
                    f"{fleet.name}: next decision is {head.frontier.size},"
                    f" expected {decisions[0].number}"
                )
            await rows.write(connection, "decisions", COLUMNS, _rows(fleet, decisions, spelled))
            await project(connection)
            told = [(fleet.number, position, effects[position]) for position in sorted(effects)]
            await rows.write(connection, "event_effects", ("fleet", "position", "effect"), told)
            grown = merkle.extend(head.frontier, [one.leaf for one in spelled])
            await trees.keep_tiles(connection, fleet.number, "decisions", grown)
            await connection.execute(
                _WENT_ON,
                fleet.number,
                through,
                grown.frontier.size,
                lease.epoch,
                due_at,
                bool(decisions),
                grown.frontier.root(),
                grown.frontier.to_bytes(),
            )


_WENT_ON: Final = """
WITH moved AS (INSERT INTO ledger.decided (fleet, through, decisions, epoch, due_at_micros)
               VALUES ($1, $2, $3, $4, $5)),
     grown AS (INSERT INTO ledger.heads (fleet, tree, size, root, frontier)
               SELECT $1, 'decisions', $3, $7, $8 WHERE $6)
SELECT pg_notify('ledger_decisions', '') WHERE $6
"""
"""Cursor and head in one statement: whoever waits for an admission waits for each of ours."""


async def _require_newest(connection: asyncpg.Connection, lease: Lease) -> int:
    """Refuse a holder that was replaced; say how far the fleet is decided.

    The lease stays as it is until the transaction ends. The cursor moves only under the lock of the tree,
    which is held.
    """
    assert lease.duty == "decide", f"a lease to {lease.duty} decides nothing"
    row = await connection.fetchrow(
        "SELECT l.epoch, (SELECT max(d.through) FROM ledger.decided d WHERE d.fleet = l.fleet) AS through"
        "  FROM ledger.leases l WHERE l.fleet = $1 AND l.duty = $2 FOR UPDATE OF l",
        lease.fleet.number,
        lease.duty,
    )
    leases.require_newest(lease, None if row is None else row["epoch"])
    assert row is not None, "a lease that is the newest is there"
    return NOTHING_DECIDED if row["through"] is None else row["through"]


class _Spelled(NamedTuple):
    """What is written of a decision."""

    result: str
    reasons: str
    record: bytes
    leaf: bytes


def _spelled(decision: Decision) -> _Spelled:
    told = as_plain(decision)
    record = _canonical(told)
    return _Spelled(
        _canonical(told["result"]).decode(),
        _canonical(told["reasons"]).decode(),
        record,
        merkle.leaf_hash(record),
    )


def _canonical(value: Plain) -> bytes:
    """As ``ledger.facts.canonical`` spells it; the quick writer knows no number of over 64 bits."""
    try:
        return strict_json.canonical(value)
    except orjson.JSONEncodeError:
        return canonical(value)


def _rows(
    fleet: Fleet, decisions: Sequence[Decision], spelled: Sequence[_Spelled]
) -> list[tuple[object, ...]]:
    return [
        (
            fleet.number,
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
            *written,
        )
        for decision, written in zip(decisions, spelled, strict=True)
    ]


async def pages(
    connection: asyncpg.Connection, fleet: Fleet, *, first: int = 0, before: int = 2**63 - 1
) -> AsyncIterator[list[StoredDecision]]:
    """Decisions from number ``first`` on, in order, page after page."""
    while True:
        with refusals_named():
            found = await connection.fetch(
                "SELECT number, position, record, digest FROM ledger.decisions"
                " WHERE fleet = $1 AND number >= $2 AND number < $3 ORDER BY number LIMIT $4",
                fleet.number,
                first,
                before,
                PAGE,
            )
        if not found:
            return
        yield [StoredDecision(*row) for row in found]
        first = found[-1]["number"] + 1
