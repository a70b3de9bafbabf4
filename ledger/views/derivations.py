"""What is read to tell how a decision came about: it, what was decided before, the events behind it.

Everything is read from ``ledger_api``, so that a reader's rights are enough, and found by an index:
a decision by its number or as the newest about its subject, an event by its position or as the newest
that speaks of an object. How long the history is shows nowhere; only ``subjects``, which is asked for a
name without its namespace and for one that means nothing, goes through all of it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

import asyncpg
import orjson

from ledger.errors import InvalidRequest
from ledger.facts.decision import Decision, from_record
from ledger.units import LARGEST_WHOLE_NUMBER, Incarnation
from ledger.views.query import NO_ANSWER

NEWEST: Final = LARGEST_WHOLE_NUMBER
"""A position that nothing lies behind."""


class Recorded(NamedTuple):
    """A decision as it stands in the log."""

    name: str
    """Outside the database: fleet/incarnation/number."""
    digest: str
    decision: Decision
    """What is understood of the record."""
    spelled: bytes
    """The record as it was read: what has the digest, and what more somebody put there."""


@dataclass(frozen=True, slots=True)
class Told:
    """An event, and what it says."""

    position: int
    id: str
    source: str
    type: str
    subject: str
    recorded_at: datetime
    channel: str
    topic: str | None
    partition: int | None
    kafka_offset: int | None
    effect: str | None
    data: Mapping[str, Any]


class Place(NamedTuple):
    """What is or was in force at one place."""

    kind: str
    subject: str
    cluster: str
    node: str | None
    disk: str | None
    held: int
    number: int
    since_position: int


class Ending(NamedTuple):
    """Whether a refusal is over: since which event, and by which decision, if one ended it."""

    open: bool
    resolved_by: int | None
    position: int | None


async def fleets(connection: asyncpg.Connection) -> list[str]:
    """The names of all fleets, without the ledger's own."""
    rows = await connection.fetch(
        "SELECT fleet FROM ledger_api.fleets WHERE fleet <> '_ledger' ORDER BY fleet"
    )
    return [row["fleet"] for row in rows]


async def decided_through(connection: asyncpg.Connection, fleet: str) -> tuple[int, int]:
    """The position of the last decided event, -1 before the first, and how many wait."""
    row = await connection.fetchrow(
        "SELECT coalesce(decided_through, -1), undecided FROM ledger_api.fleets WHERE fleet = $1",
        fleet,
    )
    return (-1, 0) if row is None else (row[0], row[1])


async def incarnation(connection: asyncpg.Connection, fleet: str) -> Incarnation:
    """Which life the log of a fleet is in."""
    life: int = await connection.fetchval(
        "SELECT incarnation FROM ledger_api.fleets WHERE fleet = $1", fleet
    )
    return Incarnation(life)


_DECISION: Final = "SELECT decision, digest, record FROM ledger_api.decisions WHERE fleet = $1"


_KIND: Final = (
    "CASE WHEN kind = 'refusal' THEN 'refusal/' || (result ->> 'wanted')"
    "     WHEN kind = 'capacity_class' AND result ? 'admission_uid' THEN 'admission'"
    "     ELSE kind END"
)


async def decision(connection: asyncpg.Connection, fleet: str, number: int) -> Recorded | None:
    """The decision of a number."""
    return _recorded(await connection.fetchrow(f"{_DECISION} AND number = $2", fleet, number))


async def columns_apart(connection: asyncpg.Connection, recorded: Recorded) -> list[str]:
    """The columns in which SQL shows something else of a decision than its record says."""
    row = await connection.fetchrow(
        "SELECT result::text, reasons::text FROM ledger_api.decisions"
        " WHERE fleet = $1 AND number = $2",
        recorded.decision.fleet,
        recorded.decision.number,
    )
    assert row is not None, "it was read from there"
    spelled = json.loads(recorded.spelled)
    return [name for name in ("result", "reasons") if json.loads(row[name]) != spelled[name]]


async def newest(
    connection: asyncpg.Connection,
    fleet: str,
    subject: str,
    kinds: Sequence[str],
    *,
    at: int = NEWEST,
    below: int = NEWEST,
) -> Recorded | None:
    """The newest decision about a subject of these kinds, by a position and below a number.

    Of refusals the kind is ``refusal/`` and what was wanted, and of answers to admissions ``admission``.
    """
    return _recorded(
        await connection.fetchrow(
            f"{_DECISION} AND subject = $2 AND position <= $3 AND number < $4"
            f"   AND {_KIND} = ANY($5::text[])"
            " ORDER BY number DESC LIMIT 1",
            fleet,
            subject,
            at,
            below,
            list(kinds),
        )
    )


async def newest_that_placed(
    connection: asyncpg.Connection, fleet: str, subject: str, kind: str, *, at: int = NEWEST
) -> Recorded | None:
    """The newest deployment or disk placement that placed something: one that took some away asked nobody."""
    return _recorded(
        await connection.fetchrow(
            f"{_DECISION} AND subject = $2 AND position <= $3 AND kind = $4"
            "   AND jsonb_array_length(coalesce(reasons -> 'asked', reasons -> 'steps')) > 0"
            " ORDER BY number DESC LIMIT 1",
            fleet,
            subject,
            at,
            kind,
        )
    )


_PUT_NOW: Final = (
    "SELECT DISTINCT number FROM ledger_api.running_tasks"
    " WHERE fleet = $1 AND namespace = $2 AND job = $3 AND cluster = $4 AND ($5 = '' OR node = $5)"
    " ORDER BY number"
)
_PUT_THEN: Final = (
    "SELECT DISTINCT number FROM ledger_api.running_tasks_as_of($1, $6)"
    " WHERE namespace = $2 AND job = $3 AND cluster = $4 AND ($5 = '' OR node = $5)"
    " ORDER BY number"
)


async def put_by(
    connection: asyncpg.Connection, fleet: str, job: str, place: str, *, at: int | None = None
) -> list[int]:
    """The decisions that put the tasks of a job on a cluster or a node where they run, by number."""
    cluster, _, node = place.partition("/")
    namespace, _, name = job.partition("/")
    rows = await connection.fetch(
        _PUT_NOW if at is None else _PUT_THEN,
        fleet,
        namespace,
        name,
        cluster,
        node,
        *(() if at is None else (at,)),
    )
    return [row["number"] for row in rows]


async def at_position(
    connection: asyncpg.Connection, fleet: str, position: int, kinds: Sequence[str]
) -> list[Recorded]:
    """The decisions of these kinds that an event made due, by number."""
    rows = await connection.fetch(
        f"{_DECISION} AND position = $2 AND kind = ANY($3::text[]) ORDER BY number",
        fleet,
        position,
        list(kinds),
    )
    return [found for row in rows if (found := _recorded(row)) is not None]


async def kinds(
    connection: asyncpg.Connection, fleet: str, subject: str, *, at: int = NEWEST
) -> list[str]:
    """Of which kinds decisions about a subject are by a position, spelled as in ``newest``."""
    rows = await connection.fetch(
        f"SELECT DISTINCT {_KIND} AS kind"  # noqa: S608 - a constant of this module
        "  FROM ledger_api.decisions WHERE fleet = $1 AND subject = $2 AND position <= $3 ORDER BY 1",
        fleet,
        subject,
        at,
    )
    return [row["kind"] for row in rows]


async def first_position(connection: asyncpg.Connection, fleet: str, subject: str) -> int | None:
    """The position of the first decision about a subject; None where there is none."""
    position: int | None = await connection.fetchval(
        "SELECT position FROM ledger_api.decisions WHERE fleet = $1 AND subject = $2"
        " ORDER BY number LIMIT 1",
        fleet,
        subject,
    )
    return position


async def subjects(connection: asyncpg.Connection, fleet: str) -> list[str]:
    """Everything that something was ever decided about, by name; this goes through all decisions."""
    rows = await connection.fetch(
        "SELECT DISTINCT subject FROM ledger_api.decisions WHERE fleet = $1 ORDER BY subject",
        fleet,
    )
    return [row["subject"] for row in rows]


_EVENT: Final = (
    "SELECT position, id, source, type, subject, recorded_at, channel, topic, partition,"
    "       kafka_offset, effect, payload FROM ledger_api.events WHERE fleet = $1"
)


async def event(connection: asyncpg.Connection, fleet: str, position: int) -> Told | None:
    """The event of a position; None where its range was archived."""
    return _told(await connection.fetchrow(f"{_EVENT} AND position = $2", fleet, position))


async def first_said(
    connection: asyncpg.Connection, fleet: str, subject: str, types: Sequence[str]
) -> int | None:
    """The position of the first event of these types that speaks of an object; None where there is none."""
    position: int | None = await connection.fetchval(
        "SELECT position FROM ledger_api.events"
        " WHERE fleet = $1 AND subject = $2 AND type = ANY($3::text[]) ORDER BY position LIMIT 1",
        fleet,
        subject,
        list(types),
    )
    return position


async def last_said(
    connection: asyncpg.Connection,
    fleet: str,
    subjects: Sequence[str],
    types: Sequence[str],
    *,
    at: int = NEWEST,
) -> Told | None:
    """The newest event of these types that speaks of one of these objects and was applied."""
    found: Told | None = None
    for subject in subjects:
        row = await connection.fetchrow(
            f"{_EVENT} AND subject = $2 AND type = ANY($3::text[]) AND position <= $4"
            "   AND coalesce(effect, 'applied') = 'applied'"
            " ORDER BY position DESC LIMIT 1",
            fleet,
            subject,
            list(types),
            at,
        )
        said = _told(row)
        if said is not None and (found is None or said.position > found.position):
            found = said
    return found


_DISKS_NOW: Final = (
    "SELECT cluster, node, disk FROM ledger_api.disk_books"
    " WHERE fleet = $1 AND cluster = $2 AND node = $3 ORDER BY disk"
)
_DISKS_THEN: Final = (
    "SELECT cluster, node, disk FROM ledger_api.disk_books_as_of($1, $4)"
    " WHERE fleet = $1 AND cluster = $2 AND node = $3 ORDER BY disk"
)


async def disks_on(
    connection: asyncpg.Connection, fleet: str, node: str, *, at: int = NEWEST
) -> list[str]:
    """The disks that a node has, or had by a position; its cluster goes before its name, if it has one."""
    cluster, _, name = node.rpartition("/")
    if "/" in cluster or at < 0:
        return []
    rows = await connection.fetch(
        _DISKS_NOW if at == NEWEST else _DISKS_THEN,
        fleet,
        cluster,
        name,
        *(() if at == NEWEST else (at,)),
    )
    return ["/".join(filter(None, row)) for row in rows]


async def last_setting(
    connection: asyncpg.Connection, fleet: str, name: str, *, at: int = NEWEST
) -> Told | None:
    """The newest policy of a fleet that says something of this setting."""
    return _told(
        await connection.fetchrow(
            f"{_EVENT} AND subject = $1 AND type = 'ledger.policy.policy.changed.v1'"
            "   AND position <= $2 AND convert_from(payload, 'UTF8')::jsonb -> 'data' ? $3"
            " ORDER BY position DESC LIMIT 1",
            fleet,
            at,
            name,
        )
    )


async def held_since(connection: asyncpg.Connection, fleet: str, *, at: int = NEWEST) -> int | None:
    """Since which policy all decisions of a fleet are held, as of a position; None where they are not."""
    lifted = await _held(connection, fleet, "DESC", after=-1, at=at, hold=False)
    behind = -1 if lifted is None else lifted
    return await _held(connection, fleet, "ASC", after=behind, at=at, hold=True)


async def _held(
    connection: asyncpg.Connection, fleet: str, order: str, *, after: int, at: int, hold: bool
) -> int | None:
    position: int | None = await connection.fetchval(
        "SELECT position FROM ledger_api.events"  # noqa: S608 - the order is one of our own two words
        " WHERE fleet = $1 AND subject = $1 AND type = 'ledger.policy.policy.changed.v1'"
        "   AND position > $2 AND position <= $3 AND effect = 'applied'"
        "   AND convert_from(payload, 'UTF8')::jsonb -> 'data' -> 'hold' = to_jsonb($4::boolean)"
        f" ORDER BY position {order} LIMIT 1",
        fleet,
        after,
        at,
        hold,
    )
    return position


async def recorded_at(connection: asyncpg.Connection, fleet: str, position: int) -> datetime | None:
    """Fleet time at a position; None where there is no such event."""
    moment: datetime | None = await connection.fetchval(
        "SELECT recorded_at FROM ledger_api.events WHERE fleet = $1 AND position = $2",
        fleet,
        position,
    )
    return moment


async def places(
    connection: asyncpg.Connection,
    fleet: str,
    wanted: Sequence[tuple[str, str]],
    *,
    at: int | None = None,
) -> list[Place]:
    """What is in force for these kinds and subjects now, or was at a position, in order.

    ``InvalidRequest`` where nobody kept what was in force so early.
    """
    there = "ledger_api.placements" if at is None else "ledger_api.placements_as_of($1, $4)"
    each = dict.fromkeys(wanted)
    try:
        rows = await connection.fetch(
            " ".join(
                (
                    "SELECT p.* FROM unnest($2::text[], $3::text[]) AS w (kind, subject)",
                    "CROSS JOIN LATERAL (SELECT kind, subject, cluster, node, disk, count, number, since_position",
                    f"FROM {there} t WHERE t.fleet = $1 AND t.kind = w.kind AND t.subject = w.subject",
                    "OFFSET 0) p ORDER BY p.kind, p.subject, p.cluster, p.node, p.disk",
                )
            ),
            fleet,
            [kind for kind, _ in each],
            [subject for _, subject in each],
            *(() if at is None else (at,)),
        )
    except asyncpg.PostgresError as error:
        if error.sqlstate in NO_ANSWER:
            raise InvalidRequest(NO_ANSWER[error.sqlstate], str(error)) from None
        raise
    return [Place(*row) for row in rows]


# Of two views that are joined each is read whole: rows of the one are looked up for the other only if it is
# asked for each.
_RECORDS_OF: Final = "SELECT d.decision, d.digest, d.record FROM"
_OF_EACH: Final = (
    " CROSS JOIN LATERAL (SELECT decision, digest, record FROM ledger_api.decisions"
    "                      WHERE fleet = $1 AND number = o.number LIMIT 1) d"
    " ORDER BY o.number"
)
_OF_REFUSALS_NOW: Final = (
    f"{_RECORDS_OF} (SELECT number FROM ledger_api.open_refusals"  # noqa: S608 - our own words
    f"   WHERE fleet = $1 AND subject = ANY($2::text[])) o{_OF_EACH}"
)
_OF_REFUSALS_THEN: Final = (
    f"{_RECORDS_OF} (SELECT number FROM ledger_api.refusals"  # noqa: S608 - our own words
    "   WHERE fleet = $1 AND subject = ANY($2::text[]) AND position <= $3"
    f"     AND (open OR ended_position > $3)) o{_OF_EACH}"
)


async def open_refusals(
    connection: asyncpg.Connection, fleet: str, subjects: Sequence[str], *, at: int | None
) -> list[Recorded]:
    """The refusals that stand for these subjects now, or stood at a position, by number."""
    rows = await connection.fetch(
        _OF_REFUSALS_NOW if at is None else _OF_REFUSALS_THEN,
        fleet,
        list(subjects),
        *(() if at is None else (at,)),
    )
    return [found for row in rows if (found := _recorded(row)) is not None]


async def ending(connection: asyncpg.Connection, fleet: str, number: int) -> Ending | None:
    """What became of a refusal; None where the decision is none."""
    row = await connection.fetchrow(
        "SELECT open, resolved_by, ended_position FROM ledger_api.refusals"
        " WHERE fleet = $1 AND number = $2",
        fleet,
        number,
    )
    return None if row is None else Ending(*row)


def _recorded(row: asyncpg.Record | None) -> Recorded | None:
    if row is None:
        return None
    spelled = row["record"]
    return Recorded(row["decision"], row["digest"], from_record(spelled), spelled)


def _told(row: asyncpg.Record | None) -> Told | None:
    if row is None:
        return None
    values = dict(row)
    envelope = orjson.loads(values.pop("payload"))
    return Told(**values, data=envelope.get("data") or {})
