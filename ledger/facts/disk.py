"""What happened to disks, volumes and their replicas.

Sizes are bytes. How much of a disk is scheduled is not reported by anybody: it follows from the
ledger's own placements.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ledger.units import Bytes, ClusterName, NodeName, Uid

DiskType = Literal["filesystem", "block"]


@dataclass(frozen=True, slots=True)
class DiskUpserted:
    """A disk as it now is, with what its node says of itself."""

    cluster: ClusterName
    """Empty where the fleet has one cluster and does not name it."""
    node: NodeName
    disk: str
    uid: Uid
    revision: int | None
    zone: str
    region: str
    maximum: Bytes
    available: Bytes
    reserved: Bytes | None
    """None leaves it to the fleet's policy: a default disk of which nothing is said."""
    type: DiskType
    tags: tuple[str, ...]
    node_tags: tuple[str, ...]
    allow: bool
    schedulable: bool
    evicting: bool
    node_ready: bool
    node_allow: bool


@dataclass(frozen=True, slots=True)
class DiskRemoved:
    """A disk is gone, and the replicas on it with it."""

    cluster: ClusterName
    node: NodeName
    disk: str
    uid: Uid | None
    revision: int | None


@dataclass(frozen=True, slots=True)
class VolumeUpserted:
    """A volume as its owner now wants it; None leaves a setting to the fleet's policy."""

    name: str
    uid: Uid
    revision: int | None
    size: Bytes
    replicas: int
    node_soft: bool | None
    zone_soft: bool | None
    disk_soft: bool | None
    disk_selector: tuple[str, ...]
    node_selector: tuple[str, ...]
    alpha: Fraction | None
    workload: str | None
    """Who uses it, as namespace/name: for the reader only."""


@dataclass(frozen=True, slots=True)
class VolumeRemoved:
    """A volume is gone."""

    name: str
    uid: Uid | None
    revision: int | None


@dataclass(frozen=True, slots=True)
class ReplicaFailed:
    """A replica broke; a reusable one may come back (``ReplicaRecovered``)."""

    volume: str
    replica: str
    uid: Uid | None
    """Of the volume; None: of whichever is in force."""
    reusable: bool


@dataclass(frozen=True, slots=True)
class ReplicaRecovered:
    """A failed replica is healthy again."""

    volume: str
    replica: str
    uid: Uid | None
