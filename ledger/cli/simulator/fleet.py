"""Who is in an invented fleet: clusters, nodes, workloads, queues, quotas, disks and volumes.

``raised`` draws a fleet from a seed. The objects then change as its history goes on
(``ledger.cli.simulator.history``); each knows how it reports itself, whole and with its next
revision, the way an upsert does.

Sizes follow what one meets: a handful of instance shapes, most nodes on demand and some spot, a
few large workloads and many small ones, most of them spread over every cluster.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Final

from ledger.cli.simulator.spelling import Data, Happening, Value

_REGIONS: Final = (
    ("eu-west", "abc"),
    ("us-east", "abcd"),
    ("ap-south", "ab"),
    ("eu-north", "ab"),
    ("us-west", "abc"),
    ("sa-east", "a"),
)
_SHAPES: Final = (
    ("8", "32Gi", 58),
    ("16", "64Gi", 110),
    ("32", "128Gi", 234),
    ("64", "256Gi", 250),
)
"""Cpu, memory and pods of the instance types a fleet buys."""
_CAPACITY_LABEL: Final = "node.kubernetes.io/capacity"
_NAMESPACES: Final = ("shop", "search", "billing", "media", "identity", "mail", "maps", "ads")
_APPLICATIONS: Final = (
    *("cart", "checkout", "catalog", "frontend", "gateway", "index", "intake", "login", "notices"),
    *(
        "orders",
        "payments",
        "pricing",
        "profile",
        "ranking",
        "render",
        "sessions",
        "stock",
        "video",
    ),
)
_JOBS: Final = ("training", "report", "backfill", "embedding")
_REQUESTS: Final = (
    ("100m", "128Mi"),
    ("250m", "256Mi"),
    ("500m", "512Mi"),
    ("1", "2Gi"),
    ("2", "4Gi"),
)
_QUEUES: Final = ("interactive", "batch", "research")
_CONTROL_PLANE: Final = "/control-plane"
_GIBIBYTE: Final = 2**30


@dataclass(slots=True)
class Cluster:
    """A member cluster."""

    name: str
    region: str
    zone: str
    tier: str
    nodes: list["Node"] = field(default_factory=list)
    ready: bool = True
    present: bool = False
    revision: int = 0

    @property
    def source(self) -> str:
        """The agent in it, which reports what is there."""
        return f"/clusters/{self.name}/agent"

    def upserted(self) -> Happening:
        """It joined, or changed."""
        self.present = True
        self.revision += 1
        data: Data = {
            "name": self.name,
            "revision": self.revision,
            "region": self.region,
            "zone": self.zone,
            "labels": {"tier": self.tier, "topology.kubernetes.io/region": self.region},
            "ready": self.ready,
        }
        return Happening("ledger.cluster.cluster.upserted.v1", _CONTROL_PLANE, self.name, data)

    def removed(self) -> Happening:
        """It left."""
        self.present = False
        self.revision += 1
        data: Data = {"name": self.name, "revision": self.revision}
        return Happening("ledger.cluster.cluster.removed.v1", _CONTROL_PLANE, self.name, data)


@dataclass(slots=True)
class Node:
    """A node of a cluster, and the disk in it."""

    cluster: Cluster
    name: str
    shape: tuple[str, str, int]
    capacity: str
    disk_size: int
    disk_free: int
    ready: bool = True
    schedulable: bool = True
    revision: int = 0
    disk_revision: int = 0

    @property
    def key(self) -> str:
        """Its subject."""
        return f"{self.cluster.name}/{self.name}"

    def upserted(self) -> Happening:
        """It joined, or changed."""
        self.revision += 1
        cpu, memory, pods = self.shape
        data: Data = {
            "cluster": self.cluster.name,
            "name": self.name,
            "revision": self.revision,
            "region": self.cluster.region,
            "zone": self.cluster.zone,
            "labels": {_CAPACITY_LABEL: self.capacity, "kubernetes.io/arch": "amd64"},
            "ready": self.ready,
            "schedulable": self.schedulable,
            "cpu": cpu,
            "memory": memory,
            "storage": "100Gi",
            "pods": pods,
        }
        return Happening("ledger.cluster.node.upserted.v1", self.cluster.source, self.key, data)

    def reclaiming(self) -> Happening:
        """Its owner wants it back in two minutes."""
        data: Data = {"cluster": self.cluster.name, "name": self.name, "notice_seconds": 120}
        return Happening("ledger.cluster.node.reclaiming.v1", self.cluster.source, self.key, data)

    def removed(self) -> Happening:
        """It is gone."""
        self.revision += 1
        data: Data = {"cluster": self.cluster.name, "name": self.name, "revision": self.revision}
        return Happening("ledger.cluster.node.removed.v1", self.cluster.source, self.key, data)

    def disk_upserted(self) -> Happening:
        """Its disk joined, or reports how full it is."""
        self.disk_revision += 1
        data: Data = {
            "cluster": self.cluster.name,
            "node": self.name,
            "disk": "nvme0",
            "revision": self.disk_revision,
            "zone": self.cluster.zone,
            "region": self.cluster.region,
            "maximum": self.disk_size,
            "available": self.disk_free,
            "reserved": self.disk_size // 10,
            "tags": ["nvme"],
            "schedulable": True,
            "node_ready": self.ready,
        }
        return Happening(
            "ledger.disk.disk.upserted.v1", self.cluster.source, f"{self.key}/nvme0", data
        )


@dataclass(slots=True)
class Workload:
    """What is to run, and what its pods look like where they run."""

    namespace: str
    name: str
    kind: str
    uid: str
    usual: int
    """Replicas at an ordinary hour."""
    replicas: int
    request: tuple[str, str]
    weights: dict[str, int]
    clusters: list[str]
    selector: dict[str, str]
    queue: str | None
    template: str
    revision: int = 0

    @property
    def key(self) -> str:
        """Its subject."""
        return f"{self.namespace}/{self.name}"

    @property
    def is_job(self) -> bool:
        """Whether it runs to an end, in a queue."""
        return self.queue is not None

    def upserted(self) -> Happening:
        """Its owner wants it so from now on."""
        self.revision += 1
        cpu, memory = self.request
        data: Data = {
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "revision": self.revision,
            "kind": self.kind,
            "replicas": self.replicas,
            "request": {"cpu": cpu, "memory": memory},
        }
        if self.queue is None:
            data["division"] = self._division()
        else:
            data |= {"queue": self.queue, "gang_min": 1 + self.replicas // 2, "preemptable": True}
        return Happening("ledger.workload.workload.upserted.v1", _CONTROL_PLANE, self.key, data)

    def rescheduled(self) -> Happening:
        """Somebody asks for it to be divided anew."""
        data: Data = {"namespace": self.namespace, "name": self.name, "fresh": True}
        return Happening("ledger.workload.workload.reschedule.v1", _CONTROL_PLANE, self.key, data)

    def finished(self, task: int) -> Happening:
        """A task of the job has ended."""
        data: Data = {"namespace": self.namespace, "name": self.name, "task": task}
        return Happening("ledger.workload.job.finished.v1", _CONTROL_PLANE, self.key, data)

    def replica_set(self, cluster: Cluster, replicas: int) -> Happening:
        """How many pods the cluster's own controller wants now."""
        name = f"{self.name}-{self.template}"
        data: Data = {
            "cluster": cluster.name,
            "namespace": self.namespace,
            "name": name,
            "owner": {"kind": self.kind, "name": self.name, "uid": self.uid},
            "template_hash": self.template,
            "replicas": replicas,
        }
        subject = f"{cluster.name}/{self.namespace}/{name}"
        return Happening("ledger.workload.replicaset.upserted.v1", cluster.source, subject, data)

    def pod_observed(self, node: Node, number: int, *, phase: str) -> Happening:
        """A pod as the agent of its cluster sees it."""
        cluster = node.cluster
        name = self.pod_name(number)
        cpu, memory = self.request
        data: Data = {
            "cluster": cluster.name,
            "namespace": self.namespace,
            "name": name,
            "uid": f"{self.uid[:24]}{number:012x}",
            "owner": {"kind": "ReplicaSet", "name": f"{self.name}-{self.template}"},
            "template_hash": self.template,
            "node": node.name,
            "phase": phase,
            "ready": phase == "Running",
            "capacity_class": node.capacity,
            "request": {"cpu": cpu, "memory": memory},
        }
        subject = f"{cluster.name}/{self.namespace}/{name}"
        return Happening("ledger.workload.pod.observed.v1", cluster.source, subject, data)

    def pod_deleted(self, cluster: Cluster, number: int) -> Happening:
        """A pod is gone."""
        name = self.pod_name(number)
        data: Data = {
            "cluster": cluster.name,
            "namespace": self.namespace,
            "name": name,
            "uid": f"{self.uid[:24]}{number:012x}",
        }
        subject = f"{cluster.name}/{self.namespace}/{name}"
        return Happening("ledger.workload.pod.deleted.v1", cluster.source, subject, data)

    def pod_name(self, number: int) -> str:
        """What a pod is called."""
        return f"{self.name}-{self.template}-{number:05x}"

    def _division(self) -> Data:
        division: Data = {"strategy": "static"}
        if self.weights:
            weights: dict[str, Value] = dict(self.weights)
            division["weights"] = weights
        if self.clusters:
            clusters: list[Value] = list(self.clusters)
            division["clusters"] = clusters
        if self.selector:
            selector: dict[str, Value] = dict(self.selector)
            division["cluster_selector"] = selector
        return division


@dataclass(slots=True)
class Queue:
    """A queue that jobs wait in."""

    name: str
    weight: int
    revision: int = 0

    def upserted(self) -> Happening:
        """It was made, or its weight was changed."""
        self.revision += 1
        data: Data = {
            "name": self.name,
            "revision": self.revision,
            "weight": self.weight,
            "capability": {"cpu": "2k", "memory": "8Ti"},
            "guarantee": {"cpu": "64"},
        }
        return Happening("ledger.quota.queue.upserted.v1", _CONTROL_PLANE, self.name, data)


@dataclass(slots=True)
class Quota:
    """What a namespace may use, and its weight in a queue."""

    namespace: str
    cpu: int
    weight: int
    revision: int = 0

    def upserted(self) -> Happening:
        """It was made, or changed."""
        self.revision += 1
        data: Data = {
            "namespace": self.namespace,
            "name": "fair",
            "revision": self.revision,
            "hard": {
                "requests.cpu": str(self.cpu),
                "requests.memory": f"{4 * self.cpu}Gi",
                "volcano.sh/namespace.weight": str(self.weight),
            },
        }
        subject = f"{self.namespace}/fair"
        return Happening("ledger.quota.quota.upserted.v1", _CONTROL_PLANE, subject, data)


@dataclass(slots=True)
class Volume:
    """A volume with replicas on several disks."""

    name: str
    size: int
    workload: str
    revision: int = 0

    def upserted(self) -> Happening:
        """It was made, or grew."""
        self.revision += 1
        data: Data = {
            "name": self.name,
            "revision": self.revision,
            "size": self.size,
            "replicas": 3,
            "disk_selector": ["nvme"],
            "workload": self.workload,
        }
        return Happening("ledger.disk.volume.upserted.v1", _CONTROL_PLANE, self.name, data)

    def grow(self) -> None:
        """Become a quarter larger, as long as any disk could hold it; else begin small again."""
        self.size = self.size + self.size // 4 if self.size < 400 * _GIBIBYTE else 20 * _GIBIBYTE

    def replica_failed(self, number: int) -> Happening:
        """A replica does not answer any more; it may come back."""
        data: Data = {"volume": self.name, "replica": f"{self.name}-r{number}", "reusable": True}
        return Happening("ledger.disk.replica.failed.v1", _CONTROL_PLANE, _replica(data), data)

    def replica_recovered(self, number: int) -> Happening:
        """It did come back."""
        data: Data = {"volume": self.name, "replica": f"{self.name}-r{number}"}
        return Happening("ledger.disk.replica.recovered.v1", _CONTROL_PLANE, _replica(data), data)


@dataclass(frozen=True, slots=True)
class Fleet:
    """Everything there is. The lists keep their length; what is in them changes."""

    clusters: list[Cluster]
    workloads: list[Workload]
    queues: list[Queue]
    quotas: list[Quota]
    volumes: list[Volume]


def raised(chance: Random, *, clusters: int, nodes: int, workloads: int) -> Fleet:
    """A fleet of so many clusters, with so many nodes in each, running so many workloads."""
    assert clusters > 0
    assert nodes > 0
    assert workloads > 0
    members = [_cluster(chance, number, nodes) for number in range(clusters)]
    wanted = [_workload(chance, number, members) for number in range(workloads)]
    return Fleet(
        clusters=members,
        workloads=wanted,
        queues=[Queue(name, weight) for name, weight in zip(_QUEUES, (4, 2, 1), strict=True)],
        quotas=[
            Quota(namespace, cpu=chance.choice((200, 400, 800)), weight=chance.randint(1, 5))
            for namespace in sorted({workload.namespace for workload in wanted})
        ],
        volumes=[
            Volume(f"{workload.namespace}-{workload.name}-data", 20 * _GIBIBYTE, workload.key)
            for workload in wanted
            if workload.kind == "StatefulSet"
        ],
    )


def _cluster(chance: Random, number: int, nodes: int) -> Cluster:
    region, zones = _REGIONS[number % len(_REGIONS)]
    turn = number // len(_REGIONS)
    zone = zones[turn % len(zones)]
    cluster = Cluster(
        name=f"{region}-{zone}{1 + turn // len(zones)}",
        region=region,
        zone=f"{region}-{zone}",
        tier="production" if number % 4 < 3 else "edge",
    )
    for node in range(nodes):
        size = chance.choice((500, 1000, 2000)) * _GIBIBYTE
        cluster.nodes.append(
            Node(
                cluster,
                name=f"node-{node:03d}",
                shape=chance.choice(_SHAPES),
                capacity="spot" if chance.random() < 0.3 else "on-demand",
                disk_size=size,
                disk_free=size * chance.randint(30, 95) // 100,
            )
        )
    return cluster


def _workload(chance: Random, number: int, members: list[Cluster]) -> Workload:
    namespace = _NAMESPACES[number % len(_NAMESPACES)]
    is_job = number % 12 == 7
    kinds = _JOBS if is_job else _APPLICATIONS
    turn, name = divmod(number // len(_NAMESPACES), len(kinds))
    # A few are large, most are small: each doubling is half as likely as the one before.
    usual = chance.randint(2, 6)
    while usual < 400 and chance.random() < 0.5:
        usual *= 2
    workload = Workload(
        namespace=namespace,
        name=kinds[name] + (f"-{turn + 1}" if turn else ""),
        kind="Job" if is_job else "StatefulSet" if number % 6 == 4 else "Deployment",
        uid=uid(chance),
        usual=usual,
        replicas=usual,
        request=chance.choice(_REQUESTS),
        weights={},
        clusters=[],
        selector={},
        queue=chance.choice(_QUEUES) if is_job else None,
        template=template_hash(chance),
    )
    draw = chance.random()
    if draw < 0.5:
        workload.weights = {cluster.name: chance.randint(1, 5) for cluster in members}
    elif draw < 0.75:
        some = chance.sample(members, k=(len(members) + 1) // 2)
        workload.weights = {cluster.name: chance.randint(1, 3) for cluster in some}
    elif draw < 0.9:
        workload.selector = {"tier": "production"}
    elif draw < 0.95:
        workload.clusters = [cluster.name for cluster in chance.sample(members, k=1)]
    return workload


def uid(chance: Random) -> str:
    """A UUID as Kubernetes hands them out."""
    digits = f"{chance.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def template_hash(chance: Random) -> str:
    """What tells one version of a workload's template from another."""
    return f"{chance.getrandbits(40):010x}"


def _replica(data: Data) -> str:
    return f"{data['volume']}/{data['replica']}"
