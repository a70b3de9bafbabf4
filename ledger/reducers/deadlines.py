"""Moments of fleet time at which something runs out: which comes first, and how they are kept.

A deadline is fixed when it is set; only what set it may take it back. They are kept in the order
in which they fire: by moment, then kind, then subject. A round has one; clusters and nodes have one
while they are in their grace, broken replicas while they are waited for. Every event looks at the
first of them and few set one, so they are a sorted tuple: looking costs nothing, setting a copy.
"""

from bisect import bisect_left, insort
from typing import Final

from ledger.facts.reason import Deadline
from ledger.units import Microseconds, Milliseconds

Deadlines = tuple[Deadline, ...]

MICROSECONDS_PER_MILLISECOND: Final = 1000


def after(now: Microseconds, milliseconds: Milliseconds) -> Microseconds:
    """The moment so long after now."""
    return Microseconds(now + milliseconds * MICROSECONDS_PER_MILLISECOND)


def put(deadlines: Deadlines, deadline: Deadline) -> Deadlines:
    """With one more, which was not there."""
    queue = list(deadlines)
    insort(queue, deadline)
    return tuple(queue)


def take_back(deadlines: Deadlines, deadline: Deadline) -> Deadlines:
    """Without one that is there."""
    place = bisect_left(deadlines, deadline)
    assert deadlines[place : place + 1] == (deadline,), f"{deadline} was never set"
    return deadlines[:place] + deadlines[place + 1 :]


def due(deadlines: Deadlines, now: Microseconds) -> Deadline | None:
    """The first one that has passed, if any has: a moment has passed once it is reached."""
    return deadlines[0] if deadlines and deadlines[0].at <= now else None
