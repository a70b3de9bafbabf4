"""Jobs, the slow way: who waits, who has which place, and when a round is played.

After each event every task of every job is looked at: whether it still is one, and whether its node
still keeps it. All that a round would read is spelled out and held against what was there after the
last one; nothing counts what changed. A round itself looks at everybody before every turn, and
tries what may fail on a copy. Shares and votes are the literal ones of
``tests.laws.fairshare_model``; only where a task may go is told here, since that differs by job.

Where the page says little:

* A node that comes back as another life is another node: what was on the old one is lost.
* All that is wanted of a node by a job counts together: the clusters it names, else the labels it
  selects clusters by; its cluster; the labels it selects nodes by.
* A task takes part in shares with its cpu, memory and storage.
* A job that is taken out of its queue has no tasks meanwhile; those that were done stay done, and a
  task can be done of a job without a queue.
* A job of which no task waits or runs takes no part: a guarantee of its queue is nobody's then.
* A round that had to stop at the most tasks ends there, and is due again with the next event, whatever
  the count, or at once where rounds have no deadlines. Who is still in line is told nothing. The
  backfill has to stop only before a task that a slot is free for.
* While the fleet holds, a round's deadline waits, and fires before the event after the one that
  lifts it; fleet time does not run back for it.
* ``below gang_min`` in the codes of losers: at the end of the round.
"""

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ledger.core.fairshare.queues import Queue
from ledger.core.fairshare.resources import JobName, NamespaceName, QueueName, Resource, TaskName
from ledger.core.fairshare.room import Node
from ledger.core.fairshare.stage import GangJob, Scene, Task
from ledger.facts import workload
from ledger.facts.event import Fact
from ledger.units import NodeName
from tests.laws.fairshare_model import (
    READY,
    Cluster,
    deserved,
    domshare,
    fits,
    granted,
    overused,
    plus,
    queue_share,
    starving_jobs,
    within,
)
from tests.laws.model import bytewise
from tests.laws.naive_book import Holding, in_storage
from tests.laws.naive_fleet import NaiveFleet
from tests.laws.naive_part import Moment, Said
from tests.laws.naive_past import Diary, history_of

Amounts = dict[Any, int]
TaskKey = tuple[str, int]

ROUND = "round"
DEFAULTS = {
    "fairshare.preempt": False,
    "fairshare.reclaim": False,
    "fairshare.scope": "per_queue",
    "fairshare.job_order": ("priority", "gang", "drf"),
    "fairshare.voters.preempt": ("conformance", "gang", "drf"),
    "fairshare.voters.reclaim": ("conformance", "gang", "proportion"),
}
"""What a round reads of the policy."""


@dataclass(slots=True)
class Seat:
    """Where a task is, and under which request it was placed there."""

    node: str
    node_life: int
    job_life: int
    request: workload.Request


@dataclass(slots=True)
class DueRound:
    """A round that is due: since which event, and until when at the latest."""

    position: int
    until: int | None
    next_event: bool = False
    """Whether the last one had to stop: then it does not wait for the count."""


def amounts_of(request: workload.Request) -> Amounts:
    """What a task takes of a node, without its slot."""
    return {"cpu": request.cpu, "memory": request.memory, "storage": in_storage(request)}


def task_name(key: TaskKey) -> str:
    return f"{key[0]}[{key[1]:06}]"


@dataclass(slots=True)
class NaiveJobs:
    """Tasks of jobs, and rounds."""

    fleet: NaiveFleet
    seats: dict[TaskKey, Seat] = field(default_factory=dict)
    finished: dict[str, tuple[int, set[int]]] = field(default_factory=dict)
    """Of a job's life, which tasks are done."""
    refused: dict[str, tuple[int, str, str]] = field(default_factory=dict)
    """Number, reason, what it waits for."""
    refused_life: dict[str, int] = field(default_factory=dict)
    lost: dict[TaskKey, tuple[int, str]] = field(default_factory=dict)
    """Tasks that went by themselves and are not back: in which life of the job, and from which node."""
    due: DueRound | None = None
    after_last: Any = None
    """What the next round would have read right after the last one."""
    changed: bool = False
    """Whether something was other than then at the end of an event; it counts once somebody waits,
    though it may be as it was by then."""
    played: bool = False
    """Whether a round was played because of what happened last."""
    rounds: int = 0
    told_total: Amounts | None = None
    """What the last round had to share out that placed or evicted anything."""
    diary: Diary = field(default_factory=Diary)
    unblocked: Callable[[], None] | None = None
    """Who is told of each eviction, to see what it sets free."""
    closing: Callable[[Moment | None], list[Said]] | None = None
    """Who then gets one pass over it once the round is over."""

    def __post_init__(self) -> None:
        self.fleet.book.holders.append(self)
        self.fleet.parts.append(self)
        self.after_last = self._read()

    # As a holder of room.

    def holdings(self, node: str) -> Iterable[Holding]:
        """The tasks on a node."""
        for (job, _), seat in self.seats.items():
            if seat.node == node:
                each = seat.request
                yield Holding(job, each.cpu, each.memory, in_storage(each))

    def count_of(self, workload: str, cluster: str) -> int:
        """How many tasks of a job are on the nodes of a cluster."""
        return sum(
            job == workload and seat.node.startswith(f"{cluster}/")
            for (job, _), seat in self.seats.items()
        )

    def numbers_of(self, workload: str, node: str) -> list[int]:
        """Which of them are on one node."""
        return [
            task for (job, task), one in self.seats.items() if (job, one.node) == (workload, node)
        ]

    # As a part.

    def moments(self) -> list[Moment]:
        """When a round is played at the latest."""
        if self.due is None or self.due.until is None or self.fleet.hold:
            return []
        return [Moment(self.due.until, ROUND, self.fleet.salt)]

    def fired(self, moment: Moment) -> None:
        """Whose deadline it is, is seen when it is decided."""

    def heard(self, fact: Fact, subject: str) -> None:
        """Tasks end when somebody says so."""
        if isinstance(fact, workload.JobFinished):
            job = self.fleet.fact("workload", subject)
            life = self.fleet.life("workload", subject)
            was, done = self.finished.get(subject, (life, set()))
            done = done if was == life else set()
            ended = set(range(job.replicas)) if fact.task is None else {fact.task}
            if ended <= done:
                self.fleet.effect = "no_effect"
            done |= ended
            self.finished[subject] = (life, done)

    def folded(self) -> None:
        """Who is no task any more, or has lost its node; and whether a round is due."""
        self.played = False
        for job, (life, done) in list(self.finished.items()):
            fact = self.fleet.fact("workload", job)
            if fact is None or self.fleet.life("workload", job) != life:
                del self.finished[job]
            else:
                self.finished[job] = (life, done & set(range(fact.replicas)))
        for key, seat in list(self.seats.items()):
            job, index = key
            mine = self.is_task(key) and seat.job_life == self.fleet.life("workload", job)
            if not mine or index in self._done(job):
                del self.seats[key]
            elif not self._stands(seat):
                del self.seats[key]
                self.lost[key] = (seat.job_life, seat.node)
        self.lost = {
            key: (life, node)
            for key, (life, node) in self.lost.items()
            if self.is_task(key)
            and life == self.fleet.life("workload", key[0])
            and key[1] not in self._done(key[0])
        }
        self._write_down()
        for job, (number, reason, _) in list(self.refused.items()):
            over = not self._is_job(job) or not self.waiting(job)
            over = over or self.refused_life[job] != self.fleet.life("workload", job)
            if over or (reason == "unknown_queue" and self._queue_of(job) is not None):
                self.fleet.ended.append(("refusal", job, number))
                del self.refused[job]
        if self.fleet.hold:
            # Nothing is decided that may take again what was given up.
            self._look()

    def decide(self, moment: Moment | None) -> list[Said]:
        """Who is in no queue; then a round, if it is time."""
        said = []
        for job in bytewise(self.jobs()):
            if self.waiting(job) and self._queue_of(job) is None:
                said += self._refuse(job, "unknown_queue", "queue", moment)
        self._look()
        if self.due is not None and self._is_time(moment):
            said += self._play(moment)
        return said

    def settled(self) -> None:
        """Whether a round is due after all that was decided."""
        self._look()

    # What there is.

    def jobs(self) -> dict[str, workload.WorkloadUpserted]:
        return {key: fact for key, fact in self.fleet.all("workload").items() if self._is_job(key)}

    def waiting(self, job: str) -> list[int]:
        """The tasks of a job that have no place and are not done."""
        fact = self.fleet.fact("workload", job)
        return [
            index
            for index in range(fact.replicas)
            if index not in self._done(job) and (job, index) not in self.seats
        ]

    def _is_job(self, subject: str) -> bool:
        fact = self.fleet.fact("workload", subject)
        return fact is not None and fact.kind == "Job" and fact.queue is not None

    def is_task(self, key: TaskKey) -> bool:
        return self._is_job(key[0]) and key[1] < self.fleet.fact("workload", key[0]).replicas

    def _done(self, job: str) -> set[int]:
        life, done = self.finished.get(job, (0, set()))
        return done if life == self.fleet.life("workload", job) else set()

    def _stands(self, seat: Seat) -> bool:
        """Whether a node keeps its tasks: the same one, ready, or not ready for a short while."""
        node = self.fleet.fact("node", seat.node)
        if node is None or self.fleet.life("node", seat.node) != seat.node_life:
            return False
        return bool(node.ready or seat.node in self.fleet.node_grace_until)

    def _queue_of(self, job: str) -> Any:
        return self.fleet.fact("queue", self.fleet.fact("workload", job).queue)

    def in_line(self) -> list[str]:
        """The jobs of known queues that want or hold anything."""
        return [
            job
            for job in bytewise(self.jobs())
            if self._queue_of(job) is not None
            and (self.waiting(job) or any(key[0] == job for key in self.seats))
        ]

    def _nodes(self) -> list[str]:
        """Where new tasks may go at all."""
        keys = [
            f"{name}/{node.name}"
            for name, fact in self.fleet.all("cluster").items()
            if fact.ready
            for node in self.fleet.nodes(name)
        ]
        return bytewise(keys)

    def takes(self, node: str, job: str) -> bool:
        """Whether tasks of a job may go to a node."""
        deploy, there = self.fleet.fact("workload", job).deploy, self.fleet.fact("node", node)
        selected = deploy is None or set(deploy.node_selector) <= set(there.labels)
        return selected and self.takes_cluster(there.cluster, job)

    def takes_cluster(self, name: str, job: str) -> bool:
        """Whether tasks of a job may go to nodes of a cluster."""
        fact, home = self.fleet.fact("workload", job), self.fleet.fact("cluster", name)
        spec = fact.division
        if spec is not None and spec.clusters:
            if name not in spec.clusters:
                return False
        elif spec is not None and not set(spec.cluster_selector) <= set(home.labels):
            return False
        return fact.cluster is None or fact.cluster == name

    def free(self, node: str) -> tuple[Amounts, int | None]:
        """What a node has free, signed, and its slots."""
        free = self.fleet.book.free(node)
        return {"cpu": free.milli, "memory": free.memory, "storage": free.storage}, free.pods

    def queue(self, name: str) -> Queue:
        fact = self.fleet.fact("queue", name)
        return Queue(
            QueueName(name),
            weight=fact.weight,
            priority=fact.priority,
            seq=self.fleet.beings["queue"][name].born,
            capability={Resource(key): amount for key, amount in fact.capability},
            guarantee={Resource(key): amount for key, amount in fact.guarantee},
            is_open=fact.open,
            reclaimable=fact.reclaimable,
        )

    def weight(self, namespace: str) -> int:
        """The largest weight that a quota gives it."""
        told = [
            quota.weight or 1
            for quota in self.fleet.all("quota").values()
            if quota.namespace == namespace
        ]
        return max([1, *told])

    def total(self) -> Amounts:
        """What shares are parts of."""
        total: Amounts = {"cpu": 0, "memory": 0, "storage": 0}
        for node in self._nodes():
            total = plus(total, {key: max(0, left) for key, left in self.free(node)[0].items()})
        for (job, _), seat in self.seats.items():
            if self._queue_of(job) is not None:
                total = plus(total, amounts_of(seat.request))
        return total

    # When a round is due.

    def _read(self) -> Any:
        """All that a round reads."""
        nodes = self._nodes()
        homes = bytewise({self.fleet.fact("node", node).cluster for node in nodes})
        weights = {
            one.namespace: self.weight(one.namespace) for one in self.fleet.all("quota").values()
        }
        in_line = set(self.in_line())
        waiting = {job: self.waiting(job) for job in in_line}
        jobs = {
            job: (
                self.fleet.beings["workload"][job].born,
                fact.queue,
                fact.priority,
                fact.gang_min,
                fact.preemptable,
                fact.request,
                [node for node in nodes if waiting[job] and self.takes(node, job)],
                [name for name in homes if waiting[job] and self.takes_cluster(name, job)],
                waiting[job],
                sorted(self._done(job)),
                [(key, seat.request) for key, seat in self.seats.items() if key[0] == job],
            )
            for job, fact in self.jobs().items()
            if job in in_line
        }
        return [
            jobs,
            {node: self.free(node) for node in nodes},
            {name: self.queue(name) for name in self.fleet.all("queue")},
            {name: weight for name, weight in weights.items() if weight > 1},
            {path: self.fleet.setting(path, DEFAULTS[path]) for path in DEFAULTS},
            history_of(self.fleet.settings),
        ]

    def _look(self) -> None:
        """Whether a round is due now."""
        self.changed = self.changed or self._read() != self.after_last
        if not any(self.waiting(job) for job in self.in_line()):
            self.due = None
        elif self.due is None and self.changed:
            self.due = DueRound(self.fleet.position, self._deadline())
        elif self.due is not None and self.due.until is None:
            self.due.until = self._deadline()

    def _deadline(self) -> int | None:
        span = self.fleet.settings.get("round.max_milliseconds")
        span = 1000 if span is None else span
        return self.fleet.now + span * 1000 if span else None

    def _is_time(self, moment: Moment | None) -> bool:
        assert self.due is not None
        if moment is not None:
            return moment.kind == ROUND
        if self.played:
            return False
        count = self.fleet.position - self.due.position + 1
        return self.due.next_event or count >= self.fleet.setting("round.max_events", 100)

    # A round.

    def _play(self, moment: Moment | None) -> list[Said]:
        self.rounds += 1
        self.played = True
        floor = Floor(self)
        floor.allocate()
        reached = [job for job in floor.names if not (floor.full and job in floor.in_turn())]
        for action in ("preempt", "reclaim"):
            if floor.policy(action) and not floor.full:
                floor.evict(action)
        if not floor.full:
            floor.backfill()

        if floor.evicted or floor.placed:
            self.told_total = floor.total
        said = []
        for job in bytewise({job for job, _ in floor.evicted}):
            gone = sorted(key for key in floor.evicted if key[0] == job)
            rows = {str(index): self.seats.pop((job, index)).node for _, index in gone}
            said.append(self._say("eviction", job, moment, rows=rows))
            if self.unblocked is not None:
                self.unblocked()
        for job in bytewise({job for job, _ in floor.placed}):
            rows = {}
            fact = self.fleet.fact("workload", job)
            for key in sorted(key for key in floor.placed if key[0] == job):
                node = floor.placed[key]
                rows[str(key[1])] = node
                self.seats[key] = Seat(
                    node,
                    self.fleet.life("node", node),
                    self.fleet.life("workload", job),
                    fact.request,
                )
                self.diary.entered(
                    self.fleet.now, (fact.queue, fact.namespace), amounts_of(fact.request)
                )
            moved = self._moved(job, rows)
            ended = job in self.refused and not self.waiting(job)
            if ended:
                del self.refused[job]
            said.append(self._say("allocation", job, moment, rows=rows, moved=moved))
        for job in self.in_line():
            code = floor.code(job) if self.waiting(job) and job in reached else None
            if code is not None:
                said += self._refuse(job, code, ROUND, moment)
        if floor.evicted and self.closing is not None:
            said += self.closing(moment)

        self._write_down()
        self.due = None
        self.after_last, self.changed = None if floor.evicted else self._read(), False
        if floor.full:
            until = self._deadline() or self.fleet.now
            self.due = DueRound(self.fleet.position, until, next_event=True)
        self._look()
        return said

    def _write_down(self) -> None:
        """Who holds what now goes into the diary."""
        held: dict[tuple[str, str], Amounts] = {}
        for (job, _), seat in self.seats.items():
            fact = self.fleet.fact("workload", job)
            place = (fact.queue, fact.namespace)
            held[place] = plus(held.get(place, {}), amounts_of(seat.request))
        self.diary.told(self.fleet.now, history_of(self.fleet.settings), held)

    def _moved(self, job: str, rows: dict[str, str]) -> int:
        """Of these tasks those that had been lost, which are so no more, net of each node."""
        nodes, back = list(rows.values()), [(job, int(index)) for index in rows]
        gone = [self.lost.pop(key)[1] for key in back if key in self.lost]
        rises = sum(max(0, nodes.count(node) - gone.count(node)) for node in set(nodes))
        falls = sum(max(0, gone.count(node) - nodes.count(node)) for node in set(gone))
        return min(rises, falls)

    def _refuse(self, job: str, reason: str, waits_for: str, moment: Moment | None) -> list[Said]:
        if job in self.refused and self.refused[job][1:] == (reason, waits_for):
            return []
        said = self._say("refusal", job, moment, reason=reason, waits_for=waits_for)
        self.refused[job] = (said.number, reason, waits_for)
        self.refused_life[job] = self.fleet.life("workload", job)
        return [said]

    def _say(
        self,
        kind: str,
        job: str,
        moment: Moment | None,
        *,
        rows: dict[str, str] | None = None,
        reason: str = "",
        waits_for: str = "",
        moved: int = 0,
    ) -> Said:
        number, previous = self.fleet.next_number(job)
        return Said(
            number=number,
            position=self.fleet.position,
            moment=None if moment is None else (moment.kind, moment.subject),
            kind=kind,
            subject=job,
            previous=previous,
            rows=rows or {},
            reason=reason,
            waits_for=waits_for,
            moved=moved,
        )


class Floor:
    """A round while it is played: who holds what where, and what was tried."""

    def __init__(self, jobs: NaiveJobs) -> None:
        self.jobs = jobs
        self.names = jobs.in_line()
        self.facts = {job: jobs.fleet.fact("workload", job) for job in self.names}
        self.seq = {job: jobs.fleet.beings["workload"][job].born for job in self.names}
        self.total = jobs.total()
        self.nodes = jobs._nodes()
        self.room = {node: jobs.free(node) for node in self.nodes}
        self.waits = {job: jobs.waiting(job) for job in self.names}
        self.held: dict[TaskKey, Amounts] = {
            key: amounts_of(seat.request)
            for key, seat in jobs.seats.items()
            if key[0] in self.facts
        }
        self.queues = {
            fact.queue: jobs.queue(fact.queue) for fact in self.facts.values() if fact.queue
        }
        wanted: dict[str, Amounts] = {queue: {} for queue in self.queues}
        for job in self.names:
            for amounts in (
                *(held for key, held in self.held.items() if key[0] == job),
                *[self.request(job)] * len(self.waits[job]),
            ):
                wanted[self.queue(job)] = plus(wanted[self.queue(job)], amounts)
        claims = [(self.queues[name], wanted[name]) for name in bytewise(self.queues)]
        self.part = deserved(self.total, claims)
        self.charges = jobs.diary.charges(jobs.fleet.now)
        self.placed: dict[TaskKey, str] = {}
        self.evicted: list[TaskKey] = []
        self.full = False
        self.out: set[str] = set()
        self.obstacle: dict[str, str] = {}

    def copied(self) -> "Floor":
        other = copy(self)
        other.room, other.held, other.placed = dict(self.room), dict(self.held), dict(self.placed)
        return other

    # What is known of jobs.

    def queue(self, job: str) -> str:
        return str(self.facts[job].queue)

    def request(self, job: str) -> Amounts:
        return amounts_of(self.facts[job].request)

    def left(self, job: str) -> list[int]:
        return [index for index in self.waits[job] if (job, index) not in self.placed]

    def for_nothing(self, job: str) -> bool:
        return not any(self.request(job).values())

    def ready_tasks(self, job: str) -> int:
        return len(self.jobs._done(job)) + sum(key[0] == job for key in self.held)

    def ready(self, job: str) -> bool:
        extra = len(self.left(job)) if self.for_nothing(job) else 0
        return bool(self.ready_tasks(job) + extra >= self.facts[job].gang_min)

    def of_job(self, job: str) -> Amounts:
        return self._sum(key for key in self.held if key[0] == job)

    def of_queue(self, queue: str) -> Amounts:
        return self._sum(key for key in self.held if self.queue(key[0]) == queue)

    def past_of(self, queue: str, namespace: str) -> Amounts:
        """What was used before, as far as it counts."""
        counts: Amounts = {}
        for (name, whose), amounts in self.charges.items():
            known = self.jobs.fleet.fact("queue", name) is not None
            if known and whose == namespace and (self.scope == "global" or name == queue):
                counts = plus(counts, amounts)
        return counts

    def of_namespace(self, queue: str, namespace: str) -> Amounts:
        return self._sum(
            key
            for key in self.held
            if self.facts[key[0]].namespace == namespace
            and (self.scope == "global" or self.queue(key[0]) == queue)
        )

    def _sum(self, keys: Iterable[TaskKey]) -> Amounts:
        held: Amounts = {}
        for key in keys:
            held = plus(held, self.held[key])
        return held

    def policy(self, name: str) -> Any:
        return self.jobs.fleet.setting(f"fairshare.{name}", DEFAULTS[f"fairshare.{name}"])

    @property
    def scope(self) -> str:
        return str(self.policy("scope"))

    @property
    def most(self) -> int:
        return int(self.jobs.fleet.setting("round.max_tasks", 500))

    def may_place(self, tasks: int) -> bool:
        """Whether so many more tasks are within what one round may place; a first one always is."""
        if not self.placed or len(self.placed) + tasks <= self.most:
            return True
        self.full = True
        return False

    def seat(self, job: str, index: int) -> bool:
        """Whether some node takes the task; the first by name does."""
        node = self.somewhere(job)
        if node is not None:
            self.put(job, index, node)
        return node is not None

    def somewhere(self, job: str) -> str | None:
        """The first node by name that takes one more task of the job."""
        for node in self.nodes:
            free, slots = self.room[node]
            if self.jobs.takes(node, job) and fits(free, slots, self.request(job)):
                return node
        return None

    def put(self, job: str, index: int, node: str) -> None:
        free, slots = self.room[node]
        free = plus(free, self.request(job), -1)
        self.room[node] = free, None if slots is None else slots - 1
        self.held[job, index] = self.request(job)
        self.placed[job, index] = node

    # Allocate.

    def allocate(self) -> None:
        """Turn after turn, until nobody can take one."""
        for job in self.names:
            gang = self.facts[job].gang_min
            if not self.waits[job] or self.ready_tasks(job) + len(self.waits[job]) < gang:
                self.out.add(job)
        while True:
            able = self.in_turn()
            if not able:
                return
            job = min(able, key=self._place)
            gang = self.facts[job].gang_min
            if not self.may_place(1 if self.ready(job) else gang - self.ready_tasks(job)):
                return
            self._turn(job)

    def _turn(self, job: str) -> None:
        self.obstacle.pop(job, None)
        trial = self.copied()
        queue = self.queue(job)
        for index in trial.left(job):
            if not within(trial.of_queue(queue), self.request(job), self.part[queue]):
                self.obstacle.setdefault(job, "queue_limit")
            elif not trial.seat(job, index):
                self.obstacle.setdefault(job, "node_fit")
                break
            elif trial.ready(job):
                break
        if not trial.ready(job) or len(trial.placed) == len(self.placed):
            self.out.add(job)
            return
        self.room, self.held, self.placed = trial.room, trial.held, trial.placed
        if not self.left(job):
            self.out.add(job)

    def _place(self, job: str) -> tuple[Any, ...]:
        """Where a job stands in the order of queues, namespaces and jobs."""
        fact, name = self.facts[job], self.queue(job)
        queue = self.queues[name]
        counts = plus(self.of_namespace(name, fact.namespace), self.past_of(name, fact.namespace))
        share = Fraction(domshare(counts, self.total))
        order = self.policy("job_order")
        ranks: dict[str, Any] = {
            "priority": -fact.priority,
            "gang": self.ready(job),
            "drf": domshare(self.of_job(job), self.total),
        }
        return (
            (-queue.priority, queue_share(self.of_queue(name), self.part[name]), queue.seq, name),
            (share / self.jobs.weight(fact.namespace), fact.namespace),
            (*(ranks[rank] for rank in order), self.seq[job], job),
        )

    # Preempt and reclaim.

    def evict(self, action: str) -> None:
        """Jobs below their gang take from others, and keep it if their gang can start."""
        now = self._scene(action)
        plan = [(queue, starving_jobs(now, queue)) for queue in now.queue_order()]
        # Of a job no task is less important than another, so among its own nobody goes.
        passes = ("preempt", "own") if action == "preempt" else ("reclaim",)
        for queue, which, job in [
            (queue, which, job) for queue, jobs in plan for which in passes for job in jobs
        ]:
            if action == "reclaim" and overused(now.of_queue(queue), now.part[queue]):
                continue
            lacks = job.gang_min - now.count(job.name, (*READY, "pipelined"))
            if now.queues[QueueName(queue)].is_open and lacks > 0:
                full = self.full
                if not self.may_place(lacks):
                    if which != "own":
                        return
                    self.full = full
                    continue
            now = self._served(now, job, which)
            for task in now.evicted:
                key = self._key(task)
                if key not in self.evicted:
                    self.evicted.append(key)
                    del self.held[key]
                    self._give_back(self.jobs.seats[key])
            for task, node in now.pipelined.items():
                if self._key(task) not in self.placed:
                    self.put(*self._key(task), node)

    def _scene(self, action: str) -> Cluster:
        tasks = []
        for job in self.names:
            fact = self.facts[job]
            for index in range(fact.replicas):
                key = (job, index)
                task = Task(
                    TaskName(task_name(key)),
                    JobName(job),
                    request=self.request(job),
                    preemptable=fact.preemptable,
                    index=index,
                    seq=self.seq[job],
                )
                if key in self.held:
                    seat = self.jobs.seats.get(key)
                    status = "allocated" if key in self.placed else "running"
                    node = self.placed[key] if seat is None or key in self.placed else seat.node
                    task = _with(task, request=self.held[key], status=status, node=NodeName(node))
                elif index in self.jobs._done(job):
                    task = _with(task, status="succeeded")
                elif key in self.evicted:
                    task = _with(task, status="releasing")
                tasks.append(task)
        scene = Scene(
            queues=list(self.queues.values()),
            jobs=[
                GangJob(
                    JobName(job),
                    QueueName(self.queue(job)),
                    NamespaceName(self.facts[job].namespace),
                    gang_min=self.facts[job].gang_min,
                    priority=self.facts[job].priority,
                    seq=self.seq[job],
                )
                for job in self.names
            ],
            nodes=[Node(NodeName(node)) for node in self.nodes],
            tasks=tasks,
            weights={
                NamespaceName(fact.namespace): self.jobs.weight(fact.namespace)
                for fact in self.facts.values()
            },
            voters=self.policy(f"voters.{action}"),
        )
        now = Cluster(scene)
        now.total, now.part = self.total, self.part
        return now

    def _key(self, task: str) -> TaskKey:
        job, _, index = task.removesuffix("]").rpartition("[")
        return job, int(index)

    def _give_back(self, seat: Seat) -> None:
        if seat.node in self.room:
            free, slots = self.room[seat.node]
            free = plus(free, amounts_of(seat.request))
            self.room[seat.node] = free, None if slots is None else slots + 1

    def _free_in(self, now: Cluster, node: str) -> tuple[Amounts, int | None]:
        """What a node has free with everything that was tried so far."""
        free, slots = self.room[node]
        for name in now.evicted:
            key = self._key(name)
            if key not in self.evicted and self.jobs.seats[key].node == node:
                free = plus(free, amounts_of(self.jobs.seats[key].request))
                slots = None if slots is None else slots + 1
        for name, there in now.pipelined.items():
            if there == node and self._key(name) not in self.placed:
                free = plus(free, now.tasks[name].request, -1)
                slots = None if slots is None else slots - 1
        return free, slots

    def _served(self, now: Cluster, job: GangJob, action: str) -> Cluster:
        trial = now
        mine = [task for task in now.tasks.values() if task.job == job.name]
        for task in sorted(mine, key=lambda one: one.index):
            if trial.status[task.name] == "pending" and trial.starving(job):
                if action == "reclaim" and not trial.allowed(task):
                    continue
                trial = self._with_place(trial, task, action) or trial
        return trial if trial.enough(job, pipelined=True) else now

    def _with_place(self, now: Cluster, taker: Task, action: str) -> Cluster | None:
        nodes = [node for node in self.nodes if self.jobs.takes(node, taker.job)]
        for node in nodes:
            if now.allowed(taker) and fits(*self._free_in(now, node), taker.request):
                return _pipelined(now, taker, node)
        turn = {queue: -place for place, queue in enumerate(now.queue_order())}
        for node in nodes:
            here = [
                task
                for task in now.tasks.values()
                if now.node[task.name] == node
                and now.status[task.name] == "running"
                and task.preemptable
                and self._may_go(now, taker, task, action)
            ]
            here.sort(key=lambda one: one.index, reverse=True)
            here.sort(key=lambda one: one.job, reverse=True)
            here.sort(key=lambda one: (now.jobs[one.job].priority, -one.seq))
            here.sort(key=lambda one: turn[now.jobs[one.job].queue])
            votes = [granted(voter, now, taker, here) for voter in now.scene.voters or ()]
            trial = now.copied()
            for victim in here:
                if votes and all(victim.name in vote for vote in votes):
                    trial.status[victim.name] = "releasing"
                    trial.evicted.append(victim.name)
                    if trial.allowed(taker) and fits(*self._free_in(trial, node), taker.request):
                        return _pipelined(trial, taker, node)
        return None

    def _may_go(self, now: Cluster, taker: Task, task: Task, action: str) -> bool:
        mine, its = now.jobs[taker.job], now.jobs[task.job]
        if action == "own":
            return False
        if action == "reclaim":
            return its.queue != mine.queue and now.queues[its.queue].reclaimable
        cheap = now.for_nothing(task) or not now.for_nothing(taker)
        return its.queue == mine.queue and task.job != taker.job and cheap

    # The rest.

    def backfill(self) -> None:
        """What asks for nothing goes wherever a slot is free."""
        for job in self.names:
            if self.for_nothing(job) and self.queues[self.queue(job)].is_open and self.ready(job):
                for index in self.left(job):
                    if not self.somewhere(job):
                        self.obstacle[job] = "node_fit"
                        break
                    if not self.may_place(1):
                        break
                    self.seat(job, index)

    def in_turn(self) -> list[str]:
        """Whom a round that had to stop did not come to: they did not lose."""
        return [
            job
            for job in self.names
            if job not in self.out
            and self.queues[self.queue(job)].is_open
            and not overused(self.of_queue(self.queue(job)), self.part[self.queue(job)])
        ]

    def code(self, job: str) -> str | None:
        """Why a job that still waits does; None if the round was full before it came to its slots."""
        if not self.queues[self.queue(job)].is_open:
            return "queue_closed"
        if any(key[0] == job for key in self.evicted):
            return "evicted"
        if self.facts[job].gang_min > 1 and not self.ready(job):
            return "gang_short"
        if job in self.obstacle:
            return self.obstacle[job]
        return None if self.for_nothing(job) else "queue_overused"


def _with(task: Task, **changes: Any) -> Task:
    return Task(
        task.name,
        task.job,
        request=changes.get("request", task.request),
        status=changes["status"],
        node=changes.get("node"),
        preemptable=task.preemptable,
        index=task.index,
        seq=task.seq,
    )


def _pipelined(now: Cluster, task: Task, node: str) -> Cluster:
    after = now.copied()
    after.status[task.name] = "pipelined"
    after.node[task.name] = NodeName(node)
    after.pipelined[task.name] = node
    return after
