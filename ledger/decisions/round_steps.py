"""How a round of jobs is played, step by step, each with what the one before it left.

allocate   turn by turn, by ``ledger.core.fairshare.round``; at most as many tasks as the policy says
preempt, reclaim   where the policy has them on, jobs that are short of their gang have others evicted
backfill   tasks that ask for nothing but a slot go wherever one is free, by job and index, if their
           queue is open and their gang complete

What queues deserve is settled once, by the first step. A round that is full ends there and goes on
in the next event. Tasks placed in a round are no victims in it, and tasks evicted in it wait for
the next.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, NamedTuple

from ledger.core.fairshare.eviction import Evictions
from ledger.core.fairshare.gang import TaskStatus
from ledger.core.fairshare.orders import JobRank
from ledger.core.fairshare.reasons import (
    Loser,
    NodeFit,
    RoundFull,
)
from ledger.core.fairshare.resources import (
    JobName,
    NamespaceName,
    QueueName,
    Resource,
    TaskName,
    added,
)
from ledger.core.fairshare.room import NO_LIMIT, Column, Ground, Plot
from ledger.core.fairshare.round import Round, RoundQuestion
from ledger.core.fairshare.stage import GangJob, Scene, Task
from ledger.decisions import contest as read_off
from ledger.decisions import spare, versions
from ledger.decisions.contest import Contest, amounts, takes
from ledger.facts import eviction
from ledger.facts.allocation import TaskRequest, Way
from ledger.facts.eviction import Ballot
from ledger.facts.policy import JobKey
from ledger.facts.policy import Voter as NamedVoter
from ledger.facts.workload import WorkloadUpserted
from ledger.reducers.tasks import QueueNamespace, RunningTask, Tasks, Use
from ledger.reducers.world import World
from ledger.units import ClusterName, NodeName, Subject

_RANKS: Final[Mapping[JobKey, JobRank]] = {"priority": "priority", "gang": "gang", "drf": "share"}
"""The policy's words for the core's."""

_INDEX_DIGITS: Final = 10
"""Enough for every index, so that the names of a job's tasks stand in the order of the indices."""

_Step = tuple[eviction.Way, bool, Sequence[NamedVoter], Callable[[Scene], Evictions]]
"""A way to make room: whether it is on, who votes, and how it is done."""


class TaskId(NamedTuple):
    """A task of a job."""

    subject: Subject
    task: int


class Place(NamedTuple):
    """Where a task came to be, and how."""

    node: NodeName
    way: Way
    share: Fraction | None


class Loss(NamedTuple):
    """From where a task had to go, and for whom."""

    node: NodeName
    way: eviction.Way
    taker: TaskId
    ballots: tuple[Ballot, ...]


@dataclass(slots=True)
class Came:
    """What came of a round so far, by job and index."""

    played: Round
    places: dict[Subject, dict[int, Place]] = field(default_factory=dict)
    losses: dict[Subject, dict[int, Loss]] = field(default_factory=dict)
    slotless: dict[Subject, NodeFit] = field(default_factory=dict)
    """Who asks for nothing but a slot, and found no further one."""
    count: int = 0
    """How many have places."""
    full: bool = False

    def place(self, task: TaskId, place: Place) -> None:
        """A task has a place."""
        self.places.setdefault(task.subject, {})[task.task] = place
        self.count += 1

    def lose(self, task: TaskId, loss: Loss) -> None:
        """A task has to go."""
        self.losses.setdefault(task.subject, {})[task.task] = loss

    def left(self, subject: Subject, tasks: Tasks) -> int:
        """How many tasks of a job wait now."""
        return tasks.waiting - len(self.places.get(subject, ())) + len(self.losses.get(subject, ()))


def play(world: World, contest: Contest) -> Came:
    """The round, step by step."""
    rules = versions.fairshare(world.policy.algorithms.fairshare)
    policy = world.policy.fairshare
    most = world.policy.round.max_tasks
    played = rules.allocate(
        RoundQuestion(
            total=contest.total,
            queues=contest.queues,
            jobs=read_off.in_turn(contest),
            nodes=contest.ground,
            running=read_off.running(contest, policy.scope),
            weights=contest.weights,
            charges=contest.charges,
            job_order=[_RANKS[key] for key in policy.job_order],
            max_tasks=most,
            scope=policy.scope,
            tells_behind=False,
        )
    )
    came = Came(played)
    for turn in played.turns:
        for index, node in turn.places:
            task = TaskId(Subject(turn.job), index)
            came.place(task, Place(node, "allocate", turn.namespace_share))
    came.full = any(not_reached(loser) for loser in played.losers)
    if came.full:
        return came
    steps: tuple[_Step, ...] = (
        ("preempt", policy.preempt, policy.voters.preempt, rules.preempt),
        ("reclaim", policy.reclaim, policy.voters.reclaim, rules.reclaim),
    )
    for way, is_on, voters, make_way in steps:
        if is_on and _takes_any(world, contest, came, way):
            made = make_way(_scene(world, contest, came, voters))
            _make_way(came, made, way)
            if made.full:
                return came
    _backfill(world, rules, contest, came, most)
    return came


def not_reached(loser: Loser) -> bool:
    """Whether the round was full before a job had its turn."""
    return any(isinstance(reason, RoundFull) for reason in loser.reasons)


def _takes_any(world: World, contest: Contest, came: Came, way: eviction.Way) -> bool:
    """Whether any job is still short of a gang that it has tasks for, and its queue may take.

    Where it is not, nobody has to look at all that runs.
    """
    open_queues = {queue.name for queue in contest.queues if queue.is_open}
    starving = {
        QueueName(job.tasks.queue)
        for subject, job in contest.jobs.items()
        if job.tasks.replicas - came.left(subject, job.tasks)
        < job.fact.gang_min
        <= job.tasks.replicas
    }
    takers = starving & open_queues
    if way == "preempt" or not takers:
        return bool(takers)
    return not takers <= _overused(world, contest, came)


def _overused(world: World, contest: Contest, came: Came) -> set[QueueName]:
    """The queues that have all they deserve."""
    held: dict[QueueName, list[Mapping[Resource, int]]] = {}
    for key, use in used_now(world, contest, came).items():
        held.setdefault(QueueName(key.queue), []).append(amounts(use))
    overused = set()
    for queue in came.played.shared.queues:
        parts, has = came.played.shared.of(queue), added(held.get(queue, []))
        if all(has.get(resource, 0) >= part for resource, part in parts.items()):
            overused.add(queue)
    return overused


def used_now(world: World, contest: Contest, came: Came) -> dict[QueueNamespace, Use]:
    """What namespaces hold in queues now."""
    jobs = world.jobs.of
    changes: list[tuple[QueueNamespace, TaskRequest, int]] = []
    for subject, places in came.places.items():
        changes.append((space_of(jobs[subject]), contest.jobs[subject].request, len(places)))
    for subject, losses in came.losses.items():
        changes += [
            (space_of(jobs[subject]), jobs[subject].running[index].request, -1) for index in losses
        ]
    return read_off.used_after(contest, changes)


def known_jobs(world: World) -> Iterator[tuple[Subject, Tasks]]:
    """All jobs of known queues with tasks that run or wait, by name."""
    for subject in sorted(world.jobs.of):
        tasks = world.jobs.of[subject]
        if tasks.queue in world.jobs.queues and (tasks.running or tasks.waiting):
            yield subject, tasks


def _scene(world: World, contest: Contest, came: Came, voters: Sequence[NamedVoter]) -> Scene:
    """The nodes with all that runs on them, as the steps before left it."""
    jobs: list[GangJob] = []
    tasks: list[Task] = []
    held: dict[NodeName, list[TaskRequest]] = {}
    there = {name for plot in contest.ground.plots for name in plot.names.all}
    for subject, state in known_jobs(world):
        fact = world.workload(subject)
        assert fact is not None, f"{subject} has tasks and is not there"
        contender = contest.jobs.get(subject)
        jobs.append(
            GangJob(
                name=JobName(subject),
                queue=QueueName(state.queue),
                namespace=NamespaceName(state.namespace),
                gang_min=fact.gang_min,
                priority=fact.priority,
                seq=world.jobs.created[subject],
                pool=None if contender is None else contender.pool,
            )
        )
        for index in range(state.replicas):
            tasks.append(_task(world, subject, fact, index, came))
            runs = state.running.get(index)
            if runs is not None and (node := NodeName(runs.node)) in there:
                held.setdefault(node, []).append(runs.request)
    return Scene(
        queues=contest.queues,
        jobs=jobs,
        nodes=_whole(world, contest, held),
        tasks=tasks,
        weights=read_off.weights(world, contest),
        voters=voters,
        total=contest.total,
        shared=came.played.shared,
        most_tasks=world.policy.round.max_tasks - came.count,
        first_is_free=came.count == 0,
    )


def _task(world: World, subject: Subject, fact: WorkloadUpserted, index: int, came: Came) -> Task:
    """A task as the steps before left it."""
    state = world.jobs.of[subject]
    runs: RunningTask | None = state.running.get(index)
    place = came.places.get(subject, {}).get(index)
    loss = came.losses.get(subject, {}).get(index)
    status: TaskStatus = "pending"
    node = None
    if place is not None:
        status, node = "allocated", place.node
    elif loss is not None:
        status, node = "releasing", loss.node
    elif runs is not None:
        status, node = "running", NodeName(runs.node)
    elif index in state.finished:
        status = "succeeded"
    return Task(
        name=_task_name(TaskId(subject, index)),
        job=JobName(subject),
        request=amounts(takes(fact) if runs is None else runs.request),
        status=status,
        node=node,
        preemptable=fact.preemptable,
        index=index,
        seq=world.jobs.created[subject],
    )


def _whole(
    world: World, contest: Contest, held: Mapping[NodeName, Sequence[TaskRequest]]
) -> Ground:
    """The nodes with what they have for jobs: what is free, and what they hold."""
    return replace(
        contest.ground, plots=[_with_held(world, plot, held) for plot in contest.ground.plots]
    )


def _with_held(world: World, plot: Plot, held: Mapping[NodeName, Sequence[TaskRequest]]) -> Plot:
    columns = {resource: [*plot.amounts[resource].amounts] for resource in spare.RESOURCES}
    slots = [*plot.slots.amounts]
    for place, name in enumerate(plot.names.all):
        if name not in held:
            continue
        free, tasks = spare.of(world, name), held[name]
        columns[spare.CPU][place] = max(0, free.cpu + sum(one.cpu for one in tasks))
        columns[spare.MEMORY][place] = max(0, free.memory + sum(one.memory for one in tasks))
        columns[spare.STORAGE][place] = max(0, free.storage + sum(one.storage for one in tasks))
        if free.pods is not None:
            slots[place] = max(0, free.pods + len(tasks))
    amounts = {resource: Column(column) for resource, column in columns.items()}
    return Plot(plot.names, amounts, Column(slots))


def _make_way(came: Came, made: Evictions, way: eviction.Way) -> None:
    """Take in who had to go, and who came in their place."""
    for gone in made.evicted:
        ballots = tuple(
            Ballot(ballot.voter, ballot.rule, ballot.left, ballot.right, ballot.before)
            for ballot in gone.ballots
        )
        came.lose(_identity(gone.task), Loss(gone.node, way, _identity(gone.taker), ballots))
    for task, node in made.pipelined.items():
        came.place(_identity(task), Place(node, way, None))
    came.full |= made.full


def _backfill(
    world: World, rules: versions.FairshareRules, contest: Contest, came: Came, most: int
) -> None:
    """Place tasks that ask for nothing wherever a slot is free."""
    open_queues = {queue.name for queue in contest.queues if queue.is_open}
    ready = [
        job
        for job in contest.jobs.values()
        if not amounts(job.request)
        and job.tasks.queue in open_queues
        and came.left(job.subject, job.tasks)
        # Who was evicted has no place and waits for the next round: the gang is without them.
        and job.tasks.replicas - len(came.losses.get(job.subject, ())) >= job.fact.gang_min
    ]
    if not ready:
        return
    pools = [job.pool for job in ready if job.pool is not None]
    room = rules.room(_slots_left(world, contest, came), pools)
    for job in ready:
        needs = room.needs((), job.pool)
        for index in job.waiting:
            if index in came.places.get(job.subject, ()):
                continue
            node = room.first(needs)
            if node is None:
                came.slotless[job.subject] = NodeFit(index, len(room), room.lacking(needs))
                break
            if came.count >= most:
                came.full = True
                return
            room.take(needs, node)
            came.place(TaskId(job.subject, index), Place(room.name(node), "backfill", None))


def _slots_left(world: World, contest: Contest, came: Came) -> Ground:
    """The nodes with nothing but the slots that are left."""
    taken: Counter[NodeName] = Counter()
    for places in came.places.values():
        taken.update(place.node for place in places.values())
    for losses in came.losses.values():
        taken.subtract(loss.node for loss in losses.values())
    return replace(
        contest.ground, plots=[_only_slots(world, plot, taken) for plot in contest.ground.plots]
    )


def _only_slots(world: World, plot: Plot, taken: Mapping[NodeName, int]) -> Plot:
    slots = [*plot.slots.amounts]
    for place, name in enumerate(plot.names.all):
        if slots[place] != NO_LIMIT and taken.get(name):
            pods = spare.of(world, name).pods
            assert pods is not None, f"{name} counts its tasks"
            slots[place] = max(0, pods - taken[name])
    return Plot(plot.names, {}, Column(slots))


def space_of(tasks: Tasks) -> QueueNamespace:
    """The namespace in its queue that a job is of."""
    return QueueNamespace(tasks.queue, tasks.namespace)


def _task_name(task: TaskId) -> TaskName:
    return TaskName(f"{task.subject}/{task.task:0{_INDEX_DIGITS}}")


def _identity(name: TaskName) -> TaskId:
    subject, _, index = name.rpartition("/")
    return TaskId(Subject(subject), int(index))


def cluster_and_node(name: NodeName) -> tuple[ClusterName, NodeName]:
    """A node of the ground, taken apart."""
    cluster, _, node = name.partition("/")
    return ClusterName(cluster), NodeName(node)
