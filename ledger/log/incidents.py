"""Incidents: things a person should know, as events of the reserved fleet."""

import asyncpg

from ledger.events.codec import own_event
from ledger.log import fleets
from ledger.log.append import append
from ledger.log.messages import Coordinates, Message
from ledger.units import LEDGER_FLEET, EventType, Subject


async def record(
    connection: asyncpg.Connection, *, kind: str, address: str, detail: str, id_: str
) -> bool:
    """Record an incident inside the caller's transaction; False where ``id_`` is known already."""
    fleet = await fleets.open_(connection, LEDGER_FLEET, clock="wall")
    event = own_event(
        fleet=LEDGER_FLEET,
        source="ledger/incidents",
        id=id_,
        type=EventType("ledger.incident.incident.recorded.v1"),
        subject=Subject(address),
        data={"kind": kind, "address": address, "detail": detail},
    )
    message = Message(Coordinates("ledger", None, None, None), event, None, None)
    appended = await append(connection, fleet, [(message, event)], ask_first=True)
    return appended.count == 1
