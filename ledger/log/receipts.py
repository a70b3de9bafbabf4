"""Receipts: what was taken from a Kafka partition, and who may take the next.

A receipt is written in the transaction that appends what it speaks of, so the newest one is the
offset and there is no other. Taking a partition over opens an epoch in the database; from then on
receipts of older epochs are refused there, whatever a slow consumer still believes.

A partition can also be halted: something happened that going on would hide. It stands still until
a person resumes it, and where it goes on is part of that decision.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import asyncpg

from ledger.errors import LedgerStopped
from ledger.log import fleets, incidents, stops
from ledger.log.database import refusals_named
from ledger.log.messages import Claim
from ledger.units import Epoch, FleetName, Offset

HaltReason = Literal[
    "retention_overrun",
    "offset_regression",
    "topic_recreated",
    "partition_moved",
    "unreadable_record",
    "log_rewound",
    "fleet_stopped",
]


@dataclass(frozen=True, slots=True)
class Receipt:
    """The newest receipt of a partition: where to go on, and the record that must stand before it."""

    number: int
    next: Offset
    last_timestamp: int | None
    last_digest: bytes | None


@dataclass(frozen=True, slots=True)
class Halt:
    """Why a partition stands still, or from where a person lets it go on."""

    number: int
    halted: bool
    reason: str
    detail: str
    resume_at: Offset | None
    by: str


@dataclass(frozen=True, slots=True)
class Adopted:
    """A partition as its new owner finds it; ``halt`` only while it stands still."""

    claim: Claim
    receipt: Receipt | None
    halt: Halt | None
    recovered: bool
    """Whether Kafka may have been told of more than the receipts say: the log was recovered since."""


class PartitionMoved(LedgerStopped):
    """Events of a fleet came by another partition of the topic than the one it is pinned to."""

    def __init__(self, topic: str, partition: int, fleet: str, pinned: int) -> None:
        super().__init__(
            f"{topic}/{partition}: fleet {fleet} is pinned to partition"
            f" {pinned}; if the topic was enlarged, confirm the move with"
            f" `ledger partitions confirm {fleet} {topic} {partition}`"
        )


async def adopt(
    connection: asyncpg.Connection, topic: str, partition: int, *, owner: str
) -> Adopted:
    """Take the partition over inside the caller's transaction, and say where it stands.

    Where a person resumed it elsewhere, the receipt that jumps there is written here, and the word
    that asked for it is answered in the same transaction: it happens once.
    """
    holder = Claim(topic, partition, await open_epoch(connection, topic, partition, owner=owner))
    now = await standing(connection, topic, partition)
    if now is not None and not now.halted and now.resume_at is not None:
        jumped = await write_resumption(connection, holder, at=now.resume_at, by=now.by)
        await connection.execute(
            "INSERT INTO ledger.partition_halts (topic, partition, halted, reason, detail, by, receipt)"
            " VALUES ($1, $2, false, $3, $4, $5, ledger.newest_receipt($1, $2))",
            topic,
            partition,
            now.reason,
            f"went on at {now.resume_at}",
            owner,
        )
        return Adopted(holder, jumped, None, recovered=True)
    return Adopted(
        holder,
        await newest(connection, topic, partition),
        now if now is not None and now.halted else None,
        await connection.fetchval("SELECT ledger.is_recovered($1, $2)", topic, partition),
    )


async def open_epoch(
    connection: asyncpg.Connection, topic: str, partition: int, *, owner: str
) -> Epoch:
    """Take the partition over; every older epoch is refused from now on."""
    return Epoch(
        await connection.fetchval("SELECT ledger.open_epoch($1, $2, $3)", topic, partition, owner)
    )


async def newest(connection: asyncpg.Connection, topic: str, partition: int) -> Receipt | None:
    """The newest receipt of a partition; None where nothing was ever taken."""
    row = await connection.fetchrow(
        "SELECT number, next, last_timestamp, last_digest FROM ledger.receipts"
        " WHERE topic = $1 AND partition = $2 ORDER BY number DESC LIMIT 1",
        topic,
        partition,
    )
    return None if row is None else Receipt(*row)


async def claim(connection: asyncpg.Connection, claim: Claim) -> tuple[int, Offset | None]:
    """Begin a batch: number and ``next`` of the newest receipt, held still until we commit."""
    row = await connection.fetchrow(
        "SELECT number, next FROM ledger.claim_partition($1, $2, $3)",
        claim.topic,
        claim.partition,
        claim.epoch,
    )
    assert row is not None, "claim_partition answers with one row or raises"
    return row["number"], None if row["number"] < 0 else Offset(row["next"])


async def write(
    connection: asyncpg.Connection,
    claim: Claim,
    *,
    number: int,
    first: int,
    next_: int,
    appended: int,
    duplicates: int,
    quarantined: int,
    last_timestamp: int,
    last_digest: bytes,
) -> None:
    """Write a receipt; the database refuses one that does not continue the one before it."""
    await connection.execute(
        "INSERT INTO ledger.receipts (topic, partition, number, epoch, first, next, records,"
        " appended, duplicates, quarantined, last_timestamp, last_digest)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7::bigint + $8 + $9, $7, $8, $9, $10, $11)",
        claim.topic,
        claim.partition,
        number,
        claim.epoch,
        first,
        next_,
        appended,
        duplicates,
        quarantined,
        last_timestamp,
        last_digest,
    )


async def check_pins(
    connection: asyncpg.Connection, claim: Claim, names: Collection[FleetName]
) -> None:
    """Pin fleets that are new to a topic; raise PartitionMoved for one that is pinned elsewhere."""
    pinned = await _pinned(connection, claim.topic, names)
    unpinned = sorted(set(names) - pinned.keys())
    if unpinned:
        # Whoever meets a fleet at the same moment by another partition waits here, and then sees.
        for name in unpinned:
            await connection.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))",
                f"ledger.pin {claim.topic} {name}",
            )
        pinned |= await _pinned(connection, claim.topic, unpinned)
    for name in sorted(names):
        if name not in pinned:
            await pin(connection, name, claim.topic, claim.partition, by="first event")
        elif pinned[name] != claim.partition:
            raise PartitionMoved(claim.topic, claim.partition, name, pinned[name])


async def _pinned(
    connection: asyncpg.Connection, topic: str, names: Collection[FleetName]
) -> dict[str, int]:
    rows = await connection.fetch(
        "SELECT DISTINCT ON (fleet) fleet, partition FROM ledger.partition_pins"
        " WHERE topic = $1 AND fleet = ANY($2::text[]) ORDER BY fleet, number DESC",
        topic,
        list(names),
    )
    return {row["fleet"]: row["partition"] for row in rows}


async def pin(
    connection: asyncpg.Connection, fleet: str, topic: str, partition: int, *, by: str
) -> None:
    """Say which partition of a topic a fleet's events come by; the newest word counts."""
    await connection.execute(
        "INSERT INTO ledger.partition_pins (fleet, topic, partition, confirmed_by)"
        " VALUES ($1, $2, $3, $4)",
        fleet,
        topic,
        partition,
        by,
    )


async def confirm(
    connection: asyncpg.Connection, fleet: FleetName, topic: str, partition: int, *, by: str
) -> None:
    """The same on a person's word: of a fleet that is open, or whose events came by a partition before."""
    if not await feeding(connection, fleet):
        await fleets.named(connection, fleet)
    await pin(connection, fleet, topic, partition, by=by)


async def standing(connection: asyncpg.Connection, topic: str, partition: int) -> Halt | None:
    """The newest word on whether a partition may go on; None where it never stopped."""
    row = await connection.fetchrow(
        "SELECT number, halted, reason, detail, resume_at, by FROM ledger.partition_halts"
        " WHERE topic = $1 AND partition = $2 ORDER BY number DESC LIMIT 1",
        topic,
        partition,
    )
    return None if row is None else Halt(*row)


async def halt(
    connection: asyncpg.Connection,
    topic: str,
    partition: int,
    *,
    reason: HaltReason,
    detail: str,
    by: str,
) -> None:
    """Stop a partition and record the incident; halting a halted one changes nothing."""
    now = await standing(connection, topic, partition)
    if now is not None and now.halted:
        return
    number = await connection.fetchval(
        "INSERT INTO ledger.partition_halts (topic, partition, halted, reason, detail, by)"
        " VALUES ($1, $2, true, $3, $4, $5) RETURNING number",
        topic,
        partition,
        reason,
        detail,
        by,
    )
    place = f"{topic}/{partition}"
    await incidents.record(
        connection, kind=reason, address=place, detail=detail, id_=f"halt/{place}/{number}"
    )


async def resume(
    connection: asyncpg.Connection,
    topic: str,
    partition: int,
    *,
    at: Offset | None,
    why: str,
    by: str,
) -> None:
    """Let a halted partition go on, from ``at`` or from where it stood."""
    place = f"{topic}/{partition}"
    with refusals_named():
        async with connection.transaction():
            now = await standing(connection, topic, partition)
            if now is None or not now.halted:
                raise LedgerStopped(f"{place}: it is not halted")
            await connection.execute(
                "INSERT INTO ledger.partition_halts"
                " (topic, partition, halted, reason, detail, resume_at, by, receipt)"
                " VALUES ($1, $2, false, $3, $4, $5, $6, ledger.newest_receipt($1, $2))",
                topic,
                partition,
                now.reason,
                why,
                at,
                by,
            )
            await incidents.record(
                connection,
                kind="partition_resumed",
                address=place,
                detail=f"by {by}, at {'the same place' if at is None else at}: {why}",
                id_=f"resume/{place}/{now.number}",
            )


async def go_on_recovered(
    connection: asyncpg.Connection, *, why: str, by: str
) -> set[tuple[str, int]]:
    """Inside a recovery: let partitions go on that only waited for one.

    What is in a partition of which Kafka was told more was lost for all fleets that come by it: each must
    be recovered. One that waited for a fleet that stood goes on as soon as none stands.
    """
    gone_on: set[tuple[str, int]] = set()
    for one in await partitions(connection):
        if one.halted == "log_rewound":
            waits = not await connection.fetchval(
                "SELECT ledger.is_recovered($1, $2)", one.topic, one.partition
            )
        elif one.halted == "fleet_stopped":
            names = await comes_by(connection, one.topic, one.partition)
            waits = await stops.stand_among(connection, names)
        else:
            continue
        if waits:
            continue
        await connection.execute(
            "INSERT INTO ledger.partition_halts (topic, partition, halted, reason, detail, by, receipt)"
            " VALUES ($1, $2, false, $3, $4, $5, ledger.newest_receipt($1, $2))",
            one.topic,
            one.partition,
            one.halted,
            why,
            by,
        )
        gone_on.add((one.topic, one.partition))
    return gone_on


async def write_resumption(
    connection: asyncpg.Connection, claim: Claim, *, at: Offset, by: str
) -> Receipt:
    """Write the receipt that jumps to where a person said the partition goes on."""
    number, before = await _numbered(connection, claim)
    await connection.execute(
        "INSERT INTO ledger.receipts (topic, partition, number, epoch, first, next, records,"
        " appended, duplicates, quarantined, resumed_by)"
        " VALUES ($1, $2, $3, $4, $5, $6, 0, 0, 0, 0, $7)",
        claim.topic,
        claim.partition,
        number,
        claim.epoch,
        at if before is None else before,
        at,
        by,
    )
    return Receipt(number, at, None, None)


async def _numbered(connection: asyncpg.Connection, holder: Claim) -> tuple[int, Offset | None]:
    number, before = await claim(connection, holder)
    return number + 1, before


async def comes_by(connection: asyncpg.Connection, topic: str, partition: int) -> tuple[str, ...]:
    """The fleets that are pinned to a partition, by name."""
    with refusals_named():
        rows = await connection.fetch(
            "SELECT fleet FROM (SELECT DISTINCT ON (fleet) fleet, partition"
            "   FROM ledger.partition_pins WHERE topic = $1 ORDER BY fleet, number DESC) AS pinned"
            " WHERE partition = $2 ORDER BY fleet",
            topic,
            partition,
        )
    return tuple(row["fleet"] for row in rows)


@dataclass(frozen=True, slots=True)
class Feeding:
    """A partition that a fleet's events come by."""

    topic: str
    partition: int
    next: Offset
    fleets: tuple[str, ...]
    """All that come by it."""
    recovered: bool
    """Whether the fleet was recovered since anything was taken."""


async def feeding(connection: asyncpg.Connection, fleet: FleetName) -> tuple[Feeding, ...]:
    """Where a fleet's events come by, and how far each was taken."""
    with refusals_named():
        rows = await connection.fetch(
            "SELECT p.topic, p.partition,"
            "       coalesce((SELECT r.next FROM ledger.receipts r"
            "                  WHERE r.topic = p.topic AND r.partition = p.partition"
            "                  ORDER BY r.number DESC LIMIT 1), 0) AS next,"
            "       ledger.is_recovered_behind($1, p.topic, p.partition) AS recovered"
            "  FROM (SELECT DISTINCT ON (topic) topic, partition FROM ledger.partition_pins"
            "         WHERE fleet = $1 ORDER BY topic, number DESC) AS p ORDER BY p.topic",
            fleet,
        )
    return tuple(
        [
            Feeding(
                topic, number, Offset(next_), await comes_by(connection, topic, number), recovered
            )
            for topic, number, next_, recovered in rows
        ]
    )


@dataclass(frozen=True, slots=True)
class PartitionStanding:
    """How far a partition was taken, and why it stands still if it does."""

    topic: str
    partition: int
    next: Offset | None
    halted: str | None
    detail: str | None


async def partitions(connection: asyncpg.Connection) -> list[PartitionStanding]:
    """Every partition that was ever taken over, by topic and number."""
    rows = await connection.fetch(
        "SELECT l.topic, l.partition, r.next, h.reason, h.detail"
        "  FROM ledger.partition_locks l"
        "  LEFT JOIN LATERAL (SELECT x.next FROM ledger.receipts x"
        "         WHERE x.topic = l.topic AND x.partition = l.partition"
        "         ORDER BY x.number DESC LIMIT 1) r ON true"
        "  LEFT JOIN LATERAL (SELECT x.halted, x.reason, x.detail FROM ledger.partition_halts x"
        "         WHERE x.topic = l.topic AND x.partition = l.partition"
        "         ORDER BY x.number DESC LIMIT 1) h ON h.halted"
        " ORDER BY l.topic, l.partition"
    )
    return [PartitionStanding(*row) for row in rows]
