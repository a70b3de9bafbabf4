"""Quarantine: what could not be accepted is kept whole, counted, and can be let in later.

A quarantined message is two things in one transaction: a row with the bytes as they came, and an
event of the reserved fleet that says so. The event's identity is the address and the digest of
the message, so the same message met again (a file of that name read twice) is the same event and the
same row.

Letting one in is a new event with an identity of its own: it holds the message, names the old
address, and is judged by today's contract. The row in quarantine stays as it is. Where one cause set
many aside they are settled by the page, in the order in which they came.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

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

SETTLED_AT_ONCE: Final = 500
"""Messages a transaction: each is a lock, and their fleets are held for some hundredths of a second."""

_CHOSEN: Final = (
    "FROM ledger.quarantine q"
    " LEFT JOIN ledger.quarantine_outcomes o ON o.quarantined = q.position"
    " WHERE o.outcome IS NULL AND q.reason = $1 AND ($2::text IS NULL OR q.fleet = $2)"
    " AND ($3::text IS NULL OR q.source = $3) AND ($4::bigint IS NULL OR q.position < $4)"
    " AND q.position > $5"
)


@dataclass(frozen=True, slots=True)
class Released:
    """Where a released message stands now."""

    address: str
    fleet: FleetName
    position: Position


@dataclass(frozen=True, slots=True)
class Still:
    """Why a message was not let in and waits on; a duplicate is in the log by another way."""

    reason: InvalidReason | Literal["duplicate"]
    detail: str


async def put(connection: asyncpg.Connection, refused: Sequence[Refused]) -> Appended:
    """Set messages aside inside the caller's transaction."""
    fleet = await fleets.open_(connection, LEDGER_FLEET, clock="wall")
    records: list[tuple[Message, Accepted]] = []
    by_identity: dict[bytes, tuple[Refused, bytes]] = {}
    for message, reason, detail in refused:
        digest = record_digest(message)
        place = address(message.place)
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
        address(message.place),
        *message.place,
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
            # Whoever lets it in has seen its time.
            (released,) = await _let_in(
                connection, target, [(row, verdict)], by=by, why=why, may_leap=True
            )
    if not isinstance(released, Still):
        return Released(row["address"], verdict.fleet, released)
    if released.reason == "duplicate":
        raise LedgerStopped(f"{row['address']}: {released.detail}; discard it instead")
    raise InvalidEvent(released.reason, f"{row['address']}: {released.detail}")


async def _let_in(
    connection: asyncpg.Connection,
    target: Fleet,
    judged: Sequence[tuple[asyncpg.Record, Accepted]],
    *,
    by: str,
    why: str,
    may_leap: bool,
) -> list[Position | Still]:
    """Append messages of one fleet and close them; of each where it stands now, or why it waits on."""
    head = await trees.lock(connection, target.number, "events")
    rows = await connection.fetch(
        "SELECT identity, position FROM ledger.event_identity"
        " WHERE fleet = $1 AND identity = ANY($2::bytea[])",
        target.number,
        [verdict.identity for _, verdict in judged],
    )
    known = {row["identity"]: f"it is position {row['position']} already" for row in rows}
    told: dict[int, Position | Still] = {}
    coming: list[tuple[Message, Accepted]] = []
    # The message, should it come again by its old way, is a duplicate of what is let in for it.
    later: dict[bytes, tuple[int, bytes, bytes]] = {}
    places: dict[bytes, int] = {}
    for row, verdict in judged:
        before = known.get(verdict.identity)
        if before is not None and row["reason"] != "identity_conflict":
            told[row["position"]] = Still("duplicate", before)
            continue
        event = own_event(
            fleet=verdict.fleet,
            source="ledger/quarantine",
            id=f"release/{row['position']}",
            type=EventType("ledger.quarantine.message.released.v1"),
            subject=Subject(row["address"]),
            data={"address": row["address"], "event": json.loads(verdict.stored)},
            time=verdict.time,
        )
        event = event._replace(salt=verdict.salt)
        coming.append((Message(OWN, event, None, None), event))
        places[event.identity] = row["position"]
        if before is None:
            later[event.identity] = (target.number, verdict.identity, verdict.digest)
            known[verdict.identity] = f"quarantine {row['position']} is the same"
    appended = await append(
        connection, target, coming, ask_first=True, may_leap=may_leap, head=head
    )
    for message, reason, detail in appended.refused:
        assert isinstance(message.verdict, Accepted), "it was made of one"
        told[places.pop(message.verdict.identity)] = Still(reason, detail)
    assert appended.count == len(places), "their identities are their own, and nobody else has them"
    found = {identity: Position(appended.known[identity][1]) for identity in places}
    await connection.executemany(
        "INSERT INTO ledger.event_identity (fleet, identity, digest, position)"
        " VALUES ($1, $2, $3, $4)",
        [(*later[identity], place) for identity, place in found.items() if identity in later],
    )
    told |= {places[identity]: place for identity, place in found.items()}
    closed = {places[identity]: place for identity, place in found.items()}
    await _close(connection, "released", closed, by=by, why=why)
    return [told[row["position"]] for row, _ in judged]


async def discard(connection: asyncpg.Connection, position: Position, *, by: str, why: str) -> None:
    """Close a quarantined message without letting it in; its bytes stay."""
    with refusals_named():
        async with connection.transaction():
            await _waiting(connection, position)
            await _close(connection, "discarded", {position: None}, by=by, why=why)


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
    rows = await _held(connection, [position])
    if not rows:
        raise LedgerStopped(f"quarantine {position}: there is no such message")
    if rows[0]["outcome"] is not None:
        raise LedgerStopped(f"quarantine {position}: it was {rows[0]['outcome']} already")
    return rows[0]


async def _held(connection: asyncpg.Connection, positions: Sequence[int]) -> list[asyncpg.Record]:
    """Messages as they stand once nobody else can settle them, in their order."""
    await connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('ledger.quarantine', position))"
        # In one order everywhere, so that two who settle the same ones do not wait for each other.
        "  FROM unnest($1::bigint[]) AS wanted (position)",
        sorted(positions),
    )
    rows: list[asyncpg.Record] = await connection.fetch(
        "SELECT q.position, q.address, q.channel, q.reason, q.value, q.headers, q.fleet, o.outcome"
        "  FROM ledger.quarantine q"
        "  LEFT JOIN ledger.quarantine_outcomes o ON o.quarantined = q.position"
        " WHERE q.position = ANY($1::bigint[]) ORDER BY q.position",
        positions,
    )
    return rows


async def _close(
    connection: asyncpg.Connection,
    outcome: str,
    released: Mapping[int, Position | None],
    *,
    by: str,
    why: str,
) -> None:
    await connection.executemany(
        "INSERT INTO ledger.quarantine_outcomes (quarantined, outcome, released_position, by, why)"
        " VALUES ($1, $2, $3, $4, $5)",
        [(position, outcome, place, by, why) for position, place in released.items()],
    )


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which of the messages that wait are meant."""

    reason: InvalidReason
    fleet: str | None = None
    source: str | None = None
    before: int | None = None
    """Only those with a lower number."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of a page of messages."""

    last: Position
    """The highest number that was looked at."""
    settled: int
    refused: Mapping[str, int]
    """How many wait on, by why."""


async def waiting(connection: asyncpg.Connection, chosen: Chosen) -> int:
    """How many messages are meant."""
    with refusals_named():
        found: int = await connection.fetchval(f"SELECT count(*) {_CHOSEN}", *_told(chosen, -1))
    return found


async def release_page(
    connection: asyncpg.Connection,
    chosen: Chosen,
    after: int,
    *,
    families: frozenset[Family],
    by: str,
    why: str,
) -> Settled | None:
    """Let in, in one transaction, the next messages behind a number, each as ``release`` does.

    None where there are no more. What is refused again stays as it is. Nobody has seen the times that they carry,
    unless it is for these that they were set aside.
    """
    with refusals_named():
        async with connection.transaction():
            rows = await _page_of(connection, chosen, after)
            if not rows:
                return None
            refused: Counter[str] = Counter()
            by_fleet: dict[FleetName, list[tuple[asyncpg.Record, Accepted]]] = {}
            for row in rows:
                if row["outcome"] is not None:
                    continue  # Somebody was faster.
                verdict = _judge(row, families, row["fleet"], None)
                if isinstance(verdict, Rejected):
                    refused[verdict.reason] += 1
                else:
                    by_fleet.setdefault(verdict.fleet, []).append((row, verdict))
            targets: list[Fleet] = []
            for name in sorted(by_fleet):
                target = await fleets.find(connection, name)
                if target is None:
                    refused["unknown_fleet"] += len(by_fleet[name])
                else:
                    targets.append(target)
            settled = 0
            for target in sorted(targets, key=lambda fleet: fleet.number):
                told = await _let_in(
                    connection,
                    target,
                    by_fleet[target.name],
                    by=by,
                    why=why,
                    may_leap=chosen.reason == "time_too_far_ahead",
                )
                still = [one.reason for one in told if isinstance(one, Still)]
                refused.update(still)
                settled += len(told) - len(still)
    return Settled(Position(rows[-1]["position"]), settled, refused)


async def discard_page(
    connection: asyncpg.Connection, chosen: Chosen, after: int, *, by: str, why: str
) -> Settled | None:
    """Close, in one transaction, the next messages behind a number; None where there are no more."""
    with refusals_named():
        async with connection.transaction():
            rows = await _page_of(connection, chosen, after)
            if not rows:
                return None
            closed: dict[int, Position | None] = {
                row["position"]: None for row in rows if row["outcome"] is None
            }
            await _close(connection, "discarded", closed, by=by, why=why)
    return Settled(Position(rows[-1]["position"]), len(closed), {})


async def _page_of(
    connection: asyncpg.Connection, chosen: Chosen, after: int
) -> list[asyncpg.Record]:
    positions = await connection.fetch(
        "SELECT position FROM ("  # noqa: S608 - what is put in is a constant of this module
        "  SELECT position, sum(bytes) OVER (ORDER BY position) AS bytes,"
        "         row_number() OVER (ORDER BY position) AS nth"
        "    FROM (SELECT q.position,"
        "                 coalesce(octet_length(q.value), 0) + octet_length(q.headers) AS bytes"
        f"           {_CHOSEN} ORDER BY q.position LIMIT $6) AS following) AS summed"
        " WHERE nth = 1 OR bytes <= $7 ORDER BY position",
        *_told(chosen, after),
        SETTLED_AT_ONCE,
        PAGE_BYTES,
    )
    return await _held(connection, [row["position"] for row in positions])


def _told(chosen: Chosen, after: int) -> tuple[object, ...]:
    return (chosen.reason, chosen.fleet, chosen.source, chosen.before, after)


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
