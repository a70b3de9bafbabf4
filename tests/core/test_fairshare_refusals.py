"""Questions about fair shares that mean nothing are refused by name."""

from fractions import Fraction
from typing import Any

import pytest

from ledger.core.fairshare.decay import LARGEST_FACTOR, MOST_BUCKETS, DecayPolicy, factor_of
from ledger.core.fairshare.deserved import QueueClaim, deserve
from ledger.core.fairshare.entitlement import NamespaceDemand, QueueDemand, entitle
from ledger.core.fairshare.eviction import preempt, reclaim
from ledger.core.fairshare.queues import Queue
from ledger.core.fairshare.resources import (
    JobName,
    NamespaceName,
    QueueName,
    Resource,
    TaskName,
    dominant_share,
)
from ledger.core.fairshare.room import Node
from ledger.core.fairshare.round import Holding, Job, RoundQuestion, WaitingTask, allocate
from ledger.core.fairshare.stage import GangJob, Scene, Task
from ledger.errors import InvalidRequest
from ledger.units import Microseconds, NodeName

CPU = Resource("cpu")
Q, A = QueueName("q"), NamespaceName("a")
AMOUNTS: list[Any] = [{CPU: -1}, {CPU: True}, {CPU: 0.5}, {CPU: "1"}]


@pytest.mark.parametrize(
    "queue",
    [
        Queue(Q, weight=0),
        Queue(Q, weight=-1),
        Queue(Q, weight=True),
        Queue(Q, guarantee={CPU: 2}, capability={CPU: 1}),
        *(Queue(Q, guarantee=amounts) for amounts in AMOUNTS),
        *(Queue(Q, capability=amounts) for amounts in AMOUNTS),
    ],
)
def test_a_queue_that_could_not_be_served(queue: Queue) -> None:
    with pytest.raises(InvalidRequest, match="invalid_request: queue q") as refused:
        deserve({CPU: 1}, [QueueClaim(queue, {})])
    assert refused.value.code == "invalid_request"


def test_the_same_queue_twice() -> None:
    with pytest.raises(InvalidRequest, match="queue: 'q' is named twice"):
        deserve({CPU: 1}, [QueueClaim(Queue(Q), {})] * 2)


@pytest.mark.parametrize("amounts", AMOUNTS)
def test_amounts_that_are_none(amounts: Any) -> None:
    for ask in (
        lambda: deserve(amounts, []),
        lambda: deserve({}, [QueueClaim(Queue(Q), amounts)]),
        lambda: dominant_share(amounts, {CPU: 1}),
        lambda: dominant_share({}, amounts),
    ):
        with pytest.raises(InvalidRequest):
            ask()


@pytest.mark.parametrize(
    ("total", "demands"),
    [
        (-1, []),
        (1, [QueueDemand(Q, 0, [])]),
        (1, [QueueDemand(Q, 1, [])] * 2),
        (1, [QueueDemand(Q, 1, [NamespaceDemand(A, 0, 1)])]),
        (1, [QueueDemand(Q, 1, [NamespaceDemand(A, 1, -1)])]),
        (1, [QueueDemand(Q, 1, [NamespaceDemand(A, 1, 1)] * 2)]),
    ],
)
def test_an_entitlement_to_nothing_sensible(total: int, demands: list[QueueDemand]) -> None:
    with pytest.raises(InvalidRequest):
        entitle(total, demands)


def job(**given: Any) -> Job:
    return Job(JobName("j"), **({"queue": Q, "tasks": [WaitingTask(0, {})]} | given))


@pytest.mark.parametrize(
    "given",
    [
        {"total": {CPU: -1}},
        {"queues": [Queue(Q), Queue(Q)]},
        {"queues": [Queue(Q, weight=0)]},
        {"jobs": [job(), job()]},
        {"jobs": [job(gang_min=-1)]},
        {"jobs": [job(ready=-1)]},
        {"jobs": [job(held={CPU: -1})]},
        {"jobs": [job(tasks=[WaitingTask(0, {}), WaitingTask(0, {})])]},
        {"jobs": [job(tasks=[WaitingTask(0, {CPU: -1})])]},
        {"nodes": [Node(NodeName("n")), Node(NodeName("n"))]},
        {"nodes": [Node(NodeName("n"), {CPU: -1})]},
        {"nodes": [Node(NodeName("n"), slots=-1)]},
        {"running": [Holding(Q, A, {CPU: -1})]},
        {"weights": {A: 0}},
        {"deserved": {Q: {CPU: -1}}},
        {"charges": {(Q, A): {CPU: -1}}},
        {"job_order": ("share", "share")},
        {"job_order": ("luck",)},
        {"max_tasks": 0},
    ],
)
def test_a_round_that_means_nothing(given: dict[str, Any]) -> None:
    usual: dict[str, Any] = {"total": {}, "queues": [Queue(Q)], "jobs": [job()], "nodes": []}

    with pytest.raises(InvalidRequest):
        allocate(RoundQuestion(**(usual | given)))


TASK = Task(TaskName("t"), JobName("j"))


@pytest.mark.parametrize(
    "given",
    [
        {"queues": [Queue(Q), Queue(Q)]},
        {"jobs": [GangJob(JobName("j"), Q)] * 2},
        {"jobs": [GangJob(JobName("j"), Q, gang_min=-1)]},
        {"nodes": [Node(NodeName("n"))] * 2},
        {"tasks": [TASK, TASK]},
        {"tasks": [Task(TaskName("t"), JobName("j"), {CPU: -1})]},
        {"weights": {A: 0}},
        {"deserved": {Q: {CPU: -1}}},
        {"voters": ["luck"]},
        {"voters": ["gang", "gang"]},
    ],
)
def test_a_scene_that_means_nothing(given: dict[str, Any]) -> None:
    usual: dict[str, Any] = {"queues": [Queue(Q)], "jobs": [GangJob(JobName("j"), Q)]}
    usual |= {"nodes": [], "tasks": [TASK]}

    for action in (preempt, reclaim):
        with pytest.raises(InvalidRequest):
            action(Scene(**(usual | given)))


@pytest.mark.parametrize(
    ("half_life", "bucket"), [(0, 1), (1, 0), (3, 2), (1, 2), (MOST_BUCKETS + 1, 1), (-2, 1)]
)
def test_a_half_life_that_would_forget_nothing_or_everything(half_life: int, bucket: int) -> None:
    with pytest.raises(InvalidRequest):
        factor_of(Microseconds(half_life), Microseconds(bucket))


@pytest.mark.parametrize(
    ("bucket", "factor", "weight"), [(0, 1, 1), (1, 0, 1), (1, LARGEST_FACTOR + 1, 1), (1, 1, -1)]
)
def test_a_decay_that_is_none(bucket: int, factor: int, weight: int) -> None:
    with pytest.raises(InvalidRequest):
        DecayPolicy(Microseconds(bucket), factor, Fraction(weight))


def test_the_largest_factor_is_that_of_the_longest_half_life() -> None:
    assert factor_of(Microseconds(MOST_BUCKETS), Microseconds(1)) == LARGEST_FACTOR
    DecayPolicy(Microseconds(1), LARGEST_FACTOR)


def test_a_scope_that_there_is_not() -> None:
    cluster: Any = "cluster"

    with pytest.raises(InvalidRequest, match="scope: there is no 'cluster'"):
        allocate(RoundQuestion({}, [], [], [], scope=cluster))
