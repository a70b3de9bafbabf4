"""DRAINED: use up the smallest capacities first, so that large ones stay whole.

The node with least capacity comes first; among equals the one that is used most, then by name. Each
takes as many as it can until nothing is left.
"""

from collections.abc import Sequence

from ledger.core.placement.answer import Placement
from ledger.core.placement.question import Node


def drain_order(nodes: Sequence[Node]) -> list[Node]:
    """Smallest capacity first."""
    return sorted(nodes, key=lambda node: (node.capacity, -node.usage, node.name))


def drain(nodes: Sequence[Node], need: int) -> Placement:
    """Place ``need`` instances, which the nodes together have capacity for."""
    taken: dict[str, int] = {}
    left = need
    for node in drain_order(nodes):
        if not left:
            break
        if node.capacity:
            taken[node.name] = min(node.capacity, left)
            left -= taken[node.name]
    assert left == 0, "the capacities were counted beforehand"
    return Placement({node.name: taken[node.name] for node in nodes if node.name in taken})
