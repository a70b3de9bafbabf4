"""What is to run in an invented fleet: deployments and stateful sets, as their owners want them.

Some are divided over clusters and some stay in one; the instances of some are placed on nodes by
the ledger, those of the others by their clusters. How owners change their minds is told in
``ledger.cli.simulator.scaling``.
"""

from dataclasses import dataclass, field
from typing import Final

from ledger.cli.simulator.members import Cluster, Node
from ledger.cli.simulator.pods import Pod
from ledger.cli.simulator.spelling import Data, Happening, Value

CONTROL_PLANE: Final = "/control-plane"


@dataclass(slots=True, eq=False)
class Wanted:
    """What one replica takes."""

    cpu: str
    memory: str
    bind: bool = False
    storage: str | None = None

    def told(self) -> Data:
        """As a request is spelled."""
        data: Data = {"cpu": self.cpu, "memory": self.memory}
        if self.bind:
            data["cpu_bind"] = True
        if self.storage is not None:
            data["storage"] = self.storage
        return data


@dataclass(slots=True, eq=False)
class Wish:
    """How a workload is divided; where nothing is named, over every cluster."""

    strategy: str = "static"
    weights: dict[str, int] = field(default_factory=dict)
    clusters: list[str] = field(default_factory=list)
    selector: dict[str, str] = field(default_factory=dict)
    spread: Data | None = None

    def told(self) -> Data:
        """As a division is spelled."""
        data: Data = {"strategy": self.strategy}
        if self.weights:
            weights: dict[str, Value] = {**self.weights}
            data["weights"] = weights
        if self.clusters:
            clusters: list[Value] = [*self.clusters]
            data["clusters"] = clusters
        if self.selector:
            selector: dict[str, Value] = {**self.selector}
            data["cluster_selector"] = selector
        if self.spread is not None:
            data["spread"] = self.spread
        return data


@dataclass(slots=True, eq=False)
class Workload:
    """A deployment or a stateful set."""

    namespace: str
    name: str
    kind: str
    uid: str
    usual: int
    """Replicas at an ordinary hour."""
    replicas: int
    request: Wanted
    wish: Wish | None
    """None: it stays in its only home."""
    homes: list[Cluster]
    """Where it may run."""
    deploy: Data | None
    """How its instances are placed on nodes; None: its clusters do that."""
    min_available: str | None
    template: str
    phase: int = 0
    """Hours by which its day is later than that of others."""
    present: bool = False
    revision: int = 0
    pods: list[Pod | None] = field(default_factory=list)
    """As agents have seen them so far, by number."""
    serial: int = 0
    """How many pods it has had."""

    @property
    def key(self) -> str:
        """Its subject."""
        return f"{self.namespace}/{self.name}"

    @property
    def placed_by_ledger(self) -> bool:
        """Whether it is for the ledger to say on which nodes it runs."""
        return self.deploy is not None

    def upserted(self) -> Happening:
        """Its owner wants it so from now on."""
        self.present = True
        self.revision += 1
        data: Data = {
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "revision": self.revision,
            "kind": self.kind,
            "replicas": self.replicas,
            "request": self.request.told(),
        }
        if self.wish is None:
            data["cluster"] = self.homes[0].name
        else:
            data["division"] = self.wish.told()
        if self.deploy is not None:
            data["deploy"] = self.deploy
        if self.min_available is not None:
            data["min_available"] = self.min_available
        return Happening("ledger.workload.workload.upserted.v1", CONTROL_PLANE, self.key, data)

    def removed(self) -> Happening:
        """Its owner does not want it any more."""
        self.present = False
        self.revision += 1
        return removed(self.namespace, self.name, uid=self.uid, revision=self.revision)

    def rescheduled(self, *, fresh: bool) -> Happening:
        """Somebody asks for it to be decided again, from nothing or with the last result in mind."""
        data: Data = {"namespace": self.namespace, "name": self.name, "fresh": fresh}
        return Happening("ledger.workload.workload.reschedule.v1", CONTROL_PLANE, self.key, data)

    def replica_set(self, cluster: Cluster) -> Happening:
        """How many pods the cluster's own controller wants now."""
        name = f"{self.name}-{self.template}"
        data: Data = {
            "cluster": cluster.name,
            "namespace": self.namespace,
            "name": name,
            "owner": {"kind": self.kind, "name": self.name, "uid": self.uid},
            "template_hash": self.template,
            "replicas": self.replicas // len(self.homes),
        }
        subject = f"{cluster.name}/{self.namespace}/{name}"
        return Happening("ledger.workload.replicaset.upserted.v1", cluster.source, subject, data)

    def new_pod(self, number: int, cluster: Cluster, node: Node | None) -> Pod:
        """A pod that begins; a stateful set's has the name of its number, another one's is new."""
        self.serial += 1
        stateful = self.kind == "StatefulSet"
        name = (
            f"{self.name}-{number}"
            if stateful
            else f"{self.name}-{self.template}-{self.serial:05x}"
        )
        uid = f"{self.uid[:24]}{self.serial:012x}"
        return Pod(self.namespace, name, uid, cluster, node, "Pending")

    def seen(self, pod: Pod) -> Happening:
        """One of its pods is reported."""
        owner: Data = {"kind": "ReplicaSet", "name": f"{self.name}-{self.template}"}
        if self.kind == "StatefulSet":
            owner = {"kind": "StatefulSet", "name": self.name, "uid": self.uid}
        return pod.observed(owner, self.request.told(), self.template)


def removed(namespace: str, name: str, *, uid: str, revision: int) -> Happening:
    """A workload or a job is gone."""
    data: Data = {"namespace": namespace, "name": name, "uid": uid, "revision": revision}
    subject = f"{namespace}/{name}"
    return Happening("ledger.workload.workload.removed.v1", CONTROL_PLANE, subject, data)
