"""The judge is judged first: a comparison that accepts too much makes every vector worthless."""

from typing import Any

import pytest

from tests.vectors.verdict import shortcoming

ACCEPTED = [
    pytest.param({"equals": {"a": 1}}, {"a": 1, "b": 2}, id="an answer may say more"),
    pytest.param({"equals": {"p": "1/2"}}, {"p": "0.5"}, id="one number, two spellings"),
    pytest.param({"equals": {"p": 0.1}}, {"p": "1/10"}, id="a decimal is what it says"),
    pytest.param({"equals": {"a": None}}, {}, id="null may be absent"),
    pytest.param({"equals": {"allocation": {"m1": 2, "m2": 0}}}, {"allocation": {"m1": 2}}, id="0"),
    pytest.param(
        {"equals": {"allocation": {"m1": 2}}}, {"allocation": {"m1": 2, "m2": 0}}, id="0+"
    ),
    pytest.param({"any_of": [{"a": 1}, {"a": 2}]}, {"a": 2}, id="one of two"),
    pytest.param({"prefix": {"order": ["x"]}}, {"order": ["x", "y"]}, id="begins like this"),
    pytest.param({"prefix": {"order": []}}, {"order": []}, id="every list begins with nothing"),
]

REJECTED = [
    pytest.param({"equals": {"a": 1}}, {"b": 1}, id="missing key"),
    pytest.param({"equals": {"a": 1}}, {"a": True}, id="true is no number"),
    pytest.param({"equals": {"a": True}}, {"a": 1}, id="a number is not true"),
    pytest.param({"equals": {"p": "1/2"}}, {"p": "1/3"}, id="another number"),
    pytest.param({"equals": {"a": [1, 2]}}, {"a": [2, 1]}, id="lists have an order"),
    pytest.param({"equals": {"a": [1]}}, {"a": [1, 2]}, id="lists are compared in full"),
    pytest.param({"equals": {"a": {"b": 1}}}, {"a": [1]}, id="an object is no list"),
    pytest.param(
        {"equals": {"allocation": {"m1": 2}}}, {"allocation": {"m1": 2, "m2": 1}}, id="+1"
    ),
    pytest.param(
        {"equals": {"allocation": {"m1": 2, "m2": 1}}}, {"allocation": {"m1": 2}}, id="-1"
    ),
    pytest.param({"any_of": [{"a": 1}, {"a": 2}]}, {"a": 3}, id="none of two"),
    pytest.param({"any_of": []}, {"a": 3}, id="one of none"),
    pytest.param({"prefix": {"order": ["x"]}}, {"order": ["y", "x"]}, id="begins otherwise"),
    pytest.param({"prefix": {"order": ["x", "y"]}}, {"order": ["x"]}, id="too short"),
    pytest.param({"prefix": {"order": ["x"]}}, {"order": "xyz"}, id="a text is no list"),
    pytest.param(
        {"equals": {"a": 1}, "prefix": {"b": [1]}}, {"a": 1, "b": [2]}, id="one of two ok"
    ),
]


@pytest.mark.parametrize(("expect", "result"), ACCEPTED)
def test_an_answer_with_everything_expected_is_accepted(
    expect: dict[str, Any], result: dict[str, Any]
) -> None:
    assert shortcoming(expect, {"result": result}) == ""


@pytest.mark.parametrize(("expect", "result"), REJECTED)
def test_an_answer_that_lacks_something_is_rejected(
    expect: dict[str, Any], result: dict[str, Any]
) -> None:
    assert shortcoming(expect, {"result": result}) != ""


def test_an_error_is_judged_by_its_code() -> None:
    refused = {"error": {"code": "invalid_request", "message": "whatever"}}

    assert shortcoming({"error": "invalid_request"}, refused) == ""
    assert shortcoming({"error": "insufficient_capacity"}, refused) != ""
    assert shortcoming({"equals": {}}, refused) != ""
    assert shortcoming({"error": "invalid_request"}, {"result": {}}) != ""
