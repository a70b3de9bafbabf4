"""Deployments as they are recorded, seen with SQL, and replayed."""

import json
from typing import Any

import asyncpg

from ledger.log import fleets, lines
from ledger.log.database import connect
from ledger.replay.replay import replay
from ledger.units import FleetName
from tests.engine.deciding import decide_all

CLASS = "node.kubernetes.io/capacity"


class Told:
    """Lines of events, each with an id of its own."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def add(self, family: str, noun: str, subject: str, data: dict[str, Any]) -> None:
        event = {
            "specversion": "1.0",
            "id": str(len(self.lines)),
            "source": "/tests",
            "type": f"ledger.{family}.{noun}.v1",
            "subject": subject,
            "time": "2026-01-05T09:59:00Z",
            "fleet": "test",
            "data": data,
        }
        self.lines.append(json.dumps(event).encode())

    def cluster(self, name: str) -> None:
        self.add("cluster", "cluster.upserted", name, {"name": name})

    def node(self, name: str, **more: Any) -> None:
        data = {"cluster": "m1", "name": name, "memory": 4, **more}
        self.add("cluster", "node.upserted", f"m1/{name}", data)

    def node_gone(self, name: str) -> None:
        self.add("cluster", "node.removed", f"m1/{name}", {"cluster": "m1", "name": name})

    def workload(self, name: str, replicas: int, **more: Any) -> None:
        data = {
            "namespace": "shop",
            "name": name,
            "kind": "Deployment",
            "replicas": replicas,
            "cluster": "m1",
            "deploy": {"strategy": "AUTO"},
            "request": {"memory": 1},
            **more,
        }
        self.add("workload", "workload.upserted", f"shop/{name}", data)

    def hold(self, *, hold: bool) -> None:
        self.add("policy", "policy.changed", "test", {"hold": hold})


async def told(connection: asyncpg.Connection, url: str, story: Told) -> None:
    await lines.ingest(connection, story.lines)
    await decide_all(url)


async def rows(connection: asyncpg.Connection, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await connection.fetch(query)]


async def test_what_is_deployed_lost_and_refused_stands_in_the_views(database_url: str) -> None:
    story = Told()
    story.cluster("m1")
    story.node("n1", cpu="4", labels={CLASS: "on-demand"})
    story.node("n2", cpu="4", labels={CLASS: "spot"})
    story.workload("web", 4, min_available="1")
    story.workload("db", 1, request={"cpu": "1500m", "cpu_bind": True})
    story.hold(hold=True)
    story.node_gone("n2")

    anybody = await connect(database_url, None)
    try:
        await told(anybody, database_url, story)

        assert await rows(
            anybody,
            "SELECT kind, subject, node, count, number, since_position FROM ledger_api.placements"
            " ORDER BY subject, node",
        ) == [
            ("deployment", "shop/db@m1", "n1", 1, 2, 4),
            ("deployment", "shop/web@m1", "n1", 1, 1, 3),
        ], "what was on the node is lost, though nothing is decided"

        story.hold(hold=False)
        story.node("n3")
        story.workload("web", 9)
        story.workload("web", 8)
        story.node("n4", memory=30)
        await told(anybody, database_url, story)

        assert await rows(
            anybody,
            "SELECT number, workload, node, instances, added, removed, strategy, branch"
            "  FROM ledger_api.deployments ORDER BY number, node",
        ) == [
            (1, "web", "n1", 1, 1, 0, "AUTO", "placed"),
            (1, "web", "n2", 3, 3, 0, "AUTO", "placed"),
            (2, "db", "n1", 1, 1, 0, "AUTO", "placed"),
            (3, "web", "n1", 4, 3, 0, "AUTO", "replaced"),
            (3, "web", "n2", 0, 0, 3, "AUTO", "replaced"),
            (5, "web", "n1", 4, 0, 0, "AUTO", "placed"),
            (5, "web", "n3", 4, 4, 0, "AUTO", "placed"),
        ]
        assert await rows(
            anybody,
            "SELECT number, workload, target, class FROM ledger_api.capacity_classes",
        ) == [(0, "web", 1, None)]
        bound = await anybody.fetch(
            "SELECT number, workload, node, instance, cores, volumes FROM ledger_api.bindings"
        )
        assert [(*row[:4], json.loads(row[4]), json.loads(row[5])) for row in bound] == [
            (2, "db", "n1", 0, {"0": 50, "1": 100}, {})
        ]
        assert await rows(
            anybody,
            "SELECT number, reason, detail, open, resolved_by, ended_position"
            "  FROM ledger_api.refusals",
        ) == [
            (
                4,
                "insufficient_resource",
                '{"growth_found": 4, "growth_wanted": 5, "growth_short_memory": 1}',
                False,
                5,
                10,
            )
        ]
        assert await rows(
            anybody,
            "SELECT candidate, stage, chosen, why_not FROM ledger_api.candidates"
            " WHERE number = 5 ORDER BY candidate",
        ) == [
            ("n1", "deployment", False, "no_capacity"),
            ("n3", "deployment", True, None),
        ]
        assert await rows(
            anybody,
            "SELECT subject, node, count, number, since_position FROM ledger_api.placements"
            " ORDER BY subject, node",
        ) == [
            ("shop/db@m1", "n1", 1, 2, 4),
            ("shop/web@m1", "n1", 4, 5, 7),
            ("shop/web@m1", "n3", 4, 5, 10),
        ]
        fleet = await fleets.find(anybody, FleetName("test"))
        assert fleet is not None
        report = await replay(anybody, fleet)
        assert report.diverged is None
    finally:
        await anybody.close()


async def test_a_refusal_that_an_event_ends_has_nobody_who_resolved_it(database_url: str) -> None:
    story = Told()
    story.cluster("m1")
    story.workload("web", 4)
    story.add("workload", "workload.removed", "shop/web", {"namespace": "shop", "name": "web"})

    anybody = await connect(database_url, None)
    try:
        await told(anybody, database_url, story)

        assert await rows(
            anybody,
            "SELECT number, reason, open, resolved_by, ended_position FROM ledger_api.refusals",
        ) == [(0, "no_eligible_node", False, None, 2)]
        assert await rows(anybody, "SELECT * FROM ledger_api.open_refusals") == []
    finally:
        await anybody.close()


async def test_a_wish_that_means_nothing_is_refused_for_that_whether_there_are_nodes_or_not(
    database_url: str,
) -> None:
    story = Told()
    story.cluster("m1")
    story.workload("before", 1, deploy={"strategy": "FILL"})
    story.node("n1", cpu="4")
    story.workload("after", 1, deploy={"strategy": "FILL"})

    anybody = await connect(database_url, None)
    try:
        await told(anybody, database_url, story)

        assert await rows(
            anybody, "SELECT subject, reason, waits_for FROM ledger_api.open_refusals ORDER BY 1"
        ) == [
            ("shop/after@m1", "invalid_count", "specification"),
            ("shop/before@m1", "invalid_count", "specification"),
        ]
    finally:
        await anybody.close()


async def test_what_stands_refused_tells_what_is_short_now_and_then(database_url: str) -> None:
    story = Told()
    story.cluster("m1")
    story.workload("wide", 3, deploy={"strategy": "AUTO"})

    anybody = await connect(database_url, None)
    try:
        await told(anybody, database_url, story)
        asked = "SELECT subject, detail FROM ledger_api."

        refused = await rows(anybody, f"{asked}refusals WHERE open ORDER BY 1")
        assert [(subject, bool(detail)) for subject, detail in refused] == [("shop/wide@m1", True)]
        for source in (
            "open_refusals",
            "open_refusals_as_of('test', 1)",
            "open_refusals_at('test', now())",
        ):
            assert await rows(anybody, f"{asked}{source} ORDER BY 1") == refused, source
    finally:
        await anybody.close()
