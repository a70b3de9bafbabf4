"""The allocate round: waiting tasks get places, a turn at a time, until nobody can take one.

Each turn goes to the queue that holds the smallest part of what it deserves; in it to the namespace
with the smallest weighted share there; in it to the first job. The job places its tasks in order:
in its first turn as many as its gang needs, in later ones a single task. So the smallest is raised
again and again, which is how water fills vessels, only in drops the size of tasks.

A task that would take its queue beyond what it deserves is passed over. One that no node has room
for ends the turn. A job that ends its turn without its gang gives all places back and is out; a
job that got nothing is out; a queue that has all it deserves is out. What was given back is there
for the next.

Queues, namespaces and jobs stand in heaps. A turn changes the shares of those it went to and of
nobody else, and they return to their heaps only afterwards, so no heap ever holds a stale share.
The exception is the *global* scope, in which a namespace has one share for all queues: there it may
have risen meanwhile, but never fallen, and whoever is found first goes back in line with its present
share until one is found that is first with it.

How many tasks one round may place can be bounded. The round then ends before the turn that would
exceed the bound; a gang larger than the bound has a round for itself.

Evicting tasks to make room is ``ledger.core.fairshare.eviction``, past use as a charge on top of
what a namespace holds is ``ledger.core.fairshare.decay``.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from heapq import heapify, heappop, heappush, heapreplace
from operator import ge
from typing import Literal, NamedTuple, get_args

from ledger.core.fairshare.deserved import Deserved, QueueClaim, shared_out
from ledger.core.fairshare.orders import (
    JOB_ORDER,
    Comparable,
    JobRank,
    ShareOfDeserved,
    ShareOfTotal,
    job_key,
    require_job_order,
    shares_of_deserved,
)
from ledger.core.fairshare.queues import Queue, require_queues, require_weight
from ledger.core.fairshare.reasons import (
    GangShort,
    JobBehind,
    Loser,
    NamespaceBehind,
    NodeFit,
    QueueClosed,
    QueueLimit,
    QueueOverused,
    Reason,
    RoundFull,
    Standing,
    TooFewTasks,
    UnknownQueue,
)
from ledger.core.fairshare.resources import (
    DEFAULT_NAMESPACE,
    Amounts,
    JobName,
    NamespaceName,
    QueueName,
    Resource,
    Vector,
    added,
    along,
    named,
)
from ledger.core.fairshare.room import Needs, Node, PoolName, Room, asked, require_nodes
from ledger.core.shares import require_count, require_counts, require_distinct
from ledger.errors import InvalidRequest
from ledger.units import NodeName


@dataclass(frozen=True, slots=True)
class WaitingTask:
    """A task that has no place yet."""

    index: int
    request: Amounts
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Alike:
    """Waiting tasks that all ask for the same and are equally important."""

    indices: Sequence[int]
    """In order."""
    request: Amounts

    def __len__(self) -> int:
        """How many there are."""
        return len(self.indices)

    def __contains__(self, task: object) -> bool:
        """Whether this is one of them."""
        return task in [*self]

    def __iter__(self) -> Iterator[WaitingTask]:
        """Each by itself."""
        for index in self.indices:
            yield WaitingTask(index, self.request)


@dataclass(frozen=True, slots=True)
class Job:
    """A job with its waiting tasks; ``seq`` is the place in the log of the event that made it.

    ``ready`` of its tasks have a place or are done. What they hold is ``held``; it counts in the
    job, its namespace and its queue, and is not to be told again as a ``Holding``.
    """

    name: JobName
    queue: QueueName
    tasks: Collection[WaitingTask]
    namespace: NamespaceName = DEFAULT_NAMESPACE
    gang_min: int = 1
    priority: int = 0
    seq: int = 0
    ready: int = 0
    held: Amounts = field(default_factory=dict)
    pool: PoolName | None = None
    """The only nodes its tasks may go to; None: to all."""


@dataclass(frozen=True, slots=True)
class Holding:
    """What a namespace holds in a queue besides the jobs of the round.

    Without a name it is what several hold together that have no job in it.
    """

    queue: QueueName
    namespace: NamespaceName | None
    amounts: Amounts


Scope = Literal["per_queue", "global"]
"""Where what a namespace holds counts when namespaces are compared: in its queue, or in all."""

Charges = Mapping[tuple[QueueName, NamespaceName], Amounts]
"""What is counted on top of what a namespace holds in a queue, in the order of namespaces only."""


@dataclass(frozen=True, slots=True)
class RoundQuestion:
    """All that a round reads.

    ``total`` is what shares are parts of, ``nodes`` have what is free. ``deserved`` is taken as it
    stands for the queues it names; a resource it does not name is 0, and one that nobody asks for
    and nobody has means nothing. A namespace without a weight weighs 1.
    """

    total: Amounts
    queues: Sequence[Queue]
    jobs: Sequence[Job]
    nodes: Collection[Node]
    running: Sequence[Holding] = ()
    weights: Mapping[NamespaceName, int] = field(default_factory=dict)
    deserved: Mapping[QueueName, Amounts] = field(default_factory=dict)
    charges: Charges = field(default_factory=dict)
    job_order: Sequence[JobRank] = JOB_ORDER
    max_tasks: int | None = None
    scope: Scope = "per_queue"
    tells_behind: bool = True
    """Whether losers are told who stood before them; nothing is decided by it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn in which tasks were placed, and why it was this job's: all shares are from before it.

    ``queue_share`` is the part of what the queue deserves, ``namespace_share`` is per weight.
    """

    queue: QueueName
    namespace: NamespaceName
    job: JobName
    queue_share: Fraction
    namespace_share: Fraction
    standing: Standing
    places: tuple[tuple[int, NodeName], ...]


@dataclass(frozen=True, slots=True)
class Round:
    """What came of a round.

    ``shared`` tells how the total was shared out, ``deserved`` what counted in the end, each for
    the queues with a job or a holding. ``used`` is what namespaces hold in queues afterwards, as far
    as they are named.
    Losers are in the order of their names.
    """

    shared: Deserved
    deserved: Mapping[QueueName, Mapping[Resource, Fraction]]
    turns: tuple[Turn, ...]
    used: Mapping[tuple[QueueName, NamespaceName], Mapping[Resource, int]]
    losers: tuple[Loser, ...]

    @property
    def places(self) -> Iterator[tuple[JobName, int, NodeName]]:
        """Each placed task, in the order of placing: its job, its index, its node."""
        for turn in self.turns:
            for index, node in turn.places:
                yield turn.job, index, node


def allocate(question: RoundQuestion) -> Round:
    """Play one round."""
    _require_valid(question)
    play = _Play(question)
    played = play.play()
    play.over()
    return played


class _Task(NamedTuple):
    """A waiting task along the resources of the round."""

    number: int
    vector: Vector
    asked: Needs
    needs: Needs


class _Line:
    """A job in line."""

    __slots__ = (
        *("at", "best_effort", "count", "gang_short", "indices", "job", "last_obstacle"),
        *("obstacle", "placed", "ready", "share", "tasks", "used"),
    )

    def __init__(
        self,
        job: Job,
        tasks: list[_Task],
        indices: Sequence[int] | None,
        used: list[int],
        share: "_Share",
    ) -> None:
        self.job = job
        self.tasks = tasks
        self.indices = indices
        """Of tasks that are all like the first; None where each is told."""
        self.count = len(tasks) if indices is None else len(indices)
        self.used = used
        self.share = share
        self.at = 0
        self.placed = 0
        self.ready = job.ready
        if indices is None:
            self.best_effort = sum(1 for task in tasks if not task.asked)
        else:
            self.best_effort = 0 if tasks[0].asked else self.count
        self.obstacle: QueueLimit | NodeFit | None = None
        self.last_obstacle: QueueLimit | NodeFit | None = None
        self.gang_short: GangShort | None = None

    def is_ready(self) -> bool:
        return self.ready + self.best_effort >= self.job.gang_min

    def next_task(self) -> _Task:
        """The task at which the line stands."""
        if self.indices is None:
            return self.tasks[self.at]
        return self.tasks[0]._replace(number=self.indices[self.at])

    def alike_from_here(self) -> int:
        """How many of the tasks from there on are sure to meet what the first of them meets."""
        return 1 if self.indices is None else self.count - self.at

    def at_most_now(self) -> int:
        """How many tasks the next turn can place."""
        return 1 if self.is_ready() else self.job.gang_min - self.ready


class _Share:
    """A namespace in a queue.

    What it is charged is part of ``counted``; in the global scope its shares in all queues have this
    in common.
    """

    __slots__ = ("counted", "lines", "name", "used", "weight")

    def __init__(self, name: NamespaceName, weight: int, counted: list[int]) -> None:
        self.name = name
        self.weight = weight
        self.counted = counted
        self.used = [0] * len(counted)
        self.lines: list[tuple[Comparable, _Line]] = []


@dataclass(frozen=True, slots=True)
class _Served:
    """Who had the last turn of a queue in which something was placed, as it stood before."""

    share: _Share
    line: _Line
    weighted: Fraction
    standing: Standing


class _QueueLine:
    """A queue in the round."""

    __slots__ = ("lines", "measure", "namespaces", "queue", "served", "shares", "used")

    def __init__(self, queue: Queue, measure: ShareOfDeserved, used: list[int]) -> None:
        self.queue = queue
        self.measure = measure
        self.used = used
        self.lines: list[_Line] = []
        self.shares: dict[NamespaceName, _Share] = {}
        self.namespaces: list[tuple[int, NamespaceName]] = []
        self.served: _Served | None = None


class _Play:
    """One round while it is played."""

    def __init__(self, question: RoundQuestion) -> None:
        self._question = question
        known = {queue.name: queue for queue in question.queues}
        self._jobs = sorted(question.jobs, key=lambda job: job.name)
        jobs = [job for job in self._jobs if job.queue in known]
        running = [holding for holding in question.running if holding.queue in known]

        requests = _requests(jobs, running)
        claims = [QueueClaim(known[name], requests[name]) for name in sorted(requests)]
        self._shared = shared_out(question.total, claims)
        self._resources = tuple(self._shared.resources)
        self._deserved = {name: self._deserved_by(name) for name in self._shared.queues}
        parts = {name: list(deserved.values()) for name, deserved in self._deserved.items()}
        measures = shares_of_deserved(parts)

        weights = question.weights
        self._of_total = ShareOfTotal(
            along(self._resources, question.total), max(weights.values(), default=1)
        )
        self._room = Room(
            question.nodes,
            self._resources,
            pools=(job.pool for job in jobs if job.pool is not None),
        )
        self._firsts: dict[tuple[Vector, PoolName | None], _Task] = {}
        self._nothing = (0,) * len(self._resources)
        self._queues = {
            name: _QueueLine(known[name], measures[name], [0] * len(self._resources))
            for name in self._shared.queues
        }
        self._everywhere: dict[NamespaceName, list[int]] = {}
        for holding in running:
            held = along(self._resources, holding.amounts)
            if holding.namespace is None:
                _add(self._queues[holding.queue].used, held)
            else:
                self._hold(holding.queue, holding.namespace, held)
        self._lines = {job.name: self._line(job) for job in jobs}
        self._turns: list[Turn] = []
        self._overused: Mapping[QueueName, QueueOverused | None] = {}
        self._placed = 0
        # What nodes lack for what is needed, as long as nothing more has been placed.
        self._lacking: dict[tuple[tuple[int, int], ...], Mapping[Resource, int]] = {}
        self._lacking_at = 0

    def play(self) -> Round:
        """Take turns until nobody can take one."""
        queues = [
            (*self._queue_key(queue), queue)
            for queue in self._queues.values()
            if self._gather(queue)
        ]
        heapify(queues)
        full = False
        while queues:
            queue = heappop(queues)[-1]
            if not queue.namespaces or queue.measure.is_overused(queue.used):
                continue
            share = self._first_share(queue)
            line = share.lines[0][-1]
            full = self._is_full(line)
            if full:
                break
            heappop(queue.namespaces)
            heappop(share.lines)
            if self._turn(queue, share, line) and line.at < line.count:
                heappush(share.lines, (self._job_key(line), line))
            if share.lines:
                heappush(queue.namespaces, (self._namespace_key(share), share.name))
            heappush(queues, (*self._queue_key(queue), queue))
        return Round(
            shared=self._shared,
            deserved=self._deserved,
            turns=tuple(self._turns),
            used={
                (queue, name): named(self._resources, share.used)
                for queue, queue_line in self._queues.items()
                for name, share in sorted(queue_line.shares.items())
            },
            losers=tuple(self._losers(full=full)),
        )

    def over(self) -> None:
        """Nobody is in line any more.

        A job in line and its namespace name each other; that alone would keep all of a round in
        memory until a search for garbage finds it.
        """
        for queue in self._queues.values():
            for share in queue.shares.values():
                share.lines.clear()

    def _deserved_by(self, name: QueueName) -> dict[Resource, Fraction]:
        given = self._question.deserved.get(name)
        if given is None:
            return self._shared.of(name)
        return {resource: Fraction(given.get(resource, 0)) for resource in self._resources}

    def _hold(self, queue: QueueName, namespace: NamespaceName, vector: Vector) -> _Share:
        """The namespace in the queue, with this much more held by both."""
        line = self._queues[queue]
        share = line.shares.get(namespace)
        if share is None:
            weight = self._question.weights.get(namespace, 1)
            share = _Share(namespace, weight, self._counted(queue, namespace))
            line.shares[namespace] = share
        if any(vector):
            _add(line.used, vector)
            _add(share.used, vector)
            _add(share.counted, vector)
        return share

    def _counted(self, queue: QueueName, namespace: NamespaceName) -> list[int]:
        """What a namespace begins with in a queue, of its own or one for all."""
        charges = self._question.charges
        if self._question.scope == "per_queue":
            return list(along(self._resources, charges.get((queue, namespace), {})))
        counted = self._everywhere.get(namespace)
        if counted is None:
            in_each = [charges.get((queue.name, namespace), {}) for queue in self._question.queues]
            counted = list(along(self._resources, added(in_each)))
            self._everywhere[namespace] = counted
        return counted

    def _line(self, job: Job) -> _Line:
        held = along(self._resources, job.held) if job.held else self._nothing
        share = self._hold(job.queue, job.namespace, held)
        line = _Line(job, *self._tasks(job), list(held), share)
        self._queues[job.queue].lines.append(line)
        return line

    def _tasks(self, job: Job) -> tuple[list[_Task], Sequence[int] | None]:
        """The tasks of a job in their order; if they are alike, one of them and the indices."""
        if isinstance(job.tasks, Alike):
            return [self._task(job.tasks.request, job.pool)], job.tasks.indices
        ordered = sorted(job.tasks, key=lambda task: (-task.priority, task.index))
        return [
            self._task(task.request, job.pool)._replace(number=task.index) for task in ordered
        ], None

    def _task(self, request: Amounts, pool: PoolName | None) -> _Task:
        """A task that asks for this, numbered 0; many do."""
        vector = along(self._resources, request)
        known = self._firsts.get((vector, pool))
        if known is None:
            known = _Task(0, vector, asked(vector), self._room.needs(vector, pool))
            self._firsts[vector, pool] = known
        return known

    def _gather(self, queue: _QueueLine) -> bool:
        """Put the jobs of a queue in line that can be served at all; whether there are any."""
        if not queue.queue.is_open:
            return False
        for line in queue.lines:
            if line.count and _can_be_ready(line.job):
                line.share.lines.append((self._job_key(line), line))
        for share in queue.shares.values():
            if share.lines:
                heapify(share.lines)
                queue.namespaces.append((self._namespace_key(share), share.name))
        heapify(queue.namespaces)
        return bool(queue.namespaces)

    def _queue_key(self, line: _QueueLine) -> tuple[int, int, int, QueueName]:
        queue = line.queue
        return (-queue.priority, line.measure.key(line.used), queue.seq, queue.name)

    def _first_share(self, queue: _QueueLine) -> _Share:
        """The namespace that is first in line with what it holds now."""
        line = queue.namespaces
        while True:
            key, name = line[0]
            share = queue.shares[name]
            if self._question.scope == "per_queue" or key == self._namespace_key(share):
                return share
            heapreplace(line, (self._namespace_key(share), name))

    def _namespace_key(self, share: _Share) -> int:
        return self._of_total.key(share.counted, share.weight)

    def _job_key(self, line: _Line) -> Comparable:
        job = line.job
        return job_key(
            self._question.job_order,
            job.name,
            priority=job.priority,
            ready=line.is_ready(),
            share=self._of_total.key(line.used),
            seq=job.seq,
        )

    def _is_full(self, line: _Line) -> bool:
        """Whether the next turn could exceed the bound; a round that placed nothing is never full."""
        bound = self._question.max_tasks
        return bound is not None and 0 < self._placed > bound - line.at_most_now()

    def _turn(self, queue: _QueueLine, share: _Share, line: _Line) -> bool:
        """Let the job place tasks; whether it did."""
        before = (tuple(queue.used), tuple(share.counted), tuple(line.used), line.is_ready())
        placed: list[tuple[_Task, int]] = []
        obstacle: QueueLimit | NodeFit | None = None
        beyond_limit = 0
        while line.at < line.count:
            task = line.next_task()
            beyond = queue.measure.first_beyond(queue.used, task.asked)
            if beyond is not None:
                # The queue gives nothing back before the round ends: this task need not come again.
                alike = line.alike_from_here()
                line.at += alike
                beyond_limit += alike
                obstacle = obstacle or self._limit(queue, task, beyond)
                continue
            node = self._room.first(task.needs)
            if node is None:
                obstacle = obstacle or self._no_fit(task, settled=not placed)
                break
            self._room.take(task.needs, node)
            _move(queue, share, line, task, 1)
            placed.append((task, node))
            line.at += 1
            if line.is_ready():
                break
        if isinstance(obstacle, QueueLimit):
            obstacle = replace(obstacle, tasks=beyond_limit)
        line.obstacle = line.obstacle or obstacle
        line.last_obstacle = obstacle

        if not line.is_ready():
            line.gang_short = GangShort(line.job.gang_min, line.ready)
            for task, node in placed:
                self._room.give_back(task.needs, node)
                _move(queue, share, line, task, -1)
            return False
        if placed:
            line.placed += len(placed)
            self._placed += len(placed)
            self._record(queue, share, line, before, placed)
        return bool(placed)

    def _record(
        self,
        queue: _QueueLine,
        share: _Share,
        line: _Line,
        before: tuple[Vector, Vector, Vector, bool],
        placed: Sequence[tuple[_Task, int]],
    ) -> None:
        queue_used, counted, job_used, ready = before
        job = line.job
        weighted = self._of_total.share(counted, share.weight)
        standing = Standing(job.priority, ready, self._of_total.share(job_used), job.seq)
        queue.served = _Served(share, line, weighted, standing)
        self._turns.append(
            Turn(
                queue=queue.queue.name,
                namespace=share.name,
                job=job.name,
                queue_share=queue.measure.share(queue_used),
                namespace_share=weighted,
                standing=standing,
                places=tuple((task.number, self._room.name(node)) for task, node in placed),
            )
        )

    def _limit(self, queue: _QueueLine, task: _Task, place: int) -> QueueLimit:
        resource = self._resources[place]
        return QueueLimit(
            task=task.number,
            resource=resource,
            deserved=self._deserved[queue.queue.name][resource],
            allocated=queue.used[place],
            request=task.vector[place],
            tasks=1,
        )

    def _no_fit(self, task: _Task, *, settled: bool) -> NodeFit:
        """Why no node fits; remembered while the room is ``settled`` and stays as it is."""
        if self._lacking_at != self._placed:
            self._lacking = {}
            self._lacking_at = self._placed
        needs = tuple(task.needs)
        lacking = self._lacking.get(needs) if settled else None
        if lacking is None:
            lacking = self._room.lacking(task.needs)
            if settled:
                self._lacking[needs] = lacking
        return NodeFit(task.number, len(self._room), lacking)

    def _losers(self, *, full: bool) -> Iterator[Loser]:
        """Who still waits, and why; nothing is placed any more."""
        self._overused = {name: self._overuse(queue) for name, queue in self._queues.items()}
        in_line = {
            line.job.name
            for queue in self._queues.values()
            for share in queue.shares.values()
            for _, line in share.lines
        }
        for job in self._jobs:
            line = self._lines.get(job.name)
            if line is None:
                if job.tasks:
                    yield Loser(job.name, len(job.tasks), (UnknownQueue(job.queue),))
                continue
            waiting = line.count - line.placed
            if waiting:
                reasons = self._reasons(line, in_line=job.name in in_line, full=full)
                yield Loser(job.name, waiting, tuple(reasons), line.last_obstacle)

    def _overuse(self, queue: _QueueLine) -> QueueOverused | None:
        """That a queue has all it deserves, if so."""
        if not queue.measure.is_overused(queue.used):
            return None
        name = queue.queue.name
        return QueueOverused(name, self._deserved[name], named(self._resources, queue.used))

    def _reasons(self, line: _Line, *, in_line: bool, full: bool) -> Iterator[Reason]:
        job = line.job
        queue = self._queues[job.queue]
        if not queue.queue.is_open:
            yield QueueClosed(job.queue)
            return
        if not _can_be_ready(job):
            yield TooFewTasks(job.gang_min, job.ready + len(job.tasks))
            return
        if line.gang_short is not None:
            yield line.gang_short
        if line.obstacle is not None:
            yield line.obstacle
        if not in_line:
            return
        overused = self._overused[job.queue]
        if overused is not None:
            yield overused
        elif full and self._question.max_tasks is not None:
            yield RoundFull(self._question.max_tasks, self._placed)
        if queue.served is not None and self._question.tells_behind:
            yield from self._behind(line, queue.served)

    def _behind(self, line: _Line, served: _Served) -> Iterator[Reason]:
        if served.share is not line.share:
            yield NamespaceBehind(
                winner=served.share.name,
                winner_share=served.weighted,
                share=self._of_total.share(line.share.counted, line.share.weight),
            )
        elif served.line is not line:
            job = line.job
            share = self._of_total.share(line.used)
            yield JobBehind(
                winner=served.line.job.name,
                winner_standing=served.standing,
                standing=Standing(job.priority, line.is_ready(), share, job.seq),
            )


def _requests(jobs: Sequence[Job], running: Sequence[Holding]) -> dict[QueueName, Amounts]:
    """All that is held and waited for in each queue that somebody is in."""
    requests: dict[QueueName, dict[Resource, int]] = {}
    for job in jobs:
        mine = requests.setdefault(job.queue, {})
        _add_to(mine, job.held)
        if isinstance(job.tasks, Alike):
            _add_to(mine, job.tasks.request, len(job.tasks))
        else:
            for task in job.tasks:
                _add_to(mine, task.request)
    for holding in running:
        _add_to(requests.setdefault(holding.queue, {}), holding.amounts)
    return dict(requests)


def _add_to(total: dict[Resource, int], amounts: Amounts, times: int = 1) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + times * amount


def _can_be_ready(job: Job) -> bool:
    return job.ready + len(job.tasks) >= job.gang_min


def _move(queue: _QueueLine, share: _Share, line: _Line, task: _Task, sign: int) -> None:
    """Have a task count in its queue, its namespace and its job, or no longer."""
    for place, amount in task.asked:
        more = sign * amount
        queue.used[place] += more
        share.used[place] += more
        share.counted[place] += more
        line.used[place] += more
    line.ready += sign
    if not task.asked:
        line.best_effort -= sign


def _add(used: list[int], vector: Vector) -> None:
    for place, amount in enumerate(vector):
        used[place] += amount


def _require_tasks(job: Job) -> None:
    tasks = job.tasks
    if isinstance(tasks, Alike):
        require_counts(f"job {job.name}: tasks", tasks.request)
        if any(map(ge, tasks.indices, tasks.indices[1:])):
            raise InvalidRequest("invalid_request", f"job {job.name}: tasks out of order")
        return
    if len({task.index for task in tasks}) < len(tasks):
        raise InvalidRequest("invalid_request", f"job {job.name}: one index for two tasks")
    for task in tasks:
        require_counts(f"job {job.name}: task {task.index}", task.request)


def _require_valid(question: RoundQuestion) -> None:
    require_counts("total", question.total)
    require_queues(question.queues)
    require_nodes(question.nodes)
    require_job_order(question.job_order)
    if question.scope not in get_args(Scope):
        raise InvalidRequest("invalid_request", f"scope: there is no {question.scope!r}")
    require_distinct("job", (job.name for job in question.jobs))
    for job in question.jobs:
        require_count(f"job {job.name}: gang_min", job.gang_min)
        require_count(f"job {job.name}: ready", job.ready)
        require_counts(f"job {job.name}: held", job.held)
        _require_tasks(job)
    for holding in question.running:
        require_counts(f"running in {holding.queue}", holding.amounts)
    for namespace in sorted(question.weights):
        require_weight(f"namespace {namespace}", question.weights[namespace])
    for queue, amounts in question.deserved.items():
        require_counts(f"queue {queue}: deserved", amounts)
    for amounts in question.charges.values():
        require_counts("charge", amounts)
    if question.max_tasks is not None:
        require_weight("max_tasks", question.max_tasks)
