"""What the command shows of the views: how the fleets stand, what waits, what is decided just now.

Everything is read from ``ledger_api``, so that a reader's rights are enough.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

import asyncpg

PAGE: Final = 200
"""Decisions read at a time by whoever watches: a division over a hundred clusters is some 20 KiB."""


@dataclass(frozen=True, slots=True)
class FleetStanding:
    """How far a fleet has come, and who decides for it now."""

    fleet: str
    clock: str
    opened_at: datetime
    incarnation: int
    events: int
    head: int | None
    """Position of the last event."""
    decisions: int
    decided_through: int | None
    undecided: int
    undecided_since: datetime | None
    lag_seconds: float | None
    """None on the event clock, which does not tell how long an event has waited."""
    next_deadline: datetime | None
    """From when on time alone decides something."""
    overdue_seconds: float | None
    """How long ago that was, 0 where it is to come; None on the event clock."""
    event_root: str | None
    decision_root: str | None
    decider: str | None
    decider_since: datetime | None
    standby: Sequence[str]
    """Deciders that would take over."""
    open_refusals: int
    open_incidents: int
    quarantined: int
    """Messages in quarantine that name this fleet and still wait."""
    snapshot: int | None
    """Position of the newest snapshot whose bytes are there."""
    snapshot_at: datetime | None


@dataclass(frozen=True, slots=True)
class HaltedPartition:
    """A Kafka partition that stands still until a person has looked."""

    topic: str
    partition: int
    next_offset: int | None
    reason: str
    detail: str
    halted_at: datetime


@dataclass(frozen=True, slots=True)
class StoppedFleet:
    """A fleet that stands because somebody remembers more of its log than is there, or something else."""

    fleet: str
    incarnation: int
    component: str
    reason: str
    detail: str
    stopped_at: datetime


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a person should look at."""

    quarantined: int
    open_incidents: int
    """Contradictions of a book that last."""
    incidents: int
    """All there ever were, those of partitions too."""
    halted: int
    halted_partitions: Sequence[HaltedPartition]
    stops: Sequence[StoppedFleet]
    """One for each who stopped a fleet; the first of a fleet comes first."""


class Lag(NamedTuple):
    """How far a fleet is decided, for those who follow."""

    fleet: str
    decisions: int
    undecided: int
    lag_seconds: float | None
    overdue_seconds: float | None
    open_refusals: int
    open_incidents: int
    behind_snapshot: int
    """Decided events that no snapshot has."""


class Made(NamedTuple):
    """A decision as people read it."""

    fleet: str
    number: int
    position: int
    kind: str
    subject: str
    algorithm: str
    version: int
    branch: str
    moved: int
    previous_number: int | None
    result: dict[str, Any]
    reasons: dict[str, Any]
    digest: str
    decision: str
    record: bytes
    """As it was recorded."""


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A message that was set aside."""

    position: int
    address: str
    reason: str
    detail: str
    fleet: str | None
    type: str | None
    outcome: str | None
    quarantined_at: datetime
    settled_by: str | None
    settled_why: str | None
    settled_at: datetime | None
    """All three None while it waits."""


async def fleets(connection: asyncpg.Connection) -> list[FleetStanding]:
    """Every fleet, by name, without the ledger's own."""
    rows = await connection.fetch(
        "SELECT v.fleet, v.clock, v.created_at, v.incarnation,"
        "       v.events, nullif(v.events, 0) - 1,"
        "       v.decisions, v.decided_through, v.undecided, v.undecided_since, v.lag_seconds,"
        "       v.next_deadline, v.overdue_seconds,"
        "       v.event_root, v.decision_root, l.holder, l.since,"
        "       coalesce(s.holders, '{}'), v.open_refusals, v.open_incidents, coalesce(q.waiting, 0),"
        "       n.position, n.written_at"
        "  FROM ledger_api.fleets v"
        "  LEFT JOIN ledger_api.leases l"
        "    ON l.fleet = v.fleet AND l.duty = 'decide' AND NOT l.standby"
        "  LEFT JOIN (SELECT fleet, array_agg(holder ORDER BY holder) AS holders"
        "               FROM ledger_api.leases WHERE duty = 'decide' AND standby"
        "              GROUP BY fleet) s ON s.fleet = v.fleet"
        "  LEFT JOIN (SELECT fleet, count(*) AS waiting FROM ledger_api.quarantine"
        "              WHERE outcome IS NULL GROUP BY fleet) q ON q.fleet = v.fleet"
        "  LEFT JOIN LATERAL (SELECT position, written_at FROM ledger_api.snapshots s"
        "                      WHERE s.fleet = v.fleet AND s.kept"
        "                      ORDER BY position DESC LIMIT 1) n ON true"
        " WHERE v.fleet <> '_ledger' ORDER BY v.fleet"
    )
    return [FleetStanding(*row) for row in rows]


async def lags(connection: asyncpg.Connection) -> list[Lag]:
    """How far each fleet is decided, by name, without the ledger's own."""
    rows = await connection.fetch(
        "SELECT v.fleet, v.decisions, v.undecided, v.lag_seconds, v.overdue_seconds,"
        "       v.open_refusals, v.open_incidents, coalesce(v.decided_through, -1) - coalesce(n.position, -1)"
        "  FROM ledger_api.fleets v"
        "  LEFT JOIN (SELECT fleet, max(position) AS position FROM ledger_api.snapshots"
        "              WHERE kept GROUP BY fleet) n ON n.fleet = v.fleet"
        " WHERE v.fleet <> '_ledger' ORDER BY v.fleet"
    )
    return [Lag(*row) for row in rows]


async def decisions(connection: asyncpg.Connection, fleet: str, *, first: int) -> list[Made]:
    """The next page of a fleet's decisions, from number ``first`` on."""
    rows = await connection.fetch(
        "SELECT fleet, number, position, kind, subject, algorithm, version, branch, moved,"
        "       previous_number, result, reasons, digest, decision, record"
        "  FROM ledger_api.decisions"
        # Numbers have no gaps: with both ends given, no page reads what the others hold.
        " WHERE fleet = $1 AND number >= $2 AND number < $3 ORDER BY number",
        fleet,
        first,
        first + PAGE,
    )
    return [
        Made(
            **dict(row)
            # The quicker reader takes a whole number of more than 64 bits for a float.
            | {"result": json.loads(row["result"]), "reasons": json.loads(row["reasons"])}
        )
        for row in rows
    ]


async def undecided(connection: asyncpg.Connection, fleet: str) -> int:
    """How many events of a fleet wait to be decided."""
    waiting = await connection.fetchval(
        "SELECT undecided FROM ledger_api.fleets WHERE fleet = $1", fleet
    )
    return waiting or 0


async def waiting(connection: asyncpg.Connection) -> Waiting:
    """What a person should look at: counts, and the partitions and fleets that stand still."""
    counts = await connection.fetchrow(
        "SELECT (SELECT count(*) FROM ledger_api.quarantine WHERE outcome IS NULL),"
        "       (SELECT count(*) FROM ledger_api.open_incidents),"
        "       (SELECT count(*) FROM ledger_api.incidents)"
    )
    halted = await connection.fetch(
        "SELECT topic, partition, next_offset, reason, detail, halted_at"
        "  FROM ledger_api.partitions WHERE halted ORDER BY topic, partition"
    )
    stops = await connection.fetch(
        "SELECT fleet, incarnation, component, reason, detail, stopped_at"
        "  FROM ledger_api.stops WHERE stands ORDER BY fleet, stopped_at, component"
    )
    assert counts is not None, "counts are always one row"
    quarantined, open_incidents, incidents = counts
    return Waiting(
        quarantined,
        open_incidents,
        incidents,
        len(halted),
        [HaltedPartition(*row) for row in halted],
        [StoppedFleet(*row) for row in stops],
    )


async def quarantined(
    connection: asyncpg.Connection, *, everything: bool, limit: int
) -> list[Quarantined]:
    """The newest messages in quarantine, those that still wait or all."""
    rows = await connection.fetch(
        "SELECT position, address, reason, detail, fleet, type, outcome, quarantined_at,"
        "       settled_by, settled_why, settled_at"
        "  FROM ledger_api.quarantine WHERE outcome IS NULL OR $1"
        " ORDER BY position DESC LIMIT $2",
        everything,
        limit,
    )
    return [Quarantined(*row) for row in rows]


async def quarantined_value(connection: asyncpg.Connection, position: int) -> bytes | None:
    """A quarantined message as it was received; None where there is no such message."""
    row = await connection.fetchrow(
        "SELECT coalesce(value, '') AS value FROM ledger_api.quarantine WHERE position = $1",
        position,
    )
    return None if row is None else row["value"]
