"""Rounds of jobs as they are recorded, seen with SQL and replayed."""

import json
from fractions import Fraction
from typing import Any, Final

import asyncpg

from ledger.log import fleets, lines
from ledger.log.database import connect
from ledger.replay.replay import replay
from ledger.units import FleetName
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line

GI: Final = 2**30


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
            **{"request": {"cpu": "1"}, **more},
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


async def test_shares_are_of_what_there_is_by_what_namespaces_weigh_and_hold(
    database_url: str,
) -> None:
    """Memory is the scarcer here, a node is added, and a weight comes and goes."""
    told = Told()
    anybody = await connect(database_url, None)

    def quota(weight: int) -> bytes:
        hard = {"volcano.sh/namespace.weight": weight}
        return told.line("quota.quota.upserted", "a/all", namespace="a", name="all", hard=hard)

    def asks(namespace: str, name: str, tasks: int) -> bytes:
        request = {"cpu": "1", "memory": "4Gi"}
        return told.job(namespace, name, "q", tasks, request=request)

    async def told_now() -> dict[tuple[str, str], tuple[int, int, Fraction]]:
        await decide_all(database_url)
        now = await shares(anybody)
        through = await anybody.fetchval("SELECT max(through) FROM ledger.decided")
        then = await shares(anybody, f"fair_shares_as_of('test', {through})")
        assert then == now
        return {
            (namespace, resource): (weight, allocated, Fraction(share))
            for _, namespace, resource, weight, _, _, allocated, share in now
        }

    try:
        queue = told.line("quota.queue.upserted", "q", name="q")
        await lines.ingest(anybody, [cluster_line(1), told.node("n1", "4"), queue, quota(3)])
        await lines.ingest(anybody, [asks("a", "one", 1), asks("b", "one", 1)])
        # Each holds 1 of 4 cores and 4 of 8 GiB.
        assert await told_now() == {
            ("a", "cpu"): (3, 1000, Fraction(1, 6)),
            ("a", "memory"): (3, 4 * GI, Fraction(1, 6)),
            ("b", "cpu"): (1, 1000, Fraction(1, 2)),
            ("b", "memory"): (1, 4 * GI, Fraction(1, 2)),
        }

        await lines.ingest(anybody, [told.node("n2", "28"), asks("b", "two", 1)])
        # Of 32 cores and 16 GiB.
        assert await told_now() == {
            ("a", "cpu"): (3, 1000, Fraction(1, 12)),
            ("a", "memory"): (3, 4 * GI, Fraction(1, 12)),
            ("b", "cpu"): (1, 2000, Fraction(1, 2)),
            ("b", "memory"): (1, 8 * GI, Fraction(1, 2)),
        }

        await lines.ingest(anybody, [quota(1), asks("a", "two", 1)])
        assert await told_now() == {
            (namespace, resource): (1, amount, Fraction(1, 2))
            for namespace in ("a", "b")
            for resource, amount in (("cpu", 2000), ("memory", 8 * GI))
        }
        assert await anybody.fetchval("SELECT count(*) FROM ledger.namespace_weights") == 0
        totals = await anybody.fetch("SELECT resource, total::bigint FROM ledger.shared_totals")
        assert dict(map(tuple, totals)) == {"cpu": 32_000, "memory": 16 * GI, "storage": 0}

        await lines.ingest(anybody, [told.node("n3", "4"), asks("b", "three", 1)])
        await decide_all(database_url)
        said = await anybody.fetch(
            "SELECT reasons -> 'round' ? 'weights' FROM ledger.decisions"
            " WHERE kind = 'allocation' AND reasons -> 'round' ? 'shares' ORDER BY number"
        )
        assert [weights for (weights,) in said] == [True, False, True, False]
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


async def shares(
    connection: asyncpg.Connection, source: str = "fair_shares"
) -> list[tuple[Any, ...]]:
    rows = await connection.fetch(
        "SELECT queue, namespace, resource, weight::bigint, requested::bigint, deserved::bigint,"
        f" allocated::bigint, weighted_share FROM ledger_api.{source}"
        " ORDER BY queue, namespace, resource"
    )
    return [tuple(row) for row in rows]
