"""What contradicts the book now and what did, seen with SQL."""

import pytest

from ledger.log import fleets, receipts
from ledger.log.database import connect
from ledger.replay.deep import deep
from ledger.units import FleetName
from tests.engine.test_deployments_in_sql import rows, told
from tests.engine.test_the_book_in_sql import Story

EVERY = (
    "SELECT kind, address, position, open, ended_position FROM ledger_api.incidents ORDER BY number"
)
OPEN = "SELECT number, position, kind, address, node FROM ledger_api.open_incidents ORDER BY number"


def shrunk_twice() -> Story:
    """A node that holds a pod, declares less than that, grows back, and shrinks again."""
    story = Story()
    story.cluster("m1")
    story.node("n1", cpu="4", memory=6)
    story.pod("proxy", "n1", None, request={"memory": 5})
    for memory in (4, 3, 6, 7, 2):
        story.node("n1", cpu="4", memory=memory)
    return story


async def test_an_incident_is_open_until_it_is_over(database_url: str) -> None:
    anybody = await connect(database_url, None)
    try:
        await told(anybody, database_url, shrunk_twice())

        assert await rows(anybody, EVERY) == [
            ("over_committed", "m1/n1", 3, False, 5),
            ("over_committed", "m1/n1", 7, True, None),
        ]
        assert await rows(anybody, OPEN) == [(1, 7, "over_committed", "m1/n1", "m1/n1")]
        assert await rows(anybody, "SELECT open_incidents FROM ledger_api.fleets") == [(1,)]
        for position, numbers in {2: [], 3: [0], 4: [0], 5: [], 6: [], 7: [1]}.items():
            asked = f"SELECT number FROM ledger_api.open_incidents_as_of('test', {position})"
            assert [number for (number,) in await rows(anybody, asked)] == numbers, position
            asked = f"SELECT open_incidents FROM ledger_api.fleets_as_of('test', {position})"
            assert await rows(anybody, asked) == [(len(numbers),)], position
    finally:
        await anybody.close()


async def test_what_is_over_as_soon_as_it_is_recorded_is_never_open(database_url: str) -> None:
    story = Story()
    story.cluster("m1")
    story.node("n1", cores={"0": 100, "1": 100}, memory=9)
    story.workload("tight", 1, request={"cpu": "500m", "cpu_bind": True})
    story.node("n1", cores={"0": 50, "1": 50}, share_base=50, memory=9)
    anybody = await connect(database_url, None)
    try:
        await told(anybody, database_url, story)

        assert await rows(anybody, EVERY) == [("share_base_kept", "m1/n1", 3, False, None)]
        assert await rows(anybody, OPEN) == []
    finally:
        await anybody.close()


async def test_a_weight_that_is_none_is_open_until_the_quota_says_another(
    database_url: str,
) -> None:
    story = Story()
    for weight in ("lots", "many", "2", "0"):
        hard = {"volcano.sh/namespace.weight": weight}
        data = {"namespace": "ml", "name": "big", "hard": hard}
        story.add("quota", "quota.upserted", "ml/big", data)
    anybody = await connect(database_url, None)
    try:
        await told(anybody, database_url, story)

        assert await rows(anybody, EVERY) == [
            ("weight_invalid", "ml/big", 0, False, 2),
            ("weight_invalid", "ml/big", 3, True, None),
        ]
        assert await rows(anybody, OPEN) == [(1, 3, "weight_invalid", "ml/big", "ml/big")]
        details = await rows(anybody, "SELECT detail FROM ledger_api.incidents ORDER BY number")
        assert details == [("counts_as 1, told lots",), ("counts_as 1, told 0",)]
        fleet = await fleets.find(anybody, FleetName("test"))
        assert fleet is not None
        assert (await deep(anybody, fleet)).diverged is None
    finally:
        await anybody.close()


async def test_what_kafka_did_is_neither_open_nor_over(database_url: str) -> None:
    anybody = await connect(database_url, None)
    try:
        async with anybody.transaction():
            await receipts.halt(anybody, "t", 0, reason="topic_recreated", detail="new", by="tests")

        assert await rows(anybody, EVERY) == [("topic_recreated", "t/0", 0, None, None)]
        assert await rows(anybody, OPEN) == []
    finally:
        await anybody.close()


@pytest.mark.parametrize(
    ("spoilt", "path"),
    [
        ("DELETE FROM ledger.open_incidents", "open_incidents"),
        ("UPDATE ledger.open_incidents SET from_position = 6", "open_incidents.from_position"),
        ("UPDATE ledger.ended_incidents SET position = 6", "ended_incidents.position"),
        ("DELETE FROM ledger.ended_incidents", "ended_incidents"),
        ("DELETE FROM ledger.past_open_incidents", "past_open_incidents"),
    ],
)
async def test_what_is_not_as_the_history_says_is_found(
    database_url: str, spoilt: str, path: str
) -> None:
    anybody = await connect(database_url, None)
    try:
        await told(anybody, database_url, shrunk_twice())
        fleet = await fleets.find(anybody, FleetName("test"))
        assert fleet is not None
        assert (await deep(anybody, fleet)).diverged is None
        await anybody.execute(f"SET session_replication_role = replica; {spoilt}")

        found = (await deep(anybody, fleet)).diverged

        assert found is not None
        assert found.path == path
    finally:
        await anybody.close()
