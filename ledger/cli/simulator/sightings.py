"""What the agents of an invented fleet see running, and when.

A simulation cannot know what the ledger decides, so a pod is where it might be: on any node of a
cluster that its workload may run on, and it stays there. Where the ledger chooses the nodes, nearly
all pods are told before they have one, which contradicts nothing; one in forty is told on a node
all the same, as if somebody had placed it by hand. Every node also runs a pod of nobody the ledger
knows.

A sighting mostly says again what is known: agents repeat themselves.
"""

from random import Random
from typing import Final

from ledger.cli.simulator.luck import happens, some, uid
from ledger.cli.simulator.members import Cluster, Node
from ledger.cli.simulator.pods import Pod
from ledger.cli.simulator.spelling import Data, Happening
from ledger.cli.simulator.workloads import Workload

_BY_HAND: Final = 40
"""One in so many pods runs where the ledger did not put it."""
_COLLECTOR: Final[Data] = {"cpu": "100m", "memory": "128Mi"}
"""What the pod takes that every node runs beside the others."""


class Sightings:
    """Pods, replica sets, and nodes that are as they were."""

    def __init__(self, chance: Random, clusters: list[Cluster], workloads: list[Workload]) -> None:
        self._chance = chance
        self._clusters = clusters
        self._workloads = workloads
        self._collectors: dict[str, Pod] = {}

    def pod(self) -> Happening:
        """A workload's pods become what they should be one by one, or one is told again."""
        workload = some(self._chance, self._workloads)
        pods = workload.pods
        if not workload.present or len(pods) > workload.replicas:
            gone = pods.pop() if pods else None
            return self.node() if gone is None else gone.deleted()
        if not workload.replicas:
            return self.node()
        if not pods or (len(pods) < workload.replicas and happens(self._chance, 30)):
            pods.append(None)
            return self._begun(workload, len(pods) - 1)
        number = int(self._chance.random() * len(pods))
        pod = pods[number]
        if pod is None:
            return self._begun(workload, number)
        return self._told(workload, number, pod)

    def pods_of(self, workload: Workload) -> list[Happening]:
        """All of a workload's pods, as an agent lists them when it is started."""
        workload.pods = [None] * workload.replicas
        return [self._begun(workload, number) for number in range(workload.replicas)]

    def replica_set(self) -> Happening:
        """What a cluster's controller wants of a workload; stateful sets have none."""
        workload = some(self._chance, self._workloads)
        if not workload.present or workload.kind != "Deployment":
            return self.collector()
        return workload.replica_set(some(self._chance, workload.homes))

    def node(self) -> Happening:
        """A node is as it was."""
        return self._some_node().upserted()

    def disk(self) -> Happening:
        """A disk is as it was, to the percent."""
        node = self._some_node()
        there = [disk for disk in node.disks if disk.present]
        return some(self._chance, there).upserted() if there else node.upserted()

    def collector(self) -> Happening:
        """The pod that collects the logs of a node."""
        node = self._some_node()
        pod = self._collectors.get(node.key)
        if pod is None:
            name = f"logs-{node.name}"
            pod = Pod("kube-system", name, uid(self._chance), node.cluster, node, "Running")
            self._collectors[node.key] = pod
        return pod.observed({"kind": "DaemonSet", "name": "logs"}, _COLLECTOR, "")

    def _begun(self, workload: Workload, number: int) -> Happening:
        cluster = some(self._chance, workload.homes)
        node = some(self._chance, cluster.nodes)
        by_hand = workload.placed_by_ledger and not int(self._chance.random() * _BY_HAND)
        stands = node.present and node.ready and (by_hand or not workload.placed_by_ledger)
        pod = workload.new_pod(number, cluster, node if stands else None)
        if stands and happens(self._chance, 80):
            pod.phase = "Running"
        workload.pods[number] = pod
        return workload.seen(pod)

    def _told(self, workload: Workload, number: int, pod: Pod) -> Happening:
        node = pod.node
        lost = not pod.cluster.present or (node is not None and not node.present)
        if lost or pod.terminating or pod.phase == "Failed":
            workload.pods[number] = None
            return pod.deleted()
        if node is not None:
            draw = self._chance.random()
            if pod.phase == "Pending":
                pod.phase = "Running"
            elif draw < 0.01:
                pod.phase = "Failed"
            elif draw < 0.03:
                pod.terminating = True
        return workload.seen(pod)

    def _some_node(self) -> Node:
        """A node that is there; at least one cluster always is, and mostly one of its nodes."""
        clusters = [cluster for cluster in self._clusters if cluster.present] or self._clusters
        nodes = some(self._chance, clusters).nodes
        node = some(self._chance, nodes)
        return node if node.present else next((one for one in nodes if one.present), node)
