"""Borders of a turn: what is one decision, what is refused, and what is not said twice."""

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.core.spot.min_available import read_min_available
from ledger.decisions.deployment_turn import MOST_INSTANCES
from ledger.facts.deployment import NodeChange, Waiting
from ledger.facts.workload import DeployStrategy, Request
from ledger.reducers.annotations import readable
from ledger.reducers.conservation import differences
from ledger.reducers.deadlines import in_order
from ledger.reducers.instances import there
from ledger.units import NodeName, Replicas, Subject, Uid
from tests.histories import (
    NOTHING,
    SECOND,
    History,
    cluster_gone,
    cluster_up,
    deployed,
    deployment_of,
    divided,
    each_takes,
    job_up,
    node_gone,
    node_reclaimed,
    node_up,
    on_nodes,
    only,
    policy,
    queue_up,
    refusal_of,
    reschedule,
    workload_gone,
    workload_up,
)

ONE = each_takes(memory=1)
WEB = "shop/web@m1"


def placed(replicas: int = 4, *, memory: int = 9, nodes: int = 2) -> History:
    log = History()
    log.add(cluster_up("m1"))
    for name in range(nodes):
        log.add(node_up("m1", f"n{name}", memory=memory))
    log.add(workload_up("shop/web", replicas, cluster="m1", deploy=deployed(), request=ONE))
    return log


def test_an_upsert_that_changes_nothing_asks_nothing() -> None:
    log = placed()
    again = workload_up("shop/web", 4, cluster="m1", deploy=deployed(), request=ONE, priority=7)
    assert log.add(again).decisions == ()


def test_a_workload_without_a_word_on_deployment_has_no_instances() -> None:
    log = History()
    log.add_all(cluster_up("m1"), node_up("m1", "n0", memory=9))
    step = log.add(workload_up("shop/web", 4, cluster="m1", request=ONE))
    assert step.decisions == ()
    assert not log.world.deployments.of


def test_a_job_with_a_queue_is_never_deployed() -> None:
    log = History()
    log.add_all(cluster_up("m1"), node_up("m1", "n0", memory=9))
    job = workload_up("shop/job", 4, cluster="m1", deploy=deployed(), kind="Job", queue="q")
    assert [made.kind for made in log.add(job).decisions] == ["refusal"]
    assert log.add(queue_up("q")).decisions == ()


def test_what_is_lost_under_hold_is_told_and_asked_for_when_it_ends() -> None:
    log = placed()
    log.add(policy({"hold": True}))

    step = log.add(node_gone("m1", "n0"))

    assert step.decisions == ()
    assert [(one.subject, one.number, one.node, one.places) for one in step.released] == [
        (WEB, 0, "n0", 2)
    ]
    assert on_nodes(log.world, WEB) == {"n1": [2, 3]}
    made = only(log.add(policy({"hold": False})))
    assert made.moved == 2
    assert deployment_of(made).changes == (
        NodeChange(NodeName("n0"), 0, 2),
        NodeChange(NodeName("n1"), 2, 0),
    )


def test_a_refusal_that_nobody_wants_any_more_ends_with_the_event() -> None:
    log = History()
    log.add(cluster_up("m1"))
    refused = only(
        log.add(workload_up("shop/web", 4, cluster="m1", deploy=deployed(), request=ONE))
    )
    assert refusal_of(refused).reason == "no_eligible_node"

    step = log.add(workload_gone("shop/web"))

    assert step.decisions == ()
    assert [(one.kind, one.subject, one.number) for one in step.ended] == [("refusal", WEB, 0)]
    assert not log.world.refusals
    assert not log.world.retries.listed


def test_a_share_that_moves_when_a_grace_ends_takes_its_refusal_along() -> None:
    log = History()
    log.add_all(policy({"grace.cluster_ms": 5000}), cluster_up("m1"), cluster_up("m2"))
    log.add_all(node_up("m2", "n0", memory=9))
    log.add(workload_up("shop/web", 4, divided(), deploy=deployed(), request=ONE))
    log.add(cluster_up("m1", ready=False))

    step = log.wait(6 * SECOND)

    assert [(one.kind, one.subject) for one in step.ended] == [("refusal", WEB)]
    assert on_nodes(log.world, "shop/web@m2") == {"n0": [0, 1, 2, 3]}


def test_a_removed_workload_gives_up_with_one_decision_for_each_cluster() -> None:
    log = History()
    log.add_all(cluster_up("m1"), cluster_up("m2"))
    log.add_all(node_up("m1", "n0", memory=9), node_up("m2", "n0", memory=9))
    log.add(workload_up("shop/web", 4, divided(), deploy=deployed(), request=ONE))

    step = log.add(workload_gone("shop/web"))

    assert [(made.subject, made.branch) for made in step.decisions] == [
        (WEB, "given_up"),
        ("shop/web@m2", "given_up"),
    ]
    assert not log.world.book
    assert not log.world.deployments.of


def test_what_is_given_up_and_what_is_refused_are_a_decision_and_a_refusal() -> None:
    log = placed(memory=2)
    larger = workload_up(
        "shop/web", 3, cluster="m1", deploy=deployed(), request=each_takes(memory=3)
    )

    decided, refused = log.add(larger).decisions

    assert deployment_of(decided).given_up == ((3, "n1"),)
    assert not deployment_of(decided).complete
    assert refusal_of(refused).detail == (
        ("edit_found", 0),
        ("edit_short_memory", 9),
        ("edit_wanted", 3),
    )
    assert refused.previous == decided.number


def test_movers_find_room_that_movers_left() -> None:
    log = History()
    log.add_all(cluster_up("m1"), node_up("m1", "n0", memory=4, labels={"tier": "gold"}))
    log.add_all(node_up("m1", "n1", memory=4))
    log.add(workload_up("shop/web", 4, cluster="m1", deploy=deployed(), request=ONE))

    selected = workload_up(
        "shop/web", 4, cluster="m1", deploy=deployed(selector={"tier": "gold"}), request=ONE
    )
    made = only(log.add(selected))

    assert made.moved == 2
    assert [move.why for move in deployment_of(made).moves] == ["selector", "selector"]
    assert on_nodes(log.world, WEB) == {"n0": [0, 1, 2, 3]}


def test_what_waits_is_counted_for_what_may_still_come() -> None:
    log = placed(4, memory=2)
    log.add(node_gone("m1", "n1"))

    decided = log.add(node_up("m1", "n1", memory=1)).decisions[0]

    assert deployment_of(decided).waiting == (Waiting(3, NodeName("n1")),)
    grown = log.add(workload_up("shop/web", 5, cluster="m1", deploy=deployed(), request=ONE))
    assert grown.decisions == (), "the same reason, and the same to wait for"
    made = only(log.add(node_up("m1", "n2", memory=9)))
    assert deployment_of(made).complete
    assert on_nodes(log.world, WEB) == {"n0": [0, 1], "n1": [2], "n2": [3, 4]}


def test_a_reclaimed_node_keeps_what_finds_no_place_until_it_is_gone() -> None:
    log = placed(4, memory=2)

    refused = only(log.add(node_reclaimed("m1", "n0")))

    assert refusal_of(refused).detail == (
        ("reclaiming_found", 0),
        ("reclaiming_short_memory", 2),
        ("reclaiming_wanted", 2),
    )
    assert on_nodes(log.world, WEB) == {"n0": [0, 1], "n1": [2, 3]}
    assert log.add(node_gone("m1", "n0")).decisions == (), "it was said that there is no room"
    assert on_nodes(log.world, WEB) == {"n1": [2, 3]}


def test_with_its_cluster_everything_is_lost_and_nobody_is_eligible() -> None:
    log = placed()
    refused = only(log.add(cluster_gone("m1")))
    assert refusal_of(refused).reason == "no_eligible_node"
    assert not log.world.book


def test_who_asks_for_everything_anew_in_vain_is_told_each_time() -> None:
    log = placed(4, memory=2)
    log.add(node_up("m1", "n0", memory=1))
    for _ in range(2):
        refused = only(log.add(reschedule("shop/web")))
        assert refusal_of(refused).waits_for == "nothing"
    assert not log.world.refusals


def test_a_node_cut_otherwise_is_cut_so_when_nobody_is_bound_to_it_any_more() -> None:
    log = History()
    node = node_up("m1", "n1", cores={"0": 100, "1": 100}, memory=9)
    cut = replace(node_up("m1", "n1", cores={"0": 40, "1": 40, "2": 40}, memory=9), share_base=40)
    halves = each_takes(cpu=500, bind=True)
    fifths = each_takes(cpu=2200, bind=True)
    log.add_all(cluster_up("m1"), node)
    log.add(workload_up("shop/web", 1, cluster="m1", deploy=deployed(), request=halves))

    assert [made.branch for made in log.add(cut).decisions] == ["share_base_kept"]
    log.add(workload_up("shop/web", 3, cluster="m1", deploy=deployed(), request=halves))
    held = log.world.deployments.of[Subject(WEB)].instances
    assert [one.cores for one in held] == [(("0", 50),), (("0", 50),), (("1", 50),)]
    log.add(workload_up("shop/db", 1, cluster="m1", deploy=deployed(), request=fifths))
    assert not on_nodes(log.world, "shop/db@m1")

    log.add(workload_gone("shop/web"))
    assert not on_nodes(log.world, "shop/db@m1")
    log.wait(1)

    assert log.world.objects.fact("node", Subject("m1/n1")) == cut
    assert on_nodes(log.world, "shop/db@m1") == {"n1": [0]}
    assert differences(log.world) == ()


def test_who_gives_the_last_piece_back_and_takes_another_does_both_in_the_same_pieces() -> None:
    log = History()
    cut = replace(node_up("m1", "n1", cores={"0": 50, "1": 50}, memory=9), share_base=50)
    one = each_takes(cpu=1000, bind=True)
    web = workload_up("shop/web", 2, cluster="m1", deploy=deployed(), request=one)
    log.add_all(cluster_up("m1"), node_up("m1", "n1", cpu=2000, memory=9), web, cut)

    log.add(replace(web, uid=Uid("another")))

    held = log.world.deployments.of[Subject(WEB)].instances
    assert [one.cores for one in held] == [(("0", 100),), (("1", 100),)]
    assert differences(log.world) == ()
    log.add(replace(web, uid=Uid("another"), replicas=Replicas(0)))
    log.wait(1)
    assert log.world.objects.fact("node", Subject("m1/n1")) == cut


@pytest.mark.parametrize("request_", [NOTHING, ONE])
@pytest.mark.parametrize("strategy", get_args(DeployStrategy))
def test_nobody_makes_more_instances_than_can_be_kept(
    strategy: DeployStrategy, request_: Request
) -> None:
    log = History()
    log.add_all(cluster_up("m1"), *(node_up("m1", f"n{name}", memory=2**40) for name in range(2)))
    web = workload_up("shop/web", 1, cluster="m1", deploy=deployed(strategy), request=request_)
    many = Replicas(2**31 - 1)
    if strategy in {"FILL", "EACH"}:
        web = replace(web, deploy=deployed(strategy, count=many))
    else:
        web = replace(web, replicas=many)

    refused = refusal_of(only(log.add(web)))

    assert (refused.reason, refused.waits_for) == ("too_many_instances", "specification")
    assert not on_nodes(log.world, WEB)
    assert log.add(node_up("m1", "n2", memory=2**40)).decisions == ()


def test_an_order_that_comes_again_ends_where_no_more_can_be_kept() -> None:
    log = History()
    log.add_all(cluster_up("m1"), node_up("m1", "n0"))
    first, second, last = (
        workload_up("shop/web", 1, cluster="m1", deploy=deployed("EACH", count=count))
        for count in (100_000, 50_000, 1)
    )
    log.add_all(first, second)
    refused = refusal_of(only(log.add(last)))
    assert dict(refused.detail) == {"growth_found": 0, "growth_wanted": 1}
    assert len(log.world.deployments.of[Subject(WEB)].instances) == MOST_INSTANCES


def test_what_another_life_was_to_be_asked_is_not_asked_of_the_next() -> None:
    log = placed()
    log.add_all(policy({"hold": True}), reschedule("shop/web"))
    log.add(workload_up("shop/web", 2, cluster="m1", deploy=deployed(), request=ONE, uid="another"))
    made = only(log.add(policy({"hold": False})))
    assert deployment_of(made).because == ("gone", "share")
    assert made.branch == "given_up"


def test_a_bound_instance_grows_where_it_is_only_as_far_as_the_cpu_of_its_node_goes() -> None:
    log = History()
    bound = each_takes(cpu=1000, bind=True)
    web = workload_up("shop/web", 1, cluster="m1", deploy=deployed(), request=bound)
    log.add_all(cluster_up("m1"), node_up("m1", "n0", cores={"0": 100, "1": 100}), web)
    log.add_all(queue_up("q"), policy({"round.max_events": 1}), job_up("ns/j", 1, "q", cpu=800))
    assert log.world.jobs.on, "a task takes cpu and no cores"

    refused = only(log.add(replace(web, request=each_takes(cpu=1500, bind=True))))

    assert refusal_of(refused).detail[0] == ("edit_found", 0)
    (one,) = log.world.deployments.of[Subject(WEB)].instances
    assert one.cores == (("0", 100),)
    log.add(replace(web, request=each_takes(cpu=1200, bind=True)))
    (one,) = log.world.deployments.of[Subject(WEB)].instances
    assert sum(pieces for _, pieces in one.cores) == 120


@pytest.mark.parametrize("strategy", ["AUTO", "DRAINED"])
def test_nodes_that_are_not_ready_give_up_first(strategy: DeployStrategy) -> None:
    log = History()
    log.add_all(policy({"grace.node_ms": 1000}), cluster_up("m1"), node_up("m1", "n1", memory=1))
    web = workload_up("shop/web", 1, cluster="m1", deploy=deployed(strategy), request=ONE)
    log.add_all(web, node_up("m1", "n2", memory=9), replace(web, replicas=Replicas(4)))
    assert on_nodes(log.world, WEB) == {"n1": [0], "n2": [1, 2, 3]}

    log.add(node_up("m1", "n1", memory=1, ready=False))
    log.add(replace(web, replicas=Replicas(3)))

    assert on_nodes(log.world, WEB) == {"n2": [1, 2, 3]}


def test_a_fresh_reschedule_serves_an_order_that_was_open() -> None:
    log = placed(1, nodes=1)
    log.add(policy({"hold": True}))
    log.add(workload_up("shop/web", 1, cluster="m1", deploy=deployed("EACH", count=2), request=ONE))
    log.add(reschedule("shop/web"))
    log.add(policy({"hold": False}))
    assert on_nodes(log.world, WEB) == {"n0": [0, 1]}
    assert not log.world.deployments.of[Subject(WEB)].ordered
    log.add(reschedule("shop/web", fresh=False))
    assert on_nodes(log.world, WEB) == {"n0": [0, 1]}, "it is not placed once more"


def test_who_was_refused_is_asked_again_when_nodes_are_told_apart_otherwise() -> None:
    log = History()
    spot = {"node.kubernetes.io/capacity": "spot"}
    log.add_all(cluster_up("m1"), node_up("m1", "n0", memory=9, labels=spot))
    web = workload_up("shop/web", 1, cluster="m1", deploy=deployed(), request=ONE)
    assert refusal_of(only(log.add(web))).reason == "no_eligible_node"
    made = only(log.add(policy({"spot.label": "capacity"})))
    assert deployment_of(made).because == ("policy",)
    assert on_nodes(log.world, WEB) == {"n0": [0]}


def test_another_life_of_a_node_is_cut_as_it_says() -> None:
    log = History()
    bound = each_takes(cpu=1000, bind=True)
    web = workload_up("shop/web", 1, cluster="m1", deploy=deployed(), request=bound)
    log.add_all(cluster_up("m1"), node_up("m1", "n0", cores={"0": 100}), web)
    other = replace(node_up("m1", "n0", cores={"0": 40, "1": 40}, uid="other"), share_base=40)

    made = only(log.add(other))

    assert made.branch == "replaced", "and no incident"
    assert log.world.objects.fact("node", Subject("m1/n0")) == other
    (one,) = deployment_of(made).instances
    assert one.cores == (("0", 40),)


@pytest.mark.parametrize("state", ["ready", "not ready"])
def test_another_life_of_a_node_has_no_grace_from_the_one_before(state: str) -> None:
    ready = state == "ready"
    log = placed(2, nodes=1)
    log.add(policy({"grace.node_ms": 1000}))
    log.add(node_up("m1", "n0", memory=9, ready=False))
    assert [one.kind for one in in_order(log.world.deadlines)] == ["node_grace"]

    log.add(node_up("m1", "n0", memory=9, ready=ready, uid="other"))

    assert log.world.deadlines == ()
    assert not log.world.rooms.graces
    assert on_nodes(log.world, WEB) == ({"n0": [0, 1]} if ready else {})


def test_who_sits_on_a_node_is_known() -> None:
    log = placed()
    held = log.world.deployments
    assert [one.number for one in there(held, Subject(WEB), Subject("m1/n1"))] == [2, 3]
    assert there(held, Subject("shop/api@m1"), Subject("m1/n1")) == ()


@given(st.text(alphabet=" \t0123456789%+-.x", max_size=12))
def test_what_can_be_read_here_can_be_read_by_the_core(text: str) -> None:
    assert readable(text) == (read_min_available(text, replicas=3).pods is not None)
    assert not readable(None)
