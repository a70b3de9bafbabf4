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
from typing import Final

import asyncpg

from ledger.errors import InvalidEvent, InvalidReason, LedgerStopped, SetupProblem
from ledger.events.codec import Accepted, Rejected, accept, accept_line, own_event
from ledger.events.contract import Family
from ledger.log import fleets, trees
from ledger.log.append import Appended, append
from ledger.log.database import refusals_named
from ledger.log.fleets import Fleet
from ledger.log.messages import (
    Coordinates,
    Headers,
    Message,
    address,
    read_headers,
    record_digest,
    spelled_headers,
)
from ledger.units import LEDGER_FLEET, EventType, FleetName, Position, Subject

Refused = tuple[Message, InvalidReason, str]

OWN: Coordinates = Coordinates("ledger", None, None, None)

PAGE_BYTES: Final = 4 * 1024 * 1024
"""What a page of messages holds in memory, however large each was."""


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
    # A message that was set aside before, even for another reason, has its row: nothing to add.
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

    Raises InvalidEvent where today's contract or its fleet's log refuses it too, LedgerStopped
    where it is in the log by another way already, SetupProblem where its fleet is not open.
    """
    with refusals_named():
        async with connection.transaction():
            row = await _waiting(connection, position)
            verdict = _judge(row, families, fleet or row["fleet"], corrected)
            if isinstance(verdict, Rejected):
                raise InvalidEvent(verdict.reason, f"{row['address']}: {verdict.detail}")
            target = await fleets.find(connection, verdict.fleet)
            if target is None:
                raise SetupProblem(
                    f"{row['address']}: fleet {verdict.fleet} is not open;"
                    f" `ledger fleets open {verdict.fleet}` opens it"
                )
            released = await _append_released(connection, target, row, position, verdict)
            await _close(connection, position, "released", released, by=by, why=why)
    return Released(row["address"], verdict.fleet, released)


async def _append_released(
    connection: asyncpg.Connection,
    target: Fleet,
    row: asyncpg.Record,
    position: Position,
    verdict: Accepted,
) -> Position:
    await trees.lock(connection, target.number, "events")
    known = await connection.fetchval(
        "SELECT position FROM ledger.event_identity WHERE fleet = $1 AND identity = $2",
        target.number,
        verdict.identity,
    )
    if known is not None and row["reason"] != "identity_conflict":
        raise LedgerStopped(f"{row['address']}: it is position {known} already; discard it instead")
    event = own_event(
        fleet=verdict.fleet,
        source="ledger/quarantine",
        id=f"release/{position}",
        type=EventType("ledger.quarantine.message.released.v1"),
        subject=Subject(row["address"]),
        data={"address": row["address"], "event": json.loads(verdict.stored)},
        time=verdict.time,
    )
    event = event._replace(salt=verdict.salt)
    # Whoever lets it in has seen its time.
    message = Message(OWN, event, None, None)
    appended = await append(connection, target, [(message, event)], ask_first=True, may_leap=True)
    for _, reason, detail in appended.refused:
        raise InvalidEvent(reason, f"{row['address']}: {detail}")
    assert appended.count == 1, "its identity is its own, and nobody else releases it"
    if known is None:
        # The message, should it come again by its old way, is a duplicate of this.
        await connection.execute(
            "INSERT INTO ledger.event_identity (fleet, identity, digest, position)"
            " VALUES ($1, $2, $3, $4)",
            target.number,
            verdict.identity,
            verdict.digest,
            appended.first,
        )
    return appended.first


async def discard(connection: asyncpg.Connection, position: Position, *, by: str, why: str) -> None:
    """Close a quarantined message without letting it in; its bytes stay."""
    with refusals_named():
        async with connection.transaction():
            await _waiting(connection, position)
            await _close(connection, position, "discarded", None, by=by, why=why)


def _judge(
    row: asyncpg.Record, families: frozenset[Family], fleet: str | None, corrected: bytes | None
) -> Accepted | Rejected:
    named = None if fleet is None else FleetName(fleet)
    if corrected is not None:
        return accept_line(corrected, families=families, fleet=named)
    headers = read_headers(row["headers"])
    if headers or row["channel"] == "kafka":
        return accept(row["value"], headers=headers, families=families, fleet=named)
    return accept_line(row["value"], families=families, fleet=named)


async def _waiting(connection: asyncpg.Connection, position: Position) -> asyncpg.Record:
    """A message that still waits; whoever else would settle it waits until we are done."""
    await connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('ledger.quarantine', $1))", position
    )
    row = await connection.fetchrow(
        "SELECT q.address, q.channel, q.reason, q.value, q.headers, q.fleet, o.outcome"
        "  FROM ledger.quarantine q"
        "  LEFT JOIN ledger.quarantine_outcomes o ON o.quarantined = q.position"
        " WHERE q.position = $1",
        position,
    )
    if row is None:
        raise LedgerStopped(f"quarantine {position}: there is no such message")
    if row["outcome"] is not None:
        raise LedgerStopped(f"quarantine {position}: it was {row['outcome']} already")
    return row


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


@dataclass(frozen=True, slots=True)
class SetAside:
    """A quarantined message as it was received, and why it is here."""

    position: Position
    address: str
    reason: str
    detail: str
    fleet: str | None
    key: bytes | None
    value: bytes | None
    headers: Headers


async def page(
    connection: asyncpg.Connection, *, first: Position, limit: int = 100, bytes_: int = PAGE_BYTES
) -> list[SetAside]:
    """Quarantined messages from a position on, in order: at least one, else within both limits."""
    with refusals_named():
        rows = await connection.fetch(
            "SELECT position, address, reason, detail, fleet, key, value, headers FROM ("
            "  SELECT *, sum(coalesce(octet_length(value), 0) + octet_length(headers))"
            "              OVER (ORDER BY position) AS bytes,"
            "            row_number() OVER (ORDER BY position) AS nth"
            "    FROM (SELECT * FROM ledger.quarantine WHERE position >= $1"
            "           ORDER BY position LIMIT $2) AS following) AS summed"
            " WHERE nth = 1 OR bytes <= $3 ORDER BY position",
            first,
            limit,
            bytes_,
        )
    return [SetAside(**dict(row) | {"headers": read_headers(row["headers"])}) for row in rows]
