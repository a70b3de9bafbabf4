"""Disks and volumes of an invented fleet, as they report themselves.

How they fill up, break and are given up is told in ``ledger.cli.simulator.wear``.
"""

from dataclasses import dataclass, field
from typing import Final

from ledger.cli.simulator.spelling import Data, Happening, Value

GIBIBYTE: Final = 2**30
SMALLEST_VOLUME: Final = 20 * GIBIBYTE
LARGEST_VOLUME: Final = 400 * GIBIBYTE
_CONTROL_PLANE: Final = "/control-plane"


@dataclass(slots=True, eq=False)
class Disk:
    """A disk in a node."""

    cluster: str
    node: str
    name: str
    zone: str
    region: str
    size: int
    free: int
    tag: str
    schedulable: bool = True
    evicting: bool = False
    present: bool = False
    revision: int = 0

    @property
    def source(self) -> str:
        """The agent that looks after it."""
        return f"/clusters/{self.cluster}/agent"

    @property
    def key(self) -> str:
        """Its subject."""
        return f"{self.cluster}/{self.node}/{self.name}"

    def upserted(self) -> Happening:
        """It was found, or reports how full it is."""
        self.present = True
        self.revision += 1
        data: Data = {
            "cluster": self.cluster,
            "node": self.node,
            "disk": self.name,
            "revision": self.revision,
            "zone": self.zone,
            "region": self.region,
            "maximum": self.size,
            "available": self.free,
            "reserved": self.size // 10,
            "tags": [self.tag],
            "schedulable": self.schedulable,
            "evicting": self.evicting,
        }
        return Happening("ledger.disk.disk.upserted.v1", self.source, self.key, data)

    def removed(self) -> Happening:
        """It is gone."""
        self.present = False
        self.revision += 1
        data: Data = {
            "cluster": self.cluster,
            "node": self.node,
            "disk": self.name,
            "revision": self.revision,
        }
        return Happening("ledger.disk.disk.removed.v1", self.source, self.key, data)


@dataclass(slots=True, eq=False)
class Volume:
    """A volume with replicas on several disks."""

    name: str
    size: int
    replicas: int
    workload: str | None
    selector: list[str]
    shares_nodes: bool
    present: bool = False
    revision: int = 0
    numbers: list[int] = field(default_factory=list)
    """Of its replicas as the ledger would name them, if each was placed at once."""
    last: int = 0

    def upserted(self) -> Happening:
        """It was made, or its owner wants it otherwise."""
        self.present = True
        self.revision += 1
        while len(self.numbers) < self.replicas:
            self.last += 1
            self.numbers.append(self.last)
        del self.numbers[self.replicas :]
        selector: list[Value] = list(self.selector)
        data: Data = {
            "name": self.name,
            "revision": self.revision,
            "size": self.size,
            "replicas": self.replicas,
            "disk_selector": selector,
        }
        if self.shares_nodes:
            data["node_soft"] = True
        if self.workload is not None:
            data["workload"] = self.workload
        return Happening("ledger.disk.volume.upserted.v1", _CONTROL_PLANE, self.name, data)

    def removed(self) -> Happening:
        """It is gone; if there is one of that name again, its numbers begin anew."""
        self.present = False
        self.revision += 1
        self.numbers.clear()
        self.last = 0
        data: Data = {"name": self.name, "revision": self.revision}
        return Happening("ledger.disk.volume.removed.v1", _CONTROL_PLANE, self.name, data)

    def grow(self) -> None:
        """Become a quarter larger."""
        self.size += self.size // 4

    def replica_failed(self, number: int, *, reusable: bool) -> Happening:
        """A replica does not answer any more; one that cannot come back gets a successor."""
        if not reusable:
            self.last += 1
            self.numbers[self.numbers.index(number)] = self.last
        data: Data = {"volume": self.name, "replica": f"{self.name}-r{number}"}
        if reusable:
            data["reusable"] = True
        return Happening("ledger.disk.replica.failed.v1", _CONTROL_PLANE, _replica(data), data)

    def replica_recovered(self, number: int) -> Happening:
        """A reusable one did come back."""
        data: Data = {"volume": self.name, "replica": f"{self.name}-r{number}"}
        return Happening("ledger.disk.replica.recovered.v1", _CONTROL_PLANE, _replica(data), data)


def _replica(data: Data) -> str:
    return f"{data['volume']}/{data['replica']}"
