"""Which nodes AUTO can choose at all when so many instances are to be placed.

AUTO gives each instance to the node that holds fewest of the workload, among those to the one that
could hold most altogether, then by name. Before a node gets its first one, every node before it in
that order that has room has got one. So of the nodes with room only the first so many as there are
instances can get any, and asking about those alone gives the same answer as asking about all.

Most nodes hold none of the workload, and what they could hold was counted before anybody asked: those
come in their order. The others wait in a queue, and so does every node from the moment at which it
changes: the next question of the same turn, and there may be one for each instance of a lost node,
costs what has changed since.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from ledger.units import NodeName

Capacity = Callable[[NodeName], int]
"""How many a node could hold now."""


class _Entry(NamedTuple):
    """A node as it was when it was queued."""

    held: int
    reach: int
    """How many it could hold altogether, below zero so that the farthest comes first."""
    name: NodeName


class Shortlist:
    """Some nodes in the order in which AUTO looks at them."""

    __slots__ = ("_apart", "_first", "_following", "_limit", "_order", "_queue", "changed")

    def __init__(
        self,
        order: Iterable[NodeName],
        apart: Iterable[NodeName],
        counts: Mapping[NodeName, int],
        capacity: Capacity,
        *,
        limit: int,
    ) -> None:
        """``order`` is of those with room: who has most comes first, then who is named first.

        Whoever holds some already, or has another capacity by now than in that order, is ``apart``,
        whether it is in the order or not. ``limit`` is how many a node may hold; 0 is no limit.
        The order is followed as far as somebody has to be found.
        """
        self._following = iter(order)
        self._order: list[NodeName] = []
        self._first = 0
        self._apart = set(apart)
        self._limit = limit
        self.changed: set[NodeName] = set()
        self._queue = [
            entry
            for name in sorted(self._apart)
            if (entry := self._entry(name, counts, capacity)) is not None
        ]
        heapify(self._queue)

    def first(
        self, wanted: int, counts: Mapping[NodeName, int], capacity: Capacity
    ) -> list[NodeName]:
        """The first so many that have room, or all of them if they are fewer.

        How much a node could hold is asked anew and not kept: whoever knows it mostly keeps this, and
        two that hold each other are only found by a search for garbage.
        """
        for name in sorted(self.changed):
            entry = self._entry(name, counts, capacity)
            if entry is not None:
                heappush(self._queue, entry)
        self._apart |= self.changed
        self.changed.clear()
        found: list[NodeName] = []
        queued: list[_Entry] = []
        names: set[NodeName] = set()
        untouched = self._untouched(capacity)
        following = next(untouched, None)
        while len(found) < wanted and (following is not None or self._queue):
            if following is not None and (not self._queue or following < self._queue[0]):
                found.append(following.name)
                following = next(untouched, None)
                continue
            entry = heappop(self._queue)
            if entry.name not in names and entry == self._entry(entry.name, counts, capacity):
                found.append(entry.name)
                queued.append(entry)
                names.add(entry.name)
        for entry in queued:
            heappush(self._queue, entry)
        return found

    def _untouched(self, capacity: Capacity) -> Iterator[_Entry]:
        """Those that hold none and have not changed, in their order."""
        order, apart = self._order, self._apart
        while self._first < len(order) and order[self._first] in apart:
            self._first += 1
        for place in range(self._first, len(order)):
            name = order[place]
            if name not in apart:
                yield _Entry(0, -capacity(name), name)
        for name in self._following:
            order.append(name)
            if name not in apart:
                yield _Entry(0, -capacity(name), name)

    def _entry(
        self, name: NodeName, counts: Mapping[NodeName, int], capacity: Capacity
    ) -> _Entry | None:
        """A node as it is; None if it has no room."""
        count, room = counts.get(name, 0), capacity(name)
        if room <= 0 or 0 < self._limit <= count:
            return None
        return _Entry(count, -(count + room), name)
