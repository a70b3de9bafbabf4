"""Which incidents last, and when those ended that do no more.

One row for each contradiction of the book that lasts: whom it is about, what it is, where. It comes with the
decision that recorded it and goes with the event that ended it, by itself or by what was decided on it. When
that was is written down once. What is over as soon as it is recorded has no row here.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from ledger.facts.decision import Decision
from ledger.facts.incident import LASTING, Incident
from ledger.views.past import OPEN_INCIDENTS, Span, Standing, Turned, Turning
from ledger.views.released import Righted
from ledger.views.table import Row, Table

ENDED_INCIDENTS: Final = Table("ended_incidents", ("fleet", "number", "position"), key=2)


class Happening(NamedTuple):
    """That an incident began, or one ended."""

    number: int
    """The decision that recorded it; of one that ended, the next decision by then."""
    began: bool
    row: Row
    """Subject, what and node."""
    position: int


def happenings(decisions: Sequence[Decision], righted: Sequence[Righted]) -> list[Happening]:
    """What of incidents began and ended with these, in order: what ended before a decision comes before it."""
    began = [
        Happening(made.number, True, (made.subject, incident.what, incident.node), made.position)
        for made in decisions
        if isinstance(incident := made.outcome, Incident) and incident.what in LASTING
    ]
    ended = [
        Happening(one.before, False, (one.subject, one.what, one.node), one.position)
        for one in righted
    ]
    return sorted(began + ended)


def open_incidents(
    fleet: int, decisions: Sequence[Decision], righted: Sequence[Righted]
) -> Turning:
    """Open what these decisions recorded, and close what has ended."""
    told = happenings(decisions, righted)

    def turn(found: dict[Row, Standing]) -> Turned:
        over, past = settle(fleet, found, told)
        return Turned(found, past, [ENDED_INCIDENTS.gets(over)])

    return Turning(OPEN_INCIDENTS, len(OPEN_INCIDENTS.key), sorted({one.row for one in told}), turn)


def settle(
    fleet: int, standing: dict[Row, Standing], told: Sequence[Happening]
) -> tuple[list[Row], list[Span]]:
    """Bring those up to date that stand; a row each that is over, and where it held."""
    over: list[Row] = []
    past: list[Span] = []
    for number, began, row, position in told:
        if began:
            standing[row] = ((number,), position)
        elif row in standing:
            says, begin = standing.pop(row)
            over.append((fleet, *says, position))
            if begin < position:
                past.append(Span((*row, *says), begin, position))
    return over, past
