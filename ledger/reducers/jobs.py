"""What happens to jobs and their tasks, and to the queues and quotas that they compete by.

A job with a queue has as many tasks as replicas. Fewer replicas end the highest indices, and those
that were finished are forgotten; more of them wait. What runs keeps the request it was placed with,
and counts in the queue that the job is in now. A task whose node is gone, or has another life, waits
again. A job that goes, or gets another uid, ends with all its tasks, by the event itself. One that is
taken out of its queue has none meanwhile, but which of them are finished is kept as long as its life.

Nobody waits for a round in a queue that is not known: such a job is asked about at once, and refused
(``ledger.decisions.unknown_queue``) until the queue is there. What else it waits for is the business of rounds
(``ledger.reducers.rounds``), and all that changes here and that they read is told to them.

What people say of queues and quotas and cannot be is an incident while they say so: a weight that is none, and
guarantees that are more than there is. How much there is only rounds find out, so the last one that told is
believed; before the first of them nothing is said.
"""

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from immutables import Map

from ledger.facts.allocation import Allocation
from ledger.facts.cluster import NodeUpserted
from ledger.facts.decision import Decision
from ledger.facts.eviction import Eviction
from ledger.facts.fair_share import USUAL_WEIGHT, RoundTold
from ledger.facts.quota import QueueRemoved, QueueUpserted, QuotaRemoved, QuotaUpserted
from ledger.facts.refusal import Refusal
from ledger.facts.workload import WorkloadUpserted
from ledger.reducers import incidents, objects, past_use, rounds
from ledger.reducers.book import Change
from ledger.reducers.incidents import Contradiction, Numbers
from ledger.reducers.objects import Key
from ledger.reducers.replacing import replace
from ledger.reducers.rooms import in_use, with_holdings
from ledger.reducers.tasks import (
    ANYWHERE,
    NO_USE,
    QueueNamespace,
    RunningTask,
    Tasks,
    Use,
    Where,
    holding,
    queue_of,
    used_with,
    where,
)
from ledger.reducers.world import (
    Account,
    Causes,
    Ended,
    OpenRefusal,
    Question,
    Released,
    World,
)
from ledger.units import ClusterName, NodeName, Position, Subject

WAITS_FOR_QUEUE: Final = "queue"
"""For a queue that is not known."""

WAITS_FOR_ROUND: Final = "round"
"""For another round of jobs."""

_Whose = TypeVar("_Whose", str, QueueNamespace)

_NOBODY: Final[Map[Subject, None]] = Map()
_NO_COUNTS: Final[Map[Subject, int]] = Map()
_NONE: Final[Map[int, None]] = Map()
_EDITED: Final[Causes] = frozenset({"edited"})
_OTHER_QUEUES: Final[Causes] = frozenset({"queue"})


def upserted(
    world: World, subject: Subject, before: WorkloadUpserted | None, fact: WorkloadUpserted
) -> World:
    """A workload came or was edited; ``before`` is what the same life said."""
    if before is None:
        world = removed(world, subject)
        created = world.jobs.created.set(subject, Position(world.position - 1))
        world = replace(world, jobs=replace(world.jobs, created=created))
    queue = queue_of(fact)
    if queue is None:
        return _set_aside(world, subject, fact.replicas)
    was = world.jobs.of.get(subject)
    if was is None:
        done = _below(world.jobs.done.get(subject, _NONE), fact.replicas)
        world = _done_aside(world, subject, _NONE)
        tasks = Tasks(queue, fact.namespace, fact.replicas, Map(), done, NO_USE, Map())
        world = _put(world, subject, tasks)
        world = _changed(world, tasks)
    else:
        world = _edited(world, subject, was, queue, fact.replicas)
        assert before is not None, f"{subject} has tasks of another life"
        if not _reads_the_same(world, subject, before, fact):
            world = _changed(_changed(world, was), world.jobs.of[subject])
    world = _chooses(world, subject, where(fact))
    world = _knows_its_queue(_nothing_waits(world, subject), subject)
    return _asked(world, subject, _EDITED)


def removed(world: World, subject: Subject) -> World:
    """A life of a workload is over."""
    world = _done_aside(_without(world, subject), subject, _NONE)
    if subject not in world.jobs.created:
        return world
    return replace(world, jobs=replace(world.jobs, created=world.jobs.created.delete(subject)))


def finished(world: World, subject: Subject, task: int | None) -> World:
    """A task of a job in force has ended, or all of them have."""
    tasks = world.jobs.of.get(subject)
    if tasks is None:
        return _finished_aside(world, subject, task)
    ended = range(tasks.replicas) if task is None else (task,)
    anew = [index for index in ended if index not in tasks.finished]
    if not anew:
        return replace(world, last_effect="no_effect")
    world = _changed(world, tasks)
    world = _released(world, subject, [index for index in anew if index in tasks.running])
    tasks = world.jobs.of[subject]
    marks = tasks.finished.mutate()
    for index in anew:
        marks[index] = None
    lost = _not_among(tasks.lost, anew)
    world = _put(world, subject, replace(tasks, finished=marks.finish(), lost=lost))
    return _nothing_waits(world, subject)


def nodes_lost(world: World, nodes: Iterable[Subject]) -> World:
    """What runs on these nodes does not any more."""
    for node in nodes:
        for subject in sorted(world.jobs.on.get(node, _NO_COUNTS)):
            running = world.jobs.of[subject].running
            there = sorted(index for index in running if running[index].node == node)
            world = _lost(_released(world, subject, there), subject, node, there)
            world = _asked(world, subject, _OTHER_QUEUES)
    return world


def queue_upserted(world: World, subject: Subject, fact: QueueUpserted, *, source: str) -> World:
    """A queue came or changed; another life of it is as old as the event."""
    told = objects.upsert(world.objects, Key("queue", subject), fact, source=source, now=world.now)
    world = replace(world, objects=told.objects, last_effect=told.effect)
    if told.effect != "applied":
        return world
    jobs = world.jobs
    if told.before is None:
        contenders = jobs.contenders
        if fact.name not in jobs.queues:
            contenders += len(jobs.waiting.get(fact.name, _NOBODY))
        known = jobs.queues.set(fact.name, Position(world.position - 1))
        world = replace(world, jobs=replace(jobs, queues=known, contenders=contenders))
        for job in sorted(jobs.waiting.get(fact.name, _NOBODY)):
            world = _not_asked(_knows_its_queue(world, job), job)
    elif replace(fact, revision=told.before.revision) == told.before:
        return world
    return rounds.changed(_guaranteed(world))


def queue_removed(world: World, subject: Subject, fact: QueueRemoved, *, source: str) -> World:
    """A queue is gone: who waits in it waits for it."""
    told = objects.remove(world.objects, Key("queue", subject), fact, source=source, now=world.now)
    world = replace(world, objects=told.objects, last_effect=told.effect)
    if told.effect != "applied":
        return world
    jobs = world.jobs
    waiting = jobs.waiting.get(fact.name, _NOBODY)
    world = replace(
        world,
        jobs=replace(
            jobs,
            queues=jobs.queues.delete(fact.name),
            contenders=jobs.contenders - len(waiting),
        ),
    )
    for job in sorted(waiting):
        world = _asked(world, job, _OTHER_QUEUES)
    return rounds.changed(_guaranteed(world))


def infeasible(world: World) -> Numbers:
    """Of which resources queues are guaranteed more than a round told last that there is, and by how much."""
    total = world.jobs.told_total
    if total is None:
        return ()
    guaranteed: dict[str, int] = {}
    for name in world.jobs.queues:
        fact = world.objects.fact("queue", Subject(name))
        assert isinstance(fact, QueueUpserted), f"queue {name} is known and not there"
        for resource, amount in fact.guarantee:
            guaranteed[resource] = guaranteed.get(resource, 0) + amount
    # Slots are a node's business, and nobody's share.
    guaranteed.pop("pods", None)
    there = total._asdict()
    beyond = {name: amount - there.get(name, 0) for name, amount in guaranteed.items()}
    return tuple((name, amount) for name, amount in sorted(beyond.items()) if amount > 0)


def quota_upserted(world: World, subject: Subject, fact: QuotaUpserted, *, source: str) -> World:
    """A quota came or changed: what it says of its namespace's weight counts."""
    told = objects.upsert(world.objects, Key("quota", subject), fact, source=source, now=world.now)
    world = replace(world, objects=told.objects, last_effect=told.effect)
    if told.effect != "applied":
        return world
    if fact.invalid_weight is None:
        world = _valid(world, subject)
    else:
        numbers = (("counts_as", USUAL_WEIGHT), ("told", fact.invalid_weight))
        found = incidents.found(world.incidents, _no_weight(subject), numbers)
        world = replace(world, incidents=found)
    return _weighed(world, fact.namespace, subject, fact.weight or 1)


def quota_removed(world: World, subject: Subject, fact: QuotaRemoved, *, source: str) -> World:
    """A quota is gone, with what it said of its namespace's weight."""
    told = objects.remove(world.objects, Key("quota", subject), fact, source=source, now=world.now)
    world = replace(world, objects=told.objects, last_effect=told.effect)
    if told.effect != "applied":
        return world
    return _weighed(_valid(world, subject), fact.namespace, subject, 1)


def allocated(world: World, decision: Decision, allocation: Allocation) -> World:
    """Tasks have places."""
    subject = decision.subject
    world = _told(world, allocation.round)
    tasks = world.jobs.of[subject]
    running = tasks.running.mutate()
    on = world.jobs.on
    used = tasks.held
    for placed in allocation.tasks:
        node = Subject(f"{placed.cluster}/{placed.node}")
        running[placed.task] = RunningTask(node, allocation.request)
        there = on.get(node, _NO_COUNTS)
        on = on.set(node, there.set(subject, there.get(subject, 0) + 1))
        used = used_with(used, allocation.request, 1)
    world = replace(world, jobs=replace(world.jobs, on=on))
    lost = _not_among(tasks.lost, (placed.task for placed in allocation.tasks))
    after = replace(tasks, running=running.finish(), held=used, lost=lost)
    world = with_holdings(_put(world, subject, after), _changes(allocation))
    key = QueueNamespace(tasks.queue, tasks.namespace)
    world = past_use.entered(world, key, allocation.request, len(allocation.tasks))
    if allocation.full:
        world = rounds.full(world)
    if allocation.waiting:
        return world
    return _unrefused(world, subject)


def evicted(world: World, decision: Decision, eviction: Eviction) -> World:
    """Tasks had to go, and wait again."""
    world = _told(world, eviction.round)
    gone = [evicted.task for evicted in eviction.tasks]
    return rounds.evicted(_taken_off(world, decision.subject, gone))


def refused(world: World, decision: Decision, refusal: Refusal) -> World:
    """A job is told why its tasks wait."""
    if refusal.waits_for == WAITS_FOR_ROUND and not world.jobs.rounds.done:
        world = rounds.closed(world)
    question = Question("allocation", decision.subject)
    open_refusal = OpenRefusal(decision.number, refusal)
    return replace(world, refusals=world.refusals.set(question, open_refusal))


def _edited(world: World, subject: Subject, was: Tasks, queue: str, replicas: int) -> World:
    beyond = sorted(index for index in was.running if index >= replicas)
    world = _released(world, subject, beyond)
    tasks = world.jobs.of[subject]
    done = _below(tasks.finished, replicas)
    lost = _not_among(tasks.lost, (index for index in tasks.lost if index >= replicas))
    after = replace(tasks, queue=queue, replicas=replicas, finished=done, lost=lost)
    return _put(world, subject, after)


def _below(done: Map[int, None], replicas: int) -> Map[int, None]:
    """Those of these finished tasks that a job of so many still has."""
    for index in sorted(index for index in done if index >= replicas):
        done = done.delete(index)
    return done


def _set_aside(world: World, subject: Subject, replicas: int) -> World:
    """A workload has no queue, or none any more; what is finished of it is finished."""
    tasks = world.jobs.of.get(subject)
    done = world.jobs.done.get(subject, _NONE) if tasks is None else tasks.finished
    return _done_aside(_without(world, subject), subject, _below(done, replicas))


def _finished_aside(world: World, subject: Subject, task: int | None) -> World:
    """A task has ended of a job that has no queue, or all of them have."""
    fact = world.workload(subject)
    assert fact is not None, f"{subject} is finished and was not there"
    before = world.jobs.done.get(subject, _NONE)
    marks = before.mutate()
    for index in range(fact.replicas) if task is None else (task,):
        marks[index] = None
    done = marks.finish()
    if len(done) == len(before):
        return replace(world, last_effect="no_effect")
    return _done_aside(world, subject, done)


def _done_aside(world: World, subject: Subject, done: Map[int, None]) -> World:
    """These tasks are finished of a workload without a queue."""
    kept = world.jobs.done
    if done:
        kept = kept.set(subject, done)
    elif subject in kept:
        kept = kept.delete(subject)
    else:
        return world
    return replace(world, jobs=replace(world.jobs, done=kept))


def _reads_the_same(
    world: World, subject: Subject, before: WorkloadUpserted, after: WorkloadUpserted
) -> bool:
    """Whether rounds read the same of two wishes of one job."""
    if _read(before) != _read(after):
        return False
    if not world.jobs.of[subject].waiting:
        return True
    was, is_ = where(before), where(after)
    return was == is_ or all(
        _takes(world, was, node) == _takes(world, is_, node) for node in in_use(world)
    )


def _takes(world: World, one: Where, node: NodeUpserted) -> bool:
    labels = world.clusters[node.cluster].labels
    return one.takes_cluster(node.cluster, labels) and one.takes_node(node.labels)


def _chooses(world: World, subject: Subject, one: Where) -> World:
    """A job restricts its nodes like this."""
    choosy = world.jobs.choosy
    if one != ANYWHERE:
        choosy = choosy.set(subject, one)
    elif subject in choosy:
        choosy = choosy.delete(subject)
    else:
        return world
    return replace(world, jobs=replace(world.jobs, choosy=choosy))


def _read(fact: WorkloadUpserted) -> tuple[object, ...]:
    return (
        queue_of(fact),
        fact.replicas,
        fact.request,
        fact.priority,
        fact.gang_min,
        fact.preemptable,
    )


def _without(world: World, subject: Subject) -> World:
    """A job is over, or none any more."""
    tasks = world.jobs.of.get(subject)
    if tasks is None:
        return world
    world = _changed(world, tasks)
    world = _released(world, subject, sorted(tasks.running))
    world = _put(world, subject, replace(world.jobs.of[subject], replicas=0, finished=_NONE))
    world = _chooses(world, subject, ANYWHERE)
    jobs = replace(world.jobs, of=world.jobs.of.delete(subject))
    world = _moot(replace(world, jobs=jobs), subject)
    return _not_asked(world, subject)


def _lost(world: World, subject: Subject, node: Subject, indices: Sequence[int]) -> World:
    """These tasks of a job were lost with a node."""
    tasks = world.jobs.of[subject]
    lost = tasks.lost.mutate()
    for index in indices:
        lost[index] = node
    world = _put(world, subject, replace(tasks, lost=lost.finish()))
    return _changed(world, world.jobs.of[subject])


def _not_among(lost: Map[int, Subject], indices: Iterable[int]) -> Map[int, Subject]:
    """Where lost tasks were, but for these: they are back, or not to come back."""
    left = lost
    for index in indices:
        left = left.delete(index) if index in left else left
    return left


def _changed(world: World, tasks: Tasks) -> World:
    """A job with these tasks changed: rounds read it if any wait or run in a queue they know."""
    if tasks.queue not in world.jobs.queues or not (tasks.waiting or tasks.running):
        return world
    return rounds.changed(world)


def _knows_its_queue(world: World, subject: Subject) -> World:
    """A job is not refused for want of a queue that is there."""
    refusal = world.refusals.get(Question("allocation", subject))
    if (
        refusal is None
        or refusal.refusal.waits_for != WAITS_FOR_QUEUE
        or world.jobs.of[subject].queue not in world.jobs.queues
    ):
        return world
    return _moot(world, subject)


def _nothing_waits(world: World, subject: Subject) -> World:
    """Whether anything of a job still waits; if not, it is refused nothing any more."""
    return world if world.jobs.of[subject].waiting else _moot(world, subject)


def _moot(world: World, subject: Subject) -> World:
    refusal = world.refusals.get(Question("allocation", subject))
    if refusal is None:
        return world
    ended = Ended("refusal", subject, refusal.number)
    return replace(_unrefused(world, subject), ended=(*world.ended, ended))


def _unrefused(world: World, subject: Subject) -> World:
    question = Question("allocation", subject)
    if question not in world.refusals:
        return world
    return replace(world, refusals=world.refusals.delete(question))


def _asked(world: World, subject: Subject, causes: Causes) -> World:
    """Have a job asked about at once if it waits in a queue that is not known."""
    tasks = world.jobs.of[subject]
    if tasks.queue in world.jobs.queues or not tasks.waiting:
        return world
    question = Question("allocation", subject)
    causes |= world.due.get(question, frozenset())
    return replace(world, due=world.due.set(question, causes))


def _not_asked(world: World, subject: Subject) -> World:
    question = Question("allocation", subject)
    if question not in world.waiting:
        return world
    return replace(world, waiting=world.waiting.delete(question))


def _released(world: World, subject: Subject, indices: Sequence[int]) -> World:
    """These tasks run no more, by the event that is folded."""
    if not indices:
        return world
    running = world.jobs.of[subject].running
    ended: dict[Subject, list[int]] = {}
    for index in indices:
        ended.setdefault(running[index].node, []).append(index)
    gone = [
        Released(
            "allocation",
            subject,
            world.latest[subject],
            *_cluster_and_node(node),
            len(ended[node]),
            tasks=tuple(sorted(ended[node])),
        )
        for node in sorted(ended)
    ]
    world = replace(world, released=(*world.released, *gone))
    return _taken_off(world, subject, indices)


def _taken_off(world: World, subject: Subject, indices: Sequence[int]) -> World:
    """These tasks run no more, for whatever reason."""
    tasks = world.jobs.of[subject]
    running = tasks.running.mutate()
    on = world.jobs.on
    used = tasks.held
    changes: list[Change] = []
    for index in indices:
        node, request = running.pop(index)
        left = on[node]
        count = left[subject] - 1
        left = left.set(subject, count) if count else left.delete(subject)
        on = on.set(node, left) if left else on.delete(node)
        used = used_with(used, request, -1)
        changes.append(Change(node, holding(request), -1))
    world = replace(world, jobs=replace(world.jobs, on=on))
    world = _put(world, subject, replace(tasks, running=running.finish(), held=used))
    return with_holdings(world, changes)


def _changes(allocation: Allocation) -> list[Change]:
    taken = holding(allocation.request)
    return [
        Change(Subject(f"{placed.cluster}/{placed.node}"), taken, 1) for placed in allocation.tasks
    ]


def _told(world: World, told: RoundTold) -> World:
    """A decision of a round is folded: the first one closes it and says how namespaces stand."""
    if not world.jobs.rounds.done:
        world = rounds.closed(world)
    if not told.tells:
        return world
    weights = world.jobs.told_weights.mutate()
    for namespace, weight in told.weights:
        if weight == USUAL_WEIGHT:
            weights.pop(namespace, None)
        else:
            weights[namespace] = weight
    shares = world.jobs.shares.mutate()
    for share in told.shares:
        key = (share.queue, share.namespace, share.resource)
        if share.requested or share.allocated:
            shares[key] = share
        else:
            shares.pop(key, None)
    jobs = replace(
        world.jobs,
        told_total=world.jobs.told_total if told.total is None else told.total,
        told_weights=weights.finish(),
        shares=shares.finish(),
    )
    world = replace(world, jobs=jobs)
    return world if told.total is None else _guaranteed(world)


def _guaranteed(world: World) -> World:
    """The World in which it is known whether queues are guaranteed more than there is."""
    fleet, numbers = Subject(world.fleet), infeasible(world)
    one = Contradiction(fleet, "guarantee_infeasible", fleet)
    kept = world.incidents
    found = incidents.found(kept, one, numbers) if numbers else incidents.over(kept, one)
    return world if found is kept else replace(world, incidents=found)


def _valid(world: World, quota: Subject) -> World:
    """The World in which a quota says nothing of a weight that is none."""
    found = incidents.over(world.incidents, _no_weight(quota))
    return world if found is world.incidents else replace(world, incidents=found)


def _no_weight(quota: Subject) -> Contradiction:
    return Contradiction(quota, "weight_invalid", quota)


def _put(world: World, subject: Subject, tasks: Tasks) -> World:
    """The World with a job's tasks as they are now, and all that is kept of them elsewhere."""
    jobs = world.jobs
    was = jobs.of.get(subject)
    waiting, contenders = jobs.waiting, jobs.contenders
    if was is not None and was.waiting and not (tasks.waiting and tasks.queue == was.queue):
        left = waiting[was.queue].delete(subject)
        waiting = waiting.set(was.queue, left) if left else waiting.delete(was.queue)
        contenders -= was.queue in jobs.queues
    if tasks.waiting and not (was is not None and was.waiting and tasks.queue == was.queue):
        waiting = waiting.set(tasks.queue, waiting.get(tasks.queue, _NOBODY).set(subject, None))
        contenders += tasks.queue in jobs.queues
    used, used_in, past, turned = jobs.used, jobs.used_in, jobs.past, world.turned
    if was is None or (was.queue, was.held) != (tasks.queue, tasks.held):
        for state, sign in ((was, -1), (tasks, 1)):
            if state is None or state.held == NO_USE:
                continue
            key = QueueNamespace(state.queue, state.namespace)
            past = past_use.looked(world, past, key)
            turned = turned.set(Account("job", subject), None)
            turned = turned.set(Account("queue", Subject("/".join(key))), None)
            used = _with_use(used, key, state.held, sign)
            used_in = _with_use(used_in, state.queue, state.held, sign)
    return replace(
        world,
        jobs=replace(
            jobs,
            of=jobs.of.set(subject, tasks),
            waiting=waiting,
            contenders=contenders,
            used=used,
            used_in=used_in,
            past=past,
        ),
        turned=turned,
    )


def _with_use(used: Map[_Whose, Use], whose: _Whose, held: Use, sign: int) -> Map[_Whose, Use]:
    """What is used, with this much more of somebody, or less."""
    there = used.get(whose, NO_USE)
    after = Use(*(one + sign * other for one, other in zip(there, held, strict=True)))
    return used.set(whose, after) if after != NO_USE else used.delete(whose)


def _weighed(world: World, namespace: str, quota: Subject, weight: int) -> World:
    jobs = world.jobs
    was = jobs.weight(namespace)
    said = jobs.weights.get(namespace, _NO_COUNTS)
    if weight > 1:
        said = said.set(quota, weight)
    elif quota in said:
        said = said.delete(quota)
    weights = jobs.weights
    if said:
        weights = weights.set(namespace, said)
    elif namespace in weights:
        weights = weights.delete(namespace)
    jobs = replace(jobs, weights=weights)
    world = replace(world, jobs=jobs)
    return world if jobs.weight(namespace) == was else rounds.changed(world)


def _cluster_and_node(node: Subject) -> tuple[ClusterName, NodeName]:
    cluster, _, name = node.partition("/")
    return ClusterName(cluster), NodeName(name)
