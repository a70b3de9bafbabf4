"""What becomes of the clusters and nodes of an invented fleet.

Nodes are cordoned, drained, reclaimed, lost and replaced; clusters stop answering or leave. What
goes comes back, or something else in its place, some tens or hundreds of events later. There are
always two clusters that would take work, if there ever were.
"""

from collections.abc import Callable
from functools import partial
from random import Random

from ledger.cli.simulator.later import Later
from ledger.cli.simulator.luck import happens, some
from ledger.cli.simulator.members import Cluster, Node
from ledger.cli.simulator.spelling import Happening
from ledger.cli.simulator.storage import Disk

Another = Callable[[Cluster], Node]
"""A new node for a cluster."""


class Outages:
    """Clusters and nodes in motion."""

    def __init__(
        self, chance: Random, later: Later, clusters: list[Cluster], another: Another
    ) -> None:
        self._chance = chance
        self._later = later
        self._clusters = clusters
        self._another = another

    def node(self) -> Happening:
        """A node is cordoned, or takes work again."""
        node = self.some_node()
        node.schedulable = not node.schedulable
        if not node.schedulable:
            self._later.after(200, partial(self._uncordoned, node))
        return node.upserted()

    def lose_node(self) -> Happening:
        """A node stops answering: mostly it comes back, sometimes another one takes its place."""
        node = self.some_node()
        if not node.ready or not node.present:
            return node.upserted()
        node.ready = False
        if happens(self._chance, 70):
            self._later.after(80, partial(self._ready_again, node))
        else:
            self._later.after(80, partial(self._gone, node))
        return node.upserted()

    def drain_node(self) -> Happening:
        """A node is emptied and taken out: another one takes its place."""
        node = self.some_node()
        if not node.present or not node.schedulable:
            return node.upserted()
        node.schedulable = False
        self._later.after(150, partial(self._gone, node))
        return node.upserted()

    def reclaim_node(self) -> Happening:
        """A spot node is wanted back: after its notice it goes, and another one is bought."""
        nodes = self.some_cluster().nodes
        node = next((one for one in nodes if one.capacity == "spot" and one.present), None)
        if node is None:
            return self.node()
        self._later.after(30, partial(self._gone, node))
        return node.reclaiming()

    def listed(self) -> Happening:
        """An agent that was started again lists what is there."""
        cluster = self.some_cluster()
        return cluster.nodes_listed() if happens(self._chance, 60) else cluster.disks_listed()

    def lose_cluster(self) -> Happening:
        """A cluster stops answering; mostly it is back before anybody has woken up."""
        cluster = self.some_cluster()
        if not cluster.ready or not self._can_spare(cluster):
            return self.node()
        cluster.ready = False
        self._later.after(150, partial(self._cluster_ready_again, cluster))
        return cluster.upserted()

    def take_cluster_out(self) -> Happening:
        """A cluster leaves the fleet, and returns when its upgrade is done."""
        cluster = self.some_cluster()
        if not cluster.present or not self._can_spare(cluster):
            return self.node()
        self._later.after(300, partial(self._returned, cluster))
        return cluster.removed()

    def some_cluster(self) -> Cluster:
        """Any cluster that is there now; at least one always is."""
        cluster = some(self._chance, self._clusters)
        return cluster if cluster.present else next(one for one in self._clusters if one.present)

    def some_node(self) -> Node:
        """Any node of a cluster that is there; hardly ever one that has just gone."""
        return some(self._chance, self.some_cluster().nodes)

    def _uncordoned(self, node: Node) -> Happening:
        node.schedulable = True
        return self._if_there(node)

    def _ready_again(self, node: Node) -> Happening:
        node.ready = True
        return self._if_there(node)

    def _gone(self, node: Node) -> Happening:
        """It goes, now and then without a word: then a list of what is left tells it."""
        if not node.present:
            return self._if_there(node)
        nodes = node.cluster.nodes
        successor = self._another(node.cluster)
        nodes[nodes.index(node)] = successor
        self._later.after(20, partial(self._bought, successor))
        if happens(self._chance, 10):
            node.leave()
            return node.cluster.nodes_listed()
        return node.removed()

    def _bought(self, node: Node) -> Happening:
        if not node.cluster.present:
            return self.some_node().upserted()
        self._with_disks(node)
        return node.upserted()

    def _with_disks(self, node: Node) -> None:
        for disk in node.disks:
            self._later.after(5, partial(self._found, node, disk))

    def _found(self, node: Node, disk: Disk) -> Happening:
        return disk.upserted() if node.present else self.some_node().upserted()

    def _if_there(self, node: Node) -> Happening:
        """What it says of itself, or another one if it has gone meanwhile."""
        if not node.present:
            node = self.some_node()
        return node.upserted()

    def _cluster_ready_again(self, cluster: Cluster) -> Happening:
        cluster.ready = True
        return cluster.upserted() if cluster.present else self.some_node().upserted()

    def _returned(self, cluster: Cluster) -> Happening:
        cluster.ready = True
        for node in cluster.nodes:
            self._later.after(10, node.upserted)
            self._with_disks(node)
        return cluster.upserted()

    def _can_spare(self, cluster: Cluster) -> bool:
        """Whether two others would still take work."""
        others = [one for one in self._clusters if one is not cluster]
        return sum(one.present and one.ready for one in others) >= 2
