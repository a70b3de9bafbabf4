"""Which instances go when a share is smaller than it was: one at a time, and nothing else moves.

A StatefulSet gives up its highest numbers, held or not: in Kubernetes its pods are those from 0 to below
the share, so one beyond goes although a lower number has no place yet and fewer are held than the share.
Of everybody else only so many go as are too many. Lost numbers that wait for a place are dropped first,
the highest first; then it is the turn of nodes that take no new work, and among equals

``AUTO``     from the node that holds most of the workload
``GLOBAL``   from the node that is used most at that moment
``DRAINED``  from the node with room for most

each looked at anew for every instance; ties go to the node whose name comes last, and within a node
the highest number goes. FILL and EACH give up nothing but everything. Where nodes are told apart by
capacity class, the instances that belong on on-demand nodes are not among those that go.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush

from ledger.decisions.nodes import Nodes
from ledger.facts.deployment import Instance, Waiting
from ledger.facts.workload import DeployStrategy
from ledger.reducers.instances import Deployed
from ledger.units import NodeName

Left = tuple[tuple[Instance, ...], tuple[Waiting, ...]]
"""Those still held, and the numbers that still wait."""

Turn = tuple[bool, int | Fraction, int]
"""Whose turn it is to give up: the lowest is next."""


def numbered_below(held: Deployed) -> Left:
    """What is left of a StatefulSet: the numbers below its share."""
    return (
        tuple(one for one in held.instances if one.number < held.share),
        tuple(one for one in held.waiting if one.number < held.share),
    )


def reduced(held: Deployed, nodes: Nodes, strategy: DeployStrategy, target: int | None) -> Left:
    """What is left of others when no more are held or wait than the share allows."""
    surplus = len(held.instances) + len(held.waiting) - held.share
    assert surplus > 0, "there is nothing to choose from"
    dropped = min(surplus, len(held.waiting))
    waiting = held.waiting[: len(held.waiting) - dropped]
    gone = _given_up(held.instances, waiting, nodes, strategy, surplus - dropped, target or 0)
    return tuple(one for one in held.instances if one.number not in gone), waiting


def _given_up(
    instances: Sequence[Instance],
    waiting: Sequence[Waiting],
    nodes: Nodes,
    strategy: DeployStrategy,
    surplus: int,
    target: int,
) -> set[int]:
    """The numbers that go."""
    numbers = sorted([*(one.number for one in instances), *(one.number for one in waiting)])
    stay = frozenset(numbers[:target])
    counts = Counter(one.node for one in instances)
    going: dict[NodeName, list[Instance]] = {}
    for one in instances:
        if one.number not in stay:
            going.setdefault(one.node, []).append(one)
    # The later of two names is the earlier turn.
    rank = {name: -place for place, name in enumerate(sorted(counts))}

    def turn(name: NodeName) -> Turn:
        weight: int | Fraction
        match strategy:
            case "GLOBAL":
                weight = nodes.load(name).usage
            case "DRAINED":
                weight = nodes.capacity(name)
            case _:
                weight = counts[name]
        return nodes.takes_work(name), -weight, rank[name]

    queue = [(turn(name), name) for name in going]
    heapify(queue)
    gone: set[int] = set()
    while len(gone) < surplus:
        # Only the node that gave up has changed, so every other turn still stands.
        _, name = heappop(queue)
        one = going[name].pop()
        gone.add(one.number)
        counts[name] -= 1
        nodes.give_back(one)
        if going[name]:
            heappush(queue, (turn(name), name))
    return gone
