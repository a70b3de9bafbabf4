"""Member clusters of an invented fleet and their nodes, as they report themselves.

What becomes of them is told in ``ledger.cli.simulator.outages``. A node whose place is taken by
another one is gone for good: its successor has a name of its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ledger.cli.simulator.spelling import Data, Happening, Value
from ledger.cli.simulator.storage import GIBIBYTE, Disk

REGION_LABEL: Final = "topology.kubernetes.io/region"
CAPACITY_LABEL: Final = "node.kubernetes.io/capacity"
_CONTROL_PLANE: Final = "/control-plane"


class Shape(NamedTuple):
    """What a kind of machine has; ``declared`` is how it says so."""

    cpu: int
    memory: int
    pods: int
    declared: Data


def rented(cpu: int, memory: int, pods: int) -> Shape:
    """An instance type: so many cores, whichever they are, and so many GiB."""
    declared: Data = {
        "cpu": str(cpu),
        "memory": f"{memory}Gi",
        "storage": "100Gi",
        "pods": pods,
    }
    return Shape(cpu, memory * GIBIBYTE, pods, declared)


def owned(cpu: int, memory: int, pods: int) -> Shape:
    """A machine of one's own: cores by pieces, two memory groups, devices for volumes."""
    cores: dict[str, Value] = {str(core): 100 for core in range(cpu)}
    groups: dict[str, Value] = {str(core): "0" if 2 * core < cpu else "1" for core in range(cpu)}
    half: dict[str, Value] = {"0": f"{memory // 2}Gi", "1": f"{memory // 2}Gi"}
    devices: dict[str, Value] = {"/data0": "2Ti", "/data1": "2Ti"}
    declared: Data = {
        "cores": cores,
        "share_base": 100,
        "memory": f"{memory}Gi",
        "numa": groups,
        "numa_memory": half,
        "volumes": devices,
        "storage": "400Gi",
        "pods": pods,
    }
    return Shape(cpu, memory * GIBIBYTE, pods, declared)


RENTED: Final = (
    rented(8, 32, 58),
    rented(16, 64, 110),
    rented(32, 128, 234),
    rented(64, 256, 250),
)
OWNED: Final = (owned(24, 192, 110), owned(48, 384, 220))


@dataclass(slots=True, eq=False)
class Cluster:
    """A member cluster."""

    name: str
    region: str
    zone: str
    tier: str
    nodes: list["Node"] = field(default_factory=list)
    """As many as ever; who stands in a place changes."""
    ready: bool = True
    present: bool = False
    revision: int = 0
    named: int = 0
    """How many nodes it has had."""

    @property
    def source(self) -> str:
        """The agent in it, which reports what is there."""
        return f"/clusters/{self.name}/agent"

    @property
    def labels(self) -> dict[str, str]:
        """What selectors look at."""
        return {"tier": self.tier, REGION_LABEL: self.region}

    def joined(self) -> Iterator[Happening]:
        """It comes with everything in it."""
        yield self.upserted()
        for node in self.nodes:
            yield from node.joined()

    def upserted(self) -> Happening:
        """It joined, or changed."""
        self.present = True
        self.revision += 1
        labels: dict[str, Value] = {**self.labels}
        data: Data = {
            "name": self.name,
            "revision": self.revision,
            "region": self.region,
            "zone": self.zone,
            "labels": labels,
            "ready": self.ready,
        }
        return Happening("ledger.cluster.cluster.upserted.v1", _CONTROL_PLANE, self.name, data)

    def removed(self) -> Happening:
        """It left, and everything in it."""
        self.present = False
        self.revision += 1
        for node in self.nodes:
            node.leave()
        data: Data = {"name": self.name, "revision": self.revision}
        return Happening("ledger.cluster.cluster.removed.v1", _CONTROL_PLANE, self.name, data)

    def nodes_listed(self) -> Happening:
        """Its agent lists all its nodes, as it does when it has been started again."""
        return self._listed("node", [node.key for node in self.nodes if node.present])

    def disks_listed(self) -> Happening:
        """Its agent lists all its disks."""
        disks = [disk for node in self.nodes if node.present for disk in node.disks]
        return self._listed("disk", [disk.key for disk in disks if disk.present])

    def _listed(self, noun: str, keys: list[str]) -> Happening:
        told: list[Value] = [*keys]
        data: Data = {"cluster": self.name, "noun": noun, "keys": told}
        return Happening("ledger.cluster.inventory.listed.v1", self.source, self.name, data)


@dataclass(slots=True, eq=False)
class Node:
    """A node of a cluster, and the disks in it."""

    cluster: Cluster
    name: str
    shape: Shape
    capacity: str
    disks: list[Disk]
    ready: bool = True
    schedulable: bool = True
    present: bool = False
    revision: int = 0

    @property
    def key(self) -> str:
        """Its subject."""
        return f"{self.cluster.name}/{self.name}"

    def joined(self) -> Iterator[Happening]:
        """It comes with its disks."""
        yield self.upserted()
        for disk in self.disks:
            yield disk.upserted()

    def upserted(self) -> Happening:
        """It joined, changed, or reports that it is as it was."""
        self.present = True
        self.revision += 1
        labels: dict[str, Value] = {CAPACITY_LABEL: self.capacity, "kubernetes.io/arch": "amd64"}
        data: Data = {
            "cluster": self.cluster.name,
            "name": self.name,
            "revision": self.revision,
            "region": self.cluster.region,
            "zone": self.cluster.zone,
            "labels": labels,
            "ready": self.ready,
            "schedulable": self.schedulable,
            **self.shape.declared,
        }
        return Happening("ledger.cluster.node.upserted.v1", self.cluster.source, self.key, data)

    def reclaiming(self) -> Happening:
        """Its owner wants it back in two minutes."""
        data: Data = {"cluster": self.cluster.name, "name": self.name, "notice_seconds": 120}
        return Happening("ledger.cluster.node.reclaiming.v1", self.cluster.source, self.key, data)

    def removed(self) -> Happening:
        """It is gone."""
        self.leave()
        self.revision += 1
        data: Data = {"cluster": self.cluster.name, "name": self.name, "revision": self.revision}
        return Happening("ledger.cluster.node.removed.v1", self.cluster.source, self.key, data)

    def leave(self) -> None:
        """Be gone with the disks, whether or not anybody says so."""
        self.present = False
        for disk in self.disks:
            disk.present = False
