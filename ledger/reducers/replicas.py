"""Which replicas of which volume are on which disk, and what the disks have left for more.

The ledger's own book: how much of a disk is scheduled is the sum of the sizes of the replicas in
force there, kept up as they come and go, and never what somebody reports. Disks are kept by the
node that they are in, since replicas are kept apart by node and zone: a node with disks is a
*host*. What a disk's event says of its node holds for the node, the latest one rules; what the
node's own events say holds besides.

All replicas of a volume have one size, the one in force. A number is given once in the life of a
volume. A replica that an event lost holds nothing any more; until a decision tells of it, it is
remembered that the volume had it.

What raises a question is told in ``ledger.reducers.volumes``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from immutables import Map

from ledger.facts.disk import DiskType, DiskUpserted
from ledger.facts.disk_placement import WhyReleased
from ledger.facts.reason import Deadline
from ledger.reducers.replacing import replace
from ledger.reducers.spelling import BESIDE
from ledger.reducers.trails import Trail
from ledger.reducers.trails import begun as trail_begun
from ledger.units import Bytes, ClusterName, NodeName, Subject, Uid


class Disk(NamedTuple):
    """A disk as it counts."""

    name: str
    maximum: Bytes
    available: Bytes
    reserved: Bytes
    scheduled: Bytes
    """The sizes of the replicas in force on it, added up."""
    type: DiskType
    tags: tuple[str, ...]
    allow: bool
    schedulable: bool
    evicting: bool


class Service(NamedTuple):
    """What a node's own events say; a node that none was about is in service."""

    ready: bool = True
    schedulable: bool = True
    reclaiming: bool = False


@dataclass(frozen=True, slots=True)
class Host:
    """A node with its disks. Its hash is that of its name, so that it can be looked up cheaply."""

    name: NodeName
    """cluster/node; the node alone where the fleet does not name its cluster."""
    cluster: ClusterName = field(hash=False)
    node: NodeName = field(hash=False)
    zone: str = field(hash=False)
    region: str = field(hash=False)
    tags: tuple[str, ...] = field(hash=False)
    reported_ready: bool = field(hash=False)
    """As the events of its disks say."""
    allow: bool = field(hash=False)
    service: Service = field(hash=False)
    disks: tuple[Disk, ...] = field(hash=False)
    """By name."""

    def disk(self, name: str) -> Disk | None:
        """One of its disks."""
        return next((disk for disk in self.disks if disk.name == name), None)

    def evicting(self, name: str) -> bool:
        """Whether what is on a disk of it has to leave."""
        disk = self.disk(name)
        return self.service.reclaiming or (disk is not None and disk.evicting)


class Address(NamedTuple):
    """A disk by its host and its name there."""

    host: NodeName
    disk: str


class Replica(NamedTuple):
    """A replica in force."""

    number: int
    at: Address
    failed: bool = False
    """Whether it is broken and may come back."""
    wait: Deadline | None = None
    """Until when a failed one is waited for; None: it was waited for long enough."""

    @property
    def overdue(self) -> bool:
        """Whether it failed and was waited for long enough."""
        return self.failed and self.wait is None


class Lost(NamedTuple):
    """A replica that was released by an event; no decision has told of it."""

    number: int
    at: Address
    why: WhyReleased


class Copies(NamedTuple):
    """What a volume has."""

    uid: Uid
    size: Bytes
    """In force: that of each replica."""
    used: int = 0
    """The highest number that was given."""
    replicas: tuple[Replica, ...] = ()
    """In force, by number."""
    lost: tuple[Lost, ...] = ()
    missed: tuple[Address, ...] = ()
    """Where those were that events released and for whom no other came yet, whether a decision has told of
    them or not, in the order in which they went."""
    over: bool = False
    """Whether the life that all of this belongs to is over."""


@dataclass(frozen=True)
class Disks:
    """The disks of a fleet and what is on them."""

    hosts: Map[NodeName, Host]
    volumes: Map[Subject, Copies]
    on: Map[Address, Map[Subject, int]]
    """How many replicas of which volumes each disk has; none is not listed."""
    changed: Map[NodeName, None]
    """Hosts that are not as they were when nobody waited to be asked again."""
    rebuilding: Map[NodeName, int]
    """How many replicas of each host are broken and may come back; none is not listed."""
    trail: Trail = field(
        default_factory=trail_begun, compare=False, repr=False, metadata={BESIDE: True}
    )
    """How hosts have changed, for whoever keeps what was found out about them."""


def no_disks() -> Disks:
    """Before the first of them, with a trail of its own."""
    return Disks(Map(), Map(), Map(), Map(), Map())


_NOTHING_CHANGED: Final[Map[NodeName, None]] = Map()
_NOBODY: Final[Map[Subject, int]] = Map()


def host_name(cluster: ClusterName, node: NodeName) -> NodeName:
    """How a node with disks is called."""
    return NodeName(f"{cluster}/{node}") if cluster else node


def replica_name(volume: Subject, number: int) -> str:
    """What everybody calls a replica."""
    return f"{volume}-r{number}"


def still_missed(missed: tuple[Address, ...], *, placed: int, lacking: int) -> tuple[Address, ...]:
    """Whose places are still not taken once so many were placed for missing ones and so many lack.

    Whoever went first is replaced first; if fewer are wanted, nobody waits for the last.
    """
    return missed[placed:][:lacking]


def numbered(volume: Subject, copies: Copies, name: str) -> Replica | None:
    """The replica in force of that name."""
    return next((one for one in copies.replicas if replica_name(volume, one.number) == name), None)


def with_disk(disks: Disks, fact: DiskUpserted, *, reserved: Bytes, service: Service) -> Disks:
    """A disk as it now is, and its node as the disk's event tells of it."""
    name = host_name(fact.cluster, fact.node)
    host = disks.hosts.get(name)
    before = None if host is None else host.disk(fact.disk)
    disk = Disk(
        name=fact.disk,
        maximum=fact.maximum,
        available=fact.available,
        reserved=reserved,
        scheduled=Bytes(0) if before is None else before.scheduled,
        type=fact.type,
        tags=fact.tags,
        allow=fact.allow,
        schedulable=fact.schedulable,
        evicting=fact.evicting,
    )
    others = () if host is None else (one for one in host.disks if one.name != fact.disk)
    after = Host(
        name=name,
        cluster=fact.cluster,
        node=fact.node,
        zone=fact.zone,
        region=fact.region,
        tags=fact.node_tags,
        reported_ready=fact.node_ready,
        allow=fact.node_allow,
        service=service,
        disks=tuple(sorted((disk, *others))),
    )
    return disks if after == host else _with_host(disks, after)


def with_service(disks: Disks, host: NodeName, service: Service) -> Disks:
    """A host as its own events tell of it; nothing where it has no disks."""
    before = disks.hosts.get(host)
    if before is None or before.service == service:
        return disks
    return _with_host(disks, replace(before, service=service))


def without_disk(disks: Disks, at: Address) -> Disks:
    """A disk is gone; nothing is in force on it any more. A node without disks is no host."""
    assert at not in disks.on, f"{at} still holds replicas"
    host = disks.hosts[at.host]
    left = tuple(disk for disk in host.disks if disk.name != at.disk)
    if not left:
        gone = disks.hosts.delete(at.host)
        return replace(disks, hosts=gone, trail=disks.trail.on([at.host]))
    return _with_host(disks, replace(host, disks=left))


def with_copies(disks: Disks, volume: Subject, after: Copies | None) -> Disks:
    """What a volume has, in the place of what it had: its bytes are given back and taken."""
    before = disks.volumes.get(volume)
    if before == after:
        return disks
    hosts, on, changed, rebuilding = disks.hosts, disks.on, disks.changed, disks.rebuilding
    booked: list[NodeName] = []
    for copies, sign in ((before, -1), (after, 1)):
        if copies is None:
            continue
        for one in copies.replicas:
            on = _counted(on, one.at, volume, sign)
            hosts = hosts.set(one.at.host, _booked(hosts[one.at.host], one.at, sign * copies.size))
            changed = changed.set(one.at.host, None)
            booked.append(one.at.host)
            if one.wait is not None:
                count = rebuilding.get(one.at.host, 0) + sign
                rebuilding = (
                    rebuilding.set(one.at.host, count) if count else rebuilding.delete(one.at.host)
                )
    volumes = disks.volumes
    volumes = volumes.delete(volume) if after is None else volumes.set(volume, after)
    trail = disks.trail.on(booked) if booked else disks.trail
    return Disks(hosts, volumes, on, changed, rebuilding, trail)


def seen(disks: Disks) -> Disks:
    """Nobody waits to be asked again: what changes from here on is all that can have changed."""
    return replace(disks, changed=_NOTHING_CHANGED) if disks.changed else disks


def volumes_on(disks: Disks, addresses: Iterable[Address]) -> list[Subject]:
    """Who has replicas on one of these disks, in order."""
    found: set[Subject] = set()
    for at in addresses:
        found.update(disks.on.get(at, _NOBODY))
    return sorted(found)


def addresses(host: Host) -> list[Address]:
    """The disks of a host, in order."""
    return [Address(host.name, disk.name) for disk in host.disks]


def gave_back(before: Disks, after: Disks, addresses: Iterable[Address]) -> bool:
    """Whether one of these disks has less scheduled than before."""
    for at in addresses:
        was, is_ = before.hosts.get(at.host), after.hosts.get(at.host)
        disk = None if was is None else was.disk(at.disk)
        now = None if is_ is None else is_.disk(at.disk)
        if disk is not None and now is not None and now.scheduled < disk.scheduled:
            return True
    return False


def rebuilds_less(before: Disks, after: Disks, addresses: Iterable[Address], limit: int) -> bool:
    """Whether one of these hosts rebuilds fewer replicas than before, where that were too many."""
    was, is_ = before.rebuilding, after.rebuilding
    return was is not is_ and any(
        is_.get(at.host, 0) < was.get(at.host, 0) >= limit for at in addresses
    )


def busy(disks: Disks, limit: int) -> frozenset[NodeName]:
    """The hosts that rebuild as many replicas as they may."""
    if not limit:
        return frozenset(disks.hosts)
    return frozenset(host for host, count in disks.rebuilding.items() if count >= limit)


def _with_host(disks: Disks, host: Host) -> Disks:
    return replace(
        disks,
        hosts=disks.hosts.set(host.name, host),
        changed=disks.changed.set(host.name, None),
        trail=disks.trail.on([host.name]),
    )


def _booked(host: Host, at: Address, size: int) -> Host:
    return replace(
        host,
        disks=tuple(
            disk._replace(scheduled=Bytes(disk.scheduled + size)) if disk.name == at.disk else disk
            for disk in host.disks
        ),
    )


def _counted(
    on: Map[Address, Map[Subject, int]], at: Address, volume: Subject, more: int
) -> Map[Address, Map[Subject, int]]:
    there = on.get(at, _NOBODY)
    count = there.get(volume, 0) + more
    there = there.set(volume, count) if count else there.delete(volume)
    return on.set(at, there) if there else on.delete(at)
