"""Free room on nodes, and the first node by name on which something fits.

The nodes stand in the order of their names, in blocks of as many as there are blocks, and of each
block it is known how much of each resource any of its nodes has free at most. Whoever needs an
amount passes over the blocks in which no node has enough, and looks at the nodes of the others one
by one. It is remembered up to which node nobody has room for the same needs: that holds until
something is given back before it. So all who need the same walk past the nodes once, together.

A node may also be limited in how many tasks it takes. Each task then uses one of its slots, also
one that asks for nothing.

Not everybody may go everywhere: whoever is to stay in a pool takes only nodes of it. A pool is one
more resource, of which a node has so much that nobody can use it up, or nothing.

A fleet has more nodes than a round has tasks to place. Whoever knows what they have resource by
resource says so (``Ground``); a resource is counted once somebody asks for it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isqrt
from operator import ge
from typing import Final, NamedTuple, NewType

from ledger.core.fairshare.resources import (
    Amounts,
    Resource,
)
from ledger.core.shares import require_count, require_counts, require_distinct
from ledger.errors import InvalidRequest
from ledger.units import NodeName

PoolName = NewType("PoolName", str)

SLOTS = Resource("pods")
"""What a task takes one of on a node that counts them, in Kubernetes' word."""

NO_LIMIT: Final = 1 << 62
"""So many slots that nobody can use them up."""

Needs = list[tuple[int, int]]
"""What a task asks for: places of resources, each with an amount above zero."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node with what it has, and for how many tasks; no number of slots is no limit."""

    name: NodeName
    amounts: Amounts = field(default_factory=dict)
    slots: int | None = None
    pools: frozenset[PoolName] = frozenset()


@dataclass(frozen=True, slots=True)
class Ground:
    """Nodes, resource by resource: what one has stands where its name does.

    Names are in their order. Of a resource that is not named no node has any, and in a pool that is
    not named there is none.
    """

    names: Sequence[NodeName]
    amounts: Mapping[Resource, Sequence[int]]
    slots: Sequence[int]
    """For how many tasks; ``NO_LIMIT`` where that is not limited."""
    pools: Mapping[PoolName, Sequence[bool]] = field(default_factory=dict)
    """Which nodes are in a pool."""

    def __len__(self) -> int:
        """How many there are."""
        return len(self.names)

    def __contains__(self, node: object) -> bool:
        """Whether this is one of them."""
        return node in [*self]

    def __iter__(self) -> Iterator[Node]:
        """Each by itself."""
        for place, name in enumerate(self.names):
            slots = self.slots[place]
            yield Node(
                name,
                {resource: column[place] for resource, column in self.amounts.items()},
                None if slots == NO_LIMIT else slots,
                frozenset(pool for pool, inside in self.pools.items() if inside[place]),
            )


def ground(nodes: Collection[Node]) -> Ground:
    """The same nodes, resource by resource."""
    by_name = sorted(nodes, key=lambda node: node.name)
    resources = sorted({resource for node in nodes for resource in node.amounts})
    pools = sorted({pool for node in nodes for pool in node.pools})
    return Ground(
        names=[node.name for node in by_name],
        amounts={
            resource: [node.amounts.get(resource, 0) for node in by_name] for resource in resources
        },
        slots=[NO_LIMIT if node.slots is None else node.slots for node in by_name],
        pools={pool: [pool in node.pools for node in by_name] for pool in pools},
    )


def asked(amounts: Sequence[int]) -> Needs:
    """Which resources a task with this request asks for, and how much."""
    return [(place, amount) for place, amount in enumerate(amounts) if amount]


def require_nodes(nodes: Collection[Node]) -> None:
    """Refuse nodes that cannot be told apart, or have less than nothing."""
    if isinstance(nodes, Ground):
        _require_ground(nodes)
        return
    require_distinct("node", (node.name for node in nodes))
    for node in nodes:
        require_counts(f"node {node.name}", node.amounts)
        if node.slots is not None:
            require_count(f"node {node.name}: {SLOTS}", node.slots)


def _require_ground(nodes: Ground) -> None:
    if any(map(ge, nodes.names, nodes.names[1:])):
        raise InvalidRequest("invalid_request", "nodes: not each named once, in order")
    for resource, column in [*nodes.amounts.items(), (SLOTS, nodes.slots)]:
        if len(column) != len(nodes.names) or min(column, default=0) < 0:
            raise InvalidRequest("invalid_request", f"nodes: {resource} is not counted of each")


class Room:
    """What is free on each node at the moment."""

    def __init__(
        self,
        nodes: Collection[Node],
        resources: Sequence[Resource],
        *,
        pools: Iterable[PoolName] = (),
    ) -> None:
        """The room on ``nodes`` as long as nothing is taken, for tasks of these pools or of none."""
        there = nodes if isinstance(nodes, Ground) else ground(nodes)
        self.names = there.names
        named = sorted(set(pools))
        self._resources = (*resources, SLOTS, *(Resource(f"pool {pool}") for pool in named))
        self._slots = len(resources)
        self._pools = {pool: self._slots + 1 + place for place, pool in enumerate(named)}
        # At least one, so that no nodes are no blocks.
        self._size = max(1, isqrt(len(self.names)))
        nothing = [0] * len(self.names)
        self._begun: list[Sequence[int]] = [
            *(there.amounts.get(resource, nothing) for resource in resources),
            there.slots,
            *(
                [NO_LIMIT if inside else 0 for inside in there.pools[pool]]
                if pool in there.pools
                else nothing
                for pool in named
            ),
        ]
        self._counted: list[_Counted | None] = [None] * len(self._begun)
        self._first: dict[tuple[tuple[int, int], ...], tuple[int, int]] = {}
        """By what is needed: no node before this one has it, as far as this many came back."""
        self._came_back: list[int] = []

    def needs(self, amounts: Sequence[int], pool: PoolName | None = None) -> Needs:
        """What a task with this request needs of a node: its amounts, one slot, and its pool."""
        needs = asked(amounts)
        needs.append((self._slots, 1))
        if pool is not None:
            needs.append((self._pools[pool], 1))
        return needs

    def first(self, needs: Needs) -> int | None:
        """The place of the first node, by name, that has all of it free."""
        key = tuple(needs)
        begin, seen = self._first.get(key, (0, len(self._came_back)))
        begin = min([begin, *self._came_back[seen:]])
        found = self._first_from(needs, begin)
        reached = len(self.names) if found is None else found
        self._first[key] = reached, len(self._came_back)
        return found

    def _first_from(self, needs: Needs, begin: int) -> int | None:
        wanted = [(*self._count(resource), amount) for resource, amount in needs]
        size, end = self._size, len(self.names)
        while begin < end:
            block = begin // size
            following = (block + 1) * size
            for _, most, amount in wanted:
                if most[block] < amount:
                    break
            else:
                for place in range(begin, min(following, end)):
                    for free, _, amount in wanted:
                        if free[place] < amount:
                            break
                    else:
                        return place
            begin = following
        return None

    def fits(self, needs: Needs, place: int) -> bool:
        """Whether this node has all of it free."""
        return all(self._count(resource).free[place] >= amount for resource, amount in needs)

    def free(self, place: int) -> list[int]:
        """What this node has free: along the resources, then its slots and pools."""
        return [self._count(resource).free[place] for resource in range(len(self._counted))]

    def take(self, needs: Needs, place: int) -> None:
        """Let somebody have it on this node; over-committed nodes have less than nothing free."""
        self._change(needs, place, -1)

    def give_back(self, needs: Needs, place: int) -> None:
        """Have it free again."""
        self._change(needs, place, 1)
        self._came_back.append(place)

    def lacking(self, needs: Needs) -> dict[Resource, int]:
        """How many nodes have too little of each needed resource; those that all have are left out."""
        counts: dict[Resource, int] = {}
        for resource, amount in needs:
            count = sum(map(amount.__gt__, self._count(resource).free))
            if count:
                counts[self._resources[resource]] = count
        return counts

    def _count(self, resource: int) -> "_Counted":
        counted = self._counted[resource]
        if counted is None:
            free, size = [*self._begun[resource]], self._size
            most = [max(free[place : place + size]) for place in range(0, len(free), size)]
            counted = self._counted[resource] = _Counted(free, most)
        return counted

    def _change(self, needs: Needs, place: int, sign: int) -> None:
        size = self._size
        block = place // size
        for resource, amount in needs:
            free, most = self._count(resource)
            before = free[place]
            after = free[place] = before + sign * amount
            if after >= most[block]:
                most[block] = after
            elif before == most[block]:
                most[block] = max(free[block * size : (block + 1) * size])


class _Counted(NamedTuple):
    """A resource while it is taken."""

    free: list[int]
    """On each node."""
    most: list[int]
    """On any node of each block."""
