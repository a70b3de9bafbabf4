"""A cluster that does what was decided: sooner or later, in any order, ending whichever pods it likes.

Its controllers compare what is decided with the pods they have and do one thing about it at a time.
Between two such steps anything may happen: scaling, cordons, evictions, crashes, nodes that are taken
away, tasks that finish.
Of a Deployment or a job they know how many pods are to be on a node, and the names are drawn; of a
StatefulSet they know which.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Final, NamedTuple

from ledger.facts.event import Fact
from ledger.facts.workload import PodPhase
from ledger.units import Subject
from tests.histories import (
    History,
    cluster_up,
    deployed,
    each_takes,
    finished,
    job_up,
    node_gone,
    node_reclaimed,
    node_up,
    on_nodes,
    pod_gone,
    pod_seen,
    policy,
    queue_up,
    replicaset_up,
    reschedule,
    workload_up,
)

NODES: Final = ("n1", "n2", "n3")
ROOM: Final = 6
DEPLOYMENTS: Final = ("api", "web")
SETS: Final = ("db",)
JOBS: Final = ("train",)


class Pod(NamedTuple):
    """One that runs."""

    owner: str
    node: str


@dataclass(slots=True)
class ObedientCluster:
    """Its pods, and the log in which everything is told as soon as it happens."""

    random: Random
    log: History = field(default_factory=History)
    pods: dict[str, Pod] = field(default_factory=dict)
    cordoned: set[str] = field(default_factory=set)
    reclaimed: set[str] = field(default_factory=set)
    named: int = 0

    def begin(self) -> None:
        """Nodes, and nothing on them."""
        self.log.add_all(
            policy({"round.max_events": 1, "round.max_milliseconds": 0}),
            queue_up("q"),
            cluster_up("m1"),
            *(self._node(name) for name in NODES),
            *(replicaset_up("m1", "ns", f"{name}-h", ("Deployment", name)) for name in DEPLOYMENTS),
        )

    def live(self, steps: int) -> None:
        """So many things happen, most of them what the controllers do."""
        for _ in range(steps):
            rare = self.random.choice([self.reclaim, self.reschedule])
            often = [self.scale, self.cordon, self.evict, self.crash, self.finish]
            self.random.choice([rare, *often, *[self.follow] * 5])()

    def settle(self) -> None:
        """The controllers come to an end."""
        while self.follow():
            pass

    def scale(self) -> None:
        """Somebody wants more, or fewer."""
        name = self.random.choice([*DEPLOYMENTS, *SETS, *JOBS])
        count = self.random.randrange(6)
        if name in JOBS:
            self.log.add(job_up(f"ns/{name}", count, "q", cpu=0, memory=1))
            return
        kept = workload_up(
            f"ns/{name}",
            count,
            cluster="m1",
            kind="StatefulSet" if name in SETS else "Deployment",
            request=each_takes(memory=1),
            deploy=deployed(self.random.choice(["AUTO", "DRAINED"])),
        )
        self.log.add(kept)

    def cordon(self) -> None:
        """A node takes no new work, or does again."""
        name = self.random.choice(NODES)
        self.cordoned ^= {name}
        self.log.add(self._node(name))

    def reclaim(self) -> None:
        """A node is about to be taken away; one that was is, with its pods, and another takes its name."""
        name = self.random.choice(NODES)
        if name not in self.reclaimed:
            self.reclaimed.add(name)
            self.log.add(node_reclaimed("m1", name))
            return
        self.reclaimed.remove(name)
        self.log.add(node_gone("m1", name))
        for pod in [one for one, about in self.pods.items() if about.node == name]:
            del self.pods[pod]
            self.log.add(pod_gone("m1", "ns", pod))
        self.log.add(self._node(name))

    def reschedule(self) -> None:
        """Somebody wants everything of a workload placed anew."""
        self.log.add(reschedule(f"ns/{self.random.choice([*DEPLOYMENTS, *SETS])}", fresh=True))

    def evict(self) -> None:
        """A drain comes to its next pod."""
        self._end_one([name for name, pod in self.pods.items() if pod.node in self.cordoned])

    def crash(self) -> None:
        """A pod is gone, and is to come again."""
        self._end_one([name for name, pod in self.pods.items() if pod.node not in self.cordoned])

    def finish(self) -> None:
        """A pod of a job succeeds, and then the job says which task that was."""
        name = self._one([name for name, pod in self.pods.items() if pod.owner in JOBS])
        if name is None:
            return
        pod = self.pods[name]
        there = [task for task, node in self._tasks(pod.owner).items() if node == pod.node]
        task = self._one([str(one) for one in there])
        if task is not None:
            self._told(name, phase="Succeeded")
            del self.pods[name]
            self.log.add(finished(f"ns/{pod.owner}", int(task)))
            self.log.add(pod_gone("m1", "ns", name))

    def follow(self) -> bool:
        """A controller does one of the things that are left to do; whether there was any."""
        to_end, to_start = self._left_to_do()
        if not to_end + to_start:
            return False
        if to_end and (not to_start or self.random.random() < 0.5):
            self._end_one(to_end)
        else:
            self._start(*self.random.choice(to_start))
        return True

    def wanted(self) -> dict[str, dict[str, int]]:
        """How many pods of whom are to be on each node, where any are."""
        held = {
            name: {
                node: len(numbers)
                for node, numbers in on_nodes(self.log.world, f"ns/{name}@m1").items()
            }
            for name in (*DEPLOYMENTS, *SETS)
        }
        for name in JOBS:
            tasks = [*self._tasks(name).values()]
            held[name] = {node: tasks.count(node) for node in sorted(set(tasks))}
        return held

    def _left_to_do(self) -> tuple[list[str], list[tuple[str, str, str]]]:
        """Pods to be ended; pods to be started, whose and where."""
        to_end: list[str] = []
        to_start: list[tuple[str, str, str]] = []
        full = {
            node for node in NODES if sum(pod.node == node for pod in self.pods.values()) == ROOM
        }
        for owner, held in self.wanted().items():
            if owner in SETS:
                continue
            for node in NODES:
                have = [name for name, pod in self.pods.items() if pod == (owner, node)]
                want = held.get(node, 0)
                if len(have) > want:
                    to_end += have
                elif len(have) < want and node not in full:
                    to_start.append((owner, node, self._name(owner)))
        for owner in SETS:
            places = {
                f"{owner}-{number}": node
                for node, numbers in on_nodes(self.log.world, f"ns/{owner}@m1").items()
                for number in numbers
            }
            to_end += [
                name
                for name, pod in self.pods.items()
                if pod.owner == owner and places.get(name) != pod.node
            ]
            to_start += [
                (owner, node, name)
                for name, node in places.items()
                if name not in self.pods and node not in full
            ]
        return to_end, to_start

    def _tasks(self, job: str) -> dict[int, str]:
        tasks = self.log.world.jobs.of.get(Subject(f"ns/{job}"))
        running = {} if tasks is None else dict(tasks.running)
        return {task: str(running[task].node).split("/")[1] for task in sorted(running)}

    def _name(self, owner: str) -> str:
        self.named += 1
        mark = self.random.choice("abcxyz")
        return (
            f"{owner}-h-{mark}{self.named}"
            if owner in DEPLOYMENTS
            else f"{owner}-{mark}{self.named}"
        )

    def _start(self, owner: str, node: str, name: str) -> None:
        self.pods[name] = Pod(owner, node)
        self._told(name)

    def _end_one(self, names: list[str]) -> None:
        name = self._one(names)
        if name is not None:
            if self.random.random() < 0.5:
                self._told(name, terminating=True)
            del self.pods[name]
            self.log.add(pod_gone("m1", "ns", name))

    def _one(self, names: list[str]) -> str | None:
        return self.random.choice(sorted(names)) if names else None

    def _told(self, name: str, *, phase: PodPhase = "Running", terminating: bool = False) -> None:
        owner, node = self.pods[name]
        above = ("StatefulSet", owner) if owner in SETS else ("Job", owner)
        seen = pod_seen(
            *("m1", "ns", name),
            uid=f"{name}-{len(self.log.events)}"
            if phase == "Running" and not terminating
            else None,
            owner=("ReplicaSet", f"{owner}-h") if owner in DEPLOYMENTS else above,
            template_hash="h",
            node=node,
            phase=phase,
            terminating=terminating,
            request=each_takes(memory=1),
        )
        self.log.add(seen)

    def _node(self, name: str) -> Fact:
        return node_up("m1", name, cpu=9000, memory=ROOM, schedulable=name not in self.cordoned)
