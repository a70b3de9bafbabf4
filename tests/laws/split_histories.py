"""Long random histories of pods that somebody else places, on on-demand nodes and on spot nodes.

The crowded histories seldom come to a repair: few of their workloads are left to others to place, and
none of those has a ReplicaSet. Here most are, most nodes say what they are, and as many pods are seen as
there are to be, more often than not on the wrong nodes. Workloads become others, or of another kind, the
ledger begins and ceases to decide their nodes; ReplicaSets change hands, nodes their labels; some pods
were admitted before they are seen; and what is proposed is often approved. A history is its seed.
"""

from dataclasses import replace
from random import Random
from typing import cast

from ledger.facts import cluster, workload
from ledger.facts.event import Fact
from ledger.units import ClusterName, NodeName, Replicas, Subject, Uid
from tests.histories import (
    SECOND,
    admitted,
    approved,
    bypassed,
    cluster_gone,
    cluster_up,
    deployed,
    divided,
    each_takes,
    node_gone,
    node_up,
    pod_gone,
    pod_seen,
    pods_listed,
    policy,
    replicaset_up,
    workload_gone,
    workload_up,
)
from tests.laws.crowded_histories import CAPACITY, Happening

CLUSTERS = ("m1", "m1", "m1", "m2")
NODES = ("n1", "n2", "n3", "n4")
DEPLOYMENTS = ("a", "b")
SETS = ("c", "d")
WORKLOADS = (*DEPLOYMENTS, *SETS)
PAUSES = (0, 0, 0, 0, 0, 0, SECOND, SECOND, 20 * SECOND, 20 * SECOND, 400 * SECOND)
PHASES: tuple[workload.PodPhase, ...] = ("Running", "Pending", "Failed", "Succeeded")


def history(seed: int, length: int) -> list[Happening]:
    """The history that this seed tells; always the same."""
    told = _Teller(Random(f"pods of {seed}"))
    return [Happening(fact, 0) for fact in told.beginning()] + [
        Happening(told.next(), told.random.choice(PAUSES)) for _ in range(length)
    ]


class _Teller:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.workloads: dict[str, workload.WorkloadUpserted] = {}
        self.pods: dict[str, workload.PodObserved] = {}
        self.admissions = 0
        self.held = False

    def beginning(self) -> list[Fact]:
        """Somebody to see pods of, and nodes to see them on."""
        facts: list[Fact] = [cluster_up("m1"), cluster_up("m2"), self._node("m2", "n1")]
        facts += [self._node("m1", name) for name in NODES]
        return facts + [self._workload(name) for name in WORKLOADS]

    def next(self) -> Fact:
        """What happens next; nobody holds for long."""
        if self.held and self.random.random() < 0.25:
            self.held = False
            return policy({"hold": None})
        what = self.random.choices(
            [
                self._pod,
                self._pod_again,
                self._pod_gone,
                self._replicaset,
                self._any_node,
                self._any_workload,
                self._edited,
                self._approved,
                self._admitted,
                self._bypassed,
                self._pods_listed,
                self._gone,
                self._listed,
                self._other,
            ],
            [48, 8, 6, 9, 6, 2, 7, 8, 4, 1, 1, 2, 1, 2],
        )[0]
        return what()

    def _node(self, above: str, name: str) -> Fact:
        random = self.random
        says = random.choice(["on-demand", "on-demand", "spot", "spot", "spot", "reserved", None])
        return node_up(
            above,
            name,
            labels={} if says is None else {CAPACITY: says},
            ready=random.random() < 0.9,
            schedulable=random.random() < 0.9,
            memory=20,
            uid=random.choice([None] * 9 + ["two"]),
        )

    def _workload(self, name: str) -> workload.WorkloadUpserted:
        random = self.random
        wish = random.choice([None, None, None, divided(), divided({"m1": 2, "m2": 1})])
        kind: workload.WorkloadKind = "Deployment" if name in DEPLOYMENTS else "StatefulSet"
        if random.random() < 0.1:
            kind = cast("workload.WorkloadKind", random.choice(["Deployment", "StatefulSet"]))
        made = workload_up(
            f"ns/{name}",
            random.choice([1, 1, 2, 2, 3]),
            wish,
            kind=kind,
            request=each_takes(memory=1),
            deploy=deployed(random.choice(["AUTO", "GLOBAL"])) if random.random() < 0.15 else None,
        )
        self.workloads[name] = replace(
            made,
            cluster=None if wish is not None else ClusterName(random.choice(["m1", "m2"])),
            min_available=random.choice([None, "1", "1", "2", "3", "50%", "no"]),
        )
        return self.workloads[name]

    def _any_node(self) -> Fact:
        return self._node(self.random.choice(CLUSTERS), self.random.choice(NODES))

    def _any_workload(self) -> Fact:
        made = self._workload(self.random.choice(WORKLOADS))
        if self.random.random() < 0.3:
            return replace(made, uid=Uid(self.random.choice(["one", "two"])))
        return made

    def _edited(self) -> Fact:
        name, random = self.random.choice(WORKLOADS), self.random
        fact = self.workloads[name]
        deploy = deployed("AUTO") if fact.deploy is None else None
        others: list[workload.WorkloadKind] = ["Deployment", "StatefulSet", "Job"]
        self.workloads[name] = random.choice(
            [
                replace(fact, replicas=Replicas(random.choice([0, 1, 2, 3]))),
                replace(fact, replicas=Replicas(random.choice([1, 2, 3]))),
                replace(fact, min_available=random.choice([None, "0", "1", "2", "80%"])),
                replace(fact, min_available=random.choice(["1", "2", "3", "no"])),
                replace(fact, deploy=deploy if random.random() < 0.5 else None),
                replace(fact, kind=random.choice(others)) if random.random() < 0.3 else fact,
            ]
        )
        return self.workloads[name]

    def _pod(self) -> Fact:
        """One of the first few of somebody."""
        random = self.random
        name = random.choice(WORKLOADS)
        place = random.choice([0, 0, 0, 0, 1, 1, 2])
        if name in SETS:
            key, owner = f"{name}-{place}", workload.Owner("StatefulSet", name, None)
            if random.random() < 0.02:
                key = f"{name}-x"
        else:
            above = f"{name}-{random.choice('hhhg')}"
            key, owner = f"{above}-{place}", workload.Owner("ReplicaSet", above, None)
        return self._seen(random.choice(CLUSTERS), key, owner)

    def _pod_again(self) -> Fact:
        """One that is known says something else, or the same."""
        if not self.pods:
            return self._pod()
        pod = self.pods[self.random.choice(sorted(self.pods))]
        if self.random.random() < 0.3:
            return pod
        return self._seen(pod.cluster, pod.name, pod.owner)

    def _seen(self, above: str, key: str, owner: workload.Owner | None) -> Fact:
        random = self.random
        before = self.pods.get(f"{above}/{key}")
        node = random.choice(NODES) if before is None or random.random() < 0.1 else before.node
        made = replace(
            pod_seen(above, "ns", key, uid=random.choice([None] * 12 + ["one", "two"])),
            owner=owner,
            template_hash=random.choice(["h", "h", "h", "g", ""]),
            node=None if random.random() < 0.03 else NodeName(str(node)),
            phase=random.choices(PHASES, [12, 1, 1, 1])[0],
            terminating=random.random() < 0.04,
            capacity_class=random.choice(["", "", "", "", "spot", "on-demand"]),
            reservation=random.choice([None, None, f"?{random.randrange(4)}"]),
            request=each_takes(memory=1),
        )
        self.pods[f"{above}/{key}"] = made
        return made

    def _pod_gone(self) -> Fact:
        if not self.pods:
            return self._pod()
        key = self.random.choice(sorted(self.pods))
        pod = self.pods.pop(key)
        return pod_gone(pod.cluster, pod.namespace, pod.name)

    def _replicaset(self) -> Fact:
        random = self.random
        name = random.choice(DEPLOYMENTS)
        owner = random.choice([*[name] * 12, *WORKLOADS, None])
        made = replicaset_up(
            random.choice(CLUSTERS),
            "ns",
            f"{name}-{random.choice('hhg')}",
            None if owner is None else ("Deployment", owner),
            replicas=random.choice([0, 1, 1, 1, 2, 2, 2, 3]),
        )
        return made if random.random() < 0.9 else replace(made, uid=Uid("two"))

    def _approved(self) -> Fact:
        """Which one that is, who plays the history says."""
        return approved(self.random.randrange(10))

    def _admitted(self) -> Fact:
        """A pod is about to be created; what it carries, who plays the history says."""
        random = self.random
        self.admissions += random.random() < 0.9
        owner, text, name = ("ReplicaSet", f"{random.choice(DEPLOYMENTS)}-h"), "h", None
        if random.random() < 0.1:
            owner, text = ("StatefulSet", random.choice(SETS)), ""
            name = f"{owner[1]}-{random.choice('012x')}"
        return admitted(
            f"u{self.admissions}",
            random.choice(CLUSTERS),
            "ns",
            owner,
            text,
            dry_run=random.random() < 0.1,
            carried=f"?{random.randrange(4)}" if random.random() < 0.1 else None,
            user_pin=random.choice([None, None, None, None, "od", "spot"]),
            name=name,
            can_list=random.random() < 0.2,
            replicas=random.choice([None, None, None, 1, 2, 4]),
            replicaset_replicas=random.choice([None, None, None, 1, 2, 3]),
        )

    def _bypassed(self) -> Fact:
        return bypassed(f"u{self.admissions - self.random.randrange(2)}")

    def _pods_listed(self) -> Fact:
        random = self.random
        there = [f"?{number}" for number in range(5) if random.random() < 0.5]
        others = [f"a-h-{number}" for number in range(3) if random.random() < 0.6]
        uid = f"u{self.admissions - random.choice([0, 0, 0, 1, 2])}"
        return pods_listed(uid, "h", there, random.choice([None, others]))

    def _gone(self) -> Fact:
        random = self.random
        kind = random.random()
        if kind < 0.5:
            return workload_gone(f"ns/{random.choice(WORKLOADS)}")
        if kind < 0.9:
            return node_gone(random.choice(CLUSTERS), random.choice(NODES))
        return cluster_gone(random.choice(CLUSTERS))

    def _listed(self) -> Fact:
        random = self.random
        above = random.choice(CLUSTERS)
        noun = random.choice(["pod", "replicaset", "node"])
        keys = {
            "pod": [f"ns/{pod.name}" for pod in self.pods.values() if pod.cluster == above],
            "replicaset": [f"ns/{name}-{text}" for name in DEPLOYMENTS for text in "gh"],
            "node": list(NODES),
        }[noun]
        there = sorted(f"{above}/{key}" for key in keys if random.random() < 0.8)
        return cluster.InventoryListed(
            ClusterName(above),
            cast("cluster.InventoryNoun", noun),
            tuple(map(Subject, there)),
            None,
        )

    def _other(self) -> Fact:
        random = self.random
        if random.random() < 0.4:
            return cluster_up(random.choice(CLUSTERS), ready=random.random() < 0.8)
        if random.random() < 0.5:
            self.held = True
            return policy({"hold": True})
        return policy({"grace.node_ms": random.choice([0, 1500])})
