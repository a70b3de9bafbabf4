"""Batches that are large in another way than usual."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest
import pytest_asyncio

from ledger.log import lines, receipts
from ledger.log.database import connect
from ledger.log.messages import Claim
from ledger.units import FleetName
from tests.events_for_tests import cluster_line


@pytest_asyncio.fixture
async def writer(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await connect(database_url, "ledger_writer")
    yield connection
    await connection.close()


async def test_hundreds_of_fleets_fit_into_one_batch(writer: asyncpg.Connection) -> None:
    names = [f"{'a-rather-long-name-for-a-fleet-of-clusters':.48}-{n:03}" for n in range(300)]

    taken = await lines.ingest(writer, [cluster_line(1, fleet=name) for name in names])

    assert taken.appended == 300


async def test_halting_and_resuming_are_each_one_transaction(writer: asyncpg.Connection) -> None:
    async with writer.transaction():
        await receipts.halt(
            writer, "t", 0, reason="offset_regression", detail="it went back", by="tests"
        )

    await receipts.resume(writer, "t", 0, at=None, why="looked at it", by="tests")

    halt = await receipts.standing(writer, "t", 0)
    assert halt is not None
    assert not halt.halted
    transactions = await writer.fetch(
        "SELECT max(xmin::text), count(*) FROM ("
        "  SELECT xmin FROM ledger.events WHERE position = 1"
        "  UNION ALL SELECT xmin FROM ledger.event_identity WHERE position = 1"
        "  UNION ALL SELECT xmin FROM ledger.heads WHERE size = 2"
        "  UNION ALL SELECT xmin FROM ledger.partition_halts WHERE NOT halted) rows GROUP BY xmin"
    )
    assert [row["count"] for row in transactions] == [4]


async def test_a_fleet_met_by_two_partitions_at_once_is_pinned_to_one(
    database_url: str, writer: asyncpg.Connection
) -> None:
    other = await connect(database_url, "ledger_writer")
    first, second = writer.transaction(), other.transaction()
    await first.start()
    await receipts.check_pins(writer, Claim("t", 0, 1), [FleetName("new")])
    await second.start()
    waits = asyncio.create_task(receipts.check_pins(other, Claim("t", 1, 1), [FleetName("new")]))
    await asyncio.sleep(0.2)
    assert not waits.done()

    await first.commit()

    with pytest.raises(receipts.PartitionMoved):
        await waits
    await second.rollback()
    await other.close()
