"""Whether an answer has what a vector expects of it.

A vector names only what its source vouches for, so an answer may say more than the expectation,
never less. ``expect`` holds one or more of these, and all of them count:

``equals``   the result contains this
``any_of``   the result contains one of these: where a source leaves the choice to luck
``prefix``   each named list of the result begins like this
``error``    the question was refused with this code

*Contains* means: of an object the expected keys, of a list every element in its place, of a number
the same value however it is written ("1/2", "0.5" and 0.5 are one number; true is none). A key with
null may be absent. In an object of counts nobody has to write zeros, and nobody may hide a count.
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

OBJECTS_OF_COUNTS: Final = ("allocation", "capacity", "deploy", "ns_cpu")

_WRITTEN_NUMBER: Final = re.compile(r"-?[0-9]+(/[0-9]+|\.[0-9]+)?")


def shortcoming(expect: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    """What the answer, ``{"result"}`` or ``{"error"}``, lacks; empty if it lacks nothing."""
    refusal = answer.get("error")
    if "error" in expect:
        refused_as_expected = refusal is not None and refusal.get("code") == expect["error"]
        return "" if refused_as_expected else f"expected the error {expect['error']}, got {answer}"
    if refusal is not None:
        return f"unexpected error {refusal}"
    result = answer.get("result")
    if "equals" in expect and not contains(result, expect["equals"]):
        return f"expected {expect['equals']}, got {result}"
    if "any_of" in expect and not any(contains(result, choice) for choice in expect["any_of"]):
        return f"expected one of {expect['any_of']}, got {result}"
    for key, beginning in expect.get("prefix", {}).items():
        whole = result.get(key) if isinstance(result, dict) else None
        if not isinstance(whole, list) or not contains(whole[: len(beginning)], beginning):
            return f"expected {key} to begin with {beginning}, got {whole}"
    return ""


def contains(given: object, expected: object) -> bool:
    """Whether ``given`` has everything that ``expected`` names."""
    match expected:
        case dict():
            return isinstance(given, dict) and all(
                _member_contains(given, key, value) for key, value in expected.items()
            )
        case list():
            return (
                isinstance(given, list)
                and len(given) == len(expected)
                and all(contains(*pair) for pair in zip(given, expected, strict=True))
            )
        case _:
            number = as_number(expected)
            if number is not None:
                return as_number(given) == number
            return type(given) is type(expected) and given == expected


def as_number(value: object) -> Fraction | None:
    """The value as an exact number, if it is one or is the text of one."""
    match value:
        case bool():
            return None
        case int():
            return Fraction(value)
        case float():
            return Fraction(repr(value))
        case str() if _WRITTEN_NUMBER.fullmatch(value):
            return Fraction(value)
        case _:
            return None


def _member_contains(given: Mapping[str, Any], key: str, expected: object) -> bool:
    if key not in given:
        return expected is None
    if key in OBJECTS_OF_COUNTS and _all_numbers(expected) and _all_numbers(given[key]):
        return _nonzero(given[key]) == _nonzero(expected)
    return contains(given[key], expected)


def _all_numbers(value: object) -> bool:
    return isinstance(value, dict) and all(as_number(one) is not None for one in value.values())


def _nonzero(counts: Any) -> dict[str, Fraction | None]:
    return {key: as_number(value) for key, value in counts.items() if as_number(value)}
