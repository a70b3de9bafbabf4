"""What a round of jobs is decided from: read off the World, as the core is asked with it.

Nodes take part that take new work, of clusters that are ready; what they have free counts, and less
than nothing as nothing. The total that is shared out is that, and what running tasks of known
queues hold anywhere. Jobs take part that have tasks which wait in a known queue; what the others
hold is told by queue and namespace. So a round costs what waits and which nodes are not as they were,
and nothing for what only runs.

Nodes are read cluster by cluster, and what was read of them is kept (``ledger.decisions.spare``); the
core has them resource by resource. A job that waits as it waited in the round before is taken from there.

Where the policy has a history, what namespaces with waiting tasks used before is read too
(``ledger.reducers.past_use``), as what it counts for on top of what they hold.

A job may be restricted in where its tasks go: by the clusters of its division or those that its
selector matches, by its cluster, by its node selector. Jobs that are restricted alike are in one
pool of the nodes that are left to them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ledger.core.capacity.volume_requests import volume_requests
from ledger.core.fairshare.decay import DecayPolicy, PastUse
from ledger.core.fairshare.queues import Queue
from ledger.core.fairshare.resources import (
    JobName,
    NamespaceName,
    QueueName,
    Resource,
)
from ledger.core.fairshare.room import SLOTS, Ground, PoolName
from ledger.core.fairshare.round import Alike, Charges, Holding, Job
from ledger.decisions import spare, versions
from ledger.decisions.spare import CPU, MEMORY, RESOURCES, STORAGE, Nodes
from ledger.errors import InvalidRequest
from ledger.facts.allocation import TaskRequest
from ledger.facts.canonical import Plain, canonical, together
from ledger.facts.cluster import Labels, NodeUpserted
from ledger.facts.policy import NamespaceScope
from ledger.facts.quota import QueueUpserted
from ledger.facts.workload import WorkloadUpserted
from ledger.reducers.past_use import bucket_of, factor_of
from ledger.reducers.rooms import takes_work
from ledger.reducers.tasks import (
    ANYWHERE,
    NO_USE,
    QueueNamespace,
    Tasks,
    Use,
    Vector,
    Where,
    used_with,
    where,
)
from ledger.reducers.world import World
from ledger.units import ClusterName, NodeName, Subject


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
    in_turn: Job
    """The same as the core finds it."""
    spelled: bytes
    """The same as the inputs of decisions spell it."""


class Pool(NamedTuple):
    """Where the jobs may go that are restricted alike."""

    name: PoolName
    inside: Mapping[ClusterName, Sequence[bool]]
    """Which nodes of a cluster; of one that is not named, none."""


@dataclass(frozen=True, slots=True)
class Contest:
    """Everything that one round is decided from."""

    total: Mapping[Resource, int]
    queues: tuple[Queue, ...]
    jobs: Mapping[Subject, Contender]
    """In the order of their names."""
    nodes: Mapping[ClusterName, Nodes]
    """By cluster, in the order of their names."""
    pools: tuple[Pool, ...]
    ground: Ground
    """The same nodes and pools as the core finds them."""
    used: Mapping[QueueNamespace, Use]
    """By whatever runs, in known queues."""
    used_in: Mapping[str, Use]
    """By whatever runs in a known queue."""
    weights: Mapping[NamespaceName, int]
    """Of the namespaces that want something."""
    charges: Charges
    """What past use counts for, of the namespaces that want something; who is charged nothing is not
    listed."""


def read(world: World) -> Contest:
    """What a round would be decided from now."""
    jobs = world.jobs
    queues = tuple(_queue(world, name) for name in sorted(jobs.queues))
    pools: dict[Where, PoolName] = {}
    contenders = _contenders(world, pools)
    nodes = {
        cluster: spare.nodes(world, cluster)
        for cluster in sorted(world.clusters)
        if takes_work(world, cluster)
    }
    inside = tuple(_pool(world, nodes, told, name) for told, name in pools.items())
    total = dict.fromkeys(RESOURCES, 0)
    for one in nodes.values():
        for resource, column in one.plot.amounts.items():
            total[resource] += column.total
    # In no order: looked up by key only.
    used_in = {queue: use for queue, use in jobs.used_in.items() if queue in jobs.queues}
    for use in used_in.values():
        total[CPU] += use.cpu
        total[MEMORY] += use.memory
        total[STORAGE] += use.storage
    used: Mapping[QueueNamespace, Use] = jobs.used
    if len(used_in) < len(jobs.used_in):
        used = {key: use for key, use in used.items() if key.queue in jobs.queues}
    namespaces = {job.tasks.namespace for job in contenders.values()}
    return Contest(
        total=total,
        queues=queues,
        jobs=contenders,
        nodes=nodes,
        pools=inside,
        ground=_ground(nodes, inside),
        used=used,
        used_in=used_in,
        weights={NamespaceName(name): jobs.weight(name) for name in sorted(namespaces)},
        charges=_charges(world, contenders.values()),
    )


def _contenders(world: World, pools: dict[Where, PoolName]) -> dict[Subject, Contender]:
    """The jobs with tasks that wait in known queues, by name, and the pools that they are in.

    Most of them waited before, and as they do now: those are taken from the last round.
    """
    jobs = world.jobs
    before: Mapping[Subject, Contender] = jobs.kept.contenders
    contenders: dict[Subject, Contender] = {}
    for subject in sorted(
        subject for name in jobs.queues for subject in jobs.waiting.get(name, ())
    ):
        fact, tasks = world.workload(subject), jobs.of[subject]
        assert fact is not None, f"{subject} has tasks and is not there"
        one = before.get(subject)
        if (
            one is None
            or one.fact is not fact
            or one.tasks is not tasks
            or one.created != jobs.created[subject]
        ):
            one = _contender(subject, fact, tasks, jobs.created[subject], pool_of(fact, pools))
        elif one.pool is not None and one.pool != (pool := pool_of(fact, pools)):
            one = _contender(subject, fact, tasks, one.created, pool)
        contenders[subject] = one
    jobs.kept.contenders = contenders
    return contenders


def _contender(
    subject: Subject, fact: WorkloadUpserted, tasks: Tasks, created: int, pool: PoolName | None
) -> Contender:
    request, waiting = takes(fact), tuple(tasks.waiting_indices)
    return Contender(
        subject=subject,
        fact=fact,
        tasks=tasks,
        request=request,
        waiting=waiting,
        created=created,
        pool=pool,
        in_turn=Job(
            name=JobName(subject),
            queue=QueueName(tasks.queue),
            tasks=Alike(waiting, amounts(request)),
            namespace=NamespaceName(tasks.namespace),
            gang_min=fact.gang_min,
            priority=fact.priority,
            seq=created,
            ready=len(tasks.running) + len(tasks.finished),
            held=amounts(tasks.held),
            pool=pool,
        ),
        spelled=canonical(
            [
                subject,
                tasks.queue,
                request,
                waiting,
                fact.gang_min,
                fact.priority,
                created,
                len(tasks.running),
                len(tasks.finished),
                tasks.held,
                pool,
            ]
        ),
    )


def weights(world: World, contest: Contest) -> dict[NamespaceName, int]:
    """Of the namespaces that hold or want something, by name."""
    named = {key.namespace for key in contest.used}
    named.update(contest.weights)
    return {NamespaceName(name): world.jobs.weight(name) for name in sorted(named)}


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


def running(contest: Contest, scope: NamespaceScope) -> list[Holding]:
    """What is held beside the jobs that take part, in order.

    Of a namespace that has none of them it is told with the others of its queue; one that has some
    only in other queues is told by itself where what it holds counts in all.
    """
    spaces = {QueueNamespace(job.tasks.queue, job.tasks.namespace) for job in contest.jobs.values()}
    if scope == "global":
        namespaces = {key.namespace for key in spaces}
        spaces = {key for key in contest.used if key.namespace in namespaces}
    named = {key: contest.used[key] for key in sorted(spaces) if key in contest.used}
    others = dict(contest.used_in)
    for key, use in named.items():
        others[key.queue] = _less(others[key.queue], use)
    for job in contest.jobs.values():
        if job.tasks.held != NO_USE:
            key = QueueNamespace(job.tasks.queue, job.tasks.namespace)
            named[key] = _less(named[key], job.tasks.held)
    return [
        *(
            Holding(QueueName(key.queue), NamespaceName(key.namespace), amounts(use))
            for key, use in named.items()
            if use.tasks
        ),
        *(
            Holding(QueueName(queue), None, amounts(others[queue]))
            for queue in sorted(others)
            if others[queue].tasks
        ),
    ]


def _less(use: Use, held: Use) -> Use:
    return Use(*(one - other for one, other in zip(use, held, strict=True)))


def in_turn(contest: Contest) -> list[Job]:
    """The jobs as they wait for their turns."""
    return [job.in_turn for job in contest.jobs.values()]


def pool_of(fact: WorkloadUpserted, pools: dict[Where, PoolName]) -> PoolName | None:
    """The pool of a job, numbered as they are met; None where it may go to every node."""
    told = where(fact)
    if told == ANYWHERE:
        return None
    return pools.setdefault(told, PoolName(str(len(pools))))


def spelled(world: World, contest: Contest) -> bytes:
    """The contest as a part of what a decision's ``inputs`` digests."""
    told: dict[str, Plain] = {
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
        "used": [[*key, *contest.used[key]] for key in sorted(contest.used)],
        "weights": [[name, weight] for name, weight in weights(world, contest).items()],
    }
    if contest.charges:
        told["charges"] = [[*key, _plain(contest.charges[key])] for key in sorted(contest.charges)]
    members = {name: canonical(value) for name, value in told.items()}
    jobs = b",".join([job.spelled for job in contest.jobs.values()])
    return together({**members, "jobs": b"[%b]" % jobs, "nodes": _nodes_spelled(contest)})


def _nodes_spelled(contest: Contest) -> bytes:
    """Each node with its name, what it has free, and the pools it is in."""
    texts: list[str] = []
    for cluster, nodes in contest.nodes.items():
        pools = sorted(
            (pool.name, pool.inside[cluster]) for pool in contest.pools if cluster in pool.inside
        )
        if not pools:
            if len(nodes.plot):
                texts.append(nodes.spelled.without_pools)
            continue
        ends: dict[tuple[bool, ...], str] = {}
        for text, *inside in zip(nodes.spelled.each, *(there for _, there in pools), strict=True):
            key = tuple(inside)
            if key not in ends:
                among = [name for (name, _), is_in in zip(pools, key, strict=True) if is_in]
                ends[key] = f"{canonical(among).decode()}]"
            texts.append(text + ends[key])
    return f"[{','.join(texts)}]".encode()


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


def _charges(world: World, jobs: Iterable[Contender]) -> Charges:
    """What past use counts for, in the queues in which it does for somebody in line."""
    known, history = world.jobs, world.policy.fairshare.history
    if history is None:
        return {}
    per_queue = world.policy.fairshare.scope == "per_queue"
    in_line = {(job.tasks.queue if per_queue else "", job.tasks.namespace) for job in jobs}
    past: dict[tuple[QueueName, NamespaceName], PastUse] = {}
    for key in sorted(known.past):
        counts = (key.queue if per_queue else "", key.namespace) in in_line
        if counts and key.queue in known.queues:
            kept, use = known.past[key], known.used.get(key, NO_USE)
            past[QueueName(key.queue), NamespaceName(key.namespace)] = PastUse(
                at=kept.at,
                held=amounts(use),
                spent=_named(kept.spent),
                means=_named(kept.means),
                penalty=_named(kept.penalty),
            )
    policy = DecayPolicy(
        bucket=bucket_of(history),
        factor=factor_of(history),
        weight=history.past_weight,
        entry_penalty=history.entry_penalty,
    )
    rules = versions.fairshare(world.policy.algorithms.fairshare)
    charged = rules.charges(past, world.now, policy)
    counted = {
        key: {name: amount for name, amount in told.items() if amount}
        for key, told in charged.items()
    }
    return {key: told for key, told in counted.items() if told}


def _named(vector: Vector) -> dict[Resource, int]:
    return dict(zip(RESOURCES, vector, strict=True))


def _sizes(volumes: tuple[str, ...]) -> int:
    try:
        return sum(volume.size for volume in volume_requests(volumes))
    except InvalidRequest:
        return 0


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


def _ground(by_cluster: Mapping[ClusterName, Nodes], pools: Sequence[Pool]) -> Ground:
    """The nodes as the core finds them."""
    # In the order of cluster/node, which that of the clusters alone is not.
    clusters = sorted(by_cluster, key=lambda cluster: f"{cluster}/")
    return Ground(
        [by_cluster[cluster].plot for cluster in clusters],
        {pool.name: [pool.inside.get(cluster, ()) for cluster in clusters] for pool in pools},
    )


def _pool(world: World, nodes: Mapping[ClusterName, Nodes], told: Where, name: PoolName) -> Pool:
    """Where tasks may go that are restricted like this."""
    return Pool(
        name,
        {
            cluster: [
                told.takes_node(_labels(world, node)) if told.node_selector else True
                for node in there.plot.names.all
            ]
            for cluster, there in nodes.items()
            if told.takes_cluster(cluster, world.clusters[cluster].labels)
        },
    )


def _labels(world: World, node: NodeName) -> Labels:
    fact = world.objects.fact("node", Subject(node))
    assert isinstance(fact, NodeUpserted), f"{node} has room and is not there"
    return fact.labels
