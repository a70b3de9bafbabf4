"""When a contradiction of the book is recorded, and what the record says."""

from dataclasses import replace

import pytest
from immutables import Map

from ledger.facts.decision import from_record, record
from ledger.reducers.book import NO_HOLDING, NOTHING_HELD, Change, Holding, changed, short
from ledger.reducers.evolve import follow
from ledger.reducers.incidents import Righted
from ledger.reducers.rooms import with_holdings
from ledger.units import Bytes, DecisionNumber, Subject
from tests.histories import (
    History,
    cluster_up,
    divided,
    each_takes,
    incident_of,
    node_gone,
    node_up,
    only,
    pod_gone,
    pod_seen,
    policy,
    workload_up,
)

NODE = Subject("m1/n1")


def with_a_pod(memory: int) -> History:
    log = History()
    log.add_all(cluster_up("m1"), node_up("m1", "n1", memory=8))
    log.add(pod_seen("m1", "ns", "p", node="n1", request=each_takes(cpu=3000, memory=memory)))
    return log


def test_a_node_that_declares_less_than_it_holds_is_an_incident_once() -> None:
    log = with_a_pod(6)
    found = only(log.add(node_up("m1", "n1", memory=5, cpu=2000)))
    assert (found.subject, found.branch, found.algorithm, found.moved, found.previous) == (
        "m1/n1",
        "over_committed",
        "engine",
        0,
        None,
    )
    assert dict(incident_of(found).numbers) == {"cpu": 1000, "memory": 1}
    assert log.add(node_up("m1", "n1", memory=4, cpu=3000)).decisions == (), "it lasts"
    assert log.add(node_up("m1", "n1", memory=6, cpu=3000)).decisions == (), "it is over"
    assert dict(incident_of(only(log.add(node_up("m1", "n1", memory=5)))).numbers) == {"memory": 1}


def test_what_is_held_may_grow_beyond_what_is_declared_too() -> None:
    log = with_a_pod(6)
    more = pod_seen("m1", "ns", "q", node="n1", request=each_takes(memory=3))
    assert dict(incident_of(only(log.add(more))).numbers) == {"memory": 1}
    assert log.add(pod_gone("m1", "ns", "q")).decisions == ()
    assert only(log.add(more)).kind == "incident", "it had ended"
    log.add(node_gone("m1", "n1"))
    assert not log.world.incidents.told
    assert only(log.add(node_up("m1", "n1", memory=8))).branch == "over_committed"


def test_a_node_that_takes_no_new_work_is_judged_all_the_same() -> None:
    log = with_a_pod(6)
    assert only(log.add(node_up("m1", "n1", memory=5, ready=False))).kind == "incident"


def test_amounts_are_judged_one_by_one_and_what_is_not_declared_is_nothing() -> None:
    node = node_up("m1", "n1", cores={"0": 100}, memory=9, volumes={"/a": 5}, pods=1)
    node = replace(node, numa=(("0", "g"),), numa_memory=(("g", Bytes(4)),))
    taken = Holding(1500, 9, 0, 2, (("0", 60), ("1", 90)), (("g", 5),), (("/a", 5), ("/b", 1)))
    held = changed(Map(), [Change(NODE, taken, 1)])[NODE]
    assert dict(short(node, held)) == {
        "cpu": 500,
        "core 1": 90,
        "device /b": 1,
        "group g": 1,
        "pods": 1,
    }
    assert short(node, NOTHING_HELD) == ()


@pytest.mark.parametrize("told", [50, 200])
def test_pieces_that_somebody_is_bound_to_keep_their_base(told: int) -> None:
    log = History()
    log.add_all(cluster_up("m1"), node_up("m1", "n1", cores={"0": 100, "1": 100}, memory=5))
    bound = NO_HOLDING._replace(cpu=1000, pieces=(("0", 100),))
    log.world = with_holdings(log.world, [Change(NODE, bound, 1)])
    other = node_up("m1", "n1", cores={"0": told, "1": told}, memory=7)

    found = only(log.add(replace(other, share_base=told)))

    assert (found.branch, found.subject) == ("share_base_kept", "m1/n1")
    assert dict(incident_of(found).numbers) == {"kept": 100, "told": told}
    kept = log.world.objects.fact("node", NODE)
    assert kept == replace(other, cores=(("0", 100), ("1", 100))), "all else that it says counts"
    assert log.add(replace(other, share_base=told)).decisions == (), "it lasts"
    assert only(log.add(replace(other, share_base=told + 1))).branch == "share_base_kept"
    assert only(log.add(replace(other, share_base=told))).branch == "share_base_kept"
    log.world = with_holdings(log.world, [Change(NODE, bound, -1)])
    assert log.world.objects.fact("node", NODE) == kept
    log.wait(1)
    assert log.world.objects.fact("node", NODE) == replace(other, share_base=told)


def test_incidents_come_after_everything_else_that_was_decided_and_end_no_refusal() -> None:
    log = with_a_pod(6)
    log.add(workload_up("m1/n1", 3, divided({"m9": 1})))
    assert ("division", "m1/n1") in log.world.refusals
    step = log.add(node_up("m1", "n1", memory=5))
    assert [made.kind for made in step.decisions] == ["incident"]
    served = log.add(cluster_up("m9")).decisions
    assert [(made.kind, made.previous) for made in served] == [("division", 0)]


def test_an_incident_reads_back_as_it_was_written_and_folds_to_the_same_world() -> None:
    log = with_a_pod(6)
    log.add(node_up("m1", "n1", memory=5))
    world = History().world
    for event, step in zip(log.events, log.steps, strict=True):
        read = [from_record(record(made)) for made in step.decisions]
        assert read == list(step.decisions)
        world = follow(world, event, read)
    assert world == log.world


def test_what_ends_is_told_with_the_event_that_ended_it() -> None:
    log = with_a_pod(6)
    told = only(log.add(node_up("m1", "n1", memory=5)))
    assert log.add(node_up("m1", "n1", memory=4)).righted == (), "it lasts"

    assert log.add(node_up("m1", "n1", memory=6)).righted == (
        Righted(NODE, "over_committed", NODE, before=DecisionNumber(told.number + 1)),
    )
    assert log.add(node_up("m1", "n1", memory=7)).righted == ()


def test_what_was_never_recorded_does_not_end() -> None:
    log = with_a_pod(6)
    log.add(policy({"hold": True}))
    log.add(node_up("m1", "n1", memory=5))
    assert log.add(node_up("m1", "n1", memory=6)).righted == ()
