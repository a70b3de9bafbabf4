"""Admissions from the log to SQL: answered by the live engine, shown, explained by number and replayed."""

import json
from typing import Any

import asyncpg

from ledger.events.codec import own_event
from ledger.log import fleets, lines
from ledger.log.append import append
from ledger.log.database import connect
from ledger.log.fleets import Fleet
from ledger.log.messages import Coordinates, Message
from ledger.replay.deep import deep
from ledger.replay.replay import replay
from ledger.units import EventType, FleetName, Microseconds, Subject
from tests.engine.deciding import decide_all
from tests.engine.test_proposals_in_sql import line, rows


async def asked(connection: asyncpg.Connection, fleet: Fleet, uid: str, **more: Any) -> None:
    """A webhook asks: nobody else may say so."""
    data = {
        "uid": uid,
        "cluster": "m1",
        "namespace": "shop",
        "owner": {"kind": "ReplicaSet", "name": "web-7"},
        "template_hash": "7",
    }
    await told(connection, fleet, "admission.requested", "shop/web-7", uid, data | more)


async def told(
    connection: asyncpg.Connection,
    fleet: Fleet,
    what: str,
    subject: str,
    uid: str,
    data: dict[str, Any],
) -> None:
    event = own_event(
        fleet=fleet.name,
        source="ledger/admission",
        id=f"{what}/{uid}",
        type=EventType(f"ledger.workload.{what}.v1"),
        subject=Subject(subject),
        data=data,
        time=Microseconds(0),
    )
    at = Coordinates("ledger", None, None, None)
    async with connection.transaction():
        await append(connection, fleet, [(Message(at, event, None, None), event)], ask_first=True)


async def test_admissions_are_recorded_shown_and_replayed(database_url: str) -> None:
    anybody = await connect(database_url, None)
    try:
        workload = {
            "namespace": "shop",
            "name": "web",
            "kind": "Deployment",
            "replicas": 3,
            "cluster": "m1",
            "min_available": "1",
        }
        above = {
            "cluster": "m1",
            "namespace": "shop",
            "name": "web-7",
            "owner": {"kind": "Deployment", "name": "web"},
            "template_hash": "7",
            "replicas": 3,
        }
        await lines.ingest(
            anybody,
            [
                line(1, "cluster.cluster.upserted", "m1", {"name": "m1"}),
                line(2, "workload.workload.upserted", "shop/web", workload),
                line(3, "workload.replicaset.upserted", "m1/shop/web-7", above),
                line(4, "policy.policy.changed", "test", {"hold": True}),
            ],
        )
        fleet = await fleets.find(anybody, FleetName("test"))
        assert fleet is not None
        await asked(anybody, fleet, "u1")
        await asked(anybody, fleet, "u1")
        await asked(anybody, fleet, "u2")
        await asked(anybody, fleet, "u3", dry_run=True)
        await asked(anybody, fleet, "u4", user_pin="od")
        await asked(anybody, fleet, "u5", can_list=True)
        listing = {"admission_uid": "u5", "template_hash": "7", "present": ["test/1/1"]}
        await told(anybody, fleet, "pods.listed", "u5", "u5", listing)
        await decide_all(database_url)

        assert await rows(
            anybody,
            "SELECT number, position, namespace, workload, cluster, template_hash, admission_uid,"
            " class, reservation, target, on_demand FROM ledger_api.capacity_classes"
            " ORDER BY number",
        ) == [
            (0, 4, "shop", "web", "m1", "7", "u1", "od", "test/1/0", 1, 0),
            (1, 5, "shop", "web", "m1", "7", "u2", "spot", "test/1/1", 1, 1),
            (2, 6, "shop", "web", "m1", "7", "u3", "spot", None, 1, 1),
            (3, 7, "shop", "web", "m1", "7", "u4", "od", "test/1/3", 1, 1),
            (4, 8, "shop", "web", "m1", "7", "u5", None, None, 1, 2),
            (5, 9, "shop", "web", "m1", "7", "u5", "spot", "test/1/5", 1, 1),
        ]
        ((record,),) = await rows(
            anybody, "SELECT reasons::text FROM ledger_api.decisions WHERE number = 5"
        )
        assert json.loads(record)["retired"] == ["test/1/0"]

        again = await replay(anybody, fleet)
        assert again.diverged is None
        assert again.decisions == 6
        assert await anybody.fetchval("SELECT count(*) FROM ledger.admission_answers") == 5
        assert (await deep(anybody, fleet)).diverged is None
    finally:
        await anybody.close()
