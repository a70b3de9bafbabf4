"""What one event leaves to the next is done at a tick where no other event comes.

Whoever was refused and may be served by now is asked again; a round that was full goes on.
"""

from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest

from ledger.engine.decider import Decider
from ledger.log import fleets, lines
from ledger.log.database import connect
from ledger.replay.replay import replay
from ledger.units import FleetName
from tests.engine.deciding import decide_all
from tests.engine.test_deployments_in_sql import Told, rows

REFUSED = "SELECT subject FROM ledger_api.open_refusals ORDER BY subject"
TICKS = "SELECT count(*) FROM ledger.events WHERE type = 'ledger.time.time.passed.v1'"


def a_division_behind_a_deployment() -> Told:
    """Room for a division is given up by a deployment, which is asked after divisions."""
    story = Told()
    story.cluster("m1")
    story.node("n1", cpu="4", memory=8)
    story.workload("first", 4, request={"memory": 2})
    divided: dict[str, Any] = {"division": {"strategy": "dynamic"}, "request": {"memory": 2}}
    story.workload("second", 4, cluster=None, **divided)
    story.workload("first", 0, request={"memory": 2})
    return story


def more_than_one_event_serves() -> Told:
    """Four wait for a node, and one event serves one of them."""
    story = Told()
    story.add("policy", "policy.changed", "test", {"retry": {"max_subjects": 1}})
    story.cluster("m1")
    for name in ("a", "b", "c", "d"):
        story.workload(name, 1)
    story.node("n1", cpu="4", memory=8)
    return story


def more_than_one_round_places() -> Told:
    """A job of seven tasks, of which a round places two; no round waits for the time."""
    story = Told()
    round_ = {"max_events": 1, "max_milliseconds": 0, "max_tasks": 2}
    story.add("policy", "policy.changed", "test", {"round": round_})
    story.cluster("m1")
    story.node("n1", cpu="8", memory=8)
    story.add("quota", "queue.upserted", "q", {"name": "q"})
    story.workload("job", 7, kind="Job", cluster=None, deploy=None, queue="q")
    return story


STORIES = [a_division_behind_a_deployment, more_than_one_event_serves, more_than_one_round_places]


@pytest.mark.parametrize("clock", ["wall", "event"])
@pytest.mark.parametrize(("story", "ticks"), [*zip(STORIES, (1, 3, 3), strict=True)])
async def test_who_decides_to_the_end_leaves_nobody_who_can_be_served(
    database_url: str, story: Any, ticks: int, clock: Any
) -> None:
    anybody = await connect(database_url, None)
    try:
        await lines.ingest(anybody, story().lines, clock=clock)
        await decide_all(database_url)

        assert await rows(anybody, REFUSED) == []
        assert await anybody.fetchval(TICKS) == ticks
        report = await replay(anybody, await the_fleet(anybody))
        assert report.diverged is None
    finally:
        await anybody.close()


async def test_on_the_clock_of_events_no_tick_takes_a_fleet_to_the_present(
    database_url: str,
) -> None:
    anybody = await connect(database_url, None)
    try:
        await lines.ingest(anybody, more_than_one_event_serves().lines, clock="event")
        await decide_all(database_url)

        moments = "SELECT DISTINCT recorded_at FROM ledger_api.events"
        assert await rows(anybody, moments) == [(datetime(2026, 1, 5, 9, 59, tzinfo=UTC),)]
    finally:
        await anybody.close()


async def test_an_event_places_no_more_tasks_than_a_round_may(database_url: str) -> None:
    story = more_than_one_round_places()
    anybody = await connect(database_url, None)
    try:
        await lines.ingest(anybody, story.lines, clock="event")
        await decide_all(database_url)

        placed = "SELECT count(*) FROM ledger_api.allocations GROUP BY position ORDER BY position"
        assert await rows(anybody, placed) == [(2,), (2,), (2,), (1,)]
    finally:
        await anybody.close()


@pytest.mark.parametrize("story", STORIES)
async def test_a_live_decider_asks_them_soon(database_url: str, story: Any) -> None:
    anybody = await connect(database_url, None)
    try:
        await lines.ingest(anybody, story().lines, clock="wall")
        live = Decider(anybody, await the_fleet(anybody), holder="me")
        turns = 0
        while await live.turn(ticks=False):
            turns += 1
            assert turns < 50, "it comes to an end"

        assert await rows(anybody, REFUSED) == []
        if story is more_than_one_round_places:
            assert await rows(anybody, "SELECT count(*) FROM ledger_api.running_tasks") == [(7,)]
    finally:
        await anybody.close()


async def test_nobody_is_asked_under_hold_and_nobody_in_vain(database_url: str) -> None:
    story = more_than_one_event_serves()
    story.workload("large", 1, request={"memory": 100})
    anybody = await connect(database_url, None)
    try:
        await lines.ingest(anybody, story.lines, clock="wall")
        await decide_all(database_url)
        assert await rows(anybody, REFUSED) == [("shop/large@m1",)]
        ticks = await anybody.fetchval(TICKS)

        held = Told()
        held.lines = list(story.lines)
        held.hold(hold=True)
        held.node("n2", cpu="4", memory=200)
        await lines.ingest(anybody, held.lines, clock="wall")
        await decide_all(database_url)

        assert await rows(anybody, REFUSED) == [("shop/large@m1",)]
        assert await anybody.fetchval(TICKS) == ticks
    finally:
        await anybody.close()


async def the_fleet(connection: asyncpg.Connection) -> fleets.Fleet:
    fleet = await fleets.find(connection, FleetName("test"))
    assert fleet is not None
    return fleet
