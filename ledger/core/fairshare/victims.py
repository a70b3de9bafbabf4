"""Votes on who may be evicted for a task, and whom all voters can spare.

Every voter is shown the same candidates in the same order and answers for each of them:

conformance  refuses what a cluster cannot live without: the namespace ``kube-system`` and the two
             system priority classes
gang         refuses when the job of the candidate would drop below its gang
drf          grants when, after the exchange, the namespace that takes is at or below the one that
             gives, per weight. On a tie, and inside one namespace, the jobs are compared: the one
             that takes must end at or below what is left to the other and below what that has now
priority     grants when the job of the candidate is less important
proportion   grants when the queue of the candidate holds more than it deserves of something

A voter that counts (gang, drf, proportion) takes off what it has granted so far and nothing else:
a candidate that it refused stays where it is. Whom every voter granted may go. One empty vote
leaves nobody, and without a single voter nobody has agreed to anything.

Whose candidates they are and in which order is left to ``ledger.core.fairshare.eviction``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, get_args

from ledger.core.fairshare.orders import ShareOfDeserved, ShareOfTotal
from ledger.core.fairshare.resources import (
    JobName,
    NamespaceName,
    QueueName,
    TaskName,
    Vector,
)
from ledger.core.shares import require_distinct
from ledger.errors import InvalidRequest

Voter = Literal["conformance", "gang", "drf", "priority", "proportion"]

PREEMPT_VOTERS: Final[tuple[Voter, ...]] = ("conformance", "gang", "drf")
RECLAIM_VOTERS: Final[tuple[Voter, ...]] = ("conformance", "gang", "proportion")

_SYSTEM_NAMESPACE: Final = "kube-system"
_SYSTEM_CLASSES: Final = ("system-cluster-critical", "system-node-critical")

_ZERO: Final = Fraction(0)


@dataclass(frozen=True, slots=True)
class Party:
    """A task that takes or may have to give, as far as voters look at it."""

    task: TaskName
    job: JobName
    queue: QueueName
    namespace: NamespaceName
    request: Vector
    job_priority: int = 0
    priority_class: str = ""


@dataclass(frozen=True, slots=True)
class Ballot:
    """What one voter says of one candidate, and the two numbers it compared.

    It grants where ``left`` is below ``right``. By the rule ``job`` equal is enough, provided that
    ``left`` is below ``before``, what the other job has now. Conformance compares no numbers.
    """

    voter: Voter
    task: TaskName
    granted: bool
    rule: Literal["conformance", "gang", "namespace", "job", "priority", "proportion"]
    left: Fraction = _ZERO
    right: Fraction = _ZERO
    before: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Vote:
    """A voter's word, as names. One that abstains is not counted."""

    victims: frozenset[TaskName]
    abstains: bool = False


@dataclass(frozen=True, slots=True)
class JobCount:
    """How many ready tasks a job has, pending ones not counted, and how many its gang needs."""

    ready: int
    gang_min: int


@dataclass(frozen=True, slots=True)
class Holdings:
    """Who holds how much at the moment; whoever is not named holds nothing."""

    namespaces: Mapping[tuple[QueueName, NamespaceName], Sequence[int]]
    jobs: Mapping[JobName, Sequence[int]]
    queues: Mapping[QueueName, Sequence[int]]


def is_evictable(namespace: str, priority_class: str) -> bool:
    """Whether a cluster can live without such a task."""
    return namespace != _SYSTEM_NAMESPACE and priority_class not in _SYSTEM_CLASSES


def conformance_vote(candidates: Sequence[Party]) -> list[Ballot]:
    """Refuse what a cluster cannot live without."""
    return [
        Ballot("conformance", c.task, is_evictable(c.namespace, c.priority_class), "conformance")
        for c in candidates
    ]


def gang_vote(candidates: Sequence[Party], jobs: Mapping[JobName, JobCount]) -> list[Ballot]:
    """Refuse what a gang needs. A job that nobody knows has no task to spare."""
    left_over: dict[JobName, int] = {}
    ballots = []
    for candidate in candidates:
        count = jobs.get(candidate.job, JobCount(0, 1))
        ready = left_over.get(candidate.job, count.ready)
        granted = ready > count.gang_min
        ballots.append(
            Ballot(
                *("gang", candidate.task, granted, "gang"),
                Fraction(count.gang_min),
                Fraction(ready),
            )
        )
        left_over[candidate.job] = ready - granted
    return ballots


def drf_vote(
    taker: Party,
    candidates: Sequence[Party],
    holdings: Holdings,
    *,
    of_total: ShareOfTotal,
    weights: Mapping[NamespaceName, int],
) -> list[Ballot]:
    """Grant what leaves the taker at or below the giver."""
    nothing = (0,) * len(taker.request)

    def weighted(holding: Sequence[int], namespace: NamespaceName) -> Fraction:
        return of_total.share(holding, weights.get(namespace, 1))

    namespaces = {place: tuple(held) for place, held in holdings.namespaces.items()}
    jobs = {job: tuple(held) for job, held in holdings.jobs.items()}
    with_it = _plus(namespaces.get((taker.queue, taker.namespace), nothing), taker.request)
    namespace_left = weighted(with_it, taker.namespace)
    job_left = of_total.share(_plus(jobs.get(taker.job, nothing), taker.request))
    ballots = []
    for candidate in candidates:
        place = (candidate.queue, candidate.namespace)
        namespace_rest = _minus(namespaces.get(place, nothing), candidate.request)
        job_held = jobs.get(candidate.job, nothing)
        job_rest = _minus(job_held, candidate.request)
        namespace_right = weighted(namespace_rest, candidate.namespace)
        if candidate.namespace != taker.namespace and namespace_left != namespace_right:
            ballot = Ballot(
                voter="drf",
                task=candidate.task,
                granted=namespace_left < namespace_right,
                rule="namespace",
                left=namespace_left,
                right=namespace_right,
            )
        else:
            right, before = of_total.share(job_rest), of_total.share(job_held)
            ballot = Ballot(
                voter="drf",
                task=candidate.task,
                # The second part keeps an exchange and its reverse from both being granted.
                granted=job_left <= right and job_left < before,
                rule="job",
                left=job_left,
                right=right,
                before=before,
            )
        ballots.append(ballot)
        if ballot.granted:
            namespaces[place] = namespace_rest
            jobs[candidate.job] = job_rest
    return ballots


def priority_vote(taker: Party, candidates: Sequence[Party]) -> list[Ballot]:
    """Grant what is less important."""
    return [
        Ballot(
            *("priority", c.task, c.job_priority < taker.job_priority, "priority"),
            Fraction(c.job_priority),
            Fraction(taker.job_priority),
        )
        for c in candidates
    ]


def proportion_vote(
    candidates: Sequence[Party],
    holdings: Holdings,
    deserved: Mapping[QueueName, ShareOfDeserved],
) -> list[Ballot]:
    """Grant what a queue holds beyond what it deserves."""
    queues = {queue: tuple(held) for queue, held in holdings.queues.items()}
    ballots = []
    for candidate in candidates:
        held = queues[candidate.queue]
        above, left, right = deserved[candidate.queue].most_above(held)
        ballots.append(Ballot("proportion", candidate.task, above, "proportion", left, right))
        if above:
            queues[candidate.queue] = _minus(held, candidate.request)
    return ballots


def intersect(candidates: Sequence[TaskName], votes: Sequence[Vote]) -> list[TaskName]:
    """Whom all who voted grant, in the order of the candidates; nobody if nobody voted."""
    counted = [vote.victims for vote in votes if not vote.abstains]
    if not counted:
        return []
    return [name for name in candidates if all(name in victims for victims in counted)]


def require_voters(voters: Sequence[Voter]) -> None:
    """Refuse voters that do not exist, or vote twice."""
    require_distinct("voter", voters)
    for voter in voters:
        if voter not in get_args(Voter):
            raise InvalidRequest("invalid_request", f"there is no voter {voter!r}")


def _plus(one: Sequence[int], other: Sequence[int]) -> Vector:
    return tuple(a + b for a, b in zip(one, other, strict=True))


def _minus(one: Sequence[int], other: Sequence[int]) -> Vector:
    return tuple(a - b for a, b in zip(one, other, strict=True))
