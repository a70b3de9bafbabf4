"""What nodes declare and hold, seen with SQL; and where it does not add up, once it is spoilt."""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from ledger.log.database import connect
from tests.engine.test_deployments_in_sql import Told, rows, told

DIFFERENCES = "SELECT cluster, node, amount, recorded, kept FROM ledger_api.conservation"


class Story(Told):
    """With pods."""

    def pod(self, name: str, node: str, owner: str | None, **more: Any) -> None:
        data = {"cluster": "m1", "namespace": "shop", "name": name, "node": node, **more}
        if owner is not None:
            data["owner"] = {"kind": "StatefulSet", "name": owner}
        self.add("workload", "pod.observed", f"m1/shop/{name}", data)


def story() -> Story:
    """Bound and unbound instances, an edit, a division, a loss, pods, a node that is too small."""
    told = Story()
    told.cluster("m1")
    told.node("n1", cores={"0": 100, "1": 100}, memory=20, volumes={"/x": 9, "/y": 9}, storage=20)
    told.node("n2", cpu="4", memory=20, pods=9)
    told.workload("db", 3, kind="StatefulSet", request={"memory": 3})
    told.workload(
        *("tight", 2),
        request={"cpu": "500m", "cpu_bind": True, "memory": 1, "volumes": ["AUTO:/a:rw:2"]},
    )
    told.workload("spread", 2, cluster=None, division={"weights": {"m1": 1}}, deploy=None)
    told.workload("db", 4, kind="StatefulSet", request={"memory": 2})
    for place in range(4):
        told.pod(f"db-{place}", "n2", "db", phase="Running")
    told.pod("db-4", "n2", "db", phase="Running")
    told.pod("proxy", "n1", None, request={"cpu": "300m", "memory": 2})
    told.node("n2", cpu="4", memory=20, pods=9, schedulable=False)
    told.pod("db-0", "n2", "db", phase="Running", terminating=True)
    told.pod("db-1", "n2", "db", phase="Running", terminating=True)
    told.add("quota", "queue.upserted", "q", {"name": "q"})
    told.workload(
        "job", 3, kind="Job", queue="q", cluster=None, deploy=None, request={"cpu": "10m"}
    )
    told.node("n3", cpu="1", memory=1)
    told.pod("greedy", "n3", None, request={"memory": 5})
    return told


@pytest.fixture
async def anybody(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await connect(database_url, None)
    try:
        await told(connection, database_url, story())
        yield connection
    finally:
        await connection.close()


async def test_every_amount_of_a_node_is_declared_held_and_free(
    anybody: asyncpg.Connection,
) -> None:
    pages = await rows(
        anybody,
        "SELECT node, amount, declared, placed, seen, free FROM ledger_api.node_books"
        ' ORDER BY node, amount COLLATE "C"',
    )
    of = {page[:2]: tuple(page[2:]) for page in pages}

    assert of["n1", "core 0"][0] == 100
    assert of["n1", "cpu"] == (2000, 1030, 300, 670), "two that are bound, three tasks, the proxy"
    assert of["n1", "memory"][2] == 2, "the proxy's"
    assert of["n2", "pods"][0] == 9
    assert of["n3", "memory"] == (1, 0, 5, -4)
    assert of["n3", "pods"] == (None, 0, 1, None)
    for declared, placed, seen, free in of.values():
        assert free == (None if declared is None else declared - placed - seen)


async def test_incidents_of_a_fleet_are_shown_beside_those_of_partitions(
    anybody: asyncpg.Connection,
) -> None:
    found = await rows(
        anybody,
        "SELECT fleet, kind, address, detail, number IS NOT NULL FROM ledger_api.incidents"
        " WHERE kind = 'over_committed'",
    )
    assert found == [("test", "over_committed", "m1/n3", "memory 4", True)]
    beyond = await rows(
        anybody,
        "SELECT address, detail FROM ledger_api.incidents WHERE kind = 'pods_beyond_instances'"
        " ORDER BY position LIMIT 1",
    )
    assert beyond[0][0] == "shop/db@m1"
    assert beyond[0][1].startswith("m1/n2: instances ")


async def test_the_book_adds_up(anybody: asyncpg.Connection) -> None:
    assert await rows(anybody, DIFFERENCES) == []
    (held,) = await rows(anybody, "SELECT count(*) FROM ledger_api.node_books WHERE placed > 0")
    assert held[0] >= 8, "and there is something to add up"


SPOILT = {
    "a node's book says less": (
        "UPDATE ledger.node_books SET placed = placed || '{\"memory\": 1}' WHERE node = 'n1'",
        {("n1", "memory")},
    ),
    "a node's book says more": (
        "UPDATE ledger.node_books SET placed = placed || '{\"core 7\": 50}' WHERE node = 'n1'",
        {("n1", "core 7")},
    ),
    "a page is missing": (
        "DELETE FROM ledger.node_books WHERE node = 'n1'",
        {
            ("n1", "core 0"),
            ("n1", "cpu"),
            ("n1", "device /x"),
            ("n1", "memory"),
            ("n1", "pods"),
            ("n1", "storage"),
            ("n1", "tasks"),
        },
    ),
    "a place too many": (
        "UPDATE ledger.placements SET count = count + 1 WHERE subject = 'shop/tight@m1'",
        {("n1", "pods")},
    ),
    "a place is missing": (
        "DELETE FROM ledger.placements WHERE subject = 'shop/tight@m1'",
        {
            ("n1", "core 0"),
            ("n1", "cpu"),
            ("n1", "device /x"),
            ("n1", "memory"),
            ("n1", "pods"),
            ("n1", "storage"),
        },
    ),
    "a task too many": (
        "UPDATE ledger.placements SET count = count + 1 WHERE kind = 'allocation'",
        {("n1", "tasks")},
    ),
    "a cluster has more replicas than it was given": (
        "UPDATE ledger.placements SET count = 9 WHERE kind = 'division'",
        {(None, "replicas of shop/spread")},
    ),
}


@pytest.mark.parametrize("error", SPOILT)
async def test_a_planted_error_is_a_row(anybody: asyncpg.Connection, error: str) -> None:
    statement, wanted = SPOILT[error]

    spoiling = anybody.transaction()
    await spoiling.start()
    assert await anybody.execute(statement) != "UPDATE 0"
    found = await anybody.fetch(DIFFERENCES)
    await spoiling.rollback()

    assert {(row["node"], row["amount"]) for row in found} == wanted
    assert all(row["recorded"] != row["kept"] for row in found)
    assert await rows(anybody, DIFFERENCES) == []
