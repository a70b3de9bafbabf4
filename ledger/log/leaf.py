"""What a leaf of the event tree is made of.

A leaf is the RFC 6962 hash over a canonical JSON array: everything that identifies an event and
says how it came here (its position is the leaf's index in the tree), and the length and digest of
its stored bytes instead of the bytes themselves, so that a leaf stays small and an auditor can
check an envelope without the payload. Whoever has the row can recompute it in any language that has
SHA-256 and JSON.
"""

from hashlib import sha256
from typing import Final

import orjson

from ledger.log.read import StoredEvent

LEAF_LAYOUT: Final = "ledger-event-1"


def event_leaf(
    fleet: str,
    incarnation: int,
    source: str,
    id_: str,
    type_: str,
    subject: str,
    event_time_micros: int | None,
    recorded_at_micros: int,
    revision: int,
    at: tuple[str, str | None, int | None, int | None],
    payload: bytes,
) -> bytes:
    """The leaf hash of one event."""
    data = leaf_data(
        fleet,
        incarnation,
        source,
        id_,
        type_,
        subject,
        event_time_micros,
        recorded_at_micros,
        revision,
        at,
        payload,
    )
    return sha256(b"\x00" + data).digest()


def leaf_data(
    fleet: str,
    incarnation: int,
    source: str,
    id_: str,
    type_: str,
    subject: str,
    event_time_micros: int | None,
    recorded_at_micros: int,
    revision: int,
    at: tuple[str, str | None, int | None, int | None],
    payload: bytes,
) -> bytes:
    """What the leaf of one event is the hash of."""
    return orjson.dumps(
        (
            LEAF_LAYOUT,
            fleet,
            incarnation,
            source,
            id_,
            type_,
            subject,
            event_time_micros,
            recorded_at_micros,
            revision,
            *at,
            len(payload),
            sha256(payload).hexdigest(),
        )
    )


def stored_leaf(fleet: str, row: StoredEvent) -> bytes:
    """The leaf hash that a row of the log must have."""
    return sha256(b"\x00" + stored_leaf_data(fleet, row)).digest()


def stored_leaf_data(fleet: str, row: StoredEvent) -> bytes:
    """What the leaf of a row is the hash of."""
    return leaf_data(
        fleet,
        row.incarnation,
        row.source,
        row.id,
        row.type,
        row.subject,
        row.event_time_micros,
        row.recorded_at_micros,
        row.revision,
        (row.channel, row.topic, row.partition, row.coordinate),
        row.payload,
    )
