"""What the nodes of a cluster have for new work, for all of them at once and from question to question.

They are of those nodes of a cluster that have the labels that somebody selects by. It is known who
of them takes new instances, who is only seen, and why the others are passed over; and what is free
on those who take new instances stands in columns: all that is free of memory, of storage and so on, in the
order of the nodes' names. How many more instances each of them holds is worked out for a whole column,
and so are the sums that claims are weighed against.

Between one question and the next few nodes change. Which ones is told by the trail of the World
(``ledger.reducers.trails``), where the columns are kept; those are looked at again, and all of them where
one stands otherwise than before. Whoever holds an older World finds the same way back.

What is counted on a node for an instance, and what a turn or a workload's own pods change about it,
is told elsewhere (``ledger.decisions.room``, ``ledger.decisions.nodes``).
"""

from bisect import bisect
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final, NamedTuple, TypeVar

from immutables import Map

from ledger.core.capacity.amounts import INFINITE
from ledger.facts.cluster import Labels, NodeUpserted
from ledger.reducers.book import MILLI, NOTHING_HELD, Held, Offer, cpu_milli, free, shared
from ledger.reducers.instances import node_of
from ledger.reducers.world import World
from ledger.units import ClusterName, NodeName

MOST_COUNTED: Final = 256
"""So many different kinds of instances are counted at a time. What was counted of one takes as much room
as there are nodes and is put right with each of them that changes; a kind that nobody asks for any more
would be kept for ever."""

What = TypeVar("What", bound=Hashable)
Found = TypeVar("Found")


class Standing(NamedTuple):
    """What decides whether a node takes new work."""

    labels: Labels
    ready: bool
    schedulable: bool
    reclaiming: bool


class Left(NamedTuple):
    """What nodes have left of each resource together, less than nothing counted as nothing."""

    cpu: int
    memory: int
    storage: int
    devices: int
    pods: int | None
    """None: one of them takes any number."""


class Counted:
    """How many instances of a kind each node holds beside what it has, in the order of the names."""

    __slots__ = ("_order", "each", "together")

    def __init__(self, each: list[int]) -> None:
        self.each = each
        self.together = sum(each)
        self._order: tuple[int, ...] | None = None

    @property
    def order(self) -> tuple[int, ...]:
        """Who has room, by place: who has most comes first, and of equals who is named first."""
        if self._order is None:
            # Sorting backwards leaves equals as they are.
            places = sorted(range(len(self.each)), key=self.each.__getitem__, reverse=True)
            self._order = tuple(places[: len(places) - self.each.count(0)])
        return self._order


class Pools(NamedTuple):
    """Who takes new instances, as long as nobody stands otherwise."""

    seen: tuple[NodeName, ...]
    """Those that a placement looks at."""
    open: frozenset[NodeName]
    """Of those seen, who takes new instances."""
    passed_over: dict[NodeName, str]
    """Who takes none, and why. Nobody writes to it."""
    known: dict[Hashable, Any]
    """What others have worked out of this and of labels."""


class Takes(NamedTuple):
    """What an instance takes of what all share on a node."""

    cpu_milli: int
    memory: int
    storage: int


class _OnCores(NamedTuple):
    """How many find cores on a node, and what of the node that follows from."""

    node: NodeUpserted
    pieces: Map[str, int]
    numa: Map[str, int]
    most: int


class _Bound:
    """What was counted node by node, and of which nodes that is not so any more."""

    __slots__ = ("counted", "each", "on_cores", "stale")

    def __init__(self) -> None:
        self.each: dict[NodeName, int] = {}
        self.on_cores: dict[NodeName, _OnCores] = {}
        self.stale: set[NodeName] = set()
        self.counted: Counted | None = None


class Columns:
    """The nodes of a cluster with some labels, as the World has them that was asked about last."""

    __slots__ = (
        *("_bound", "_cluster", "_cores", "_cpu", "_declared", "_devices", "_left", "_limited"),
        *("_memory", "_open", "_places", "_pods", "_pools", "_selector", "_standings", "_storage"),
        *("_unbound", "at", "facts", "names"),
    )

    def __init__(self, world: World, cluster: ClusterName, selector: Labels) -> None:
        self._cluster = cluster
        self._selector = selector
        self.at = 0
        """Where on its walk the World stands that this is of."""
        inside = world.objects.inside("node", cluster)
        self.names = [NodeName(node[len(cluster) + 1 :]) for node in inside]
        """Of every node that exists; what is counted is in this order."""
        self.facts: dict[NodeName, NodeUpserted] = {}
        """What they say of themselves; never written to once it was given out."""
        self._standings: dict[NodeName, Standing] = {}
        self._places = {name: place for place, name in enumerate(self.names)}
        nothing = [0] * len(self.names)
        self._open = [False] * len(nothing)
        """Who takes new instances; of the others the columns have nothing."""
        self._limited = [True] * len(nothing)
        self._declared, self._cores, self._cpu = [*nothing], [*nothing], [*nothing]
        self._memory, self._storage, self._devices = [*nothing], [*nothing], [*nothing]
        self._pods = nothing
        self._left: Left | None = None
        self._unbound: dict[Takes, Counted] = {}
        self._bound: dict[Hashable, _Bound] = {}
        self._pools: Pools | None = None
        self.look_at(world, tuple(self.names))

    def look_at(self, world: World, nodes: Iterable[NodeName]) -> None:
        """Be what the columns are of another World, where none but these nodes are others."""
        facts = dict(self.facts)
        restanding = False
        looked: list[NodeName] = []
        for name in nodes:
            subject = node_of(self._cluster, name)
            node = world.objects.fact("node", subject)
            assert node is None or isinstance(node, NodeUpserted)
            place = self._places.get(name)
            if node is None:
                if place is not None:
                    restanding = True
                    self._drop(name, place)
                    del facts[name]
                    looked.append(name)
                continue
            if place is None:
                place = self._insert(name)
            looked.append(name)
            standing = _standing(world, node)
            if self._standings.get(name) != standing:
                self._standings[name] = standing
                self._open[place] = self._why_not(standing) is None
                restanding = True
            if facts.get(name) is not node:
                facts[name] = node
                self._declared[place] = cpu_milli(node)
            self._measure(place, node, world.book.get(subject, NOTHING_HELD))
        if restanding:
            self._pools = None
        if looked:
            self.facts = facts
            self._left = None
            self._unbound = {}
            for counted in self._bound.values():
                counted.stale.update(looked)

    def unbound(self, takes: Takes) -> Counted:
        """Of instances that share all they take: what ``ledger.decisions.room`` says of each node."""
        found = self._unbound.get(takes)
        if found is None:
            cpu_milli, memory, storage = takes
            each = [*self._pods]
            if memory:
                each = [*map(min, each, [amount // memory for amount in self._memory])]
            if storage:
                each = [*map(min, each, [amount // storage for amount in self._storage])]
            if self._cores and cpu_milli > MILLI * min(self._cores):
                each = [
                    count if cpu_milli <= MILLI * cores else 0
                    for count, cores in zip(each, self._cores, strict=True)
                ]
            found = _kept(self._unbound, takes, Counted(each))
        return found

    def bound(self, world: World, one: Hashable, capacity: Callable[[Offer], int]) -> Counted:
        """Of instances that are bound to a part of a node; ``capacity`` says how many one holds."""
        found = self._bound_to(one)
        if found.counted is None or found.stale:
            for name in sorted(found.stale):
                if name not in self._places:
                    found.each.pop(name, None)
                    continue
                takes = self._open[self._places[name]]
                found.each[name] = capacity(self._offer(world, name)) if takes else 0
            found.stale.clear()
            found.counted = Counted([found.each[name] for name in self.names])
        return found.counted

    def on_cores(
        self,
        world: World,
        one: Hashable,
        takes: Takes,
        *,
        ample: Callable[[Offer], int],
        capacity: Callable[[Offer], int],
    ) -> Counted:
        """Of instances that want cores of their own: what ``capacity`` says of each node.

        ``ample`` says how many find cores where memory is no matter. That is so as long as a node's
        cores are held as they are, however much else is.
        """
        found = self._bound_to(one)
        if found.counted is None or found.stale:
            for name in sorted(found.stale):
                self._look_at_cores(world, found.on_cores, name, ample)
            found.stale.clear()
            most = [found.on_cores[name].most for name in self.names]
            each = [*map(min, most, self._pods)]
            if takes.storage:
                each = [*map(min, each, [amount // takes.storage for amount in self._storage])]
            if takes.cpu_milli:
                each = [*map(min, each, [amount // takes.cpu_milli for amount in self._cpu])]
            for place, amount in enumerate(self._memory):
                if each[place] and most[place] * takes.memory > amount:
                    name = self.names[place]
                    # Where memory has groups, who comes to which of them matters.
                    near = self.facts[name].numa
                    fits = capacity(self._offer(world, name)) if near else amount // takes.memory
                    each[place] = min(each[place], fits)
            found.counted = Counted(each)
        return found.counted

    def _bound_to(self, one: Hashable) -> _Bound:
        found = self._bound.get(one)
        if found is None:
            found = _kept(self._bound, one, _Bound())
            found.stale.update(self.names)
        return found

    def _look_at_cores(
        self,
        world: World,
        known: dict[NodeName, _OnCores],
        name: NodeName,
        ample: Callable[[Offer], int],
    ) -> None:
        if name not in self._places:
            known.pop(name, None)
            return
        node = self.facts[name]
        held = world.book.get(node_of(self._cluster, name), NOTHING_HELD)
        before = known.get(name)
        if (
            before is None
            or before.node is not node
            or before.pieces is not held.pieces
            or before.numa is not held.numa
        ):
            known[name] = _OnCores(node, held.pieces, held.numa, ample(free(node, held)))

    def _offer(self, world: World, name: NodeName) -> Offer:
        return free(self.facts[name], world.book.get(node_of(self._cluster, name), NOTHING_HELD))

    @property
    def left(self) -> Left:
        """What those who take new instances have left together."""
        if self._left is None:
            self._left = Left(
                cpu=sum(self._cpu),
                memory=sum(self._memory),
                storage=sum(self._storage),
                devices=sum(self._devices),
                pods=sum(self._pods) if all(self._limited) else None,
            )
        return self._left

    @property
    def pools(self) -> Pools:
        """Who takes new instances, who is seen, and why the others are passed over."""
        if self._pools is None:
            seen: list[NodeName] = []
            passed_over: dict[NodeName, str] = {}
            for name in self.names:
                why = self._why_not(self._standings[name])
                if why is not None:
                    passed_over[name] = why
                if why in {None, "unschedulable"}:
                    seen.append(name)
            open_ = frozenset(name for name in seen if name not in passed_over)
            self._pools = Pools(tuple(seen), open_, passed_over, {})
        return self._pools

    def _insert(self, name: NodeName) -> int:
        place = bisect(self.names, name)
        # Those counted so far go by the names as they were.
        self.names = [*self.names[:place], name, *self.names[place:]]
        for column in self._columns():
            column.insert(place, 0)
        self._limited.insert(place, False)
        self._open.insert(place, False)
        self._places = {name: place for place, name in enumerate(self.names)}
        return place

    def _drop(self, name: NodeName, place: int) -> None:
        self.names = [*self.names[:place], *self.names[place + 1 :]]
        for column in self._columns():
            del column[place]
        del self._limited[place]
        del self._open[place]
        del self._standings[name]
        self._places = {name: place for place, name in enumerate(self.names)}

    def _columns(self) -> tuple[list[int], ...]:
        return (
            *(self._declared, self._cores, self._cpu, self._memory, self._storage),
            *(self._devices, self._pods),
        )

    def _why_not(self, standing: Standing) -> str | None:
        """Why a node takes no new instances of a ready cluster."""
        if not standing.ready:
            return "not_ready"
        if standing.reclaiming:
            return "reclaiming"
        if not all(label in standing.labels for label in self._selector):
            return "selector"
        return None if standing.schedulable else "unschedulable"

    def _measure(self, place: int, node: NodeUpserted, held: Held) -> None:
        if not self._open[place]:
            self._cores[place] = self._cpu[place] = self._memory[place] = 0
            self._storage[place] = self._devices[place] = self._pods[place] = 0
            self._limited[place] = True
            return
        cores, memory, storage, pods = shared(node, held)
        self._cores[place] = cores
        self._cpu[place] = max(0, self._declared[place] - held.cpu)
        self._memory[place] = max(0, memory)
        self._storage[place] = max(0, storage)
        self._devices[place] = sum(
            max(0, size - held.volumes.get(name, 0)) for name, size in node.volumes
        )
        self._limited[place] = pods is not None
        self._pods[place] = INFINITE if pods is None else max(0, pods)


def _kept(known: dict[What, Found], what: What, found: Found) -> Found:
    """What was found, kept; when there is too much, all that was known is forgotten first."""
    if len(known) >= MOST_COUNTED:
        known.clear()
    known[what] = found
    return found


def columns(world: World, cluster: ClusterName, selector: Labels) -> Columns:
    """The columns of a cluster as it is in this World, good until another World is asked about."""
    trail = world.rooms.trails.get(cluster)
    if trail is None:
        return Columns(world, cluster, selector)
    found = trail.walk.found.get((Columns, selector))
    if found is None:
        found = Columns(world, cluster, selector)
        trail.keep((Columns, selector), found)
    elif found.at != trail.at:
        found.look_at(world, sorted(trail.between(found.at)))
    assert isinstance(found, Columns)
    found.at = trail.at
    return found


def _standing(world: World, node: NodeUpserted) -> Standing:
    reclaiming = node_of(node.cluster, node.name) in world.rooms.reclaiming
    return Standing(node.labels, node.ready, node.schedulable, reclaiming)
