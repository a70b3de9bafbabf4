"""What nodes declare and hold, seen with SQL; and where it does not add up, once it is spoilt."""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from ledger.log.database import connect
from ledger.views.conservation import FINDINGS
from tests.engine.test_deployments_in_sql import Told, rows, told

DIFFERENCES = (
    "SELECT finding, cluster, node, subject, amount, recorded, kept FROM ledger_api.conservation"
)


Finding = tuple[str, str | None, str | None, str | None]
"""Its name, node, subject and amount."""


class Story(Told):
    """With pods."""

    def pod(self, name: str, node: str, owner: str | None, **more: Any) -> None:
        data = {"cluster": "m1", "namespace": "shop", "name": name, "node": node, **more}
        if owner is not None:
            data["owner"] = {"kind": "StatefulSet", "name": owner}
        self.add("workload", "pod.observed", f"m1/shop/{name}", data)

    def disk(self, name: str, size: int, **more: Any) -> None:
        data = {"cluster": "m1", "node": "n1", "disk": name, "maximum": size, "available": size}
        self.add("disk", "disk.upserted", f"m1/n1/{name}", data | more)

    def volume(self, name: str, replicas: int, size: int) -> None:
        data = {"name": name, "replicas": replicas, "size": size}
        self.add("disk", "volume.upserted", name, data)


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
        *("job", 3),
        kind="Job",
        queue="q",
        cluster=None,
        deploy=None,
        request={"cpu": "10m", "memory": 1},
    )
    for disk in ("d1", "d2", "d3"):
        told.disk(disk, 100)
    told.volume("data", 2, 10)
    told.volume("logs", 1, 5)
    told.volume("logs", 1, 8)
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

    asked = "SELECT position, address, kind, detail, fleet, number FROM ledger_api.incidents"
    told = await rows(anybody, f"{asked} ORDER BY number")
    await anybody.execute("ALTER TABLE ledger.events DETACH PARTITION ledger.events_000000")
    assert await rows(anybody, f"{asked} WHERE recorded_at IS NULL ORDER BY number") == told


async def test_the_book_adds_up(anybody: asyncpg.Connection) -> None:
    assert await rows(anybody, DIFFERENCES) == []
    (held,) = await rows(anybody, "SELECT count(*) FROM ledger_api.node_books WHERE placed > 0")
    assert held[0] >= 8, "and there is something to add up"


async def test_what_an_event_takes_away_is_held_nowhere_though_nothing_is_decided(
    database_url: str,
) -> None:
    connection = await connect(database_url, None)
    whole = story()
    whole.volume("tmp", 1, 3)
    await told(connection, database_url, whole)
    whole.hold(hold=True)
    whole.add(
        "workload", "job.finished", "shop/job", {"namespace": "shop", "name": "job", "task": 1}
    )
    whole.add("disk", "replica.failed", "data/data-r1", {"volume": "data", "replica": "data-r1"})
    whole.add(*("disk", "disk.removed", "m1/n1/d2"), {"cluster": "m1", "node": "n1", "disk": "d2"})
    try:
        await told(connection, database_url, whole)

        assert await rows(connection, DIFFERENCES) == []
        assert await rows(
            connection,
            "SELECT queue, task, node, cpu, memory FROM ledger_api.running_tasks ORDER BY task",
        ) == [("q", 0, "n1", 10, 1), ("q", 2, "n1", 10, 1)]
        assert await rows(
            connection, "SELECT queue, namespace, tasks, cpu, memory FROM ledger_api.queue_books"
        ) == [("q", "shop", 2, 20, 2)]
        held = await rows(
            connection, "SELECT disk, scheduled, free FROM ledger_api.disk_books ORDER BY disk"
        )
        placed = await rows(
            connection,
            "SELECT disk, subject FROM ledger_api.placements WHERE kind = 'disk_placement'"
            " ORDER BY disk, subject",
        )
        assert [disk for disk, _, _ in held] == ["d1", "d3"]
        assert {disk for disk, _ in placed} == {disk for disk, size, _ in held if size}
        assert placed == [("d3", "tmp")], "of data the one is broken, that of logs lay on d2"
    finally:
        await connection.close()


def of_node(node: str, *amounts: str, finding: str = "node_held") -> set[Finding]:
    """These amounts of a node do not add up."""
    return {(finding, node, None, amount) for amount in amounts}


def of_use(finding: str, subject: str, *amounts: str) -> set[Finding]:
    """These amounts of a job, or of a namespace in a queue, do not."""
    return {(finding, None, subject, amount) for amount in amounts}


ONE = "core 0", "cpu", "device /x", "memory", "pods", "storage"
"""What somebody who is bound holds of each node."""

SPOILT = {
    "a node's book says less": (
        "UPDATE ledger.node_books SET placed = placed || '{\"memory\": 1}' WHERE node = 'n1'",
        of_node("n1", "memory"),
    ),
    "a node's book says more of a core": (
        "UPDATE ledger.node_books SET placed = placed || '{\"core 7\": 50}' WHERE node = 'n1'",
        of_node("n1", "core 7") | of_node("n1", "core 7", finding="free_below_zero"),
    ),
    "a node's book says less of a core": (
        "UPDATE ledger.node_books SET placed = placed || '{\"core 0\": 1}' WHERE node = 'n1'",
        of_node("n1", "core 0"),
    ),
    "a node's book says more of its tasks": (
        "UPDATE ledger.node_books SET tasks = tasks || '{\"cpu\": 70}' WHERE node = 'n1'",
        of_node("n1", "cpu", finding="tasks_held"),
    ),
    "a page is missing": (
        "DELETE FROM ledger.node_books WHERE node = 'n1'",
        of_node("n1", *ONE) | of_node("n1", "cpu", "memory", "pods", finding="tasks_held"),
    ),
    "a place too many": (
        "UPDATE ledger.placements SET count = count + 1 WHERE subject = 'shop/tight@m1'",
        of_node("n1", "pods"),
    ),
    "a place is missing": (
        "DELETE FROM ledger.placements WHERE subject = 'shop/tight@m1'",
        of_node("n1", *ONE),
    ),
    "a task too many is in its place": (
        "UPDATE ledger.placements SET count = count + 1 WHERE kind = 'allocation'",
        {("tasks_placed", "n1", "shop/job", "tasks")},
    ),
    "a task that runs is not written down": (
        "DELETE FROM ledger.running_tasks WHERE task = 1",
        of_node("n1", "cpu", "memory", "pods")
        | of_node("n1", "cpu", "memory", "pods", finding="tasks_held")
        | {("tasks_placed", "n1", "shop/job", "tasks")}
        | of_use("job_used", "shop/job", "tasks", "cpu", "memory")
        | of_use("queue_used", "q/shop", "tasks", "cpu", "memory"),
    ),
    "a job's book says more": (
        "UPDATE ledger.job_books SET memory = memory + 1",
        of_use("job_used", "shop/job", "memory"),
    ),
    "a job counts in another queue": (
        "UPDATE ledger.job_books SET queue = 'p'",
        of_use("queue_used", "p/shop", "tasks", "cpu", "memory")
        | of_use("queue_used", "q/shop", "tasks", "cpu", "memory"),
    ),
    "a queue's book says less": (
        "UPDATE ledger.queue_books SET cpu = 1",
        of_use("queue_used", "q/shop", "cpu"),
    ),
    "a disk's book says more": (
        "UPDATE ledger.disk_books SET scheduled = scheduled + 1 WHERE disk = 'd1'",
        {("disk_scheduled", "n1", "d1", "scheduled")},
    ),
    "a disk's page is missing": (
        "DELETE FROM ledger.disk_books WHERE disk = 'd2'",
        {("disk_scheduled", "n1", "d2", "scheduled")},
    ),
    "a replica is in two places": (
        (
            "INSERT INTO ledger.placements"
            " SELECT fleet, kind, subject, cluster, node, 'd3', count, from_position"
            " FROM ledger.placements WHERE disk = 'd1'"
        ),
        {("disk_scheduled", "n1", "d3", "scheduled")},
    ),
    "nobody knows which decision divided": (
        "DELETE FROM ledger.placed_by WHERE kind = 'division'",
        {("replicas_divided", None, "shop/spread", "replicas")},
    ),
    "nobody knows which decision deployed": (
        "DELETE FROM ledger.placed_by WHERE subject = 'shop/tight@m1'",
        of_node("n1", *ONE),
    ),
    "nobody knows which decision placed tasks": (
        "DELETE FROM ledger.placed_by WHERE kind = 'allocation'",
        {("tasks_placed", "n1", "shop/job", "tasks")},
    ),
    "nobody knows which decision placed replicas on disks": (
        "DELETE FROM ledger.placed_by WHERE kind = 'disk_placement'",
        {("disk_scheduled", "n1", disk, "scheduled") for disk in ("d1", "d2")},
    ),
    "a node holds more than it declares": (
        "UPDATE ledger.node_books SET declared = declared || '{\"storage\": 1}' WHERE node = 'n1'",
        of_node("n1", "storage", finding="free_below_zero"),
    ),
    "nobody knows of a node that declares too little": (
        "UPDATE ledger.node_books SET over_committed = false WHERE node = 'n3'",
        of_node("n3", "memory", finding="free_below_zero"),
    ),
    "a node is taken for over-committed": (
        "UPDATE ledger.node_books SET over_committed = true WHERE node = 'n2'",
        {("over_committed", "n2", None, None)},
    ),
    "a cluster has more replicas than it was given": (
        "UPDATE ledger.placements SET count = 9 WHERE kind = 'division'",
        {("replicas_divided", None, "shop/spread", "replicas")},
    ),
}


@pytest.mark.parametrize("error", SPOILT)
async def test_a_planted_error_is_a_row(anybody: asyncpg.Connection, error: str) -> None:
    statement, wanted = SPOILT[error]

    spoiling = anybody.transaction()
    await spoiling.start()
    assert (await anybody.execute(statement)).split()[-1] != "0"
    found = await anybody.fetch(DIFFERENCES)
    await spoiling.rollback()

    assert {(row["finding"], row["node"], row["subject"], row["amount"]) for row in found} == wanted
    assert {finding for finding, *_ in wanted} <= set(FINDINGS)
    assert all(row["recorded"] != row["kept"] for row in found)
    assert await rows(anybody, DIFFERENCES) == []
