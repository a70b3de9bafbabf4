"""EACH, which eru also calls Average: the same number of new instances for every chosen node.

The nodes with most capacity are chosen, then by name. What they hold already does not matter.
"""

from collections.abc import Sequence

from ledger.core.placement.answer import Placement, Shortage
from ledger.core.placement.question import Node


def each_order(nodes: Sequence[Node]) -> list[Node]:
    """Largest capacity first."""
    return sorted(nodes, key=lambda node: (-node.capacity, node.name))


def give_each(nodes: Sequence[Node], number: int, limit: int) -> Placement | Shortage:
    """Place ``number`` instances on each of ``limit`` nodes, or on all of them if it is 0."""
    if len(nodes) < limit:
        return Shortage("insufficient_resource", "nodes", limit, len(nodes))
    wanted = limit or len(nodes)
    in_order = each_order(nodes)
    able = [node.name for node in in_order if node.capacity >= number]
    unable = tuple(node.name for node in in_order if node.capacity < number)
    if not able:
        return Shortage("insufficient_capacity", "able_nodes", max(wanted, 1), 0, unable)
    if len(able) < wanted:
        return Shortage("insufficient_resource", "able_nodes", wanted, len(able), unable)
    return Placement(dict.fromkeys(sorted(able[:wanted]), number))
