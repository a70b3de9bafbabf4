"""A slow, literal model of who would be evicted, or lowered: pods of another class than is due.

This is for workloads whose nodes the ledger does not decide. All pods of the fleet are gone through
each time: which of them are such a workload's in a cluster, and who of those is counted together - the
pods of a ReplicaSet, or all of a StatefulSet. Nobody goes before as many are there as are to be and no
other is on its way, and nobody of those among whom is one of whom nobody says on what kind of node it
belongs. Pods of a ReplicaSet that are on-demand beyond what is due stay where they are and are only
lowered, the last by name first; of one that nobody admitted it could not be remembered.

How many are due is asked of the model of deployments, which asks the core; who was admitted to what,
and must be gone by now, of the model of admissions.
"""

from dataclasses import dataclass, field

from ledger.facts.workload import PodObserved, WorkloadUpserted
from tests.laws.model import bytewise
from tests.laws.naive_admissions import NaiveAdmissions
from tests.laws.naive_book import is_active
from tests.laws.naive_deployments import NaiveDeployments
from tests.laws.naive_fleet import NaiveFleet


@dataclass(slots=True)
class NaiveEvictions:
    """Who of the pods that run is to make room for an on-demand one."""

    fleet: NaiveFleet
    deployments: NaiveDeployments
    admissions: NaiveAdmissions
    told_to_go: set[tuple[str, int]] = field(default_factory=set)
    """Pods that an approved proposal evicts, each with its life."""

    def subjects(self) -> set[str]:
        """All that have pods: workloads in clusters on whose nodes the ledger does not decide."""
        found = set()
        for pod in self.fleet.all("pod").values():
            name, _ = self.fleet.book.owner_of(pod)
            fact = self.fleet.fact("workload", name)
            if fact is not None and fact.deploy is None:
                found.add(f"{name}@{pod.cluster}")
        return found

    def going(self, subject: str) -> list[tuple[str, str]]:
        """The names of those that would go, and their nodes; who goes first is first."""
        return self._other_than_due(subject, "spot")

    def too_many(self, subject: str) -> list[tuple[str, str]]:
        """The same of those that would be lowered."""
        return self._other_than_due(subject, "od")

    def _other_than_due(self, subject: str, kind: str) -> list[tuple[str, str]]:
        """Those that are of a class, and should not be."""
        name, cluster = subject.split("@")
        fact = self.fleet.fact("workload", name)
        if fact is None or fact.deploy is not None:
            return []
        share = self._share(name, cluster, fact)
        if share is None:
            return []
        target, _ = self.deployments._target(fact, share)
        if target is None:
            return []
        pods = self._pods(name, cluster, fact)
        if fact.kind != "StatefulSet":
            chosen = self._of_replicasets(cluster, fact, pods, target, kind)
        else:
            chosen = self._of_set(fact, pods, share, target) if kind == "spot" else []
        return [(pod, f"{cluster}/{pods[pod].node}") for pod in chosen]

    def life(self, subject: str, pod: str) -> tuple[str, int] | None:
        """Which pod that is, if it runs somewhere."""
        name, cluster = subject.split("@")
        key = f"{cluster}/{name.split('/', maxsplit=1)[0]}/{pod}"
        fact = self.fleet.fact("pod", key)
        if fact is None or fact.node is None or not is_active(fact):
            return None
        return key, self.fleet.life("pod", key)

    def lower(self, subject: str, pod: str) -> None:
        """A pod is on-demand no more, wherever it is."""
        name, cluster = subject.split("@")
        fact = self.fleet.fact("pod", f"{cluster}/{name.split('/', maxsplit=1)[0]}/{pod}")
        row = self.admissions.row_of(fact)
        assert row is not None, f"nobody admitted {pod}"
        row.kind = "spot"

    def is_still(self, subject: str, pod: str, node: str, kind: str) -> bool:
        """Whether a pod is where it was, and of the class that it was of."""
        there = self.life(subject, pod)
        fact = None if there is None else self.fleet.fact("pod", there[0])
        return (
            fact is not None
            and f"{fact.cluster}/{fact.node}" == node
            and self._class_of(fact) == kind
        )

    def _share(self, name: str, cluster: str, fact: WorkloadUpserted) -> int | None:
        """How many are wanted in the cluster: all, where nobody divides them."""
        if fact.division is None:
            return fact.replicas
        last = self.fleet.last.get(name)
        return last.allocation.get(cluster, 0) if last is not None and last.in_force else None

    def _pods(self, name: str, cluster: str, fact: WorkloadUpserted) -> dict[str, PodObserved]:
        """Those of a workload that run in a cluster and are to stay, by name and in order."""
        there = {}
        for key, pod in self.fleet.all("pod").items():
            one = key, self.fleet.life("pod", key)
            if (
                pod.cluster == cluster
                and pod.node is not None
                and is_active(pod)
                and self.fleet.book.owner_of(pod) == (name, fact.kind)
                and one not in self.told_to_go | self.fleet.book.given_up
                and ((row := self.admissions.row_of(pod)) is None or row.state == "confirmed")
            ):
                there[pod.name] = pod
        return {pod: there[pod] for pod in bytewise(there)}

    def _of_set(
        self, fact: WorkloadUpserted, pods: dict[str, PodObserved], share: int, target: int
    ) -> list[str]:
        """The lowest ordinals belong on on-demand nodes."""
        ordinals = {}
        for name, pod in pods.items():
            parent, _, digits = name.rpartition("-")
            if parent != fact.name or not digits.isdigit() or self._class_of(pod) is None:
                return []
            ordinals[int(digits)] = name
        if len(ordinals) != share:
            return []
        low = [ordinal for ordinal in sorted(ordinals) if ordinal < target]
        return [ordinals[one] for one in low if self._class_of(pods[ordinals[one]]) == "spot"]

    def _of_replicasets(
        self,
        cluster: str,
        fact: WorkloadUpserted,
        pods: dict[str, PodObserved],
        target: int,
        kind: str,
    ) -> list[str]:
        """The last by name go first, of each ReplicaSet as many as are short, or too many."""
        going = []
        named = {
            pod.owner.name
            for pod in pods.values()
            if pod.owner is not None and pod.owner.kind == "ReplicaSet"
        }
        for above in bytewise(named):
            key = f"{cluster}/{fact.namespace}/{above}"
            told = self.fleet.fact("replicaset", key)
            classes = {
                name: self._class_of(pod)
                for name, pod in pods.items()
                if pod.owner is not None
                and (pod.owner.kind, pod.owner.name) == ("ReplicaSet", above)
            }
            if told is None or told.replicas != len(classes) or None in classes.values():
                continue
            if self.admissions.is_coming(key):
                continue
            of_kind = [name for name in classes if classes[name] == kind]
            due = min(target, len(classes))
            beyond = len(of_kind) - (len(classes) - due if kind == "spot" else due)
            if kind == "od":
                of_kind = [
                    name for name in of_kind if self.admissions.row_of(pods[name]) is not None
                ]
            free = [name for name in of_kind if not self._is_pinned(pods[name])]
            going += free[::-1][: max(0, beyond)]
        return going

    def _is_pinned(self, pod: PodObserved) -> bool:
        row = self.admissions.row_of(pod)
        return row is not None and row.pinned

    def _class_of(self, pod: PodObserved) -> str | None:
        """The class that a pod was admitted to, or that it is known to have; None where nobody says."""
        row = self.admissions.row_of(pod)
        return row.kind if row is not None and row.kind is not None else self.fleet.says_of(pod)
