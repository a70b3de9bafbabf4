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

A fleet has more nodes than a round has tasks to place, and most of them are as they were in the round
before. Whoever knows what they have says so plot by plot (``Ground``): what was counted of a plot is
kept with it, so a round counts those that changed. A resource is counted once somebody asks for it.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, pairwise
from math import isqrt
from operator import ge
from typing import Final, NewType

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


@dataclass(slots=True)
class Names:
    """Names of nodes, each once and in order; nobody writes to them."""

    all: Sequence[NodeName]

    def __post_init__(self) -> None:
        """Refuse names that are not in order."""
        if any(map(ge, self.all, self.all[1:])):
            raise InvalidRequest("invalid_request", "nodes: not each named once, in order")


@dataclass(slots=True)
class Column:
    """How much of one thing each of some nodes has; nobody writes to it.

    What is counted of it is kept.
    """

    amounts: Sequence[int]
    _total: int | None = field(default=None, compare=False)
    _least: int | None = field(default=None, compare=False)
    _ordered: Sequence[int] | None = field(default=None, compare=False)
    _most: Sequence[int] = field(default=(), compare=False)
    _size: int = field(default=0, compare=False)

    def but(self, changes: Mapping[int, int]) -> "Column":
        """The same nodes, of which some have another amount; what was counted is put right."""
        before = self.amounts
        changed = {place: one for place, one in changes.items() if before[place] != one}
        if not changed:
            return self
        amounts = [*before]
        for place, one in changed.items():
            amounts[place] = one
        after = Column(amounts)
        if self._total is not None:
            after._total = self._total + sum(one - before[at] for at, one in changed.items())
        # Each change moves half of the others: after many it is quicker to begin anew.
        if self._ordered is not None and len(changed) * len(changed) < len(amounts):
            after._ordered = ordered = [*self._ordered]
            for place, one in changed.items():
                del ordered[bisect_left(ordered, before[place])]
                insort(ordered, one)
        if self._size:
            size = after._size = self._size
            after._most = most = [*self._most]
            for block in dict.fromkeys(place // size for place in changed):
                most[block] = max(amounts[block * size : (block + 1) * size])
        return after

    @property
    def total(self) -> int:
        """What they have together."""
        if self._total is None:
            self._total = sum(self.amounts)
        return self._total

    @property
    def least(self) -> int:
        """What one of them has at least; nothing where there are none."""
        if self._least is None:
            known = self._ordered
            self._least = known[0] if known else min(self.amounts, default=0)
        return self._least

    @property
    def ordered(self) -> Sequence[int]:
        """What they have, the least first."""
        if self._ordered is None:
            self._ordered = sorted(self.amounts)
        return self._ordered

    def most(self, size: int) -> Sequence[int]:
        """What any node has at most, in each block of so many of them."""
        if self._size != size:
            amounts = self.amounts
            self._most = [
                max(amounts[place : place + size]) for place in range(0, len(amounts), size)
            ]
            self._size = size
        return self._most


@dataclass(frozen=True, slots=True)
class Plot:
    """Nodes that stand next to each other, resource by resource.

    What one has stands where its name does. Of a resource that is not named none of them has any.
    """

    names: Names
    amounts: Mapping[Resource, Column]
    slots: Column
    """For how many tasks; ``NO_LIMIT`` where that is not limited."""

    def __len__(self) -> int:
        """How many there are."""
        return len(self.names.all)


@dataclass(frozen=True, slots=True)
class Ground:
    """Nodes, plot by plot, in the order of all their names."""

    plots: Sequence[Plot]
    pools: Mapping[PoolName, Sequence[Sequence[bool]]] = field(default_factory=dict)
    """Which nodes of each plot are in a pool; nothing is said of a plot that has none of them. In a
    pool that is not named there is no node."""

    def __len__(self) -> int:
        """How many there are."""
        return sum(map(len, self.plots))

    def __contains__(self, node: object) -> bool:
        """Whether this is one of them."""
        return node in [*self]

    def __iter__(self) -> Iterator[Node]:
        """Each by itself."""
        for at, plot in enumerate(self.plots):
            inside = {pool: there[at] for pool, there in self.pools.items() if there[at]}
            for place, name in enumerate(plot.names.all):
                slots = plot.slots.amounts[place]
                yield Node(
                    name,
                    {resource: column.amounts[place] for resource, column in plot.amounts.items()},
                    None if slots == NO_LIMIT else slots,
                    frozenset(pool for pool, there in inside.items() if there[place]),
                )


def ground(nodes: Collection[Node]) -> Ground:
    """The same nodes, resource by resource."""
    by_name = sorted(nodes, key=lambda node: node.name)
    resources = sorted({resource for node in nodes for resource in node.amounts})
    pools = sorted({pool for node in nodes for pool in node.pools})
    plot = Plot(
        names=Names([node.name for node in by_name]),
        amounts={
            resource: Column([node.amounts.get(resource, 0) for node in by_name])
            for resource in resources
        },
        slots=Column([NO_LIMIT if node.slots is None else node.slots for node in by_name]),
    )
    return Ground([plot], {pool: [[pool in node.pools for node in by_name]] for pool in pools})


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
    named = [plot.names.all for plot in nodes.plots if len(plot)]
    if any(before[-1] >= after[0] for before, after in pairwise(named)):
        raise InvalidRequest("invalid_request", "nodes: not each named once, in order")
    for plot in nodes.plots:
        for resource, column in [*plot.amounts.items(), (SLOTS, plot.slots)]:
            if len(column.amounts) != len(plot) or column.least < 0:
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
        self._plots = [plot for plot in there.plots if len(plot)]
        self._begins = [0, *accumulate(map(len, self._plots))]
        named = sorted(set(pools))
        self._resources = (*resources, SLOTS, *(Resource(f"pool {pool}") for pool in named))
        self._slots = len(resources)
        self._pools = {pool: self._slots + 1 + place for place, pool in enumerate(named)}
        # At least one, so that no nodes are no blocks.
        self._size = max(1, isqrt(len(self)))
        blocks = (range(0, len(plot), self._size) for plot in self._plots)
        self._blocks = [0, *accumulate(map(len, blocks))]
        """How many blocks there are before each plot; in one there are no nodes of two."""
        inside = {
            pool: [said for plot, said in zip(there.plots, of_plots, strict=True) if len(plot)]
            for pool, of_plots in there.pools.items()
        }
        self._inside = [inside.get(pool) for pool in named]
        self._counted: list[_Counted | None] = [None] * len(self._resources)
        self._first: dict[tuple[tuple[int, int], ...], tuple[int, int]] = {}
        """By what is needed: no node before this one has it, as far as this many came back."""
        self._came_back: list[int] = []

    def __len__(self) -> int:
        """How many nodes there are."""
        return self._begins[-1]

    def name(self, place: int) -> NodeName:
        """Which node stands there."""
        at = self._plot_of(place)
        return self._plots[at].names.all[place - self._begins[at]]

    @property
    def names(self) -> Iterator[NodeName]:
        """All nodes, in order."""
        for plot in self._plots:
            yield from plot.names.all

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
        reached = len(self) if found is None else found
        self._first[key] = reached, len(self._came_back)
        return found

    def _first_from(self, needs: Needs, begin: int) -> int | None:
        wanted = [(self._count(resource), amount) for resource, amount in needs]
        size = self._size
        for at in range(self._plot_of(begin), len(self._plots)):
            first, before = self._begins[at], self._blocks[at]
            end = self._begins[at + 1] - first
            here = max(begin - first, 0)
            while here < end:
                block = here // size
                following = (block + 1) * size
                for counted, amount in wanted:
                    if counted.most[before + block] < amount:
                        break
                else:
                    columns = [(counted.free[at], amount) for counted, amount in wanted]
                    for place in range(here, min(following, end)):
                        for free, amount in columns:
                            if free[place] < amount:
                                break
                        else:
                            return first + place
                here = following
        return None

    def _plot_of(self, place: int) -> int:
        return bisect_right(self._begins, place) - 1

    def fits(self, needs: Needs, place: int) -> bool:
        """Whether this node has all of it free."""
        at = self._plot_of(place)
        here = place - self._begins[at]
        return all(self._count(resource).free[at][here] >= amount for resource, amount in needs)

    def free(self, place: int) -> list[int]:
        """What this node has free: along the resources, then its slots and pools."""
        at = self._plot_of(place)
        here = place - self._begins[at]
        return [self._count(resource).free[at][here] for resource in range(len(self._counted))]

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
            count = self._count(resource).fewer_than(amount)
            if count:
                counts[self._resources[resource]] = count
        return counts

    def _count(self, resource: int) -> "_Counted":
        counted = self._counted[resource]
        if counted is None:
            counted = _Counted(self._columns(resource), self._size)
            self._counted[resource] = counted
        return counted

    def _columns(self, resource: int) -> list[Column]:
        """What there is of a resource to begin with, plot by plot."""
        plots = self._plots
        if resource == self._slots:
            return [plot.slots for plot in plots]
        if resource < self._slots:
            name = self._resources[resource]
            told = [plot.amounts.get(name) for plot in plots]
        else:
            inside = self._inside[resource - self._slots - 1] or [()] * len(plots)
            told = [
                Column([NO_LIMIT if is_in else 0 for is_in in said]) if said else None
                for said in inside
            ]
        return [
            _nothing(len(plot)) if column is None else column
            for plot, column in zip(plots, told, strict=True)
        ]

    def _change(self, needs: Needs, place: int, sign: int) -> None:
        size = self._size
        at = self._plot_of(place)
        here = place - self._begins[at]
        block = here // size
        in_all = self._blocks[at] + block
        for resource, amount in needs:
            counted = self._count(resource)
            free, most = counted.written(at), counted.most
            before = free[here]
            after = free[here] = before + sign * amount
            if after >= most[in_all]:
                most[in_all] = after
            elif before == most[in_all]:
                most[in_all] = max(free[block * size : (block + 1) * size])


@lru_cache
def _nothing(count: int) -> Column:
    """So many nodes that have nothing."""
    return Column([0] * count)


class _Counted:
    """A resource while it is taken."""

    __slots__ = ("_begun", "_written", "free", "most")

    def __init__(self, begun: Sequence[Column], size: int) -> None:
        self._begun = begun
        self._written: dict[int, list[int]] = {}
        self.free = [column.amounts for column in begun]
        """On each node of each plot."""
        self.most = [most for column in begun for most in column.most(size)]
        """On any node of each block."""

    def written(self, plot: int) -> list[int]:
        """What is free on the nodes of a plot, to be written to."""
        own = self._written.get(plot)
        if own is None:
            own = self._written[plot] = [*self.free[plot]]
            self.free[plot] = own
        return own

    def fewer_than(self, amount: int) -> int:
        """How many nodes have less free than that."""
        return sum(
            sum(map(amount.__gt__, self._written[plot]))
            if plot in self._written
            else bisect_left(column.ordered, amount)
            for plot, column in enumerate(self._begun)
        )
