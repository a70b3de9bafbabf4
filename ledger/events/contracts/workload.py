"""The workload family: what is to run, what was seen running, and requests to decide again."""

# ruff: noqa: D102 - what fact is for is said once, in EventData

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ledger.events.contract import (
    Contract,
    Family,
    Removal,
    Shape,
    Upsert,
)
from ledger.events.contract_values import (
    MOST_ENTRIES,
    MOST_TASKS,
    Cluster,
    Count,
    Cpu,
    Labels,
    Name,
    Node,
    ObjectUid,
    Priority,
    ReplicaCount,
    Size,
    Text,
    Whole,
    Word,
    sorted_pairs,
)
from ledger.events.sharing import shared, shared_owner, shared_request
from ledger.facts import workload as facts
from ledger.units import LARGEST_WHOLE_NUMBER, Bytes, CpuMilli, EventType, Weight

ClusterWeight = Annotated[Weight, Field(ge=0, le=LARGEST_WHOLE_NUMBER)]
Weights = Annotated[dict[Cluster, ClusterWeight], Field(max_length=MOST_ENTRIES)]
Caps = Annotated[dict[Cluster, ReplicaCount], Field(max_length=MOST_ENTRIES)]
Clusters = Annotated[list[Cluster], Field(max_length=MOST_ENTRIES)]
GroupBounds = Annotated[list[Whole | None], Field(min_length=1, max_length=2)]

NOTHING: Final = facts.Request(
    cpu=CpuMilli(0), cpu_bind=False, memory=Bytes(0), storage=Bytes(0), volumes=()
)
"""What is requested where nothing is said."""


OWN_GROUPS: Final[Mapping[str, str]] = {
    "Deployment": "apps",
    "Job": "batch",
    "ReplicaSet": "apps",
    "StatefulSet": "apps",
}
"""The API groups of the kinds whose pods are told apart."""


class Request(Shape):
    """What one instance, task or pod takes."""

    cpu: Cpu = CpuMilli(0)
    """Milli-cores."""
    cpu_bind: bool = False
    """Whether it wants cores of its own."""
    memory: Size = Bytes(0)
    """Bytes."""
    storage: Size = Bytes(0)
    """Bytes of ephemeral storage."""
    volumes: Annotated[list[Text], Field(max_length=MOST_ENTRIES)] = Field(default_factory=list)
    """`SRC:DST[:FLAGS[:SIZE]]`, one each."""

    def fact(self) -> facts.Request:
        """The request with every default filled in."""
        return shared_request(
            self.cpu, self.cpu_bind, self.memory, self.storage, tuple(self.volumes)
        )


class Spread(Shape):
    """How many groups a division is spread over: `[least, most]`, a most of null is all."""

    cluster: GroupBounds | None = None
    """Clusters."""
    region: GroupBounds | None = None
    """Regions."""

    @model_validator(mode="after")
    def _most_is_not_below_least(self) -> Self:
        for bounds in (_bounds(self.cluster), _bounds(self.region)):
            if bounds is not None and bounds.most is not None and bounds.most < bounds.least:
                raise PydanticCustomError("wrong_field", "the most is below the least")
        return self


class Division(Shape):
    """How the replicas are divided over clusters."""

    strategy: facts.DivisionStrategy = "static"
    """The rule."""
    weights: Weights = Field(default_factory=dict)
    """Each cluster's weight, for `static` and `webster`; without any, every candidate has weight 1."""
    clusters: Clusters = Field(default_factory=list)
    """The candidates; where none are named, those that `cluster_selector` matches, else the keys of
    `weights`, else every cluster."""
    cluster_selector: Labels = Field(default_factory=dict)
    """Labels that a candidate has."""
    caps: Caps = Field(default_factory=dict)
    """The most replicas a cluster takes; only `static` looks at it."""
    spread: Spread | None = None
    """Over how many clusters and regions; `static` does not look at it."""

    def fact(self) -> facts.DivisionSpec:
        """The wish with every default filled in."""
        return facts.DivisionSpec(
            strategy=self.strategy,
            weights=sorted_pairs(self.weights),
            clusters=tuple(sorted(set(self.clusters))),
            cluster_selector=sorted_pairs(self.cluster_selector),
            caps=sorted_pairs(self.caps),
            spread_clusters=None if self.spread is None else _bounds(self.spread.cluster),
            spread_regions=None if self.spread is None else _bounds(self.spread.region),
        )


class Deploy(Shape):
    """How a cluster's share is placed on its nodes."""

    strategy: facts.DeployStrategy = "AUTO"
    """The rule."""
    count: Count = 0
    """Instances per node, for FILL and EACH."""
    nodes_limit: Count = 0
    """0 is no limit; what it limits depends on the strategy."""
    policy: facts.GlobalPolicy | None = None
    """How GLOBAL chooses; absent, as the fleet's policy says."""
    max_share: Annotated[int, Field(ge=-1, le=2**31 - 1)] = -1
    """How many cores may be shared in pieces; -1 is no limit."""
    node_selector: Labels = Field(default_factory=dict)
    """Labels that a node has."""

    def fact(self) -> facts.DeploySpec:
        """The wish with every default filled in."""
        return facts.DeploySpec(
            strategy=self.strategy,
            count=self.count,
            nodes_limit=self.nodes_limit,
            policy=self.policy,
            max_share=self.max_share,
            node_selector=sorted_pairs(self.node_selector),
        )


class WorkloadUpserted(Upsert):
    """A workload was created, or changed: what its owner wants of it now, whole."""

    event_type: ClassVar = EventType("ledger.workload.workload.upserted.v1")
    family: ClassVar[Family] = "workload"
    key_fields: ClassVar[tuple[str, ...]] = ("namespace", "name")

    namespace: Name
    """Its namespace."""
    name: Name
    """The workload."""
    kind: facts.WorkloadKind = "Deployment"
    """What it is."""
    replicas: ReplicaCount
    """How many instances, or how many tasks of a job, at most 150000."""
    request: Request | None = None
    """What each of them takes."""
    division: Division | None = None
    """How they are divided over clusters."""
    cluster: Cluster | None = None
    """Where all of them go, where there is no division."""
    deploy: Deploy | None = None
    """How each cluster's share is placed on nodes; absent, the cluster places it by itself."""
    min_available: Text | None = None
    """How many run on on-demand nodes, as the annotation says: a number or a percentage, as text."""
    ordinals_start: Whole | None = None
    """The ordinal at which a StatefulSet begins; absent, 0."""
    queue: Name | None = None
    """The queue a job waits in."""
    priority: Priority = 0
    """The higher, the earlier."""
    gang_min: Count = 1
    """The fewest tasks that may start."""
    preemptable: bool = False
    """Whether its tasks may be evicted for others."""

    @model_validator(mode="after")
    def _tasks_can_be_kept(self) -> Self:
        if self.kind == "Job" and self.replicas > MOST_TASKS:
            raise PydanticCustomError(
                "out_of_range", f"{self.replicas} tasks are more than {MOST_TASKS}"
            )
        return self

    def fact(self) -> facts.WorkloadUpserted:
        return facts.WorkloadUpserted(
            namespace=shared(self.namespace),
            name=shared(self.name),
            uid=self.settled_uid(),
            revision=self.revision,
            kind=shared(self.kind),
            replicas=self.replicas,
            request=NOTHING if self.request is None else self.request.fact(),
            division=None if self.division is None else self.division.fact(),
            cluster=self.cluster,
            deploy=None if self.deploy is None else self.deploy.fact(),
            min_available=self.min_available,
            queue=self.queue,
            priority=self.priority,
            gang_min=self.gang_min,
            preemptable=self.preemptable,
            ordinals_start=self.ordinals_start,
        )


class WorkloadRemoved(Removal):
    """A workload is gone; its placements end."""

    event_type: ClassVar = EventType("ledger.workload.workload.removed.v1")
    family: ClassVar[Family] = "workload"
    key_fields: ClassVar[tuple[str, ...]] = ("namespace", "name")

    namespace: Name
    """Its namespace."""
    name: Name
    """The workload."""

    def fact(self) -> facts.WorkloadRemoved:
        return facts.WorkloadRemoved(self.namespace, self.name, self.uid, self.revision)


class WorkloadReschedule(Contract):
    """Somebody asks for a workload to be decided again."""

    event_type: ClassVar = EventType("ledger.workload.workload.reschedule.v1")
    family: ClassVar[Family] = "workload"
    key_fields: ClassVar[tuple[str, ...]] = ("namespace", "name")

    namespace: Name
    """Its namespace."""
    name: Name
    """The workload."""
    uid: ObjectUid | None = None
    """Which workload of that name; absent, the one in force."""
    fresh: bool = True
    """Whether the last result is forgotten."""

    def fact(self) -> facts.WorkloadRescheduled:
        return facts.WorkloadRescheduled(
            namespace=self.namespace,
            name=self.name,
            uid=self.uid,
            fresh=self.fresh,
        )


class JobFinished(Contract):
    """A task of a job ended, or all of them did."""

    event_type: ClassVar = EventType("ledger.workload.job.finished.v1")
    family: ClassVar[Family] = "workload"
    key_fields: ClassVar[tuple[str, ...]] = ("namespace", "name")

    namespace: Name
    """Its namespace."""
    name: Name
    """The job."""
    uid: ObjectUid | None = None
    """Which job of that name; absent, the one in force."""
    task: Count | None = None
    """The task's index; absent, all of them."""

    def fact(self) -> facts.JobFinished:
        return facts.JobFinished(
            namespace=self.namespace,
            name=self.name,
            uid=self.uid,
            task=self.task,
        )


class Owner(Shape):
    """The controller an object names as its owner."""

    kind: Word
    """Its kind: ReplicaSet, StatefulSet, ..."""
    name: Name
    """Its name."""
    uid: ObjectUid | None = None
    """Its uid."""
    group: Text | None = None
    """The API group of its kind; absent, the one that Kubernetes has that kind in."""

    def fact(self) -> facts.Owner:
        """The owner as facts hold it: a kind of another group is another kind, whatever its name."""
        own = OWN_GROUPS.get(self.kind)
        is_another = own is not None and self.group not in {None, own}
        kind = f"{self.kind}.{self.group}" if is_another else self.kind
        return shared_owner(kind, self.name, self.uid)


class PodObserved(Upsert):
    """A pod as its cluster reports it."""

    event_type: ClassVar = EventType("ledger.workload.pod.observed.v1")
    family: ClassVar[Family] = "workload"
    key_fields: ClassVar[tuple[str, ...]] = ("cluster", "namespace", "name")

    cluster: Cluster
    """Where it runs."""
    namespace: Name
    """Its namespace."""
    name: Name
    """The pod."""
    owner: Owner | None = None
    """Its controller; absent for a pod that nothing controls."""
    template_hash: Text = ""
    """Which version of the template it was made from."""
    reservation: Word | None = None
    """The reservation that the admission wrote on it."""
    node: Node | None = None
    """Its node; absent while it has none."""
    phase: facts.PodPhase = "Pending"
    """Its phase."""
    ready: bool = False
    """Whether it is ready."""
    terminating: bool = False
    """Whether its deletion has begun."""
    capacity_class: Text = ""
    """On-demand or spot, as its label says; empty where it has none."""
    request: Request | None = None
    """What it takes."""

    def fact(self) -> facts.PodObserved:
        return facts.PodObserved(
            cluster=shared(self.cluster),
            namespace=shared(self.namespace),
            name=self.name,
            uid=self.settled_uid(),
            revision=self.revision,
            owner=None if self.owner is None else self.owner.fact(),
            template_hash=shared(self.template_hash),
            reservation=self.reservation,
            node=None if self.node is None else shared(self.node),
            phase=shared(self.phase),
            ready=self.ready,
            terminating=self.terminating,
            capacity_class=shared(self.capacity_class),
            request=NOTHING if self.request is None else self.request.fact(),
        )


class PodDeleted(Removal):
    """A pod is gone."""

    event_type: ClassVar = EventType("ledger.workload.pod.deleted.v1")
    family: ClassVar[Family] = "workload"
    key_fields: ClassVar[tuple[str, ...]] = ("cluster", "namespace", "name")

    cluster: Cluster
    """Where it ran."""
    namespace: Name
    """Its namespace."""
    name: Name
    """The pod."""

    def fact(self) -> facts.PodDeleted:
        return facts.PodDeleted(self.cluster, self.namespace, self.name, self.uid, self.revision)


class ReplicaSetUpserted(Upsert):
    """A ReplicaSet as its cluster reports it."""

    event_type: ClassVar = EventType("ledger.workload.replicaset.upserted.v1")
    family: ClassVar[Family] = "workload"
    key_fields: ClassVar[tuple[str, ...]] = ("cluster", "namespace", "name")

    cluster: Cluster
    """Where it is."""
    namespace: Name
    """Its namespace."""
    name: Name
    """The ReplicaSet."""
    owner: Owner | None = None
    """Its Deployment."""
    template_hash: Text = ""
    """Which version of the template it runs."""
    replicas: ReplicaCount
    """How many pods it wants."""

    def fact(self) -> facts.ReplicaSetUpserted:
        return facts.ReplicaSetUpserted(
            cluster=shared(self.cluster),
            namespace=shared(self.namespace),
            name=self.name,
            uid=self.settled_uid(),
            revision=self.revision,
            owner=None if self.owner is None else self.owner.fact(),
            template_hash=self.template_hash,
            replicas=self.replicas,
        )


def _bounds(told: list[int | None] | None) -> facts.Bounds | None:
    """`[least, most]` as told; a missing most is all, a missing least is none."""
    if told is None:
        return None
    least, most = (*told, None)[:2]
    return facts.Bounds(least or 0, most)
