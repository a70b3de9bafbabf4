"""Volumes from the log to SQL: replicas placed, replaced and refused, as people see it, and replayed."""

import json
from typing import Any

import asyncpg

from ledger.log import fleets, lines
from ledger.log.database import connect
from ledger.replay.replay import replay
from ledger.units import FleetName
from tests.engine.deciding import decide_all


def line(number: int, type_: str, subject: str, data: dict[str, Any]) -> bytes:
    return json.dumps(
        {
            "specversion": "1.0",
            "id": str(number),
            "source": "/tests",
            "type": f"ledger.disk.{type_}.v1",
            "subject": subject,
            "time": "2026-01-05T09:59:00Z",
            "fleet": "test",
            "data": data,
        }
    ).encode()


def disk_line(number: int, node: str, disk: str, **more: Any) -> bytes:
    data = {"cluster": "m1", "node": node, "disk": disk, "maximum": "100", "available": "100"}
    return line(number, "disk.upserted", f"m1/{node}/{disk}", data | more)


def volume_line(number: int, replicas: int, size: str) -> bytes:
    data = {"name": "pv", "replicas": replicas, "size": size}
    return line(number, "volume.upserted", "pv", data)


async def test_a_volumes_replicas_are_recorded_shown_and_replayed(database_url: str) -> None:
    anybody = await connect(database_url, None)
    try:
        await lines.ingest(
            anybody,
            [
                disk_line(1, "n1", "d1"),
                disk_line(2, "n1", "d2", available="60"),
                disk_line(3, "n2", "d1"),
                volume_line(4, 3, "10"),
                volume_line(5, 2, "10"),
                disk_line(6, "n1", "d1", evicting=True),
                volume_line(7, 2, "200"),
            ],
        )
        await decide_all(database_url)

        assert await rows(
            anybody,
            "SELECT number, replica, cluster, node, disk, size, why, rung, node_score, disk_score,"
            " overcommitted FROM ledger_api.disk_placements ORDER BY number, replica",
        ) == [
            (0, "pv-r1", "m1", "n1", "d1", 10, "missing", "unused_zone", "2/5", "2/5", False),
            (0, "pv-r2", "m1", "n2", "d1", 10, "missing", "unused_node", None, None, False),
            (3, "pv-r3", "m1", "n1", "d2", 10, "evicting", "evict_only_node", None, None, False),
        ]
        assert await rows(
            anybody,
            "SELECT subject, cluster, node, disk, count, number, since_position"
            " FROM ledger_api.placements WHERE kind = 'disk_placement' ORDER BY node",
        ) == [("pv", "m1", "n1", "d2", 1, 3, 5), ("pv", "m1", "n2", "d1", 1, 3, 3)]
        assert await rows(
            anybody, "SELECT number, kind, branch, moved FROM ledger_api.decisions ORDER BY number"
        ) == [
            (0, "disk_placement", "placed", 0),
            (1, "refusal", "refused", 0),
            (2, "disk_placement", "keep", 0),
            (3, "disk_placement", "replaced", 1),
            (4, "refusal", "refused", 0),
        ]
        assert await rows(
            anybody, "SELECT number, reason, waits_for FROM ledger_api.open_refusals"
        ) == [(4, "physical_minimum", "disks")]
        assert await rows(
            anybody,
            "SELECT stage, candidate, rank, score, chosen, why_not FROM ledger_api.candidates"
            " WHERE number = 0 ORDER BY stage, rank, candidate",
        ) == [
            ("pv-r1 disk", "d1", 1, "2/5", True, None),
            ("pv-r1 disk", "d2", 2, "2/3", False, "outranked"),
            ("pv-r1 node", "m1/n1", 1, "2/5", True, None),
            ("pv-r1 node", "m1/n2", 2, "14/25", False, "outranked"),
            ("pv-r2 filter", "m1/n1", None, None, False, "anti_affinity unused_node pv-r1"),
        ]
        fleet = await fleets.find(anybody, FleetName("test"))
        assert fleet is not None
        assert (await replay(anybody, fleet)).diverged is None
    finally:
        await anybody.close()


async def rows(connection: asyncpg.Connection, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await connection.fetch(query)]
