"""What cannot be served: recorded once, in force until it is served or moot."""

import pytest

from ledger.errors import AlgorithmMissing
from ledger.facts.event import Fact
from ledger.facts.workload import DivisionSpec
from tests.histories import (
    History,
    allocation,
    cluster_gone,
    cluster_up,
    divided,
    only,
    policy,
    refusal_of,
    reschedule,
    workload_gone,
    workload_up,
)


def test_without_a_candidate_the_wish_is_refused() -> None:
    history = History()
    history.add(cluster_up("m1", ready=False))

    made = only(history.add(workload_up("ns/web", 4, divided(clusters=["m1", "m2"]))))

    refusal = refusal_of(made)
    assert (refusal.wanted, refusal.reason, refusal.waits_for) == (
        "division",
        "no_candidate_cluster",
        "cluster",
    )
    assert refusal.losers.counts == (("not_ready", 1), ("unknown", 1))
    assert (made.moved, made.branch, made.lot) == (0, "refused", None)


def test_a_candidate_that_comes_serves_it() -> None:
    history = History()
    refused = only(history.add(workload_up("ns/web", 4, divided(clusters=["m1"]))))

    served = only(history.add(cluster_up("m1")))

    assert allocation(served) == {"m1": 4}
    assert served.previous == refused.number
    assert not history.world.refusals


def test_the_same_refusal_is_not_recorded_again() -> None:
    history = History()
    history.add(workload_up("ns/web", 4, divided(clusters=["m1"])))

    assert not history.add(workload_up("ns/web", 5, divided(clusters=["m1"]))).decisions
    assert not history.add(reschedule("ns/web")).decisions


def test_another_reason_is_recorded_and_takes_the_place_of_the_first() -> None:
    history = History()
    first = only(history.add(workload_up("ns/web", 4, divided(caps={"m1": 1}))))

    second = only(history.add(cluster_up("m1")))

    assert refusal_of(second).reason == "insufficient_capacity"
    assert second.previous == first.number
    assert [open_.number for open_ in history.world.refusals.values()] == [second.number]


def test_caps_that_hold_too_little_are_refused_with_what_is_short() -> None:
    history = History()
    history.add_all(cluster_up("m1"), cluster_up("m2"))

    made = only(history.add(workload_up("ns/web", 9, divided(caps={"m1": 3, "m2": 4}))))

    assert refusal_of(made).reason == "insufficient_capacity"
    assert refusal_of(made).detail == (("room", 7), ("wanted", 9))


@pytest.mark.parametrize(
    ("wish", "waits_for"),
    [
        (divided({"m1": 1, "m9": 1}, caps={"m1": 3, "m9": 3}), "cluster"),
        (divided({"m1": 1, "m9": 1}, caps={"m1": 3, "m9": 2}), "specification"),
        (divided({"m1": 1, "m9": 1}, caps={"m1": 3}), "cluster"),
        (divided(clusters=["m1", "m9"], caps={"m1": 3, "m9": 9}), "cluster"),
        # Who has no weight gets nothing while another one has.
        (divided({"m1": 1, "m9": 0}, caps={"m1": 3}), "specification"),
        (divided({"m1": 0, "m9": 0}, caps={"m1": 3, "m9": 3}), "cluster"),
        (divided({"m1": 0, "m9": 1}, caps={"m1": 3, "m9": 3}), "specification"),
        (divided(caps={"m1": 3}), "cluster"),
        (divided(selector={"tier": "gold"}, caps={"m1": 3}), "cluster"),
        (divided({"m1": 1}, selector={"tier": "gold"}, caps={"m1": 3}), "specification"),
        (divided({"m1": 0}, selector={"tier": "gold"}, caps={"m1": 3}), "cluster"),
        (divided({"m1": 1, "m2": 1}, selector={"tier": "gold"}, caps={"m1": 3}), "cluster"),
    ],
)
def test_caps_wait_for_a_cluster_only_where_one_could_help(
    wish: DivisionSpec, waits_for: str
) -> None:
    history = History()
    history.add(cluster_up("m1", labels={"tier": "gold"}))

    made = only(history.add(workload_up("ns/web", 6, wish)))

    refusal = refusal_of(made)
    assert (refusal.reason, refusal.waits_for) == ("insufficient_capacity", waits_for)


def test_what_is_short_while_a_cluster_is_down_is_served_once_when_it_is_back() -> None:
    history = History()
    history.add_all(cluster_up("m1"), cluster_up("m2"))
    history.add(workload_up("ns/web", 6, divided({"m1": 1, "m2": 1}, caps={"m1": 3, "m2": 3})))
    down = only(history.add(cluster_up("m2", ready=False)))

    made = only(history.add(cluster_up("m2")))

    assert refusal_of(down).waits_for == "cluster"
    assert allocation(made) == {"m1": 3, "m2": 3}
    assert not history.world.refusals
    assert not history.world.retries.waiting
    assert not history.world.retries.marked


def test_who_selects_in_vain_is_told_of_every_cluster() -> None:
    history = History()
    history.add_all(*(cluster_up(f"m{at}") for at in range(20)))
    history.add(cluster_up("n", ready=False, labels={"tier": "gold"}))

    made = only(history.add(workload_up("ns/web", 6, divided(selector={"tier": "gold"}))))

    losers = refusal_of(made).losers
    assert losers.counts == (("not_ready", 1), ("selector", 20))
    assert losers.named == tuple(
        (name, "selector") for name in sorted(f"m{at}" for at in range(20))[:16]
    )


def test_caps_of_clusters_that_are_no_candidates_do_not_matter() -> None:
    history = History()
    history.add_all(cluster_up("m1"), cluster_up("m2"))

    made = only(history.add(workload_up("ns/web", 9, divided({"m1": 1}, caps={"m2": 0}))))

    assert allocation(made) == {"m1": 9}


def test_a_refusal_leaves_the_last_result_in_force() -> None:
    history = History()
    history.add(cluster_up("m1"))
    first = only(history.add(workload_up("ns/web", 4, divided())))

    refused = history.add(cluster_gone("m1"))
    served = only(history.add(cluster_up("m2")))

    assert refused.ended == ()
    assert refusal_of(only(refused)).reason == "no_candidate_cluster"
    assert allocation(first) == {"m1": 4}
    assert allocation(served) == {"m2": 4}
    assert served.moved == 4


def test_back_to_the_same_candidates_is_a_keep_that_ends_the_refusal() -> None:
    history = History()
    history.add(cluster_up("m1"))
    history.add(workload_up("ns/web", 4, divided()))
    history.add(cluster_up("m1", ready=False))

    made = only(history.add(cluster_up("m1")))

    assert (made.branch, made.moved) == ("keep", 0)
    assert not history.world.refusals


def test_a_fresh_reschedule_that_is_refused_gives_nothing_up() -> None:
    history = History()
    history.add(cluster_up("m1"))
    history.add(workload_up("ns/web", 4, divided()))
    history.add(cluster_gone("m1"))

    assert not history.add(reschedule("ns/web")).decisions
    made = only(history.add(cluster_up("m1")))

    assert made.branch == "keep"


@pytest.mark.parametrize("then", ["removed", "replaced", "unwished"])
def test_a_refusal_whose_subject_goes_ends_without_a_decision(then: str) -> None:
    history = History()
    made = only(history.add(workload_up("ns/web", 4, divided(), uid="one")))
    last_words: dict[str, Fact] = {
        "removed": workload_gone("ns/web"),
        "replaced": workload_up("ns/web", 4, uid="two"),
        "unwished": workload_up("ns/web", 4, uid="one"),
    }

    step = history.add(last_words[then])

    assert not step.decisions
    assert step.ended == (("refusal", "ns/web", made.number),)
    assert not history.world.refusals


def test_another_life_is_refused_anew() -> None:
    history = History()
    history.add(workload_up("ns/web", 4, divided(), uid="one"))

    made = only(history.add(workload_up("ns/web", 4, divided(), uid="two")))

    assert refusal_of(made).reason == "no_candidate_cluster"


def test_a_version_that_this_program_does_not_have_stops_the_fleet() -> None:
    history = History()
    history.add_all(cluster_up("m1"), policy({"algorithms.division": 7}))

    with pytest.raises(AlgorithmMissing, match="division: version 7"):
        history.add(workload_up("ns/web", 5, divided()))


def test_an_engine_that_this_program_is_not_stops_the_fleet_at_the_next_event() -> None:
    history = History()
    history.add(policy({"algorithms.engine": 2}))

    with pytest.raises(AlgorithmMissing, match="engine: version 2"):
        history.add(cluster_up("m1"))
