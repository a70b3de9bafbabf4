"""What happened to member clusters and their nodes.

Quantities are whole: cpu in milli-cores, everything else in its base unit. Maps are tuples of
pairs sorted by key, so that a fact is hashable and compares by value. Defaults are filled in at
the border (``ledger.events.contracts``); a fact has none.
"""

from dataclasses import dataclass
from typing import Literal

from ledger.units import Bytes, ClusterName, CpuMilli, Microseconds, NodeName, Subject, Uid

Labels = tuple[tuple[str, str], ...]
InventoryNoun = Literal["node", "pod", "replicaset", "disk"]


@dataclass(frozen=True, slots=True)
class ClusterUpserted:
    """A member cluster as it now is; an upsert carries the whole object."""

    name: ClusterName
    uid: Uid
    revision: int | None
    region: str
    zone: str
    labels: Labels
    ready: bool


@dataclass(frozen=True, slots=True)
class ClusterRemoved:
    """A member cluster is gone, with all that lives there; without a uid, whichever is in force."""

    name: ClusterName
    uid: Uid | None
    revision: int | None


@dataclass(frozen=True, slots=True)
class NodeUpserted:
    """A node as it now is. Its cpu is told by ``cores`` or by ``cpu``, never by both."""

    cluster: ClusterName
    name: NodeName
    uid: Uid
    revision: int | None
    region: str
    zone: str
    labels: Labels
    ready: bool
    schedulable: bool
    cores: tuple[tuple[str, int], ...]
    """Pieces each core may give out; ``share_base`` pieces are one whole core."""
    cpu: CpuMilli | None
    share_base: int
    memory: Bytes
    numa: tuple[tuple[str, str], ...]
    """The memory group of each core."""
    numa_memory: tuple[tuple[str, Bytes], ...]
    volumes: tuple[tuple[str, Bytes], ...]
    """The size of each device."""
    storage: Bytes
    pods: int | None
    """How many pods it takes; None is no limit."""


@dataclass(frozen=True, slots=True)
class NodeRemoved:
    """A node is gone."""

    cluster: ClusterName
    name: NodeName
    uid: Uid | None
    revision: int | None


@dataclass(frozen=True, slots=True)
class NodeReclaiming:
    """A spot node is about to be taken away."""

    cluster: ClusterName
    name: NodeName
    uid: Uid | None
    notice_seconds: int


@dataclass(frozen=True, slots=True)
class InventoryListed:
    """Everything of one noun that an agent saw in its cluster; what is not listed is gone."""

    cluster: ClusterName
    noun: InventoryNoun
    keys: tuple[Subject, ...]
    """Subjects as upserts of the noun spell them, sorted."""
    through: Microseconds | None
    """Up to which moment the cluster's own reports are covered by the list."""
