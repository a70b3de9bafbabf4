"""Which nodes AUTO can choose at all when so many instances are to be placed.

AUTO gives each instance to the node that holds fewest of the workload, among those to the one that
could hold most altogether, then by name. Before a node gets its first one, every node before it in
that order that has room has got one. So of the nodes with room only the first so many as there are
instances can get any, and asking about those alone gives the same answer as asking about all.

The order is kept in a queue, so that the next question of the same turn, and there may be one for
each instance of a lost node, costs what has changed since.
"""

from collections.abc import Callable, Iterable, Mapping
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from ledger.units import NodeName


class _Entry(NamedTuple):
    """A node as it was when it was queued."""

    held: int
    reach: int
    """How many it could hold altogether, below zero so that the farthest comes first."""
    name: NodeName


class Shortlist:
    """Some nodes in the order in which AUTO looks at them."""

    __slots__ = ("_capacity", "_limit", "_queue", "changed")

    def __init__(
        self,
        names: Iterable[NodeName],
        counts: Mapping[NodeName, int],
        capacity: Callable[[NodeName], int],
        *,
        limit: int,
    ) -> None:
        """``limit`` is how many a node may hold; 0 is no limit."""
        self._capacity = capacity
        self._limit = limit
        self.changed: set[NodeName] = set()
        self._queue = [entry for name in names if (entry := self._entry(name, counts)) is not None]
        heapify(self._queue)

    def first(self, wanted: int, counts: Mapping[NodeName, int]) -> list[NodeName]:
        """The first so many that have room, or all of them if they are fewer."""
        for name in sorted(self.changed):
            entry = self._entry(name, counts)
            if entry is not None:
                heappush(self._queue, entry)
        self.changed.clear()
        found: list[_Entry] = []
        names: set[NodeName] = set()
        while self._queue and len(found) < wanted:
            entry = heappop(self._queue)
            if entry.name not in names and entry == self._entry(entry.name, counts):
                found.append(entry)
                names.add(entry.name)
        for entry in found:
            heappush(self._queue, entry)
        return [entry.name for entry in found]

    def _entry(self, name: NodeName, counts: Mapping[NodeName, int]) -> _Entry | None:
        """A node as it is; None if it has no room."""
        count, capacity = counts.get(name, 0), self._capacity(name)
        if capacity <= 0 or 0 < self._limit <= count:
            return None
        return _Entry(count, -(count + capacity), name)
