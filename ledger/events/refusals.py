"""How a refusal gets its public name: what pydantic found wrong, in the words of docs/errors.md."""

from collections.abc import Mapping
from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ledger.errors import InvalidEvent, InvalidReason


def refusal(error: ValidationError) -> InvalidEvent:
    """The first thing that is wrong, in the order of the contract's fields, by its public name."""
    first = error.errors(include_url=False)[0]
    path = ".".join(["data", *(str(step)[:60] for step in first["loc"])])
    reason, detail = _reason(first)
    return InvalidEvent(reason, f"{path}: {detail}")


def unknown(error: ValidationError) -> InvalidEvent:
    """The first field that nobody knows."""
    first = next(one for one in error.errors(include_url=False) if one["type"] == "extra_forbidden")
    path = ".".join(["data", *(str(step)[:60] for step in first["loc"])])
    return InvalidEvent("unknown_setting", f"{path}: there is no such setting")


_EXPECTED: Final[Mapping[str, str]] = {
    "string_type": "a text belongs here",
    "string_too_short": "it is empty",
    "string_pattern_mismatch": "it holds a character that may not be there",
    "bool_type": "true or false belongs here",
    "dict_type": "an object belongs here",
    "model_type": "an object belongs here",
    "model_attributes_type": "an object belongs here",
    "list_type": "a list belongs here",
    "too_short": "too few entries",
}


def _reason(error: ErrorDetails) -> tuple[InvalidReason, str]:
    value = error["input"]
    match error["type"]:
        case "missing":
            return "missing_field", "it is required"
        case "int_type" if isinstance(value, float):
            return "not_whole", f"{value!r} is not a whole number"
        case "int_type":
            return "wrong_field", "a whole number belongs here"
        case "greater_than_equal" if value < 0 <= error["ctx"]["ge"]:
            return "negative_quantity", f"{value} is below zero"
        case "greater_than_equal":
            return "out_of_range", f"{value} is below {error['ctx']['ge']}"
        case "less_than_equal":
            return "out_of_range", f"{value} is above {error['ctx']['le']}"
        case "string_too_long" | "too_long":
            return "out_of_range", f"longer than {error['ctx']['max_length']}"
        case "literal_error":
            return "wrong_field", f"one of {error['ctx']['expected']} belongs here"
        case "not_whole" | "negative_quantity" | "out_of_range" | "wrong_field" as reason:
            return reason, error["msg"]
        case other:
            return "wrong_field", _EXPECTED.get(other, "it does not belong here")
