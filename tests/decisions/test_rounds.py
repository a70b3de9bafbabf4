"""Rounds of jobs at their borders: what is asked under hold, what asks for nothing, what pods hold."""

import sys
from dataclasses import replace
from types import FrameType

import pytest

from ledger.core.fairshare.stage import Stage
from ledger.errors import AlgorithmMissing
from ledger.facts.allocation import Allocation
from ledger.facts.decision import Decision, from_record, record
from ledger.facts.event import Fact
from ledger.reducers.world import next_deadline
from ledger.units import Subject
from tests.histories import (
    SECOND,
    History,
    cluster_up,
    finished,
    job_up,
    node_gone,
    node_up,
    only,
    pod_seen,
    policy,
    queue_gone,
    queue_up,
    refusal_of,
)


def fleet(*, cpu: int = 4000, pods: int | None = None) -> History:
    """One node, one queue, and a round in every event that makes one due."""
    log = History()
    log.add_all(
        policy({"round.max_events": 1, "round.max_milliseconds": 0}),
        cluster_up("m1"),
        node_up("m1", "n1", cpu=cpu, pods=pods),
        queue_up("q"),
    )
    return log


def allocation_of(made: Decision) -> Allocation:
    assert isinstance(made.outcome, Allocation)
    return made.outcome


def test_a_job_in_no_queue_is_refused_once_hold_is_lifted_and_only_if_it_still_is_in_none() -> None:
    log = fleet()
    log.add(policy({"hold": True}))
    assert log.add(job_up("ns/a", 1, "lost")).decisions == ()
    assert log.add(job_up("ns/b", 1, "late")).decisions == ()
    log.add(queue_up("late"))

    made = log.add(policy({"hold": False})).decisions

    assert [(one.kind, one.subject) for one in made] == [
        ("refusal", "ns/a"),
        ("allocation", "ns/b"),
    ]
    assert refusal_of(made[0]).waits_for == "queue"


def test_tasks_that_ask_for_nothing_take_slots_whatever_their_queue_deserves() -> None:
    log = fleet(pods=3)

    made = log.add(job_up("ns/idle", 5, "q", cpu=0)).decisions

    placed = allocation_of(made[0])
    assert [one.way for one in placed.tasks] == ["backfill"] * 3
    assert placed.waiting == 2
    refused = refusal_of(made[1])
    assert refused.reason == "node_fit", "its queue is not what they wait for"
    assert ("lacking pods", 1) in refused.detail


def test_who_waits_for_slots_that_a_full_round_did_not_reach_is_told_nothing_yet() -> None:
    log = fleet(pods=3)
    log.add_all(policy({"hold": True, "round.max_tasks": 2}))
    log.add_all(job_up("ns/first", 2, "q", cpu=0), job_up("ns/then", 2, "q", cpu=0))

    made = log.add(policy({"hold": False})).decisions
    later = log.add(policy({})).decisions

    assert [(one.kind, one.subject) for one in made] == [("allocation", "ns/first")]
    assert [(one.kind, one.subject) for one in later] == [
        ("allocation", "ns/then"),
        ("refusal", "ns/then"),
    ]
    assert refusal_of(later[1]).reason == "node_fit"


def test_a_finished_task_stays_finished_when_its_node_goes() -> None:
    log = fleet()
    log.add(job_up("ns/a", 2, "q"))
    log.add(finished("ns/a", 0))
    log.add(node_gone("m1", "n1"))

    made = only(log.add(node_up("m1", "n2")))

    assert [one.task for one in allocation_of(made).tasks] == [1]
    assert made.moved == 1


def test_the_pod_of_a_task_that_is_done_holds_nothing_while_it_is_still_seen() -> None:
    log = fleet(cpu=1000)
    log.add(job_up("ns/a", 1, "q"))
    log.add(pod_seen("m1", "ns", "a-0", owner=("Job", "a"), node="n1"))

    log.add(finished("ns/a"))

    assert Subject("m1/n1") not in log.world.book
    assert only(log.add(job_up("ns/b", 1, "q"))).kind == "allocation"


def test_a_round_without_a_word_is_over_all_the_same() -> None:
    log = fleet(cpu=0)
    log.add(policy({"round.max_milliseconds": 1000}))
    log.add(job_up("ns/a", 1, "q"))
    assert log.add(queue_up("q", weight=2)).decisions == ()

    assert next_deadline(log.world) is None
    assert log.wait(5 * SECOND).decisions == ()


def test_nothing_is_due_where_nobody_waits_and_no_deadline_is_left() -> None:
    log = fleet()
    log.add(policy({"round.max_events": 100, "round.max_milliseconds": 1000}))
    log.add(job_up("ns/a", 1, "q"))
    assert next_deadline(log.world) is not None

    log.add(queue_gone("q"))

    assert next_deadline(log.world) is None


def test_a_version_that_this_program_lacks_is_named() -> None:
    log = fleet()
    log.add(policy({"algorithms.fairshare": 9}))

    with pytest.raises(AlgorithmMissing, match="fairshare"):
        log.add(job_up("ns/a", 1, "q"))


def test_what_a_round_decided_is_read_back_as_it_was() -> None:
    log = fleet()
    log.add(policy({"fairshare.preempt": True}))
    log.add(job_up("b/rich", 4, "q"))

    made = log.add(job_up("a/poor", 2, "q", gang=2)).decisions

    assert [one.kind for one in made][:2] == ["eviction", "allocation"]
    assert [from_record(record(one)) for one in made] == list(made)
    assert record(made[0]) != record(replace(made[0], moved=1))


def stages(log: History, fact: Fact) -> int:
    """How often all that runs is looked at when something happens."""
    seen = 0

    def look(frame: FrameType, what: str, _: object) -> None:
        nonlocal seen
        seen += what == "call" and frame.f_code is Stage.__init__.__code__

    sys.setprofile(look)
    try:
        log.add(fact)
    finally:
        sys.setprofile(None)
    return seen


def test_nobody_looks_for_evictions_on_behalf_of_who_cannot_take() -> None:
    log = fleet(cpu=2000)
    log.add_all(policy({"fairshare.preempt": True, "fairshare.reclaim": True}), queue_up("other"))
    log.add(job_up("a/runs", 2, "other"))

    assert stages(log, job_up("b/few", 1, "q", gang=2)) == 0
    assert stages(log, queue_up("closed", is_open=False)) == 0
    assert stages(log, job_up("b/closed", 2, "closed", gang=2)) == 0
    assert stages(log, job_up("b/greedy", 2, "other", gang=2)) == 1  # for preempt alone
    assert stages(log, job_up("b/poor", 2, "q", gang=2)) == 2
