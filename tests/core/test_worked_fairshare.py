"""The worked examples in docs/core/fairshare.md are true: each is read, asked and compared in full."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import pytest

from ledger.core.fairshare.deserved import QueueClaim, deserve, whole_units
from ledger.core.fairshare.entitlement import NamespaceDemand, QueueDemand, entitle
from ledger.core.fairshare.eviction import preempt, reclaim
from ledger.core.fairshare.queues import Queue
from ledger.core.fairshare.reasons import Loser
from ledger.core.fairshare.resources import JobName, NamespaceName, QueueName, Resource, TaskName
from ledger.core.fairshare.room import Node
from ledger.core.fairshare.round import Job, RoundQuestion, Scope, WaitingTask, allocate
from ledger.core.fairshare.stage import GangJob, Scene, Task
from ledger.units import NodeName
from tests.core.worked import examples

CPU = Resource("cpu")

Asked = dict[str, list[list[str]]]
"""The words after each first word, line by line."""


@pytest.mark.parametrize(("above", "below"), examples("fairshare.md", reading=str))
def test_an_example_comes_out_as_written(above: str, below: str) -> None:
    asked: Asked = {}
    for line in above.splitlines():
        first, *rest = line.split()
        asked.setdefault(first, []).append(rest)
    answer = ANSWERS[next(iter(asked))]

    said = [f"{first:<9}{' '.join(words)}".rstrip() for first, words in answer(asked)]

    assert "\n".join(said) == below.rstrip()
    assert asked == {}, "unknown words"


def deserved(asked: Asked) -> Iterator[tuple[str, Sequence[str]]]:
    (total,) = asked.pop("deserve")
    claims = []
    for name, *pairs in asked.pop("queue"):
        given = counts(pairs)
        limits: dict[str, Any] = {
            word: {CPU: given[word]} for word in ("guarantee", "capability") if word in given
        }
        queue = Queue(QueueName(name), given["weight"], **limits)
        claims.append(QueueClaim(queue, {CPU: given["request"]}))
    shared = deserve({Resource(d): amount for d, amount in counts(total).items()}, claims)
    shares = shared.resources[CPU]
    yield "level", [str(shares.level)]
    yield "deserved", [f"{queue}={part}" for queue, part in shares.parts.items()]
    yield "whole", [f"{queue}={units}" for queue, units in whole_units(shares).items()]
    if shared.infeasible:
        yield "flags", ["guarantee_infeasible"]


def entitled(asked: Asked) -> Iterator[tuple[str, Sequence[str]]]:
    ((total,),) = asked.pop("entitle")
    queues = []
    for name, weight, *inside in asked.pop("queue"):
        namespaces = []
        for pair in inside:
            namespace, _, numbers = pair.partition("=")
            heavy, _, wanted = numbers.partition(":")
            namespaces.append(NamespaceDemand(NamespaceName(namespace), int(heavy), int(wanted)))
        queues.append(QueueDemand(QueueName(name), counts([weight])["weight"], namespaces))
    entitlement = entitle(int(total), queues).queues
    yield "assigned", [f"{name}={queue.assigned}" for name, queue in entitlement.items()]
    yield (
        "parts",
        [
            f"{name}/{namespace}={part}"
            for name, queue in entitlement.items()
            for namespace, part in queue.namespaces.items()
        ],
    )


def played(asked: Asked) -> Iterator[tuple[str, Sequence[str]]]:
    (total,) = asked.pop("round")
    cpu = {CPU: counts(total)["cpu"]}
    jobs = []
    for name, *pairs in asked.pop("job"):
        given = dict(pair.split("=") for pair in pairs)
        tasks = [
            WaitingTask(index, {CPU: int(size)})
            for index, size in enumerate(given["tasks"].split(","))
        ]
        queue, namespace = QueueName(given["queue"]), NamespaceName(given["ns"])
        gang_min = int(given.get("min", 1))
        jobs.append(Job(JobName(name), queue, tasks, namespace, gang_min))
    weights = [counts(pairs) for pairs in asked.pop("weight", [])]
    bound = asked.pop("max", [[]])[0]
    scope: Scope = "global" if asked.pop("scope", None) == [["global"]] else "per_queue"
    result = allocate(
        RoundQuestion(
            total=cpu,
            queues=[
                Queue(QueueName(name), **weight_of(pairs)) for name, *pairs in asked.pop("queue")
            ],
            jobs=jobs,
            nodes=[Node(NodeName("n1"), cpu)],
            weights={NamespaceName(n): w for given in weights for n, w in given.items()},
            max_tasks=int(bound[0]) if bound else None,
            scope=scope,
        )
    )
    yield "order", [f"{job}[{index}]" for job, index, _ in result.places]
    yield "shares", [f"{turn.queue_share}:{turn.namespace_share}" for turn in result.turns]
    yield "used", [f"{q}/{namespace}={used[CPU]}" for (q, namespace), used in result.used.items()]
    yield "waits", [waits(loser) for loser in result.losers]


def evicted(asked: Asked) -> Iterator[tuple[str, Sequence[str]]]:
    action = reclaim if asked.pop("reclaim", None) is not None else preempt
    asked.pop("preempt", None)
    jobs, tasks = [], []
    for name, *pairs in asked.pop("job"):
        given = dict(pair.split("=") for pair in pairs)
        job = JobName(name)
        queue, namespace = QueueName(given["queue"]), NamespaceName(given["ns"])
        jobs.append(GangJob(job, queue, namespace, int(given.get("min", 1))))
        for running in filter(None, given.get("runs", "").split(",")):
            task, _, node = running.partition("@")
            here = NodeName(node)
            tasks.append(Task(TaskName(task), job, {CPU: 1}, "running", here, preemptable=True))
        tasks.extend(
            Task(TaskName(task), job, {CPU: 1})
            for task in filter(None, given.get("wants", "").split(","))
        )
    done = action(
        Scene(
            queues=[Queue(QueueName(name)) for (name,) in asked.pop("queue")],
            jobs=jobs,
            nodes=[
                Node(NodeName(name), {CPU: counts(pairs)["cpu"]})
                for name, *pairs in asked.pop("node")
            ],
            tasks=tasks,
        )
    )
    by_drf = sorted(
        (eviction.taker, ballot.task, f"{ballot.rule}:{ballot.left}:{ballot.right}")
        for eviction in done.evicted
        for ballot in eviction.ballots
        if ballot.voter == "drf"
    )
    yield "evicted", [eviction.task for eviction in done.evicted]
    yield "gets", [f"{task}@{node}" for task, node in done.pipelined.items()]
    yield "drf", [f"{task}={words}" for _, task, words in by_drf]
    yield "waits", [waits(loser) for loser in done.losers]


ANSWERS: Mapping[str, Callable[[Asked], Iterator[tuple[str, Sequence[str]]]]] = {
    "deserve": deserved,
    "entitle": entitled,
    "round": played,
    "preempt": evicted,
    "reclaim": evicted,
}


def waits(loser: Loser) -> str:
    return f"{loser.job}={loser.waiting}:{','.join(reason.code for reason in loser.reasons)}"


def counts(pairs: Sequence[str]) -> dict[str, int]:
    return {name: int(Fraction(number)) for name, _, number in (p.partition("=") for p in pairs)}


def weight_of(pairs: Sequence[str]) -> dict[str, Any]:
    """What an example of a round says of a queue."""
    return dict(counts(pairs))
