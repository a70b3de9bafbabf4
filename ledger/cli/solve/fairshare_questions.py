"""The questions about fair shares: weights, shares, entitlements, the round, votes and evictions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, Literal

from pydantic import ConfigDict, Field, model_validator

from ledger.cli.counting import count
from ledger.cli.solve.asking import Count, Op, Question, Written
from ledger.cli.solve.telling import yes
from ledger.cli.solve.writing import spelled
from ledger.core.fairshare.deserved import Deserved, QueueClaim, deserve, whole_units
from ledger.core.fairshare.entitlement import (
    Entitlement,
    NamespaceDemand,
    QueueDemand,
    entitle,
)
from ledger.core.fairshare.eviction import Evictions, preempt, reclaim
from ledger.core.fairshare.gang import GangState, TaskStatus, gang_state
from ledger.core.fairshare.orders import (
    JOB_ORDER,
    JobRank,
    NamespaceComparison,
    ShareOfTotal,
    Victim,
    compare_namespaces,
    eviction_order,
)
from ledger.core.fairshare.queues import Queue
from ledger.core.fairshare.reasons import (
    EvictVeto,
    GangShort,
    JobBehind,
    Loser,
    NamespaceBehind,
    NeverPreempts,
    NodeFit,
    QueueClosed,
    QueueLimit,
    QueueOverused,
    Reason,
    RoundFull,
    Standing,
    TooFewTasks,
    TooFewVictims,
    UnknownQueue,
)
from ledger.core.fairshare.resources import (
    DEFAULT_NAMESPACE,
    Amounts,
    DominantShare,
    JobName,
    NamespaceName,
    QueueName,
    Resource,
    TaskName,
    along,
    dominant_share,
    resources_of,
)
from ledger.core.fairshare.room import SLOTS, Node
from ledger.core.fairshare.round import (
    Holding,
    Job,
    Round,
    RoundQuestion,
    Scope,
    Turn,
    WaitingTask,
    allocate,
)
from ledger.core.fairshare.stage import GangJob, Scene, Task
from ledger.core.fairshare.victims import (
    Ballot,
    Holdings,
    JobCount,
    Party,
    Vote,
    drf_vote,
    gang_vote,
    intersect,
    is_evictable,
    require_voters,
)
from ledger.core.fairshare.weights import NamespaceQuotas, weight_of
from ledger.core.shares import require_distinct
from ledger.units import NodeName

Given = dict[str, Count | None]
"""Amounts by resource; null is as good as absent."""

_NO_QUEUE: Final = QueueName("")


class QuotaEvent(Question):
    """A quota of the namespace was written or deleted; ``weight`` may be anything."""

    op: Literal["upsert", "delete"]
    quota: str
    weight: Any = None


class NamespaceWeight(Question):
    """What a namespace weighs while its quotas change."""

    events: list[QuotaEvent] = Field(default_factory=list)


def _after_each(asked: NamespaceWeight) -> list[NamespaceQuotas]:
    quotas, after = NamespaceQuotas(), []
    for event in asked.events:
        if event.op == "upsert":
            quotas = quotas.upsert(event.quota, event.weight)
        else:
            quotas = quotas.delete(event.quota)
        after.append(quotas)
    return after


def _namespace_weight(asked: NamespaceWeight) -> Written:
    after = _after_each(asked)
    last = after[-1] if after else NamespaceQuotas()
    return {
        "weight": last.weight,
        "weight_after_each_event": [quotas.weight for quotas in after],
        "invalid": list(last.invalid),
    }


def _explain_namespace_weight(asked: NamespaceWeight) -> str:
    lines = []
    for event, quotas in zip(asked.events, _after_each(asked), strict=True):
        each = ", ".join(f"{name} {weight_of(v)}" for name, v in sorted(quotas.stated.items()))
        lines.append(f"{event.op} {event.quota}: max(1, {each or 'no quota'}) = {quotas.weight}")
        if event.quota in quotas.invalid:
            lines.append("  what it states is no whole number above zero and counts as 1")
    return "\n".join(lines) or "no quota: 1"


class Shared(Question):
    """What is held of what there is."""

    total: Given
    allocated: Given = Field(default_factory=dict)


def _dominant(asked: Shared) -> DominantShare:
    return dominant_share(_all(asked.allocated), _all(asked.total))


def _dominant_share(asked: Shared) -> Written:
    dominant = _dominant(asked)
    return {"share": dominant.share, "resource": dominant.resource}


def _explain_dominant_share(asked: Shared) -> str:
    held, total, dominant = _all(asked.allocated), _all(asked.total), _dominant(asked)
    lines = [
        f"{name}: {held.get(name, 0)} of {total[name]}"
        + ("" if total[name] else ", passed over: there is none")
        for name in sorted(total)
    ]
    largest = f"largest part {_written(dominant.share)}"
    return "\n".join([*lines, f"{largest}, of {dominant.resource}" if dominant.share else largest])


class Side(Question):
    """One of two namespaces."""

    ns: str = DEFAULT_NAMESPACE
    weight: Any = None
    allocated: Given = Field(default_factory=dict)


class Compare(Question):
    """Which of two namespaces is served first."""

    total: Given
    left: Side
    right: Side


def _comparison(asked: Compare) -> NamespaceComparison:
    def side(one: Side) -> tuple[NamespaceName, Fraction]:
        dominant = dominant_share(_all(one.allocated), _all(asked.total))
        return NamespaceName(one.ns), dominant.share / weight_of(one.weight)

    return compare_namespaces(side(asked.left), side(asked.right))


def _compare_namespaces(asked: Compare) -> Written:
    comparison = _comparison(asked)
    return {
        "cmp": comparison.cmp,
        "left_weighted": comparison.left,
        "right_weighted": comparison.right,
        "first": comparison.first,
    }


def _explain_compare_namespaces(asked: Compare) -> str:
    comparison = _comparison(asked)
    lines = []
    for side, weighted in ((asked.left, comparison.left), (asked.right, comparison.right)):
        dominant = dominant_share(_all(side.allocated), _all(asked.total))
        lines.append(
            f"{side.ns}: {_written(dominant.share)}"
            f" / weight {weight_of(side.weight)} = {_written(weighted)}"
        )
    why = "the smaller share" if comparison.cmp else "equal shares, the first name"
    return "\n".join([*lines, f"{comparison.first} goes first: {why}"])


class QueueAsked(Question):
    """A queue as a question describes it."""

    id: str
    weight: int = 1
    priority: int = 0
    seq: int = 0
    capability: Given = Field(default_factory=dict)
    guarantee: Given = Field(default_factory=dict)
    open: bool = True
    reclaimable: bool = True

    def queue(self, *, slots: bool = True) -> Queue:
        """The queue; without ``slots``, pods are no resource."""
        amounts = _all if slots else _without_slots
        return Queue(
            name=QueueName(self.id),
            weight=self.weight,
            priority=self.priority,
            seq=self.seq,
            capability=amounts(self.capability),
            guarantee=amounts(self.guarantee),
            is_open=self.open,
            reclaimable=self.reclaimable,
        )


class RequestingQueue(QueueAsked):
    """A queue with all that its jobs hold and wait for."""

    request: Given = Field(default_factory=dict)


class QueueDeserved(Question):
    """What each queue deserves."""

    total: Given
    queues: list[RequestingQueue]


def _deserve(asked: QueueDeserved) -> Deserved:
    claims = [QueueClaim(queue.queue(), _all(queue.request)) for queue in asked.queues]
    return deserve(_all(asked.total), claims)


def _queue_deserved(asked: QueueDeserved) -> Written:
    shared = _deserve(asked)
    whole = {resource: whole_units(shares) for resource, shares in shared.resources.items()}
    answer: dict[str, Any] = {
        "deserved": {queue: shared.of(queue) for queue in shared.queues},
        "deserved_int": {
            queue: {resource: whole[resource][queue] for resource in whole}
            for queue in shared.queues
        },
        "level": {resource: shares.level for resource, shares in shared.resources.items()},
    }
    if shared.infeasible:
        answer["flags"] = ["GUARANTEE_INFEASIBLE"]
    return answer


def _explain_queue_deserved(asked: QueueDeserved) -> str:
    return "\n".join(_how_shared(_deserve(asked)))


def _how_shared(shared: Deserved) -> Iterable[str]:
    for resource, shares in shared.resources.items():
        if shares.level is None:
            yield f"{resource}: {shares.total} is enough for all that may be had"
        else:
            yield f"{resource}: {shares.total} at {_written(shares.level)} for each unit of weight"
        if shares.infeasible:
            yield "  more is guaranteed than there is: guarantees are upper bounds"
        for queue, claim in shares.claims.items():
            yield (
                f"  {queue}: weight {claim.weight}, at least {claim.floor}, at most {claim.upper}:"
                f" {_written(shares.parts[queue])}"
            )


class RequestingNamespace(Question):
    """A namespace that asks in a queue."""

    ns: str = DEFAULT_NAMESPACE
    weight: Any = None
    requested: Count = 0


class EntitledQueue(Question):
    """A queue and who asks in it."""

    queue: str
    weight: int = 1
    namespaces: list[RequestingNamespace] = Field(default_factory=list)


class EntitlementAsked(Question):
    """What every namespace is entitled to in every queue."""

    total_cpu_milli: Count
    queues: list[EntitledQueue]


def _entitle(asked: EntitlementAsked) -> Entitlement:
    return entitle(
        asked.total_cpu_milli,
        [
            QueueDemand(
                QueueName(queue.queue),
                queue.weight,
                [
                    NamespaceDemand(NamespaceName(ns.ns), weight_of(ns.weight), ns.requested)
                    for ns in queue.namespaces
                ],
            )
            for queue in asked.queues
        ],
    )


def _entitlement(asked: EntitlementAsked) -> Written:
    return {
        "queues": {
            name: {"assigned": queue.assigned, "namespaces": dict(queue.namespaces)}
            for name, queue in _entitle(asked).queues.items()
        }
    }


def _explain_entitlement(asked: EntitlementAsked) -> str:
    entitlement = _entitle(asked)
    lines = [_at_level(f"{asked.total_cpu_milli} among the queues", entitlement.level)]
    for name, queue in entitlement.queues.items():
        lines.append(_at_level(f"  {name}: {_written(queue.assigned)}", queue.level))
        lines.extend(f"    {ns}: {_written(part)}" for ns, part in queue.namespaces.items())
    return "\n".join(lines)


def _at_level(what: str, level: Fraction | None) -> str:
    if level is None:
        return f"{what}, all that is asked for"
    return f"{what}, {_written(level)} for each unit of weight"


class JobAsked(Question):
    """A job; its tasks are named by their places in the list."""

    id: str
    queue: str
    ns: str = DEFAULT_NAMESPACE
    min: Count = 1
    priority: int = 0
    seq: int = 0
    tasks: list[Given] = Field(default_factory=list)


class Running(Question):
    """What a namespace holds in a queue."""

    queue: str
    ns: str = DEFAULT_NAMESPACE
    allocated: Given = Field(default_factory=dict)


class Allocate(Question):
    """One round. Without nodes there is one, n1, with all of the total."""

    total: Given
    queues: list[QueueAsked]
    jobs: list[JobAsked] = Field(default_factory=list)
    running: list[Running] = Field(default_factory=list)
    nodes: dict[str, Given | None] | None = None
    ns_weights: dict[str, Any] = Field(default_factory=dict)
    deserved: dict[str, Given | None] = Field(default_factory=dict)
    job_order: list[JobRank] = Field(default_factory=lambda: list(JOB_ORDER))
    max_tasks: Count | None = None
    scope: Scope = "per_queue"


def _round(asked: Allocate) -> Round:
    nodes = _stated({"n1": asked.total} if asked.nodes is None else asked.nodes)
    return allocate(
        RoundQuestion(
            total=_without_slots(asked.total),
            queues=[queue.queue(slots=False) for queue in asked.queues],
            jobs=[
                Job(
                    name=JobName(job.id),
                    queue=QueueName(job.queue),
                    tasks=[
                        WaitingTask(index, _without_slots(request))
                        for index, request in enumerate(job.tasks)
                    ],
                    namespace=NamespaceName(job.ns),
                    gang_min=job.min,
                    priority=job.priority,
                    seq=job.seq,
                )
                for job in asked.jobs
            ],
            nodes=[
                Node(NodeName(name), _without_slots(amounts), amounts.get(SLOTS))
                for name, amounts in nodes.items()
            ],
            running=[
                Holding(QueueName(one.queue), NamespaceName(one.ns), _without_slots(one.allocated))
                for one in asked.running
            ],
            weights=_weights(asked.ns_weights),
            deserved=_by_queue(asked.deserved),
            job_order=asked.job_order,
            max_tasks=asked.max_tasks,
            scope=asked.scope,
        )
    )


def _allocate(asked: Allocate) -> Written:
    played = _round(asked)
    placed = list(played.places)
    return {
        "order": [f"{job}[{index}]" for job, index, _ in placed],
        "binds": {f"{job}[{index}]": node for job, index, node in placed},
        "ns_cpu": {
            f"{queue}/{namespace}": used.get(Resource("cpu"), 0)
            for (queue, namespace), used in played.used.items()
        },
        "deserved": {queue: dict(parts) for queue, parts in played.deserved.items()},
        "turns": [_turn(turn) for turn in played.turns],
        "losers": [_loser(loser) for loser in played.losers],
    }


def _turn(turn: Turn) -> Written:
    return {
        "queue": turn.queue,
        "ns": turn.namespace,
        "job": turn.job,
        "queue_share": turn.queue_share,
        "ns_share": turn.namespace_share,
        "job_share": turn.standing.share,
        "tasks": [index for index, _ in turn.places],
    }


def _explain_allocate(asked: Allocate) -> str:
    played = _round(asked)
    lines = [*_how_shared(played.shared), ""]
    for turn in played.turns:
        places = ", ".join(f"{turn.job}[{index}] on {node}" for index, node in turn.places)
        lines.append(
            f"{turn.queue} {_written(turn.queue_share)},"
            f" {turn.namespace} {_written(turn.namespace_share)},"
            f" {turn.job} {_written(turn.standing.share)}: {places}"
        )
    return "\n".join([*lines, *_why_they_wait(played.losers)])


class Gang(Question):
    """A job's tasks by status."""

    min: Count = 1
    counts: Given = Field(default_factory=dict)
    pending_best_effort: Count = 0


def _state(asked: Gang) -> GangState:
    counts: dict[Any, int] = {status: n for status, n in asked.counts.items() if n is not None}
    return gang_state(asked.min, counts, asked.pending_best_effort)


def _gang_state(asked: Gang) -> Written:
    state = _state(asked)
    return {
        "ready": state.ready,
        "pipelined": state.pipelined,
        "starving": state.starving,
        "valid": state.valid,
    }


def _explain_gang_state(asked: Gang) -> str:
    state = _state(asked)
    counted = ", ".join(f"{n} {status}" for status, n in sorted(asked.counts.items()) if n)
    verdicts = {
        "ready": state.ready,
        "pipelined": state.pipelined,
        "starving": state.starving,
        "able to become ready": state.valid,
    }
    lines = [f"needs {asked.min}, has {counted or 'no task'}"]
    if asked.pending_best_effort:
        lines.append(f"{asked.pending_best_effort} of the pending tasks ask for nothing: ready")
    return "\n".join([*lines, *(f"{what}: {yes(is_so)}" for what, is_so in verdicts.items())])


class ReadyCount(Question):
    """How many tasks of a job are ready, and how many it needs."""

    ready: Count = 0
    min: Count = 1


class GangCandidate(Question):
    """A task and its job."""

    id: str
    job: str


class GangVote(Question):
    """Whom the gang voter can spare."""

    jobs: dict[str, ReadyCount | None] = Field(default_factory=dict)
    candidates: list[GangCandidate]


def _gang_ballots(asked: GangVote) -> list[Ballot]:
    require_distinct("candidate", (candidate.id for candidate in asked.candidates))
    candidates = [
        _party(candidate.id, job=candidate.job, request=()) for candidate in asked.candidates
    ]
    jobs = {
        JobName(name): JobCount(count.ready, count.min)
        for name, count in asked.jobs.items()
        if count is not None
    }
    return gang_vote(candidates, jobs)


def _gang_vote(asked: GangVote) -> Written:
    return {"victims": _granted(_gang_ballots(asked))}


def _explain_gang_vote(asked: GangVote) -> str:
    return "\n".join(map(_ballot, _gang_ballots(asked)))


class Wanting(Question):
    """The task that would take."""

    ns: str = DEFAULT_NAMESPACE
    job: str
    req: Given = Field(default_factory=dict)


class DrfCandidate(Question):
    """A task that would give."""

    id: str
    ns: str = DEFAULT_NAMESPACE
    job: str
    req: Given = Field(default_factory=dict)


class DrfVote(Question):
    """Whom the drf voter can spare."""

    total: Given
    ns_weights: dict[str, Any] = Field(default_factory=dict)
    ns_alloc: dict[str, Given | None] = Field(default_factory=dict)
    job_alloc: dict[str, Given | None] = Field(default_factory=dict)
    preemptor: Wanting
    candidates: list[DrfCandidate]


def _drf_ballots(asked: DrfVote) -> list[Ballot]:
    require_distinct("candidate", (candidate.id for candidate in asked.candidates))
    total, weights = _all(asked.total), _weights(asked.ns_weights)
    resources = resources_of([total])
    taker = asked.preemptor
    return drf_vote(
        _party("", job=taker.job, ns=taker.ns, request=along(resources, _all(taker.req))),
        [
            _party(one.id, job=one.job, ns=one.ns, request=along(resources, _all(one.req)))
            for one in asked.candidates
        ],
        Holdings(
            namespaces={
                (_NO_QUEUE, NamespaceName(name)): along(resources, _all(held or {}))
                for name, held in asked.ns_alloc.items()
            },
            jobs={
                JobName(name): along(resources, _all(held or {}))
                for name, held in asked.job_alloc.items()
            },
            queues={},
        ),
        of_total=ShareOfTotal(along(resources, total), max(weights.values(), default=1)),
        weights=weights,
    )


def _drf_vote(asked: DrfVote) -> Written:
    return {"victims": _granted(_drf_ballots(asked))}


def _explain_drf_vote(asked: DrfVote) -> str:
    return "\n".join(map(_ballot, _drf_ballots(asked)))


class Conformance(Question):
    """Whether a cluster can live without a task."""

    ns: str = DEFAULT_NAMESPACE
    priority_class: str = ""


def _conformance_vote(asked: Conformance) -> Written:
    return {"evictable": is_evictable(asked.ns, asked.priority_class)}


def _explain_conformance_vote(asked: Conformance) -> str:
    evictable = is_evictable(asked.ns, asked.priority_class)
    of_class = f" of class {asked.priority_class}" if asked.priority_class else ""
    return f"a task in {asked.ns}{of_class} may be evicted: {yes(evictable)}"


class VoteAsked(Question):
    """What one voter says; it need not have a name."""

    voter: str = ""
    abstain: bool = False
    victims: list[str] = Field(default_factory=list)


class Intersect(Question):
    """Whom all voters grant."""

    candidates: list[str]
    votes: list[VoteAsked] = Field(default_factory=list)


def _intersection(asked: Intersect) -> list[TaskName]:
    require_distinct("candidate", asked.candidates)
    require_distinct("voter", (vote.voter for vote in asked.votes if vote.voter))
    return intersect(
        [TaskName(name) for name in asked.candidates],
        [
            Vote(frozenset(TaskName(name) for name in vote.victims), vote.abstain)
            for vote in asked.votes
        ],
    )


def _intersect_victims(asked: Intersect) -> Written:
    return {"victims": _intersection(asked)}


def _explain_intersect_victims(asked: Intersect) -> str:
    lines = []
    for vote in asked.votes:
        granted = [name for name in asked.candidates if name in vote.victims]
        said = "abstains" if vote.abstain else f"grants {_list(granted)}"
        lines.append(f"{vote.voter or 'a voter'} {said}")
    return "\n".join([*lines, f"all who vote grant {_list(_intersection(asked))}"])


class VictimAsked(Question):
    """A task that may be evicted."""

    id: str
    job_priority: int = 0
    task_priority: int = 0
    seq: int = 0


class EvictionOrder(Question):
    """Who would have to go first."""

    victims: list[VictimAsked]


def _ordered(asked: EvictionOrder) -> list[Victim]:
    require_distinct("victim", (victim.id for victim in asked.victims))
    return eviction_order(
        Victim(TaskName(one.id), one.job_priority, one.task_priority, one.seq)
        for one in asked.victims
    )


def _eviction_order(asked: EvictionOrder) -> Written:
    return {"order": [victim.name for victim in _ordered(asked)]}


def _explain_eviction_order(asked: EvictionOrder) -> str:
    return "\n".join(
        f"{one.name}: job priority {one.job_priority}, task priority {one.task_priority},"
        f" seq {one.seq}"
        for one in _ordered(asked)
    )


class NodeAsked(Question):
    """A node. Every whole number beside its name is an amount of a resource; ``pods`` are slots."""

    model_config = ConfigDict(extra="allow")

    name: str
    cpu: Count | None = None
    mem: Count | None = None
    pods: Count | None = None

    @model_validator(mode="after")
    def _amounts_are_counts(self) -> "NodeAsked":
        for resource, amount in (self.model_extra or {}).items():
            is_number = isinstance(amount, int | float | Decimal) and not isinstance(amount, bool)
            if is_number and not (isinstance(amount, int) and amount >= 0):
                raise ValueError(f"{resource}: {amount} is not a count")
        return self

    def node(self) -> Node:
        """The node."""
        extra = self.model_extra or {}
        amounts: dict[str, Any] = {"cpu": self.cpu, "mem": self.mem, **extra}
        return Node(
            NodeName(self.name),
            {Resource(name): amount for name, amount in amounts.items() if type(amount) is int},
            self.pods,
        )


class EvictingJob(Question):
    """A job."""

    id: str
    queue: str
    ns: str = DEFAULT_NAMESPACE
    min: Count = 1
    prio: int = 0
    seq: int = 0
    priority_class: str = ""


class TaskAsked(Question):
    """A task and what it is doing."""

    id: str
    job: str
    node: str | None = None
    status: TaskStatus = "pending"
    req: Given = Field(default_factory=dict)
    preemptable: bool = False
    never: bool = False
    prio: int = 0
    index: int = 0
    seq: int = 0
    priority_class: str = ""


class PreemptAsked(Question):
    """Who has to go inside a queue."""

    queues: list[QueueAsked]
    jobs: list[EvictingJob] = Field(default_factory=list)
    nodes: list[NodeAsked] = Field(default_factory=list)
    tasks: list[TaskAsked] = Field(default_factory=list)
    ns_weights: dict[str, Any] = Field(default_factory=dict)
    deserved: dict[str, Given | None] = Field(default_factory=dict)
    voters: list[str] | None = None


class ReclaimAsked(PreemptAsked):
    """Who has to go for another queue."""

    require_gang_pipelined: bool = True


def _scene(asked: PreemptAsked) -> Scene:
    voters: list[Any] | None = asked.voters
    if voters is not None:
        require_voters(voters)
    return Scene(
        queues=[queue.queue(slots=False) for queue in asked.queues],
        jobs=[
            GangJob(
                name=JobName(job.id),
                queue=QueueName(job.queue),
                namespace=NamespaceName(job.ns),
                gang_min=job.min,
                priority=job.prio,
                seq=job.seq,
                priority_class=job.priority_class,
            )
            for job in asked.jobs
        ],
        nodes=[node.node() for node in asked.nodes],
        tasks=[
            Task(
                name=TaskName(task.id),
                job=JobName(task.job),
                request=_without_slots(task.req),
                status=task.status,
                node=None if task.node is None else NodeName(task.node),
                preemptable=task.preemptable,
                never_preempts=task.never,
                priority=task.prio,
                index=task.index,
                seq=task.seq,
                priority_class=task.priority_class,
            )
            for task in asked.tasks
        ],
        weights=_weights(asked.ns_weights),
        voters=voters,
        deserved=_by_queue(asked.deserved),
    )


def _preempted(asked: PreemptAsked) -> Evictions:
    return preempt(_scene(asked))


def _reclaimed(asked: ReclaimAsked) -> Evictions:
    return reclaim(_scene(asked), require_gang_pipelined=asked.require_gang_pipelined)


def _evictions(evictions: Evictions) -> Written:
    return {
        "evicted": [eviction.task for eviction in evictions.evicted],
        "pipelined": dict(evictions.pipelined),
        "deserved": {queue: dict(parts) for queue, parts in evictions.deserved.items()},
        "evictions": [
            {
                "id": eviction.task,
                "job": eviction.job,
                "queue": eviction.queue,
                "node": eviction.node,
                "for": eviction.taker,
                "votes": [_told(ballot) for ballot in eviction.ballots],
            }
            for eviction in evictions.evicted
        ],
        "losers": [_loser(loser) for loser in evictions.losers],
    }


def _explain_evictions(evictions: Evictions) -> str:
    lines = [*_how_shared(evictions.shared), ""]
    for eviction in evictions.evicted:
        where = f"{eviction.node}, {eviction.queue}/{eviction.job}"
        lines.append(f"{eviction.task} ({where}) goes for {eviction.taker}")
        lines.extend(f"  {_ballot(ballot)}" for ballot in eviction.ballots)
    lines.extend(f"{task} waits for {node}" for task, node in evictions.pipelined.items())
    return "\n".join([*lines, *_why_they_wait(evictions.losers)])


def _all(given: Mapping[str, int | None]) -> Amounts:
    return {Resource(name): amount for name, amount in given.items() if amount is not None}


def _without_slots(given: Mapping[str, int | None]) -> Amounts:
    """Pods are slots of nodes and no resource that is shared out."""
    return {name: amount for name, amount in _all(given).items() if name != SLOTS}


def _weights(given: Mapping[str, object]) -> dict[NamespaceName, int]:
    return {NamespaceName(name): weight_of(weight) for name, weight in given.items()}


def _by_queue(given: Mapping[str, Given | None]) -> dict[QueueName, Amounts]:
    return {QueueName(name): _without_slots(one) for name, one in _stated(given).items()}


def _stated(given: Mapping[str, Given | None]) -> dict[str, Given]:
    return {name: amounts for name, amounts in given.items() if amounts is not None}


def _party(task: str, *, job: str, request: tuple[int, ...], ns: str = DEFAULT_NAMESPACE) -> Party:
    return Party(TaskName(task), JobName(job), _NO_QUEUE, NamespaceName(ns), request)


def _granted(ballots: Sequence[Ballot]) -> list[TaskName]:
    return [ballot.task for ballot in ballots if ballot.granted]


def _loser(loser: Loser) -> Written:
    return {
        "job": loser.job,
        "waiting": loser.waiting,
        "code": loser.code,
        "reasons": [_told(reason) for reason in loser.reasons],
    }


def _told(value: Any) -> Any:
    """A value of the core as an answer is made of."""
    if is_dataclass(value):
        return {field.name: _told(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: _told(one) for name, one in value.items()}
    return value


def _why_they_wait(losers: Sequence[Loser]) -> Iterable[str]:
    for loser in losers:
        yield f"{loser.job} waits with {loser.waiting}: {loser.code}"
        for reason in loser.reasons:
            yield f"  {_because(reason)}"


def _because(reason: Reason) -> str:
    match reason:
        case UnknownQueue(queue):
            return f"there is no queue {queue}"
        case QueueClosed(queue):
            return f"queue {queue} is not open"
        case TooFewTasks(gang_min, tasks):
            return f"it has {count(tasks, 'task')} and needs {gang_min}"
        case QueueOverused(queue, deserved, allocated):
            each = (
                f"{held} of {_written(deserved[name])} {name}" for name, held in allocated.items()
            )
            return f"queue {queue} has all it deserves: {', '.join(each)}"
        case QueueLimit(task, resource, deserved_of_it, held, request, tasks):
            return (
                f"task {task}: the queue holds {held} {resource}, with {request} more it would"
                f" exceed the {_written(deserved_of_it)} it deserves ({tasks} such)"
            )
        case NodeFit(task, nodes, lacking):
            each = (f"{count} lack {name}" for name, count in lacking.items())
            return (
                f"task {task}: of {count(nodes, 'node')} {', '.join(each) or 'none has all of it'}"
            )
        case GangShort(gang_min, ready):
            return f"{count(ready, 'task')} would have a place, the gang needs {gang_min}"
        case RoundFull(max_tasks, placed):
            return f"the round placed {count(placed, 'task')} and may place {max_tasks}"
        case NamespaceBehind(winner, winner_share, share):
            return (
                f"namespace {winner} went last, at {_written(winner_share)}; its own has"
                f" {_written(share)}"
            )
        case JobBehind(winner, winner_standing, standing):
            return (
                f"job {winner} went last, at {_stands(winner_standing)}; itself {_stands(standing)}"
            )
        case EvictVeto(task, candidates, refused):
            each = (f"{voter} keeps {count}" for voter, count in refused.items() if count)
            return f"task {task}: of {candidates} who might go {', '.join(each)}"
        case TooFewVictims(task, candidates):
            return f"task {task}: {candidates} might go, which is too few on any node"
        case NeverPreempts(task):
            return f"task {task} is to have nobody evicted"


def _stands(standing: Standing) -> str:
    gang = "gang ready" if standing.ready else "gang short"
    share = _written(standing.share)
    return f"priority {standing.priority}, {gang}, share {share}, seq {standing.seq}"


def _ballot(ballot: Ballot) -> str:
    verdict = "grants" if ballot.granted else "keeps"
    said = f"{ballot.voter} {verdict} {ballot.task}"
    return compared(said, ballot.rule, ballot.left, ballot.right, ballot.before)


def compared(said: str, rule: str, left: Fraction, right: Fraction, before: Fraction | None) -> str:
    """What a voter said, with the numbers that its rule compared."""
    if rule == "conformance":
        return said
    numbers = f"{_written(left)} against {_written(right)}"
    if before is not None:
        numbers += f", before that {_written(before)}"
    return f"{said}: by {rule}, {numbers}"


def _written(number: Fraction) -> str:
    return spelled(number).strip('"')


def _list(names: Iterable[str]) -> str:
    return ", ".join(names) or "nobody"


OPS: Final[tuple[Op[Any], ...]] = (
    Op(
        "fairshare.namespace_weight",
        "what a namespace weighs while its quotas change",
        NamespaceWeight,
        _namespace_weight,
        _explain_namespace_weight,
    ),
    Op(
        "fairshare.dominant_share",
        "the largest part of the total that is held",
        Shared,
        _dominant_share,
        _explain_dominant_share,
    ),
    Op(
        "fairshare.compare_namespaces",
        "which of two namespaces is served first",
        Compare,
        _compare_namespaces,
        _explain_compare_namespaces,
    ),
    Op(
        "fairshare.queue_deserved",
        "what each queue deserves of each resource",
        QueueDeserved,
        _queue_deserved,
        _explain_queue_deserved,
    ),
    Op(
        "fairshare.entitlement",
        "what each namespace is entitled to in each queue",
        EntitlementAsked,
        _entitlement,
        _explain_entitlement,
    ),
    Op(
        "fairshare.allocate",
        "one round: which tasks are placed, in which order, and why the others wait",
        Allocate,
        _allocate,
        _explain_allocate,
    ),
    Op(
        "fairshare.gang_state",
        "whether a job has the tasks that its gang needs",
        Gang,
        _gang_state,
        _explain_gang_state,
    ),
    Op(
        "fairshare.gang_vote",
        "whom the gang voter can spare",
        GangVote,
        _gang_vote,
        _explain_gang_vote,
    ),
    Op(
        "fairshare.drf_vote",
        "whom the drf voter can spare",
        DrfVote,
        _drf_vote,
        _explain_drf_vote,
    ),
    Op(
        "fairshare.conformance_vote",
        "whether a cluster can live without a task",
        Conformance,
        _conformance_vote,
        _explain_conformance_vote,
    ),
    Op(
        "fairshare.intersect_victims",
        "whom all voters can spare",
        Intersect,
        _intersect_victims,
        _explain_intersect_victims,
    ),
    Op(
        "fairshare.eviction_order",
        "who would have to go first",
        EvictionOrder,
        _eviction_order,
        _explain_eviction_order,
    ),
    Op(
        "fairshare.preempt",
        "who has to go so that a job of the same queue can start",
        PreemptAsked,
        lambda asked: _evictions(_preempted(asked)),
        lambda asked: _explain_evictions(_preempted(asked)),
    ),
    Op(
        "fairshare.reclaim",
        "who has to go so that another queue gets what it deserves",
        ReclaimAsked,
        lambda asked: _evictions(_reclaimed(asked)),
        lambda asked: _explain_evictions(_reclaimed(asked)),
    ),
)
