"""What the nodes of a cluster have for new work, for all of them at once and from question to question.

They are of those nodes of a cluster that have the labels that somebody selects by. It is known who
of them takes new instances, who is only seen, and why the others are passed over; and what is free
on those who take new instances stands in columns: all that is free of memory, of storage and so on, in the
order of the nodes' names. How many more instances each of them holds is worked out for a whole column,
and so are the sums that claims are weighed against.

Between one question and the next few nodes change. Which ones is told by the trail of the World
(``ledger.reducers.trails``), where the columns are kept; those are looked at again. The columns list whom
they looked at: whatever was worked out of them, for one kind of instances or another, is put right for
those listed since. Whoever holds an older World finds the same way back. What was given out is never
written to: where it is put right, it is copied.

What is counted on a node for an instance, and what a turn or a workload's own pods change about it,
is told elsewhere (``ledger.decisions.room``, ``ledger.decisions.nodes``).
"""

from bisect import bisect, bisect_left, insort
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from immutables import Map

from ledger.core.capacity.amounts import INFINITE
from ledger.facts.cluster import Labels, NodeUpserted
from ledger.reducers.book import MILLI, NOTHING_HELD, Held, Offer, cpu_milli, free, shared
from ledger.reducers.instances import node_of
from ledger.reducers.world import World
from ledger.units import ClusterName, NodeName

MOST_COUNTED: Final = 256
"""So many different kinds of instances are counted at a time. What was counted of one takes as much room
as there are nodes; a kind that nobody asks for any more would be kept for ever."""

MOST_LISTED: Final = 1 << 13
"""So many nodes are listed as looked at; then all that was worked out is forgotten, and the list begun anew."""

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

    __slots__ = ("_ranks", "each", "together")

    def __init__(self, each: list[int]) -> None:
        self.each = each
        self.together = sum(each)
        self._ranks: list[int] | None = None

    @property
    def ranks(self) -> Sequence[int]:
        """A rank for each that has room, in order: who has most comes first, and of equals who is named first.

        One number for how many it holds and for its place is compared faster than two.
        """
        if self._ranks is None:
            nodes = len(self.each)
            self._ranks = sorted(
                place - count * nodes for place, count in enumerate(self.each) if count
            )
        return self._ranks

    def place_of(self, rank: int) -> int:
        """Whose rank it is."""
        return rank % len(self.each)

    def holding(self, least: int) -> int:
        """How many have room for so many, and any."""
        nodes = len(self.each)
        return bisect_left(self.ranks, nodes - max(1, least) * nodes)

    def but_for(self, counts: Mapping[int, int]) -> "Counted":
        """The same where these places hold so many."""
        other = object.__new__(Counted)
        other.each = each = [*self.each]
        other._ranks = ranks = None if self._ranks is None else [*self._ranks]
        nodes, more = len(each), 0
        for place, count in counts.items():
            before, each[place] = each[place], count
            if before == count:
                continue
            more += count - before
            if ranks is not None:
                if before:
                    del ranks[bisect_left(ranks, place - before * nodes)]
                if count:
                    insort(ranks, place - count * nodes)
        other.together = self.together + more
        return other


class Used:
    """How full each node is, in the order of the names, as a number (``ledger.decisions.fullness``)."""

    __slots__ = ("each", "ranks")

    def __init__(self, each: list[int]) -> None:
        self.each = each
        nodes = len(each)
        self.ranks = sorted(place + height * nodes for place, height in enumerate(each))
        """A rank for each: who is used least comes first, and of equals who is named first."""

    def place_of(self, rank: int) -> int:
        """Whose rank it is."""
        return rank % len(self.each)

    def but_for(self, heights: Mapping[int, int]) -> "Used":
        """The same where these places are so full."""
        other = object.__new__(Used)
        other.each, other.ranks = [*self.each], [*self.ranks]
        nodes = len(self.each)
        for place, height in heights.items():
            before, other.each[place] = other.each[place], height
            if before != height:
                del other.ranks[bisect_left(other.ranks, place + before * nodes)]
                insort(other.ranks, place + height * nodes)
        return other


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


Numbered = TypeVar("Numbered", Counted, Used)


class _Known(Generic[Numbered]):
    """What was worked out of one kind of instances, and how much was listed then."""

    __slots__ = ("at", "found", "names", "on_cores")

    def __init__(self) -> None:
        self.at = 0
        self.found: Numbered | None = None
        self.names: list[NodeName] = []
        """Of whom it was."""
        self.on_cores: dict[NodeName, _OnCores] = {}


class Columns:
    """The nodes of a cluster with some labels, as the World has them that was asked about last."""

    __slots__ = (
        *("_bound", "_cluster", "_cores", "_cpu", "_declared", "_devices", "_helds", "_left"),
        *(
            "_limited",
            "_listed",
            "_memory",
            "_open",
            "_pods",
            "_pools",
            "_selector",
            "_standings",
            "_storage",
        ),
        *("_unbound", "_used", "_why", "at", "facts", "names", "places"),
    )

    def __init__(self, world: World, cluster: ClusterName, selector: Labels) -> None:
        self._cluster = cluster
        self._selector = selector
        self.at = 0
        """Where on its walk the World stands that this is of."""
        inside = world.objects.inside("node", cluster)
        self.names = [NodeName(node[len(cluster) + 1 :]) for node in inside]
        """Of every node that exists; what is counted is in this order."""
        self.places = {name: place for place, name in enumerate(self.names)}
        """Of every node, where in that order it is."""
        self.facts: dict[NodeName, NodeUpserted] = {}
        """What they say of themselves; never written to once it was given out."""
        self._standings: dict[NodeName, Standing] = {}
        nothing = [0] * len(self.names)
        self._open = [False] * len(nothing)
        """Who takes new instances; of the others the columns have nothing."""
        self._helds = [NOTHING_HELD] * len(nothing)
        """What is held there."""
        self._why: list[str | None] = [None] * len(nothing)
        """Why the others do not."""
        self._limited = [True] * len(nothing)
        self._declared, self._cores, self._cpu = [*nothing], [*nothing], [*nothing]
        self._memory, self._storage, self._devices = [*nothing], [*nothing], [*nothing]
        self._pods = nothing
        self._left: Left | None = None
        self._listed: list[NodeName] = []
        """Whom was looked at, one after the other."""
        self._unbound: dict[Takes, _Known[Counted]] = {}
        self._bound: dict[Hashable, _Known[Counted]] = {}
        self._used: dict[Hashable, _Known[Used]] = {}
        self._pools: Pools | None = None
        self.look_at(world, tuple(self.names))

    def look_at(self, world: World, nodes: Iterable[NodeName]) -> None:
        """Be what the columns are of another World, where none but these nodes are others."""
        facts, standings = self.facts, self._standings
        reclaiming, book = world.rooms.reclaiming, world.book
        looked = len(self._listed)
        for name in nodes:
            subject = node_of(self._cluster, name)
            node = world.objects.fact("node", subject)
            assert node is None or isinstance(node, NodeUpserted)
            place = self.places.get(name)
            if node is None:
                if place is not None:
                    facts = self._own(facts)
                    self._drop(name, place)
                    del facts[name]
                    self._listed.append(name)
                continue
            if place is None:
                place = self._insert(name)
            self._listed.append(name)
            known, leaving = standings.get(name), subject in reclaiming
            if facts.get(name) is not node or known is None or known.reclaiming != leaving:
                standing = Standing(node.labels, node.ready, node.schedulable, leaving)
                if known != standing:
                    standings[name] = standing
                    self._why[place] = why = self._why_not(standing)
                    self._open[place] = why is None
                    self._pools = None
                facts = self._own(facts)
                facts[name] = node
                self._declared[place] = cpu_milli(node)
            self._helds[place] = held = book.get(subject, NOTHING_HELD)
            self._measure(place, node, held)
        self.facts = facts
        if len(self._listed) > looked:
            self._left = None
        if len(self._listed) > MOST_LISTED:
            self._listed = []
            self._unbound = {}
            self._bound = {}
            self._used = {}

    def _own(self, facts: dict[NodeName, NodeUpserted]) -> dict[NodeName, NodeUpserted]:
        """Facts that nobody else has yet."""
        return dict(facts) if facts is self.facts else facts

    def unbound(self, takes: Takes) -> Counted:
        """Of instances that share all they take: what ``ledger.decisions.room`` says of each node."""
        known = self._unbound.get(takes)
        if known is None:
            known = _kept(self._unbound, takes, _Known())
        return self._put_right(known, Counted, lambda place: self._shares(takes, place))

    def used(self, weighed: Hashable, height: Callable[[NodeUpserted, Held], int]) -> Used:
        """How full the nodes are, by the resources that are weighed; also those that take nothing new."""
        known = self._used.get(weighed)
        if known is None:
            known = _kept(self._used, weighed, _Known[Used]())

        def is_used(place: int) -> int:
            return height(self.facts[self.names[place]], self._helds[place])

        return self._put_right(known, Used, is_used)

    def _put_right(
        self,
        known: _Known[Numbered],
        of: Callable[[list[int]], Numbered],
        number: Callable[[int], int],
    ) -> Numbered:
        """What is known of a kind of instances, with another ``number`` where nodes were looked at since."""
        changed = {*self._listed[known.at :]} if known.found is not None else ()
        known.at = len(self._listed)
        if known.found is None or len(changed) > len(self.names) // 2:
            known.found = of([*map(number, range(len(self.names)))])
        elif changed:
            found, places = known.found, self.places
            if known.names is not self.names:
                before = dict(zip(known.names, found.each, strict=True))
                # Who came was looked at.
                found = of([before.get(name, 0) for name in self.names])
            known.found = found.but_for(
                {places[name]: number(places[name]) for name in sorted(changed) if name in places}
            )
        known.names = self.names
        return known.found

    def _shares(self, takes: Takes, place: int) -> int:
        cpu_milli, memory, storage = takes
        if cpu_milli > MILLI * self._cores[place]:
            return 0
        most = self._pods[place]
        if memory:
            most = min(most, self._memory[place] // memory)
        return min(most, self._storage[place] // storage) if storage else most

    def bound(self, one: Hashable, capacity: Callable[[Offer], int]) -> Counted:
        """Of instances that are bound to a part of a node; ``capacity`` says how many one holds."""
        known = self._known_of(one)

        def holds(place: int) -> int:
            return capacity(self._offer(place)) if self._open[place] else 0

        return self._put_right(known, Counted, holds)

    def on_cores(
        self,
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
        known = self._known_of(one)

        def holds(place: int) -> int:
            if not self._open[place]:
                return 0
            most = self._on_cores(known.on_cores, place, ample)
            fits = min(most, self._pods[place])
            if takes.storage:
                fits = min(fits, self._storage[place] // takes.storage)
            if takes.cpu_milli:
                fits = min(fits, self._cpu[place] // takes.cpu_milli)
            memory = self._memory[place]
            if fits and most * takes.memory > memory:
                # Where memory has groups, who comes to which of them matters.
                near = self.facts[self.names[place]].numa
                by_memory = capacity(self._offer(place)) if near else memory // takes.memory
                fits = min(fits, by_memory)
            return fits

        return self._put_right(known, Counted, holds)

    def _known_of(self, one: Hashable) -> _Known[Counted]:
        found = self._bound.get(one)
        return _kept(self._bound, one, _Known()) if found is None else found

    def _on_cores(
        self, known: dict[NodeName, _OnCores], place: int, ample: Callable[[Offer], int]
    ) -> int:
        name, held = self.names[place], self._helds[place]
        node = self.facts[name]
        found = known.get(name)
        if (
            found is None
            or found.node is not node
            or found.pieces is not held.pieces
            or found.numa is not held.numa
        ):
            found = known[name] = _OnCores(node, held.pieces, held.numa, ample(free(node, held)))
        return found.most

    def _offer(self, place: int) -> Offer:
        return free(self.facts[self.names[place]], self._helds[place])

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
            passed_over = {
                name: why
                for name, why in zip(self.names, self._why, strict=True)
                if why is not None
            }
            self._pools = Pools(
                tuple(
                    name
                    for name in self.names
                    if passed_over.get(name, "unschedulable") == "unschedulable"
                ),
                frozenset(name for name in self.names if name not in passed_over),
                passed_over,
                {},
            )
        return self._pools

    def _insert(self, name: NodeName) -> int:
        place = bisect(self.names, name)
        # Those counted so far go by the names as they were.
        self.names = [*self.names[:place], name, *self.names[place:]]
        for column in self._columns():
            column.insert(place, 0)
        self._limited.insert(place, False)
        self._open.insert(place, False)
        self._helds.insert(place, NOTHING_HELD)
        self._why.insert(place, None)
        self._others()
        return place

    def _drop(self, name: NodeName, place: int) -> None:
        self.names = [*self.names[:place], *self.names[place + 1 :]]
        for column in self._columns():
            del column[place]
        del self._limited[place]
        del self._open[place]
        del self._helds[place]
        del self._why[place]
        del self._standings[name]
        for known in self._bound.values():
            known.on_cores.pop(name, None)
        self._others()

    def _others(self) -> None:
        """There are other nodes than before."""
        self.places = {name: place for place, name in enumerate(self.names)}
        self._pools = None

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
