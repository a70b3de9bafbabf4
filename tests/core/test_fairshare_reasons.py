"""Everybody who waits is told why, with the numbers."""

from fractions import Fraction
from typing import Any

import pytest

from ledger.core.fairshare.queues import Queue
from ledger.core.fairshare.reasons import (
    GangShort,
    JobBehind,
    Loser,
    NamespaceBehind,
    NodeFit,
    QueueClosed,
    QueueLimit,
    QueueOverused,
    RoundFull,
    Standing,
    TooFewTasks,
    UnknownQueue,
)
from ledger.core.fairshare.resources import Amounts, JobName, NamespaceName, QueueName, Resource
from ledger.core.fairshare.room import SLOTS, Node
from ledger.core.fairshare.round import Holding, Job, Round, RoundQuestion, WaitingTask, allocate
from ledger.units import NodeName

CPU, MEM, GPU = Resource("cpu"), Resource("mem"), Resource("gpu")
Q = QueueName("q")
A, B = NamespaceName("a"), NamespaceName("b")


def job(name: str, *requests: Amounts, **more: Any) -> Job:
    tasks = [WaitingTask(index, request) for index, request in enumerate(requests)]
    return Job(JobName(name), **({"queue": Q, "tasks": tasks} | more))


def node(name: str, slots: int | None = None, **amounts: int) -> Node:
    return Node(NodeName(name), {Resource(d): amount for d, amount in amounts.items()}, slots)


def play(*jobs: Job, nodes: list[Node], **more: Any) -> Round:
    usual: dict[str, Any] = {"total": {CPU: 4, MEM: 4}, "queues": [Queue(Q)], "jobs": jobs}
    return allocate(RoundQuestion(nodes=nodes, **(usual | more)))


def only(played: Round) -> Loser:
    (loser,) = played.losers
    return loser


def test_there_is_no_such_queue() -> None:
    lost = job("j", {CPU: 1}, queue=QueueName("elsewhere"))

    played = play(lost, nodes=[node("n", cpu=4)])

    assert only(played) == Loser(JobName("j"), 1, (UnknownQueue(QueueName("elsewhere")),))
    assert played.used == {}


def test_the_queue_is_closed_and_still_counts_in_the_sharing() -> None:
    queues = [Queue(Q, is_open=False), Queue(QueueName("open"))]
    other = job("k", {CPU: 4}, queue=QueueName("open"))

    played = play(job("j", {CPU: 4}), other, nodes=[node("n", cpu=4)], queues=queues)

    assert [loser.reasons[0].code for loser in played.losers] == ["queue_closed", "gang_short"]
    assert played.losers[0].reasons == (QueueClosed(Q),)
    assert played.deserved[QueueName("open")][CPU] == 2


def test_a_job_with_too_few_tasks_has_no_turn() -> None:
    played = play(job("j", {CPU: 1}, gang_min=3, ready=1), nodes=[node("n", cpu=4)])

    assert only(played).reasons == (TooFewTasks(gang_min=3, tasks=2),)


def test_no_node_has_room_and_each_lack_is_counted() -> None:
    played = play(
        job("j", {CPU: 2, MEM: 2}),
        nodes=[
            node("n1", cpu=2, mem=1),
            node("n2", cpu=1, mem=2),
            node("n3"),
            node("n4", 0, cpu=2, mem=2),
        ],
    )

    lacking = {CPU: 2, MEM: 2, SLOTS: 1}
    assert only(played).reasons == (GangShort(1, 0), NodeFit(0, 4, lacking))


def test_a_task_larger_than_every_node_does_not_block_its_queue() -> None:
    played = play(
        job("huge", {CPU: 3}, priority=9), job("small", {CPU: 1}), nodes=[node("n", cpu=2)]
    )

    assert [name for name, _, _ in played.places] == ["small"]
    assert only(played).job == "huge"


def test_the_queue_would_exceed_what_it_deserves_and_further_tasks_are_tried() -> None:
    played = play(
        job("j", {CPU: 3}, {CPU: 1}, {CPU: 4}, gang_min=0),
        nodes=[node("n", cpu=9)],
        running=[Holding(Q, A, {CPU: 2})],
    )

    assert [index for _, index, _ in played.places] == [1]
    assert only(played).reasons == (QueueLimit(0, CPU, Fraction(4), 2, 3, tasks=1),)


def test_the_queue_has_all_it_deserves_and_another_namespace_was_before() -> None:
    played = play(
        job("ja", {CPU: 1}, {CPU: 1}, {CPU: 1}, {CPU: 1}, namespace=A),
        job("jb", {CPU: 1}, {CPU: 1}, namespace=B),
        nodes=[node("n", cpu=4)],
        weights={A: 3},
    )

    overused = QueueOverused(Q, {CPU: Fraction(4), MEM: Fraction(0)}, {CPU: 4, MEM: 0})
    behind = NamespaceBehind(A, Fraction(1, 6), Fraction(1, 4))
    assert played.losers == (
        Loser(JobName("ja"), 1, (overused,)),
        Loser(JobName("jb"), 1, (overused, behind)),
    )


def test_another_job_of_the_namespace_was_before() -> None:
    played = play(
        job("first", {CPU: 4}, priority=1), job("second", {CPU: 1}), nodes=[node("n", cpu=9)]
    )

    assert only(played).reasons[1:] == (
        JobBehind(
            JobName("first"),
            Standing(priority=1, ready=False, share=Fraction(0), seq=0),
            Standing(priority=0, ready=False, share=Fraction(0), seq=0),
        ),
    )


def test_the_round_is_full() -> None:
    played = play(job("j", {CPU: 1}, {CPU: 1}), nodes=[node("n", cpu=4)], max_tasks=1)

    assert only(played).reasons == (RoundFull(max_tasks=1, placed=1),)


def test_a_gang_larger_than_the_bound_has_a_round_for_itself() -> None:
    gang = job("gang", {CPU: 1}, {CPU: 1}, {CPU: 1}, gang_min=3)

    played = play(gang, job("other", {CPU: 1}), nodes=[node("n", cpu=4)], max_tasks=2)

    assert [name for name, _, _ in played.places] == ["gang"] * 3
    assert only(played).code == "round_full"


def test_the_bound_counts_best_effort_tasks_of_a_gang() -> None:
    gang = job("gang", {}, {CPU: 1}, {CPU: 1}, gang_min=3, seq=1)

    played = play(job("one", {CPU: 1}), gang, nodes=[node("n", cpu=4)], max_tasks=3)

    assert [name for name, _, _ in played.places] == ["one"]
    assert {loser.code for loser in played.losers} == {"round_full"}


def test_a_gang_that_is_held_counts_what_it_has() -> None:
    played = play(job("j", {CPU: 1}, gang_min=2, ready=1, held={CPU: 3}), nodes=[node("n", cpu=1)])

    assert [index for _, index, _ in played.places] == [0]
    assert played.used == {(Q, NamespaceName("default")): {CPU: 4, MEM: 0}}


def test_a_given_deserved_adds_no_resource_and_stands_as_it_is() -> None:
    played = play(
        job("j", {CPU: 1}, {CPU: 1}), nodes=[node("n", cpu=4)], deserved={Q: {CPU: 1, GPU: 5}}
    )

    assert [index for _, index, _ in played.places] == [0]
    assert played.deserved == {Q: {CPU: 1, MEM: 0}}
    assert only(played).code == "queue_overused"


def test_past_use_makes_a_namespace_wait() -> None:
    jobs = [job("ja", {CPU: 1}, namespace=A), job("jb", {CPU: 1}, namespace=B)]

    played = play(*jobs, nodes=[node("n", cpu=4)], charges={(Q, A): {CPU: 1}})

    assert [name for name, _, _ in played.places] == ["jb", "ja"]
    assert played.turns[1].namespace_share == Fraction(1, 4)
    assert played.used[Q, A][CPU] == 1


@pytest.mark.parametrize(
    ("order", "first"), [(("priority", "share"), "important"), (("share", "priority"), "idle")]
)
def test_what_decides_between_jobs_can_be_put_in_another_order(
    order: tuple[str, ...], first: str
) -> None:
    played = play(
        job("important", {CPU: 1}, priority=1, held={CPU: 1}, ready=1),
        job("idle", {CPU: 1}),
        nodes=[node("n", cpu=9)],
        job_order=order,
    )

    assert played.turns[0].job == first


def test_over_all_queues_a_namespace_waits_for_what_it_holds_and_used_elsewhere() -> None:
    r = QueueName("r")
    jobs = [job("a", {CPU: 1}, namespace=A), job("b", {CPU: 1}, namespace=B)]
    elsewhere = job("c", {CPU: 1}, namespace=A, queue=r)
    there: dict[str, Any] = {"nodes": [node("n", cpu=4)], "queues": [Queue(Q), Queue(r)]}
    there["deserved"] = {Q: {CPU: 1}, r: {CPU: 1}}

    apart = play(*jobs, **there, running=[Holding(r, A, {CPU: 1})])
    together = play(*jobs, **there, running=[Holding(r, A, {CPU: 1})], scope="global")
    used = play(*jobs, elsewhere, **there, charges={(r, A): {CPU: 1}}, scope="global")

    assert [turn.job for turn in apart.turns] == ["a"]
    assert [turn.job for turn in together.turns] == ["b"]
    behind = NamespaceBehind(B, winner_share=Fraction(0), share=Fraction(1, 4))
    assert only(together).reasons[-1] == behind
    assert [turn.job for turn in used.turns] == ["b", "c"]
    assert used.used == {
        (Q, A): {CPU: 0, MEM: 0},
        (Q, B): {CPU: 1, MEM: 0},
        (r, A): {CPU: 1, MEM: 0},
    }


def test_over_all_queues_past_use_counts_of_a_queue_that_nobody_uses_now() -> None:
    r = QueueName("r")
    jobs = [job("a", {CPU: 1}, namespace=A), job("b", {CPU: 1}, namespace=B)]
    there: dict[str, Any] = {"nodes": [node("n", cpu=4)], "queues": [Queue(Q), Queue(r)]}

    used = play(*jobs, **there, charges={(r, A): {CPU: 1}}, scope="global")

    assert [turn.job for turn in used.turns] == ["b", "a"]
    assert used.turns[1].namespace_share == Fraction(1, 4)
