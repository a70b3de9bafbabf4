"""Proposals from the log to SQL: made, replaced, withdrawn, carried out and refused, and replayed."""

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
            "type": f"ledger.{type_}.v1",
            "subject": subject,
            "time": "2026-01-05T09:59:00Z",
            "fleet": "test",
            "data": data,
        }
    ).encode()


def disk_line(number: int, node: str, **more: Any) -> bytes:
    data = {"cluster": "m1", "node": node, "disk": "d1", "maximum": "100", "available": "100"}
    return line(number, "disk.disk.upserted", f"m1/{node}/d1", data | more)


def disk_gone_line(number: int, node: str) -> bytes:
    data = {"cluster": "m1", "node": node, "disk": "d1"}
    return line(number, "disk.disk.removed", f"m1/{node}/d1", data)


def node_line(number: int, name: str, capacity: str) -> bytes:
    labels = {"node.kubernetes.io/capacity": capacity}
    data = {"cluster": "m1", "name": name, "labels": labels, "cpu": "4", "memory": "8Gi"}
    return line(number, "cluster.node.upserted", f"m1/{name}", data)


def volume_line(number: int, name: str) -> bytes:
    return line(number, "disk.volume.upserted", name, {"name": name, "replicas": 1, "size": "10"})


def request_line(number: int, **more: Any) -> bytes:
    return line(number, "proposal.proposal.requested", "test", {"kind": "disks", **more})


def approval_line(number: int, proposal: int) -> bytes:
    return line(number, "proposal.proposal.approved", str(proposal), {"proposal": proposal})


async def test_proposals_are_recorded_shown_and_replayed(database_url: str) -> None:
    anybody = await connect(database_url, None)
    try:
        await lines.ingest(
            anybody,
            [
                disk_line(1, "n1"),
                volume_line(2, "pa"),
                volume_line(3, "pb"),
                volume_line(4, "pc"),
                disk_line(5, "n2"),
                request_line(6),
                request_line(7),
                request_line(8, max_bytes="0"),
                request_line(9),
                disk_line(10, "n2", schedulable=False),
                approval_line(11, 5),
                disk_line(12, "n2"),
                request_line(13, subject="pa"),
                request_line(14, subject="pb"),
                approval_line(15, 8),
                approval_line(16, 8),
                disk_line(17, "n3"),
                request_line(18, subject="pc"),
                disk_gone_line(19, "n2"),
            ],
        )
        await decide_all(database_url)

        assert await rows(
            anybody,
            "SELECT number, position, kind, subject, moves, bytes, measure, score_before,"
            " score_after, no_more, state, resolved_by, ended_position"
            " FROM ledger_api.proposals ORDER BY number",
        ) == [
            (
                3,
                5,
                "disks",
                "test",
                1,
                10,
                "spread",
                "9/289",
                "1/289",
                "no_better_move",
                "replaced",
                4,
                7,
            ),
            (
                4,
                7,
                "disks",
                "test",
                0,
                0,
                "spread",
                "9/289",
                "9/289",
                "max_bytes",
                "empty",
                None,
                None,
            ),
            (
                5,
                8,
                "disks",
                "test",
                1,
                10,
                "spread",
                "9/289",
                "1/289",
                "no_better_move",
                "refused",
                6,
                10,
            ),
            (
                7,
                12,
                "disks",
                "pa",
                1,
                10,
                "spread",
                "9/289",
                "1/289",
                "no_better_move",
                "withdrawn",
                None,
                18,
            ),
            (
                8,
                13,
                "disks",
                "pb",
                1,
                10,
                "spread",
                "9/289",
                "1/289",
                "no_better_move",
                "executed",
                9,
                14,
            ),
            (
                10,
                17,
                "disks",
                "pc",
                1,
                10,
                "spread",
                "2/243",
                "0/1",
                "no_better_move",
                "open",
                None,
                None,
            ),
        ]
        assert await rows(
            anybody,
            "SELECT number, move, kind, subject, thing, from_place, to_place, bytes, score"
            " FROM ledger_api.proposal_moves WHERE number > 5 ORDER BY number, move",
        ) == [
            (7, 1, "disks", "pa", "pa-r1", "m1/n1/d1", "m1/n2/d1", 10, "1/289"),
            (8, 1, "disks", "pb", "pb-r1", "m1/n1/d1", "m1/n2/d1", 10, "1/289"),
            (10, 1, "disks", "pc", "pc-r1", "m1/n1/d1", "m1/n3/d1", 10, "0/1"),
        ]
        assert await rows(
            anybody, "SELECT number, subject, reason, detail FROM ledger_api.refusals"
        ) == [(6, "test", "target_unavailable", '{"move": 1, "moves": 1, "proposal": 5}')]
        assert await rows(
            anybody, "SELECT position FROM ledger_api.events WHERE effect = 'no_effect'"
        ) == [(15,)]
        assert await rows(
            anybody,
            "SELECT number, replica, node, why, rung FROM ledger_api.disk_placements"
            " WHERE why = 'proposal'",
        ) == [(9, "pb-r2", "n2", "proposal", "proposal")]
        assert await rows(anybody, "SELECT * FROM ledger_api.open_refusals") == []
        fleet = await fleets.find(anybody, FleetName("test"))
        assert fleet is not None
        assert (await replay(anybody, fleet)).diverged is None
    finally:
        await anybody.close()


async def test_pods_that_are_short_are_proposed_and_named(database_url: str) -> None:
    anybody = await connect(database_url, None)
    try:
        await lines.ingest(
            anybody,
            [
                line(1, "cluster.cluster.upserted", "m1", {"name": "m1"}),
                node_line(2, "n1", "spot"),
                line(
                    3,
                    "workload.workload.upserted",
                    "shop/web",
                    {
                        "namespace": "shop",
                        "name": "web",
                        "kind": "StatefulSet",
                        "replicas": 1,
                        "cluster": "m1",
                        "request": {"cpu": "1"},
                        "min_available": "1",
                    },
                ),
                line(
                    4,
                    "workload.pod.observed",
                    "m1/shop/web-0",
                    {
                        "cluster": "m1",
                        "namespace": "shop",
                        "name": "web-0",
                        "owner": {"kind": "StatefulSet", "name": "web"},
                        "node": "n1",
                        "phase": "Running",
                    },
                ),
                approval_line(5, 0),
            ],
        )
        await decide_all(database_url)

        assert await rows(
            anybody,
            "SELECT kind, subject, moves, measure, score_before, score_after, state, resolved_by"
            " FROM ledger_api.proposals",
        ) == [("repair", "shop/web@m1", 1, "deficit", "1/1", "0/1", "executed", 1)]
        assert await rows(
            anybody, "SELECT thing, from_place, to_place FROM ledger_api.proposal_moves"
        ) == [("web-0", "m1/n1", None)]
        assert await rows(
            anybody,
            "SELECT number, subject, branch, result FROM ledger_api.decisions"
            " WHERE kind = 'repair'",
        ) == [
            (
                1,
                "shop/web@m1",
                "evicted",
                '{"evict": [{"pod": "web-0", "node": "m1/n1", "namespace": "shop"}], "lower": [], "cluster": "m1"}',
            )
        ]
        fleet = await fleets.find(anybody, FleetName("test"))
        assert fleet is not None
        assert (await replay(anybody, fleet)).diverged is None
    finally:
        await anybody.close()


async def rows(connection: asyncpg.Connection, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await connection.fetch(query)]
