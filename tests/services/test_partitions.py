"""Partitions are made ahead; rows that found none are taken care of; full ones can be detached."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import asyncpg
import pytest
import pytest_asyncio

from ledger.errors import LedgerStopped, LogUnavailable
from ledger.log import partitions
from ledger.log.database import connect


@pytest_asyncio.fixture
async def maintainer(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await connect(database_url, "ledger_maintainer")
    yield connection
    await connection.close()


@pytest_asyncio.fixture
async def anybody(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await connect(database_url, None)
    yield connection
    await connection.close()


async def a_log_ending_at(connection: asyncpg.Connection, *positions: int) -> None:
    """Rows at these positions, the way an append leaves them, and a head behind the last."""
    await connection.execute(
        "INSERT INTO ledger.fleets (number, name, clock) VALUES (1, 'test', 'wall')"
        " ON CONFLICT DO NOTHING"
    )
    await connection.execute(
        "INSERT INTO ledger.append_locks VALUES (1, 'events') ON CONFLICT DO NOTHING"
    )
    await connection.executemany(
        "INSERT INTO ledger.events VALUES"
        " (1, $1, 1, 1, NULL, 1, 'file', NULL, NULL, 1, 's', 'i', 't', 's', '', '')",
        [(position,) for position in positions],
    )
    await connection.execute(
        "INSERT INTO ledger.heads VALUES (1, 'events', $1, 1, decode(repeat('00', 32), 'hex'), '')",
        max(positions) + 1,
    )


async def partition_of(connection: asyncpg.Connection, position: int) -> str:
    found: str = await connection.fetchval(
        "SELECT tableoid::regclass::text FROM ledger.events WHERE position = $1", position
    )
    return found


async def test_partitions_are_made_ahead_of_the_longest_log(
    maintainer: asyncpg.Connection, anybody: asyncpg.Connection
) -> None:
    size = await anybody.fetchval("SELECT ledger.positions_per_partition()")
    await a_log_ending_at(anybody, size)

    made = await partitions.make_ahead(maintainer)
    again = await partitions.make_ahead(maintainer)

    assert (made, again) == (2, 0)
    await a_log_ending_at(anybody, 3 * size)
    assert await partition_of(anybody, 3 * size) == "ledger.events_000003"


async def test_rows_that_found_no_partition_get_one(
    maintainer: asyncpg.Connection, anybody: asyncpg.Connection
) -> None:
    size = await anybody.fetchval("SELECT ledger.positions_per_partition()")
    await a_log_ending_at(anybody, 5 * size + 3, 6 * size)
    assert await partition_of(anybody, 6 * size) == "ledger.events_default"
    assert (await partitions.standing(maintainer)).in_default == 2

    await partitions.make_ahead(maintainer)

    assert await partition_of(anybody, 6 * size) == "ledger.events_000005_000006"
    assert (await partitions.standing(maintainer)).in_default == 0
    await a_log_ending_at(anybody, 7 * size, 90 * size)
    assert await partition_of(anybody, 7 * size) == "ledger.events_000007"
    assert await partition_of(anybody, 90 * size) == "ledger.events_default"
    with pytest.raises(asyncpg.PostgresError, match="is history"):
        await anybody.execute("DELETE FROM ledger.events_000005_000006")


async def test_a_fleet_whose_rows_do_not_add_up_is_named(
    maintainer: asyncpg.Connection, anybody: asyncpg.Connection
) -> None:
    await a_log_ending_at(anybody, 0, 2)

    assert (await partitions.standing(maintainer)).incomplete == ("test",)


async def test_a_partition_still_in_use_is_not_detached(
    maintainer: asyncpg.Connection, anybody: asyncpg.Connection
) -> None:
    await a_log_ending_at(anybody, 0)

    with pytest.raises(LedgerStopped, match="fleet test still needs events_000000"):
        await partitions.detach(maintainer, 0)


async def test_a_detached_range_still_counts(
    maintainer: asyncpg.Connection, anybody: asyncpg.Connection
) -> None:
    size = await anybody.fetchval("SELECT ledger.positions_per_partition()")
    await a_log_ending_at(anybody, size - 1, size)
    await anybody.execute("INSERT INTO ledger.decided VALUES (1, $1, 0, 1)", size)
    with pytest.raises(LedgerStopped, match="has no snapshot behind it"):
        await partitions.detach(maintainer, 0)
    await anybody.execute(
        "INSERT INTO ledger.snapshots (fleet, incarnation, through, decisions, engine, layout, types,"
        "  digest, event_root, decision_root, bytes, stored_bytes, written_by)"
        " SELECT 1, 1, $1, 0, 1, 1, d, d, d, d, 1, 1, 'tests' FROM sha256('') AS d",
        size,
    )
    with pytest.raises(LedgerStopped, match="has no snapshot behind it"):
        await partitions.detach(maintainer, 0)
    await anybody.execute("INSERT INTO ledger.snapshot_parts VALUES (1, 0, 'bytes')")

    name = await partitions.detach(maintainer, 0)

    assert name == "events_000000"
    archived = await anybody.fetchrow("SELECT first, next, partition FROM ledger.archived_ranges")
    assert tuple(archived or ()) == (size - 1, size, "events_000000")
    assert await anybody.fetchval("SELECT count(*) FROM ledger.events") == 1
    assert await partitions.make_ahead(maintainer) == 2, "the detached one is not made again"


async def test_maintenance_makes_nobody_wait_behind_a_forgotten_transaction(
    maintainer: asyncpg.Connection, anybody: asyncpg.Connection, database_url: str
) -> None:
    size = await anybody.fetchval("SELECT ledger.positions_per_partition()")
    await a_log_ending_at(anybody, size)
    forgetful = await connect(database_url, None)
    forgotten = forgetful.transaction(isolation="repeatable_read")
    await forgotten.start()
    await forgetful.fetch("SELECT count(*) FROM ledger.events")

    async with asyncio.timeout(10):
        with suppress(LogUnavailable):  # It gives up rather than wait; the next round tries again.
            await partitions.make_ahead(maintainer)
        await a_log_ending_at(anybody, size + 1)

    await forgotten.rollback()
    await forgetful.close()
    await partitions.make_ahead(maintainer)
    await a_log_ending_at(anybody, 3 * size)
    assert await partition_of(anybody, 3 * size) == "ledger.events_000003"
