"""Pages of what is in ``ledger_api``, for whoever turns over one after the other.

A page begins behind the last row of the one before, by its key and not by a count: it costs the same
however far in it is, and rows that come meanwhile shift nothing. Page and mark are read in one
snapshot, so that a mark that has not changed says that the pages have not either.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import asyncpg

from ledger.errors import InvalidRequest
from ledger.units import Position
from ledger.views.query import NO_ANSWER

STATEMENT_SECONDS: Final = 10
"""What one page may take."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a fleet is decided: everything below stands as it is as long as this does."""

    incarnation: int
    decided_through: int
    decisions: int


@dataclass(frozen=True, slots=True)
class Page:
    """Rows in the order of their keys, and whether there may be more behind them."""

    rows: Sequence[Row]
    more: bool


async def prepare(connection: asyncpg.Connection) -> None:
    """Make a reader's connection one that only reads, and not for long."""
    await connection.execute(
        "SET default_transaction_read_only = on;"
        "SET default_transaction_isolation = 'repeatable read';"
        f"SET statement_timeout = '{STATEMENT_SECONDS}s'"
    )


async def mark(connection: asyncpg.Connection, fleet: str) -> Mark | None:
    """How far a fleet is decided; None where there is no such fleet."""
    row = await connection.fetchrow(
        "SELECT incarnation, coalesce(decided_through, -1), decisions"
        "  FROM ledger_api.fleets WHERE fleet = $1",
        fleet,
    )
    return None if row is None else Mark(*row)


async def position_at(
    connection: asyncpg.Connection, fleet: str, moment: datetime
) -> Position | None:
    """The position of the last event by a time that is decided; None before the first."""
    found: int | None = await connection.fetchval(
        "SELECT CASE WHEN p.at > f.decided_through THEN f.decided_through ELSE p.at END"
        "  FROM ledger_api.fleets f"
        " CROSS JOIN LATERAL (SELECT ledger_api.position_at(f.fleet, $2) AS at) p"
        " WHERE f.fleet = $1 AND f.decided_through >= 0",
        fleet,
        moment,
    )
    return None if found is None else Position(found)


async def placements(
    connection: asyncpg.Connection,
    fleet: str,
    *,
    as_of: Position | None,
    kind: str | None,
    subject: str | None,
    after: Sequence[str] | None,
    limit: int,
) -> Page:
    """What is or was in force; ``after`` is kind, subject, cluster, node and disk of a row.

    ``InvalidRequest`` where nobody kept what was in force so early, or nobody decided so far.
    """
    # What is not asked for is not in the statement: its plan is kept, and has to fit what is asked.
    asked: list[Any] = [fleet, limit + 1]
    where = ["fleet = $1"]
    for column, value in (("kind", kind), ("subject", subject)):
        if value is not None:
            asked.append(value)
            where.append(f"{column} = ${len(asked)}")
    if after is not None:
        first = len(asked) + 1
        asked += after
        beyond = ", ".join(f"${first + place}" for place in range(len(after)))
        where.append(
            f"(kind, subject, cluster, coalesce(node, ''), coalesce(disk, '')) > ({beyond})"
        )
    there = "placements"
    if as_of is not None:
        asked.append(as_of)
        there = f"placements_as_of($1, ${len(asked)})"
    try:
        rows = await connection.fetch(
            " ".join(
                (
                    "SELECT kind, subject, cluster, node, disk, count, number, since_position",
                    f"FROM ledger_api.{there} WHERE {' AND '.join(where)}",
                    "ORDER BY kind, subject, cluster, coalesce(node, ''), coalesce(disk, '') LIMIT $2",
                )
            ),
            *asked,
        )
    except asyncpg.PostgresError as error:
        if error.sqlstate in NO_ANSWER:
            raise InvalidRequest(NO_ANSWER[error.sqlstate], str(error)) from None
        raise
    return _page(rows, limit)


async def decisions(
    connection: asyncpg.Connection,
    fleet: str,
    *,
    kind: str | None,
    subject: str | None,
    after: int,
    limit: int,
) -> Page:
    """Decisions behind number ``after``, in their order."""
    # Numbers have no gaps: of all of them a page is so many, and nothing behind it is looked at.
    behind = after + limit + 2 if kind is None and subject is None else None
    rows = await connection.fetch(
        f"SELECT {_DECISION} FROM ledger_api.decisions"  # noqa: S608 - columns of ours
        " WHERE fleet = $1 AND number > $4 AND ($2::text IS NULL OR kind = $2)"
        "   AND ($3::text IS NULL OR subject = $3) AND ($6::bigint IS NULL OR number < $6)"
        " ORDER BY number LIMIT $5",
        fleet,
        kind,
        subject,
        after,
        limit + 1,
        behind,
    )
    page = _page(rows, limit)
    return Page([_decision(row) for row in page.rows], page.more)


async def decision(connection: asyncpg.Connection, fleet: str, number: int) -> Row | None:
    """One decision; None where there is none of that number."""
    row = await connection.fetchrow(
        f"SELECT {_DECISION} FROM ledger_api.decisions"  # noqa: S608 - columns of ours
        " WHERE fleet = $1 AND number = $2",
        fleet,
        number,
    )
    return None if row is None else _decision(dict(row))


async def candidates(connection: asyncpg.Connection, fleet: str, number: int) -> Sequence[Row]:
    """Who was weighed for a decision, winners and losers, as far as it recorded them."""
    rows = await connection.fetch(
        "SELECT stage, candidate, rank, score, chosen, why_not FROM ledger_api.candidates"
        " WHERE fleet = $1 AND number = $2 ORDER BY stage, rank, candidate",
        fleet,
        number,
    )
    return [dict(row) for row in rows]


async def fair_shares(
    connection: asyncpg.Connection, fleet: str, *, after: Sequence[str] | None, limit: int
) -> Page:
    """Who has what of each queue; ``after`` is queue, namespace and resource of a row."""
    rows = await connection.fetch(
        "SELECT queue, namespace, resource, number, weight::text AS weight,"
        "       requested::text AS requested, deserved::text AS deserved,"
        "       deserved_exact::text AS deserved_exact, allocated::text AS allocated,"
        "       weighted_share::text AS weighted_share FROM ledger_api.fair_shares"
        " WHERE fleet = $1 AND ($2::text[] IS NULL"
        "        OR (queue, namespace, resource) > ($2[1], $2[2], $2[3]))"
        " ORDER BY queue, namespace, resource LIMIT $3",
        fleet,
        after,
        limit + 1,
    )
    return _page(rows, limit)


async def quarantine(
    connection: asyncpg.Connection,
    *,
    fleets: Sequence[str] | None,
    everything: bool,
    before: int | None,
    limit: int,
) -> Page:
    """Messages set aside, the newest first, below position ``before``; None is every fleet."""
    rows = await connection.fetch(
        "SELECT position, address, fleet, reason, detail, source, id, type, subject, outcome,"
        "       released_position, quarantined_at, settled_by, settled_why, settled_at"
        "  FROM ledger_api.quarantine"
        " WHERE ($1::text[] IS NULL OR fleet = ANY($1)) AND ($2 OR outcome IS NULL)"
        "   AND ($3::bigint IS NULL OR position < $3) ORDER BY position DESC LIMIT $4",
        fleets,
        everything,
        before,
        limit + 1,
    )
    return _page(rows, limit)


async def quarantined(connection: asyncpg.Connection, position: int) -> Row | None:
    """One message that was set aside; None where there is none at that position."""
    row = await connection.fetchrow(
        "SELECT fleet, outcome FROM ledger_api.quarantine WHERE position = $1", position
    )
    return None if row is None else dict(row)


async def incidents(
    connection: asyncpg.Connection,
    *,
    fleets: Sequence[str] | None,
    after: tuple[str, int, int] | None,
    limit: int,
) -> Page:
    """What contradicted the book or stopped a partition; ``after`` is fleet, position, number."""
    rows = await connection.fetch(
        "SELECT fleet, position, number, recorded_at, address, kind, detail"
        "  FROM ledger_api.incidents WHERE ($1::text[] IS NULL OR fleet = ANY($1))"
        "   AND ($2::text IS NULL"
        "        OR (fleet, position, coalesce(number, -1)) > ($2, $3::bigint, $4::bigint))"
        " ORDER BY fleet, position, coalesce(number, -1) LIMIT $5",
        fleets,
        *(after or (None, None, None)),
        limit + 1,
    )
    return _page(rows, limit)


_DECISION: Final = (
    "number, position, kind, subject, algorithm, version, branch, moved, previous_number,"
    " result, reasons, digest, decision"
)


def _decision(row: Row) -> Row:
    # The quicker reader takes a whole number of more than 64 bits for a float; exact ratios have such.
    return dict(row) | {
        "result": json.loads(row["result"]),
        "reasons": json.loads(row["reasons"]),
    }


def _page(rows: Sequence[asyncpg.Record], limit: int) -> Page:
    return Page([dict(row) for row in rows[:limit]], len(rows) > limit)
