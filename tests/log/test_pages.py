"""Pages of a log: no larger than memory should have to hold, and nothing is left out between them."""

from collections.abc import AsyncIterator

import asyncpg
import pytest_asyncio

from ledger.log import fleets, lines, read
from ledger.log.database import connect
from ledger.log.read import PAGE_BYTES
from ledger.units import FleetName, Position
from tests.events_for_tests import cluster_line

LARGE = 700_000


@pytest_asyncio.fixture
async def anybody(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await connect(database_url, None)
    yield connection
    await connection.close()


async def test_a_page_ends_where_its_events_are_large(anybody: asyncpg.Connection) -> None:
    keys = [f"c1/{number:0200}" for number in range(LARGE // 200)]
    data = {"cluster": "c1", "noun": "node", "keys": keys}
    listed = "ledger.cluster.inventory.listed.v1"
    large = [
        cluster_line(1, id=f"large-{number}", type=listed, subject="c1", data=data)
        for number in range(30)
    ]
    small = [cluster_line(number) for number in range(2, 40)]
    assert len(large[0]) > LARGE
    await lines.ingest(anybody, [*small, *large, cluster_line(99)])
    fleet = await fleets.find(anybody, FleetName("test"))
    assert fleet is not None

    found = [page async for page in read.pages(anybody, fleet, first=Position(0))]

    positions = [event.position for page in found for event in page]
    assert positions == list(range(len(small) + len(large) + 1))
    sizes = [sum(len(event.payload) for event in page) for page in found]
    assert len(found) == 3
    assert max(sizes) < PAGE_BYTES + len(large[0])
    assert min(sizes[:-1]) >= PAGE_BYTES
    limited = await read.page(anybody, fleet, first=Position(0), limit=5)
    assert [event.position for event in limited] == [0, 1, 2, 3, 4]
