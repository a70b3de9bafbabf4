"""Rounds of jobs as they are recorded, seen with SQL and replayed."""

import json
from typing import Any

import asyncpg

from ledger.log import fleets, lines
from ledger.log.database import connect
from ledger.replay.replay import replay
from ledger.units import FleetName
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line


class Told:
    """Lines with identities and times of their own, a second apart."""

    def __init__(self) -> None:
        self.count = 0

    def line(self, type_: str, subject: str, **data: Any) -> bytes:
        self.count += 1
        return json.dumps(
            {
                "specversion": "1.0",
                "id": f"round-{self.count}",
                "source": "/tests",
                "type": f"ledger.{type_}.v1",
                "subject": subject,
                "time": f"2026-01-05T10:00:{self.count:02}Z",
                "fleet": "test",
                "data": data,
            }
        ).encode()

    def node(self, name: str, cpu: str) -> bytes:
        return self.line(
            "cluster.node.upserted", f"c1/{name}", cluster="c1", name=name, cpu=cpu, memory="8Gi"
        )

    def job(self, namespace: str, name: str, queue: str, tasks: int, **more: Any) -> bytes:
        return self.line(
            "workload.workload.upserted",
            f"{namespace}/{name}",
            namespace=namespace,
            name=name,
            kind="Job",
            queue=queue,
            replicas=tasks,
            request={"cpu": "1"},
            **more,
        )


async def test_what_rounds_place_and_evict_is_shown_and_replayed(database_url: str) -> None:
    told = Told()
    anybody = await connect(database_url, None)
    try:
        await lines.ingest(
            anybody,
            [
                cluster_line(1),
                told.line("policy.policy.changed", "test", fairshare={"reclaim": True}),
                told.node("n1", "4"),
                told.line("quota.queue.upserted", "q", name="q"),
                told.line("quota.queue.upserted", "r", name="r"),
                told.job("b", "rich", "q", 4, preemptable=True),
            ],
        )
        await decide_all(database_url)

        assert await placements(anybody) == [("b/rich", "n1", 4)]
        assert await shares(anybody) == [("q", "b", "cpu", 1, 4000, 4000, 4000, "1/1")]

        await lines.ingest(
            anybody, [told.job("a", "poor", "r", 3, gang_min=2), told.job("a", "lost", "none", 1)]
        )
        await decide_all(database_url)

        assert await moves(anybody, "evictions") == [("b", "rich", 2), ("b", "rich", 3)]
        assert await moves(anybody, "allocations") == [
            *(("b", "rich", task) for task in range(4)),
            *(("a", "poor", task) for task in range(2)),
        ]
        assert await placements(anybody) == [("a/poor", "n1", 2), ("b/rich", "n1", 2)]
        assert await shares(anybody) == [
            ("q", "b", "cpu", 1, 4000, 2000, 2000, "1/2"),
            ("r", "a", "cpu", 1, 3000, 2000, 2000, "1/2"),
        ]
        refused = await anybody.fetch(
            "SELECT subject, reason FROM ledger_api.open_refusals ORDER BY subject"
        )
        assert {subject for subject, _ in refused} == {"a/lost", "a/poor", "b/rich"}
        assert ("a/lost", "unknown_queue") in map(tuple, refused)

        await lines.ingest(
            anybody,
            [
                told.line("workload.job.finished", "b/rich", namespace="b", name="rich", task=0),
                told.line("workload.workload.removed", "a/poor", namespace="a", name="poor"),
                told.line("workload.workload.removed", "a/lost", namespace="a", name="lost"),
            ],
        )
        await decide_all(database_url)

        assert await placements(anybody) == [("b/rich", "n1", 3)]
        assert await anybody.fetchval("SELECT count(*) FROM ledger_api.open_refusals") == 0
        assert [share[:3] for share in await shares(anybody)] == [("q", "b", "cpu")]

        fleet = await fleets.find(anybody, FleetName("test"))
        assert fleet is not None
        report = await replay(anybody, fleet)
        assert report.diverged is None
    finally:
        await anybody.close()


async def placements(connection: asyncpg.Connection) -> list[tuple[str, str, int]]:
    rows = await connection.fetch(
        "SELECT subject, node, count FROM ledger_api.placements WHERE kind = 'allocation'"
        " ORDER BY subject, node"
    )
    return [tuple(row) for row in rows]


async def moves(connection: asyncpg.Connection, view: str) -> list[tuple[str, str, int]]:
    rows = await connection.fetch(
        f"SELECT namespace, job, task FROM ledger_api.{view} ORDER BY number, task"
    )
    return [tuple(row) for row in rows]


async def shares(connection: asyncpg.Connection) -> list[tuple[Any, ...]]:
    rows = await connection.fetch(
        "SELECT queue, namespace, resource, weight::bigint, requested::bigint, deserved::bigint,"
        " allocated::bigint, weighted_share FROM ledger_api.fair_shares"
        " ORDER BY queue, namespace, resource"
    )
    return [tuple(row) for row in rows]
