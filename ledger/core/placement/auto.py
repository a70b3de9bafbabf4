"""AUTO, which eru also calls Communism: even out how many instances each node holds.

One by one, each instance would go to the node that holds fewest; among those that hold equally
many, to the one with most capacity left, then by name. The limit is how many a node may hold.

Nothing is placed one by one here. At any moment the nodes that take part hold at least some
*level*, as far as their room allows, and the next round gives one to each of those that stand at
it. To have reached a level takes a number of instances that is easily counted, so the highest level
that the request can pay for is found by halving; what is left is less than one round and goes to
the first nodes of it. Within a round all nodes hold equally many, hence the one with most capacity
left is the one that could hold most altogether, and this does not change while it is raised.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from ledger.core.placement.answer import Placement, Shortage
from ledger.core.placement.question import Node


def even_out(nodes: Sequence[Node], need: int, limit: int) -> Placement | Shortage:
    """Place ``need`` instances on ``nodes``, which are in the order of their names."""
    counts = [node.count for node in nodes]
    reach = ends = [node.count + node.capacity for node in nodes]
    if limit:
        ends = [max(count, min(end, limit)) for count, end in zip(counts, reach, strict=True)]
    room = sum(ends) - sum(counts)
    if room < need:
        return Shortage("insufficient_resource", "instances_within_limit", need, room)

    level, left = _highest_level(counts, ends, need)
    round_of = [
        place
        for place, (count, end) in enumerate(zip(counts, ends, strict=True))
        if count <= level < end
    ]
    # By reach, the farthest first, then by name: places are in the order of the names, and one
    # number for both is compared faster than two.
    round_of.sort(key=lambda place: place - reach[place] * len(nodes))
    finals = [max(count, min(level, end)) for count, end in zip(counts, ends, strict=True)]
    for place in round_of[:left]:
        finals[place] += 1
    deploy = {
        node.name: final - node.count
        for node, final in zip(nodes, finals, strict=True)
        if final > node.count
    }
    assert sum(deploy.values()) == need, "no instance is lost or made up"
    if not left:
        # Nobody stands at a level above the highest that was reached, even if it costs nothing.
        level = max(final for count, final in zip(counts, finals, strict=True) if final > count)
    return Placement(deploy, level=level, last_round=left)


def _highest_level(counts: Sequence[int], ends: Sequence[int], need: int) -> tuple[int, int]:
    """The highest level that ``need`` pays for, and how much is left of it then.

    Raising a node to a level costs the level less its count, but no more than its room: what it
    costs to raise the counts, less what it would cost to raise the ends. Where nobody has room from
    one level to the next both cost the same, and the higher one is the answer: it is there that the
    last round finds somebody.
    """
    lowest, highest = min(counts), max(ends)
    from_counts, from_ends = _Raising(counts), _Raising(ends)
    while lowest < highest:
        middle = (lowest + highest + 1) // 2
        if from_counts.cost(middle) - from_ends.cost(middle) <= need:
            lowest = middle
        else:
            highest = middle - 1
    return lowest, need - from_counts.cost(lowest) + from_ends.cost(lowest)


class _Raising:
    """What it costs to raise all of some numbers to a level: a sum up to where they lie below it."""

    __slots__ = ("numbers", "sums")

    def __init__(self, numbers: Sequence[int]) -> None:
        self.numbers = sorted(numbers)
        self.sums = [0, *accumulate(self.numbers)]

    def cost(self, level: int) -> int:
        below = bisect_left(self.numbers, level)
        return below * level - self.sums[below]
