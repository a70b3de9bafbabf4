"""Leases: one process at a time decides for a fleet, and one publishes; others stand by.

A lease runs out by the database's clock. Taking it over raises its epoch, and whoever writes
under a lease names the epoch: a holder that slept through its own replacement is refused.

Who stands by says so, too. No right rests on that: it is for people who look, and for who could not make
use of a lease at once and leaves it to somebody who can.

A holder that is frozen in the middle of a transaction keeps the lease's row locked, whatever the
clock says. Postgres ends such a transaction where it waits for the next command, but not where it
waits for the rest of one: that is left to whoever wants the lease.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, NamedTuple

import asyncpg

from ledger.errors import StaleEpoch
from ledger.log.database import refusals_named
from ledger.log.fleets import Fleet
from ledger.units import Epoch

Duty = Literal["decide", "publish"]

LEASE_SECONDS: Final = 5
"""How long a silent holder blocks the others: the longest pause after a kill -9."""

RENEW_SECONDS: Final = 1.5
"""Renewing more than three times in a lease, so that one slow commit does not lose it."""

LOCK_SECONDS: Final = 2
"""How long whoever wants a lease waits for its row: longer than most batches take to be written."""

FROZEN_SECONDS: Final = 15
"""As long as a transaction may be idle between two commands (``ledger.log.database.SESSION``)."""

STILL_SECONDS: Final = 2
"""For how long nothing comes of the rows that somebody copies before it is said that nothing will."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to one duty for one fleet, while nobody holds a newer epoch."""

    fleet: Fleet
    duty: Duty
    holder: str
    epoch: Epoch


class Term(NamedTuple):
    """How far a lease reaches: whoever lives makes it reach farther."""

    epoch: int
    expires_at: datetime
    """By the database's clock, and compared with nothing but another one."""


async def acquire(
    connection: asyncpg.Connection, fleet: Fleet, duty: Duty, *, holder: str
) -> Lease | None:
    """Take the lease if it is free, run out or already ours; None while somebody else holds it."""
    with refusals_named():
        try:
            async with connection.transaction():
                await connection.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
                epoch = await connection.fetchval(
                    _ACQUIRE, fleet.number, duty, holder, LEASE_SECONDS
                )
        except asyncpg.LockNotAvailableError:
            await _end_the_frozen(connection)
            return None
    return None if epoch is None else Lease(fleet, duty, holder, Epoch(epoch))


_ACQUIRE: Final = """
INSERT INTO ledger.leases AS l (fleet, duty, epoch, holder, expires_at)
VALUES ($1, $2, 1, $3, clock_timestamp() + $4 * interval '1 second')
ON CONFLICT (fleet, duty) DO UPDATE
   SET epoch = l.epoch + 1, holder = excluded.holder, expires_at = excluded.expires_at,
       taken_at = CASE WHEN l.holder = excluded.holder AND l.expires_at >= clock_timestamp()
                       THEN l.taken_at ELSE excluded.taken_at END
 WHERE l.expires_at < clock_timestamp() OR l.holder = excluded.holder
RETURNING epoch
"""


async def _end_the_frozen(connection: asyncpg.Connection) -> None:
    """End connections of our own kind that have said nothing for long in the midst of a command.

    To Postgres they are at work: none of its timeouts for the idle counts there. Of one that copies the
    rest of the command is the rows, for as long as they take; so it is left alone while any come.
    """
    with suppress(asyncpg.InsufficientPrivilegeError):
        before = await _waited_for(connection)
        silent = {pid for pid, (_, copied) in before.items() if copied is None}
        if len(silent) < len(before):
            await asyncio.sleep(STILL_SECONDS)
            after = await _waited_for(connection)
            silent |= {pid for pid, seen in before.items() if after.get(pid) == seen}
        async with connection.transaction():
            await connection.execute("SET LOCAL ROLE NONE")
            for pid in sorted(silent):
                await connection.execute("SELECT pg_terminate_backend($1)", pid)


async def _waited_for(connection: asyncpg.Connection) -> dict[int, tuple[datetime, int | None]]:
    """Connections in whose command Postgres waits for more: since when, and how much was copied by then."""
    async with connection.transaction():
        # Logins may look at, and end, what they began themselves; the role of a duty may not.
        await connection.execute("SET LOCAL ROLE NONE")
        rows = await connection.fetch(_WAITED_FOR, FROZEN_SECONDS)
    return {row["pid"]: (row["query_start"], row["copied"]) for row in rows}


_WAITED_FOR: Final = """
SELECT a.pid, a.query_start,
       CASE WHEN a.query ILIKE 'copy %' THEN coalesce(p.bytes_processed, 0) END AS copied
  FROM pg_stat_activity a LEFT JOIN pg_stat_progress_copy p USING (pid)
 WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
   AND a.application_name = current_setting('application_name')
   AND a.state = 'active' AND a.wait_event = 'ClientRead'
   AND a.query_start < clock_timestamp() - $1 * interval '1 second'
"""


async def renew(connection: asyncpg.Connection, lease: Lease) -> None:
    """Keep the lease; raises StaleEpoch where somebody took it over."""
    with refusals_named():
        kept = await connection.fetchval(
            "UPDATE ledger.leases SET expires_at = clock_timestamp() + $4 * interval '1 second'"
            " WHERE fleet = $1 AND duty = $2 AND epoch = $3 RETURNING epoch",
            lease.fleet.number,
            lease.duty,
            lease.epoch,
            LEASE_SECONDS,
        )
    if kept is None:
        raise StaleEpoch(f"{lease.fleet.name}: lease {lease.duty} {lease.epoch} was taken over")


async def check(connection: asyncpg.Connection, lease: Lease) -> None:
    """Inside a transaction that writes under the lease: refuse a holder that was replaced.

    The lease stays as it is until that transaction ends.
    """
    newest = await connection.fetchval(
        "SELECT epoch FROM ledger.leases WHERE fleet = $1 AND duty = $2 FOR UPDATE",
        lease.fleet.number,
        lease.duty,
    )
    require_newest(lease, newest)


def require_newest(lease: Lease, newest: int | None) -> None:
    """Refuse a holder that was replaced, by the newest epoch there is."""
    if newest != lease.epoch:
        raise StaleEpoch(f"{lease.fleet.name}: lease {lease.duty} {lease.epoch}, newest {newest}")


async def held(connection: asyncpg.Connection, fleet: Fleet, duty: Duty) -> Term | None:
    """As far as somebody's lease reaches; None where nobody has one."""
    with refusals_named():
        row = await connection.fetchrow(
            "SELECT epoch, expires_at FROM ledger.leases"
            " WHERE fleet = $1 AND duty = $2 AND expires_at > clock_timestamp()",
            fleet.number,
            duty,
        )
    return None if row is None else Term(row["epoch"], row["expires_at"])


async def let_go(connection: asyncpg.Connection, lease: Lease) -> None:
    """End the lease at once, so that the next holder need not wait for it to run out."""
    with refusals_named():
        await connection.execute(
            "UPDATE ledger.leases SET expires_at = '-infinity'"
            " WHERE fleet = $1 AND duty = $2 AND epoch = $3",
            lease.fleet.number,
            lease.duty,
            lease.epoch,
        )


async def stand_by(
    connection: asyncpg.Connection, waiting: Sequence[Fleet], duty: Duty, *, holder: str
) -> None:
    """Say, for as long as a lease lasts, that this process would take these leases over.

    Who was killed while standing by cannot take its word back; whoever comes later clears it away.
    """
    with refusals_named():
        await connection.execute(
            "WITH dead AS (DELETE FROM ledger.standbys WHERE (fleet, duty, holder) IN"
            "  (SELECT fleet, duty, holder FROM ledger.standbys"
            "    WHERE expires_at < clock_timestamp() - interval '1 minute' AND holder <> $3"
            "    FOR UPDATE SKIP LOCKED))"
            " INSERT INTO ledger.standbys AS s (fleet, duty, holder, expires_at)"
            " SELECT number, $2, $3, clock_timestamp() + $4 * interval '1 second'"
            "   FROM unnest($1::integer[]) AS number ORDER BY number"
            " ON CONFLICT (fleet, duty, holder) DO UPDATE"
            "   SET expires_at = excluded.expires_at,"
            "       since = CASE WHEN s.expires_at < clock_timestamp()"
            "                    THEN excluded.since ELSE s.since END",
            [fleet.number for fleet in waiting],
            duty,
            holder,
            LEASE_SECONDS,
        )


async def stand_by_no_more(
    connection: asyncpg.Connection, duty: Duty, *, holder: str, fleet: Fleet | None = None
) -> None:
    """Take that back: for one fleet, whose lease was taken, or for all of them."""
    with refusals_named():
        await connection.execute(
            "DELETE FROM ledger.standbys"
            " WHERE duty = $1 AND holder = $2 AND ($3::integer IS NULL OR fleet = $3)",
            duty,
            holder,
            None if fleet is None else fleet.number,
        )


async def somebody_stands_by(
    connection: asyncpg.Connection, fleet: Fleet, duty: Duty, *, beside: str
) -> bool:
    """Whether anybody else than this holder said lately that it would take this lease over."""
    with refusals_named():
        found: bool = await connection.fetchval(
            "SELECT EXISTS (SELECT FROM ledger.standbys"
            " WHERE fleet = $1 AND duty = $2 AND holder <> $3 AND expires_at > clock_timestamp())",
            fleet.number,
            duty,
            beside,
        )
    return found
