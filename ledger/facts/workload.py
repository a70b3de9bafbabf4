"""What happened to workloads and their pods.

A workload's division and deployment say what its owner wishes; what came of it is a decision.
Maps are tuples of pairs sorted by key. Defaults are filled in at the border
(``ledger.events.contracts``); a fact has none. Webhook admissions are the ledger's own
(``ledger.facts.own``).
"""

from dataclasses import dataclass
from typing import Literal

from ledger.units import Bytes, ClusterName, CpuMilli, NodeName, Replicas, Uid, Weight

WorkloadKind = Literal["Deployment", "StatefulSet", "Job"]
DivisionStrategy = Literal["static", "webster", "dynamic", "aggregated", "duplicated"]
DeployStrategy = Literal["AUTO", "FILL", "EACH", "GLOBAL", "DRAINED"]
GlobalPolicy = Literal["nearest_level", "after_usage"]
PodPhase = Literal["Pending", "Running", "Succeeded", "Failed", "Unknown"]


@dataclass(frozen=True, slots=True)
class Request:
    """What one instance, task or pod takes."""

    cpu: CpuMilli
    cpu_bind: bool
    memory: Bytes
    storage: Bytes
    volumes: tuple[str, ...]
    """``SRC:DST[:FLAGS[:SIZE...]]``, in the order told; read by ``ledger.core.capacity``."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many groups a selection takes: at least and at most; no ``most`` is all."""

    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class DivisionSpec:
    """How a workload wishes its replicas divided over clusters.

    An empty ``clusters``, ``cluster_selector`` or ``weights`` is one that was not told.
    """

    strategy: DivisionStrategy
    weights: tuple[tuple[ClusterName, Weight], ...]
    clusters: tuple[ClusterName, ...]
    cluster_selector: tuple[tuple[str, str], ...]
    caps: tuple[tuple[ClusterName, Replicas], ...]
    spread_clusters: Bounds | None
    spread_regions: Bounds | None


@dataclass(frozen=True, slots=True)
class DeploySpec:
    """How a cluster's share is placed on its nodes."""

    strategy: DeployStrategy
    count: int
    """Instances per node, for FILL and EACH."""
    nodes_limit: int
    """0 is no limit."""
    policy: GlobalPolicy | None
    """None: as the fleet's policy says."""
    max_share: int
    """How many cores may be shared in pieces; -1 is no limit."""
    node_selector: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class WorkloadUpserted:
    """A workload as its owner now wants it; an upsert carries the whole object."""

    namespace: str
    name: str
    uid: Uid
    revision: int | None
    kind: WorkloadKind
    replicas: Replicas
    request: Request
    division: DivisionSpec | None
    cluster: ClusterName | None
    """Where all replicas go, where there is no division."""
    deploy: DeploySpec | None
    min_available: str | None
    """The annotation's text as written; ``ledger.core.spot`` reads it."""
    queue: str | None
    priority: int
    gang_min: int
    preemptable: bool
    ordinals_start: int | None = None
    """Where the ordinals of a StatefulSet begin; None where nobody said so: at 0."""


@dataclass(frozen=True, slots=True)
class WorkloadRemoved:
    """A workload is gone; without a uid, whichever is in force."""

    namespace: str
    name: str
    uid: Uid | None
    revision: int | None


@dataclass(frozen=True, slots=True)
class WorkloadRescheduled:
    """Somebody asked for the workload to be decided again; ``fresh``: from nothing."""

    namespace: str
    name: str
    uid: Uid | None
    fresh: bool


@dataclass(frozen=True, slots=True)
class JobFinished:
    """A task of a job ended, or all of them."""

    namespace: str
    name: str
    uid: Uid | None
    task: int | None


@dataclass(frozen=True, slots=True)
class Owner:
    """The controller an object names as its owner."""

    kind: str
    """As its cluster calls it; with its API group behind it where another group has such a kind too."""
    name: str
    uid: Uid | None


@dataclass(frozen=True, slots=True)
class PodObserved:
    """A pod as its cluster reports it; a report confirms or contradicts the book, it is not it."""

    cluster: ClusterName
    namespace: str
    name: str
    uid: Uid
    revision: int | None
    owner: Owner | None
    template_hash: str
    reservation: str | None
    node: NodeName | None
    phase: PodPhase
    ready: bool
    terminating: bool
    capacity_class: str
    request: Request


@dataclass(frozen=True, slots=True)
class PodDeleted:
    """A pod is gone from its cluster."""

    cluster: ClusterName
    namespace: str
    name: str
    uid: Uid | None
    revision: int | None


@dataclass(frozen=True, slots=True)
class ReplicaSetUpserted:
    """A ReplicaSet as its cluster reports it: it leads from a pod to its Deployment."""

    cluster: ClusterName
    namespace: str
    name: str
    uid: Uid
    revision: int | None
    owner: Owner | None
    template_hash: str
    replicas: Replicas
