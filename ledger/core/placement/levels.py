"""Who stands at which usage, and who is next by nearest_level.

A node with usage u and rate r comes strictly closer to the level l above it if 2u + r < 2l. So
whether it does depends on two neighbouring levels only, and an instance changes at most a few of
those: the nodes are kept by level, and in a heap the levels at which some node could come closer.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush, heapreplace
from typing import Final, Literal

from ledger.core.placement.question import Node
from ledger.core.placement.whole_numbers import common_unit, in_units

Rule = Literal["closer", "lowest_after", "same_rounds"]
"""Why a node is chosen: it comes closer to the next level; nobody does, and it is the least used
afterwards; or what happened since the last look back happens again."""

Amount = int | Fraction
"""A usage or a rate. Whole numbers of a common unit where there is one: they compare faster."""

SHORTER_THAN_FRACTIONS: Final = 8192
"""Bits that a unit may have which goes into all usages and rates.

Whole numbers of a kilobyte are still compared ten times as fast as fractions.
"""


class Level:
    """Those that are used equally much: how many, and by rate the places of those with capacity."""

    __slots__ = ("nodes", "rates", "waiting")

    def __init__(self) -> None:
        self.nodes = 0
        self.rates: list[Amount] = []
        self.waiting: dict[Amount, list[int]] = {}

    def add(self, place: int, rate: Amount) -> None:
        """Let the one at ``place``, who has capacity, stand here."""
        if rate in self.waiting:
            heappush(self.waiting[rate], place)
        else:
            self.waiting[rate] = [place]
            insort(self.rates, rate)

    def drop_first(self, rate: Amount) -> None:
        """Take out the first place of those with this rate: nobody else of them is ever chosen."""
        places = self.waiting[rate]
        heappop(places)
        if not places:
            del self.waiting[rate]
            del self.rates[bisect_left(self.rates, rate)]

    def first_below(self, limit: Amount) -> int:
        """The first place of all with a rate below ``limit``; there is one."""
        below = bisect_left(self.rates, limit)
        return min(self.waiting[rate][0] for rate in self.rates[:below])


class Field:
    """Who stands where, and who is next."""

    __slots__ = (
        "at",
        "left",
        "levels",
        "lowest_after",
        "rates",
        "ready",
        "unit",
        "usages",
        "whole",
        "woken",
    )

    def __init__(self, nodes: Sequence[Node]) -> None:
        unit = common_unit(nodes, most_bits=SHORTER_THAN_FRACTIONS)
        self.usages: list[Amount] = [node.usage for node in nodes]
        self.rates: list[Amount] = [node.rate for node in nodes]
        self.left = [node.capacity for node in nodes]
        self.unit = unit or 1
        self.whole = unit is not None
        if unit is not None:
            self.usages[:] = in_units([node.usage for node in nodes], unit)
            self.rates[:] = in_units([node.rate for node in nodes], unit)
        self.line_up()

    def line_up(self) -> None:
        """Sort everybody anew by where they stand."""
        self.at: dict[Amount, Level] = {}
        for place, (usage, rate, left) in enumerate(
            zip(self.usages, self.rates, self.left, strict=True)
        ):
            level = self.at.setdefault(usage, Level())
            level.nodes += 1
            if left:
                level.add(place, rate)
        self.levels = sorted(self.at)
        # Levels at which somebody may come closer, lowest first, each once. Whether anybody does is
        # only looked at when its turn comes.
        self.ready = list(self.levels)
        self.woken = set(self.levels)
        # Usage after one more, one entry a node with capacity; too low where the node was chosen
        # by the other rule meanwhile.
        self.lowest_after = [
            (self.usages[place] + self.rates[place], place)
            for place, left in enumerate(self.left)
            if left
        ]
        heapify(self.lowest_after)

    def choose(self) -> tuple[int, Rule, Amount | None]:
        """Who is next, by which rule, and which level it heads for; somebody has capacity."""
        while self.ready:
            usage = self.ready[0]
            level = self.at.get(usage)
            if level is not None and level.rates:
                above = bisect_right(self.levels, usage)
                if above < len(self.levels):
                    next_level = self.levels[above]
                    limit = 2 * (next_level - usage)
                    if level.rates[0] < limit:
                        return level.first_below(limit), "closer", next_level
            heappop(self.ready)
            self.woken.discard(usage)
        while True:
            after, place = self.lowest_after[0]
            if not self.left[place]:
                heappop(self.lowest_after)
            elif after < self.usages[place] + self.rates[place]:
                heapreplace(self.lowest_after, (self.usages[place] + self.rates[place], place))
            else:
                return place, "lowest_after", None

    def place(self, place: int, instances: int) -> None:
        """Give the chosen one so many instances."""
        usage, rate = self.usages[place], self.rates[place]
        self.left[place] -= instances
        if not rate:
            if not self.left[place]:
                self.at[usage].drop_first(rate)
            return
        self._leave(usage, rate)
        self.usages[place] = usage + rate * instances
        self._join(place)

    def _leave(self, usage: Amount, rate: Amount) -> None:
        level = self.at[usage]
        level.drop_first(rate)
        level.nodes -= 1
        if not level.nodes:
            del self.at[usage]
            rank = bisect_left(self.levels, usage)
            del self.levels[rank]
            if rank:
                # What is next above the level below has moved away from it.
                self._wake(self.levels[rank - 1])

    def _join(self, place: int) -> None:
        usage = self.usages[place]
        level = self.at.get(usage)
        if level is None:
            level = self.at[usage] = Level()
            if self.levels and usage > self.levels[-1]:
                # What was highest now has a level above it.
                self._wake(self.levels[-1])
            insort(self.levels, usage)
        level.nodes += 1
        if self.left[place]:
            level.add(place, self.rates[place])
            self._wake(usage)

    def _wake(self, usage: Amount) -> None:
        if usage not in self.woken:
            self.woken.add(usage)
            heappush(self.ready, usage)
