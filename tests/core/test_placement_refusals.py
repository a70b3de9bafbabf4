"""Which of several mistakes is named, and what a shortage says."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from ledger.core.placement.answer import Placement, Shortage
from ledger.core.placement.place import place
from ledger.core.placement.question import INFINITE, Node, Request, Strategy
from ledger.errors import InvalidRequest
from ledger.units import NodeName

STRATEGIES: list[Strategy] = ["AUTO", "FILL", "EACH", "GLOBAL", "DRAINED"]

GOOD: dict[str, Any] = {"strategy": "GLOBAL", "count": 1, "nodes": [Node(NodeName("a"), 9)]}

MISTAKES: list[tuple[str, dict[str, Any]]] = [
    ("invalid_strategy", {"strategy": "DUMMY"}),
    ("invalid_count", {"count": 0}),
    ("invalid_nodes_limit", {"nodes_limit": -1}),
    ("invalid_request", {"nodes": [Node(NodeName("a"), 9), Node(NodeName("a"), 8)]}),
    ("invalid_request", {"policy": "fairest"}),
    ("insufficient_resource", {"nodes": [Node(NodeName("a"), 0)]}),
]


def code(**question: Any) -> str:
    try:
        answer = place(Request(**(GOOD | question)))
    except InvalidRequest as refused:
        return refused.code
    return answer.code if isinstance(answer, Shortage) else "placed"


def node(name: str, *, count: int = 0, capacity: int = 9) -> Node:
    return Node(NodeName(name), capacity, count)


@pytest.mark.parametrize("first", range(len(MISTAKES)))
@pytest.mark.parametrize("second", range(len(MISTAKES)))
def test_of_two_mistakes_the_first_check_names_its_own(first: int, second: int) -> None:
    earlier, later = MISTAKES[min(first, second)], MISTAKES[max(first, second)]

    assert code(**(later[1] | earlier[1])) == earlier[0]


@pytest.mark.parametrize(
    ("strategy", "wanted"),
    [
        ("Communism", "invalid_strategy"),
        ("AVERAGE", "invalid_strategy"),
        ("auto", "invalid_strategy"),
    ],
)
def test_a_strategy_has_one_name(strategy: str, wanted: str) -> None:
    assert code(strategy=strategy) == wanted


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_negative_limit_is_refused_by_everybody(strategy: Strategy) -> None:
    assert code(strategy=strategy, nodes_limit=-1) == "invalid_nodes_limit"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_only_global_looks_at_the_policy(strategy: Strategy) -> None:
    wanted = "invalid_request" if strategy == "GLOBAL" else "placed"

    assert code(strategy=strategy, policy="fairest") == wanted


@pytest.mark.parametrize(
    "mistaken",
    [
        {"count": True},
        {"count": "1"},
        {"nodes_limit": False},
        {"nodes": [node("a", count=-1)]},
        {"nodes": [node("a", count=True)]},
        {"nodes": [node("a", capacity=True)]},
        {"nodes": [replace(node("a"), usage=Fraction(-1, 9))]},
        {"nodes": [replace(node("a"), rate=Fraction(-1, 9))]},
        {"nodes": [replace(node("a"), rate=1)]},  # type: ignore[arg-type]  # which is what is refused
    ],
)
def test_what_is_no_number_of_things_is_refused(mistaken: dict[str, Any]) -> None:
    assert code(**mistaken) == "invalid_request"


@pytest.mark.parametrize(
    ("strategy", "limit", "wanted"),
    [
        ("AUTO", 0, "insufficient_resource"),
        ("GLOBAL", 0, "insufficient_resource"),
        ("DRAINED", 0, "insufficient_resource"),
        ("FILL", 0, "insufficient_resource"),
        ("FILL", 1, "insufficient_resource"),
        ("EACH", 0, "insufficient_capacity"),
        ("EACH", 1, "insufficient_resource"),
    ],
)
def test_without_nodes_nothing_is_placed(strategy: str, limit: int, wanted: str) -> None:
    assert code(strategy=strategy, nodes_limit=limit, nodes=[]) == wanted


@pytest.mark.parametrize(
    ("request_", "shortage"),
    [
        (
            Request("AUTO", 9, [node("a", capacity=3), node("b", capacity=5)]),
            Shortage("insufficient_resource", "instances", 9, 8),
        ),
        (
            Request("AUTO", 8, [node("a", capacity=3), node("b", count=3, capacity=5)], 4),
            Shortage("insufficient_resource", "instances_within_limit", 8, 4),
        ),
        (
            Request("AUTO", 1, [node("a", count=7)], 4),
            Shortage("insufficient_resource", "instances_within_limit", 1, 0),
        ),
        (
            Request("FILL", 4, [node("a"), node("b")], 3),
            Shortage("insufficient_resource", "nodes", 3, 2),
        ),
        (
            Request(
                "FILL", 4, [node("a"), node("b", count=1, capacity=2), node("c", capacity=3)], 2
            ),
            Shortage("insufficient_resource", "able_nodes", 2, 1, (NodeName("b"), NodeName("c"))),
        ),
        (
            Request("FILL", 4, [node("a", count=4), node("b", count=9, capacity=0)]),
            Shortage("already_filled", "able_nodes", 2, 2),
        ),
        (
            Request("EACH", 4, [node("a", capacity=3), node("b")], 2),
            Shortage("insufficient_resource", "able_nodes", 2, 1, (NodeName("a"),)),
        ),
        (
            Request("EACH", 10, [node("a", capacity=3), node("b")], 1),
            Shortage("insufficient_capacity", "able_nodes", 1, 0, (NodeName("b"), NodeName("a"))),
        ),
    ],
)
def test_a_shortage_says_what_was_wanted_and_what_there_is(
    request_: Request, shortage: Shortage
) -> None:
    assert place(request_) == shortage


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_nobody_takes_more_than_infinite(strategy: Strategy) -> None:
    nodes = [node("a", capacity=INFINITE + 9), node("b", capacity=INFINITE)]

    assert isinstance(place(Request(strategy, INFINITE, nodes)), Placement)
    assert isinstance(place(Request(strategy, INFINITE + 1, nodes)), Shortage)
