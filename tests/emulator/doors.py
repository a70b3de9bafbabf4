"""Who is asked about pods: the ledger's engine, and beside it whoever counts what he sees."""

from dataclasses import dataclass, field

from ledger.admission import asking
from ledger.decisions.step import Step
from ledger.events.codec import CONTRACT_REVISION, decode
from ledger.facts.admission import Admission
from ledger.facts.event import Fact
from ledger.facts.own import AdmissionRequested
from ledger.facts.repair import Repair
from ledger.facts.workload import PodDeleted, PodObserved
from ledger.reducers.admissions import is_listing
from ledger.units import FleetName, Subject
from tests.emulator.kube import CLUSTER, NAMESPACE, Cluster, Creation, Patched
from tests.histories import (
    SECOND,
    History,
    admitted,
    approved,
    bypassed,
    cluster_up,
    listed,
    node_up,
    pods_listed,
)

MOMENT = 1_000
"""Microseconds between two events: an hour is more than a game lasts."""


@dataclass(slots=True, eq=False)
class Engine:
    """The heart of the ledger, one event after the other; with a reader it may list pods."""

    reader: bool
    history: History = field(default_factory=History)
    answers: dict[str, Patched] = field(default_factory=dict)
    """What was answered, by the call's uid: it is not answered twice."""
    lists: int = 0
    listed: set[str] = field(default_factory=set)
    """The ids of what was listed: the log has each of them once."""

    def __post_init__(self) -> None:
        label = "node.kubernetes.io/capacity"
        self.history.add_all(
            cluster_up(CLUSTER),
            node_up(CLUSTER, "od", labels={label: "on-demand"}),
            node_up(CLUSTER, "s1", labels={label: "spot"}),
        )

    def told(self, fact: Fact) -> None:
        self._add(fact)

    def admit(self, asked: Creation, cluster: Cluster) -> Patched:
        if self.reader and not self._knows_replicaset(asked):
            self._read(asked, cluster)
        for _ in range(cluster.weather.patience):
            if self._knows_replicaset(asked) and self._knows_workload(cluster):
                break
            cluster.advance()
        wanted, above = None, None
        if self.reader:
            wanted = _wanted(asked, cluster)
        if self.reader and asked.owner[0] == "ReplicaSet":
            above = cluster.replicasets[asked.owner[1]].replicas
        request = admitted(
            asked.uid,
            CLUSTER,
            NAMESPACE,
            asked.owner,
            asked.template,
            name=asked.name,
            carried=asked.carried,
            dry_run=asked.dry_run,
            can_list=self.reader,
            replicas=None if wanted is None else wanted.replicas,
            min_available=None if wanted is None else wanted.min_available,
            replicaset_replicas=above,
        )
        answer = self._answer(request)
        if answer is None:
            return self.answers[asked.uid]
        if is_listing(answer):
            self._list(asked, cluster)
            answer = self._last()
        patched = Patched(answer.capacity_class, answer.reservation)
        if not asked.dry_run:
            self.answers[asked.uid] = patched
        if asked.uid in cluster.bypassed:
            self._add(bypassed(asked.uid))
        return patched

    def rest(self, cluster: Cluster) -> None:
        """Reservations that are open run out, and the cluster says which pods it has."""
        self.history.wait(61 * SECOND)
        self._add(listed(CLUSTER, "pod", [f"{NAMESPACE}/{name}" for name in cluster.pods]))

    def approve(self, cluster: Cluster) -> list[str] | None:
        """Somebody approves what is proposed: the pods that are to go; None if nothing is proposed.

        Those that may go like any other are told so at once.
        """
        open_ = sorted(self.history.world.proposals.matters)
        if not open_:
            return None
        (made,) = self._add(approved(open_[0])).decisions
        assert isinstance(made.outcome, Repair), f"{made.kind}: what was proposed can be done"
        for one in made.outcome.lower:
            cluster.pods[one.pod].lowered = True
        return [one.pod for one in made.outcome.evict]

    def _answer(self, request: AdmissionRequested) -> Admission | None:
        step = self._add(request)
        return self._last() if step.decisions else None

    def _last(self) -> Admission:
        made = [
            one.outcome
            for one in self.history.steps[-1].decisions
            if isinstance(one.outcome, Admission)
        ]
        (answer,) = made
        return answer

    def _list(self, asked: Creation, cluster: Cluster) -> None:
        """Read the ReplicaSet and its pods as they are at this moment."""
        self.lists += 1
        self._read(asked, cluster)
        pods = cluster.of(asked.owner[1])
        self._add(
            pods_listed(
                asked.uid,
                asked.template,
                [pod.patched.reservation for pod in pods if pod.patched.reservation],
                [pod.name for pod in pods if not pod.patched.reservation],
            )
        )

    def _knows_replicaset(self, asked: Creation) -> bool:
        kind, name = asked.owner
        above = Subject(f"{CLUSTER}/{NAMESPACE}/{name}")
        found = self.history.world.objects.fact("replicaset", above)
        return kind != "ReplicaSet" or found is not None

    def _knows_workload(self, cluster: Cluster) -> bool:
        found = self.history.world.workload(Subject(f"{NAMESPACE}/{cluster.workload}"))
        return found is not None and found.kind == cluster.kind

    def _read(self, asked: Creation, cluster: Cluster) -> None:
        """Tell of the ReplicaSet as it is at this moment, by the very event that the webhook tells."""
        found = cluster.replicaset(asked.owner[1])
        assert found is not None, "whoever has pods made is there"
        told = asking.replicaset(found, asked=asked.uid, fleet=FleetName("shop"), cluster=CLUSTER)
        if told.id not in self.listed:
            self.listed.add(told.id)
            self._add(decode(told.stored, revision=CONTRACT_REVISION))

    def _add(self, fact: Fact) -> Step:
        return self.history.add(fact, after=MOMENT)


def _wanted(asked: Creation, cluster: Cluster) -> asking.Wanted | None:
    """What the workload wants, as it can be read."""
    kind, name = asked.owner
    if kind == "ReplicaSet":
        above = cluster.replicaset(name)
        return None if above is None else asking.wanted_behind(above)
    found = cluster.statefulset(name)
    return None if found is None else asking.wanted_by(found)


@dataclass(slots=True, eq=False)
class Counting:
    """Counts the on-demand pods that he was told of, and takes the class that follows."""

    wanted: int
    pods: dict[str, PodObserved] = field(default_factory=dict)
    answers: dict[str, Patched] = field(default_factory=dict)

    def told(self, fact: Fact) -> None:
        match fact:
            case PodObserved(terminating=False):
                self.pods[fact.name] = fact
            case PodObserved() | PodDeleted():
                self.pods.pop(fact.name, None)
            case _:
                pass

    def admit(self, asked: Creation, _: Cluster) -> Patched:
        if asked.uid in self.answers:
            return self.answers[asked.uid]
        if asked.carried is not None:
            return next(one for one in self.answers.values() if one.reservation == asked.carried)
        on_demand = sum(pod.capacity_class == "on-demand" for pod in self.pods.values())
        patched = Patched("od" if on_demand < self.wanted else "spot", asked.uid)
        self.answers[asked.uid] = patched
        return patched
