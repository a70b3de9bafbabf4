"""Letting quarantined messages in: each at most once, by whichever way it comes."""

from collections.abc import AsyncIterator

import asyncpg
import pytest
import pytest_asyncio

from ledger.errors import InvalidEvent, LedgerStopped, SetupProblem
from ledger.log import fleets, lines, quarantine
from ledger.log.database import connect
from ledger.log.intake import open_fleet
from ledger.units import FleetName, Position
from tests.events_for_tests import cluster_line


@pytest_asyncio.fixture
async def writer(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await connect(database_url, "ledger_writer")
    yield connection
    await connection.close()


async def waiting(writer: asyncpg.Connection) -> Position:
    found: int = await writer.fetchval(
        "SELECT position FROM ledger_api.quarantine WHERE outcome IS NULL ORDER BY position LIMIT 1"
    )
    return Position(found)


async def release(
    writer: asyncpg.Connection, position: Position, *, corrected: bytes | None = None
) -> quarantine.Released:
    return await quarantine.release(
        writer, position, families=lines.FAMILIES, by="tests", why="tests", corrected=corrected
    )


async def test_a_released_line_read_again_is_a_duplicate(writer: asyncpg.Connection) -> None:
    late = cluster_line(1, fleet="late")
    await lines.ingest(writer, [late], create_fleets=False)
    await open_fleet(writer, FleetName("late"), clock="wall")

    released = await release(writer, await waiting(writer))
    again = await lines.ingest(writer, [late], create_fleets=False)

    assert released.position == 0
    assert (again.appended, again.duplicates, again.quarantined) == (0, 1, 0)


async def test_a_line_that_came_in_meanwhile_is_not_released(writer: asyncpg.Connection) -> None:
    late = cluster_line(1, fleet="late")
    await lines.ingest(writer, [late], create_fleets=False)
    await lines.ingest(writer, [late])

    with pytest.raises(LedgerStopped, match="it is position 0 already"):
        await release(writer, await waiting(writer))


async def test_a_fleet_that_is_not_open_is_not_opened_on_the_side(
    writer: asyncpg.Connection,
) -> None:
    await lines.ingest(writer, [cluster_line(1, fleet="late")], create_fleets=False)

    with pytest.raises(SetupProblem, match="fleet late is not open"):
        await release(writer, await waiting(writer))

    assert await fleets.find(writer, FleetName("late")) is None


async def test_what_the_fleet_refuses_is_refused_again(writer: asyncpg.Connection) -> None:
    await lines.ingest(writer, [cluster_line(1), cluster_line(2, time=None)], clock="event")
    position = await waiting(writer)

    with pytest.raises(InvalidEvent, match="time_required"):
        await release(writer, position)

    timed = await release(writer, position, corrected=cluster_line(2))
    assert timed.position == 1


async def test_time_may_be_carried_far_ahead_by_a_person(writer: asyncpg.Connection) -> None:
    ahead = cluster_line(2, time="2999-01-01T00:00:00Z")
    await lines.ingest(writer, [cluster_line(1), ahead], clock="event")

    await release(writer, await waiting(writer))
    later = cluster_line(3, time="2999-06-01T00:00:00Z")
    taken = await lines.ingest(writer, [later])

    assert (taken.appended, taken.quarantined) == (1, 0), "it goes on from there"


async def test_a_conflict_can_be_let_in_by_a_person(writer: asyncpg.Connection) -> None:
    await lines.ingest(writer, [cluster_line(1)])
    await lines.ingest(writer, [cluster_line(1, data={"name": "c1", "region": "other"})])

    released = await release(writer, await waiting(writer))

    assert released.position == 1


async def test_the_salt_of_a_first_policy_survives_quarantine(writer: asyncpg.Connection) -> None:
    policy = cluster_line(
        1, type="ledger.policy.policy.changed.v1", subject="late", fleet="late", data={"salt": "s"}
    )
    await lines.ingest(writer, [policy], create_fleets=False)
    late = await open_fleet(writer, FleetName("late"), clock="wall")

    await release(writer, await waiting(writer))

    genesis = await fleets.read_genesis(writer, late)
    assert genesis is not None
    assert genesis.salt == "s"
