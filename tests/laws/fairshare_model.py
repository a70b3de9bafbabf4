"""Slow, literal fair shares: what the page says, step by step, with nothing clever in it.

It shares no code with the core. Levels are looked for segment by segment, every turn of a round
looks at everybody anew instead of keeping heaps, and what is tried is tried on a copy that is thrown
away if it fails.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from fractions import Fraction
from itertools import pairwise
from typing import Any

from ledger.core.fairshare.queues import Queue
from ledger.core.fairshare.round import Job, RoundQuestion
from ledger.core.fairshare.stage import GangJob, Scene, Task

Bounds = tuple[int, int, int]
"""Weight, floor and upper bound of a claim."""
Parts = dict[Any, dict[Any, Fraction]]

READY = ("allocated", "binding", "bound", "running", "succeeded")
HOLDING = ("pipelined", "allocated", "binding", "bound", "running")


def water(amount: Fraction, claims: Sequence[Bounds]) -> list[Fraction]:
    """What each claim gets: the segment that holds the level, and the level in it by rule of three."""

    def at(level: Fraction) -> list[Fraction]:
        return [min(Fraction(up), max(Fraction(low), w * level)) for w, low, up in claims]

    if sum(up for _, _, up in claims) <= amount:
        return [Fraction(up) for _, _, up in claims]
    points = sorted({Fraction(0), *(Fraction(bound, c[0]) for c in claims for bound in c[1:])})
    for left, right in pairwise(points):
        below, above = sum(at(left)), sum(at(right))
        if below <= amount <= above:
            rise = above - below
            return at(left + (right - left) * (amount - below) / rise if rise else left)
    raise AssertionError("the floors exceed the amount")


def deserved(total: Mapping[Any, int], claims: Sequence[tuple[Queue, Mapping[Any, int]]]) -> Parts:
    """What each queue deserves of everything that the total, a request or a guarantee names."""
    names = {*total, *(d for q, r in claims for d in (*r, *q.guarantee))}
    parts: Parts = {queue.name: {} for queue, _ in claims}
    for d in names:
        there = total.get(d, 0)
        guaranteed = sum(queue.guarantee.get(d, 0) for queue, _ in claims)
        bounds: list[Bounds] = []
        for queue, request in claims:
            low = queue.guarantee.get(d, 0)
            reach = max(there - guaranteed, 0) + low
            reach = min(reach, queue.capability[d]) if d in queue.capability else reach
            up = max(low, min(request.get(d, 0), reach))
            bounds.append((queue.weight, 0, low) if guaranteed > there else (queue.weight, low, up))
        for (queue, _), part in zip(claims, water(Fraction(there), bounds), strict=True):
            parts[queue.name][d] = part
    return parts


def domshare(held: Mapping[Any, int], total: Mapping[Any, int]) -> Fraction:
    return max([Fraction(0), *(Fraction(held.get(d, 0), total[d]) for d in total if total[d])])


def queue_share(held: Mapping[Any, int], part: Mapping[Any, Fraction]) -> Fraction:
    of_each = [
        Fraction(held.get(d, 0)) / part[d] if part[d] else Fraction(bool(held.get(d, 0)))
        for d in part
    ]
    return max(of_each, default=Fraction(0))


def overused(held: Mapping[Any, int], part: Mapping[Any, Fraction]) -> bool:
    return all(part[d] <= held.get(d, 0) for d in part)


def within(
    held: Mapping[Any, int], request: Mapping[Any, int], part: Mapping[Any, Fraction]
) -> bool:
    return all(held.get(d, 0) + request[d] <= part[d] for d in request if request[d])


def plus(one: Mapping[Any, int], other: Mapping[Any, int], sign: int = 1) -> dict[Any, int]:
    return {d: one.get(d, 0) + sign * other.get(d, 0) for d in {*one, *other}}


def fits(free: Mapping[Any, int], slots: int | None, request: Mapping[Any, int]) -> bool:
    room = slots is None or slots >= 1
    return room and all(free.get(d, 0) >= request[d] for d in request if request[d])


class Standings:
    """A round while it is played, with nothing remembered but who holds what."""

    def __init__(self, question: RoundQuestion) -> None:
        self.asked = question
        self.queues: dict[Any, Queue] = {queue.name: queue for queue in question.queues}
        self.jobs: dict[Any, Any] = {j.name: j for j in question.jobs if j.queue in self.queues}
        running = [one for one in question.running if one.queue in self.queues]
        self.queue_held: dict[str, dict[Any, int]] = {}
        self.ns_held: dict[Any, dict[Any, int]] = {}
        self.job_held: dict[Any, dict[Any, int]] = {
            name: dict(job.held) for name, job in self.jobs.items()
        }
        wanted: dict[str, dict[Any, int]] = {}
        for queue, ns, amounts in [
            *((one.queue, one.namespace, one.amounts) for one in running),
            *((job.queue, job.namespace, job.held) for job in self.jobs.values()),
        ]:
            self.queue_held[queue] = plus(self.queue_held.get(queue, {}), amounts)
            self.ns_held[queue, ns] = plus(self.ns_held.get((queue, ns), {}), amounts)
            wanted[queue] = plus(wanted.get(queue, {}), amounts)
        for job in self.jobs.values():
            for task in job.tasks:
                wanted[job.queue] = plus(wanted[job.queue], task.request)
        self.part = deserved(question.total, [(self.queues[q], wanted[q]) for q in wanted])
        for queue in self.part:
            if queue in question.deserved:
                given = question.deserved[queue]
                self.part[queue] = {d: Fraction(given.get(d, 0)) for d in self.part[queue]}
        self.free: dict[str, dict[Any, int]] = {
            node.name: dict(node.amounts) for node in question.nodes
        }
        self.slots: dict[str, int | None] = {node.name: node.slots for node in question.nodes}
        self.placed: dict[str, list[int]] = {name: [] for name in self.jobs}
        self.order: list[tuple[str, int, str]] = []

    def copied(self) -> "Standings":
        other = copy(self)
        other.queue_held, other.ns_held = dict(self.queue_held), dict(self.ns_held)
        other.job_held, other.order = dict(self.job_held), list(self.order)
        other.free, other.slots = dict(self.free), dict(self.slots)
        other.placed = {job: list(placed) for job, placed in self.placed.items()}
        return other

    def waiting(self, job: Job) -> list[Any]:
        left = [task for task in job.tasks if task.index not in self.placed[job.name]]
        return sorted(left, key=lambda task: (-task.priority, task.index))

    def ready(self, job: Job) -> bool:
        for_nothing = sum(not any(task.request.values()) for task in self.waiting(job))
        return job.ready + len(self.placed[job.name]) + for_nothing >= job.gang_min

    def ns_share(self, queue: Any, ns: Any) -> Fraction:
        places = [(queue, ns)]
        if self.asked.scope == "global":
            places = [(q.name, ns) for q in self.asked.queues]
        held: dict[Any, int] = {}
        for place in places:
            held = plus(held, self.ns_held.get(place, {}))
            held = plus(held, self.asked.charges.get(place, {}))
        return domshare(held, self.asked.total) / self.asked.weights.get(ns, 1)

    def job_place(self, job: Job) -> tuple[Any, ...]:
        ranks: dict[Any, Any] = {
            "priority": -job.priority,
            "gang": self.ready(job),
            "share": domshare(self.job_held[job.name], self.asked.total),
        }
        return (*(ranks[rank] for rank in self.asked.job_order), job.seq, job.name)

    def place(self, job: Job, task: Any) -> bool:
        """Whether some node takes the task; the first by name does."""
        for node in sorted(self.free):
            if fits(self.free[node], self.slots[node], task.request):
                self.free[node] = plus(self.free[node], task.request, -1)
                count = self.slots[node]
                self.slots[node] = None if count is None else count - 1
                place = (job.queue, job.namespace)
                self.queue_held[job.queue] = plus(self.queue_held[job.queue], task.request)
                self.ns_held[place] = plus(self.ns_held[place], task.request)
                self.job_held[job.name] = plus(self.job_held[job.name], task.request)
                self.placed[job.name].append(task.index)
                self.order.append((job.name, task.index, node))
                return True
        return False


def round_of(question: RoundQuestion) -> list[tuple[str, int, str]]:
    """Who is placed where, in order."""
    now = Standings(question)
    hopeless = [j for j in now.jobs.values() if j.ready + len(j.tasks) < j.gang_min]
    out = {job.name for job in now.jobs.values() if not job.tasks or job in hopeless}
    while True:
        open_jobs = [
            job
            for job in now.jobs.values()
            if job.name not in out
            and now.queues[job.queue].is_open
            and not overused(now.queue_held[job.queue], now.part[job.queue])
        ]
        if not open_jobs:
            return now.order

        def queue_place(job: Job, now: Standings = now) -> tuple[Any, ...]:
            queue = now.queues[job.queue]
            share = queue_share(now.queue_held[job.queue], now.part[job.queue])
            return (-queue.priority, share, queue.seq, queue.name)

        def place(job: Job, now: Standings = now) -> tuple[Any, ...]:
            ns = (now.ns_share(job.queue, job.namespace), job.namespace)
            return (queue_place(job), ns, now.job_place(job))

        job = min(open_jobs, key=place)
        least = 1 if now.ready(job) else job.gang_min - job.ready - len(now.placed[job.name])
        most = question.max_tasks
        if most is not None and now.order and len(now.order) + least > most:
            return now.order
        trial = now.copied()
        before = len(trial.order)
        for task in trial.waiting(job):
            if not within(trial.queue_held[job.queue], task.request, trial.part[job.queue]):
                continue
            if not trial.place(job, task) or trial.ready(job):
                break
        if trial.ready(job) and len(trial.order) > before:
            now = trial
            if not now.waiting(job):
                out.add(job.name)
        else:
            out.add(job.name)


class Cluster:
    """A scene while tasks are evicted from it."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.queues: dict[Any, Queue] = {queue.name: queue for queue in scene.queues}
        self.jobs: dict[Any, Any] = {
            job.name: job for job in scene.jobs if job.queue in self.queues
        }
        self.tasks: dict[str, Task] = {task.name: task for task in scene.tasks}
        self.status: dict[str, str] = {task.name: task.status for task in scene.tasks}
        self.node: dict[str, str | None] = {task.name: task.node for task in scene.tasks}
        total: dict[Any, int] = {}
        for node in scene.nodes:
            total = plus(total, node.amounts)
        self.total = total
        names = sorted({job.queue for job in self.jobs.values()})
        wanted = [self.of_queue(name, (*HOLDING, "pending")) for name in names]
        claims = [(self.queues[name], wish) for name, wish in zip(names, wanted, strict=True)]
        self.part = deserved(total, claims)
        self.evicted: list[str] = []
        self.pipelined: dict[str, str] = {}

    def copied(self) -> "Cluster":
        other = copy(self)
        other.status, other.node = dict(self.status), dict(self.node)
        other.evicted, other.pipelined = list(self.evicted), dict(self.pipelined)
        return other

    def held(
        self, whose: Callable[[Task], bool], statuses: Sequence[str] = HOLDING
    ) -> dict[Any, int]:
        sums: dict[Any, int] = {}
        for task in self.tasks.values():
            if task.job in self.jobs and self.status[task.name] in statuses and whose(task):
                sums = plus(sums, task.request)
        return sums

    def of_queue(self, queue: str, statuses: Sequence[str] = HOLDING) -> dict[Any, int]:
        return self.held(lambda task: self.jobs[task.job].queue == queue, statuses)

    def of_ns(self, queue: str, ns: str) -> dict[Any, int]:
        return self.held(
            lambda task: (self.jobs[task.job].queue, self.jobs[task.job].namespace) == (queue, ns)
        )

    def of_job(self, job: str) -> dict[Any, int]:
        return self.held(lambda task: task.job == job)

    def count(self, job: str, statuses: Sequence[str]) -> int:
        return sum(t.job == job and self.status[t.name] in statuses for t in self.tasks.values())

    def for_nothing(self, task: Task) -> bool:
        return not any(task.request.values())

    def starving(self, job: GangJob) -> bool:
        return self.count(job.name, (*READY, "pipelined")) < job.gang_min

    def enough(self, job: GangJob, *, pipelined: bool) -> bool:
        extra = sum(
            t.job == job.name and self.status[t.name] == "pending" and self.for_nothing(t)
            for t in self.tasks.values()
        )
        statuses = (*READY, "pipelined") if pipelined else READY
        return self.count(job.name, statuses) + extra >= job.gang_min

    def queue_order(self) -> list[str]:
        def key(name: str) -> tuple[Any, ...]:
            queue = self.queues[name]
            return (
                -queue.priority,
                queue_share(self.of_queue(name), self.part[name]),
                queue.seq,
                name,
            )

        return sorted(self.part, key=key)

    def room(self, node: str, request: Mapping[Any, int]) -> bool:
        there = next(n for n in self.scene.nodes if n.name == node)
        on_it = [
            t
            for t in self.tasks.values()
            if self.node[t.name] == node and self.status[t.name] in HOLDING
        ]
        free: dict[Any, int] = dict(there.amounts)
        for task in on_it:
            free = plus(free, task.request, -1)
        return fits(free, None if there.slots is None else there.slots - len(on_it), request)

    def allowed(self, task: Task) -> bool:
        queue = self.jobs[task.job].queue
        is_open = self.queues[queue].is_open
        return is_open and within(self.of_queue(queue), task.request, self.part[queue])


def granted(voter: str, now: Cluster, taker: Task, candidates: Sequence[Task]) -> list[str]:
    """Whom one voter grants."""
    mine = now.jobs[taker.job]
    gone: list[Task] = []
    for c in candidates:
        its = now.jobs[c.job]
        if voter == "conformance":
            critical = ("system-node-critical", "system-cluster-critical")
            yes = its.namespace != "kube-system" and c.priority_class not in critical
        elif voter == "gang":
            lost = sum(task.job == c.job for task in gone)
            yes = now.count(c.job, READY) - lost > its.gang_min
        elif voter == "priority":
            yes = its.priority < mine.priority
        elif voter == "proportion":
            from_queue = [t for t in gone if now.jobs[t.job].queue == its.queue]
            rest, part = without(now.of_queue(its.queue), from_queue), now.part[its.queue]
            yes = any(rest.get(d, 0) > part[d] for d in part)
        else:
            yes = drf(now, taker, c, gone)
        if yes:
            gone.append(c)
    return [task.name for task in gone]


def drf(now: Cluster, taker: Task, c: Task, gone: Sequence[Task]) -> bool:
    """Whether the drf voter grants a candidate after those that it granted already."""
    mine, its = now.jobs[taker.job], now.jobs[c.job]
    place = (its.queue, its.namespace)
    from_ns = [t for t in gone if (now.jobs[t.job].queue, now.jobs[t.job].namespace) == place]
    weights: Mapping[Any, int] = now.scene.weights
    with_it = plus(now.of_ns(mine.queue, mine.namespace), taker.request)
    takes = domshare(with_it, now.total) / weights.get(mine.namespace, 1)
    gives = domshare(without(now.of_ns(*place), [*from_ns, c]), now.total)
    gives /= weights.get(its.namespace, 1)
    if its.namespace != mine.namespace and takes != gives:
        return takes < gives
    of_job = without(now.of_job(c.job), [t for t in gone if t.job == c.job])
    job_takes = domshare(plus(now.of_job(mine.name), taker.request), now.total)
    still = domshare(without(of_job, [c]), now.total)
    return job_takes <= still and job_takes < domshare(of_job, now.total)


def without(held: dict[Any, int], tasks: Sequence[Task]) -> dict[Any, int]:
    for task in tasks:
        held = plus(held, task.request, -1)
    return held


def find_place(now: Cluster, taker: Task, who: Callable[[Cluster, Task], bool]) -> Cluster | None:
    """The cluster with the task pipelined, with as few gone as the first node that can do needs."""
    nodes = sorted(node.name for node in now.scene.nodes)
    for node in nodes:
        if now.allowed(taker) and now.room(node, taker.request):
            return pipelined(now, taker, node)
    for node in nodes:
        order = {queue: -place for place, queue in enumerate(now.queue_order())}
        here = [
            t
            for t in now.tasks.values()
            if now.node[t.name] == node and t.job in now.jobs and t.preemptable and who(now, t)
        ]
        here.sort(key=lambda t: t.name, reverse=True)
        here.sort(key=lambda t: (now.jobs[t.job].priority, t.priority, -t.seq))
        here.sort(key=lambda t: order[now.jobs[t.job].queue])
        voters = now.scene.voters or ()
        votes = [granted(voter, now, taker, here) for voter in voters]
        victims = [t for t in here if votes and all(t.name in vote for vote in votes)]
        trial = now.copied()
        for victim in victims:
            trial.status[victim.name] = "releasing"
            trial.evicted.append(victim.name)
            if trial.allowed(taker) and trial.room(node, taker.request):
                return pipelined(trial, taker, node)
    return None


def pipelined(now: Cluster, task: Task, node: str) -> Cluster:
    after = now.copied()
    after.status[task.name] = "pipelined"
    after.node[task.name] = node
    after.pipelined[task.name] = node
    return after


Choice = Callable[[Task], Callable[[Cluster, Task], bool]]
"""For a task that takes: who might have to go for it."""


def serve(
    now: Cluster, job: GangJob, who: Choice, *, limit_first: bool, keep_any: bool = False
) -> Cluster:
    """The cluster after the job took what it could, or as it was if its gang is short."""
    trial = now
    mine = [task for task in now.tasks.values() if task.job == job.name]
    waiting = [task for task in mine if now.status[task.name] == "pending"]
    for task in sorted(waiting, key=lambda t: (-t.priority, t.index, t.seq, t.name)):
        if trial.starving(job) and not task.never_preempts:
            if limit_first and not trial.allowed(task):
                continue
            trial = find_place(trial, task, who(task)) or trial
    return trial if keep_any or trial.enough(job, pipelined=True) else now


def starving_jobs(now: Cluster, queue: str) -> list[GangJob]:
    jobs = [
        job
        for job in now.jobs.values()
        if job.queue == queue
        and now.starving(job)
        and now.count(job.name, ("pending",))
        and now.count(job.name, (*READY, "pipelined", "pending")) >= job.gang_min
    ]
    return sorted(
        jobs,
        key=lambda job: (
            -job.priority,
            now.enough(job, pipelined=False),
            domshare(now.of_job(job.name), now.total),
            job.seq,
            job.name,
        ),
    )


def preempt(scene: Scene) -> tuple[list[str], dict[str, str]]:
    """Who goes and who is pipelined where."""
    now = Cluster(scene)
    plan = [(queue, starving_jobs(now, queue)) for queue in now.queue_order()]

    def inside(*, own: bool) -> Choice:
        def who(taker: Task) -> Callable[[Cluster, Task], bool]:
            def may(cluster: Cluster, t: Task) -> bool:
                queue = cluster.jobs[taker.job].queue
                return (
                    cluster.status[t.name] in ("running", "bound")
                    and cluster.jobs[t.job].queue == queue
                    and (t.job == taker.job) == own
                    and (not own or t.priority < taker.priority)
                    and (cluster.for_nothing(t) or not cluster.for_nothing(taker))
                )

            return may

        return who

    for _, jobs in plan:
        for own in (False, True):
            for job in jobs:
                now = serve(now, job, inside(own=own), limit_first=False)
    return sorted(now.evicted), now.pipelined


def reclaim(scene: Scene, *, keep_any: bool = False) -> tuple[list[str], dict[str, str]]:
    """Who goes and who is pipelined where."""
    now = Cluster(scene)

    def who(taker: Task) -> Callable[[Cluster, Task], bool]:
        def may(cluster: Cluster, t: Task) -> bool:
            queue = cluster.jobs[t.job].queue
            mine = cluster.jobs[taker.job].queue
            other = queue != mine and cluster.queues[queue].reclaimable
            return other and cluster.status[t.name] == "running"

        return may

    for queue, jobs in [(queue, starving_jobs(now, queue)) for queue in now.queue_order()]:
        for job in jobs:
            if not overused(now.of_queue(queue), now.part[queue]):
                now = serve(now, job, who, limit_first=True, keep_any=keep_any)
    return sorted(now.evicted), now.pipelined
