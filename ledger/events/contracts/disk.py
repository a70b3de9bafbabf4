"""The disk family: disks, volumes, and the failures of their replicas."""

# ruff: noqa: D102 - what fact is for is said once, in EventData

from typing import Annotated, ClassVar

from pydantic import Field

from ledger.events.contract import (
    Contract,
    Family,
    Removal,
    Upsert,
)
from ledger.events.contract_values import (
    MOST_COPIES,
    MOST_ENTRIES,
    ClusterOrNone,
    Name,
    Node,
    ObjectUid,
    Ratio,
    Size,
    Text,
    Word,
)
from ledger.events.sharing import shared
from ledger.facts import disk as facts
from ledger.units import Bytes, ClusterName, EventType

Tags = Annotated[list[Word], Field(max_length=MOST_ENTRIES)]


class DiskUpserted(Upsert):
    """A disk was found, or changed; it also says how its node is."""

    event_type: ClassVar = EventType("ledger.disk.disk.upserted.v1")
    family: ClassVar[Family] = "disk"
    key_fields: ClassVar[tuple[str, ...]] = ("cluster", "node", "disk")

    cluster: ClusterOrNone = ClusterName("")
    """The cluster of its node; empty where the fleet has one and does not name it."""
    node: Node
    """Its node."""
    disk: Name
    """The disk."""
    zone: Text = ""
    """The zone of its node."""
    region: Text = ""
    """The region of its node."""
    maximum: Size
    """Bytes it has."""
    available: Size
    """Bytes nobody has written to."""
    reserved: Size | None = None
    """Bytes kept for others; absent none, but of a default disk what the fleet's policy says when it comes."""
    default: bool = False
    """Whether it is the disk that its node came with, which it shares with others."""
    type: facts.DiskType = "filesystem"
    """What it is used as."""
    tags: Tags = Field(default_factory=list)
    """What a volume's `disk_selector` looks at."""
    node_tags: Tags = Field(default_factory=list)
    """What a volume's `node_selector` looks at."""
    allow: bool = True
    """Whether its owner lets replicas be placed on it."""
    schedulable: bool = True
    """Whether its own condition lets them."""
    evicting: bool = False
    """Whether what is on it has to leave."""
    node_ready: bool = True
    """Whether its node is ready."""
    node_allow: bool = True
    """Whether the owner of its node lets replicas be placed there."""

    def fact(self) -> facts.DiskUpserted:
        return facts.DiskUpserted(
            cluster=shared(self.cluster),
            node=shared(self.node),
            disk=shared(self.disk),
            uid=self.settled_uid(),
            revision=self.revision,
            zone=shared(self.zone),
            region=shared(self.region),
            maximum=self.maximum,
            available=self.available,
            reserved=Bytes(0) if self.reserved is None and not self.default else self.reserved,
            type=shared(self.type),
            tags=tuple(sorted(set(self.tags))),
            node_tags=tuple(sorted(set(self.node_tags))),
            allow=self.allow,
            schedulable=self.schedulable,
            evicting=self.evicting,
            node_ready=self.node_ready,
            node_allow=self.node_allow,
        )


class DiskRemoved(Removal):
    """A disk is gone, and the replicas on it with it."""

    event_type: ClassVar = EventType("ledger.disk.disk.removed.v1")
    family: ClassVar[Family] = "disk"
    key_fields: ClassVar[tuple[str, ...]] = ("cluster", "node", "disk")

    cluster: ClusterOrNone = ClusterName("")
    """The cluster of its node; empty where the fleet has one and does not name it."""
    node: Node
    """Its node."""
    disk: Name
    """The disk."""

    def fact(self) -> facts.DiskRemoved:
        return facts.DiskRemoved(self.cluster, self.node, self.disk, self.uid, self.revision)


class VolumeUpserted(Upsert):
    """A volume was created, or changed: what its owner wants of it now, whole."""

    event_type: ClassVar = EventType("ledger.disk.volume.upserted.v1")
    family: ClassVar[Family] = "disk"
    key_fields: ClassVar[tuple[str, ...]] = ("name",)

    name: Name
    """The volume."""
    size: Size
    """Bytes of each replica."""
    replicas: Annotated[int, Field(ge=0, le=MOST_COPIES)]
    """How many replicas it wants, at most 1000."""
    node_soft: bool | None = None
    """Whether two may share a node; absent, as the fleet's policy says."""
    zone_soft: bool | None = None
    """Whether two may share a zone; absent, as the fleet's policy says."""
    disk_soft: bool | None = None
    """Whether two may share a disk; absent, as the fleet's policy says."""
    disk_selector: Tags = Field(default_factory=list)
    """Tags that a disk has."""
    node_selector: Tags = Field(default_factory=list)
    """Tags that a node has."""
    alpha: Ratio | None = None
    """1 balances bytes, 0 balances percentages; absent, as the fleet's policy says."""
    workload: Text | None = None
    """Who uses it, as namespace/name; for the reader only."""

    def fact(self) -> facts.VolumeUpserted:
        return facts.VolumeUpserted(
            name=self.name,
            uid=self.settled_uid(),
            revision=self.revision,
            size=self.size,
            replicas=self.replicas,
            node_soft=self.node_soft,
            zone_soft=self.zone_soft,
            disk_soft=self.disk_soft,
            disk_selector=tuple(sorted(set(self.disk_selector))),
            node_selector=tuple(sorted(set(self.node_selector))),
            alpha=self.alpha,
            workload=self.workload,
        )


class VolumeRemoved(Removal):
    """A volume is gone."""

    event_type: ClassVar = EventType("ledger.disk.volume.removed.v1")
    family: ClassVar[Family] = "disk"
    key_fields: ClassVar[tuple[str, ...]] = ("name",)

    name: Name
    """The volume."""

    def fact(self) -> facts.VolumeRemoved:
        return facts.VolumeRemoved(self.name, self.uid, self.revision)


class ReplicaFailed(Contract):
    """A replica of a volume broke."""

    event_type: ClassVar = EventType("ledger.disk.replica.failed.v1")
    family: ClassVar[Family] = "disk"
    key_fields: ClassVar[tuple[str, ...]] = ("volume", "replica")

    volume: Name
    """The volume."""
    replica: Name
    """The replica."""
    uid: ObjectUid | None = None
    """Which volume of that name it is of; absent, the one in force."""
    reusable: bool = False
    """Whether it may come back: then its replacement waits for a while."""

    def fact(self) -> facts.ReplicaFailed:
        return facts.ReplicaFailed(self.volume, self.replica, self.uid, self.reusable)


class ReplicaRecovered(Contract):
    """A replica that had failed is healthy again."""

    event_type: ClassVar = EventType("ledger.disk.replica.recovered.v1")
    family: ClassVar[Family] = "disk"
    key_fields: ClassVar[tuple[str, ...]] = ("volume", "replica")

    volume: Name
    """The volume."""
    replica: Name
    """The replica."""
    uid: ObjectUid | None = None
    """Which volume of that name it is of; absent, the one in force."""

    def fact(self) -> facts.ReplicaRecovered:
        return facts.ReplicaRecovered(self.volume, self.replica, self.uid)
