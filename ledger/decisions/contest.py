"""What a round of jobs is decided from: read off the World, as the core is asked with it.

Nodes take part that take new work, of clusters that are ready; what they have free counts, and less
than nothing as nothing. The total that is shared out is that, and what running tasks of known
queues hold anywhere. Jobs take part that have tasks which wait in a known queue; what the others
hold is told by queue and namespace. So a round costs what waits and what the nodes are, and nothing
for what only runs.

A job may be restricted in where its tasks go: by the clusters of its division or those that its
selector matches, by its cluster, by its node selector. Jobs that are restricted alike are in one
pool of the nodes that are left to them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from ledger.core.capacity.volume_requests import volume_requests
from ledger.core.fairshare.queues import Queue
from ledger.core.fairshare.resources import (
    JobName,
    NamespaceName,
    QueueName,
    Resource,
)
from ledger.core.fairshare.room import SLOTS, Node, PoolName
from ledger.core.fairshare.round import Holding, Job, WaitingTask
from ledger.errors import InvalidRequest
from ledger.facts.allocation import TaskRequest
from ledger.facts.canonical import Plain
from ledger.facts.cluster import NodeUpserted
from ledger.facts.quota import QueueUpserted
from ledger.facts.workload import WorkloadUpserted
from ledger.reducers.book import NOTHING_HELD, Held, cpu_milli
from ledger.reducers.rooms import in_use
from ledger.reducers.tasks import (
    ANYWHERE,
    NO_USE,
    QueueNamespace,
    Tasks,
    Use,
    Where,
    used_with,
    where,
)
from ledger.reducers.world import World
from ledger.units import NodeName, Subject

CPU: Final = Resource("cpu")
MEMORY: Final = Resource("memory")
STORAGE: Final = Resource("storage")
RESOURCES: Final = (CPU, MEMORY, STORAGE)
"""What tasks can ask for, in the order of the names."""

_NO_POOLS: Final[frozenset[PoolName]] = frozenset()


@dataclass(frozen=True, slots=True)
class Contender:
    """A job with tasks that wait in a known queue."""

    subject: Subject
    fact: WorkloadUpserted
    tasks: Tasks
    request: TaskRequest
    waiting: tuple[int, ...]
    created: int
    pool: PoolName | None


class Free(NamedTuple):
    """What a node has free of what tasks take, signed."""

    cpu: int
    memory: int
    storage: int
    pods: int | None


@dataclass(frozen=True, slots=True)
class Contest:
    """Everything that one round is decided from."""

    total: Mapping[Resource, int]
    queues: tuple[Queue, ...]
    jobs: Mapping[Subject, Contender]
    """In the order of their names."""
    nodes: tuple[Node, ...]
    """With what they have free."""
    free: Mapping[NodeName, Free]
    """The same as the book has it, less than nothing included."""
    used: Mapping[QueueNamespace, Use]
    """By whatever runs, in known queues."""
    weights: Mapping[NamespaceName, int]
    """Of the namespaces that hold or want something."""


def read(world: World) -> Contest:
    """What a round would be decided from now."""
    jobs = world.jobs
    queues = tuple(_queue(world, name) for name in sorted(jobs.queues))
    contenders: dict[Subject, Contender] = {}
    pools: dict[Where, PoolName] = {}
    for subject in sorted(
        subject for name in jobs.queues for subject in jobs.waiting.get(name, ())
    ):
        fact, tasks = world.workload(subject), jobs.of[subject]
        assert fact is not None, f"{subject} has tasks and is not there"
        contenders[subject] = Contender(
            subject=subject,
            fact=fact,
            tasks=tasks,
            request=takes(fact),
            waiting=tuple(tasks.waiting_indices),
            created=jobs.created[subject],
            pool=pool_of(fact, pools),
        )
    # In no order: looked up by key only.
    used = {key: use for key, use in jobs.used.items() if key.queue in jobs.queues}
    free: dict[NodeName, Free] = {}
    nodes: list[Node] = []
    for node in in_use(world):
        name = NodeName(f"{node.cluster}/{node.name}")
        free[name] = left = _free(node, world.book.get(Subject(name), NOTHING_HELD))
        inside = _NO_POOLS
        if pools:
            inside = frozenset(pool for told, pool in pools.items() if _may_go(world, told, node))
        nodes.append(_node(name, left, inside))
    total = dict.fromkeys(RESOURCES, 0)
    for one in nodes:
        for resource in RESOURCES:
            total[resource] += one.amounts[resource]
    for use in used.values():
        for resource, amount in amounts(use).items():
            total[resource] += amount
    namespaces = {key.namespace for key in used}
    namespaces.update(job.tasks.namespace for job in contenders.values())
    return Contest(
        total=total,
        queues=queues,
        jobs=contenders,
        nodes=tuple(nodes),
        free=free,
        used=used,
        weights={NamespaceName(name): jobs.weight(name) for name in sorted(namespaces)},
    )


def takes(fact: WorkloadUpserted) -> TaskRequest:
    """What a task of a job takes; it shares the cores of its node.

    The sizes of its volumes count as storage, as for any instance, and no device is chosen. Volumes
    that mean nothing have no size.
    """
    request = fact.request
    return TaskRequest(request.cpu, request.memory, request.storage + _sizes(request.volumes))


def amounts(of: TaskRequest | Use) -> dict[Resource, int]:
    """What a task takes or several hold, as the core names it; what is not there is not named."""
    told = ((CPU, of.cpu), (MEMORY, of.memory), (STORAGE, of.storage))
    return {resource: amount for resource, amount in told if amount}


def running(contest: Contest) -> list[Holding]:
    """What namespaces hold beside the jobs that take part, in order."""
    left = dict(contest.used)
    for job in contest.jobs.values():
        held = job.tasks.held
        if held == NO_USE:
            continue
        key = QueueNamespace(job.tasks.queue, job.tasks.namespace)
        left[key] = Use(*(one - other for one, other in zip(left[key], held, strict=True)))
    return [
        Holding(QueueName(key.queue), NamespaceName(key.namespace), amounts(left[key]))
        for key in sorted(left)
        if left[key].tasks
    ]


def in_turn(contest: Contest) -> list[Job]:
    """The jobs as they wait for their turns."""
    return [
        Job(
            name=JobName(job.subject),
            queue=QueueName(job.tasks.queue),
            tasks=_waiting(job),
            namespace=NamespaceName(job.tasks.namespace),
            gang_min=job.fact.gang_min,
            priority=job.fact.priority,
            seq=job.created,
            ready=len(job.tasks.running) + len(job.tasks.finished),
            held=amounts(job.tasks.held),
            pool=job.pool,
        )
        for job in contest.jobs.values()
    ]


def pool_of(fact: WorkloadUpserted, pools: dict[Where, PoolName]) -> PoolName | None:
    """The pool of a job, numbered as they are met; None where it may go to every node."""
    told = where(fact)
    if told == ANYWHERE:
        return None
    return pools.setdefault(told, PoolName(str(len(pools))))


def spelled(contest: Contest) -> Plain:
    """The contest as the plain value that a decision's ``inputs`` digests."""
    return {
        "total": _plain(contest.total),
        "queues": [
            {
                "name": queue.name,
                "weight": queue.weight,
                "priority": queue.priority,
                "seq": queue.seq,
                "capability": _plain(queue.capability),
                "guarantee": _plain(queue.guarantee),
                "open": queue.is_open,
                "reclaimable": queue.reclaimable,
            }
            for queue in contest.queues
        ],
        "jobs": [
            [
                job.subject,
                job.tasks.queue,
                job.request,
                job.waiting,
                job.fact.gang_min,
                job.fact.priority,
                job.created,
                len(job.tasks.running),
                len(job.tasks.finished),
                job.tasks.held,
                job.pool,
            ]
            for job in contest.jobs.values()
        ],
        "nodes": [
            [
                node.name,
                [node.amounts[resource] for resource in RESOURCES],
                node.slots,
                sorted(node.pools),
            ]
            for node in contest.nodes
        ],
        "used": [[*key, *contest.used[key]] for key in sorted(contest.used)],
        "weights": [[name, weight] for name, weight in contest.weights.items()],
    }


def used_after(
    contest: Contest, changes: Iterable[tuple[QueueNamespace, TaskRequest, int]]
) -> dict[QueueNamespace, Use]:
    """What namespaces hold once these tasks came, or went."""
    used = dict(contest.used)
    for key, request, times in changes:
        used[key] = used_with(used.get(key, NO_USE), request, times)
    return {key: use for key, use in used.items() if use.tasks}


def _plain(told: Mapping[Resource, int]) -> dict[str, Plain]:
    return {str(resource): told[resource] for resource in sorted(told)}


def _sizes(volumes: tuple[str, ...]) -> int:
    try:
        return sum(volume.size for volume in volume_requests(volumes))
    except InvalidRequest:
        return 0


def _waiting(job: Contender) -> list[WaitingTask]:
    request = amounts(job.request)
    return [WaitingTask(index, request) for index in job.waiting]


def _queue(world: World, name: str) -> Queue:
    fact = world.objects.fact("queue", Subject(name))
    assert isinstance(fact, QueueUpserted), f"queue {name} is known and not there"
    return Queue(
        name=QueueName(name),
        weight=fact.weight,
        priority=fact.priority,
        seq=world.jobs.queues[name],
        capability=_without_slots(fact.capability),
        guarantee=_without_slots(fact.guarantee),
        is_open=fact.open,
        reclaimable=fact.reclaimable,
    )


def _without_slots(told: tuple[tuple[str, int], ...]) -> dict[Resource, int]:
    """Slots are a node's business, and nobody's share."""
    return {Resource(name): amount for name, amount in told if name != SLOTS}


def _free(node: NodeUpserted, held: Held) -> Free:
    return Free(
        cpu_milli(node) - held.cpu,
        node.memory - held.memory,
        node.storage - held.storage,
        None if node.pods is None else node.pods - held.pods,
    )


def _node(name: NodeName, free: Free, pools: frozenset[PoolName]) -> Node:
    return Node(
        name,
        {
            CPU: max(0, free.cpu),
            MEMORY: max(0, free.memory),
            STORAGE: max(0, free.storage),
        },
        None if free.pods is None else max(0, free.pods),
        pools,
    )


def _may_go(world: World, told: Where, node: NodeUpserted) -> bool:
    """Whether tasks that are restricted like this may go to a node."""
    labels = world.clusters[node.cluster].labels
    return told.takes_cluster(node.cluster, labels) and told.takes_node(node.labels)
