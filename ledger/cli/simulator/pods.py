"""Pods of an invented fleet, as the agents of its clusters report them.

Which are seen where, and when, is told in ``ledger.cli.simulator.sightings``.
"""

from dataclasses import dataclass

from ledger.cli.simulator.members import Cluster, Node
from ledger.cli.simulator.spelling import Data, Happening


@dataclass(slots=True, eq=False)
class Pod:
    """One of a workload's pods, or one of nobody the ledger knows."""

    namespace: str
    name: str
    uid: str
    cluster: Cluster
    node: Node | None
    """None: it waits for one."""
    phase: str
    revision: int = 0
    terminating: bool = False

    @property
    def subject(self) -> str:
        """Its key."""
        return f"{self.cluster.name}/{self.namespace}/{self.name}"

    def observed(self, owner: Data, request: Data, template: str) -> Happening:
        """Its agent sees it, for the first time or once more."""
        self.revision += 1
        data: Data = {
            "cluster": self.cluster.name,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "revision": self.revision,
            "owner": owner,
            "template_hash": template,
            "phase": self.phase,
            "ready": self.phase == "Running",
            "request": request,
        }
        if self.node is not None:
            data["node"] = self.node.name
            data["capacity_class"] = self.node.capacity
        if self.terminating:
            data["terminating"] = True
        return Happening("ledger.workload.pod.observed.v1", self.cluster.source, self.subject, data)

    def deleted(self) -> Happening:
        """Its agent sees that it is gone."""
        self.revision += 1
        data: Data = {
            "cluster": self.cluster.name,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "revision": self.revision,
        }
        return Happening("ledger.workload.pod.deleted.v1", self.cluster.source, self.subject, data)
