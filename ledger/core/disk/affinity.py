"""Which nodes, zones and disks a volume already occupies, so that its replicas stay apart.

A replica occupies its node and the zone of its node unless it is being deleted, or has failed and
will not come back: because it can never be reused, or because it is being replaced already. What
only evicting replicas occupy is *evict-only*: it becomes free again, and may be used before that
if nothing else is left. Only the nodes that are given count; a replica elsewhere occupies nothing.

In which order these are tried is left to ``ledger.core.disk.scheduling``.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from ledger.core.disk.space import DiskName
from ledger.core.shares import require_count
from ledger.units import NodeName

ReplicaName = str
ZoneName = str
"""Nodes without a zone label are together in the zone with the empty name."""

MOST_REBUILDS: Final = 5
"""A failed replica that was rebuilt this often is not tried again."""

NOWHERE: Final = NodeName("")
"""Where a replica is that has not been placed."""

Place = TypeVar("Place", NodeName, ZoneName)
Shelf = TypeVar("Shelf", DiskName, tuple[NodeName, DiskName])
"""A disk by its name, or by its address where names repeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """A replica of the volume; without a node it has not been placed yet."""

    name: ReplicaName
    node: NodeName = NOWHERE
    disk: DiskName = ""
    failed: bool = False
    evicting: bool = False
    deleting: bool = False
    rebuild_retries: int = 0

    def __post_init__(self) -> None:
        require_count("rebuild_retries", self.rebuild_retries)

    @property
    def reusable(self) -> bool:
        """Whether a failed replica may come back with what it has written."""
        return bool(
            self.failed
            and self.node
            and self.disk
            and self.rebuild_retries < MOST_REBUILDS
            and not self.evicting
        )

    def occupies(self, *, replenishing: bool) -> bool:
        """Whether it keeps others away. ``replenishing``: reusable ones are being replaced."""
        if not self.node or self.deleting:
            return False
        return not self.failed or (self.reusable and not replenishing)

    def is_on(self, node: NodeName, disk: DiskName) -> bool:
        """Whether it lies on this disk; a replica that names no node is found by its disk."""
        return self.disk == disk and self.node in (NOWHERE, node)


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Who occupies what, all of it in the order of the names."""

    nodes: Mapping[NodeName, tuple[Replica, ...]]
    zones: Mapping[ZoneName, tuple[Replica, ...]]

    @property
    def evict_only_nodes(self) -> tuple[NodeName, ...]:
        """The occupied nodes that will be free."""
        return _evict_only(self.nodes)

    @property
    def evict_only_zones(self) -> tuple[ZoneName, ...]:
        """The occupied zones that will be free."""
        return _evict_only(self.zones)


def occupancy(
    zone_of: Mapping[NodeName, ZoneName], replicas: Sequence[Replica], *, replenishing: bool
) -> Occupancy:
    """What the replicas occupy of the nodes in ``zone_of``."""
    nodes: dict[NodeName, list[Replica]] = {}
    zones: dict[ZoneName, list[Replica]] = {}
    for replica in sorted(replicas, key=lambda replica: replica.name):
        if replica.node in zone_of and replica.occupies(replenishing=replenishing):
            nodes.setdefault(replica.node, []).append(replica)
            zones.setdefault(zone_of[replica.node], []).append(replica)
    return Occupancy(
        nodes={node: tuple(nodes[node]) for node in sorted(nodes)},
        zones={zone: tuple(zones[zone]) for zone in sorted(zones)},
    )


def _evict_only(places: Mapping[Place, tuple[Replica, ...]]) -> tuple[Place, ...]:
    return tuple(
        place for place, replicas in places.items() if all(replica.evicting for replica in replicas)
    )


def allowed_disks(
    disks: Collection[Shelf], occupied: Collection[Shelf], *, soft: bool
) -> list[Shelf]:
    """The disk rule: those without a replica, in order; if there are none, all when it is soft."""
    free = sorted(disk for disk in disks if disk not in occupied)
    return free if free or not soft else sorted(disks)
