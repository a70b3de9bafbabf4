"""What is still to happen in an invented fleet because something happened: it comes back, it ends."""

import heapq
from collections.abc import Callable
from random import Random

from ledger.cli.simulator.spelling import Happening

Happens = Callable[[], Happening]
"""Something that can happen, and has by the time it is told."""


class Later:
    """A queue by events, not by time: after so many others something follows."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._count = 0
        self._waiting: list[tuple[int, int, Happens]] = []

    def after(self, events: int, happens: Happens) -> None:
        """Let something happen after so many events on average."""
        due = self._count + 1 + int(self._chance.random() * 2 * events)
        # The lot in the middle keeps two that are due together apart.
        heapq.heappush(self._waiting, (due, self._chance.getrandbits(64), happens))

    def next(self) -> Happens | None:
        """What is due now, one a time; every call counts as an event."""
        self._count += 1
        if self._waiting and self._waiting[0][0] <= self._count:
            return heapq.heappop(self._waiting)[2]
        return None
