"""A round of jobs: waiting tasks get places, others may have to go for them, who waits is told why.

The steps of a round, each with what the one before it left:

allocate   turn by turn, by ``ledger.core.fairshare.round``; at most as many tasks as the policy says
preempt, reclaim   where the policy has them on, jobs that are short of their gang have others evicted
backfill   tasks that ask for nothing but a slot go wherever one is free, by job and index, if their
           queue is open and their gang complete

What queues deserve is settled once, by the first step. A round that is full ends there and goes on
in the next event. Tasks placed in a round are no victims in it, and tasks evicted in it wait for
the next.

A round that places or evicts makes one decision for each job and kind: evictions first, then
allocations, each by subject. Then come the jobs that wait for another reason than they were told
last, as refusals:

``queue_closed``    the queue is not open
``evicted``         in this round
``gang_short``      fewer tasks have places, are done, or ask for nothing than the gang needs
``queue_limit``     in its last turn, with a task the queue would hold more than it deserves
``node_fit``        in its last turn, no node had room for a task
``queue_overused``  else: the queue has all it deserves

Whoever was not reached because the round was full is told nothing: it is not over for them.

Where the policy has a ``history``, what was used before counts on top of what is held, in the order of
namespaces and nowhere else, and the first decision tells what it counts for. That it fades makes no
round due: it changes who is next, and nobody is while there is no room.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from operator import add
from typing import Final, NamedTuple

from ledger.core.fairshare.deserved import Claim
from ledger.core.fairshare.eviction import Evictions
from ledger.core.fairshare.gang import TaskStatus
from ledger.core.fairshare.orders import JobRank, ShareOfTotal
from ledger.core.fairshare.reasons import (
    Loser,
    NodeFit,
    QueueLimit,
    QueueOverused,
    Reason,
    RoundFull,
)
from ledger.core.fairshare.resources import (
    JobName,
    NamespaceName,
    QueueName,
    Resource,
    TaskName,
    Vector,
    added,
    along,
)
from ledger.core.fairshare.room import NO_LIMIT, SLOTS, Ground
from ledger.core.fairshare.round import Round, RoundQuestion
from ledger.core.fairshare.stage import GangJob, Scene, Task
from ledger.decisions import contest as read_off
from ledger.decisions import versions
from ledger.decisions.answer import REFUSED, Answered
from ledger.decisions.contest import Contender, Contest, amounts, takes
from ledger.decisions.spare import Spare
from ledger.facts import eviction
from ledger.facts.allocation import Allocation, Placed, TaskRequest, Way
from ledger.facts.canonical import Plain, canonical, digest_of, together
from ledger.facts.eviction import Ballot, Evicted, Eviction
from ledger.facts.fair_share import NamespaceShare, PastCharge, RoundTold
from ledger.facts.policy import JobKey
from ledger.facts.policy import Voter as NamedVoter
from ledger.facts.refusal import Refusal
from ledger.facts.workload import WorkloadUpserted
from ledger.reducers.jobs import WAITS_FOR_ROUND
from ledger.reducers.tasks import NO_USE, QueueNamespace, RunningTask, Tasks, Use
from ledger.reducers.world import Question, World
from ledger.units import ClusterName, NodeName, Subject

SYSTEM: Final = "fairshare"

QUEUE_CLOSED: Final = "queue_closed"
EVICTED: Final = "evicted"
GANG_SHORT: Final = "gang_short"
QUEUE_OVERUSED: Final = "queue_overused"

_RANKS: Final[Mapping[JobKey, JobRank]] = {"priority": "priority", "gang": "gang", "drf": "share"}
"""The policy's words for the core's."""

_COUNTED: Final = frozenset({*read_off.RESOURCES, SLOTS})

_INDEX_DIGITS: Final = 10
"""Enough for every index, so that the names of a job's tasks stand in the order of the indices."""

_WAYS: Final[tuple[Way, ...]] = ("allocate", "preempt", "reclaim", "backfill")


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


class _Wants(NamedTuple):
    """What a namespace holds in a queue, and what with all that waits there."""

    namespace: str
    weight: int
    held: Vector
    wanted: Vector
    weighted: Fraction
    """The dominant share of what it holds, per weight."""


_NOTHING: Final[Vector] = (0,) * len(read_off.RESOURCES)


@dataclass(slots=True)
class _Came:
    """What came of a round so far, by job and index."""

    played: Round
    places: dict[Subject, dict[int, Place]] = field(default_factory=dict)
    losses: dict[Subject, dict[int, Loss]] = field(default_factory=dict)
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


def answer(world: World) -> Sequence[Answered]:
    """Play the round that closes now; its decisions in their order, none if nothing is new."""
    contest = read_off.read(world)
    came = _played(world, contest)
    number = world.jobs.rounds.closed + 1
    outcomes = [*_evictions(world, came, number), *_allocations(contest, came, number)]
    refusals = list(_refusals(world, contest, came))
    if not (outcomes or refusals):
        return ()
    inputs = digest_of(spelled(world, contest)).hex()
    version = world.policy.algorithms.fairshare
    if outcomes:
        told = RoundTold(number, _shares(world, contest, came), _past_uses(contest))
        subject, branch, outcome = outcomes[0]
        outcomes[0] = subject, branch, replace(outcome, round=told)
    return [
        *(
            Answered(
                subject, SYSTEM, version, inputs, branch, outcome, _moved(world, came, outcome)
            )
            for subject, branch, outcome in outcomes
        ),
        *(
            Answered(subject, SYSTEM, version, inputs, REFUSED, refusal, 0)
            for subject, refusal in refusals
        ),
    ]


def spelled(world: World, contest: Contest) -> bytes:
    """What a round is decided from, as its decisions' ``inputs`` digests it."""
    policy = world.policy.fairshare
    told: dict[str, Plain] = {
        "job_order": policy.job_order,
        "max_tasks": world.policy.round.max_tasks,
        "scope": policy.scope,
        "preempt": policy.voters.preempt if policy.preempt else None,
        "reclaim": policy.voters.reclaim if policy.reclaim else None,
        "running": _running_spelled(world) if policy.preempt or policy.reclaim else None,
    }
    members = {name: canonical(value) for name, value in told.items()}
    return together({**members, "contest": read_off.spelled(contest)})


def _running_spelled(world: World) -> Plain:
    """Who might have to go: all that runs in known queues."""
    return [
        [subject, [[index, *tasks.running[index]] for index in sorted(tasks.running)]]
        for subject, tasks in _known_jobs(world)
    ]


def _played(world: World, contest: Contest) -> _Came:
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
    came = _Came(played)
    for turn in played.turns:
        for index, node in turn.places:
            task = TaskId(Subject(turn.job), index)
            came.place(task, Place(node, "allocate", turn.namespace_share))
    came.full = any(_not_reached(loser) for loser in played.losers)
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
    _backfill(rules, contest, came, most)
    return came


def _not_reached(loser: Loser) -> bool:
    return any(isinstance(reason, RoundFull) for reason in loser.reasons)


def _takes_any(world: World, contest: Contest, came: _Came, way: eviction.Way) -> bool:
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


def _overused(world: World, contest: Contest, came: _Came) -> set[QueueName]:
    """The queues that have all they deserve."""
    held: dict[QueueName, list[Mapping[Resource, int]]] = {}
    for key, use in _used(world, contest, came).items():
        held.setdefault(QueueName(key.queue), []).append(amounts(use))
    overused = set()
    for queue in came.played.shared.queues:
        parts, has = came.played.shared.of(queue), added(held.get(queue, []))
        if all(has.get(resource, 0) >= part for resource, part in parts.items()):
            overused.add(queue)
    return overused


def _used(world: World, contest: Contest, came: _Came) -> dict[QueueNamespace, Use]:
    """What namespaces hold in queues now."""
    jobs = world.jobs.of
    changes: list[tuple[QueueNamespace, TaskRequest, int]] = []
    for subject, places in came.places.items():
        changes.append((_of(jobs[subject]), contest.jobs[subject].request, len(places)))
    for subject, losses in came.losses.items():
        changes += [
            (_of(jobs[subject]), jobs[subject].running[index].request, -1) for index in losses
        ]
    return read_off.used_after(contest, changes)


def _known_jobs(world: World) -> Iterator[tuple[Subject, Tasks]]:
    """All jobs of known queues with tasks that run or wait, by name."""
    for subject in sorted(world.jobs.of):
        tasks = world.jobs.of[subject]
        if tasks.queue in world.jobs.queues and (tasks.running or tasks.waiting):
            yield subject, tasks


def _scene(world: World, contest: Contest, came: _Came, voters: Sequence[NamedVoter]) -> Scene:
    """The nodes with all that runs on them, as the steps before left it."""
    jobs: list[GangJob] = []
    tasks: list[Task] = []
    held: dict[NodeName, list[TaskRequest]] = {}
    there = {*contest.ground.names}
    for subject, state in _known_jobs(world):
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
        nodes=_whole(contest, held),
        tasks=tasks,
        weights=contest.weights,
        voters=voters,
        total=contest.total,
        shared=came.played.shared,
        most_tasks=world.policy.round.max_tasks - came.count,
        first_is_free=came.count == 0,
    )


def _task(world: World, subject: Subject, fact: WorkloadUpserted, index: int, came: _Came) -> Task:
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


def _whole(contest: Contest, held: Mapping[NodeName, Sequence[TaskRequest]]) -> Ground:
    """The nodes with what they have for jobs: what is free, and what they hold."""
    ground = contest.ground
    columns = {resource: [*ground.amounts[resource]] for resource in read_off.RESOURCES}
    slots = [*ground.slots]
    for place, name in enumerate(ground.names):
        if name not in held:
            continue
        spare, tasks = _spare(contest, name), held[name]
        columns[read_off.CPU][place] = max(0, spare.cpu + sum(one.cpu for one in tasks))
        columns[read_off.MEMORY][place] = max(0, spare.memory + sum(one.memory for one in tasks))
        columns[read_off.STORAGE][place] = max(0, spare.storage + sum(one.storage for one in tasks))
        if spare.pods is not None:
            slots[place] = max(0, spare.pods + len(tasks))
    return replace(ground, amounts=columns, slots=slots)


def _spare(contest: Contest, node: NodeName) -> Spare:
    cluster, _ = _cluster_and_node(node)
    return contest.nodes[cluster].of(node)


def _make_way(came: _Came, made: Evictions, way: eviction.Way) -> None:
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


def _backfill(rules: versions.FairshareRules, contest: Contest, came: _Came, most: int) -> None:
    """Place tasks that ask for nothing wherever a slot is free."""
    open_queues = {queue.name for queue in contest.queues if queue.is_open}
    ready = [
        job
        for job in contest.jobs.values()
        if not amounts(job.request)
        and job.tasks.queue in open_queues
        and came.left(job.subject, job.tasks)
        and job.tasks.replicas >= job.fact.gang_min
    ]
    if not ready:
        return
    pools = [job.pool for job in ready if job.pool is not None]
    room = rules.room(_slots_left(contest, came), pools)
    for job in ready:
        needs = room.needs((), job.pool)
        for index in job.waiting:
            if index in came.places.get(job.subject, ()):
                continue
            node = room.first(needs)
            if node is None:
                break
            if came.count >= most:
                came.full = True
                return
            room.take(needs, node)
            came.place(TaskId(job.subject, index), Place(room.names[node], "backfill", None))


def _slots_left(contest: Contest, came: _Came) -> Ground:
    """The nodes with nothing but the slots that are left."""
    taken: Counter[NodeName] = Counter()
    for places in came.places.values():
        taken.update(place.node for place in places.values())
    for losses in came.losses.values():
        taken.subtract(loss.node for loss in losses.values())
    slots = [*contest.ground.slots]
    for place, name in enumerate(contest.ground.names):
        if slots[place] != NO_LIMIT and taken[name]:
            pods = _spare(contest, name).pods
            assert pods is not None, f"{name} counts its tasks"
            slots[place] = max(0, pods - taken[name])
    return replace(contest.ground, amounts={}, slots=slots)


def _evictions(
    world: World, came: _Came, number: int
) -> Iterator[tuple[Subject, str, Allocation | Eviction]]:
    for subject, gone in sorted(came.losses.items()):
        fact = world.workload(subject)
        assert fact is not None
        losses = sorted(gone.items())
        yield (
            subject,
            "+".join(sorted({loss.way for _, loss in losses})),
            Eviction(
                namespace=fact.namespace,
                job=fact.name,
                uid=fact.uid,
                queue=world.jobs.of[subject].queue,
                tasks=tuple(
                    Evicted(
                        index,
                        *_cluster_and_node(loss.node),
                        loss.way,
                        loss.taker.subject,
                        loss.taker.task,
                        loss.ballots,
                    )
                    for index, loss in losses
                ),
                round=RoundTold(number),
            ),
        )


def _allocations(
    contest: Contest, came: _Came, number: int
) -> Iterator[tuple[Subject, str, Allocation | Eviction]]:
    for subject, came_to in sorted(came.places.items()):
        job = contest.jobs[subject]
        places = sorted(came_to.items())
        ways = {place.way for place in came_to.values()}
        yield (
            subject,
            "+".join(way for way in _WAYS if way in ways),
            Allocation(
                namespace=job.fact.namespace,
                job=job.fact.name,
                uid=job.fact.uid,
                queue=job.tasks.queue,
                request=job.request,
                tasks=tuple(
                    Placed(index, *_cluster_and_node(place.node), place.way, place.share)
                    for index, place in places
                ),
                waiting=came.left(subject, job.tasks),
                full=came.full,
                round=RoundTold(number),
            ),
        )


def _refusals(world: World, contest: Contest, came: _Came) -> Iterator[tuple[Subject, Refusal]]:
    """Whoever waits for another reason than they were told last, by name."""
    losers = {Subject(loser.job): loser for loser in came.played.losers}
    closed = {queue.name for queue in contest.queues if not queue.is_open}
    for subject in sorted({*losers, *came.losses}):
        waiting = came.left(subject, world.jobs.of[subject])
        if not waiting:
            continue
        loser = losers.get(subject)
        if world.jobs.of[subject].queue in closed:
            reason, detail = QUEUE_CLOSED, {}
        elif subject in came.losses:
            reason, detail = EVICTED, {"tasks": len(came.losses[subject])}
        else:
            assert loser is not None
            if _not_reached(loser):
                continue
            reason, detail = _why(loser, world.jobs.of[subject], waiting, contest.jobs[subject])
        open_refusal = world.refusals.get(Question("allocation", subject))
        if open_refusal is not None and open_refusal.refusal.reason == reason:
            continue
        yield (
            subject,
            Refusal(
                wanted="allocation",
                reason=reason,
                waits_for=WAITS_FOR_ROUND,
                detail=tuple(sorted({**detail, "waiting": waiting}.items())),
                because=("round",),
            ),
        )


def _why(loser: Loser, tasks: Tasks, waiting: int, job: Contender) -> tuple[str, dict[str, int]]:
    """Why a job waits that was reached, as a code, and the numbers behind it."""
    ready = tasks.replicas if not amounts(job.request) else tasks.replicas - waiting
    if ready < job.fact.gang_min:
        return GANG_SHORT, {"gang_min": job.fact.gang_min, "ready": ready} | _first_obstacle(loser)
    if loser.last_obstacle is not None:
        return _told(loser.last_obstacle)
    overused = [reason for reason in loser.reasons if isinstance(reason, QueueOverused)]
    return _told(overused[0]) if overused else (QUEUE_OVERUSED, {})


def _first_obstacle(loser: Loser) -> dict[str, int]:
    return {} if loser.last_obstacle is None else _told(loser.last_obstacle)[1]


def _told(reason: Reason) -> tuple[str, dict[str, int]]:
    """What decided, as a code, and the numbers behind it."""
    match reason:
        case QueueLimit():
            return reason.code, {
                f"allocated {reason.resource}": reason.allocated,
                **_deserved(reason.resource, reason.deserved),
                f"request {reason.resource}": reason.request,
            }
        case NodeFit():
            return reason.code, {
                "nodes": reason.nodes,
                **{_lacking(name): count for name, count in reason.lacking.items()},
            }
        case QueueOverused():
            told: dict[str, int] = {}
            for resource, amount in reason.allocated.items():
                if amount or reason.deserved[resource]:
                    told |= _deserved(resource, reason.deserved[resource])
                    told[f"allocated {resource}"] = amount
            return reason.code, told
        case _:
            return reason.code, {}


def _lacking(resource: Resource) -> str:
    """What so many nodes have too little of; or they are out of the job's pool."""
    return f"lacking {resource}" if resource in _COUNTED else "not allowed"


def _deserved(resource: Resource, deserved: Fraction) -> dict[str, int]:
    """An exact part as its whole numbers; the second is left out where it is 1."""
    told = {f"deserved {resource}": deserved.numerator}
    if deserved.denominator != 1:
        told[f"deserved {resource} in parts of"] = deserved.denominator
    return told


def _shares(world: World, contest: Contest, came: _Came) -> tuple[NamespaceShare, ...]:
    """How namespaces stand in their queues, where that is not what was told last."""
    rules = versions.fairshare(world.policy.algorithms.fairshare)
    before = world.jobs.shares
    rows: list[NamespaceShare] = []
    now: set[tuple[str, str, str]] = set()
    for share in _standing(world, contest, came, rules):
        key = _key(share)
        now.add(key)
        if before.get(key) != share:
            rows.append(share)
    rows += [
        share._replace(requested=0, deserved=Fraction(0), allocated=0, weighted_share=Fraction(0))
        for key, share in before.items()
        if key not in now
    ]
    return tuple(sorted(rows, key=_key))


def _past_uses(contest: Contest) -> tuple[PastCharge, ...]:
    """What past use counted for, of everybody and everything for which it was anything."""
    return tuple(
        PastCharge(queue, namespace, resource, charged[resource])
        for (queue, namespace), charged in sorted(contest.charges.items())
        for resource in sorted(charged)
    )


def _standing(
    world: World, contest: Contest, came: _Came, rules: versions.FairshareRules
) -> Iterator[NamespaceShare]:
    """Every namespace in every queue, in every resource that it holds or waits for."""
    jobs = world.jobs.of
    waiting: dict[QueueNamespace, Vector] = {}
    for subject in sorted({*contest.jobs, *came.losses}):
        fact = world.workload(subject)
        assert fact is not None
        tasks = jobs[subject]
        more = [came.left(subject, tasks) * amount for amount in takes(fact)]
        key = _of(tasks)
        waiting[key] = tuple(map(add, waiting.get(key, _NOTHING), more))
    used = _used(world, contest, came)
    of_total = ShareOfTotal(
        along(read_off.RESOURCES, contest.total), max(contest.weights.values(), default=1)
    )
    by_queue: dict[str, list[_Wants]] = {}
    for key in sorted({*used, *waiting}):
        use = used.get(key, NO_USE)
        held = (use.cpu, use.memory, use.storage)
        wanted = tuple(map(add, held, waiting.get(key, _NOTHING)))
        weight = contest.weights[NamespaceName(key.namespace)]
        wants = _Wants(key.namespace, weight, held, wanted, of_total.share(held, weight))
        by_queue.setdefault(key.queue, []).append(wants)
    for queue, inside in by_queue.items():
        parts = came.played.shared.of(QueueName(queue))
        for place, resource in enumerate(read_off.RESOURCES):
            asking = [one for one in inside if one.wanted[place]]
            if not asking:
                continue
            claims = [Claim(one.weight, 0, one.wanted[place]) for one in asking]
            for one, part in zip(asking, rules.fill(parts[resource], claims).parts, strict=True):
                yield NamespaceShare(
                    queue,
                    one.namespace,
                    resource,
                    one.weight,
                    one.wanted[place],
                    part,
                    one.held[place],
                    one.weighted,
                )


def _moved(world: World, came: _Came, outcome: Allocation | Eviction) -> int:
    """How many tasks came to other nodes than those they were lost with since the last decision."""
    subject = Subject(f"{outcome.namespace}/{outcome.job}")
    # Whoever is evicted in this round has that decision in between.
    if isinstance(outcome, Eviction) or subject in came.losses:
        return 0
    lost = world.jobs.of[subject].lost
    there = Counter(Subject(f"{placed.cluster}/{placed.node}") for placed in outcome.tasks)
    more = sum(max(0, count - lost.get(node, 0)) for node, count in there.items())
    fewer = sum(max(0, count - there[node]) for node, count in lost.items())
    return min(more, fewer)


def _key(share: NamespaceShare) -> tuple[str, str, str]:
    return share.queue, share.namespace, share.resource


def _of(tasks: Tasks) -> QueueNamespace:
    return QueueNamespace(tasks.queue, tasks.namespace)


def _task_name(task: TaskId) -> TaskName:
    return TaskName(f"{task.subject}/{task.task:0{_INDEX_DIGITS}}")


def _identity(name: TaskName) -> TaskId:
    subject, _, index = name.rpartition("/")
    return TaskId(Subject(subject), int(index))


def _cluster_and_node(name: NodeName) -> tuple[ClusterName, NodeName]:
    cluster, _, node = name.partition("/")
    return ClusterName(cluster), NodeName(node)
