"""GLOBAL by after_usage: always to the node whose usage is lowest after one instance more.

This is what eru ships. One by one, each instance would go to the node with the lowest usage plus
rate, then by name; the node is then used by one rate more, beyond the whole if need be.

Nothing is placed one by one here. What a node would be used after one, two, three instances is a
ladder of usages that does not depend on the other nodes, so the instances take the lowest rungs of
all ladders together. How many rungs lie up to a height is a division for each ladder. A height is
searched for up to which there are few enough and above which, on each ladder, at most one rung is
in doubt; those in doubt are then sorted, by their exact height and by name. A node that is not used
any further by one instance more has a single rung, with its whole capacity on it.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import compress
from math import gcd
from operator import lt, mul, sub
from typing import Final, NamedTuple

from ledger.core.placement.answer import Placement
from ledger.core.placement.question import Node
from ledger.core.placement.whole_numbers import common_unit

SHORT: Final = 512
"""Bits that a unit may have which goes into all usages and rates: without it, heights are fractions."""


def least_used_after(nodes: Sequence[Node], need: int) -> Placement:
    """Place ``need`` instances on ``nodes``, in the order of their names, with capacity for them."""
    takes = [min(node.capacity, need) for node in nodes]
    if sum(takes) > need:
        takes = _lowest_rungs(nodes, takes, need)
    assert sum(takes) == need, "no instance is lost or made up"
    return Placement({node.name: take for node, take in zip(nodes, takes, strict=True) if take})


class _Ladder(NamedTuple):
    """What the node at ``place`` would be used: rung k is (start + k * step) / parts units high.

    There are ``rungs`` of them, from k = 1, and each holds ``size`` instances.
    """

    place: int
    start: int
    step: int
    parts: int
    rungs: int
    size: int

    def height(self, rung: int) -> int | Fraction:
        height = self.start + rung * self.step
        return height if self.parts == 1 else Fraction(height, self.parts)


def _lowest_rungs(nodes: Sequence[Node], most: Sequence[int], need: int) -> list[int]:
    """What each node takes if all take ``need``, none more than ``most``, and those add up to more."""
    takes = [0] * len(nodes)
    ladders = _ladders(nodes, most)
    sizes = [ladder.size for ladder in ladders]
    # Up to the low height there are few enough instances, up to the high one too many. All that
    # follows is about the ladders in doubt: those on which these heights are not on the same rung.
    low, low_rungs, low_instances = -1, [0] * len(ladders), 0
    high = -(-max(ladder.height(ladder.rungs) for ladder in ladders) // 1)
    high_rungs, high_instances = [ladder.rungs for ladder in ladders], sum(most)
    left = need
    halve = False
    while low_instances < left and max(map(sub, high_rungs, low_rungs)) > 1:
        assert high - low > 1, "from one whole height to the next no ladder has two rungs"
        height = (low + high) // 2
        if not halve:
            # Where it would be if the rungs were spread evenly. They may not be, hence every other
            # time the heights are halved.
            height = low + (high - low) * (left - low_instances) // (high_instances - low_instances)
            height = min(max(height, low + 1), high - 1)
        halve = not halve
        rungs = _rungs_up_to(height, ladders)
        instances = sum(map(mul, sizes, rungs))
        if instances <= left:
            low, low_rungs, low_instances = height, rungs, instances
        else:
            high, high_rungs, high_instances = height, rungs, instances

        in_doubt = list(map(lt, low_rungs, high_rungs))
        if not all(in_doubt):
            settled = 0
            for ladder, rung, doubt in zip(ladders, low_rungs, in_doubt, strict=True):
                if not doubt:
                    takes[ladder.place] = ladder.size * rung
                    settled += ladder.size * rung
            left -= settled
            low_instances -= settled
            high_instances -= settled
            ladders = list(compress(ladders, in_doubt))
            sizes = list(compress(sizes, in_doubt))
            low_rungs = list(compress(low_rungs, in_doubt))
            high_rungs = list(compress(high_rungs, in_doubt))

    next_rungs = []
    for ladder, rung in zip(ladders, low_rungs, strict=True):
        takes[ladder.place] = ladder.size * rung
        left -= ladder.size * rung
        next_rungs.append((ladder.height(rung + 1), ladder.place, ladder.size))
    for _, place, size in sorted(next_rungs):
        takes[place] += min(size, left)
        left -= min(size, left)
    return takes


def _rungs_up_to(height: int, ladders: Sequence[_Ladder]) -> list[int]:
    """How many rungs of each ladder are at most as high as ``height``."""
    return [
        below if 0 < below < rungs else rungs if below > 0 else 0
        for _, start, step, parts, rungs, _ in ladders
        for below in ((height * parts - start) // step,)
    ]


def _ladders(nodes: Sequence[Node], most: Sequence[int]) -> list[_Ladder]:
    """The ladders of the nodes that could take any.

    The unit is no larger than any rate, so that from one whole height to the next no ladder has
    more than one rung. Where it goes into all usages and rates the rungs are at whole heights.
    """
    unit = common_unit(nodes, most_bits=SHORT)
    if unit is None:
        unit = 1 << max(node.rate.denominator.bit_length() for node in nodes)
    ladders = []
    for place, (node, instances) in enumerate(zip(nodes, most, strict=True)):
        if not instances:
            continue
        usage, rate = node.usage, node.rate
        parts = usage.denominator * rate.denominator
        start = usage.numerator * rate.denominator * unit
        step = rate.numerator * usage.denominator * unit
        rungs, size = instances, 1
        if not step:
            # One rung at the height of the usage, any distance above where the ladder starts.
            start, step, rungs, size = start - parts, parts, 1, instances
        common = gcd(parts, start, step)
        ladders.append(
            _Ladder(place, start // common, step // common, parts // common, rungs, size)
        )
    return ladders
