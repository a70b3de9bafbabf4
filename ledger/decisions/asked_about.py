"""Which nodes a strategy is asked about when so many instances are to be placed.

A strategy looks at nodes in an order, and most questions are answered by the first of them: asking about
those alone gives the same answer as asking about all, and whoever redoes a decision has a few nodes to
look at instead of ten thousand. Who is not asked about gets nothing, and why follows from what it holds
and has room for (``ledger.core.placement.reasons``). Where there is too little room all are asked about.

``AUTO``     the first so many that have room: ``ledger.decisions.shortlist`` says why
``EACH``     the nodes with room for most, as many as are chosen
``FILL``     those that hold some, then those with room for most, as far as somebody is chosen
``DRAINED``  those with room for least, until there is room for all; where the last of them are equal, how
             full they are decides, so all of those
``GLOBAL``   by nearest_level the nodes used least, as long as each step ends below the last of them. How
             many that takes is only known by trying: a few at first, then four times as many. By
             after_usage all of them
"""

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import takewhile
from typing import Final

from ledger.core.placement.question import Policy, Strategy
from ledger.decisions.nodes import Nodes
from ledger.units import NodeName

FEW: Final = 4
"""Nodes of a question to nearest_level, at first."""

MOST_AT_ONCE: Final = 1 << 16
"""Who wants more in all, or of a node, asks about all: so many are counted against all the room there is."""


def asked_about(
    nodes: Nodes,
    strategy: Strategy,
    policy: Policy,
    among: str,
    wanted: int,
    counts: Counter[NodeName],
    *,
    limit: int,
) -> Sequence[NodeName]:
    """The nodes of a pool that have to be asked about, in no order that matters."""
    if strategy == "AUTO":
        return nodes.open_to(among, wanted, counts, limit=limit)
    found: Sequence[NodeName] | None = None
    if wanted > MOST_AT_ONCE:
        pass
    elif strategy == "EACH":
        found = _largest(nodes, among, wanted, (), limit)
    elif strategy == "FILL":
        found = _fullest(nodes, among, wanted, counts, limit)
    elif strategy == "DRAINED":
        found = _smallest(nodes, among, wanted)
    elif policy == "nearest_level":
        found = _least_used(nodes, among, wanted, counts)
    return nodes.pool(among) if found is None else found


def _largest(
    nodes: Nodes, among: str, wanted: int, but: Collection[NodeName], most: int
) -> list[NodeName] | None:
    """So many nodes that have room for so many each; None if there are fewer."""
    able = takewhile(lambda one: one[0] >= wanted, nodes.by_room(among))
    found: list[NodeName] = []
    for _, name in able if most else ():
        if name not in but:
            found.append(name)
        if len(found) == most:
            return found
    return None


def _fullest(
    nodes: Nodes, among: str, wanted: int, counts: Counter[NodeName], limit: int
) -> list[NodeName] | None:
    pool = nodes.pool_of(among)
    # A node that takes nothing new may hold enough already.
    holding = [name for name, count in counts.items() if count and name in pool]
    able = sum(
        counts[name] + (nodes.capacity(name) if name in nodes.schedulable else 0) >= wanted
        for name in holding
    )
    if limit and able >= limit:
        return holding
    rest = _largest(nodes, among, wanted, frozenset(holding), max(0, limit - able))
    return None if rest is None else [*holding, *rest]


def _smallest(nodes: Nodes, among: str, wanted: int) -> list[NodeName] | None:
    found: list[NodeName] = []
    room = last = 0
    for capacity, name in nodes.by_room(among, least_first=True):
        if room >= wanted and capacity > last:
            break
        found.append(name)
        room += capacity
        last = capacity
    return found if room >= wanted else None


def _least_used(
    nodes: Nodes, among: str, wanted: int, counts: Counter[NodeName]
) -> list[NodeName] | None:
    found: list[NodeName] = []
    few, last = FEW, -1
    for height, name in nodes.by_usage(among):
        if len(found) >= few and height > last:
            asked = nodes.as_asked(sorted(found), counts, loaded=True)
            if nodes.rules.stays_below(asked, wanted):
                return found
            few *= 4
        found.append(name)
        last = height
    return None
