"""A small Kubernetes, as far as the ledger has to do with one: who creates pods when, and who tells of it.

It is a game of turns with a seed: the same seed, the same game. What is modelled is what makes counting
hard. ReplicaSets create in bursts of 1, 2, 4, ... whose calls overlap; what was admitted may still be
refused by somebody who is asked later; calls are repeated, and made again because something else changed
the pod; pods die; scaling down takes whom Kubernetes would take; and what is watched is told late, in order
of its kind: pods are one watch, workloads and ReplicaSets are another.

A *door* is whoever is asked about each pod and told what the watch tells. What it may read besides, a
list of the pods there are, is read from here.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final, Literal, NamedTuple, Protocol

from ledger.core.spot.scale_down import ActivePod, deletion_order
from ledger.facts.event import Fact
from ledger.facts.workload import PodPhase, WorkloadKind
from ledger.units import Uid
from tests.histories import pod_gone, pod_seen, replicaset_up, workload_up

CLUSTER: Final = "m1"
NAMESPACE: Final = "shop"
WORDS: Final = {"od": "on-demand", "spot": "spot", None: ""}

CapacityClass = Literal["spot", "od"]
Json = dict[str, Any]


class Creation(NamedTuple):
    """A pod that is about to be created, as a webhook is asked about it."""

    uid: str
    """Of the call."""
    owner: tuple[str, str]
    template: str
    name: str | None = None
    carried: str | None = None
    dry_run: bool = False


class Patched(NamedTuple):
    """What the pod is given."""

    capacity: CapacityClass | None
    reservation: str | None


@dataclass(slots=True, eq=False)
class Pod:
    name: str
    owner: tuple[str, str]
    template: str
    uid: str
    patched: Patched
    born: int
    node: str | None = None
    phase: PodPhase = "Pending"
    ready: bool = False
    terminating: bool = False
    lowered: bool = False
    """Whether somebody has set its deletion cost to 0 since."""

    @property
    def counts(self) -> bool:
        """Whether it is on-demand, and worth keeping for it."""
        return self.patched.capacity == "od" and not self.lowered

    @property
    def active(self) -> bool:
        return not self.terminating and self.phase not in ("Failed", "Succeeded")


@dataclass(slots=True, eq=False)
class ReplicaSet:
    name: str
    template: str
    replicas: int
    version: int
    """Of the object: another one whenever something of it changes, and only then."""


class Door(Protocol):
    """Whoever stands between the API server and its pods."""

    def admit(self, asked: Creation, cluster: "Cluster") -> Patched:
        """What the pod is given."""
        ...

    def told(self, fact: Fact) -> None:
        """What the watch, or an owner, tells."""
        ...


@dataclass(frozen=True, slots=True)
class Weather:
    """How rough it is; chances in a hundred."""

    rejects: int = 0
    """Of being refused after being admitted."""
    duplicates: int = 0
    """Of a call being repeated, under its uid."""
    reinvocations: int = 0
    """Of being called again, under another uid, for the pod as it was answered."""
    dry_runs: int = 0
    """Of somebody trying the same without creating it."""
    bypasses: int = 0
    """Of a call whose answer does not come in time: its pod is created as it is."""
    lag: int = 0
    """Turns that the watch may take."""
    owners_lag: bool = False
    """Whether that holds for what workloads and ReplicaSets are told, too, on a watch of their own."""
    patience: int = 60
    """Turns that a pod waits for whoever is behind it to be heard of."""
    unready: int = 0
    """Of a pod that never gets ready, and half of these get no node."""


@dataclass(slots=True, eq=False)
class Cluster:
    """The API server, its controllers, and one workload."""

    luck: Random
    door: Door
    weather: Weather
    kind: WorkloadKind = "Deployment"
    workload: str = "web"
    pods: dict[str, Pod] = field(default_factory=dict)
    replicasets: dict[str, ReplicaSet] = field(default_factory=dict)
    replicas: int = 0
    min_available: str | None = None
    versions: int = 0
    turn: int = 0
    calls: int = 0
    made: int = 0
    watch: deque[tuple[int, Fact]] = field(default_factory=deque)
    """Of pods: when what is told."""
    watch_of_owners: deque[tuple[int, Fact]] = field(default_factory=deque)
    bypassed: list[str] = field(default_factory=list)
    """Calls whose answers nobody waited for."""

    # What people do

    def scale(self, replicas: int, min_available: str | None) -> None:
        """The owner wants so many; its ReplicaSets are annotated with that, too."""
        if (replicas, min_available) != (self.replicas, self.min_available):
            for one in self.replicasets.values():
                one.version = self._version()
        self.replicas, self.min_available = replicas, min_available
        self._tell_of_owner(
            workload_up(
                f"{NAMESPACE}/{self.workload}",
                replicas,
                cluster=CLUSTER,
                kind=self.kind,
                min_available=min_available,
            )
        )

    def told_replicas(self, template: str, replicas: int) -> ReplicaSet:
        """A ReplicaSet comes, or is told to have another number of pods."""
        name = f"{self.workload}-{template}"
        known = self.replicasets.get(name)
        if known is None:
            known = self.replicasets[name] = ReplicaSet(name, template, replicas, self._version())
        elif known.replicas != replicas:
            known.replicas, known.version = replicas, self._version()
        fact = replicaset_up(
            CLUSTER, NAMESPACE, name, ("Deployment", self.workload), replicas=replicas
        )
        self._tell_of_owner(replace(fact, uid=Uid(uid_of(name))))
        return known

    # What controllers do

    def sync(self, replicaset: ReplicaSet) -> bool:
        """One look of the ReplicaSet controller; says whether it has as many as it wants."""
        missing = replicaset.replicas - len(self.of(replicaset.name))
        batch = 1
        while missing > 0:
            size = min(batch, missing)
            if self._create(("ReplicaSet", replicaset.name), replicaset.template, [None] * size):
                return False  # It waits a little and looks again.
            missing -= size
            batch *= 2
        for pod in self._too_many(replicaset, -missing):
            self.kill(pod)
        return True

    def sync_set(self, *, parallel: bool) -> bool:
        """One look of the StatefulSet controller."""
        wanted = [f"{self.workload}-{ordinal}" for ordinal in range(self.replicas)]
        missing = [name for name in wanted if name not in self.pods]
        owner = ("StatefulSet", self.workload)
        for names in [missing] if parallel else [[name] for name in missing]:
            if names and self._create(owner, "", names):
                return False
        for name in sorted(self.pods.keys() - set(wanted), key=lambda name: -_ordinal(name)):
            self.kill(self.pods[name])
        return True

    def settle(self) -> None:
        """Until every ReplicaSet has what it wants and nobody is left to be told of it."""
        for replicaset in list(self.replicasets.values()):
            while not self.sync(replicaset):
                self.advance()
        for pod in list(self.pods.values()):
            self.run(pod)
        self.deliver()

    def roll(self, template: str, *, surge: int) -> Iterator[None]:
        """A rolling update to another template, one step a turn; nobody is missed meanwhile."""
        new = self.told_replicas(template, 0)
        old = [one for one in self.replicasets.values() if one is not new]
        while new.replicas < self.replicas or any(one.replicas for one in old):
            room = self.replicas + surge - sum(one.replicas for one in self.replicasets.values())
            if room > 0 and new.replicas < self.replicas:
                wanted = min(self.replicas, new.replicas + room)
                self.told_replicas(template, wanted)
            while not self.sync(new):
                self.advance()
            for pod in self.of(new.name):
                self.run(pod, at_once=True)
            yield
            spare = sum(one.replicas for one in self.replicasets.values()) - self.replicas
            for one in old:
                fewer = min(spare, one.replicas)
                if fewer > 0:
                    self.told_replicas(one.template, one.replicas - fewer)
                    self.sync(one)
                    spare -= fewer
            yield

    def kill(self, pod: Pod) -> None:
        """A pod goes, in the one way or the other."""
        if self.luck.random() < 0.3:
            pod.phase = "Failed"
        else:
            pod.terminating = True
        self._tell_of(pod)
        del self.pods[pod.name]
        self._tell(pod_gone(CLUSTER, NAMESPACE, pod.name))

    def run(self, pod: Pod, *, at_once: bool = False) -> None:
        """A pod finds its node and gets ready, if it ever does."""
        if pod.ready or not pod.active:
            return
        luck = 100 if at_once else self.luck.randrange(100)
        if luck >= self.weather.unready // 2 and pod.node is None:
            pod.node, pod.phase = ("od" if pod.patched.capacity == "od" else "s1"), "Running"
        pod.ready = luck >= self.weather.unready
        self._tell_of(pod)

    # What is seen

    def of(self, owner: str) -> list[Pod]:
        """The active pods of an owner."""
        return [pod for pod in self.pods.values() if pod.owner[1] == owner and pod.active]

    def replicaset(self, name: str) -> Json | None:
        """A ReplicaSet as its API server has it."""
        found = self.replicasets.get(name)
        if found is None:
            return None
        above = {"apiVersion": "apps/v1", "kind": "Deployment", "name": self.workload}
        return {
            "metadata": {
                "namespace": NAMESPACE,
                "name": name,
                "uid": uid_of(name),
                "resourceVersion": f"{found.version}",
                "labels": {"pod-template-hash": found.template},
                "annotations": self._annotations()
                | {"deployment.kubernetes.io/desired-replicas": f"{self.replicas}"},
                "ownerReferences": [{**above, "controller": True}],
            },
            "spec": {"replicas": found.replicas},
        }

    def statefulset(self, name: str) -> Json | None:
        """A StatefulSet as its API server has it."""
        if (self.kind, self.workload) != ("StatefulSet", name):
            return None
        return {
            "metadata": {"namespace": NAMESPACE, "name": name, "annotations": self._annotations()},
            "spec": {"replicas": self.replicas},
        }

    def advance(self) -> None:
        """A turn passes, and what is due is told."""
        self.turn += 1
        self._tell_until(self.turn)

    def deliver(self) -> None:
        """Whatever is still to be told."""
        self._tell_until(self.turn + self.weather.lag)

    def _create(self, owner: tuple[str, str], template: str, names: Sequence[str | None]) -> bool:
        """Calls that overlap: each is answered, then made or refused; says whether one was refused."""
        asks, answered = list(names), list[tuple[str | None, Patched]]()
        refused = False
        while asks or answered:
            if asks and (not answered or self.luck.random() < 0.6):
                name = asks.pop(self.luck.randrange(len(asks)))
                answered.append((name, self._ask(owner, template, name)))
            else:
                name, patched = answered.pop(self.luck.randrange(len(answered)))
                if self.luck.randrange(100) < self.weather.rejects:
                    refused = True
                else:
                    self._make(owner, template, name, patched)
            self.advance()
        return refused

    def _ask(self, owner: tuple[str, str], template: str, name: str | None) -> Patched:
        if self._happens(self.weather.dry_runs):
            self.door.admit(Creation(self._call(), owner, template, name, dry_run=True), self)
        asked = Creation(self._call(), owner, template, name)
        if self._happens(self.weather.bypasses):
            self.bypassed.append(asked.uid)
        patched = self.door.admit(asked, self)
        if asked.uid in self.bypassed:
            return Patched(None, None)
        if self._happens(self.weather.duplicates):
            again = self.door.admit(asked, self)
            assert again == patched, "the same call is answered in the same way"
        if self._happens(self.weather.reinvocations):
            carried = asked._replace(uid=self._call(), carried=patched.reservation)
            again = self.door.admit(carried, self)
            assert again == patched, "what a pod was given it keeps"
        return patched

    def _make(
        self, owner: tuple[str, str], template: str, name: str | None, patched: Patched
    ) -> None:
        self.made += 1
        pod = Pod(
            name=f"{owner[1]}-{self.made}" if name is None else name,
            owner=owner,
            template=template,
            uid=f"p{self.made}",
            patched=patched,
            born=self.turn,
        )
        self.pods[pod.name] = pod
        self._tell_of(pod)

    def _too_many(self, replicaset: ReplicaSet, count: int) -> list[Pod]:
        """Whom Kubernetes would delete."""
        if count <= 0:
            return []
        by_uid = {pod.uid: pod for pod in self.of(replicaset.name)}
        ranked = deletion_order(
            ActivePod(
                assigned=pod.node is not None,
                phase="Running" if pod.phase == "Running" else "Pending",
                ready=pod.ready,
                deletion_cost=int(pod.counts),
                ready_for=self.turn - pod.born if pod.ready else None,
                age=self.turn - pod.born,
                uid=pod.uid,
            )
            for pod in by_uid.values()
        )
        return [by_uid[one.uid] for one in ranked[:count]]

    def _tell_of(self, pod: Pod) -> None:
        self._tell(
            pod_seen(
                CLUSTER,
                NAMESPACE,
                pod.name,
                uid=pod.uid,
                owner=pod.owner,
                template_hash=pod.template,
                node=pod.node,
                phase=pod.phase,
                terminating=pod.terminating,
                reservation=pod.patched.reservation,
                capacity_class=WORDS[pod.patched.capacity],
            )
        )

    def _tell_of_owner(self, fact: Fact) -> None:
        if self.weather.owners_lag:
            self._tell_late(self.watch_of_owners, fact)
        else:
            self.door.told(fact)

    def _annotations(self) -> dict[str, str]:
        if self.min_available is None:
            return {}
        return {"distributed-scheduling/min-available": self.min_available}

    def _version(self) -> int:
        self.versions += 1
        return self.versions

    def _tell(self, fact: Fact) -> None:
        self._tell_late(self.watch, fact)

    def _tell_late(self, watch: deque[tuple[int, Fact]], fact: Fact) -> None:
        """A watch is late, and never out of order."""
        last = watch[-1][0] if watch else 0
        due = max(last, self.turn + self.luck.randint(0, self.weather.lag))
        if due <= self.turn:
            self.door.told(fact)
        else:
            watch.append((due, fact))

    def _tell_until(self, turn: int) -> None:
        """What is due by then: the sooner first, and of what is due at once the owners."""
        watches = (self.watch_of_owners, self.watch)
        while due := [watch for watch in watches if watch and watch[0][0] <= turn]:
            soonest = min(due, key=lambda watch: watch[0][0])
            self.door.told(soonest.popleft()[1])

    def _call(self) -> str:
        self.calls += 1
        return f"call-{self.calls}"

    def _happens(self, chance: int) -> bool:
        return chance > 0 and self.luck.randrange(100) < chance


@dataclass(slots=True, eq=False)
class Autoscaler:
    """Wants as many pods as their load asks for, as a HorizontalPodAutoscaler of one metric does.

    What is within a tenth of the target is left. Pods that are not ready count as idle while more are
    wanted. Fewer are wanted only once that was so for a while, and never more than twice as many at once.
    """

    least: int
    most: int
    target: int
    """The load of one pod."""
    looks: int
    """For so many looks the most that was wanted counts."""
    seen: deque[int] = field(default_factory=deque)

    def wanted(self, load: int, replicas: int, ready: int) -> int:
        """How many replicas there are to be."""
        found = replicas
        if ready and 10 * abs(load - self.target * ready) > self.target * ready:
            found = -(-load // self.target)
            if found > replicas > ready and 10 * (load - self.target * replicas) <= (
                self.target * replicas
            ):
                found = replicas
        found = max(self.least, min(self.most, found, max(2 * replicas, 4)))
        self.seen.append(found)
        if len(self.seen) > self.looks:
            self.seen.popleft()
        return found if found >= replicas else min(replicas, max(self.seen))


def uid_of(name: str) -> str:
    """Of an owner of pods, by which they call it."""
    return f"uid-of-{name}"


def _ordinal(name: str) -> int:
    return int(name.rpartition("-")[2])
