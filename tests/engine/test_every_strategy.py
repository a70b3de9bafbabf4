"""Divisions of every strategy as they are recorded, seen with SQL and replayed."""

import json

import asyncpg

from ledger.log import fleets, lines
from ledger.log.database import connect
from ledger.replay.replay import replay
from ledger.units import FleetName
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line


def node_line(number: int, *, pods: int) -> bytes:
    """A node of the first cluster, for so many pods."""
    return json.dumps(
        {
            "specversion": "1.0",
            "id": f"node-{number}",
            "source": "/tests",
            "type": "ledger.cluster.node.upserted.v1",
            "subject": f"c1/n{number}",
            "time": "2026-01-05T09:59:00Z",
            "fleet": "test",
            "data": {"cluster": "c1", "name": f"n{number}", "cpu": "4", "pods": pods},
        }
    ).encode()


async def test_every_strategy_is_recorded_shown_and_replayed(database_url: str) -> None:
    anybody = await connect(database_url, None)
    try:
        await lines.ingest(
            anybody,
            [
                cluster_line(1),
                cluster_line(2),
                workload_line(
                    1, replicas=3, name="a", strategy="webster", weights={"c1": 2, "c2": 1}
                ),
                workload_line(2, replicas=2, name="b", strategy="duplicated"),
                workload_line(3, replicas=4, name="c", strategy="dynamic"),
                node_line(1, pods=3),
                node_line(2, pods=6),
                workload_line(
                    4, replicas=1, name="d", strategy="aggregated", spread={"cluster": [1, 1]}
                ),
            ],
        )

        await decide_all(database_url)

        assert await divisions(anybody) == [
            (0, "a", "c1", "webster", 2, 2, None, None, "apportioned"),
            (0, "a", "c2", "webster", 1, 1, None, None, "apportioned"),
            (1, "b", "c1", "duplicated", None, 2, None, None, "duplicated"),
            (1, "b", "c2", "duplicated", None, 2, None, None, "duplicated"),
            (3, "c", "c1", "dynamic", 5, 4, None, 5, "scale_up"),
            (3, "c", "c2", "dynamic", 0, 0, None, 0, "scale_up"),
            (4, "d", "c1", "aggregated", 1, 1, None, 1, "scale_up"),
        ]
        refusals = await anybody.fetch(
            "SELECT number, subject, reason, detail FROM ledger_api.refusals"
        )
        assert [(*row[:3], json.loads(row[3])) for row in refusals] == [
            (2, "shop/c", "insufficient_capacity", {"room": 0, "wanted": 4})
        ]
        fleet = await fleets.find(anybody, FleetName("test"))
        assert fleet is not None
        report = await replay(anybody, fleet)
        assert (report.diverged, report.decisions) == (None, 5)
    finally:
        await anybody.close()


async def test_odds_larger_than_any_machine_word_are_recorded(database_url: str) -> None:
    anybody = await connect(database_url, None)
    try:
        policy = {
            "specversion": "1.0",
            "id": "policy",
            "source": "/tests",
            "type": "ledger.policy.policy.changed.v1",
            "subject": "test",
            "fleet": "test",
            "data": {"division": {"kappa": "1/3"}},
        }
        huge = {"c1": 2**63 - 1, "c2": 2**62, "c3": 3}
        await lines.ingest(
            anybody,
            [
                *(cluster_line(number) for number in (1, 2, 3)),
                node_line(1, pods=7),
                json.dumps(policy).encode(),
                workload_line(1, replicas=5, name="a", weights=huge),
            ],
        )

        await decide_all(database_url)

        rows = await anybody.fetch(
            "SELECT weight, available FROM ledger_api.divisions ORDER BY cluster"
        )
        assert [tuple(row) for row in rows] == [(2**63 - 1, 7), (2**62, 0), (3, 0)]
    finally:
        await anybody.close()


async def divisions(connection: asyncpg.Connection) -> list[tuple[object, ...]]:
    rows = await connection.fetch(
        "SELECT number, workload, cluster, strategy, weight, replicas, residual, available, branch"
        "  FROM ledger_api.divisions ORDER BY number, cluster"
    )
    return [tuple(row) for row in rows]
