"""Quarantine: what could not be accepted is kept whole, counted, and can be let in later.

A quarantined message is two things in one transaction: a row with the bytes as they came, and an
event of the reserved fleet that says so. The event's identity is the address and the digest of
the message, so the same message met again (a file read twice) is the same event and the same row.

Letting one in is a new event with an identity of its own: it holds the message, names the old
address, and is judged by today's contract. The row in quarantine stays as it is.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import asyncpg

from ledger.errors import InvalidEvent, InvalidReason, LedgerStopped
from ledger.events.codec import Accepted, Rejected, accept, accept_line, own_event
from ledger.events.contract import Family
from ledger.log import fleets
from ledger.log.append import Appended, append
from ledger.log.messages import (
    Coordinates,
    Message,
    address,
    read_headers,
    record_digest,
    spelled_headers,
)
from ledger.units import LEDGER_FLEET, EventType, FleetName, Position, Subject

Refused = tuple[Message, InvalidReason, str]

OWN: Coordinates = Coordinates("ledger", None, None, None)


@dataclass(frozen=True, slots=True)
class Released:
    """Where a released message stands now."""

    address: str
    fleet: FleetName
    position: Position


async def put(connection: asyncpg.Connection, refused: Sequence[Refused]) -> Appended:
    """Set messages aside inside the caller's transaction."""
    fleet = await fleets.open_(connection, LEDGER_FLEET, clock="wall")
    records: list[tuple[Message, Accepted]] = []
    by_identity: dict[bytes, tuple[Refused, bytes]] = {}
    for message, reason, detail in refused:
        digest = record_digest(message)
        place = address(message.at)
        event = own_event(
            fleet=LEDGER_FLEET,
            source="ledger/quarantine",
            id=f"{place}#{digest.hex()}",
            type=EventType("ledger.quarantine.message.quarantined.v1"),
            subject=Subject(place),
            data={"address": place, "reason": reason, "sha256": digest.hex()},
        )
        by_identity[event.identity] = ((message, reason, detail), digest)
        records.append((Message(OWN, event, None, None), event))
    appended = await append(connection, fleet, records, ask_first=True)
    positions = await connection.fetch(
        "SELECT identity, position FROM ledger.event_identity"
        " WHERE fleet = $1 AND identity = ANY($2::bytea[]) AND position >= $3 ORDER BY position",
        fleet.number,
        list(by_identity),
        appended.first,
    )
    await connection.copy_records_to_table(
        "quarantine",
        schema_name="ledger",
        columns=(
            "position",
            "address",
            "channel",
            "topic",
            "partition",
            "coordinate",
            "fleet",
            "source",
            "id",
            "type",
            "subject",
            "reason",
            "detail",
            "key",
            "value",
            "headers",
            "digest",
        ),
        records=[_row(position, *by_identity[identity]) for identity, position in positions],
    )
    return appended


def _row(position: int, refused: Refused, digest: bytes) -> tuple[object, ...]:
    message, reason, detail = refused
    said = message.verdict
    return (
        position,
        address(message.at),
        *message.at,
        said.fleet,
        said.source,
        said.id,
        said.type,
        said.subject,
        reason,
        detail,
        message.key,
        message.value,
        spelled_headers(message.headers),
        digest,
    )


async def release(
    connection: asyncpg.Connection,
    position: Position,
    *,
    families: frozenset[Family],
    by: str,
    why: str,
    fleet: FleetName | None = None,
    corrected: bytes | None = None,
) -> Released:
    """Let a quarantined message in, as it is or corrected, as a new event of its fleet.

    Raises InvalidEvent where today's contract refuses it too.
    """
    async with connection.transaction():
        row = await connection.fetchrow(
            "SELECT address, channel, value, headers, fleet FROM ledger.quarantine"
            " WHERE position = $1",
            position,
        )
        if row is None:
            raise LedgerStopped(f"quarantine {position}: there is no such message")
        await _must_wait(connection, position)
        named = fleet or row["fleet"]
        verdict = _judge(row, families, named, corrected)
        if isinstance(verdict, Rejected):
            raise InvalidEvent(verdict.reason, f"{row['address']}: {verdict.detail}")
        target = await fleets.open_(connection, verdict.fleet, clock="wall")
        event = own_event(
            fleet=verdict.fleet,
            source="ledger/quarantine",
            id=f"release/{position}",
            type=EventType("ledger.quarantine.message.released.v1"),
            subject=Subject(row["address"]),
            data={"address": row["address"], "event": json.loads(verdict.stored)},
            time=verdict.time,
        )
        appended = await append(
            connection, target, [(Message(OWN, event, None, None), event)], ask_first=True
        )
        assert appended.count == 1, "its identity is its own, and nothing about it can be refused"
        await _close(connection, position, "released", appended.first, by=by, why=why)
        await connection.execute("SELECT pg_notify('ledger_events', $1)", verdict.fleet)
    return Released(row["address"], verdict.fleet, appended.first)


async def discard(connection: asyncpg.Connection, position: Position, *, by: str, why: str) -> None:
    """Close a quarantined message without letting it in; its bytes stay."""
    async with connection.transaction():
        await _must_wait(connection, position)
        await _close(connection, position, "discarded", None, by=by, why=why)


def _judge(
    row: asyncpg.Record, families: frozenset[Family], fleet: str | None, corrected: bytes | None
) -> Accepted | Rejected:
    named = None if fleet is None else FleetName(fleet)
    if corrected is not None:
        return accept_line(corrected, families=families, fleet=named)
    if row["channel"] == "kafka":
        headers = read_headers(row["headers"])
        return accept(row["value"], headers=headers, families=families, fleet=named)
    return accept_line(row["value"], families=families, fleet=named)


async def _must_wait(connection: asyncpg.Connection, position: Position) -> None:
    outcome = await connection.fetchval(
        "SELECT outcome FROM ledger.quarantine_outcomes WHERE quarantined = $1", position
    )
    if outcome is not None:
        raise LedgerStopped(f"quarantine {position}: it was {outcome} already")


async def _close(
    connection: asyncpg.Connection,
    position: Position,
    outcome: str,
    released_position: Position | None,
    *,
    by: str,
    why: str,
) -> None:
    await connection.execute(
        "INSERT INTO ledger.quarantine_outcomes (quarantined, outcome, released_position, by, why)"
        " VALUES ($1, $2, $3, $4, $5)",
        position,
        outcome,
        released_position,
        by,
        why,
    )
