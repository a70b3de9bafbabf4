"""From a row of the log to the event that the pure rooms know."""

from ledger.events.codec import decode
from ledger.events.sharing import shared
from ledger.facts.event import Event
from ledger.log.read import StoredEvent
from ledger.units import EventType, Microseconds, Position, Subject


def event(stored: StoredEvent) -> Event:
    """The event of a row, by the contract revision that accepted it."""
    return Event(
        position=Position(stored.position),
        recorded_at=Microseconds(stored.recorded_at_micros),
        source=shared(stored.source),
        id=stored.id,
        type=EventType(stored.type),
        subject=Subject(stored.subject),
        fact=decode(stored.payload, revision=stored.revision),
    )
