"""Who was refused is asked again when what they wait for grew, and by nothing else."""

import sys

import pytest

from ledger.facts.event import Fact
from tests.histories import (
    History,
    allocation,
    cluster_up,
    divided,
    division_of,
    each_takes,
    node_gone,
    node_reclaimed,
    node_up,
    only,
    policy,
    refusal_of,
    reschedule,
    workload_gone,
    workload_up,
)

ONE = each_takes(memory=1)
DYNAMIC = divided(strategy="dynamic")


def full() -> History:
    """One cluster with room for ten, and a workload that was refused twelve."""
    history = History()
    history.add_all(cluster_up("m1"), node_up("m1", "n", memory=10))
    history.add(workload_up("ns/web", 12, DYNAMIC, request=ONE))
    return history


def test_too_little_room_is_refused_with_what_is_short_and_waits_for_nodes() -> None:
    refused = only(full().steps[-1])

    refusal = refusal_of(refused)
    assert (refusal.reason, refusal.waits_for) == ("insufficient_capacity", "nodes")
    assert refusal.detail == (("room", 10), ("wanted", 12))


def test_a_node_with_enough_room_serves_it() -> None:
    history = full()

    made = only(history.add(node_up("m1", "n2", memory=2)))

    assert (allocation(made), division_of(made).because) == ({"m1": 12}, ("room",))
    assert made.previous == 0
    assert not history.world.refusals
    assert not history.world.retries.waiting


def test_a_retry_that_serves_nothing_records_nothing() -> None:
    history = full()

    assert not history.add(node_up("m1", "n2", memory=1)).decisions
    assert not history.add(node_up("m1", "n3", memory=0)).decisions
    assert only(history.add(node_up("m1", "n4", memory=1))).branch == "scale_up"


@pytest.mark.parametrize(
    "change",
    [
        workload_gone("ns/other"),
        workload_up("ns/other", 2, divided(), request=ONE),
        workload_up("ns/other", 8, request=ONE),
        workload_up("ns/other", 8, divided(), request=each_takes()),
        workload_up("ns/other", 2, divided(), request=ONE, uid="another"),
    ],
)
def test_room_that_others_give_up_serves_it_in_the_same_event(change: Fact) -> None:
    history = History()
    history.add_all(cluster_up("m1"), node_up("m1", "n", memory=10))
    history.add(workload_up("ns/other", 8, divided(), request=ONE))
    history.add(workload_up("ns/web", 8, DYNAMIC, request=ONE))

    step = history.add(change)

    assert ("ns/web", "division") in [(made.subject, made.kind) for made in step.decisions]


@pytest.mark.parametrize(
    "change",
    [
        node_up("m2", "n", memory=50),
        node_up("m1", "n", memory=10, revision=7),
        node_up("m1", "n", memory=9),
        node_gone("m1", "n"),
        node_reclaimed("m1", "n"),
        policy({"grace.cluster_ms": 5}),
    ],
)
def test_what_gives_it_no_room_serves_nobody(change: Fact) -> None:
    assert not full().add(change).decisions


def test_a_cordon_that_is_lifted_is_more_room() -> None:
    history = full()
    history.add(node_up("m1", "n2", memory=5, schedulable=False))

    assert only(history.add(node_up("m1", "n2", memory=5))).kind == "division"


def test_a_smaller_request_of_the_refused_asks_again() -> None:
    history = History()
    history.add_all(cluster_up("m1"), node_up("m1", "n", memory=10))
    history.add(workload_up("ns/web", 6, DYNAMIC, request=each_takes(memory=2)))

    assert only(history.add(workload_up("ns/web", 6, DYNAMIC, request=ONE))).kind == "division"


def test_a_request_that_means_nothing_waits_for_another() -> None:
    history = History()
    history.add_all(cluster_up("m1"), node_up("m1", "n", memory=10))
    made = only(history.add(workload_up("ns/web", 6, DYNAMIC, request=each_takes(bind=True))))

    assert (refusal_of(made).reason, refusal_of(made).waits_for) == ("invalid_cpu", "specification")
    assert not history.add(node_up("m1", "n2", memory=10)).decisions
    assert only(history.add(workload_up("ns/web", 6, DYNAMIC, request=ONE))).kind == "division"


def test_the_refused_are_found_by_their_candidates_of_today() -> None:
    history = full()
    assert not history.add(cluster_up("m2")).decisions

    made = only(history.add(node_up("m2", "n", memory=5)))

    assert allocation(made) == {"m1": 8, "m2": 4}


def test_too_few_clusters_and_regions_wait_for_a_cluster() -> None:
    history = History()
    history.add_all(cluster_up("m1", region="eu"), cluster_up("m2", region="eu"))
    clusters = only(
        history.add(workload_up("ns/a", 1, divided(strategy="duplicated", over_clusters=(3, None))))
    )
    regions = only(
        history.add(workload_up("ns/b", 1, divided(strategy="duplicated", over_regions=(2, None))))
    )

    moved = history.add(cluster_up("m2", region="us"))
    joined = history.add(cluster_up("m3", region="us"))

    assert (refusal_of(clusters).reason, refusal_of(clusters).waits_for) == (
        "too_few_clusters",
        "cluster",
    )
    assert refusal_of(clusters).detail == (("found", 2), ("wanted", 3))
    assert refusal_of(regions).reason == "too_few_regions"
    assert [made.subject for made in moved.decisions] == ["ns/b"]
    assert [made.subject for made in joined.decisions] == ["ns/a", "ns/b"]


def test_the_oldest_refusal_is_asked_first() -> None:
    history = History()
    history.add_all(cluster_up("m1"), node_up("m1", "n", memory=1))
    for key in ("ns/c", "ns/a", "ns/b"):
        history.add(workload_up(key, 2, DYNAMIC, request=ONE))

    step = history.add(node_up("m1", "n", memory=4))

    assert [made.subject for made in step.decisions] == ["ns/c", "ns/a"]


def test_the_refused_come_before_the_touched() -> None:
    history = History()
    history.add_all(cluster_up("m1"), node_up("m1", "n", memory=10))
    history.add(workload_up("ns/other", 8, DYNAMIC, request=ONE))
    history.add(workload_up("ns/web", 8, DYNAMIC, request=ONE))

    step = history.add(workload_up("ns/other", 8, DYNAMIC, request=ONE, uid="another"))

    assert [(made.subject, made.kind) for made in step.decisions] == [
        ("ns/web", "division"),
        ("ns/other", "refusal"),
    ]


def test_a_refused_one_that_is_touched_takes_its_turn_among_the_touched() -> None:
    history = full()
    history.add(workload_up("ns/a", 1, DYNAMIC, request=ONE))
    history.add_all(cluster_up("m2", ready=False), node_up("m2", "n", memory=9))

    step = history.add(cluster_up("m2"))

    assert [made.subject for made in step.decisions] == ["ns/a", "ns/web"]


def test_no_more_are_served_in_one_event_than_the_policy_allows() -> None:
    history = History()
    history.add_all(policy({"retry.max_subjects": 2}), cluster_up("m1"))
    for key in ("ns/e", "ns/d", "ns/c", "ns/b", "ns/a"):
        history.add(workload_up(key, 1, DYNAMIC, request=ONE))

    steps = [history.add(node_up("m1", "n", memory=9))]
    steps += [history.add(policy({})) for _ in range(3)]

    served = [[made.subject for made in step.decisions] for step in steps]
    assert served == [["ns/e", "ns/d"], ["ns/c", "ns/b"], ["ns/a"], []]


def test_under_hold_who_could_be_served_waits_until_it_is_lifted() -> None:
    history = full()
    history.add(policy({"hold": True}))

    assert not history.add(node_up("m1", "n2", memory=9)).decisions
    assert not history.add(cluster_up("m5", ready=False)).decisions
    assert only(history.add(policy({"hold": None}))).subject == "ns/web"


def test_another_policy_asks_those_again_who_were_refused() -> None:
    volumes = each_takes(volumes=["AUTO:/d:rwm:1"])
    history = History()
    history.add_all(
        policy({"placement.max_deploy": 1}),
        cluster_up("m1"),
        node_up("m1", "n", volumes={"/a": 5, "/b": 5}, storage=99),
    )
    history.add(workload_up("ns/web", 2, DYNAMIC, request=volumes))

    made = only(history.add(policy({"placement.max_deploy": 9})))

    assert (allocation(made), division_of(made).because) == ({"m1": 2}, ("policy",))


def test_a_refusal_leaves_the_places_in_force_and_a_smaller_wish_ends_it() -> None:
    history = History()
    history.add_all(cluster_up("m1"), node_up("m1", "n", memory=5))
    history.add(workload_up("ns/web", 4, DYNAMIC, request=ONE))

    refused = only(history.add(workload_up("ns/web", 9, DYNAMIC, request=ONE)))
    again = history.add(reschedule("ns/web", fresh=False))
    smaller = only(history.add(workload_up("ns/web", 5, DYNAMIC, request=ONE)))

    assert refusal_of(refused).detail == (("room", 1), ("wanted", 5))
    assert not again.decisions
    assert (allocation(smaller), smaller.moved) == ({"m1": 5}, 0)


def test_a_node_event_costs_the_same_however_many_wait_for_other_clusters() -> None:
    def calls(bystanders: int) -> int:
        history = full()
        history.add_all(cluster_up("m2"), cluster_up("m3"))
        for place in range(bystanders):
            wish = divided(strategy="dynamic", clusters=["m3"])
            history.add(workload_up(f"by/w{place}", 3, wish, request=ONE))
        counted = 0

        def count(*_: object) -> None:
            nonlocal counted
            counted += 1

        sys.setprofile(count)
        try:
            history.add(node_up("m2", "n", memory=1))
            history.add(node_up("m2", "n", memory=2))
        finally:
            sys.setprofile(None)
        return counted

    few, many = calls(2), calls(300)

    assert many <= few + 20
