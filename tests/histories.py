"""Short ways to say what happened, and to hand it to the World, for tests of the pure heart.

Every fact has the defaults that the border fills in, so that a test names only what it is about.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from ledger.decisions.step import Step, advance
from ledger.facts import cluster, disk, quota, workload
from ledger.facts.control import PolicyChanged, ProposalApproved, ProposalKind, ProposalRequested
from ledger.facts.decision import Decision
from ledger.facts.deployment import Deployment
from ledger.facts.disk_placement import DiskPlacement
from ledger.facts.division import Division, Fairness
from ledger.facts.event import Event, Fact
from ledger.facts.genesis import Genesis, born
from ledger.facts.incident import Incident
from ledger.facts.own import (
    AdmissionBypassed,
    AdmissionRequested,
    PodsListed,
    TimePassed,
    UserPin,
)
from ledger.facts.policy import PolicyValue
from ledger.facts.refusal import Refusal
from ledger.reducers.world import World, begin
from ledger.units import (
    Bytes,
    ClusterName,
    CpuMilli,
    DecisionNumber,
    EventType,
    FleetName,
    Incarnation,
    Microseconds,
    NodeName,
    Position,
    Replicas,
    Subject,
    Uid,
    Weight,
)

FLEET = FleetName("shop")
SECOND = 1_000_000
DAY = 24 * 60 * 60 * SECOND


def each_takes(
    *,
    cpu: int = 0,
    bind: bool = False,
    memory: int = 0,
    storage: int = 0,
    volumes: Sequence[str] = (),
) -> workload.Request:
    return workload.Request(
        CpuMilli(cpu),
        cpu_bind=bind,
        memory=Bytes(memory),
        storage=Bytes(storage),
        volumes=tuple(volumes),
    )


NOTHING = each_takes()


def genesis(salt: str | None = None) -> Genesis:
    return born(FLEET, salt=salt, revision=1)


def cluster_up(
    name: str,
    *,
    ready: bool = True,
    labels: Mapping[str, str] | None = None,
    region: str = "",
    uid: str | None = None,
    revision: int | None = None,
) -> cluster.ClusterUpserted:
    return cluster.ClusterUpserted(
        name=ClusterName(name),
        uid=Uid(uid or name),
        revision=revision,
        region=region,
        zone="",
        labels=tuple(sorted((labels or {}).items())),
        ready=ready,
    )


def cluster_gone(
    name: str, *, uid: str | None = None, revision: int | None = None
) -> cluster.ClusterRemoved:
    return cluster.ClusterRemoved(ClusterName(name), None if uid is None else Uid(uid), revision)


def node_up(
    cluster_name: str,
    name: str,
    *,
    uid: str | None = None,
    revision: int | None = None,
    labels: Mapping[str, str] | None = None,
    ready: bool = True,
    schedulable: bool = True,
    cores: Mapping[str, int] | None = None,
    cpu: int = 4000,
    memory: int = 0,
    numa: Mapping[str, str] | None = None,
    numa_memory: Mapping[str, int] | None = None,
    storage: int = 0,
    volumes: Mapping[str, int] | None = None,
    pods: int | None = None,
) -> cluster.NodeUpserted:
    """A node; its cpu is told by its ``cores`` where they are given."""
    return cluster.NodeUpserted(
        cluster=ClusterName(cluster_name),
        name=NodeName(name),
        uid=Uid(uid or f"{cluster_name}/{name}"),
        revision=revision,
        region="",
        zone="",
        labels=tuple(sorted((labels or {}).items())),
        ready=ready,
        schedulable=schedulable,
        cores=tuple(sorted((cores or {}).items())),
        cpu=None if cores else CpuMilli(cpu),
        share_base=100,
        memory=Bytes(memory),
        numa=tuple(sorted((numa or {}).items())),
        numa_memory=tuple(
            (group, Bytes(size)) for group, size in sorted((numa_memory or {}).items())
        ),
        volumes=tuple((device, Bytes(size)) for device, size in sorted((volumes or {}).items())),
        storage=Bytes(storage),
        pods=pods,
    )


def node_gone(cluster_name: str, name: str) -> cluster.NodeRemoved:
    return cluster.NodeRemoved(ClusterName(cluster_name), NodeName(name), None, None)


def node_reclaimed(
    cluster_name: str, name: str, *, uid: str | None = None
) -> cluster.NodeReclaiming:
    life = None if uid is None else Uid(uid)
    return cluster.NodeReclaiming(ClusterName(cluster_name), NodeName(name), life, 120)


def disk_up(
    cluster_name: str,
    node: str,
    name: str,
    *,
    uid: str | None = None,
    revision: int | None = None,
    zone: str = "",
    maximum: int = 100,
    available: int | None = None,
    reserved: int | None = 0,
    type_: disk.DiskType = "filesystem",
    tags: Sequence[str] = (),
    node_tags: Sequence[str] = (),
    allow: bool = True,
    schedulable: bool = True,
    evicting: bool = False,
    node_ready: bool = True,
    node_allow: bool = True,
) -> disk.DiskUpserted:
    """A disk; all of it is available where nothing else is said."""
    return disk.DiskUpserted(
        cluster=ClusterName(cluster_name),
        node=NodeName(node),
        disk=name,
        uid=Uid(uid or f"{cluster_name}/{node}/{name}"),
        revision=revision,
        zone=zone,
        region="",
        maximum=Bytes(maximum),
        available=Bytes(maximum if available is None else available),
        reserved=None if reserved is None else Bytes(reserved),
        type=type_,
        tags=tuple(sorted(tags)),
        node_tags=tuple(sorted(node_tags)),
        allow=allow,
        schedulable=schedulable,
        evicting=evicting,
        node_ready=node_ready,
        node_allow=node_allow,
    )


def disk_gone(
    cluster_name: str, node: str, name: str, *, uid: str | None = None
) -> disk.DiskRemoved:
    given = None if uid is None else Uid(uid)
    return disk.DiskRemoved(ClusterName(cluster_name), NodeName(node), name, given, None)


def volume_up(
    name: str,
    replicas: int,
    *,
    size: int = 10,
    uid: str | None = None,
    revision: int | None = None,
    node_soft: bool | None = None,
    zone_soft: bool | None = None,
    disk_soft: bool | None = None,
    disk_selector: Sequence[str] = (),
    node_selector: Sequence[str] = (),
    alpha: Fraction | None = None,
    workload_key: str | None = None,
) -> disk.VolumeUpserted:
    return disk.VolumeUpserted(
        name=name,
        uid=Uid(uid or name),
        revision=revision,
        size=Bytes(size),
        replicas=replicas,
        node_soft=node_soft,
        zone_soft=zone_soft,
        disk_soft=disk_soft,
        disk_selector=tuple(sorted(disk_selector)),
        node_selector=tuple(sorted(node_selector)),
        alpha=alpha,
        workload=workload_key,
    )


def volume_gone(name: str, *, uid: str | None = None) -> disk.VolumeRemoved:
    return disk.VolumeRemoved(name, None if uid is None else Uid(uid), None)


def replica_failed(
    name: str, *, reusable: bool = False, uid: str | None = None
) -> disk.ReplicaFailed:
    life = None if uid is None else Uid(uid)
    return disk.ReplicaFailed(name.rpartition("-r")[0], name, life, reusable)


def replica_recovered(name: str, *, uid: str | None = None) -> disk.ReplicaRecovered:
    life = None if uid is None else Uid(uid)
    return disk.ReplicaRecovered(name.rpartition("-r")[0], name, life)


def queue_up(
    name: str,
    *,
    uid: str | None = None,
    revision: int | None = None,
    weight: int = 1,
    capability: Mapping[str, int] | None = None,
    guarantee: Mapping[str, int] | None = None,
    is_open: bool = True,
    reclaimable: bool = True,
    priority: int = 0,
) -> quota.QueueUpserted:
    return quota.QueueUpserted(
        name=name,
        uid=Uid(uid or name),
        revision=revision,
        weight=Weight(weight),
        capability=tuple(sorted((capability or {}).items())),
        guarantee=tuple(sorted((guarantee or {}).items())),
        open=is_open,
        reclaimable=reclaimable,
        priority=priority,
    )


def queue_gone(
    name: str, *, uid: str | None = None, revision: int | None = None
) -> quota.QueueRemoved:
    return quota.QueueRemoved(name, None if uid is None else Uid(uid), revision)


def quota_up(
    key: str, *, weight: int | str | None = None, uid: str | None = None
) -> quota.QuotaUpserted:
    """A quota that says what its namespace weighs; text is a weight that is none."""
    namespace, name = key.split("/")
    return quota.QuotaUpserted(
        namespace=namespace,
        name=name,
        uid=Uid(uid or key),
        revision=None,
        hard=(),
        weight=Weight(weight) if isinstance(weight, int) else None,
        invalid_weight=weight if isinstance(weight, str) else None,
    )


def quota_gone(key: str) -> quota.QuotaRemoved:
    namespace, name = key.split("/")
    return quota.QuotaRemoved(namespace, name, None, None)


def job_up(
    key: str,
    tasks: int,
    queue: str | None,
    *,
    cpu: int = 1000,
    memory: int = 0,
    storage: int = 0,
    gang: int = 1,
    priority: int = 0,
    preemptable: bool = True,
    uid: str | None = None,
    revision: int | None = None,
    division: workload.DivisionSpec | None = None,
    cluster_name: str | None = None,
    selector: Mapping[str, str] | None = None,
) -> workload.WorkloadUpserted:
    """A job with tasks alike; it may say where they go."""
    deploy = None
    if selector:
        deploy = workload.DeploySpec("AUTO", 0, 0, None, -1, tuple(sorted(selector.items())))
    return replace(
        workload_up(
            key,
            tasks,
            division,
            uid=uid,
            revision=revision,
            kind="Job",
            queue=queue,
            priority=priority,
            request=each_takes(cpu=cpu, memory=memory, storage=storage),
            deploy=deploy,
        ),
        cluster=None if cluster_name is None else ClusterName(cluster_name),
        gang_min=gang,
        preemptable=preemptable,
    )


def finished(key: str, task: int | None = None, *, uid: str | None = None) -> workload.JobFinished:
    namespace, name = key.split("/")
    return workload.JobFinished(namespace, name, None if uid is None else Uid(uid), task)


def pod_seen(
    cluster_name: str,
    namespace: str,
    name: str,
    *,
    uid: str | None = None,
    revision: int | None = None,
    owner: tuple[str, str] | None = None,
    template_hash: str = "",
    node: str | None = None,
    phase: workload.PodPhase = "Running",
    terminating: bool = False,
    capacity_class: str = "",
    reservation: str | None = None,
    request: workload.Request = NOTHING,
) -> workload.PodObserved:
    """A pod; its owner is told by kind and name."""
    return workload.PodObserved(
        cluster=ClusterName(cluster_name),
        namespace=namespace,
        name=name,
        uid=Uid(uid or f"{cluster_name}/{namespace}/{name}"),
        revision=revision,
        owner=None if owner is None else workload.Owner(*owner, uid=None),
        template_hash=template_hash,
        reservation=reservation,
        node=None if node is None else NodeName(node),
        phase=phase,
        ready=True,
        terminating=terminating,
        capacity_class=capacity_class,
        request=request,
    )


def admitted(
    uid: str,
    cluster_name: str,
    namespace: str,
    owner: tuple[str, str],
    template_hash: str = "",
    *,
    dry_run: bool = False,
    carried: str | None = None,
    user_pin: UserPin | None = None,
    name: str | None = None,
    pod_index: str | None = None,
    ordinals_start: int | None = None,
    can_list: bool = False,
    replicas: int | None = None,
    min_available: str | None = None,
    replicaset_replicas: int | None = None,
) -> AdmissionRequested:
    """A pod is about to be created; its owner is told by kind and name."""
    return AdmissionRequested(
        uid=uid,
        cluster=ClusterName(cluster_name),
        namespace=namespace,
        owner=workload.Owner(*owner, uid=None),
        template_hash=template_hash,
        dry_run=dry_run,
        carried=carried,
        user_pin=user_pin,
        pod="{}",
        name=name,
        pod_index=pod_index,
        ordinals_start=ordinals_start,
        can_list=can_list,
        replicas=_replicas(replicas),
        min_available=min_available,
        replicaset_replicas=_replicas(replicaset_replicas),
    )


def _replicas(count: int | None) -> Replicas | None:
    return None if count is None else Replicas(count)


def bypassed(uid: str) -> AdmissionBypassed:
    return AdmissionBypassed(uid, "no answer came in time")


def pods_listed(
    uid: str, template_hash: str, present: Sequence[str], others: Sequence[str] | None = None
) -> PodsListed:
    found = None if others is None else tuple(sorted(others))
    return PodsListed(uid, template_hash, tuple(sorted(present)), found)


def pod_gone(cluster_name: str, namespace: str, name: str) -> workload.PodDeleted:
    return workload.PodDeleted(ClusterName(cluster_name), namespace, name, None, None)


def replicaset_up(
    cluster_name: str,
    namespace: str,
    name: str,
    owner: tuple[str, str] | None,
    *,
    replicas: int = 1,
) -> workload.ReplicaSetUpserted:
    return workload.ReplicaSetUpserted(
        cluster=ClusterName(cluster_name),
        namespace=namespace,
        name=name,
        uid=Uid(f"{cluster_name}/{namespace}/{name}"),
        revision=None,
        owner=None if owner is None else workload.Owner(*owner, uid=None),
        template_hash=name.rpartition("-")[2],
        replicas=Replicas(replicas),
    )


def listed(
    cluster_name: str, noun: cluster.InventoryNoun, keys: Sequence[str]
) -> cluster.InventoryListed:
    """A full list; the keys are told without the cluster."""
    there = tuple(Subject(f"{cluster_name}/{key}") for key in sorted(keys))
    return cluster.InventoryListed(ClusterName(cluster_name), noun, there, None)


def divided(
    weights: Mapping[str, int] | None = None,
    *,
    strategy: workload.DivisionStrategy = "static",
    clusters: Sequence[str] = (),
    selector: Mapping[str, str] | None = None,
    caps: Mapping[str, int] | None = None,
    over_clusters: tuple[int, int | None] | None = None,
    over_regions: tuple[int, int | None] | None = None,
) -> workload.DivisionSpec:
    return workload.DivisionSpec(
        strategy=strategy,
        weights=tuple(
            (ClusterName(name), Weight(weight)) for name, weight in sorted((weights or {}).items())
        ),
        clusters=tuple(ClusterName(name) for name in sorted(clusters)),
        cluster_selector=tuple(sorted((selector or {}).items())),
        caps=tuple(
            (ClusterName(name), Replicas(cap)) for name, cap in sorted((caps or {}).items())
        ),
        spread_clusters=None if over_clusters is None else workload.Bounds(*over_clusters),
        spread_regions=None if over_regions is None else workload.Bounds(*over_regions),
    )


def deployed(
    strategy: workload.DeployStrategy = "AUTO",
    *,
    count: int = 1,
    nodes_limit: int = 0,
    policy: workload.GlobalPolicy | None = None,
    max_share: int = -1,
    selector: Mapping[str, str] | None = None,
) -> workload.DeploySpec:
    return workload.DeploySpec(
        strategy=strategy,
        count=count,
        nodes_limit=nodes_limit,
        policy=policy,
        max_share=max_share,
        node_selector=tuple(sorted((selector or {}).items())),
    )


def workload_up(
    key: str,
    replicas: int,
    division: workload.DivisionSpec | None = None,
    *,
    cluster: str | None = None,
    min_available: str | None = None,
    uid: str | None = None,
    revision: int | None = None,
    kind: workload.WorkloadKind = "Deployment",
    queue: str | None = None,
    priority: int = 0,
    request: workload.Request = NOTHING,
    deploy: workload.DeploySpec | None = None,
    ordinals_start: int | None = None,
) -> workload.WorkloadUpserted:
    namespace, name = key.split("/")
    return workload.WorkloadUpserted(
        namespace=namespace,
        name=name,
        uid=Uid(uid or key),
        revision=revision,
        kind=kind,
        replicas=Replicas(replicas),
        request=request,
        division=division,
        cluster=None if cluster is None else ClusterName(cluster),
        deploy=deploy,
        min_available=min_available,
        queue=queue,
        priority=priority,
        gang_min=1,
        preemptable=True,
        ordinals_start=ordinals_start,
    )


def workload_gone(
    key: str, *, uid: str | None = None, revision: int | None = None
) -> workload.WorkloadRemoved:
    namespace, name = key.split("/")
    return workload.WorkloadRemoved(namespace, name, None if uid is None else Uid(uid), revision)


def reschedule(
    key: str, *, fresh: bool = True, uid: str | None = None
) -> workload.WorkloadRescheduled:
    namespace, name = key.split("/")
    return workload.WorkloadRescheduled(namespace, name, None if uid is None else Uid(uid), fresh)


def policy(settings: Mapping[str, PolicyValue]) -> PolicyChanged:
    return PolicyChanged(change=tuple(sorted(settings.items())), salt=None)


def requested(
    kind: ProposalKind,
    subject: str | None = None,
    *,
    max_moves: int | None = None,
    max_bytes: int | None = None,
) -> ProposalRequested:
    return ProposalRequested(kind, subject, max_moves, max_bytes)


def approved(number: int) -> ProposalApproved:
    return ProposalApproved(DecisionNumber(number))


def subject_of(fact: Fact) -> Subject:
    """The key that an event of this fact has."""
    match fact:
        case cluster.ClusterUpserted() | cluster.ClusterRemoved():
            key = str(fact.name)
        case cluster.InventoryListed():
            key = str(fact.cluster)
        case cluster.NodeUpserted() | cluster.NodeRemoved() | cluster.NodeReclaiming():
            key = f"{fact.cluster}/{fact.name}"
        case disk.DiskUpserted() | disk.DiskRemoved():
            key = "/".join(filter(None, (fact.cluster, fact.node, fact.disk)))
        case disk.ReplicaFailed() | disk.ReplicaRecovered():
            key = f"{fact.volume}/{fact.replica}"
        case workload.PodObserved() | workload.PodDeleted() | workload.ReplicaSetUpserted():
            key = f"{fact.cluster}/{fact.namespace}/{fact.name}"
        case (
            workload.WorkloadUpserted()
            | workload.WorkloadRemoved()
            | workload.WorkloadRescheduled()
            | workload.JobFinished()
            | quota.QuotaUpserted()
            | quota.QuotaRemoved()
        ):
            key = f"{fact.namespace}/{fact.name}"
        case (
            quota.QueueUpserted()
            | quota.QueueRemoved()
            | disk.VolumeUpserted()
            | disk.VolumeRemoved()
        ):
            key = fact.name
        case AdmissionRequested():
            key = f"{fact.namespace}/{fact.owner.name}"
        case AdmissionBypassed():
            key = fact.uid
        case PodsListed():
            key = fact.admission_uid
        case _:
            key = str(FLEET)
    return Subject(key)


@dataclass(slots=True)
class History:
    """A fleet's log as it grows, and what the pure heart makes of it."""

    world: World = field(default_factory=lambda: begin(genesis(), incarnation=Incarnation(1)))
    source: str = "test"
    events: list[Event] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    def add(
        self, fact: Fact, *, after: int = 0, source: str | None = None, subject: str | None = None
    ) -> Step:
        """What follows when this happens, so many microseconds after the event before it."""
        before = self.events[-1].recorded_at if self.events else 0
        event = Event(
            position=Position(len(self.events)),
            recorded_at=Microseconds(before + after),
            source=self.source if source is None else source,
            id=str(len(self.events)),
            type=EventType(type(fact).__name__),
            subject=subject_of(fact) if subject is None else Subject(subject),
            fact=fact,
        )
        step = advance(self.world, event)
        self.events.append(event)
        self.steps.append(step)
        self.world = step.world
        return step

    def add_all(self, *facts: Fact) -> None:
        for fact in facts:
            self.add(fact)

    def wait(self, microseconds: int) -> Step:
        """Let time pass, as the decider does when nothing else happens."""
        before = self.events[-1].recorded_at if self.events else 0
        return self.add(TimePassed(Microseconds(before + microseconds)), after=microseconds)


def allocation(made: Decision) -> dict[str, int]:
    """Who got how many, without those that got nothing."""
    assert isinstance(made.outcome, Division), f"a {made.kind} divides nothing"
    return {share.cluster: share.replicas for share in made.outcome.shares if share.replicas}


def division_of(made: Decision) -> Division:
    assert isinstance(made.outcome, Division)
    return made.outcome


def fairness_of(made: Decision) -> Fairness:
    fairness = division_of(made).fairness
    assert fairness is not None, "only static weight is fair by floors and residuals"
    return fairness


def deployment_of(made: Decision) -> Deployment:
    assert isinstance(made.outcome, Deployment), f"a {made.kind} deploys nothing"
    return made.outcome


def on_nodes(world: World, subject: str) -> dict[str, list[int]]:
    """The numbers of the instances that are in force on each node."""
    found: dict[str, list[int]] = {}
    held = world.deployments.of.get(Subject(subject))
    for instance in () if held is None else held.instances:
        found.setdefault(instance.node, []).append(instance.number)
    return {node: found[node] for node in sorted(found)}


def incident_of(made: Decision) -> Incident:
    assert isinstance(made.outcome, Incident), f"a {made.kind} contradicts nothing"
    return made.outcome


def disk_placement_of(made: Decision) -> DiskPlacement:
    assert isinstance(made.outcome, DiskPlacement), f"a {made.kind} places no replicas"
    return made.outcome


def on_disks(made: Decision) -> dict[str, str]:
    """The disk of each replica that is in force by a decision."""
    return {
        one.replica: "/".join(filter(None, (one.cluster, one.node, one.disk)))
        for one in disk_placement_of(made).replicas
    }


def refusal_of(made: Decision) -> Refusal:
    assert isinstance(made.outcome, Refusal)
    return made.outcome


def only(step: Step) -> Decision:
    """The one decision that a step made."""
    (made,) = step.decisions
    return made
