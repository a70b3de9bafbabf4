"""Free room on nodes, and the first node by name on which something fits.

Over the nodes in the order of their names stands a tree for each resource: every knot knows the
most that any node below it has free. Whoever needs an amount goes down, always left first, and
turns back where some resource has no node with enough. With one scarce resource that is a step for
each level of the tree; only where one node lacks this and the next one that, it has to look at
many.

A node may also be limited in how many tasks it takes. Each task then uses one of its slots, also
one that asks for nothing.

Not everybody may go everywhere: whoever is to stay in a pool takes only nodes of it. A pool is one
more tree, of which a node has so much that nobody can use it up, or nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NewType

from ledger.core.fairshare.resources import (
    Amounts,
    Resource,
)
from ledger.core.shares import require_count, require_counts, require_distinct
from ledger.units import NodeName

PoolName = NewType("PoolName", str)

SLOTS = Resource("pods")
"""What a task takes one of on a node that counts them, in Kubernetes' word."""

Needs = list[tuple[int, int]]
"""What a task asks for: places of resources, each with an amount above zero."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node with what it has, and for how many tasks; no number of slots is no limit."""

    name: NodeName
    amounts: Amounts = field(default_factory=dict)
    slots: int | None = None
    pools: frozenset[PoolName] = frozenset()


def asked(amounts: Sequence[int]) -> Needs:
    """Which resources a task with this request asks for, and how much."""
    return [(place, amount) for place, amount in enumerate(amounts) if amount]


def require_nodes(nodes: Sequence[Node]) -> None:
    """Refuse nodes that cannot be told apart, or have less than nothing."""
    require_distinct("node", (node.name for node in nodes))
    for node in nodes:
        require_counts(f"node {node.name}", node.amounts)
        if node.slots is not None:
            require_count(f"node {node.name}: {SLOTS}", node.slots)


class Room:
    """What is free on each node at the moment."""

    def __init__(
        self,
        nodes: Sequence[Node],
        resources: Sequence[Resource],
        *,
        most_tasks: int,
        pools: Iterable[PoolName] = (),
    ) -> None:
        """The room on ``nodes`` as long as nothing is taken, for tasks of these pools or of none.

        No limit of slots is written as more than ``most_tasks``, the most there can ever be.
        """
        self.nodes = sorted(nodes, key=lambda node: node.name)
        self.names = [node.name for node in self.nodes]
        named = sorted(set(pools))
        self._resources = (*resources, SLOTS, *(Resource(f"pool {pool}") for pool in named))
        self._slots = len(resources)
        self._pools = {pool: self._slots + 1 + place for place, pool in enumerate(named)}
        self._leaves = 1
        while self._leaves < len(self.nodes):
            self._leaves *= 2
        self._most = [
            self._tree([node.amounts.get(resource, 0) for node in self.nodes])
            for resource in resources
        ]
        self._most.append(
            self._tree(
                [most_tasks + 1 if node.slots is None else node.slots for node in self.nodes]
            )
        )
        for pool in named:
            inside = [most_tasks + 1 if pool in node.pools else 0 for node in self.nodes]
            self._most.append(self._tree(inside))

    def needs(self, amounts: Sequence[int], pool: PoolName | None = None) -> Needs:
        """What a task with this request needs of a node: its amounts, one slot, and its pool."""
        needs = asked(amounts)
        needs.append((self._slots, 1))
        if pool is not None:
            needs.append((self._pools[pool], 1))
        return needs

    def first(self, needs: Needs) -> int | None:
        """The place of the first node, by name, that has all of it free."""
        leaves = self._leaves
        trees = [(self._most[resource], amount) for resource, amount in needs]
        knots = [1]
        while knots:
            knot = knots.pop()
            for most, amount in trees:
                if most[knot] < amount:
                    break
            else:
                if knot >= leaves:
                    return knot - leaves
                knots.append(2 * knot + 1)
                knots.append(2 * knot)
        return None

    def fits(self, needs: Needs, place: int) -> bool:
        """Whether this node has all of it free."""
        knot = self._leaves + place
        return all(self._most[resource][knot] >= amount for resource, amount in needs)

    def free(self, place: int) -> list[int]:
        """What this node has free: along the resources, then its slots."""
        return [tree[self._leaves + place] for tree in self._most]

    def take(self, needs: Needs, place: int) -> None:
        """Let somebody have it on this node; over-committed nodes have less than nothing free."""
        self._change(needs, place, -1)

    def give_back(self, needs: Needs, place: int) -> None:
        """Have it free again."""
        self._change(needs, place, 1)

    def lacking(self, needs: Needs) -> dict[Resource, int]:
        """How many nodes have too little of each needed resource; those that all have are left out."""
        first, end = self._leaves, self._leaves + len(self.nodes)
        counts: dict[Resource, int] = {}
        for place, amount in needs:
            count = sum(1 for free in self._most[place][first:end] if free < amount)
            if count:
                counts[self._resources[place]] = count
        return counts

    def _tree(self, amounts: list[int]) -> list[int]:
        # Places beyond the last node have less than nothing: not even a slot.
        missing = self._leaves - len(amounts)
        tree = [-1] * self._leaves + amounts + [-1] * missing
        for knot in range(self._leaves - 1, 0, -1):
            tree[knot] = max(tree[2 * knot], tree[2 * knot + 1])
        return tree

    def _change(self, needs: Needs, place: int, sign: int) -> None:
        for resource, amount in needs:
            tree = self._most[resource]
            knot = self._leaves + place
            tree[knot] += sign * amount
            knot //= 2
            while knot:
                most = max(tree[2 * knot], tree[2 * knot + 1])
                if tree[knot] == most:
                    break
                tree[knot] = most
                knot //= 2
