"""FILL: top nodes up until each of them holds the number asked for.

Nodes that hold most come first, then those with most capacity, then by name, so that as few
instances as possible are created. Walking along that order, each node that can reach the number is
chosen, whether or not it has to be given anything: one that holds enough, or more than enough, is
done already and counts.
"""

from collections.abc import Sequence

from ledger.core.placement.answer import Placement, Shortage
from ledger.core.placement.question import Node


def fill_order(nodes: Sequence[Node]) -> list[Node]:
    """Fullest first."""
    return sorted(nodes, key=lambda node: (-node.count, -node.capacity, node.name))


def can_hold(node: Node, number: int) -> bool:
    """Whether the node could hold ``number`` instances altogether."""
    return node.within_reach >= number


def fill_up(nodes: Sequence[Node], number: int, limit: int) -> Placement | Shortage:
    """Let ``limit`` of the nodes, or all of them if it is 0, hold ``number`` instances each."""
    if len(nodes) < limit or not nodes:
        return Shortage("insufficient_resource", "nodes", max(limit, 1), len(nodes))
    wanted = limit or len(nodes)
    in_order = fill_order(nodes)
    able = [node for node in in_order if can_hold(node, number)]
    if len(able) < wanted:
        unable = tuple(node.name for node in in_order if not can_hold(node, number))
        return Shortage("insufficient_resource", "able_nodes", wanted, len(able), unable)
    missing = {node.name: number - node.count for node in able[:wanted] if node.count < number}
    if not missing:
        return Shortage("already_filled", "able_nodes", wanted, wanted)
    return Placement({name: missing[name] for name in sorted(missing)})
