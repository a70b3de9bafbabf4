"""Letting quarantined messages in: each at most once, by whichever way it comes."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator

import asyncpg
import pytest
import pytest_asyncio

from ledger.errors import InvalidEvent, LedgerStopped, SetupProblem
from ledger.log import fleets, lines, quarantine
from ledger.log.database import connect
from ledger.log.intake import open_fleet
from ledger.log.quarantine import Chosen
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


UNKNOWN = Chosen("unknown_fleet")


async def released(
    writer: asyncpg.Connection, chosen: Chosen = UNKNOWN
) -> tuple[int, dict[str, int], int]:
    """How many were let in and refused, and in how many pages."""
    settled, refused, last, pages = 0, Counter[str](), -1, 0
    while told := await quarantine.release_page(
        writer, chosen, last, families=lines.FAMILIES, by="tests", why="it is open now"
    ):
        settled, last, pages = settled + told.settled, told.last, pages + 1
        refused.update(told.refused)
    return settled, dict(refused), pages


async def subjects(writer: asyncpg.Connection, fleet: str) -> list[str]:
    rows = await writer.fetch(
        "SELECT payload FROM ledger_api.events WHERE fleet = $1 ORDER BY position", fleet
    )
    said = [json.loads(row["payload"])["data"] for row in rows]
    return [one.get("event", {}).get("subject", one.get("name")) for one in said]


async def test_what_one_cause_set_aside_is_let_in_by_the_page_and_in_its_order(
    writer: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quarantine, "SETTLED_AT_ONCE", 4)
    late = [cluster_line(number, fleet=f"late-{number % 2}") for number in range(20)]
    await lines.ingest(writer, [*late, b"{"], create_fleets=False)
    for name in ("late-0", "late-1"):
        await open_fleet(writer, FleetName(name), clock="wall")
    assert await quarantine.waiting(writer, UNKNOWN) == 20

    first = await released(writer)
    again = await released(writer)
    read_again = await lines.ingest(writer, late, create_fleets=False)

    assert first == (20, {}, 5)
    assert again == (0, {}, 0)
    assert (read_again.appended, read_again.duplicates, read_again.quarantined) == (0, 20, 0)
    assert await subjects(writer, "late-0") == [f"c{number}" for number in range(0, 20, 2)]
    assert await subjects(writer, "late-1") == [f"c{number}" for number in range(1, 20, 2)]
    waits = await writer.fetch("SELECT reason FROM ledger_api.quarantine WHERE outcome IS NULL")
    assert [row["reason"] for row in waits] == ["not_json"]
    told = await writer.fetch(
        "SELECT DISTINCT outcome, settled_by, settled_why FROM ledger_api.quarantine"
        " WHERE outcome IS NOT NULL"
    )
    assert [tuple(row) for row in told] == [("released", "tests", "it is open now")]


async def test_a_page_by_page_release_says_of_each_what_one_by_one_says(
    writer: asyncpg.Connection,
) -> None:
    await lines.ingest(
        writer,
        [
            cluster_line(1, fleet="late"),
            cluster_line(1, fleet="late") + b" ",
            cluster_line(2, fleet="never"),
            cluster_line(3, fleet="late", time=None),
            cluster_line(4, fleet="late", time="9999-01-01T00:00:00Z"),
            cluster_line(5, fleet="late"),
        ],
        create_fleets=False,
    )
    await open_fleet(writer, FleetName("late"), clock="event")
    await lines.ingest(writer, [cluster_line(5, fleet="late")], create_fleets=False)

    settled, refused, _ = await released(writer)

    assert (settled, refused) == (
        1,
        {"duplicate": 2, "unknown_fleet": 1, "time_required": 1, "time_too_far_ahead": 1},
    )
    assert await quarantine.waiting(writer, UNKNOWN) == 5
    assert await subjects(writer, "late") == ["c5", "c1"]


async def test_only_what_was_chosen_is_settled(writer: asyncpg.Connection) -> None:
    await lines.ingest(
        writer,
        [
            cluster_line(1, fleet="late", source="/one"),
            cluster_line(2, fleet="late", source="/other"),
            cluster_line(3, fleet="other", source="/one"),
            b"{",
            cluster_line(4, fleet="late", source="/one"),
        ],
        create_fleets=False,
    )
    for name in ("late", "other"):
        await open_fleet(writer, FleetName(name), clock="wall")

    chosen = Chosen("unknown_fleet", fleet="late", source="/one", before=3)
    assert await quarantine.waiting(writer, chosen) == 1
    assert await released(writer, chosen) == (1, {}, 1)
    discarded = await quarantine.discard_page(
        writer, Chosen("unknown_fleet", source="/one"), -1, by="tests", why="noise"
    )

    assert discarded == quarantine.Settled(Position(4), 2, {})
    rows = await writer.fetch("SELECT outcome FROM ledger_api.quarantine ORDER BY position")
    assert [row["outcome"] for row in rows] == [None, "released", None, "discarded", "discarded"]


async def test_two_who_let_the_same_in_at_once_let_each_in_once(
    writer: asyncpg.Connection, database_url: str
) -> None:
    late = [cluster_line(number, fleet="late") for number in range(600)]
    await lines.ingest(writer, late, create_fleets=False)
    await open_fleet(writer, FleetName("late"), clock="wall")
    other = await connect(database_url, "ledger_writer")

    one, two = await asyncio.gather(released(writer), released(other))
    await other.close()

    assert (one[0] + two[0], one[1], two[1]) == (600, {}, {})
    assert await subjects(writer, "late") == [f"c{number}" for number in range(600)]


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
