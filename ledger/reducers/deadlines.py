"""Moments of fleet time at which something runs out: which comes first, and how they are kept.

A deadline is fixed when it is set; only what set it may take it back. They are kept in the order
in which they fire: by moment, then kind, then subject. A round has one; clusters and nodes have one
while they are in their grace, broken replicas while they are waited for, pod templates while
reservations are open. Every event looks at the first of them.

There may be a hundred thousand, when the nodes of a whole fleet are not ready or as many templates wait for
their pods. So they are kept in runs, and setting one copies its run and the list of runs. A run ends with a
deadline whose digest says so, one in some two hundred: the same deadlines make the same runs, in whatever
order they were set and taken back.
"""

from bisect import bisect_left
from hashlib import sha256
from itertools import chain
from operator import itemgetter
from typing import Final

from ledger.facts.reason import Deadline
from ledger.units import Microseconds, Milliseconds

Deadlines = tuple[tuple[Deadline, ...], ...]
"""In runs, none of which is empty; all but the last end as their digests say."""

NO_DEADLINES: Final[Deadlines] = ()

MICROSECONDS_PER_MILLISECOND: Final = 1000

_LAST: Final = itemgetter(-1)


def after(now: Microseconds, milliseconds: Milliseconds) -> Microseconds:
    """The moment so long after now."""
    return Microseconds(now + milliseconds * MICROSECONDS_PER_MILLISECOND)


def put(deadlines: Deadlines, deadline: Deadline) -> Deadlines:
    """With one more, which was not there."""
    place = bisect_left(deadlines, deadline, key=_LAST)
    if deadlines and place == len(deadlines) and not _ends_a_run(deadlines[-1][-1]):
        place -= 1
    here = deadlines[place] if place < len(deadlines) else ()
    middle = bisect_left(here, deadline)
    upto, beyond = (*here[:middle], deadline), here[middle:]
    runs = (upto, beyond) if beyond and _ends_a_run(deadline) else ((*upto, *beyond),)
    return deadlines[:place] + runs + deadlines[place + 1 :]


def take_back(deadlines: Deadlines, deadline: Deadline) -> Deadlines:
    """Without one that is there."""
    assert is_set(deadlines, deadline), f"{deadline} was never set"
    place = bisect_left(deadlines, deadline, key=_LAST)
    here, others = deadlines[place], deadlines[place + 1 :]
    middle = bisect_left(here, deadline)
    left = here[:middle] + here[middle + 1 :]
    if middle == len(left) and others:
        left, others = left + others[0], others[1:]
    return deadlines[:place] + ((left,) if left else ()) + others


def is_set(deadlines: Deadlines, deadline: Deadline) -> bool:
    """Whether one is there."""
    place = bisect_left(deadlines, deadline, key=_LAST)
    if place == len(deadlines):
        return False
    middle = bisect_left(deadlines[place], deadline)
    return deadlines[place][middle] == deadline


def first(deadlines: Deadlines) -> Deadline | None:
    """The one that fires first, if there is any."""
    return deadlines[0][0] if deadlines else None


def due(deadlines: Deadlines, now: Microseconds) -> Deadline | None:
    """The first one that has passed, if any has: a moment has passed once it is reached."""
    return deadlines[0][0] if deadlines and deadlines[0][0].at <= now else None


def in_order(deadlines: Deadlines) -> tuple[Deadline, ...]:
    """All of them, in the order in which they fire."""
    return tuple(chain.from_iterable(deadlines))


def _ends_a_run(deadline: Deadline) -> bool:
    told = f"{deadline.at} {deadline.kind} {deadline.subject}"
    return sha256(told.encode()).digest()[0] == 0
