"""Whether a volume whose replicas are all sound should move one, and which copy goes afterwards.

Auto-balance adds a replica where one is wanted, and when that is built, takes one away. *Least
effort* asks only that a replica lies in every zone and on every node that has room for the volume's
number of them. *Best effort* also evens out how many lie on each node and in each zone, and leaves
disks under pressure. The first of these that wants something decides:

``zone``           a zone has none of the replicas although there are enough to go round
``node``           the same of a node
``node_gap``       (best effort) one node has two or more replicas more than another
``zone_gap``       (best effort) the same of zones
``disk_pressure``  (best effort) a replica lies on a disk under pressure and another disk of the
                   same node would take it

A copy is taken away only if that does not make auto-balance want one again: where balance cannot
be reached, everything stays as it is, instead of being built and deleted for ever.

Where an added replica goes is left to ``scheduling``.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ledger.core.disk.affinity import Replica, ReplicaName, ZoneName
from ledger.core.disk.choice import Choice, choose
from ledger.core.disk.eligibility import eligible
from ledger.core.disk.scheduling import (
    Drive,
    Node,
    Situation,
    candidate_nodes,
    switched_off,
)
from ledger.core.disk.space import Disk, fits_under_pressure, under_pressure
from ledger.core.shares import require_count
from ledger.units import NodeName


@dataclass(frozen=True, slots=True)
class Still:
    """Nothing is to be moved, and why."""

    code: Literal["disabled", "not_healthy", "balanced"]


@dataclass(frozen=True, slots=True)
class Add:
    """So many replicas lie wrong. They are added elsewhere one at a time, each before one goes.

    ``groups`` are the nodes or zones that were looked at, with the replicas each has.
    """

    code: Literal["zone", "node", "node_gap", "zone_gap"]
    count: int
    groups: Mapping[NodeName, int] | Mapping[ZoneName, int]


@dataclass(frozen=True, slots=True)
class Relieve:
    """A replica should leave its disk for another one of the same node."""

    replica: ReplicaName
    source: Disk
    target: Disk
    code: Literal["disk_pressure"] = "disk_pressure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The volume as auto-balance sees it: how many replicas it wants, and where its engine runs."""

    wanted: int
    healthy: bool
    engine_node: NodeName

    def __post_init__(self) -> None:
        require_count("number of replicas", self.wanted)


def next_step(
    situation: Situation, replicas: Sequence[Replica], spread: Spread
) -> Still | Add | Relieve:
    """What auto-balance wants now."""
    if situation.rules.auto_balance == "disabled":
        return Still("disabled")
    if not spread.healthy:
        return Still("not_healthy")
    running = _running(replicas)
    nodes = _ready(situation, running)
    census = _Census.of(nodes, running)
    step: Add | Relieve | None = census.missing(spread)
    if step is None and situation.rules.auto_balance == "best-effort":
        step = census.gap() or _relief(situation, running)
    return step or Still("balanced")


@dataclass(frozen=True, slots=True)
class Spare:
    """A copy that could be taken away, in the order in which they are considered.

    ``in_zone`` and ``on_node`` count the running replicas beside it and itself.
    """

    replica: ReplicaName
    evicting: bool
    in_zone: int
    on_node: int
    usable: int
    wanted_again: bool


@dataclass(frozen=True, slots=True)
class Surplus:
    """Which copy is taken away, if any; ``considered`` ends with it."""

    replica: ReplicaName | None
    considered: tuple[Spare, ...]


def surplus(situation: Situation, replicas: Sequence[Replica], spread: Spread) -> Surplus:
    """The copy to take away when there are more running replicas than wanted.

    Evicting ones first, then from the fullest zone, the fullest node, the disk with the least
    usable bytes, the last by name. One whose absence would call for a new one stays.
    """
    running = _running(replicas)
    if len(running) <= spread.wanted:
        return Surplus(None, ())
    zone_of = {node.name: node.zone for node in situation.nodes}
    usable = {
        (drive.disk.node, drive.disk.name): drive.disk.usable
        for node in situation.nodes
        for drive in node.drives
    }
    zones = Counter(zone_of.get(replica.node, "") for replica in running)
    nodes = Counter(replica.node for replica in running)
    spares = [
        Spare(
            replica=replica.name,
            evicting=replica.evicting,
            in_zone=zones[zone_of.get(replica.node, "")],
            on_node=nodes[replica.node],
            usable=usable.get((replica.node, replica.disk), 0),
            wanted_again=isinstance(
                next_step(
                    situation, [other for other in replicas if other.name != replica.name], spread
                ),
                Add,
            ),
        )
        for replica in sorted(running, key=lambda replica: replica.name, reverse=True)
    ]
    spares.sort(key=lambda one: (not one.evicting, -one.in_zone, -one.on_node, one.usable))
    considered = []
    for spare in spares:
        considered.append(spare)
        if not spare.wanted_again:
            return Surplus(spare.replica, tuple(considered))
    return Surplus(None, tuple(considered))


def _running(replicas: Iterable[Replica]) -> list[Replica]:
    return [
        replica
        for replica in replicas
        if replica.node and not replica.failed and not replica.deleting
    ]


def _ready(situation: Situation, running: Iterable[Replica]) -> list[Node]:
    """The nodes that could take a replica, and those that are ready and have one already."""
    candidates = candidate_nodes(situation)
    could = frozenset(node.name for node in candidates) if isinstance(candidates, list) else ()
    has = frozenset(replica.node for replica in running)
    ready = (node for node in situation.nodes if node.ready and not node.deleting)
    return sorted(
        (node for node in ready if node.name in could or node.name in has),
        key=lambda node: node.name,
    )


@dataclass(frozen=True, slots=True)
class _Census:
    """How many running replicas each ready node and zone has, also those that have none."""

    on_nodes: Mapping[NodeName, int]
    in_zones: Mapping[ZoneName, int]
    zone_of: Mapping[NodeName, ZoneName]

    @staticmethod
    def of(nodes: Sequence[Node], running: Iterable[Replica]) -> "_Census":
        zone_of = {node.name: node.zone for node in nodes}
        on_nodes = dict.fromkeys(zone_of, 0)
        in_zones = dict.fromkeys(sorted(zone_of.values()), 0)
        for replica in running:
            if replica.node in zone_of:
                on_nodes[replica.node] += 1
                in_zones[zone_of[replica.node]] += 1
        return _Census(on_nodes, in_zones, zone_of)

    def missing(self, spread: Spread) -> Add | None:
        """Zones first, then nodes: how many have none although there are replicas for them."""
        zones = {zone for zone, count in self.in_zones.items() if count}
        # The engine's zone counts as taken: a replica near the engine comes first anyway.
        if spread.engine_node in self.zone_of:
            zones.add(self.zone_of[spread.engine_node])
        count = min(len(self.in_zones), spread.wanted) - len(zones)
        if count > 0:
            return Add("zone", count, self.in_zones)
        count = min(len(self.on_nodes), spread.wanted) - sum(map(bool, self.on_nodes.values()))
        return Add("node", count, self.on_nodes) if count > 0 else None

    def gap(self) -> Add | None:
        """Nodes first, then zones: how many replicas the fullest has too many."""
        count = _gap(self.on_nodes.values())
        if count > 0:
            return Add("node_gap", count, self.on_nodes)
        count = _gap(self.in_zones.values())
        return Add("zone_gap", count, self.in_zones) if count > 0 else None


def _gap(counts: Collection[int]) -> int:
    return max(counts) - min(counts) - 1 if counts else 0


def _relief(situation: Situation, running: Sequence[Replica]) -> Relieve | None:
    """The first replica by name on the first disk under pressure that it could leave."""
    volume, rules = situation.volume, situation.rules
    candidates = candidate_nodes(situation)
    for node in candidates if isinstance(candidates, list) else []:
        drives = sorted(node.drives, key=lambda drive: drive.disk.name)
        targets = [disk for drive in drives if (disk := _takes(situation, drive, running))]
        for drive in drives:
            disk = drive.disk
            here = [one.name for one in running if one.is_on(disk.node, disk.name)]
            if here and targets and under_pressure(disk, rules.limits):
                choice = choose(targets, size=volume.size, alpha=rules.alpha)
                assert isinstance(choice, Choice), "scope node always names a disk"
                return Relieve(min(here), disk, choice.disk)
    return None


def _takes(situation: Situation, drive: Drive, running: Iterable[Replica]) -> Disk | None:
    """The disk, if it has no replica of the volume and would not come to pressure."""
    volume, rules, disk = situation.volume, situation.rules, drive.disk
    if switched_off(drive) or any(one.is_on(disk.node, disk.name) for one in running):
        return None
    misfit = eligible(
        drive.traits, volume.demands, allow_empty_disk_selector=rules.allow_empty_disk_selector
    )
    short = fits_under_pressure(disk, rules.limits, size=volume.size, actual=volume.actual_size)
    return disk if misfit is None and short is None else None
