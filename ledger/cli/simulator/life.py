"""What happens in an invented fleet: it is raised, and then it lives.

First come queues, quotas, clusters with their nodes and disks, workloads, volumes; one cluster
joins last, when there is something to divide anew. Life then is a mix of three. *Reports* say what
is running and ask for nothing. *Changes* touch objects that no division depends on. *Decisions*
are what a division depends on: autoscaling, weights, clusters that come and go, somebody asking
anew.

What begins also ends: a cluster that is lost comes back some hundred events later, a failed
replica recovers, a reclaimed node is replaced.
"""

import heapq
from bisect import bisect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from random import Random
from typing import Final, Generic, TypeVar

from ledger.cli.simulator.fleet import Cluster, Fleet, Node, Workload, template_hash
from ledger.cli.simulator.spelling import Happening
from ledger.units import Microseconds

_HOUR: Final = 3_600_000_000
_DAY_HOURS: Final = 24
_BUSIEST_HOUR: Final = 14

Happens = Callable[[], Happening]
Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class Mix:
    """How many of a thousand events are of each kind, once the fleet stands."""

    reports: int = 800
    changes: int = 130
    decisions: int = 70
    trouble: int = 0
    """How many messages beside a thousand good ones are repeated or wrong."""


class Life:
    """A fleet and what goes on in it; draws from ``chance`` and from nothing else."""

    def __init__(self, chance: Random, things: Fleet, mix: Mix) -> None:
        self._chance = chance
        self._things = things
        self._count = 0
        self._hour = 0
        self._raising = self._raise()
        self._later: list[tuple[int, int, Happens]] = []
        reports = _Choice((80, self._pod), (12, self._replica_set), (8, self._pod_gone))
        changes = _Choice(
            (40, self._node),
            (30, self._disk),
            (12, self._rollout),
            (8, self._volume),
            (4, self._quota),
            (3, self._queue),
            (3, self._reclaim),
        )
        decisions = _Choice(
            (900, self._scale),
            (60, self._weigh),
            (20, self._reschedule),
            (15, self._lose_cluster),
            (5, self._take_cluster_out),
        )
        self._kinds = _Choice(
            (mix.reports, reports), (mix.changes, changes), (mix.decisions, decisions)
        )

    def next(self, now: Microseconds) -> Happening:
        """The next thing that happens, at ``now``."""
        self._count += 1
        self._hour = now // _HOUR % _DAY_HOURS
        raising = next(self._raising, None)
        if raising is not None:
            return raising
        if self._later and self._later[0][0] <= self._count:
            return heapq.heappop(self._later)[2]()
        happens = self._kinds.draw(self._chance).draw(self._chance)
        return happens()

    def _raise(self) -> Iterator[Happening]:
        things = self._things
        *first, last = things.clusters
        for queue in things.queues:
            yield queue.upserted()
        for quota in things.quotas:
            yield quota.upserted()
        for cluster in first or [last]:
            yield from _joined(cluster)
        for workload in things.workloads:
            yield workload.upserted()
        for volume in things.volumes:
            yield volume.upserted()
        if first:
            yield from _joined(last)

    def _after(self, events: int, happens: Happens) -> None:
        """Let something happen some time later: after so many events on average."""
        due = self._count + 1 + int(self._chance.random() * 2 * events)
        # The lot in the middle keeps two that are due together apart.
        heapq.heappush(self._later, (due, self._chance.getrandbits(64), happens))

    def _pod(self) -> Happening:
        workload = self._some_workload()
        draw = self._chance.random()
        phase = "Running" if draw < 0.93 else "Pending" if draw < 0.99 else "Failed"
        return workload.pod_observed(self._some_node(), self._some_pod(workload), phase=phase)

    def _replica_set(self) -> Happening:
        workload = self._some_workload()
        return workload.replica_set(self._some_cluster(), self._share(workload))

    def _pod_gone(self) -> Happening:
        workload = self._some_workload()
        if workload.is_job:
            return workload.finished(self._some_pod(workload))
        return workload.pod_deleted(self._some_cluster(), self._some_pod(workload))

    def _node(self) -> Happening:
        node = self._some_node()
        if self._chance.random() < 0.1:
            node.schedulable = not node.schedulable
        return node.upserted()

    def _disk(self) -> Happening:
        node = self._some_node()
        drift = self._chance.randint(-3, 3) * (node.disk_size // 100)
        node.disk_free = min(max(node.disk_free + drift, 0), node.disk_size)
        return node.disk_upserted()

    def _rollout(self) -> Happening:
        """A new template: every cluster gets a new replica set for it."""
        workload = self._some_workload()
        workload.template = template_hash(self._chance)
        for cluster in self._things.clusters:
            if cluster.present:
                self._after(20, partial(workload.replica_set, cluster, self._share(workload)))
        return workload.upserted()

    def _volume(self) -> Happening:
        if not self._things.volumes:
            return self._disk()
        volume = self._chance.choice(self._things.volumes)
        if self._chance.random() < 0.3:
            volume.grow()
            return volume.upserted()
        replica = self._chance.randint(1, 3)
        self._after(100, partial(volume.replica_recovered, replica))
        return volume.replica_failed(replica)

    def _quota(self) -> Happening:
        quota = self._chance.choice(self._things.quotas)
        quota.weight = self._chance.randint(1, 5)
        return quota.upserted()

    def _queue(self) -> Happening:
        queue = self._chance.choice(self._things.queues)
        queue.weight = self._chance.randint(1, 8)
        return queue.upserted()

    def _reclaim(self) -> Happening:
        """A spot node goes, and another comes in its place under the same name."""
        node = self._some_node()
        if node.capacity != "spot":
            return node.upserted()
        self._after(30, node.removed)
        self._after(90, node.upserted)
        return node.reclaiming()

    def _scale(self) -> Happening:
        """Autoscaling follows the hour of the day, a little differently for each workload."""
        workload = self._some_workload()
        distance = abs(self._hour - _BUSIEST_HOUR)
        percent = 160 - 9 * min(distance, _DAY_HOURS - distance) + self._chance.randint(-15, 15)
        wanted = max(1, workload.usual * percent // 100)
        # An autoscaler that wants what is there already says nothing.
        workload.replicas = wanted if wanted != workload.replicas else wanted + 1
        return workload.upserted()

    def _weigh(self) -> Happening:
        workload = self._some_workload()
        if not workload.weights:
            return self._scale()
        cluster = self._chance.choice(list(workload.weights))
        workload.weights[cluster] = 1 + (workload.weights[cluster] + 1) % 6
        return workload.upserted()

    def _reschedule(self) -> Happening:
        workload = self._some_workload()
        return self._scale() if workload.is_job else workload.rescheduled()

    def _lose_cluster(self) -> Happening:
        """A cluster stops answering; mostly it is back before anybody has woken up."""
        cluster = self._some_cluster()
        if not cluster.ready or not self._can_spare(cluster):
            return self._scale()
        cluster.ready = False
        self._after(150, partial(self._ready_again, cluster))
        return cluster.upserted()

    def _ready_again(self, cluster: Cluster) -> Happening:
        if not cluster.present:
            return self._node()
        cluster.ready = True
        return cluster.upserted()

    def _take_cluster_out(self) -> Happening:
        """A cluster leaves the fleet, and returns when its upgrade is done."""
        cluster = self._some_cluster()
        if not cluster.present or not self._can_spare(cluster):
            return self._scale()
        self._after(400, partial(self._return, cluster))
        return cluster.removed()

    def _return(self, cluster: Cluster) -> Happening:
        cluster.ready = True
        for node in cluster.nodes:
            self._after(10, node.upserted)
            self._after(20, node.disk_upserted)
        return cluster.upserted()

    def _can_spare(self, cluster: Cluster) -> bool:
        """Whether two others would still take work."""
        others = [one for one in self._things.clusters if one is not cluster]
        return sum(one.present and one.ready for one in others) >= 2

    def _share(self, workload: Workload) -> int:
        """What a cluster's own controller may have been told of a workload's replicas."""
        return workload.replicas // (len(workload.weights) or len(self._things.clusters))

    def _some_workload(self) -> Workload:
        workloads = self._things.workloads
        return workloads[int(self._chance.random() * len(workloads))]

    def _some_cluster(self) -> Cluster:
        """Any cluster that is there now; at least one always is."""
        clusters = self._things.clusters
        cluster = clusters[int(self._chance.random() * len(clusters))]
        return cluster if cluster.present else next(one for one in clusters if one.present)

    def _some_node(self) -> Node:
        nodes = self._some_cluster().nodes
        return nodes[int(self._chance.random() * len(nodes))]

    def _some_pod(self, workload: Workload) -> int:
        return int(self._chance.random() * workload.replicas)


class _Choice(Generic[Thing]):
    """Things to choose from, each as often as its weight says."""

    def __init__(self, *weighed: tuple[int, Thing]) -> None:
        assert all(weight >= 0 for weight, _ in weighed)
        self._things = [thing for _, thing in weighed]
        self._sums = list(accumulate(weight for weight, _ in weighed))
        assert self._sums[-1] > 0, "one of them has to be possible"

    def draw(self, chance: Random) -> Thing:
        return self._things[bisect(self._sums, int(chance.random() * self._sums[-1]))]


def _joined(cluster: Cluster) -> Iterator[Happening]:
    yield cluster.upserted()
    for node in cluster.nodes:
        yield node.upserted()
        yield node.disk_upserted()
