"""What a fleet waits for where nothing happens: when time alone decides something, and that nobody does."""

from datetime import timedelta

import asyncpg
import pytest

from ledger.engine.decider import Decider
from ledger.log import decisions, fleets, lines
from ledger.log.database import connect
from ledger.log.fleets import Fleet
from ledger.replay.deep import deep
from ledger.units import FleetName
from tests.engine.deciding import decide_all
from tests.engine.test_deployments_in_sql import Told, rows

WAITS = (
    "SELECT next_deadline - last_recorded_at, overdue_seconds, lag_seconds, undecided"
    "  FROM ledger_api.fleets WHERE fleet = 'test'"
)
AN_HOUR = 3_600_000


def in_grace(milliseconds: int) -> Told:
    """A cluster with replicas that is not ready, and counts for so long all the same."""
    story = Told()
    story.add("policy", "policy.changed", "test", {"grace": {"cluster_ms": milliseconds}})
    story.cluster("m1")
    story.workload("cart", 2, cluster=None, division={"weights": {"m1": 1}}, deploy=None)
    story.add("cluster", "cluster.upserted", "m1", {"name": "m1", "ready": False})
    return story


async def left_alone(connection: asyncpg.Connection, story: Told) -> Fleet:
    """The story is decided by somebody who goes away then."""
    await lines.ingest(connection, story.lines)
    fleet = await fleets.find(connection, FleetName("test"))
    assert fleet is not None
    decider = Decider(connection, fleet, holder="gone")
    while (await decisions.cursor(connection, fleet))[0] < len(story.lines) - 1:
        await decider.turn(ticks=False)
    await decider.let_go()
    return fleet


async def test_a_deadline_is_told_before_and_after_it_passes(database_url: str) -> None:
    anybody = await connect(database_url, None)
    try:
        await left_alone(anybody, in_grace(AN_HOUR))
        assert await rows(anybody, WAITS) == [(timedelta(hours=1), 0, 0, 0)]
    finally:
        await anybody.close()


async def test_a_deadline_that_nobody_reaches_is_overdue_and_no_more_once_somebody_did(
    database_url: str,
) -> None:
    anybody = await connect(database_url, None)
    try:
        fleet = await left_alone(anybody, in_grace(1))

        ((waits, first, lag, undecided),) = await rows(anybody, WAITS)
        assert (waits, lag, undecided) == (timedelta(milliseconds=1), 0, 0)
        ((_, second, _, _),) = await rows(anybody, WAITS)
        assert 0 <= first < second
        await decide_all(database_url)
        assert await rows(anybody, WAITS) == [(None, 0, 0, 0)]
        assert (await deep(anybody, fleet)).diverged is None
    finally:
        await anybody.close()


async def test_a_fleet_on_the_clock_of_its_events_does_not_say(database_url: str) -> None:
    anybody = await connect(database_url, None)
    try:
        await lines.ingest(anybody, in_grace(1).lines, clock="event")
        fleet = await fleets.find(anybody, FleetName("test"))
        assert fleet is not None
        decider = Decider(anybody, fleet, holder="me")
        while await decider.turn(ticks=False):
            pass

        assert await rows(anybody, WAITS) == [(timedelta(milliseconds=1), None, None, 0)]
    finally:
        await anybody.close()


async def test_a_wait_of_ages_is_none(database_url: str) -> None:
    anybody = await connect(database_url, None)
    try:
        await left_alone(anybody, in_grace(2**63 - 1))
        assert await rows(anybody, WAITS) == [(None, 0, 0, 0)]
    finally:
        await anybody.close()


@pytest.mark.parametrize("told", ["NULL", "due_at_micros + 1"])
async def test_another_deadline_than_the_history_has_is_found(database_url: str, told: str) -> None:
    anybody = await connect(database_url, None)
    try:
        fleet = await left_alone(anybody, in_grace(AN_HOUR))
        assert (await deep(anybody, fleet)).diverged is None
        await anybody.execute(
            "SET session_replication_role = replica;"
            f"UPDATE ledger.decided SET due_at_micros = {told} WHERE through = 3"
        )

        found = (await deep(anybody, fleet)).diverged

        assert found is not None
        assert (found.path, found.position) == ("decided.due_at_micros", 3)
    finally:
        await anybody.close()
