"""What each strategy looks at, what it remembers of the last result, and who is selected first."""

from fractions import Fraction

import pytest

from ledger.facts.workload import DivisionStrategy
from tests.histories import (
    History,
    allocation,
    cluster_gone,
    cluster_up,
    divided,
    division_of,
    each_takes,
    fairness_of,
    node_up,
    only,
    policy,
    refusal_of,
    reschedule,
    workload_up,
)

ONE = each_takes(memory=1)


def fleet(**memory: int) -> History:
    """Clusters of one node each, with room for so many replicas that take one byte."""
    history = History()
    for name, size in memory.items():
        history.add_all(cluster_up(name), node_up(name, "n", memory=size))
    return history


def test_webster_gives_replicas_out_by_claims() -> None:
    history = fleet(m1=0, m2=0, m3=0)

    made = only(
        history.add(
            workload_up("ns/web", 5, divided({"m1": 170, "m2": 110, "m3": 60}, strategy="webster"))
        )
    )

    assert (made.branch, made.lot, allocation(made)) == (
        "apportioned",
        None,
        {"m1": 2, "m2": 2, "m3": 1},
    )
    assert [share.weight for share in division_of(made).shares] == [170, 110, 60]
    assert division_of(made).fairness is None


def test_webster_does_not_look_at_the_last_result() -> None:
    history = fleet(m1=0, m2=0)
    history.add(workload_up("ns/web", 6, divided({"m1": 5, "m2": 1})))

    made = only(
        history.add(workload_up("ns/web", 6, divided({"m1": 1, "m2": 1}, strategy="webster")))
    )

    assert (allocation(made), made.moved) == ({"m1": 3, "m2": 3}, 2)


def test_an_answer_that_is_the_last_one_is_a_keep() -> None:
    history = fleet(m1=0, m2=0)
    history.add(workload_up("ns/web", 4, divided({"m1": 1, "m2": 1}, strategy="webster")))

    made = only(
        history.add(workload_up("ns/web", 4, divided({"m1": 2, "m2": 2}, strategy="webster")))
    )

    assert (made.branch, made.moved) == ("keep", 0)


@pytest.mark.parametrize(
    ("strategy", "places"),
    [("dynamic", {"m1": 6, "m2": 4, "m3": 2}), ("aggregated", {"m1": 12})],
)
def test_replicas_go_where_the_room_is(strategy: DivisionStrategy, places: dict[str, int]) -> None:
    history = fleet(m1=18, m2=12, m3=6)

    made = only(history.add(workload_up("ns/web", 12, divided(strategy=strategy), request=ONE)))

    assert (made.branch, allocation(made)) == ("scale_up", places)
    assert [share.available for share in division_of(made).shares] == [18, 12, 6]
    assert division_of(made).target == 12


def test_what_others_were_promised_is_not_available() -> None:
    history = fleet(m1=10, m2=10)
    history.add(workload_up("ns/a", 8, divided({"m1": 1}), request=ONE))

    made = only(history.add(workload_up("ns/b", 4, divided(strategy="dynamic"), request=ONE)))

    assert [share.available for share in division_of(made).shares] == [2, 10]


def test_growing_divides_only_what_is_missing() -> None:
    history = fleet(m1=10, m2=2)
    history.add(workload_up("ns/web", 6, divided(strategy="dynamic"), request=ONE))
    history.add(node_up("m2", "n", memory=20))

    made = only(history.add(workload_up("ns/web", 10, divided(strategy="dynamic"), request=ONE)))

    assert (made.branch, made.moved) == ("scale_up", 0)
    # Its own replicas stay promised: 5 of 10 and 1 of 20.
    assert [share.available for share in division_of(made).shares] == [5, 19]
    assert division_of(made).target == 4


def test_a_fresh_division_counts_what_it_holds_as_available() -> None:
    history = fleet(m1=12, m2=0)
    history.add(workload_up("ns/web", 12, divided(strategy="dynamic"), request=ONE))
    history.add(node_up("m2", "n", memory=12))

    steady = only(history.add(reschedule("ns/web", fresh=False)))
    fresh = only(history.add(reschedule("ns/web")))

    assert (steady.branch, allocation(steady)) == ("keep", {"m1": 12})
    assert (fresh.branch, allocation(fresh), fresh.moved) == ("fresh", {"m1": 6, "m2": 6}, 6)


def test_places_that_were_given_up_are_not_held_any_more() -> None:
    history = fleet(m1=6)
    history.add(workload_up("ns/a", 6, divided(strategy="dynamic"), request=ONE))
    history.add(workload_up("ns/a", 6, request=ONE))
    history.add(workload_up("ns/b", 6, divided(strategy="dynamic"), request=ONE))

    made = only(history.add(workload_up("ns/a", 6, divided(strategy="dynamic"), request=ONE)))

    assert refusal_of(made).detail == (("room", 0), ("wanted", 6))


def test_a_result_by_room_is_no_last_result_for_static_weight() -> None:
    history = fleet(m1=6, m2=0)
    history.add(workload_up("ns/web", 6, divided(strategy="dynamic"), request=ONE))

    made = only(history.add(workload_up("ns/web", 6, divided(), request=ONE)))

    assert (made.branch, allocation(made), made.moved) == ("exact", {"m1": 3, "m2": 3}, 3)


def test_by_room_begins_from_the_places_that_static_weight_left() -> None:
    history = fleet(m1=6, m2=6)
    history.add(workload_up("ns/web", 6, divided(), request=ONE))

    made = only(history.add(workload_up("ns/web", 6, divided(strategy="dynamic"), request=ONE)))

    assert (made.branch, allocation(made), made.moved) == ("keep", {"m1": 3, "m2": 3}, 0)


def test_a_cluster_that_goes_takes_its_replicas_and_they_are_placed_anew() -> None:
    history = fleet(m1=6, m2=6, m3=2)
    history.add(workload_up("ns/web", 8, divided(strategy="aggregated"), request=ONE))

    made = only(history.add(cluster_gone("m1")))

    assert allocation(made) == {"m2": 6, "m3": 2}
    assert division_of(made).left == (("m1", 4),)


def test_duplicated_puts_all_of_them_everywhere() -> None:
    history = fleet(m1=0, m2=0)

    made = only(history.add(workload_up("ns/web", 3, divided(strategy="duplicated"))))
    joined = only(history.add(cluster_up("m3")))

    assert (made.branch, allocation(made)) == ("duplicated", {"m1": 3, "m2": 3})
    assert (allocation(joined), joined.moved) == ({"m1": 3, "m2": 3, "m3": 3}, 0)


def test_odds_by_capacity_follow_what_is_available() -> None:
    history = fleet(m1=30, m2=10)
    history.add(policy({"division.kappa": Fraction(1, 3)}))

    made = only(history.add(workload_up("ns/web", 5, divided(), request=ONE)))

    assert fairness_of(made).kappa == Fraction(1, 3)
    # A third of each weight's half, two thirds of each one's part of the room.
    assert [share.odds for share in division_of(made).shares] == [2, 1]
    assert [share.available for share in division_of(made).shares] == [30, 10]


def test_odds_without_any_room_are_the_weights() -> None:
    history = fleet(m1=0, m2=0)
    history.add(policy({"division.kappa": Fraction(1, 3)}))

    made = only(history.add(workload_up("ns/web", 5, divided(), request=ONE)))

    assert [share.odds for share in division_of(made).shares] == [1, 1]


def test_static_weight_does_not_look_at_spread_or_room() -> None:
    history = fleet(m1=1, m2=1)

    made = only(history.add(workload_up("ns/web", 6, divided(over_clusters=(1, 1)), request=ONE)))

    assert (allocation(made), division_of(made).selection) == ({"m1": 3, "m2": 3}, None)
    assert [share.available for share in division_of(made).shares] == [None, None]


def test_the_best_clusters_are_selected_and_the_others_said_to_lose() -> None:
    history = fleet(m1=5, m2=9, m3=7)
    wish = divided(strategy="dynamic", over_clusters=(1, 2))

    made = only(history.add(workload_up("ns/web", 8, wish, request=ONE)))

    selection = division_of(made).selection
    assert selection is not None
    assert [one.cluster for one in selection.chosen] == ["m2", "m3"]
    assert selection.need == 8
    assert division_of(made).losers.named == (("m1", "not_needed"),)
    assert allocation(made).keys() == {"m2", "m3"}


def test_a_workload_that_fills_its_clusters_stays_there() -> None:
    history = fleet(m1=5, m2=5)
    wish = divided(strategy="dynamic", over_clusters=(1, 2))
    before = only(history.add(workload_up("ns/web", 10, wish, request=ONE)))

    history.add(node_up("m3", "n", memory=50))
    after = only(history.add(cluster_up("m3")))

    assert (after.branch, allocation(after)) == ("keep", allocation(before))


def test_a_fresh_reschedule_scores_nobody_for_what_it_holds() -> None:
    history = fleet(m1=5)
    wish = divided(strategy="dynamic", over_clusters=(1, 1))
    history.add(workload_up("ns/web", 5, wish, request=ONE))
    history.add_all(cluster_up("m2"), node_up("m2", "n", memory=50))

    made = only(history.add(reschedule("ns/web")))

    assert (allocation(made), made.moved) == ({"m2": 5}, 5)
    assert division_of(made).left == (("m1", 5),)


def test_regions_are_chosen_by_what_they_could_take_of_their_part() -> None:
    history = History()
    for name, region, memory in (("m1", "eu", 9), ("m2", "us", 3), ("m3", "ap", 8), ("m4", "", 99)):
        history.add_all(cluster_up(name, region=region), node_up(name, "n", memory=memory))
    wish = divided(strategy="dynamic", over_regions=(2, 2))

    made = only(history.add(workload_up("ns/web", 10, wish, request=ONE)))

    selection = division_of(made).selection
    assert selection is not None
    assert [(one.region, one.score, one.why) for one in selection.regions] == [
        ("ap", 5000, "chosen"),
        ("eu", 5000, "chosen"),
        ("us", 3000, "not_in_best_set"),
    ]
    assert allocation(made) == {"m1": 5, "m3": 5}
    assert division_of(made).losers.named == (("m2", "region_not_chosen"), ("m4", "no_region"))


@pytest.mark.parametrize("strategy", ["webster", "dynamic", "aggregated", "duplicated"])
def test_spread_is_heeded_before_every_strategy_but_static(strategy: DivisionStrategy) -> None:
    history = fleet(m1=9, m2=8)

    made = only(
        history.add(
            workload_up("ns/web", 4, divided(strategy=strategy, over_clusters=(1, 1)), request=ONE)
        )
    )

    assert allocation(made) == {"m1": 4}


@pytest.mark.parametrize("strategy", ["webster", "dynamic", "aggregated", "duplicated"])
def test_nobody_is_spread_over_no_cluster(strategy: DivisionStrategy) -> None:
    history = fleet(m1=9)

    made = only(
        history.add(
            workload_up("ns/web", 0, divided(strategy=strategy, over_clusters=(0, 0)), request=ONE)
        )
    )

    assert refusal_of(made).reason == "too_few_clusters"
