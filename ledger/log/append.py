"""Append events to one fleet: positions, recorded times, identity, leaves, rows.

Everything here happens under the fleet's lock and inside the caller's transaction. What comes out
is which messages became events, which were there already, and which may not stand: the same
identity with other content, a salt after the first event, an event without the time its fleet's
clock needs, or with one that would carry that clock too far. Nothing is dropped silently; whoever
calls records the rest.

Identity has a fast way and a sure way. The fast way copies the identities of a batch straight
into their table and lets the unique key object; the whole transaction then fails with
``asyncpg.UniqueViolationError`` and is done again the sure way, which asks first. Producers that
do not repeat themselves, nearly all of them nearly always, pay for no question.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import asyncpg

from ledger.errors import InvalidReason
from ledger.events.codec import CONTRACT_REVISION, Accepted
from ledger.log import fleets, trees
from ledger.log.fleets import Fleet
from ledger.log.leaf import event_leaf
from ledger.log.messages import Message
from ledger.log.rows import Rows, write_all
from ledger.log.trees import Head
from ledger.units import Microseconds, Position

COLUMNS: Final = (
    "fleet",
    "position",
    "incarnation",
    "recorded_at_micros",
    "event_time_micros",
    "revision",
    "channel",
    "topic",
    "partition",
    "coordinate",
    "source",
    "id",
    "type",
    "subject",
    "payload",
    "leaf",
)

IDENTITY_COLUMNS: Final = ("fleet", "identity", "digest", "position")


@dataclass(slots=True)
class Appended:
    """What became of one fleet's share of a batch."""

    fleet: Fleet
    first: Position
    count: int = 0
    duplicates: int = 0
    refused: list[tuple[Message, InvalidReason, str]] = field(default_factory=list)
    known: "Known" = field(default_factory=dict)
    """Of each identity in the share: what it says, and where it stands."""

    @property
    def size(self) -> int:
        """How long the fleet's log is now."""
        return self.first + self.count


BEGINNING: Final = Microseconds(0)

LONGEST_LEAP: Final = Microseconds(366 * 86_400_000_000)
"""A year. Time never runs backwards, so an event of the year 9999 would be the last at which a fleet on
the event clock sees anything run out; no producer's clock is off by a year, and told histories pause less."""

Known = dict[bytes, tuple[bytes, int]]


async def append(
    connection: asyncpg.Connection,
    fleet: Fleet,
    messages: Sequence[tuple[Message, Accepted]],
    *,
    ask_first: bool,
    not_before: Microseconds = BEGINNING,
    may_leap: bool = False,
    head: Head | None = None,
) -> Appended:
    """Append accepted messages in their order; raises UniqueViolationError unless ``ask_first``.

    ``not_before`` is a time they are recorded at or after, whatever the clock says. Unless
    they ``may_leap``, none carries a fleet on the event clock ahead by more than ``LONGEST_LEAP``. ``head``
    is what was found under the lock by a caller that took it already.
    """
    if head is None:
        head = await trees.lock(connection, fleet.number, "events")
    known = await _known(connection, fleet, messages) if ask_first else {}
    first = Position(head.frontier.size)
    appended = Appended(fleet, first)
    by_event = fleet.clock == "event"
    recorded_at = head.recorded_at or Microseconds(0)
    recorded_at = max(recorded_at, not_before if by_event else max(not_before, head.clock))

    identities: list[tuple[int, bytes, bytes, int]] = []
    rows: list[tuple[object, ...]] = []
    leaves: list[bytes] = []
    salt: str | None = None
    position: int = first
    number, name, incarnation = fleet.number, fleet.name, head.incarnation
    for message, event in messages:
        # Taken apart at once: this loop runs for every event, and a field by name costs its lookup.
        _, source, id_, type_, subject, time, stored, identity, digest, wanted_salt = event
        before = known.get(identity)
        if before is not None:
            if before[0] == digest:
                appended.duplicates += 1
            else:
                appended.refused.append((message, "identity_conflict", _conflict(event, before)))
            continue
        if by_event:
            if time is None:
                appended.refused.append(
                    (message, "time_required", f"fleet {name} runs on the time of its events")
                )
                continue
            # Where a history begins nobody knows better than its first event, and no time up to
            # the present is a leap, however long a fleet has heard nothing.
            if not may_leap and position and time - LONGEST_LEAP > max(recorded_at, head.clock):
                appended.refused.append((message, "time_too_far_ahead", _leap(fleet)))
                continue
        if wanted_salt is not None:
            if position != 0:
                appended.refused.append(
                    (message, "salt_not_first", "a salt counts only in a fleet's first event")
                )
                continue
            salt = wanted_salt
        if by_event:
            assert time is not None, "it was asked for"
            recorded_at = max(recorded_at, time)
        known[identity] = (digest, position)
        said = (source, id_, type_, subject)
        at = message.at
        leaf = event_leaf(
            name, incarnation, *said, time, recorded_at, CONTRACT_REVISION, at, stored
        )
        identities.append((number, identity, digest, position))
        rows.append(
            (
                number,
                position,
                incarnation,
                recorded_at,
                time,
                CONTRACT_REVISION,
                *at,
                *said,
                stored,
                leaf,
            )
        )
        leaves.append(leaf)
        position += 1

    appended.count, appended.known = len(rows), known
    if not rows:
        return appended
    if first == 0:
        await fleets.write_genesis(connection, fleet, salt)
    await write_all(
        connection,
        [
            Rows("event_identity", IDENTITY_COLUMNS, identities),
            Rows("events", COLUMNS, rows),
        ],
    )
    await trees.extend(
        connection, fleet.number, "events", head, leaves, recorded_at=Microseconds(recorded_at)
    )
    return appended


async def _known(
    connection: asyncpg.Connection, fleet: Fleet, messages: Sequence[tuple[Message, Accepted]]
) -> Known:
    rows = await connection.fetch(
        "SELECT identity, digest, position FROM ledger.event_identity"
        " WHERE fleet = $1 AND identity = ANY($2::bytea[])",
        fleet.number,
        [event.identity for _, event in messages],
    )
    return {row["identity"]: (row["digest"], row["position"]) for row in rows}


def _leap(fleet: Fleet) -> str:
    return f"more than a year after all that fleet {fleet.name} has heard, and after today"


def _conflict(event: Accepted, before: tuple[bytes, int]) -> str:
    return (
        f"({event.source}, {event.id}) is position {before[1]} with digest {before[0].hex()};"
        f" this one has {event.digest.hex()}"
    )
