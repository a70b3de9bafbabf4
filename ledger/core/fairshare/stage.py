"""Who holds what where, while evictions are tried: every change can be taken back.

The stage knows of each task what it is doing and on which node, and keeps the sums that follow:
what queues, namespaces, jobs and nodes hold, and how many tasks of each job are ready, pipelined
or best-effort and waiting. Evicting a task frees what it holds at once; pipelining one takes room
and counts as use before it runs.

A task of an unknown job, or of a job in an unknown queue, holds room on its node and counts nowhere
else.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from ledger.core.fairshare.deserved import Deserved, QueueClaim, deserve
from ledger.core.fairshare.gang import HOLDING, READY, GangState, TaskStatus, gang_state
from ledger.core.fairshare.orders import (
    JOB_ORDER,
    Comparable,
    ShareOfTotal,
    Victim,
    eviction_order,
    job_key,
    shares_of_deserved,
)
from ledger.core.fairshare.queues import Queue, require_queues, require_weight
from ledger.core.fairshare.resources import (
    DEFAULT_NAMESPACE,
    Amounts,
    JobName,
    NamespaceName,
    QueueName,
    Resource,
    TaskName,
    added,
    along,
)
from ledger.core.fairshare.room import Ground, Needs, Node, PoolName, Room, asked, require_nodes
from ledger.core.fairshare.victims import Holdings, JobCount, Party, Voter, require_voters
from ledger.core.shares import require_count, require_counts, require_distinct
from ledger.units import NodeName


@dataclass(frozen=True, slots=True)
class GangJob:
    """A job; ``seq`` is the place in the log of the event that made it."""

    name: JobName
    queue: QueueName
    namespace: NamespaceName = DEFAULT_NAMESPACE
    gang_min: int = 1
    priority: int = 0
    seq: int = 0
    priority_class: str = ""
    pool: PoolName | None = None
    """The only nodes its tasks may go to; None: to all."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task and what it is doing. One that ``never_preempts`` has nobody evicted for it."""

    name: TaskName
    job: JobName
    request: Amounts = field(default_factory=dict)
    status: TaskStatus = "pending"
    node: NodeName | None = None
    preemptable: bool = False
    never_preempts: bool = False
    priority: int = 0
    index: int = 0
    seq: int = 0
    priority_class: str = ""


@dataclass(frozen=True, slots=True)
class Scene:
    """All that preempt and reclaim read.

    ``total`` is what shares are parts of; None stands for what the nodes have together. Voters are
    those of the action if none are named. ``deserved`` is taken as it stands for the queues it
    names. ``shared`` is how the total was shared out, where that was settled before. A namespace
    without a weight weighs 1.
    """

    queues: Sequence[Queue]
    jobs: Sequence[GangJob]
    nodes: Collection[Node]
    tasks: Sequence[Task]
    weights: Mapping[NamespaceName, int] = field(default_factory=dict)
    voters: Sequence[Voter] | None = None
    deserved: Mapping[QueueName, Amounts] = field(default_factory=dict)
    total: Amounts | None = None
    shared: Deserved | None = None
    most_tasks: int | None = None
    """How many may get places; a gang that needs more still gets them if it is the first to ask
    and ``first_is_free``."""
    first_is_free: bool = True


_WAITING: Final[tuple[TaskStatus, ...]] = ("pending",)

Holder = tuple[QueueName, NamespaceName]
Change = tuple[TaskName, TaskStatus, NodeName | None]
"""A task, with what it did and where before it was changed."""


class Stage:
    """The scene while it changes."""

    def __init__(self, scene: Scene) -> None:
        _require_valid(scene)
        self.queues = {queue.name: queue for queue in scene.queues}
        self.jobs = {
            job.name: job
            for job in sorted(scene.jobs, key=lambda job: job.name)
            if job.queue in self.queues
        }
        self.strangers = [job for job in scene.jobs if job.queue not in self.queues]
        self.weights = scene.weights
        self.most_tasks = scene.most_tasks
        self.first_is_free = scene.first_is_free
        self._tasks = {task.name: task for task in scene.tasks}
        self.tasks_of: dict[JobName, list[Task]] = {job.name: [] for job in scene.jobs}
        for task in scene.tasks:
            self.tasks_of.setdefault(task.job, []).append(task)

        total = _together(scene.nodes) if scene.total is None else scene.total
        self.shared = self._share_out(total) if scene.shared is None else scene.shared
        self.resources = tuple(self.shared.resources)
        self.deserved = {name: self._deserved_by(name, scene) for name in self.shared.queues}
        self.measures = shares_of_deserved(
            {name: list(parts.values()) for name, parts in self.deserved.items()}
        )
        self.of_total = ShareOfTotal(
            along(self.resources, total), max(scene.weights.values(), default=1)
        )
        pools = {job.name: job.pool for job in scene.jobs}
        self.room = Room(
            scene.nodes,
            self.resources,
            pools=(pool for pool in pools.values() if pool is not None),
        )
        self._places = {name: place for place, name in enumerate(self.room.names)}

        size = len(self.resources)
        self._status: dict[TaskName, TaskStatus] = {}
        self._node: dict[TaskName, NodeName | None] = {}
        self.queue_used = {queue: [0] * size for queue in self.shared.queues}
        self.namespace_used: dict[Holder, list[int]] = {
            (job.queue, job.namespace): [0] * size for job in self.jobs.values()
        }
        self.job_used = {job: [0] * size for job in self.jobs}
        self._counts: dict[JobName, dict[TaskStatus, int]] = {job: {} for job in self.jobs}
        self._best_effort = dict.fromkeys(self.jobs, 0)
        self._asked: dict[TaskName, Needs] = {}
        self._needs: dict[TaskName, Needs] = {}
        for task in scene.tasks:
            vector = along(self.resources, task.request)
            self._asked[task.name] = asked(vector)
            self._needs[task.name] = self.room.needs(vector, pools.get(task.job))
            self._enter(task, task.status, task.node)
        self._changes: list[Change] = []

        self._standing = self._by_node_and_queue()

    def party(self, task: Task) -> Party:
        """The task as voters see it."""
        job = self.jobs[task.job]
        return Party(
            task=task.name,
            job=job.name,
            queue=job.queue,
            namespace=job.namespace,
            request=along(self.resources, task.request),
            job_priority=job.priority,
            priority_class=task.priority_class or job.priority_class,
        )

    def needs(self, task: Task) -> Needs:
        """What the task needs of a node."""
        return self._needs[task.name]

    def is_best_effort(self, task: Task) -> bool:
        """Whether it asks for nothing but a slot."""
        return not self._asked[task.name]

    def beyond(self, task: Task) -> int | None:
        """The first resource of which the queue would hold more than it deserves with the task."""
        queue = self.jobs[task.job].queue
        return self.measures[queue].first_beyond(self.queue_used[queue], self._asked[task.name])

    def state(self, job: JobName) -> GangState:
        """Where the job stands."""
        return gang_state(self.jobs[job].gang_min, self._counts[job], self._best_effort[job])

    def count(self, job: JobName, statuses: Collection[TaskStatus]) -> int:
        """How many tasks of the job are in one of these statuses."""
        return sum(count for status, count in self._counts[job].items() if status in statuses)

    def gangs(self, candidates: Sequence[Party]) -> dict[JobName, JobCount]:
        """The jobs of these candidates, as the gang voter counts them."""
        names = dict.fromkeys(candidate.job for candidate in candidates)
        return {name: JobCount(self.count(name, READY), self.jobs[name].gang_min) for name in names}

    def holdings(self, taker: Party, candidates: Sequence[Party]) -> Holdings:
        """What those who take part in a vote hold."""
        parties = (taker, *candidates)
        return Holdings(
            namespaces={
                (party.queue, party.namespace): self.namespace_used[party.queue, party.namespace]
                for party in parties
            },
            jobs={party.job: self.job_used[party.job] for party in parties},
            queues={party.queue: self.queue_used[party.queue] for party in parties},
        )

    def pending(self, job: JobName) -> list[Task]:
        """The waiting tasks of the job, in their order."""
        waiting = [task for task in self.tasks_of[job] if self._status[task.name] == "pending"]
        return sorted(waiting, key=lambda task: (-task.priority, task.index, task.seq, task.name))

    def does(self, task: Task, statuses: Collection[TaskStatus]) -> bool:
        """Whether the task is in one of these statuses."""
        return self._status[task.name] in statuses

    def standing(self, place: int, queue: QueueName, statuses: Sequence[TaskStatus]) -> list[Task]:
        """The preemptable tasks of a queue on a node, in the order of evictions."""
        here = self._standing.get(self.room.name(place), {}).get(queue, [])
        return [task for task in here if self._status[task.name] in statuses]

    def queues_on(self, place: int) -> list[QueueName]:
        """The queues that have preemptable tasks on a node, in no order that may matter."""
        return list(self._standing.get(self.room.name(place), {}))

    def queue_order(self) -> list[QueueName]:
        """The queues that take part, as they stand now."""

        def key(name: QueueName) -> Comparable:
            queue = self.queues[name]
            share = self.measures[name].key(self.queue_used[name])
            return (-queue.priority, share, queue.seq, name)

        return sorted(self.shared.queues, key=key)

    def starving(self) -> dict[QueueName, list[GangJob]]:
        """The jobs that lack tasks and have some that wait, queue by queue, in the order of jobs."""

        def key(job: GangJob) -> Comparable:
            return job_key(
                JOB_ORDER,
                job.name,
                priority=job.priority,
                ready=self.state(job.name).ready,
                share=self.of_total.key(self.job_used[job.name]),
                seq=job.seq,
            )

        found: dict[QueueName, list[GangJob]] = {queue: [] for queue in self.shared.queues}
        for job in self.jobs.values():
            if self.state(job.name).starving and self.count(job.name, _WAITING):
                found[job.queue].append(job)
        return {queue: sorted(jobs, key=key) for queue, jobs in found.items()}

    def evict(self, task: Task) -> None:
        """Free what the task holds."""
        self._change(task, "releasing", self._node[task.name])

    def pipeline(self, task: Task, place: int) -> None:
        """Have the task take this node's room."""
        self._change(task, "pipelined", self.room.name(place))

    def mark(self) -> int:
        """A point to return to."""
        return len(self._changes)

    def undo(self, mark: int) -> None:
        """Take back all changes since the mark."""
        while len(self._changes) > mark:
            name, status, node = self._changes.pop()
            task = self._tasks[name]
            self._leave(task)
            self._enter(task, status, node)

    def _change(self, task: Task, status: TaskStatus, node: NodeName | None) -> None:
        self._changes.append((task.name, self._status[task.name], self._node[task.name]))
        self._leave(task)
        self._enter(task, status, node)

    def _enter(self, task: Task, status: TaskStatus, node: NodeName | None) -> None:
        self._status[task.name] = status
        self._node[task.name] = node
        self._count(task, 1)

    def _leave(self, task: Task) -> None:
        self._count(task, -1)

    def _count(self, task: Task, sign: int) -> None:
        status, node = self._status[task.name], self._node[task.name]
        needs = self._needs[task.name]
        if status in HOLDING and node in self._places:
            if sign > 0:
                self.room.take(needs, self._places[node])
            else:
                self.room.give_back(needs, self._places[node])
        job = self.jobs.get(task.job)
        if job is None:
            return
        counts = self._counts[job.name]
        counts[status] = counts.get(status, 0) + sign
        if status == "pending" and not self._asked[task.name]:
            self._best_effort[job.name] += sign
        if status in HOLDING:
            for place, amount in self._asked[task.name]:
                self.queue_used[job.queue][place] += sign * amount
                self.namespace_used[job.queue, job.namespace][place] += sign * amount
                self.job_used[job.name][place] += sign * amount

    def _share_out(self, total: Amounts) -> Deserved:
        """What queues with a job deserve, by all that their jobs hold and wait for."""
        requests: dict[QueueName, list[Amounts]] = {job.queue: [] for job in self.jobs.values()}
        for job in self.jobs.values():
            requests[job.queue].extend(
                task.request
                for task in self.tasks_of[job.name]
                if task.status == "pending" or task.status in HOLDING
            )
        claims = [QueueClaim(self.queues[name], added(requests[name])) for name in sorted(requests)]
        return deserve(total, claims)

    def _deserved_by(self, name: QueueName, scene: Scene) -> dict[Resource, Fraction]:
        given = scene.deserved.get(name)
        if given is None:
            return self.shared.of(name)
        return {resource: Fraction(given.get(resource, 0)) for resource in self.resources}

    def _by_node_and_queue(self) -> dict[NodeName, dict[QueueName, list[Task]]]:
        """All tasks that could ever have to go, in the order of evictions."""
        victims = [
            Victim(task.name, job.priority, task.priority, task.seq)
            for job in self.jobs.values()
            for task in self.tasks_of[job.name]
            if task.preemptable
        ]
        found: dict[NodeName, dict[QueueName, list[Task]]] = {}
        for victim in eviction_order(victims):
            task = self._tasks[victim.name]
            if task.node in self._places:
                queue = self.jobs[task.job].queue
                found.setdefault(task.node, {}).setdefault(queue, []).append(task)
        return found


def _together(nodes: Collection[Node]) -> Amounts:
    """What nodes have together."""
    if isinstance(nodes, Ground):
        return added(
            {resource: column.total for resource, column in plot.amounts.items()}
            for plot in nodes.plots
        )
    return added(node.amounts for node in nodes)


def _require_valid(scene: Scene) -> None:
    require_queues(scene.queues)
    require_nodes(scene.nodes)
    require_distinct("job", (job.name for job in scene.jobs))
    for job in scene.jobs:
        require_count(f"job {job.name}: gang_min", job.gang_min)
    require_distinct("task", (task.name for task in scene.tasks))
    for task in scene.tasks:
        require_counts(f"task {task.name}", task.request)
    for namespace in sorted(scene.weights):
        require_weight(f"namespace {namespace}", scene.weights[namespace])
    for queue, amounts in scene.deserved.items():
        require_counts(f"queue {queue}: deserved", amounts)
    if scene.voters is not None:
        require_voters(scene.voters)
