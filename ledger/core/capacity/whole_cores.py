"""Whole cores: how many instances a list of cores serves with several whole cores each.

An instance takes one share of each of its cores, and two shares of one core are no two cores. So
each instance takes the cores with most shares left (of equals the one whose name comes last), and
this goes on until fewer cores are left than an instance needs. No other way serves more. Then the
instances are put in order: those first whose cores stand at the front of the list, where the busy
ones are, so that a few instances leave the idle cores whole.

How many there will be needs none of this. If t instances are served, a core can give at most t of
its shares, hence t is the largest number for which the cores together give t times what one
instance takes. The few cores with more than t shares are found from the top.

Moving an instance that is bound already is different (``in_turn``): the front of the list is served
first, whatever stands behind it, and a core keeps its place until it has nothing left. Each place
of the instance is then a queue of cores, a core goes to the place that is empty first, and the
count is the moment at which a place stays empty. A core fewer at the front makes no place empty
later; so the count never rises with it, here as in the other order.

Which cores are whole and which are fragments is decided in ``ledger.core.capacity.cpu``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import gcd
from typing import Self

from ledger.core.capacity.amounts import Core
from ledger.core.capacity.runs import Run, count

Cores = tuple[Core, ...]


@dataclass(frozen=True, slots=True)
class WholeCores:
    """Cores in the order in which they shall be used up, and how many shares each has.

    Unless ``in_turn``, this is the order by (shares, name).
    """

    names: tuple[Core, ...]
    shares: tuple[int, ...]
    sums: tuple[int, ...]
    in_turn: bool

    @classmethod
    def of(cls, cores: Sequence[tuple[int, Core]], share_base: int, *, in_turn: bool) -> Self:
        """The cores, given with their free pieces, which are whole shares."""
        shares = tuple(pieces // share_base for pieces, _ in cores)
        names = tuple(core for _, core in cores)
        return cls(names, shares, tuple(accumulate(shares, initial=0)), in_turn)

    def count(self, each: int, *, skipped: int = 0) -> int:
        """How many instances of ``each`` cores the cores after the ``skipped`` first ones serve."""
        if self.in_turn:
            return count(self._turns(each, skipped))
        left = len(self.shares) - skipped
        if left < each:
            return 0
        # A core with more shares than there will be instances is in each of them: it counts as one
        # place that is filled, and the others fill the places that remain.
        amount = self.sums[-1] - self.sums[skipped]
        served = amount // each
        for in_all in range(1, each):
            most = self.shares[-in_all]
            if most <= served:
                break
            amount -= most
            served = amount // (each - in_all)
        return served

    def plans(self, each: int, *, skipped: int = 0) -> Iterator[Run[Cores]]:
        """The instances in order, each by the names of its cores."""
        if self.in_turn:
            yield from self._turns(each, skipped)
            return
        # By the sum of the places of their cores, and else in the order in which they were served.
        by_places: dict[int, list[Run[Cores]]] = {}
        for run in _most_first(self.shares[skipped:], self.names[skipped:], each):
            alike: dict[int, list[Cores]] = {}
            for places in run.plans:
                names = tuple(self.names[skipped + place] for place in places)
                alike.setdefault(sum(places), []).append(names)
            for total, plans in alike.items():
                by_places.setdefault(total, []).append(Run(tuple(plans), run.times))
        for total in sorted(by_places):
            yield from by_places[total]

    def _turns(self, each: int, skipped: int) -> Iterator[Run[Cores]]:
        waiting = zip(self.names[skipped:], self.shares[skipped:], strict=True)
        front: list[tuple[Core, int]] = []
        while True:
            front.extend(core for _, core in zip(range(each - len(front)), waiting, strict=False))
            if len(front) < each:
                return
            times = min(shares for _, shares in front)
            yield Run((tuple(core for core, _ in front),), times)
            front = [(core, shares - times) for core, shares in front if shares > times]


def _most_first(
    shares: Sequence[int], names: Sequence[Core], each: int
) -> Iterator[Run[tuple[int, ...]]]:
    """The instances as they are served, each by the places of its cores in the list.

    A core's key is its shares times the number of cores, plus the rank of its name: the greatest
    keys are served, and being served lowers a key by the number of cores, the *width*. No two keys
    are ever equal. Keys less than a width apart take turns: whoever is served falls behind all the
    others, and none of them changes its place in that circle. Keys further above are served each
    time, keys further below never. As long as that stays so, the circle comes round with the same
    instances again and again, however many shares the cores have; then one run says it all. Where
    two of the three meet, a few instances are served one by one, until there is a new circle.
    """
    width = len(shares)
    place_of = sorted(range(width), key=names.__getitem__)
    keys = [shares[place] * width + rank for rank, place in enumerate(place_of)]
    if width < each:
        return
    keys.sort(reverse=True)
    while keys[each - 1] >= width:
        run, falls = _next_run(keys, each)
        yield Run(
            tuple(tuple(place_of[key % width] for key in one) for one in run.plans), run.times
        )
        keys = sorted(
            (key - fall * width for key, fall in zip(keys, falls, strict=True)), reverse=True
        )


def _next_run(keys: Sequence[int], each: int) -> tuple[Run[tuple[int, ...]], list[int]]:
    """The next instances by their keys, and how many shares each of the keys gives to them."""
    width = len(keys)
    last = keys[each - 1]
    following = keys[each] if each < width else 0
    if last - following >= width:
        times = (last - following) // width
        return Run((tuple(keys[:each]),), times), [times] * each + [0] * (width - each)

    top = next(place for place in range(each) if keys[place] - following < width)
    end = next((place for place in range(each, width) if keys[top] - keys[place] >= width), width)
    circle, turn = keys[top:end], each - top
    # The circle comes round after ``steps`` instances, in which each of it is served ``rounds`` times.
    steps, rounds = len(circle) // gcd(len(circle), turn), turn // gcd(len(circle), turn)
    floor = keys[end] if end < width else 0
    times = (circle[-1] - floor) // (rounds * width)
    if top:
        # Those above lose a share with every instance and must not fall into the circle.
        times = min(times, (keys[top - 1] - keys[top]) // ((steps - rounds) * width))
    if times == 0:
        return Run((tuple(keys[:each]),), 1), [1] * each + [0] * (width - each)
    above = tuple(keys[:top])
    plans = tuple(
        above + tuple(circle[(step * turn + seat) % len(circle)] for seat in range(turn))
        for step in range(steps)
    )
    falls = [times * steps] * top + [times * rounds] * len(circle) + [0] * (width - end)
    return Run(plans, times), falls
