"""Which pods are seen where, and what they hold there beyond what the ledger placed.

Pods of one owner on one node are a crew. Whose they are is as their cluster says: the Deployment
that a ReplicaSet names, a StatefulSet, a Job; a ReplicaSet that is not known belongs to the
Deployment whose name it has before the hash of the template. A pod that belongs to nothing of the
kind is a crew of its own.

Only pods that are on a node and active count: neither succeeded nor failed nor terminating. A pod of
which the ledger has given up the place counts no more, whatever is reported of it, until another of
its crew is seen to have gone in its stead, or the place is taken again. Which instance a pod is, only
those of StatefulSets say, with their names; how many were seen to lose theirs is counted.

What follows from a crew that changes is told in ``ledger.reducers.pods``.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from immutables import Map

from ledger.facts.workload import PodObserved, ReplicaSetUpserted
from ledger.reducers.book import NO_HOLDING, Holding
from ledger.reducers.instances import subject_of
from ledger.reducers.objects import Objects
from ledger.reducers.replacing import replace
from ledger.units import ClusterName, Subject


class Crew(NamedTuple):
    """Whose pods, and where."""

    node: Subject
    kind: str
    """Of the workload that they belong to; empty for a pod without one."""
    owner: Subject
    """namespace/name of the workload, or of the pod itself."""

    @property
    def subject(self) -> Subject:
        """The workload in its cluster."""
        return subject_of(self.owner, self.cluster)

    @property
    def cluster(self) -> ClusterName:
        """Where the node is."""
        return ClusterName(self.node.partition("/")[0])

    def pod(self, name: str) -> Subject:
        """One of its pods everywhere."""
        return Subject(f"{self.cluster}/{self.owner.partition('/')[0]}/{name}")


@dataclass(frozen=True)
class Pods:
    """All crews, and what is needed to find them."""

    crews: Map[Crew, Map[str, None]]
    """The pods of each, by name."""
    held: Map[Crew, Holding]
    """What a crew takes of its node beyond instances and tasks, as the book counts it."""
    on: Map[Subject, Map[Crew, None]]
    """By node; also those whose pods were all given up, while one of them is still there."""
    of: Map[Subject, Map[Crew, None]]
    """The same by owner."""
    behind: Map[Subject, Map[Subject, None]]
    """The pods that name a ReplicaSet as their owner, by cluster/namespace/replicaset."""
    given_up: Map[Subject, None]
    """Pods of which the ledger has given up the place."""
    leaving: Map[Crew, Map[str, None]]
    """Those of them that are still there and active, by the crew that they would be in, and by name."""
    missing: Map[Subject, Map[Subject, int]]
    """How many instances on a node lost their pod and got no other, by node and workload@cluster."""


NO_PODS: Final = Pods(Map(), Map(), Map(), Map(), Map(), Map(), Map(), Map())

_DIRECT: Final = frozenset({"Deployment", "StatefulSet", "Job"})
_NOBODY: Final[Map[str, None]] = Map()
_NOWHERE: Final[Map[Crew, None]] = Map()
_NONE: Final[Map[Subject, None]] = Map()
_NO_COUNTS: Final[Map[Subject, int]] = Map()


def crew_of(objects: Objects, pod: PodObserved) -> Crew | None:
    """The crew that a pod belongs to; None where it takes nothing of any node."""
    if pod.node is None or pod.terminating or pod.phase in {"Succeeded", "Failed"}:
        return None
    node = Subject(f"{pod.cluster}/{pod.node}")
    owner, replicaset = pod.owner, behind(pod)
    if owner is not None and replicaset is not None:
        above = objects.fact("replicaset", replicaset)
        if isinstance(above, ReplicaSetUpserted):
            owner = above.owner
        elif pod.template_hash and owner.name.endswith(f"-{pod.template_hash}"):
            name = owner.name.removesuffix(f"-{pod.template_hash}")
            return Crew(node, "Deployment", Subject(f"{pod.namespace}/{name}"))
    if owner is None or owner.kind not in _DIRECT:
        return Crew(node, "", Subject(f"{pod.namespace}/{pod.name}"))
    return Crew(node, owner.kind, Subject(f"{pod.namespace}/{owner.name}"))


def behind(pod: PodObserved) -> Subject | None:
    """The ReplicaSet that a pod names as its owner, if it names one."""
    if pod.owner is None or pod.owner.kind != "ReplicaSet":
        return None
    return Subject(f"{pod.cluster}/{pod.namespace}/{pod.owner.name}")


def joined(pods: Pods, crew: Crew, name: str) -> Pods:
    """With a pod in a crew."""
    names = pods.crews.get(crew)
    if names is not None:
        return replace(pods, crews=pods.crews.set(crew, names.set(name, None)))
    return _found(replace(pods, crews=pods.crews.set(crew, _NOBODY.set(name, None))), crew)


def left(pods: Pods, crew: Crew, name: str) -> Pods:
    """Without a pod in a crew it was in; a crew without pods is none."""
    names = pods.crews[crew].delete(name)
    if names:
        return replace(pods, crews=pods.crews.set(crew, names))
    return _found(replace(pods, crews=pods.crews.delete(crew)), crew)


def _found(pods: Pods, crew: Crew) -> Pods:
    """With a crew where it is looked for, if anybody is in it."""
    is_ = crew in pods.crews or crew in pods.leaving
    on, of = pods.on.get(crew.node, _NOWHERE), pods.of.get(crew.owner, _NOWHERE)
    if is_ == (crew in on):
        return pods
    on, of = (on.set(crew, None), of.set(crew, None)) if is_ else (on.delete(crew), of.delete(crew))
    return replace(
        pods,
        on=pods.on.set(crew.node, on) if on else pods.on.delete(crew.node),
        of=pods.of.set(crew.owner, of) if of else pods.of.delete(crew.owner),
    )


def listed_behind(pods: Pods, replicaset: Subject, pod: Subject, *, is_: bool) -> Pods:
    """With a pod among those that name a ReplicaSet, or without it."""
    known = pods.behind.get(replicaset, _NONE)
    if is_:
        return replace(pods, behind=pods.behind.set(replicaset, known.set(pod, None)))
    known = known.delete(pod)
    if known:
        return replace(pods, behind=pods.behind.set(replicaset, known))
    return replace(pods, behind=pods.behind.delete(replicaset))


def marked(pods: Pods, crew: Crew, name: str) -> Pods:
    """With the place of a pod that is in a crew given up."""
    pods = left(with_leaving(pods, crew, name, is_=True), crew, name)
    return replace(pods, given_up=pods.given_up.set(crew.pod(name), None))


def unmarked(pods: Pods, crew: Crew, name: str) -> Pods:
    """With a pod in its crew again whose place was given up."""
    pods = with_leaving(joined(pods, crew, name), crew, name, is_=False)
    return replace(pods, given_up=pods.given_up.delete(crew.pod(name)))


def with_leaving(pods: Pods, crew: Crew, name: str, *, is_: bool) -> Pods:
    """With a pod among those of a crew that are there and were given up, or without it."""
    names = pods.leaving.get(crew, _NOBODY)
    names = names.set(name, None) if is_ else names.delete(name)
    leaving = pods.leaving.set(crew, names) if names else pods.leaving.delete(crew)
    return _found(replace(pods, leaving=leaving), crew)


def with_held(pods: Pods, crew: Crew, holding: Holding) -> Pods:
    """With what a crew takes now."""
    if holding != NO_HOLDING:
        return replace(pods, held=pods.held.set(crew, holding))
    return replace(pods, held=pods.held.delete(crew)) if crew in pods.held else pods


def with_missing(pods: Pods, node: Subject, subject: Subject, count: int) -> Pods:
    """With so many instances of a workload on a node without their pod."""
    before = pods.missing.get(node, _NO_COUNTS)
    if before.get(subject, 0) == count:
        return pods
    after = before.set(subject, count) if count else before.delete(subject)
    missing = pods.missing.set(node, after) if after else pods.missing.delete(node)
    return replace(pods, missing=missing)
