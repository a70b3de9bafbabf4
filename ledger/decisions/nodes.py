"""The nodes of one cluster as a turn sees them: who may take what, and what each has left.

A node is *seen* by a placement when its cluster and it are ready, it is not about to be taken away
and has the labels that are selected by; one that is cordoned is seen with no capacity, so that what
is on it counts. What pods of the workload itself hold there beyond its instances is free to it, and
only to it: an instance that comes to where its pod is takes nothing more. A turn takes and gives
back as it goes: what it took is not there for its next part, and nothing of that is in the World
before the decision is.

Who may take what, and how many fit on a node as the World has it, is known of all nodes at once
(``ledger.decisions.columns``); only nodes that the turn or the workload's own pods make others are
measured here.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from heapq import merge
from typing import Final, NamedTuple, TypeVar, cast

from ledger.core.capacity.amounts import Core, Device, NumaGroup
from ledger.core.capacity.merge import Load
from ledger.core.capacity.reallocation import Change, Reallocated
from ledger.core.capacity.reallocation import Holding as Bound
from ledger.core.capacity.request import InstanceRequest
from ledger.core.capacity.volume_reallocation import NoDevice
from ledger.core.capacity.volume_requests import volume_requests
from ledger.core.capacity.volumes import Placed
from ledger.core.placement.question import UNUSED, Node
from ledger.core.spot.labels import CapacityClass
from ledger.decisions import room, versions
from ledger.decisions.columns import Counted, Pools, Used, columns
from ledger.decisions.fullness import height, load_of, weighed
from ledger.decisions.room import MILLI, Wanted, wanted
from ledger.decisions.shortlist import Shortlist
from ledger.decisions.versions import PlacementRules
from ledger.errors import InvalidRequest
from ledger.facts.cluster import Labels, NodeUpserted
from ledger.facts.deployment import Instance, Terms, Volume
from ledger.facts.workload import DeploySpec, Request, WorkloadUpserted
from ledger.reducers import book, pods
from ledger.reducers.book import NOTHING_HELD, Amounts, Held, Offer, Shared
from ledger.reducers.instances import holding, node_of
from ledger.reducers.world import World
from ledger.units import Bytes, ClusterName, NodeName, Subject

Found = TypeVar("Found")

_UNLOADED: Final = Load(UNUSED, UNUSED, 0)


class Onlookers(NamedTuple):
    """All nodes of a cluster that a placement among some of them says something about."""

    names: tuple[NodeName, ...]
    """In order."""
    takers: frozenset[NodeName]
    """Those of the pool that take new instances."""
    passed_over: Counter[str]
    """How many others there are, by what is in their way. Nobody writes to it."""


class Plan(NamedTuple):
    """What one more instance on a node is bound to."""

    cores: tuple[tuple[str, int], ...]
    group: str
    volumes: tuple[Volume, ...]


UNBOUND: Final = Plan((), "", ())


@dataclass(slots=True)
class Nodes:
    """The nodes of a cluster, for instances that all want the same."""

    world: World
    workload: Subject
    cluster: ClusterName
    rules: PlacementRules
    one: Wanted | None
    """What one instance takes; None where that means nothing: then nothing fits anywhere."""
    selector: Labels
    facts: Mapping[NodeName, NodeUpserted] = field(init=False)
    """Every node that exists, by name."""
    seen: tuple[NodeName, ...] = ()
    schedulable: frozenset[NodeName] = frozenset()
    """Of those seen."""
    passed_over: Mapping[NodeName, str] = field(default_factory=dict)
    """Who can take nothing, and why, in the order of their names."""
    held: dict[NodeName, Held] = field(default_factory=dict)
    """Of the nodes that the turn has changed, or that the workload's own pods hold room of."""
    _pools: Pools = field(init=False)
    _found: Counted | None = None
    _used: Used | None = None
    """How full every one of them was when the turn began."""
    _capacities: dict[Offer, int] = field(default_factory=dict)
    _shared: dict[Shared, int] = field(default_factory=dict)
    _names: Sequence[NodeName] = ()
    _places: Mapping[NodeName, int] = field(default_factory=dict)
    _by_name: dict[NodeName, int] = field(default_factory=dict)
    """What was measured here."""
    _shortlists: dict[tuple[str, int], Shortlist] = field(default_factory=dict)
    _apart: set[NodeName] = field(default_factory=set)
    """Those that hold something else by now than the columns say."""

    def __post_init__(self) -> None:
        """Look at all of them at once."""
        known = self.world.clusters.get(self.cluster)
        nodes = columns(self.world, self.cluster, self.selector)
        self.facts, self._pools = nodes.facts, nodes.pools
        if known is None or not known.ready:
            self.passed_over = dict.fromkeys(nodes.names, "cluster_not_ready")
        else:
            self.seen, self.schedulable, self.passed_over, _ = self._pools
            self._names, self._places = nodes.names, nodes.places
        for crew, more in pods.beyond(self.world, self.workload):
            name = NodeName(crew.node.partition("/")[2])
            if crew.cluster == self.cluster and name in self.facts:
                self.held[name] = book.added(self._held(name), more, -1)
                self._forget(name)

    @property
    def _counted(self) -> Counted | None:
        """How many every one of them held when the turn began; None where nothing fits or nobody is seen."""
        if self._found is None and self.one is not None and self._names:
            # Whoever changes nothing, or only what is where it is, does not ask.
            self._found = room.counted(columns(self.world, self.cluster, self.selector), self.one)
        return self._found

    def matches(self, name: NodeName) -> bool:
        """Whether a node has the labels that are selected by."""
        if not self.selector:
            return True
        labels = self.facts[name].labels
        return all(label in labels for label in self.selector)

    def takes_work(self, name: NodeName) -> bool:
        """Whether a node is ready, not cordoned and not about to be taken away."""
        node = self.facts.get(name)
        return (
            node is not None
            and node.ready
            and node.schedulable
            and node_of(self.cluster, name) not in self.world.rooms.reclaiming
        )

    def class_of(self, name: NodeName) -> CapacityClass | None:
        """Which kind of capacity a node is; None where its label does not say."""
        spot = self.world.policy.spot
        return _class_of(self.facts[name].labels, spot.label, spot.on_demand, spot.spot)

    def offer(self, name: NodeName) -> Offer:
        """What a node has free by now."""
        return book.free(self.facts[name], self._held(name))

    def shared(self, name: NodeName) -> Shared:
        """The same of what its instances share."""
        return book.shared(self.facts[name], self._held(name))

    def capacity(self, name: NodeName) -> int:
        """How many more it holds, whether or not it takes new ones."""
        if self.one is None:
            return 0
        # Who takes nothing new may have room as well, for what is there already; that is not counted.
        if name in self.schedulable and name not in self._apart:
            counted = self._found or self._counted
            assert counted is not None, "somebody is seen"
            return counted.each[self._places[name]]
        found = self._by_name.get(name)
        if found is None:
            found = self._by_name[name] = self._measured(name, self.one)
        return found

    def _measured(self, name: NodeName, one: Wanted) -> int:
        """Nodes that have the same of what matters are measured once."""
        found: int | None
        if not one.bound:
            shared = self.shared(name)
            found = self._shared.get(shared)
            if found is None:
                found = self._shared[shared] = room.shared_capacity(shared, one)
            return found
        offer = self.offer(name)
        found = self._capacities.get(offer)
        if found is None:
            found = self._capacities[offer] = room.capacity(offer, one)
        return found

    @property
    def has_classes(self) -> bool:
        """Whether any node of the cluster is known to be of a class."""
        return self._of_labels("known", lambda: any(map(self.class_of, self.facts)))

    def pool(self, among: str) -> tuple[NodeName, ...]:
        """Those seen that are of a class, or all of them."""
        if among == "all":
            return self.seen
        return self._of_labels(
            among, lambda: tuple(name for name in self.seen if self.class_of(name) == among)
        )

    def onlookers(self, among: str) -> Onlookers:
        """Who is asked about a placement, or passed over by it."""
        return self._of_labels(
            f"onlookers of {among}",
            lambda: Onlookers(
                tuple(sorted({*self.pool(among), *self.passed_over})),
                self.schedulable.intersection(self.pool(among)),
                Counter(self.passed_over.values()),
            ),
        )

    def not_asked(self, among: str) -> Sequence[tuple[NodeName, str]]:
        """Who can take nothing or is not of a pool, and why, in order."""
        if among == "all" or not self.seen:
            return [*self.passed_over.items()]
        return self._of_labels(
            f"not among {among}",
            lambda: sorted(
                {
                    **self.passed_over,
                    **{name: "other_class" for name in self.seen if self.class_of(name) != among},
                }.items()
            ),
        )

    def others(self, counts: Counter[NodeName]) -> set[NodeName]:
        """Those that hold some, or are no more as they were when the turn began."""
        return self._apart.union(counts)

    def with_room(self, takers: frozenset[NodeName], least: int) -> int:
        """How many of these, who all take new instances, had room for so many when the turn began."""
        counted = self._counted
        assert counted is not None, "nobody takes what means nothing"
        if len(takers) == len(self.schedulable):
            return counted.holding(least)
        names, ranks = self._names, counted.ranks[: counted.holding(least)]
        return sum(names[counted.place_of(rank)] in takers for rank in ranks)

    def had_room(self, name: NodeName, least: int) -> bool:
        """Whether one of them had."""
        counted = self._counted
        return counted is not None and counted.each[self._places[name]] >= least

    def pool_of(self, among: str) -> frozenset[NodeName]:
        """Those of ``pool``, in no order."""
        return self._of_labels(f"set of {among}", lambda: frozenset(self.pool(among)))

    def _takers(self, among: str) -> frozenset[NodeName]:
        """Those of them that take new instances."""
        return self.schedulable if among == "all" else self.onlookers(among).takers

    def _of_labels(self, what: str, work_out: Callable[[], Found]) -> Found:
        """What only depends on who is seen, and on which class each node is of."""
        spot = self.world.policy.spot
        known = self._pools.known
        key = (what, bool(self.seen), spot.label, spot.on_demand, spot.spot)
        if key not in known:
            known[key] = work_out()
        return cast("Found", known[key])

    def open_to(
        self, among: str, wanted: int, counts: Counter[NodeName], *, limit: int
    ) -> Sequence[NodeName]:
        """The nodes that matter to AUTO; all of a pool if they have not room enough together."""
        shortlist = self._shortlists.get((among, limit))
        if shortlist is None:
            shortlist = self._shortlists[among, limit] = self._shortlist(among, counts, limit)
        # One more than can get any shows how far the last of them were raised.
        first = shortlist.first(wanted + 1, counts, self.capacity)
        return first if len(first) >= wanted else self.pool(among)

    def _shortlist(self, among: str, counts: Counter[NodeName], limit: int) -> Shortlist:
        pool = self._takers(among)
        apart = pool.intersection(self.others(counts))
        order: Iterable[NodeName] = ()
        if self._counted is not None:
            order = _in_order(self._counted, self._names, pool)
        return Shortlist(order, apart, counts, self.capacity, limit=limit)

    def by_room(self, among: str, *, least_first: bool = False) -> Iterator[tuple[int, NodeName]]:
        """Those of a pool that have room, with how much, from the one with most on, or with least.

        Where most comes first, equals come by their names.
        """
        pool = self._takers(among)
        counted = self._counted
        if counted is None:
            return iter(())
        sign = 1 if least_first else -1
        apart = sorted(
            (sign * has_room, name)
            for name in pool & self._apart
            if (has_room := self.capacity(name))
        )
        ranks = reversed(counted.ranks) if least_first else counted.ranks
        untouched = (
            (sign * counted.each[place], name)
            for place in map(counted.place_of, ranks)
            if (name := self._names[place]) in pool and name not in self._apart
        )
        return ((sign * has_room, name) for has_room, name in merge(apart, untouched))

    def by_usage(self, among: str) -> Iterator[tuple[int, NodeName]]:
        """The nodes of a pool with how full they are, from the least used on; equals by their names."""
        one, pool = self.one, self.pool_of(among)
        if one is None:
            return iter(())
        what = weighed(one)
        used = self._used
        if used is None:
            nodes = columns(self.world, self.cluster, self.selector)
            used = self._used = nodes.used(what, partial(height, what=what))
        apart = sorted(
            (height(self.facts[name], self._held(name), what), name) for name in pool & self._apart
        )
        untouched = (
            (used.each[place], name)
            for place in map(used.place_of, used.ranks)
            if (name := self._names[place]) in pool and name not in self._apart
        )
        return merge(apart, untouched)

    def load(self, name: NodeName) -> Load:
        """How full a node is, and the part of it that one more instance takes."""
        if self.one is None:
            return _UNLOADED
        return load_of(self.facts[name], self._held(name), self.one)

    def as_asked(
        self, names: Iterable[NodeName], counts: Counter[NodeName], *, loaded: bool
    ) -> list[Node]:
        """Nodes as a strategy is asked about them."""
        schedulable = self.schedulable
        nodes = []
        for name in names:
            usage = rate = UNUSED
            if loaded:
                found = self.load(name)
                usage, rate = found.usage, found.rate
            capacity = self.capacity(name) if name in schedulable else 0
            nodes.append(Node(name, capacity, counts[name], usage, rate))
        return nodes

    def plans(self, name: NodeName, wanted: int) -> Sequence[Plan]:
        """What the next so many instances on a node are bound to."""
        one = self.one
        assert one is not None, "nothing fits where nothing is wanted"
        if not (one.cpu_bind or one.volumes):
            return [UNBOUND] * wanted
        offer = self.offer(name)
        cores: Sequence[tuple[tuple[tuple[str, int], ...], str]] = [((), "")] * wanted
        if one.cpu_bind:
            plans = self.rules.cpu_plans(
                room.cpu_node(offer), room.bound(offer, one), wanted=wanted
            )
            cores = [(tuple(sorted(plan.cores.items())), str(plan.group)) for plan in plans]
        volumes: Sequence[tuple[Volume, ...]] = [()] * wanted
        if one.volumes:
            capacity = self.rules.volume_capacity(
                room.devices(offer), one.volumes, max_deploy=one.max_deploy
            )
            # Mounts alone need no place: then there are no plans.
            volumes = [_volumes(plan) for plan in capacity.plans(wanted)] or volumes
        assert len(cores) == len(volumes) == wanted, f"{name} has not the room it was counted with"
        return [Plan(*bound, on) for bound, on in zip(cores, volumes, strict=True)]

    def reallocated(self, instance: Instance, terms: Terms) -> Instance | None:
        """The instance with other terms where it is; None if it cannot have them there."""
        one = self.one
        assert one is not None, "nothing is changed to what means nothing"
        before, offer = holding(instance), self.offer(instance.node)
        if not _enough(offer.storage + before.storage, terms.storage):
            return None
        if one.cpu_bind and not (
            room.whole(offer, one) and _enough(offer.cpu + before.cpu, one.cpu_milli)
        ):
            return None
        was, version = instance.terms.request, self.world.policy.algorithms.placement
        bound = _bound_anew(version, offer, was, instance.cores, instance.group, one)
        if bound is None:
            return None
        volumes = instance.volumes
        if was.volumes != terms.request.volumes:
            plan = self.rules.reallocate_volumes(
                room.devices(offer),
                asked=volume_requests(was.volumes),
                held=tuple(_placed(volume) for volume in instance.volumes),
                requests=one.volumes,
            )
            if isinstance(plan, NoDevice):
                return None
            volumes = _volumes(plan)
        return instance._replace(
            terms=terms,
            cores=bound[0],
            group=bound[1],
            volumes=volumes,
        )

    def take(self, instance: Instance) -> None:
        """An instance is there."""
        self._change(instance, 1)

    def give_back(self, instance: Instance) -> None:
        """An instance is there no more; one whose node is gone takes nothing with it."""
        if instance.node in self.facts:
            self._change(instance, -1)

    def _change(self, instance: Instance, times: int) -> None:
        name = instance.node
        self.held[name] = book.added(self._held(name), holding(instance), times)
        self._forget(name)

    def _forget(self, name: NodeName) -> None:
        """What was measured of a node holds no more."""
        self._by_name.pop(name, None)
        self._apart.add(name)
        if name in self.schedulable:
            for (among, _), shortlist in self._shortlists.items():
                if among == "all" or among == self.class_of(name):
                    shortlist.changed.add(name)

    def _held(self, name: NodeName) -> Held:
        held = self.held.get(name)
        if held is None:
            return self.world.book.get(node_of(self.cluster, name), NOTHING_HELD)
        return held

    def as_it_was(self, held: dict[NodeName, Held]) -> None:
        """Undo what was taken and given back since ``held`` was kept."""
        for name in self.held.keys() | held.keys():
            self._forget(name)
        self.held = held


def _in_order(
    counted: Counted, names: Sequence[NodeName], pool: Collection[NodeName]
) -> Iterator[NodeName]:
    """Those of a pool with room: who has most comes first, and of equals who is named first."""
    for rank in counted.ranks:
        name = names[counted.place_of(rank)]
        if name in pool:
            yield name


# The nodes of a fleet are labelled in a few ways.
@lru_cache(maxsize=1 << 12)
def _class_of(labels: Labels, label: str, on_demand: str, spot: str) -> CapacityClass | None:
    value = dict(labels).get(label)
    if value == on_demand:
        return "od"
    return "spot" if value == spot else None


# An edit that is refused is tried again whenever something on the nodes of its cluster grew, which
# is few of them: of the others the same is asked as before.
@lru_cache(maxsize=1 << 12)
def _bound_anew(
    version: int,
    offer: Offer,
    was: Request,
    cores: Amounts,
    group: str,
    one: Wanted,
) -> tuple[Amounts, str] | None:
    """The cores and the group of an instance that wants something else than it was; None: no room."""
    found = versions.placement(version).reallocate(
        room.cpu_node(offer),
        Bound(
            _amounts(was),
            {Core(core): pieces for core, pieces in cores},
            NumaGroup(group),
        ),
        Change(
            cpu_request=one.cpu - Fraction(was.cpu, MILLI),
            memory_request=one.memory - was.memory,
            cpu_bind=one.cpu_bind,
        ),
        share_base=offer.share_base,
        max_share=one.max_share,
    )
    if not isinstance(found, Reallocated):
        return None
    return tuple(sorted(found.holding.cores.items())), str(found.holding.group)


def _amounts(request: Request) -> InstanceRequest:
    return InstanceRequest(
        cpu_request=Fraction(request.cpu, MILLI),
        cpu_bind=request.cpu_bind,
        memory_request=request.memory,
    )


def _enough(free: int, wanted: int) -> bool:
    """Whether what is free is enough; who wants nothing finds it anywhere."""
    return wanted == 0 or free >= wanted


def _volumes(plan: Sequence[Placed]) -> tuple[Volume, ...]:
    return tuple(sorted(Volume(one.request.text, str(one.device), Bytes(one.size)) for one in plan))


def _placed(volume: Volume) -> Placed:
    (request,) = volume_requests([volume.text])
    return Placed(request, Device(volume.device), volume.size)


def nodes_of(
    world: World, cluster: ClusterName, workload: WorkloadUpserted, deploy: DeploySpec
) -> Nodes:
    """The nodes of a cluster for instances of a workload."""
    try:
        one = wanted(world, workload)
    except InvalidRequest:
        one = None
    rules = versions.placement(world.policy.algorithms.placement)
    subject = Subject(f"{workload.namespace}/{workload.name}")
    return Nodes(world, subject, cluster, rules, one, deploy.node_selector)
