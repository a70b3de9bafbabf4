"""Placement as it is asked from outside: spellings of numbers, refusals, and what people are told."""

from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from ledger.cli.solve.asking import Refused
from ledger.cli.solve.placement_questions import OPS, Deploy
from ledger.core.placement.question import INFINITE
from ledger.errors import InvalidRequest

[OP] = OPS

NODES = [
    {"name": "a", "count": 0, "capacity": 9, "usage": "0.1", "rate": "0.1"},
    {"name": "b", "count": 1, "capacity": 1, "usage": "0.3", "rate": "0.1"},
    {"name": "c", "count": 4, "capacity": 0, "usage": "0.5", "rate": "0.1"},
]


def asked(**question: Any) -> Deploy:
    return Deploy.model_validate({"strategy": "AUTO", "count": 3, "nodes": NODES} | question)


def answer(**question: Any) -> dict[str, Any]:
    return dict(OP.answer(asked(**question)))


def test_an_answer_says_who_gets_how_many_and_why_the_others_get_none() -> None:
    assert answer() == {
        "deploy": {"a": 2, "b": 1},
        "passed_over": {"c": "no_capacity"},
        "level": 2,
        "last_round": 0,
    }


def test_all_but_strategy_count_and_nodes_may_be_left_out_or_be_null() -> None:
    nodes = [
        {"name": "a", "capacity": 5, "count": None, "usage": None, "rate": None},
        {"name": "b", "capacity": 3, "color": "green"},
    ]

    assert answer(nodes=nodes, nodes_limit=None, policy=None)["deploy"] == {"a": 2, "b": 1}
    assert answer(nodes=nodes, strategy="GLOBAL")["policy"] == "nearest_level"


@pytest.mark.parametrize("capacity", ["infinite", INFINITE, 10**30])
def test_infinite_is_a_word_or_a_large_number(capacity: object) -> None:
    nodes = [{"name": "a", "capacity": capacity, "count": 1}, {"name": "b", "capacity": 7}]

    assert answer(count=9, nodes=nodes)["deploy"] == {"a": 4, "b": 5}


@pytest.mark.parametrize(
    "quarter", ["0.25", "1/4", [1, 4], Decimal("0.25"), Decimal("2.5E-1"), "2.5e-01", "25E-2"]
)
def test_a_part_of_a_node_has_many_spellings(quarter: object) -> None:
    nodes = [
        {"name": "a", "capacity": 9, "usage": quarter, "rate": "1/4"},
        {"name": "b", "capacity": 9, "usage": "0.3", "rate": quarter},
    ]

    given = answer(strategy="GLOBAL", policy="after_usage", count=1, nodes=nodes)

    assert given["deploy"] == {"a": 1}
    assert str(given["highest_usage"]) == "1/2"


@pytest.mark.parametrize(
    "wrong",
    [
        {"count": Decimal("3.0")},
        {"count": True},
        {"count": None},
        {"strategy": 5},
        {"policy": 5},
        {"nodes_limit": Decimal(1)},
        {"nodes": None},
        {"nodes": [None]},
        {"nodes": {}},
        {"nodes": [{"name": "a"}]},
        {"nodes": [{"name": 1, "capacity": 1}]},
        {"nodes": [{"name": "a", "capacity": Decimal("1.5")}]},
        {"nodes": [{"name": "a", "capacity": "9"}]},
        {"nodes": [{"name": "a", "capacity": 1, "usage": "some"}]},
        {"nodes": [{"name": "a", "capacity": 1, "usage": "1e-99"}]},
        {"nodes": [{"name": "a", "capacity": 1, "usage": Decimal("1e+999999")}]},
        {"nodes": [{"name": "a", "capacity": 1, "usage": True}]},
    ],
)
def test_a_value_of_the_wrong_type_is_no_question(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        asked(**wrong)


@pytest.mark.parametrize(
    ("mistaken", "code"),
    [
        ({"strategy": "DUMMY", "count": 0}, "invalid_strategy"),
        ({"count": -1, "nodes": [{"name": "a", "capacity": 1, "count": -1}]}, "invalid_count"),
        ({"nodes": [{"name": "a", "capacity": 1, "count": -1}]}, "invalid_request"),
        ({"nodes": [{"name": "a", "capacity": 9, "rate": "-0.1"}]}, "invalid_request"),
        ({"nodes": [NODES[0], NODES[0]]}, "invalid_request"),
    ],
)
def test_what_the_core_refuses_keeps_its_code(mistaken: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        answer(**mistaken)

    assert refused.value.code == code


@pytest.mark.parametrize(
    ("wanting", "code", "told"),
    [
        (
            {"count": 99},
            "insufficient_resource",
            "wanted are 99 instances, and there is room for 10",
        ),
        (
            {"count": 6, "nodes_limit": 2},
            "insufficient_resource",
            "wanted are 6 instances, and with at most 2 on a node there is room for 3",
        ),
        (
            {"strategy": "EACH", "count": 2},
            "insufficient_resource",
            "wanted are 3 nodes, and 1 can serve; not able: b, c",
        ),
        (
            {"strategy": "EACH", "nodes_limit": 4},
            "insufficient_resource",
            "wanted are 4 nodes, and there are 3",
        ),
        (
            {"strategy": "EACH", "count": 10},
            "insufficient_capacity",
            "wanted are 3 nodes, and 0 can serve; not able: a, b, c",
        ),
        (
            {"strategy": "FILL", "count": 4, "nodes_limit": 1},
            "already_filled",
            "nothing to do: 1 node holds 4 or more",
        ),
    ],
)
def test_a_shortage_is_refused_with_its_numbers(
    wanting: dict[str, Any], code: str, told: str
) -> None:
    with pytest.raises(Refused) as refused:
        answer(**wanting)

    assert (refused.value.code, refused.value.message) == (code, told)


def test_people_are_told_the_rule_and_every_node() -> None:
    assert OP.explain(asked(count=4)).splitlines() == [
        "AUTO: 4 instances on 2 of 3 nodes.",
        "Every node is raised to 3 instances as far as it has room, which takes 4.",
        "",
        "node  holds  capacity  gets  because",
        "a     0      9         3     raised to the level",
        "b     1      1         1     raised to the level",
        "c     4      0         0     has no capacity",
    ]


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ({"count": 2}, "What is left, 1, goes one each"),
        ({"nodes_limit": 2}, "No node is to hold more than 2."),
        ({"strategy": "FILL", "count": 2, "nodes_limit": 2}, "2 nodes that can hold 2 are chosen"),
        ({"strategy": "EACH", "count": 1, "nodes_limit": 1}, "1 node that can take 1"),
        ({"strategy": "DRAINED"}, "Walking from the smallest capacity"),
        ({"strategy": "GLOBAL", "policy": "after_usage"}, "the highest that was needed is 2/5"),
        ({"strategy": "GLOBAL"}, "a  +1  used 1/10, one more is closer to 3/10"),
    ],
)
def test_people_are_told_what_decided(question: dict[str, Any], part: str) -> None:
    assert part in OP.explain(asked(**question))


def test_a_long_table_is_cut() -> None:
    nodes = [{"name": f"n{number}", "capacity": 1} for number in range(50)]

    assert OP.explain(asked(nodes=nodes)).endswith("\nand 10 nodes more")
