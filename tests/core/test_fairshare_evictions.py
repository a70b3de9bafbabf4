"""Who may be evicted for whom, at the corners."""

from fractions import Fraction
from typing import Any

from ledger.core.fairshare.eviction import Evictions, preempt, reclaim
from ledger.core.fairshare.queues import Queue
from ledger.core.fairshare.reasons import (
    EvictVeto,
    GangShort,
    Loser,
    NeverPreempts,
    NodeFit,
    QueueClosed,
    QueueLimit,
    QueueOverused,
    TooFewTasks,
    TooFewVictims,
    UnknownQueue,
)
from ledger.core.fairshare.resources import Amounts, JobName, QueueName, Resource, TaskName
from ledger.core.fairshare.room import SLOTS, Node
from ledger.core.fairshare.stage import GangJob, Scene, Task
from ledger.units import NodeName

CPU = Resource("cpu")
Q, R = QueueName("q"), QueueName("r")
N1, N2 = NodeName("n1"), NodeName("n2")
ONE: Amounts = {CPU: 1}


def runs(name: str, job: str, request: Amounts = ONE, node: NodeName = N1, **more: Any) -> Task:
    usual: dict[str, Any] = {"status": "running", "preemptable": True}
    return Task(TaskName(name), JobName(job), request, node=node, **(usual | more))


def wants(name: str, job: str, request: Amounts = ONE, **more: Any) -> Task:
    return Task(TaskName(name), JobName(job), request, **more)


def job(name: str, queue: QueueName = Q, **more: Any) -> GangJob:
    return GangJob(JobName(name), queue, **more)


def scene(
    *tasks: Task, jobs: list[GangJob], nodes: dict[NodeName, Amounts] | None = None, **more: Any
) -> Scene:
    places = {N1: {CPU: 2}} if nodes is None else nodes
    usual: dict[str, Any] = {
        "queues": [Queue(Q), Queue(R)],
        "nodes": [Node(name, amounts) for name, amounts in places.items()],
    }
    return Scene(jobs=jobs, tasks=tasks, **(usual | more))


def gone(done: Evictions) -> list[str]:
    return [str(eviction.task) for eviction in done.evicted]


def test_inside_a_job_a_less_important_task_goes_for_two_small_ones() -> None:
    asked = scene(
        runs("big", "j", {CPU: 2}),
        wants("p1", "j", priority=1),
        wants("p2", "j", priority=1),
        jobs=[job("j", gang_min=2)],
        voters=["conformance"],
    )

    done = preempt(asked)

    assert gone(done) == ["big"]
    assert done.pipelined == {"p1": N1, "p2": N1}


def test_inside_a_job_nobody_goes_for_an_equally_important_one() -> None:
    asked = scene(
        runs("big", "j", {CPU: 2}),
        wants("p1", "j"),
        wants("p2", "j"),
        jobs=[job("j", gang_min=2)],
        voters=["conformance"],
    )

    assert gone(preempt(asked)) == []


def test_a_job_that_was_served_and_lost_from_once_more_takes_what_fits_as_it_is() -> None:
    done = preempt(
        scene(
            runs("large", "first", {CPU: 2}),
            wants("a0", "first"),
            wants("a1", "first", index=1),
            wants("b0", "second"),
            wants("b1", "second", index=1),
            jobs=[job("first", gang_min=2, priority=1), job("second", gang_min=2)],
            nodes={N1: {CPU: 4}},
            voters=["conformance"],
        )
    )

    assert gone(done) == ["large"]
    assert done.pipelined == {"a0": N1, "a1": N1, "b0": N1, "b1": N1}


def test_who_asks_for_nothing_takes_a_slot_only_from_its_like() -> None:
    def asked(request: Amounts) -> Scene:
        return scene(
            runs("r", "rich", request),
            wants("p", "poor", {}),
            jobs=[job("rich", gang_min=0), job("poor")],
            nodes={},
            voters=["conformance"],
            queues=[Queue(Q)],
        )

    one_slot = [Node(N1, {CPU: 2}, slots=1)]
    from_like = preempt(Scene(**(fields(asked({})) | {"nodes": one_slot})))
    from_other = preempt(Scene(**(fields(asked(ONE)) | {"nodes": one_slot})))

    assert gone(from_like) == ["r"]
    assert gone(from_other) == []
    # To its gang a best-effort task that waits is as good as placed: nothing but a slot is missing.
    no_slot = NodeFit(TaskName("p"), 1, {SLOTS: 1})
    assert from_other.losers[0].reasons == (no_slot, TooFewVictims(TaskName("p"), 0))


def fields(of: Scene) -> dict[str, Any]:
    return {name: getattr(of, name) for name in Scene.__dataclass_fields__}


def test_a_closed_queue_takes_nothing() -> None:
    asked = scene(
        runs("r", "rich", {CPU: 2}),
        wants("p", "poor"),
        jobs=[job("rich", gang_min=0), job("poor")],
        queues=[Queue(Q, is_open=False)],
        voters=["conformance"],
    )

    for done in (preempt(asked), reclaim(asked)):
        assert gone(done) == []
        assert done.losers == (Loser(JobName("poor"), 1, (QueueClosed(Q),)),)


def test_a_queue_that_is_not_reclaimable_keeps_what_it_has() -> None:
    def asked(*, reclaimable: bool) -> Scene:
        return scene(
            runs("r1", "rich"),
            runs("r2", "rich"),
            wants("p", "poor"),
            jobs=[job("rich", gang_min=0), job("poor", R)],
            queues=[Queue(Q, reclaimable=reclaimable), Queue(R)],
        )

    assert gone(reclaim(asked(reclaimable=True))) == ["r2"]
    kept = reclaim(asked(reclaimable=False))
    assert gone(kept) == []
    assert kept.losers[0].reasons == (
        GangShort(1, 0),
        NodeFit(TaskName("p"), 1, {CPU: 1}),
        TooFewVictims(TaskName("p"), 0),
    )


def test_what_falls_short_of_a_gang_is_kept_only_on_demand() -> None:
    asked = scene(
        runs("r1", "rich"),
        runs("r2", "rich"),
        wants("p1", "poor"),
        wants("p2", "poor"),
        jobs=[job("rich", gang_min=0), job("poor", R, gang_min=2)],
    )

    whole = reclaim(asked)
    part = reclaim(asked, require_gang_pipelined=False)

    assert (gone(whole), whole.pipelined) == ([], {})
    assert (gone(part), part.pipelined) == (["r2"], {"p1": N1})
    limit = QueueLimit(TaskName("p2"), CPU, Fraction(1), 1, 1, tasks=1)
    assert whole.losers == (Loser(JobName("poor"), 2, (GangShort(2, 1), limit)),)
    assert part.losers == (Loser(JobName("poor"), 1, (GangShort(2, 1), limit)),)


def test_a_job_with_fewer_tasks_than_its_gang_takes_nothing_even_on_demand() -> None:
    asked = scene(
        runs("r1", "rich"),
        runs("r2", "rich"),
        wants("p", "poor"),
        runs("ended", "poor", status="failed"),
        jobs=[job("rich", gang_min=0), job("poor", R, gang_min=2)],
    )

    done = reclaim(asked, require_gang_pipelined=False)

    assert (gone(done), done.pipelined) == ([], {})
    assert done.losers == (Loser(JobName("poor"), 1, (TooFewTasks(2, 1),)),)
    assert preempt(asked).losers == done.losers


def test_whether_a_job_has_tasks_enough_is_settled_before_anybody_goes() -> None:
    asked = scene(
        runs("r", "second", {CPU: 2}),
        wants("p", "first"),
        wants("s", "second", {}),
        jobs=[job("first", Q), job("second", R, gang_min=2)],
        queues=[Queue(Q, priority=1), Queue(R)],
        voters=["conformance"],
    )

    done = reclaim(asked, require_gang_pipelined=False)

    assert gone(done) == ["r"]
    assert done.pipelined == {"p": N1, "s": N1}


def test_a_task_that_never_preempts_is_passed_over_and_the_next_is_tried() -> None:
    asked = scene(
        wants("p1", "poor", never_preempts=True),
        wants("p2", "poor"),
        jobs=[job("poor", gang_min=2)],
    )

    done = preempt(asked)

    assert done.pipelined == {}
    assert done.losers[0].reasons == (GangShort(2, 1), NeverPreempts(TaskName("p1")))


def test_an_overused_queue_reclaims_nothing() -> None:
    asked = scene(
        runs("s", "poor"),
        runs("r", "rich"),
        wants("p", "poor"),
        jobs=[job("rich", gang_min=0), job("poor", R, gang_min=2)],
    )

    done = reclaim(asked)

    overused = QueueOverused(R, {CPU: Fraction(1)}, {CPU: 1})
    assert done.losers == (Loser(JobName("poor"), 1, (overused,)),)


def test_what_strangers_hold_is_no_room_and_no_use() -> None:
    elsewhere = QueueName("elsewhere")
    asked = scene(
        runs("s1", "stranger"),
        runs("s2", "nobody"),
        wants("p", "poor"),
        wants("s3", "stranger"),
        jobs=[job("stranger", elsewhere), job("poor")],
        voters=["conformance"],
    )

    done = preempt(asked)

    assert (gone(done), done.pipelined) == ([], {})
    assert done.deserved == {Q: {CPU: 1}}
    assert [loser.reasons[0] for loser in done.losers] == [
        GangShort(1, 0),
        UnknownQueue(elsewhere),
    ]


def test_a_veto_is_counted_voter_by_voter() -> None:
    asked = scene(
        runs("r1", "rich"),
        runs("r2", "rich"),
        wants("p", "poor"),
        jobs=[job("rich", gang_min=1), job("poor")],
        voters=["conformance", "gang", "priority"],
    )

    done = preempt(asked)

    veto = EvictVeto(TaskName("p"), 2, {"conformance": 0, "gang": 1, "priority": 2})
    assert done.losers[0].reasons[-1] == veto


def test_a_node_with_more_tasks_than_slots_needs_several_to_go() -> None:
    asked = scene(
        *(runs(f"r{number}", "rich", {CPU: 0}) for number in range(3)),
        wants("p", "poor"),
        jobs=[job("rich", gang_min=0), job("poor")],
        nodes={},
        voters=["conformance"],
    )
    crowded = Scene(**(fields(asked) | {"nodes": [Node(N1, {CPU: 2}, slots=1)]}))

    done = preempt(crowded)

    assert gone(done) == ["r0", "r1", "r2"]


def test_evictions_happen_where_names_come_first_and_room_before_anywhere() -> None:
    tasks = [runs("r1", "rich"), runs("r2", "rich", node=N2), wants("p", "poor")]
    jobs = [job("rich", gang_min=0), job("poor")]
    voters = ["conformance"]

    tight = preempt(scene(*tasks, jobs=jobs, nodes={N2: ONE, N1: ONE}, voters=voters))
    roomy = preempt(scene(*tasks, jobs=jobs, nodes={N1: ONE, N2: {CPU: 2}}, voters=voters))

    assert (gone(tight), tight.pipelined) == (["r1"], {"p": N1})
    assert (gone(roomy), roomy.pipelined) == ([], {"p": N2})


def test_a_total_and_a_deserved_may_be_given() -> None:
    tasks = [runs("r1", "rich"), runs("r2", "rich"), wants("p", "poor")]
    jobs = [job("rich", gang_min=0), job("poor", R)]

    given = reclaim(scene(*tasks, jobs=jobs, deserved={R: {}}))
    larger = reclaim(scene(*tasks, jobs=jobs, total={CPU: 100}))

    assert [loser.code for loser in given.losers] == ["queue_overused"]
    assert gone(larger) == []
    assert larger.deserved == {Q: {CPU: 2}, R: {CPU: 1}}
    assert SLOTS not in larger.deserved[Q]
