"""The questions about division: what may be left out, what is refused, and what people are told."""

from typing import Any

import pytest
from pydantic import ValidationError

from ledger.cli.solve.asking import Refused, Written
from ledger.cli.solve.division_questions import OPS
from ledger.errors import InvalidRequest

BY_NAME = {op.name: op for op in OPS}

EQUAL = {"m1": 1, "m2": 1, "m3": 1, "m4": 1}
CLUSTERS = [
    {"name": "m1", "score": 60, "available": 40},
    {"name": "m2", "score": 50, "available": 30},
    {"name": "m3", "score": 40, "available": 60},
]
REGIONS = {
    "R1": {"score": 9, "clusters": CLUSTERS[:1]},
    "R2": {"score": 8, "clusters": CLUSTERS[1:]},
}


def answer(op: str, **given: Any) -> Written:
    return BY_NAME[op].answer(BY_NAME[op].question.model_validate(given))


def told(op: str, **given: Any) -> str:
    return BY_NAME[op].explain(BY_NAME[op].question.model_validate(given))


LAST = {
    "strategy": "StaticWeight",
    "allocation": {"m1": 2, "m2": 1, "m3": None, "m4": 2},
    "replicas": 6,
    "weights": EQUAL,
}


@pytest.mark.parametrize(
    ("last", "branch"),
    [
        pytest.param(None, "redraw", id="none"),
        pytest.param(
            {"strategy": "Duplicated", "replicas": -1, "weights": 3}, "redraw", id="other"
        ),
        pytest.param({**LAST, "weights": {"m1": 1, "m2": 1, "m4": 1}}, "partial_fit", id="joined"),
        pytest.param({**LAST, "allocation": {**EQUAL, "m1": 2, "m2": 2}}, "keep", id="fits"),
    ],
)
def test_only_a_last_result_by_static_weight_is_looked_into(
    last: dict[str, Any] | None, branch: str
) -> None:
    assert answer("division.static", replicas=6, weights=EQUAL, last=last)["branch"] == branch


@pytest.mark.parametrize(
    ("op", "given"),
    [
        ("division.static", {"replicas": 6, "weights": EQUAL, "last": {}}),
        ("division.static", {"replicas": 6, "weights": EQUAL, "last": {**LAST, "replicas": None}}),
        (
            "division.static",
            {"replicas": 6, "weights": EQUAL, "last": {**LAST, "weights": {"m1": -1}}},
        ),
        ("division.static", {"replicas": 6, "weights": EQUAL, "inertia": "some"}),
        ("division.static", {"replicas": 6, "weights": EQUAL, "kappa": [1]}),
        ("division.static", {"replicas": 6, "weights": EQUAL, "kappa": [True, 2]}),
        ("division.static", {"replicas": 6, "weights": {"m1": None}}),
        ("division.static", {"replicas": True, "weights": EQUAL}),
        ("division.select", {}),
        ("division.select", {"clusters": CLUSTERS, "regions": REGIONS}),
        ("division.select", {"clusters": CLUSTERS, "need_replicas": -2}),
        ("division.select", {"regions": REGIONS, "region": [1, 2, 3]}),
        ("division.select", {"clusters": [{"name": "m1", "score": -1}]}),
        ("lot.draw", {"weights": {"a": 1.5}, "draws": 1}),
    ],
)
def test_what_is_no_question_is_refused(op: str, given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        answer(op, **given)


@pytest.mark.parametrize(
    ("op", "given", "code"),
    [
        ("division.static", {"replicas": 1, "weights": {}}, "invalid_request"),
        ("division.static", {"replicas": 1, "weights": EQUAL, "kappa": [3, 2]}, "invalid_request"),
        ("division.dynamic", {"replicas": 1, "available": {}, "strategy": "x"}, "invalid_strategy"),
        ("division.select", {"clusters": CLUSTERS, "strategy": "x"}, "invalid_strategy"),
        ("division.select", {"clusters": CLUSTERS * 2}, "invalid_request"),
        (
            "division.select",
            {"clusters": CLUSTERS, "min_groups": 2, "max_groups": 1, "strategy": "static"},
            "invalid_request",
        ),
        ("division.select", {"regions": REGIONS, "region": [2, 1]}, "invalid_request"),
        ("lot.draw", {"weights": {"a": 1}, "draws": 2}, "invalid_request"),
    ],
)
def test_what_the_core_refuses_is_refused_with_its_code(
    op: str, given: dict[str, Any], code: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        answer(op, **given)

    assert refused.value.code == code


@pytest.mark.parametrize(
    ("op", "given", "code", "message"),
    [
        (
            "division.static",
            {"replicas": 9, "weights": {"m1": 1}, "caps": {"m1": 4}},
            "insufficient_capacity",
            "9 are wanted and there is room for 4",
        ),
        (
            "division.dynamic",
            {"replicas": 9, "available": {"m1": 1}, "last": {"m1": 2, "m2": None}},
            "insufficient_capacity",
            "7 are wanted and there is room for 1",
        ),
        (
            "division.select",
            {"clusters": CLUSTERS, "min_groups": 4},
            "too_few_clusters",
            "4 are wanted and 3 found",
        ),
        (
            "division.select",
            {"regions": REGIONS, "region": [3]},
            "too_few_regions",
            "3 are wanted and 2 found",
        ),
    ],
)
def test_a_question_without_an_answer_says_what_is_missing(
    op: str, given: dict[str, Any], code: str, message: str
) -> None:
    with pytest.raises(Refused) as refused:
        answer(op, **given)

    assert (refused.value.code, refused.value.message) == (code, message)


@pytest.mark.parametrize(
    ("given", "selected"),
    [
        ({"clusters": CLUSTERS}, ["m1", "m2", "m3"]),
        ({"clusters": CLUSTERS, "max_groups": 2, "need_replicas": 80}, ["m1", "m3"]),
        ({"clusters": CLUSTERS, "max_groups": 2, "need_replicas": -1}, ["m1", "m2"]),
        (
            {"clusters": CLUSTERS, "max_groups": 2, "need_replicas": 80, "strategy": "duplicated"},
            ["m1", "m2"],
        ),
        ({"clusters": CLUSTERS, "max_groups": 1, "strategy": "static"}, ["m1", "m2", "m3"]),
        ({"regions": REGIONS, "cluster": [3, None]}, ["m1", "m2", "m3"]),
        ({"regions": REGIONS, "region": [None, 1], "cluster": [2]}, ["m2", "m3"]),
        ({"regions": REGIONS, "region": [1, 1], "strategy": "static"}, ["m1", "m2", "m3"]),
    ],
)
def test_what_is_left_out_or_null_is_no_limit(given: dict[str, Any], selected: list[str]) -> None:
    assert answer("division.select", **given)["selected"] == selected


def test_an_answer_says_all_that_led_to_it() -> None:
    divided = answer("division.static", replicas=6, weights=EQUAL, salt="default", workload="web-7")

    assert divided["residual"] == 2
    assert divided["drawing"]["order"] == ["m1", "m2"]
    assert [share["reason"] for share in divided["shares"]] == [
        *("drawn", "drawn", "not_drawn", "not_drawn")
    ]
    assert divided["shares"][0] | {"reason": ""} == {
        "cluster": "m1",
        "weight": 1,
        "floor": 1,
        "remainder": 2,
        "ceiling": 2,
        "replicas": 2,
        "reason": "",
    }


@pytest.mark.parametrize(
    ("op", "given", "lines"),
    [
        (
            "division.static",
            {"replicas": 14, "weights": {"a": 5, "b": 2, "c": 3, "d": 0}, "caps": {"a": 4}},
            [
                "Filled caps take 4 of 14; 10 are divided by a weight of 5.",
                "a                 cap      4         4  filled",
                "b        10 * 2/5 = 4      4         4  floor",
                "d                none      0         0  no_weight",
            ],
        ),
        (
            "division.static",
            {"replicas": 5, "weights": {"a": 2, "b": 1}},
            [
                "a        5 * 2/3 = 3 1/3      3         4  drawn",
                "Left over by the floors: 5 - 4 = 1.",
                "In the lot, with odds (kappa 1): a=2, b=1.",
                "Drawn as winners: a.",
                "The lot is that of salt '', workload '', epoch 0.",
            ],
        ),
        (
            "division.fit",
            {
                "replicas": 4,
                "weights": {"a": 3, "b": 3, "c": 2},
                "allocation": {"a": 1, "b": 1, "c": 2},
            },
            [
                "It fits; not if nothing may lie on top of a whole share.",
                "a           1    3/2  -1/2",
                "c           2      1  1",
            ],
        ),
        (
            "division.fit",
            {"replicas": 4, "weights": {"a": 0}, "allocation": {"z": 4}},
            ["It does not fit; not if nothing may lie on top of a whole share."],
        ),
        ("division.draw_probability", {"weights": {"a": 2, "b": 1}}, ["a        2/3"]),
        (
            "division.webster",
            {"replicas": 5, "weights": {"a": 170, "b": 110, "c": 60}},
            [
                "then to the earlier name.",
                "a           170    0    2           170/3  170/5",
                "The last one went to b; the next would go to a.",
            ],
        ),
        (
            "division.webster",
            {"replicas": 1, "weights": {"a": 1, "b": 1}, "workload": "web-7"},
            ["then to the later name.", "a             1    0    0            none  1/1"],
        ),
        (
            "division.dynamic",
            {"replicas": 5, "available": {"a": 2, "b": 5}, "strategy": "aggregated"},
            [
                "scale_up: what is missing is divided by availability and added to what is held.",
                "a                2     0  no part  0",
                "Divided, counting from nothing: 5.",
            ],
        ),
        (
            "division.dynamic",
            {"replicas": 2, "available": {"a": 0}, "last": {"a": 2}},
            [
                "keep: the last result adds up, nothing moves.",
                "a                0     2  no part  2",
            ],
        ),
        (
            "division.duplicated",
            {"replicas": 2, "candidates": ["b", "a"]},
            ["Every candidate gets all 2: a, b."],
        ),
        ("division.duplicated", {"replicas": 2, "candidates": []}, ["There is no candidate."]),
        (
            "division.select",
            {"clusters": CLUSTERS, "max_groups": 2, "need_replicas": 80},
            [
                "Selected: m1, m3.",
                "m2          0     50         30  swapped_out",
                "For room, place 2 went from m2 to m3: 100 together.",
            ],
        ),
        ("division.select", {"clusters": []}, ["Selected: nobody."]),
        (
            "division.select",
            {"regions": REGIONS, "region": [1, 1], "cluster": [2]},
            ["R1          9         1  not_in_best_set", "R2          8         2  chosen"],
        ),
        (
            "lot.draw",
            {"weights": {"a": 2, "b": 1, "c": 0}, "draws": 3, "salt": "default", "uid": "web-7"},
            [
                "The lot is that of salt 'default', workload 'web-7', epoch 0.",
                "Blocks read: 3.",
                "2         0   1  c",
            ],
        ),
    ],
)
def test_people_are_told_the_arithmetic(op: str, given: dict[str, Any], lines: list[str]) -> None:
    text = told(op, **given).splitlines()

    missing = [line for line in lines if line not in text]
    assert not missing, "\n".join(text)
