"""Preempt and reclaim: running tasks go so that a job that lacks tasks of its gang gets places.

``preempt``  inside one queue: other jobs of the queue give, then each job among its own tasks, if it
             has less important ones
``reclaim``  between queues: a queue that has not all it deserves takes from others

Both serve the starving jobs of each queue in order, those with tasks enough for their gang, each
job a task at a time while it starves. A task takes the first node on which it fits as it is. Only
if there is none, node after node is tried with evictions: the candidates there are put in the order
of evictions, all voters are asked about the same list, and of those whom every voter granted as
many go, first to last, as it takes. If that is not enough the node is left as it was.

What a job wins is kept only if its gang can start with it; otherwise all of it is taken back. The
room that was freed belongs to the task it was freed for, at once: it is pipelined there.

How many tasks get places can be bounded. Then it all ends before a job whose gang lacks so many that
the bound could be exceeded; losers are then told as far as it went. One for which nobody can go, and
that was tried before, is passed over instead: it would be in line for ever.

A queue that is not open takes nothing, one that is not reclaimable gives nothing to other queues.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from ledger.core.fairshare.deserved import Deserved
from ledger.core.fairshare.gang import READY, TaskStatus
from ledger.core.fairshare.reasons import (
    EvictVeto,
    GangShort,
    Loser,
    NeverPreempts,
    NodeFit,
    QueueClosed,
    QueueLimit,
    QueueOverused,
    Reason,
    TooFewTasks,
    TooFewVictims,
    UnknownQueue,
)
from ledger.core.fairshare.resources import (
    JobName,
    QueueName,
    Resource,
    TaskName,
    named,
)
from ledger.core.fairshare.stage import GangJob, Scene, Stage, Task
from ledger.core.fairshare.victims import (
    PREEMPT_VOTERS,
    RECLAIM_VOTERS,
    Ballot,
    Party,
    Vote,
    Voter,
    conformance_vote,
    drf_vote,
    gang_vote,
    intersect,
    priority_vote,
    proportion_vote,
)
from ledger.units import NodeName

_PREEMPTED_FROM: Final[tuple[TaskStatus, ...]] = ("bound", "running")
_RECLAIMED_FROM: Final[tuple[TaskStatus, ...]] = ("running",)


@dataclass(frozen=True, slots=True)
class Eviction:
    """A task that has to go: for which task, and what each voter said of it."""

    task: TaskName
    job: JobName
    queue: QueueName
    node: NodeName
    taker: TaskName
    ballots: tuple[Ballot, ...]


@dataclass(frozen=True, slots=True)
class Evictions:
    """What came of preempt or reclaim.

    ``evicted`` and ``pipelined`` are in the order of the tasks' names; losers are the jobs that
    starved at the beginning and still do, in the order of theirs. ``shared`` and ``deserved`` as in
    a round.
    """

    shared: Deserved
    deserved: Mapping[QueueName, Mapping[Resource, Fraction]]
    evicted: tuple[Eviction, ...]
    pipelined: Mapping[TaskName, NodeName]
    losers: tuple[Loser, ...]
    full: bool = False
    """Whether it ended before a gang that could have exceeded the bound."""


def preempt(scene: Scene) -> Evictions:
    """Have jobs take from others of their queue, then among their own tasks."""
    play = _Play(Stage(scene), PREEMPT_VOTERS if scene.voters is None else scene.voters)
    takers = play.takers()
    for queue in play.stage.queue_order():
        for candidates in (_other_jobs, _own_tasks):
            for job in takers[queue]:
                evicts = candidates is _other_jobs or play.has_less_important(job)
                if not play.is_full(job):
                    play.serve(job, _Manner(candidates, evicts=evicts))
                elif evicts:
                    return play.result(full=True)
    return play.result()


def reclaim(scene: Scene, *, require_gang_pipelined: bool = True) -> Evictions:
    """Have queues take from others what they deserve; what falls short of a gang is kept on demand."""
    play = _Play(Stage(scene), RECLAIM_VOTERS if scene.voters is None else scene.voters)
    manner = _Manner(_other_queues, limit_first=True, keep_any=not require_gang_pipelined)
    stage, takers = play.stage, play.takers()
    for queue in stage.queue_order():
        for job in takers[queue]:
            if stage.measures[queue].is_overused(stage.queue_used[queue]):
                play.overused(job)
            elif play.is_full(job):
                return play.result(full=True)
            else:
                play.serve(job, manner)
    return play.result()


_OnNode = Callable[[int], list[Task]]
"""Who might have to go from a node, first to last."""


def _other_jobs(stage: Stage, taker: Task) -> _OnNode:
    """Candidates of preempt: the queue's other jobs."""
    return _in_queue(stage, taker, lambda task: task.job != taker.job)


def _own_tasks(stage: Stage, taker: Task) -> _OnNode:
    """Candidates inside a job: its less important tasks."""
    return _in_queue(
        stage, taker, lambda task: task.job == taker.job and task.priority < taker.priority
    )


def _in_queue(stage: Stage, taker: Task, may_lose: Callable[[Task], bool]) -> _OnNode:
    queue = stage.jobs[taker.job].queue
    # Who asks for nothing must not cost anybody anything.
    only_best_effort = stage.is_best_effort(taker)

    def on(place: int) -> list[Task]:
        return [
            task
            for task in stage.standing(place, queue, _PREEMPTED_FROM)
            if may_lose(task) and (stage.is_best_effort(task) or not only_best_effort)
        ]

    return on


def _other_queues(stage: Stage, taker: Task) -> _OnNode:
    """Candidates of reclaim: other queues, the last in the present order first."""
    mine = stage.jobs[taker.job].queue
    turn = {queue: -place for place, queue in enumerate(stage.queue_order())}

    def on(place: int) -> list[Task]:
        queues = [
            queue
            for queue in stage.queues_on(place)
            if queue != mine and stage.queues[queue].reclaimable
        ]
        return [
            task
            for queue in sorted(queues, key=turn.__getitem__)
            for task in stage.standing(place, queue, _RECLAIMED_FROM)
        ]

    return on


@dataclass(frozen=True, slots=True)
class _Manner:
    """How jobs are served: from whom they take, and what holds while they do.

    Inside a queue an eviction also makes room below the queue's own limit; between queues it does
    not, so there the limit comes first.
    """

    candidates: Callable[[Stage, Task], _OnNode]
    evicts: bool = True
    """False: nobody could have to go, so only what fits as it is gets a place."""
    limit_first: bool = False
    keep_any: bool = False


class _Tally:
    """What was found while nodes were tried for a task."""

    def __init__(self) -> None:
        self.candidates = 0
        self.refused: dict[str, int] = {}

    def reason(self, task: Task) -> Reason:
        if any(self.refused.values()):
            return EvictVeto(task.name, self.candidates, dict(sorted(self.refused.items())))
        return TooFewVictims(task.name, self.candidates)


class _Play:
    """Preempt or reclaim while it goes on."""

    def __init__(self, stage: Stage, voters: Sequence[Voter]) -> None:
        self.stage = stage
        self._voters = voters
        self._evicted: list[Eviction] = []
        self._pipelined: list[tuple[TaskName, NodeName]] = []
        self._reasons: dict[JobName, tuple[Reason, ...]] = {}

    def is_full(self, job: GangJob) -> bool:
        """Whether what the job lacks could exceed the bound."""
        most = self.stage.most_tasks
        lacks = job.gang_min - self.stage.count(job.name, READY | {"pipelined"})
        if most is None or lacks <= 0 or (self.stage.first_is_free and not self._pipelined):
            return False
        return len(self._pipelined) + lacks > most

    def has_less_important(self, job: GangJob) -> bool:
        """Whether the job has tasks that could have to go for one of its own that waits."""
        waiting = self.stage.pending(job.name)
        return bool(waiting) and any(
            task.preemptable
            and task.priority < waiting[0].priority
            and self.stage.does(task, _PREEMPTED_FROM)
            for task in self.stage.tasks_of[job.name]
        )

    def serve(self, job: GangJob, manner: _Manner) -> None:
        """Find places for the job's tasks while it starves; keep them if its gang can start."""
        stage = self.stage
        mark, evicted, pipelined = stage.mark(), len(self._evicted), len(self._pipelined)
        obstacles: list[Reason] = []
        for task in stage.pending(job.name):
            if not stage.state(job.name).starving:
                break
            in_the_way = self._obstacles_to(task, manner)
            obstacles = obstacles or in_the_way
        state = stage.state(job.name)
        found = stage.count(job.name, READY | {"pipelined"})
        if not (manner.keep_any or state.pipelined):
            stage.undo(mark)
            del self._evicted[evicted:]
            del self._pipelined[pipelined:]
        if state.starving:
            # With best-effort tasks that wait a gang can be complete while its job still starves.
            short = [] if state.pipelined else [GangShort(job.gang_min, found)]
            self._reasons.setdefault(job.name, (*short, *obstacles))

    def takers(self) -> dict[QueueName, list[GangJob]]:
        """The jobs that starve now and may take, queue by queue; the others are told why not."""
        may_take: dict[QueueName, list[GangJob]] = {}
        for queue, jobs in self.stage.starving().items():
            may_take[queue] = []
            for job in jobs:
                hindrance = self._hindrance(job)
                if hindrance is None:
                    may_take[queue].append(job)
                else:
                    self._reasons[job.name] = (hindrance,)
        return may_take

    def _hindrance(self, job: GangJob) -> Reason | None:
        """Why the job cannot take anything, whatever the others do."""
        stage = self.stage
        if not stage.queues[job.queue].is_open:
            return QueueClosed(job.queue)
        if not stage.state(job.name).valid:
            tasks = stage.count(job.name, READY | {"pipelined", "pending"})
            return TooFewTasks(job.gang_min, tasks)
        return None

    def overused(self, job: GangJob) -> None:
        """The job's queue has all it deserves."""
        stage = self.stage
        used = named(stage.resources, stage.queue_used[job.queue])
        self._reasons[job.name] = (QueueOverused(job.queue, stage.deserved[job.queue], used),)

    def result(self, *, full: bool = False) -> Evictions:
        """All that came of it."""
        stage = self.stage
        losers = [
            Loser(name, len(stage.pending(name)), reasons)
            for name, reasons in self._reasons.items()
            if stage.state(name).starving
        ]
        for job in stage.strangers:
            waiting = sum(1 for task in stage.tasks_of[job.name] if task.status == "pending")
            if waiting:
                losers.append(Loser(job.name, waiting, (UnknownQueue(job.queue),)))
        return Evictions(
            shared=stage.shared,
            deserved=stage.deserved,
            evicted=tuple(sorted(self._evicted, key=lambda eviction: eviction.task)),
            pipelined=dict(sorted(self._pipelined)),
            losers=tuple(sorted(losers, key=lambda loser: loser.job)),
            full=full,
        )

    def _obstacles_to(self, task: Task, manner: _Manner) -> list[Reason]:
        """Find a place for the task; what was in the way if there is none."""
        stage = self.stage
        if task.never_preempts:
            return [NeverPreempts(task.name)]
        needs = stage.needs(task)
        beyond = stage.beyond(task)
        if beyond is not None and manner.limit_first:
            return [self._limit(task, beyond)]
        if beyond is None:
            place = stage.room.first(needs)
            if place is not None:
                self._pipeline(task, place)
                return []
        tally = _Tally()
        if manner.evicts:
            candidates = manner.candidates(stage, task)
            for place in range(len(stage.room)):
                if self._make_room(task, place, candidates(place), tally):
                    return []
        if beyond is not None:
            return [self._limit(task, beyond), tally.reason(task)]
        nodes = len(stage.room)
        return [NodeFit(task.name, nodes, stage.room.lacking(needs)), tally.reason(task)]

    def _make_room(self, task: Task, place: int, candidates: Sequence[Task], tally: _Tally) -> bool:
        """Evict on this node what the task needs gone; whether it then had a place there."""
        stage = self.stage
        tally.candidates += len(candidates)
        if not candidates or not self._enough(task, place, candidates):
            return False
        ballots = self._ask(stage.party(task), [stage.party(one) for one in candidates])
        for voter, answers in ballots.items():
            refused = sum(1 for ballot in answers if not ballot.granted)
            tally.refused[voter] = tally.refused.get(voter, 0) + refused
        votes = [
            Vote(frozenset(ballot.task for ballot in answers if ballot.granted))
            for answers in ballots.values()
        ]
        granted = frozenset(intersect([one.name for one in candidates], votes))
        victims = [one for one in candidates if one.name in granted]
        if not self._enough(task, place, victims):
            return False

        mark, before = stage.mark(), len(self._evicted)
        for victim in victims:
            stage.evict(victim)
            self._evicted.append(
                Eviction(
                    task=victim.name,
                    job=victim.job,
                    queue=stage.jobs[victim.job].queue,
                    node=stage.room.name(place),
                    taker=task.name,
                    ballots=tuple(
                        ballot
                        for answers in ballots.values()
                        for ballot in answers
                        if ballot.task == victim.name
                    ),
                )
            )
            if stage.beyond(task) is None and stage.room.fits(stage.needs(task), place):
                self._pipeline(task, place)
                return True
        stage.undo(mark)
        del self._evicted[before:]
        return False

    def _pipeline(self, task: Task, place: int) -> None:
        self.stage.pipeline(task, place)
        self._pipelined.append((task.name, self.stage.room.name(place)))

    def _enough(self, task: Task, place: int, victims: Sequence[Task]) -> bool:
        """Whether the node has room for the task once all of these are gone."""
        free = self.stage.room.free(place)
        for victim in victims:
            for resource, amount in self.stage.needs(victim):
                free[resource] += amount
        return all(free[resource] >= amount for resource, amount in self.stage.needs(task))

    def _limit(self, task: Task, place: int) -> QueueLimit:
        stage = self.stage
        queue = stage.jobs[task.job].queue
        resource = stage.resources[place]
        return QueueLimit(
            task=task.name,
            resource=resource,
            deserved=stage.deserved[queue][resource],
            allocated=stage.queue_used[queue][place],
            request=task.request.get(resource, 0),
            tasks=1,
        )

    def _ask(self, taker: Party, candidates: Sequence[Party]) -> dict[Voter, list[Ballot]]:
        stage = self.stage
        answers: dict[Voter, list[Ballot]] = {}
        holdings = stage.holdings(taker, candidates)
        for voter in self._voters:
            match voter:
                case "conformance":
                    answers[voter] = conformance_vote(candidates)
                case "gang":
                    answers[voter] = gang_vote(candidates, stage.gangs(candidates))
                case "drf":
                    answers[voter] = drf_vote(
                        taker,
                        candidates,
                        holdings,
                        of_total=stage.of_total,
                        weights=stage.weights,
                    )
                case "priority":
                    answers[voter] = priority_vote(taker, candidates)
                case "proportion":
                    answers[voter] = proportion_vote(candidates, holdings, stage.measures)
        return answers
