"""What is wrong with the input of a question, in words for whoever wrote it.

Each finding begins with the field, as in ``last.weights.m1`` or ``nodes[2].memory``, says what
belongs there, and shows what stood there instead.
"""

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ledger.cli.solve.reading import LONGEST_WHOLE_NUMBER, quoted

MOST_FINDINGS: Final = 5
"""Of one question; whoever has corrected these is told the next ones."""

EXPECTED: Final[Mapping[str, str]] = {
    "bool_type": "true or false",
    "dict_type": "an object",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_attributes_type": "an object",
    "model_type": "an object",
    "none_required": "null",
    "string_type": "text",
    "tuple_type": "a list",
}
"""What belongs in a field, by pydantic's name for its absence."""


def shortcomings(error: ValidationError, given: Mapping[str, Any]) -> str:
    """What pydantic found in ``given``, a clause for each field."""
    found: dict[str, list[ErrorDetails]] = {}
    for detail in error.errors(include_url=False):
        found.setdefault(_path(detail, given), []).append(detail)
    clauses = [_clause(path, details) for path, details in found.items()]
    more = len(clauses) - MOST_FINDINGS
    return "; ".join([*clauses[:MOST_FINDINGS], *([f"and {more} more"] if more > 0 else [])])


def _path(detail: ErrorDetails, given: object) -> str:
    """Where the problem is. What pydantic adds to tell the choices of a union apart is left out."""
    path, value = "", given
    for step in detail["loc"]:
        if isinstance(value, dict) and step in value:
            path, value = f"{path}.{_name(step)}", value[step]
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            path, value = f"{path}[{step}]", value[step]
        elif detail["type"] == "missing" and step == detail["loc"][-1]:
            path = f"{path}.{_name(step)}"
    return path.removeprefix(".") or "input"


_PLAIN_NAME: Final = re.compile(r"[\w/-]{1,60}")


def _name(step: object) -> str:
    text = str(step)
    return text if _PLAIN_NAME.fullmatch(text) else quoted(text)


def _clause(path: str, details: list[ErrorDetails]) -> str:
    """One clause, also for a field of several kinds of which each had its own objection."""
    problems = list(dict.fromkeys(map(_problem, details)))
    if all(problem.startswith("must be ") for problem in problems):
        choices = " or ".join(problem.removeprefix("must be ") for problem in problems)
        return f"{path} must be {choices}, not {_shown(details[0]['input'])}"
    return "; ".join(f"{path}{problem}" for problem in map(_joined, problems))


def _joined(problem: str) -> str:
    return f" {problem}" if problem.startswith(("must ", "is ")) else f": {problem}"


def _problem(detail: ErrorDetails) -> str:
    """What is wrong, to be read after the name of the field."""
    kind, context, given = detail["type"], detail.get("ctx", {}), detail["input"]
    match kind:
        case "missing":
            return "is missing"
        case "greater_than_equal" if context["ge"] == 0:
            return f"must not be negative, and {_shown(given)} is"
        case "greater_than_equal":
            return f"must be at least {context['ge']}"
        case "greater_than":
            return f"must be more than {context['gt']}"
        case "less_than_equal":
            return f"must be at most {context['le']}"
        case "less_than":
            return f"must be less than {context['lt']}"
        case "int_type" if _is_long_whole_number(given):
            return f"must be a whole number of at most {LONGEST_WHOLE_NUMBER} digits"
        case "is_instance_of" if context["class"] == "Fraction":
            return 'must be an exact number (2, "1/2", "0.5" or [1, 2])'
        case "literal_error" | "enum":
            return f"must be {context['expected']}"
        case "union_tag_invalid":
            return f"{context['discriminator']} must be one of {context['expected_tags']}"
        case "union_tag_not_found":
            return f"{context['discriminator']} is missing"
        case "string_too_short" | "too_short" if context["min_length"] == 1:
            return "must not be empty"
        case "value_error" | "assertion_error":
            return str(context["error"])
        case _ if kind in EXPECTED:
            return f"must be {EXPECTED[kind]}"
        case _:
            return detail["msg"][:1].lower() + detail["msg"][1:]


def _is_long_whole_number(value: object) -> bool:
    if not isinstance(value, Decimal):
        return False
    _, digits, exponent = value.as_tuple()
    return exponent == 0 and len(digits) > LONGEST_WHOLE_NUMBER


def _shown(value: object) -> str:
    match value:
        case None | bool():
            return json.dumps(value)
        case str():
            return quoted(value)
        case int() | Decimal():
            # A short one without decimals had an exponent, which alone is why it is no whole number.
            short = isinstance(value, Decimal) and value.as_tuple().exponent == 0
            text = f"{value}E+0" if short and not _is_long_whole_number(value) else str(value)
            return text if len(text) <= 40 else f"one of {len(text)} digits"
        case dict():
            return "an object"
        case list():
            return "a list"
        case _:
            return "that"
