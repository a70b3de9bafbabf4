"""What the log says of events beside their bytes: typed columns, identities, times, lives.

An event's row and its identity are told again from the stored bytes alone, so that nothing that
people search by can differ from what the producer sent.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

import orjson

from ledger.errors import InvalidEvent
from ledger.events import moments
from ledger.events.strict_json import canonical
from ledger.log.database import Connection, refusals_named
from ledger.log.fleets import Fleet
from ledger.log.read import StoredEvent
from ledger.replay.beginnings import Begun, repeats
from ledger.replay.report import Divergence
from ledger.views.table import Row, Table

IDENTITIES: Final = Table("event_identity", ("fleet", "position", "identity", "digest"), key=3)
"""By position, so that they are met in the order of the events."""

RELEASED: Final = "ledger.quarantine.message.released.v1"

RECOVERED: Final = "ledger.recovery.log.recovered.v1"

_IDENTITY_BYTES: Final = 16
_ATTRIBUTES: Final = ("source", "id", "type", "subject")


@dataclass(slots=True)
class ToldEvents:
    """A fleet's events as they are read, one after the other."""

    fleet: Fleet
    lives: Sequence[Begun]
    """The newest first."""
    clock: int = 0
    identities: list[Row] = field(default_factory=list)
    """What each event is known by."""
    held: list[Row] = field(default_factory=list)
    """What messages that were let in are known by too, unless they were in the log already."""

    def take(self, event: StoredEvent) -> Divergence | None:
        """Look at one more event; what is wrong with its row."""
        envelope = orjson.loads(event.payload)
        row = (event.source, event.id, event.type, event.subject)
        if row != tuple(map(envelope.get, _ATTRIBUTES)):
            return self._unlike(event, envelope, row)
        time = _time(envelope)
        if time != event.event_time_micros:
            return _column(event, "event_time_micros", event.event_time_micros, time)
        if envelope.get("fleet", self.fleet.name) != self.fleet.name:
            return _column(event, "fleet", self.fleet.name, envelope["fleet"])
        begun = next((one for one in self.lives if one.size <= event.position), None)
        life = None if begun is None else begun.incarnation
        if begun is None or life != event.incarnation:
            return Divergence(
                "incarnation_mismatch",
                event.position,
                subject=event.subject,
                recorded=str(event.incarnation),
                recomputed=str(life),
            )
        begins = begun.size == event.position and begun.incarnation > 1
        if (event.type == RECOVERED) != begins or (
            begins and envelope["data"]["incarnation"] != life
        ):
            return Divergence(
                "incarnation_mismatch",
                event.position,
                subject=event.subject,
                recorded=event.type,
                recomputed=f"{life} begins with {RECOVERED}",
            )
        trouble = repeats(begun, event, envelope["data"]["why"]) if begins else None
        if trouble is not None:
            return trouble
        if self.fleet.clock == "event" and event.recorded_at_micros != max(self.clock, time or 0):
            return _column(
                event, "recorded_at_micros", event.recorded_at_micros, max(self.clock, time or 0)
            )
        self.clock = event.recorded_at_micros
        self.identities.append(self._known_by(event.position, envelope))
        if event.type == RELEASED:
            self.held.append(self._known_by(event.position, envelope["data"]["event"]))
        return None

    def forget(self) -> None:
        """Begin anew with what events are known by."""
        self.identities, self.held = [], []

    def _known_by(self, position: int, event: dict[str, Any]) -> Row:
        source, id_, type_, subject, data = (
            event["source"],
            event["id"],
            event["type"],
            event["subject"],
            event["data"],
        )
        return (
            self.fleet.number,
            position,
            sha256(canonical([source, id_])).digest()[:_IDENTITY_BYTES],
            sha256(canonical([type_, subject, data])).digest(),
        )

    def _unlike(
        self, event: StoredEvent, envelope: dict[str, Any], row: Sequence[str]
    ) -> Divergence:
        for name, value in zip(_ATTRIBUTES, row, strict=True):
            if envelope.get(name) != value:
                return _column(event, name, value, envelope.get(name))
        raise AssertionError("one of them differs")


async def identities(
    connection: Connection, events: ToldEvents, stored: Sequence[Row]
) -> list[Row]:
    """What is to be stored of what the events since the last time are known by.

    A message that was let in is known by its own identity from then on, unless it was in the log
    already: then that one stays.
    """
    there = set(stored)
    wanted = list(events.identities)
    for row in events.held:
        fleet, position, identity, _ = row
        with refusals_named():
            known = (
                None
                if row in there
                else await connection.fetchval(
                    "SELECT position FROM ledger.event_identity WHERE fleet = $1 AND identity = $2",
                    fleet,
                    identity,
                )
            )
        if known is None or known >= position:
            wanted.append(row)
    return wanted


def _time(envelope: dict[str, Any]) -> int | None:
    told = envelope.get("time")
    if told is None:
        return None
    try:
        return moments.usual(told)
    except InvalidEvent:
        return moments.microseconds(told)


def _column(event: StoredEvent, name: str, recorded: object, recomputed: object) -> Divergence:
    return Divergence(
        "column_differs",
        event.position,
        subject=event.subject,
        path=f"events.{name}",
        recorded=str(recorded),
        recomputed=str(recomputed),
    )
