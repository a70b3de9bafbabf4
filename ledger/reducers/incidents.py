"""What contradicts the book as things are: since when it is known, and what is still to be recorded.

A contradiction is recorded once, when it begins, and not again while it lasts. It ends with what
made it, and one that comes back is another, unless both happen in one event: what is given back
there in one step and taken in the next was never free. Four of the kinds last: that a node declares less
than is held on it, whichever amounts those are; that more pods of a workload are seen on a node
than the ledger placed there; that a quota says a weight that is none, whichever; and that queues are
guaranteed more than there is, of whichever resources. The others are over as soon as they are recorded: an upsert that would have
changed the pieces of a node while some of them were given out, and pods that came after they were given up.

Nothing is recorded here. ``ledger.decisions.decide`` records what is still untold once everything
else that an event asks has been decided: what the decisions of the same event put right is no
contradiction. Under ``hold`` it waits with everything else, for a fleet that is still reading what
there is finds contradictions wherever it has read only half; what has ended by the time the hold is
lifted is never recorded, and of upserts that were kept from changing a node's pieces meanwhile, only
the last one is.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from immutables import Map

from ledger.facts.incident import LASTING, Incident, What
from ledger.reducers.replacing import replace
from ledger.units import DecisionNumber, Subject

Numbers = tuple[tuple[str, int | str], ...]
"""By how much, sorted by name; text is what was told and is no number."""


class Contradiction(NamedTuple):
    """What contradicts the book, in the order in which it is recorded."""

    subject: Subject
    """Whom the decision is about: the node, a workload in a cluster, a quota, or the fleet."""
    what: What
    node: Subject


class Righted(NamedTuple):
    """What was recorded, and contradicts the book no more."""

    subject: Subject
    what: What
    node: Subject
    before: DecisionNumber
    """The next decision when it ended: of all that recorded the like, the last one before this number is meant."""


@dataclass(frozen=True)
class Incidents:
    """All contradictions there are."""

    untold: Map[Contradiction, Numbers]
    """Not recorded yet, with the numbers as they are by now."""
    told: Map[Contradiction, None]
    """Recorded, and still so."""
    ended: Map[Contradiction, None]
    """Recorded, and so no more since the event just folded."""


NO_INCIDENTS: Final = Incidents(Map(), Map(), Map())


def begun(incidents: Incidents) -> Incidents:
    """At the beginning of an event or deadline: what ended before is forgotten."""
    return replace(incidents, ended=Map()) if incidents.ended else incidents


def found(incidents: Incidents, one: Contradiction, numbers: Numbers) -> Incidents:
    """Something contradicts the book by so much."""
    if one in incidents.ended:
        return replace(
            incidents, told=incidents.told.set(one, None), ended=incidents.ended.delete(one)
        )
    if one in incidents.told or incidents.untold.get(one) == numbers:
        return incidents
    return replace(incidents, untold=incidents.untold.set(one, numbers))


def over(incidents: Incidents, one: Contradiction) -> Incidents:
    """Something does not contradict the book, or does so no more."""
    if one in incidents.told:
        return replace(
            incidents, told=incidents.told.delete(one), ended=incidents.ended.set(one, None)
        )
    if one in incidents.untold:
        return replace(incidents, untold=incidents.untold.delete(one))
    return incidents


def righted(incidents: Incidents, next_: DecisionNumber) -> tuple[Righted, ...]:
    """What ended with the event or deadline just folded, once everything it asks is decided."""
    if not incidents.ended:
        return ()
    return tuple(Righted(*one, next_) for one in sorted(incidents.ended))


def recorded(incidents: Incidents, subject: Subject, incident: Incident) -> Incidents:
    """A contradiction was recorded."""
    one = Contradiction(subject, incident.what, incident.node)
    told = incidents.told.set(one, None) if incident.what in LASTING else incidents.told
    return replace(incidents, untold=incidents.untold.delete(one), told=told)
