"""Placement at its borders: what the page says in passing, and numbers that are large or odd."""

from fractions import Fraction

import pytest

from ledger.core.placement.answer import Placement
from ledger.core.placement.nearest_level import Step, first_steps, walk_to_levels
from ledger.core.placement.place import place
from ledger.core.placement.question import INFINITE, Node, Policy, Request, Strategy, checked
from ledger.core.placement.reasons import highest_usage, outcomes
from ledger.errors import InvalidRequest
from ledger.units import NodeName


def node(name: str, capacity: int, count: int = 0, usage: str = "0", rate: str = "0") -> Node:
    return Node(NodeName(name), capacity, count, Fraction(usage), Fraction(rate))


def placed(request: Request) -> Placement:
    answer = place(request)
    assert isinstance(answer, Placement)
    return answer


def test_a_negative_capacity_is_none() -> None:
    nodes = [node("a", -5), node("b", 3)]

    assert placed(Request("DRAINED", 3, nodes)).deploy == {"b": 3}
    assert placed(Request("AUTO", 3, nodes)).deploy == {"b": 3}


def test_whatever_is_infinite_is_alike() -> None:
    nodes = [node("b", INFINITE + 1), node("a", INFINITE), node("c", 2)]

    assert placed(Request("AUTO", 1, nodes)).deploy == {"a": 1}
    assert placed(Request("EACH", 1, nodes, 1)).deploy == {"a": 1}
    assert placed(Request("DRAINED", 2**62, nodes)).deploy == {"a": 2**62 - 2, "c": 2}


def test_the_last_round_goes_by_capacity_and_not_by_the_room_below_the_limit() -> None:
    # Both may take two more; b has more capacity that the limit keeps it from using.
    nodes = [node("a", 2), node("b", 9)]

    assert placed(Request("AUTO", 1, nodes, 2)).deploy == {"b": 1}
    assert placed(Request("AUTO", 3, nodes, 2)).deploy == {"a": 1, "b": 2}


def test_a_node_above_the_limit_neither_takes_nor_disturbs() -> None:
    nodes = [node("a", 9, count=50), node("b", 9)]

    answer = placed(Request("AUTO", 4, nodes, 4))

    assert answer.deploy == {"b": 4}
    assert answer.level == 4
    assert [one.reason for one in outcomes(Request("AUTO", 4, nodes, 4), answer)] == [
        "raised",
        "at_limit",
    ]


def test_fill_takes_a_full_node_that_holds_enough_and_skips_one_that_does_not() -> None:
    request = Request("FILL", 3, [node("a", 0, 3), node("b", 0, 2), node("c", 3), node("d", 9)], 2)

    answer = placed(request)

    assert answer.deploy == {"d": 3}
    assert {one.node.name: one.reason for one in outcomes(request, answer)} == {
        "a": "holds_enough",
        "b": "cannot_reach",
        "d": "topped_up",
        "c": "not_needed",
    }


def test_fill_is_not_afraid_of_infinite_nodes_that_hold_some() -> None:
    assert placed(Request("FILL", 7, [node("a", INFINITE, 5)])).deploy == {"a": 2}


def test_a_node_that_costs_no_usage_takes_all_that_it_can_before_the_next() -> None:
    nodes = [
        node("a", 5, usage="0.5"),
        node("b", 5, usage="0.4", rate="0.1"),
        node("c", 5, usage="0.5"),
    ]

    # b comes to 0.5 with its first, as low as a and c are anyway; a is before it by name.
    assert placed(Request("GLOBAL", 7, nodes, 0, "after_usage")).deploy == {"a": 5, "b": 1, "c": 1}


@pytest.mark.parametrize("policy", ["after_usage", "nearest_level"])
def test_usages_without_a_common_unit_are_compared_exactly(policy: Policy) -> None:
    # Prime denominators of a hundred digits: apart by less than any float could tell.
    odd = [10**100 + 267, 10**101 + 529, 10**102 + 2003, 10**103 + 267]
    nodes = [
        Node(NodeName(f"n{place}"), 3, 0, Fraction(number // 2, number), Fraction(1, number * 3))
        for place, number in enumerate(odd)
    ]

    # The first instance leaves each a sixth of a part below one half: the larger the part, the lower.
    assert placed(Request("GLOBAL", 3, nodes, 0, policy)).deploy == {"n0": 1, "n1": 1, "n2": 1}


@pytest.mark.parametrize("strategy", ["AUTO", "DRAINED", "GLOBAL"])
def test_as_many_as_there_is_room_for_fill_everybody(strategy: Strategy) -> None:
    nodes = [node("c", 4, 1, "0.5", "0.1"), node("a", 0, 9), node("b", 3, 7, "0.1", "0")]

    for policy in ("after_usage", "nearest_level"):
        answer = placed(Request(strategy, 7, nodes, 0, policy))
        assert answer.deploy == {"b": 3, "c": 4}


def test_the_deploy_map_is_in_the_order_of_the_names() -> None:
    nodes = [node(name, 2, rate="0.1") for name in ("n2", "é", "n10", "N1", "")]

    counts: dict[Strategy, int] = {"AUTO": 9, "FILL": 1, "EACH": 1, "DRAINED": 9, "GLOBAL": 9}
    for strategy, count in counts.items():
        assert list(placed(Request(strategy, count, nodes)).deploy) == ["", "N1", "n10", "n2", "é"]


def test_nearest_level_sees_the_usage_of_full_nodes() -> None:
    # c is full, and b heads for it; without c nobody would be above b.
    nodes = [node("a", 9, usage="0.1", rate="0.5"), node("b", 9, usage="0.2", rate="0.5")]
    full = node("c", 0, usage="0.8")

    assert placed(Request("GLOBAL", 1, nodes)).deploy == {"a": 1}
    assert placed(Request("GLOBAL", 1, [*nodes, full])).deploy == {"b": 1}


def test_nearest_level_leaps_over_rounds_that_are_alike() -> None:
    count = 2**62
    nodes = [
        node("a", INFINITE, usage="0.1", rate="0.01"),
        node("b", INFINITE, usage="0.3", rate="0.03"),
        node("c", INFINITE, usage="0", rate="0.07"),
        node("d", 0, usage="1000000"),
        node("e", 5, usage="2000000"),
    ]

    deploy = placed(Request("GLOBAL", count, nodes)).deploy

    # Rates of 1, 3 and 7 share 21 in proportion to 21, 7 and 3; e is passed on the way.
    assert deploy[NodeName("e")] == 5
    usages = [one.usage + deploy[one.name] * one.rate for one in nodes[:3]]
    assert max(usages) - min(usages) < Fraction(7, 100)


def test_a_walk_without_end_is_refused() -> None:
    # Rates that only meet again after a hundred thousand steps.
    nodes = [node("a", INFINITE, rate="1/100003"), node("b", INFINITE, rate="1/99991")]

    with pytest.raises(InvalidRequest) as refused:
        walk_to_levels(nodes, 2**40, longest_walk=500)

    assert refused.value.code == "invalid_request"
    assert walk_to_levels(nodes, 500, longest_walk=500).deploy == {"a": 250, "b": 250}


def test_the_steps_of_a_walk_lead_to_its_answer() -> None:
    nodes = [node("a", INFINITE, rate="0.01"), node("b", INFINITE, usage="0.5", rate="0.02")]
    request = Request("GLOBAL", 5000, nodes)

    steps = first_steps(checked(request), request.count, request.count)

    taken = dict.fromkeys(("a", "b"), 0)
    for step in steps:
        one = nodes[step.node == "b"]
        assert step.usage == one.usage + taken[step.node] * one.rate
        taken[step.node] += step.instances
    assert taken == placed(request).deploy
    assert {step.rule for step in steps} == {"closer", "lowest_after", "same_rounds"}
    assert steps[0] == Step(NodeName("a"), Fraction(0), 1, "closer", Fraction(1, 2))


def test_the_highest_usage_is_of_those_that_got_some() -> None:
    nodes = [
        node("a", 9, usage="0.1", rate="0.2"),
        node("b", 0, usage="7"),
        node("c", 9, usage="1"),
    ]
    request = Request("GLOBAL", 3, nodes, 0, "after_usage")

    assert highest_usage(request, placed(request)) == Fraction(7, 10)
