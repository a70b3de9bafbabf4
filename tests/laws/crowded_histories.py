"""Long random histories of a small crowded world: what a seed tells, and the least that still fails.

Two clusters with a handful of small nodes, four workloads that want more than there is, pods that do
not do as they are told, cordons, graces, reclaims, removals, edits and other lives. A history is its
seed, so a hundred thousand of them need no more room than a range of numbers; a history in which
something fails is made smaller by leaving out whatever is not needed for the failure.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple, TypeVar, cast, get_args

from ledger.facts import cluster, workload
from ledger.facts.event import Fact
from ledger.facts.own import TimePassed
from ledger.units import Bytes, ClusterName, Microseconds, NodeName, Replicas, Subject, Uid
from tests.histories import (
    DAY,
    SECOND,
    cluster_gone,
    cluster_up,
    divided,
    each_takes,
    finished,
    job_up,
    node_gone,
    node_reclaimed,
    node_up,
    pod_seen,
    policy,
    queue_up,
    reschedule,
    workload_gone,
    workload_up,
)

CLUSTERS = ("m1", "m2")
NODES = ("n1", "n10", "n2", "n3")
WORKLOADS = ("a", "b", "c", "d")
JOBS = ("j1", "j2", "j3", "a", "b")
"""Some take the name of a workload that is none."""
QUEUES = ("qa", "qb")
CAPACITY = "node.kubernetes.io/capacity"

REQUESTS = (
    each_takes(memory=2),
    each_takes(memory=3),
    each_takes(cpu=500, memory=1),
    each_takes(cpu=2000, memory=1),
    each_takes(cpu=500, bind=True),
    each_takes(cpu=700, bind=True, memory=1),
    each_takes(cpu=1000, bind=True, memory=2),
    each_takes(cpu=1500, bind=True, memory=1),
    each_takes(storage=4),
    each_takes(memory=1, volumes=["AUTO:/v:rw:3"]),
    each_takes(memory=1, volumes=["AUTO:/v:rw:4", "AUTO:/w:rw:2"]),
    each_takes(storage=1, volumes=["AUTO:/m:rwm:4"]),
    each_takes(memory=2, volumes=["AUTO:/u:rw", "/data:/data:rw:1"]),
)


Told = TypeVar("Told")


class Happening(NamedTuple):
    """A fact, and how long after the one before it."""

    fact: Fact
    after: int


def history(seed: int, length: int) -> list[Happening]:
    """The history that this seed tells; always the same."""
    told = _Teller(Random(seed))
    return [Happening(fact, 0) for fact in told.beginning()] + [
        Happening(told.next(), told.pause()) for _ in range(length)
    ]


def with_jobs(seed: int, length: int) -> list[Happening]:
    """The same history, with queues and jobs that want room on the same nodes, and may evict each other."""
    random = Random(f"jobs beside {seed}")
    rounds = {
        "round.max_events": random.choice([1, 3]),
        "round.max_milliseconds": random.choice([0, 1500]),
        "fairshare.preempt": random.choice([True, False]),
        "fairshare.reclaim": random.choice([True, False]),
    }
    told = [Happening(policy(rounds), 0)]
    for happening in history(seed, length):
        told.append(happening)
        if random.random() < 0.3:
            told.append(Happening(_of_jobs(random), random.choice([0, 0, SECOND])))
    return told


def with_sets(seed: int, length: int) -> list[Happening]:
    """The same history, in which most are StatefulSets and few nodes are on-demand ones, with little room.

    So the lowest numbers of a set are often refused where the others are placed, and it is scaled down then.
    """
    random = Random(f"sets of {seed}")
    return [
        Happening(_of_sets(random, happening.fact), happening.after)
        for happening in history(seed, length)
    ]


def _of_sets(random: Random, fact: Fact) -> Fact:
    match fact:
        case cluster.NodeUpserted():
            says = "on-demand" if fact.name == NODES[0] else "spot"
            least = Bytes(random.choice([0, 2, 4])) if says == "on-demand" else fact.memory
            others = tuple(label for label in fact.labels if label[0] != CAPACITY)
            return replace(fact, labels=tuple(sorted([*others, (CAPACITY, says)])), memory=least)
        case workload.WorkloadUpserted() if fact.name != WORKLOADS[-1]:
            spec = fact.deploy
            if spec is not None and spec.strategy in {"FILL", "EACH"} and random.random() < 0.8:
                spec = replace(spec, strategy="AUTO")
            return replace(
                fact,
                kind="StatefulSet",
                deploy=spec,
                request=fact.request if random.random() < 0.1 else each_takes(memory=1),
                min_available=fact.min_available or random.choice(["0", "1", None]),
            )
        case _:
            return fact


def _of_jobs(random: Random) -> Fact:
    """Something about a job, or a queue of theirs."""
    key = f"ns/{random.choice(JOBS)}"
    match random.choices(["queue", "job", "finished", "gone"], [3, 12, 3, 2])[0]:
        case "queue":
            return queue_up(random.choice(QUEUES), weight=random.choice([1, 2]))
        case "job":
            return job_up(
                key,
                random.choice([0, 1, 2, 4, 6]),
                random.choice(QUEUES),
                cpu=random.choice([0, 500, 1000]),
                memory=random.choice([0, 1, 2]),
                gang=random.choice([1, 1, 2]),
                priority=random.choice([0, 0, 1]),
            )
        case "finished":
            return finished(key, random.choice([None, 0, 1]))
        case _:
            return workload_gone(key)


def smallest(happenings: Sequence[Told], fails: Callable[[Sequence[Told]], bool]) -> list[Told]:
    """A part of the history that still fails, from which nothing more can be left out."""
    left = list(happenings)
    size = len(left) // 2
    while size:
        place = 0
        while place < len(left):
            fewer = left[:place] + left[place + size :]
            if fails(fewer):
                left = fewer
            else:
                place += size
        size //= 2
    return left


class _Teller:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.facts: dict[str, workload.WorkloadUpserted] = {}
        self.nodes: dict[str, cluster.NodeUpserted] = {}
        self.pods: dict[str, workload.PodObserved] = {}
        self.held = False
        self.patience = 0.25
        """How likely the next event lifts a hold: some last for days."""

    def beginning(self) -> list[Fact]:
        """Something to decide about."""
        facts: list[Fact] = [policy({"placement.max_deploy": 9})]
        facts += [cluster_up(name) for name in CLUSTERS]
        facts += [self._node(name, node) for name in CLUSTERS for node in NODES[:3]]
        facts += [self._workload(name) for name in WORKLOADS[:3]]
        return facts

    def pause(self) -> int:
        return self.random.choice(
            [0, 0, 0, 0, 0, SECOND, SECOND, SECOND, 3 * SECOND, DAY // 3, DAY]
        )

    def next(self) -> Fact:
        """What happens next."""
        if self.held and self.random.random() < self.patience:
            self.held = False
            return policy({"hold": None})
        what = self.random.choices(
            [
                self._any_workload,
                self._scaled,
                self._edited,
                self._any_node,
                self._node_flips,
                self._pod,
                self._pod_gone,
                self._gone,
                self._reclaim,
                self._reschedule,
                self._cluster,
                self._policy,
                self._listed,
            ],
            [6, 22, 12, 10, 16, 14, 6, 6, 4, 4, 3, 4, 2],
        )[0]
        return what()

    def _some(self, *choices: object) -> object:
        return self.random.choice(choices)

    def _node(self, name: str, node: str) -> cluster.NodeUpserted:
        random = self.random
        labels = {"disk": random.choice(["ssd", "hdd"])}
        if random.random() < 0.4:
            labels[CAPACITY] = random.choice(["on-demand", "spot", "reserved"])
        cores = {"0": 100, "1": random.choice([100, 130]), "2": random.choice([50, 100, 200])}
        made = node_up(
            name,
            node,
            labels=labels,
            cores=cores if random.random() < 0.4 else None,
            cpu=random.choice([1000, 2000, 3000, 4500]),
            memory=random.choice([4, 8, 12]),
            storage=random.choice([6, 20, 40]),
            volumes=random.choice([{}, {"d1": 8, "d2": 5}, {"d1": 4, "d2": 4, "d3": 9}]),
            pods=random.choice([None, None, 2, 4, 8]),
        )
        if random.random() < 0.25:
            made = replace(made, share_base=random.choice([50, 50, 200, 10]))
        if random.random() < 0.15:
            groups = tuple((core, str(place % 2)) for place, core in enumerate("012"))
            made = replace(
                made, numa=groups, numa_memory=(("0", Bytes(made.memory // 2)), ("1", Bytes(2)))
            )
        self.nodes[f"{name}/{node}"] = made
        return made

    def _any_node(self) -> Fact:
        return self._node(self.random.choice(CLUSTERS), self.random.choice(NODES))

    def _node_flips(self) -> Fact:
        """A known node says something else of itself."""
        key = self.random.choice(sorted(self.nodes))
        node = self.nodes[key]
        self.nodes[key] = self.random.choices(
            [
                replace(node, ready=not node.ready),
                replace(node, schedulable=not node.schedulable),
                replace(node, ready=True, schedulable=True),
                replace(node, memory=Bytes(self.random.choice([2, 6, 12]))),
                replace(node, uid=Uid(self.random.choice(["one", "two"]))),
                replace(node, share_base=self.random.choice([50, 100, 100, 200])),
            ],
            [4, 5, 6, 2, 1, 2],
        )[0]
        return self.nodes[key]

    def _deploy(self) -> workload.DeploySpec:
        random = self.random
        strategy = random.choice(["AUTO", "AUTO", "GLOBAL", "DRAINED", "FILL", "EACH"])
        assert strategy in get_args(workload.DeployStrategy)
        return workload.DeploySpec(
            strategy=cast("workload.DeployStrategy", strategy),
            count=random.choice([1, 2, 3]),
            nodes_limit=random.choice([0, 0, 0, 1, 2, 3]),
            policy=random.choice([None, None, "after_usage", "nearest_level"]),
            max_share=random.choice([-1, -1, -1, 1]),
            node_selector=random.choice([(), (), (), (("disk", "ssd"),)]),
        )

    def _workload(self, name: str) -> workload.WorkloadUpserted:
        random = self.random
        wish = random.choice(
            [
                divided(),
                divided({"m1": 2, "m2": 1}),
                divided(strategy="dynamic"),
                divided(strategy="aggregated"),
                divided(strategy="duplicated"),
                None,
                None,
            ]
        )
        made = workload_up(
            f"ns/{name}",
            random.choice([1, 2, 3, 4, 5, 6, 8]),
            wish,
            kind=random.choice(["Deployment", "Deployment", "StatefulSet"]),
            request=random.choice(REQUESTS),
            deploy=self._deploy() if random.random() < 0.92 else None,
        )
        made = replace(
            made,
            cluster=ClusterName(random.choice(CLUSTERS)) if wish is None else None,
            min_available=random.choice([None, None, None, "1", "2", "50%", "no"]),
        )
        self.facts[name] = made
        return made

    def _any_workload(self) -> Fact:
        made = self._workload(self.random.choice(WORKLOADS))
        if self.random.random() < 0.2:
            return replace(made, uid=Uid(self.random.choice(["one", "two"])))
        return made

    def _scaled(self) -> Fact:
        name = self.random.choice(sorted(self.facts))
        fewer_or_more = Replicas(self.random.choice([0, 1, 2, 3, 4, 5, 6, 9]))
        self.facts[name] = replace(self.facts[name], replicas=fewer_or_more)
        return self.facts[name]

    def _edited(self) -> Fact:
        name = self.random.choice(sorted(self.facts))
        fact, random = self.facts[name], self.random
        deploy = fact.deploy or self._deploy()
        self.facts[name] = random.choice(
            [
                replace(fact, request=random.choice(REQUESTS)),
                replace(fact, request=random.choice(REQUESTS)),
                replace(fact, deploy=self._deploy()),
                replace(fact, deploy=replace(deploy, node_selector=self._deploy().node_selector)),
                replace(fact, deploy=replace(deploy, count=self._deploy().count)),
                replace(fact, min_available=random.choice([None, "0", "1", "3", "80%"])),
                replace(fact, deploy=None) if random.random() < 0.3 else fact,
            ]
        )
        return self.facts[name]

    def _pod(self) -> Fact:
        random = self.random
        name = random.choice([*WORKLOADS, None])
        key = f"{name or 'x'}-{random.randrange(4)}"
        above = random.choice(CLUSTERS)
        fact = None if name is None else self.facts.get(name)
        owner = None
        if name is not None:
            kind = "ReplicaSet" if fact is None or fact.kind == "Deployment" else fact.kind
            owner = workload.Owner(kind, f"{name}-h" if kind == "ReplicaSet" else name, None)
        before = self.pods.get(f"{above}/{key}")
        node = random.choice(NODES) if before is None else str(before.node)
        made = replace(
            pod_seen(above, "ns", key),
            owner=owner,
            template_hash="h",
            node=NodeName(node),
            phase=random.choice(
                ["Running", "Running", "Running", "Pending", "Failed", "Succeeded"]
            ),
            terminating=random.random() < 0.15,
            request=each_takes(memory=1, cpu=random.choice([0, 500]))
            if fact is None
            else fact.request,
        )
        self.pods[f"{above}/{key}"] = made
        return made

    def _pod_gone(self) -> Fact:
        if not self.pods:
            return self._pod()
        key = self.random.choice(sorted(self.pods))
        pod = self.pods.pop(key)
        return workload.PodDeleted(pod.cluster, pod.namespace, pod.name, None, None)

    def _gone(self) -> Fact:
        random = self.random
        kind = random.random()
        if kind < 0.5:
            key = random.choice(sorted(self.nodes))
            return node_gone(*key.split("/"))
        if kind < 0.9:
            return workload_gone(f"ns/{random.choice(WORKLOADS)}")
        return cluster_gone(random.choice(CLUSTERS))

    def _reclaim(self) -> Fact:
        return node_reclaimed(*self.random.choice(sorted(self.nodes)).split("/"))

    def _reschedule(self) -> Fact:
        return reschedule(f"ns/{self.random.choice(WORKLOADS)}", fresh=self.random.random() < 0.6)

    def _cluster(self) -> Fact:
        return cluster_up(self.random.choice(CLUSTERS), ready=self.random.random() < 0.75)

    def _policy(self) -> Fact:
        random = self.random
        if random.random() < 0.3:
            self.held = True
            self.patience = random.choice([0.25, 0.25, 0.05])
            return policy({"hold": True})
        return policy(
            random.choice(
                [
                    {"grace.node_ms": random.choice([0, 0, 1500, 4000])},
                    {"grace.cluster_ms": random.choice([0, 1500])},
                    {"placement.global_policy": random.choice(["after_usage", None])},
                    {"placement.max_deploy": random.choice([1, 9])},
                    {"retry.max_subjects": random.choice([1, 64])},
                ]
            )
        )

    def _listed(self) -> Fact:
        random = self.random
        above = random.choice(CLUSTERS)
        if random.random() < 0.5:
            keys = [key for key in self.nodes if key.startswith(f"{above}/")]
            noun = "node"
        else:
            keys = [f"{above}/ns/{pod.name}" for pod in self.pods.values() if pod.cluster == above]
            noun = "pod"
        there = sorted(key for key in keys if random.random() < 0.8)
        if random.random() < 0.1:
            return TimePassed(Microseconds(0))
        return cluster.InventoryListed(
            ClusterName(above),
            cast("cluster.InventoryNoun", noun),
            tuple(map(Subject, there)),
            None,
        )
