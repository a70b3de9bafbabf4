"""What is read to tell two positions apart: who was decided about in between, and what held before.

Everything is read from ``ledger_api``. What was in force at the two is held against each other as a whole, since
an event may end what no decision is about; the decisions in between are looked through once.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import asyncpg

from ledger.errors import InvalidRequest
from ledger.facts.decision import Decision, from_record
from ledger.views.query import NO_ANSWER

PLACING: Final = ("division", "deployment", "disk_placement")
"""Kinds whose decisions are complete: what they say is all that the subject has. In the order of deciding."""

TASKS: Final = "allocation"
"""The kind whose decisions say what came; what a job has adds up over many of them."""

GONE: Final = "ledger.workload.workload.removed.v1"


class Decided(NamedTuple):
    """A subject about which something of a kind was decided, by these decisions."""

    kind: str
    subject: str
    numbers: tuple[int, ...]
    moved: int


class Places(NamedTuple):
    """Where a subject was at two positions: how many at which place, by name."""

    before: Mapping[str, int]
    after: Mapping[str, int]


class TaskMove(NamedTuple):
    """A task of a job that a round placed or evicted."""

    number: int
    subject: str
    node: str
    placed: bool


class Refused(NamedTuple):
    """A refusal, and what became of it."""

    number: int
    position: int
    wanted: str
    subject: str
    reason: str
    detail: str
    resolved_by: int | None
    ended_position: int | None


async def between(connection: asyncpg.Connection, fleet: str, a: int, b: int) -> tuple[int, int]:
    """The first number decided after ``a``, and the first after ``b``."""
    first: int = await connection.fetchval(_NEXT, fleet, a)
    behind: int = await connection.fetchval(_NEXT, fleet, b)
    return first, behind


_NEXT: Final = (
    "SELECT coalesce((SELECT number + 1 FROM ledger_api.decisions"
    "                  WHERE fleet = $1 AND position <= $2"
    "                  ORDER BY position DESC, number DESC LIMIT 1), 0)"
)


async def decided(
    connection: asyncpg.Connection, fleet: str, first: int, behind: int
) -> list[Decided]:
    """Who was decided about by these numbers, by kind and name."""
    rows = await connection.fetch(
        "SELECT kind, subject, array_agg(number ORDER BY number), sum(moved)::bigint"
        "  FROM ledger_api.decisions"
        " WHERE fleet = $1 AND number >= $2 AND number < $3 AND kind = ANY($4::text[])"
        " GROUP BY kind, subject",
        fleet,
        first,
        behind,
        list(PLACING),
    )
    return sorted(
        Decided(kind, subject, tuple(numbers), moved) for kind, subject, numbers, moved in rows
    )


async def ended(connection: asyncpg.Connection, fleet: str, a: int, b: int) -> dict[str, int]:
    """The workloads that went between two positions, each with the last event that said so."""
    rows = await connection.fetch(
        "SELECT subject, max(position) AS position FROM ledger_api.events"
        " WHERE fleet = $1 AND position > $2 AND position <= $3 AND type = $4"
        "   AND coalesce(effect, 'applied') = 'applied' GROUP BY subject",
        fleet,
        a,
        b,
        GONE,
    )
    return {row["subject"]: row["position"] for row in rows}


async def elsewhere(
    connection: asyncpg.Connection, fleet: str, a: int, b: int
) -> dict[tuple[str, str], Places]:
    """Who is elsewhere at one position than at another, by kind and subject: all places at both."""
    try:
        rows = await connection.fetch(_ELSEWHERE, fleet, a, b, [*PLACING, TASKS])
    except asyncpg.PostgresError as error:
        if error.sqlstate in NO_ANSWER:
            raise InvalidRequest(NO_ANSWER[error.sqlstate], str(error)) from error
        raise
    found: dict[tuple[str, str], tuple[dict[str, int], dict[str, int]]] = {}
    for kind, subject, place, before, after in rows:
        there, here = found.setdefault((kind, subject), ({}, {}))
        if before:
            there[place] = before
        if after:
            here[place] = after
    return {key: Places(*both) for key, both in found.items()}


_ELSEWHERE: Final = """
WITH places AS (
  SELECT false AS later, a.* FROM ledger_api.placements_as_of($1, $2) a
  UNION ALL
  SELECT true, b.* FROM ledger_api.placements_as_of($1, $3) b
), counted AS (
  SELECT kind, subject, concat_ws('/', nullif(cluster, ''), node, disk) AS place,
         coalesce(sum(count) FILTER (WHERE NOT later), 0)::bigint AS before,
         coalesce(sum(count) FILTER (WHERE later), 0)::bigint AS after
    FROM places WHERE kind = ANY($4::text[]) GROUP BY 1, 2, 3
), told AS (
  SELECT *, bool_or(before <> after) OVER (PARTITION BY kind, subject) AS differs FROM counted
)
SELECT kind, subject, place, before, after FROM told WHERE differs ORDER BY place COLLATE "C"
"""


async def in_force(
    connection: asyncpg.Connection, fleet: str, wanted: Sequence[tuple[str, str]], at: int
) -> dict[tuple[str, str], Decision]:
    """The newest decision of each kind and subject by a position, unless its division's workload went since."""
    rows = await connection.fetch(
        "SELECT w.kind, w.subject, d.record"
        "  FROM unnest($2::text[], $3::text[]) AS w(kind, subject)"
        " CROSS JOIN LATERAL (SELECT position, record FROM ledger_api.decisions"
        "                      WHERE fleet = $1 AND subject = w.subject AND kind = w.kind"
        "                        AND position <= $4 ORDER BY number DESC LIMIT 1) d"
        " WHERE w.kind <> 'division' OR NOT EXISTS"
        "       (SELECT FROM ledger_api.events e WHERE e.fleet = $1 AND e.subject = w.subject"
        "           AND e.type = $5 AND e.position > d.position AND e.position <= $4"
        "           AND coalesce(e.effect, 'applied') = 'applied')",
        fleet,
        [kind for kind, _ in wanted],
        [subject for _, subject in wanted],
        at,
        GONE,
    )
    return {(row["kind"], row["subject"]): from_record(row["record"]) for row in rows}


async def task_moves(
    connection: asyncpg.Connection, fleet: str, first: int, behind: int
) -> list[TaskMove]:
    """The tasks that were placed and evicted by these numbers, in order."""
    rows = await connection.fetch(
        "SELECT number, namespace || '/' || job, cluster || '/' || node, true AS placed, task"
        "  FROM ledger_api.allocations WHERE fleet = $1 AND number >= $2 AND number < $3"
        " UNION ALL "
        "SELECT number, namespace || '/' || job, cluster || '/' || node, false, task"
        "  FROM ledger_api.evictions WHERE fleet = $1 AND number >= $2 AND number < $3"
        " ORDER BY number, task",
        fleet,
        first,
        behind,
    )
    return [TaskMove(*tuple(row)[:4]) for row in rows]


_REFUSED: Final = (
    "SELECT number, position, kind_wanted, subject, reason, detail, resolved_by, ended_position"
    "  FROM ledger_api.refusals WHERE fleet = $1"
)


async def opened(
    connection: asyncpg.Connection, fleet: str, first: int, behind: int
) -> list[Refused]:
    """The refusals of these numbers that waited for something, by number."""
    rows = await connection.fetch(
        f"{_REFUSED} AND number >= $2 AND number < $3"
        "   AND (open OR ended_position IS NOT NULL) ORDER BY number",
        fleet,
        first,
        behind,
    )
    return [_refused(row) for row in rows]


async def closed(
    connection: asyncpg.Connection, fleet: str, first: int, a: int, b: int
) -> list[Refused]:
    """The refusals of earlier numbers that ended between two positions, by number."""
    rows = await connection.fetch(
        f"{_REFUSED} AND number < $2 AND ended_position > $3 AND ended_position <= $4"
        " ORDER BY number",
        fleet,
        first,
        a,
        b,
    )
    return [_refused(row) for row in rows]


def _refused(row: asyncpg.Record) -> Refused:
    values: Any = tuple(row)
    return Refused(*values)
