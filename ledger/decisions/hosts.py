"""Hosts as the core weighs them: built when a host changes, and not again for every question.

A fleet has thousands of disks and a question is about all of them; between two questions few have
changed. So what was made of hosts is kept - their digests, and the grounds that volumes are placed
on (``ledger.core.disk.ground``) - and made again of those that are not the same any more.

Which ones may have changed is told by the trail of the World that is asked about
(``ledger.reducers.trails``); off the trail all of them are looked at. So nothing here says what that World
does not, whichever Worlds were asked about in between.
"""

from bisect import bisect_left, insort
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

from immutables import Map

from ledger.core.disk.eligibility import Demands, Traits, eligible
from ledger.core.disk.ground import Footing, Ground
from ledger.core.disk.scheduling import Drive, Node, Rules, Volume, switched_off
from ledger.core.disk.space import Disk, Limits, Shortfall, headroom
from ledger.decisions.gathered_digest import GatheredDigest
from ledger.facts.canonical import digest
from ledger.facts.policy import DiskPolicy
from ledger.reducers.replicas import Disks, Host
from ledger.reducers.trails import Walk
from ledger.reducers.world import World
from ledger.units import FleetName, NodeName

_REMEMBERED: Final = 1 << 14
"""Changes of hosts; who has missed more had better begin anew."""

_KINDS: Final = 64
"""Selectors and rules of volumes, and sizes of each, of which grounds are kept."""

_MANY: Final = 8
"""One in so many nodes that take less than they have are not put in for each size."""

_FLEETS: Final = 32
"""Whose hosts are kept: those of the fleets that were asked about last."""


def _node(host: Host) -> Node:
    """A host with its disks; none of them knows of any volume's replicas by name."""
    service = host.service
    return Node(
        name=host.name,
        zone=host.zone,
        region=host.region,
        tags=host.tags,
        allow=host.allow,
        ready=host.reported_ready and service.ready,
        schedulable=service.schedulable,
        drives=tuple(
            Drive(
                disk=Disk(
                    node=host.name,
                    name=disk.name,
                    maximum=disk.maximum,
                    available=disk.available,
                    reserved=disk.reserved,
                    scheduled=disk.scheduled,
                ),
                traits=Traits(
                    type=disk.type,
                    tags=disk.tags,
                    allow=disk.allow,
                    evicting=disk.evicting or service.reclaiming,
                ),
                schedulable=disk.schedulable,
            )
            for disk in host.disks
        ),
    )


def with_own(
    there: Node, names: Mapping[str, frozenset[str]], scheduled: Mapping[str, int]
) -> Node:
    """A node as a volume finds it: by disk, its own replicas there, and how much more is scheduled."""
    return replace(
        there,
        drives=tuple(
            replace(
                drive,
                disk=replace(
                    drive.disk, scheduled=drive.disk.scheduled + scheduled.get(drive.disk.name, 0)
                ),
                scheduled_replicas=names.get(drive.disk.name, frozenset()),
            )
            for drive in there.drives
        ),
    )


def limits_of(policy: DiskPolicy) -> Limits:
    """How full disks may be."""
    return Limits(
        over_provisioning_pct=policy.over_provisioning_pct,
        min_available_pct=policy.min_available_pct,
        disk_pressure_pct=policy.disk_pressure_pct,
    )


def largest_taken(there: Node, demands: Demands, policy: DiskPolicy) -> int:
    """The largest replica that a disk of a node takes, as far as no other replica has a say in it.

    Below zero where none takes any.
    """
    largest, limits = -1, limits_of(policy)
    for drive in there.drives if there.takes_replicas else ():
        misfit = eligible(
            drive.traits,
            demands,
            allow_empty_disk_selector=policy.allow_empty_disk_selector,
        )
        if switched_off(drive) is None and misfit is None:
            most = headroom(drive.disk, limits, actual=0)
            if not isinstance(most, Shortfall):
                largest = max(largest, most)
    return largest


def _fingerprint(host: Host) -> bytes:
    """Digest of all that a question reads of a host."""
    service = host.service
    return digest(
        [
            [host.name, host.zone, host.region, host.tags],
            [host.reported_ready, host.allow, service.ready, service.schedulable],
            service.reclaiming,
            [list(disk) for disk in host.disks],
        ]
    )


class Hosts:
    """The hosts of a fleet as they were last asked about, with what was made of them."""

    __slots__ = (
        "_at", "_fingerprints", "_gathered", "_hosts", "_kinds", "_largest", "_nodes", "_turned",
        "_walk",
    )  # fmt: skip

    def __init__(self) -> None:
        self._hosts: Map[NodeName, Host] = Map()
        """As they were asked about last."""
        self._walk: Walk | None = None
        """Along which the World stood that was asked about, and where."""
        self._at = 0
        self._nodes: dict[NodeName, Node] = {}
        """Made when somebody asks for one; so are the next."""
        self._fingerprints: dict[NodeName, bytes] = {}
        self._gathered = _Gathered()
        self._largest: dict[tuple[Demands, DiskPolicy], dict[NodeName, int]] = {}
        self._turned = _Turned()
        self._kinds: dict[tuple[object, ...], _Kind] = {}

    def look(self, disks: Disks) -> None:
        """Find out which hosts are not what they were."""
        before, hosts, trail = self._hosts, disks.hosts, disks.trail
        if hosts is before:
            return
        on_the_way = trail.between(self._at) if trail.walk is self._walk else {*before, *hosts}
        self._hosts, self._walk, self._at = hosts, trail.walk, trail.at
        turned = [name for name in on_the_way if _differs(before.get(name), hosts.get(name))]
        turned.sort()
        for name in turned:
            self._nodes.pop(name, None)
            self._fingerprints.pop(name, None)
        for largest in self._largest.values():
            for name in turned:
                largest.pop(name, None)
        self._turned.add(turned)

    def node(self, name: NodeName) -> Node:
        """One of the hosts."""
        found = self._nodes.get(name)
        if found is None:
            found = self._nodes[name] = _node(self._hosts[name])
        return found

    def fingerprint(self, name: NodeName) -> bytes:
        """Digest of all that a question reads of one of the hosts."""
        found = self._fingerprints.get(name)
        if found is None:
            found = self._fingerprints[name] = _fingerprint(self._hosts[name])
        return found

    def fingerprints(self) -> bytes:
        """Digest of all that a question reads of all hosts."""
        return self._gathered.digest(self, self._turned)

    def largest_of_changed(self, world: World, demands: Demands) -> int:
        """The largest replica that one of the hosts takes which changed since somebody waits."""
        policy = world.policy.disk
        found = self._largest.get((demands, policy))
        if found is None:
            if len(self._largest) >= _KINDS:
                self._largest.clear()
            found = self._largest[demands, policy] = {}
        largest = -1
        for name in world.disks.changed:
            if name in self._hosts:
                most = found.get(name)
                if most is None:
                    most = found[name] = largest_taken(self.node(name), demands, policy)
                largest = max(largest, most)
        return largest

    def ground(self, volume: Volume, rules: Rules) -> Ground:
        """What the hosts have to offer to a kind of volume; its own replicas count as anybody's."""
        key = (
            volume.demands,
            volume.node_selector,
            rules.limits,
            rules.allow_empty_node_selector,
            rules.allow_empty_disk_selector,
        )
        kind = self._kinds.pop(key, None)
        if kind is None:
            kind = _Kind(volume, rules)
        self._kinds[key] = kind
        if len(self._kinds) > _KINDS:
            del self._kinds[next(iter(self._kinds))]
        return kind.ground(volume.size, self, self._turned)

    @property
    def names(self) -> list[NodeName]:
        """Of all hosts, in order."""
        return sorted(self._hosts)

    def __contains__(self, name: NodeName) -> bool:
        """Whether there is a host of that name."""
        return name in self._hosts


def hosts_of(world: World) -> Hosts:
    """The hosts of a World; good for one question."""
    hosts = _kept(world.fleet)
    hosts.look(world.disks)
    return hosts


@lru_cache(maxsize=_FLEETS)
def _kept(fleet: FleetName) -> Hosts:
    """What is kept from question to question; another fleet's would serve, but differ in all."""
    assert fleet, "somebody's hosts"
    return Hosts()


def _differs(was: Host | None, is_: Host | None) -> bool:
    return was is not is_ and was != is_


class _Turned:
    """Which hosts are not what they were, one after the other."""

    __slots__ = ("_forgotten", "_names")

    def __init__(self) -> None:
        self._forgotten = 0
        """How many are not told of any more."""
        self._names: list[NodeName] = []

    @property
    def count(self) -> int:
        """How many there have been."""
        return self._forgotten + len(self._names)

    def add(self, names: list[NodeName]) -> None:
        """These as well."""
        self._names += names
        if len(self._names) > _REMEMBERED:
            self._forgotten += len(self._names)
            self._names = []

    def since(self, count: int) -> list[NodeName] | None:
        """Those after the first so many; None where that is not known any more."""
        if count < self._forgotten:
            return None
        return sorted(set(self._names[count - self._forgotten :]))


class _Kind:
    """The grounds of volumes that differ in their size alone.

    Where few nodes take less than they have, one ground serves all sizes: the offers of these few are
    put there for the size that is asked for. Where they are many, each size has a ground of its own.
    """

    __slots__ = (
        "_footings", "_ground", "_grounds", "_rules", "_seen", "_tight", "_tightened", "_volume",
    )  # fmt: skip

    def __init__(self, volume: Volume, rules: Rules) -> None:
        self._volume = volume
        self._rules = rules
        self._footings: dict[NodeName, Footing] = {}
        self._seen = -1
        """How many turned hosts are accounted for; none at all yet."""
        self._tight: list[tuple[int, NodeName]] = []
        """The nodes with disks, by the size that all of these still take."""
        self._ground = Ground(())
        """Of what nodes offer to whom all of these disks take."""
        self._tightened: dict[NodeName, int] = {}
        """But for these, which are as they are for a size."""
        self._grounds: dict[int, tuple[Ground, int]] = {}
        """By size, with how many turned hosts each accounts for."""

    def ground(self, size: int, hosts: Hosts, turned: _Turned) -> Ground:
        """The ground for volumes of a size, good until another one is asked for."""
        self._judge(hosts, turned)
        tight = {name for _, name in self._tight[: bisect_left(self._tight, (size, ""))]}
        if _MANY * len(tight) > len(self._footings):
            return self._of_its_own(size, turned)
        for name in sorted(self._tightened.keys() - tight):
            self._ground.put(self._footings[name].offer)
            del self._tightened[name]
        for name in sorted(tight):
            if self._tightened.get(name) != size:
                self._ground.put(self._footings[name].at(size))
                self._tightened[name] = size
        return self._ground

    def _of_its_own(self, size: int, turned: _Turned) -> Ground:
        ground, seen = self._grounds.pop(size, (None, -1))
        names = turned.since(seen)
        if ground is None or names is None or 4 * len(names) > len(self._footings):
            ground = Ground(footing.at(size) for footing in self._footings.values())
        else:
            for name in names:
                footing = self._footings.get(name)
                if footing is None:
                    ground.drop(name)
                else:
                    ground.put(footing.at(size))
        self._grounds[size] = ground, turned.count
        if len(self._grounds) > _KINDS:
            del self._grounds[next(iter(self._grounds))]
        return ground

    def _judge(self, hosts: Hosts, turned: _Turned) -> None:
        """Judge the nodes that are not what they were."""
        names = turned.since(self._seen)
        self._seen = turned.count
        if names is None or 4 * len(names) > len(self._footings):
            # So many that it is less to begin anew than to take out and put in.
            self._footings = {name: self._judged(hosts, name) for name in hosts.names}
            self._ground = Ground(footing.offer for footing in self._footings.values())
            self._tight = sorted(
                (footing.least, name) for name, footing in self._footings.items() if footing.most
            )
            self._tightened.clear()
            return
        for name in names:
            was = self._footings.pop(name, None)
            is_ = self._judged(hosts, name) if name in hosts else None
            if is_ is not None:
                self._footings[name] = is_
            if was == is_:
                continue
            self._tightened.pop(name, None)
            if was is not None and was.most:
                del self._tight[bisect_left(self._tight, (was.least, name))]
            if is_ is None:
                self._ground.drop(name)
                continue
            self._ground.put(is_.offer)
            if is_.most:
                insort(self._tight, (is_.least, name))

    def _judged(self, hosts: Hosts, name: NodeName) -> Footing:
        return Footing.of(hosts.node(name), self._volume, self._rules)


class _Gathered:
    """The digest of all hosts."""

    __slots__ = ("_digest", "_seen", "_told")

    def __init__(self) -> None:
        self._digest = GatheredDigest()
        self._told: dict[NodeName, bytes] = {}
        """The fingerprints in it."""
        self._seen = -1
        """How many turned hosts are accounted for; none at all yet."""

    def digest(self, hosts: Hosts, turned: _Turned) -> bytes:
        """Of all of them as they are."""
        names = turned.since(self._seen)
        self._seen = turned.count
        if names is None:
            names = sorted(self._told.keys() | hosts.names)
        for name in names:
            was = self._told.pop(name, None)
            if was is not None:
                self._digest.drop(was)
            if name in hosts:
                is_ = self._told[name] = hosts.fingerprint(name)
                self._digest.add(is_)
        return self._digest.digest()
