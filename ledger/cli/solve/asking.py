"""What a question put to ``ledger solve`` looks like, and what an answer is made of.

Each system lists its operations in a module of its own, ``<system>_questions.py``. An operation
joins a model of the question, which judges the input, and a function that asks the core. Reading
lines, naming what was wrong with one and writing answers is left to ``ledger.cli.solve.line``.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Final, Generic, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)


class Question(BaseModel):
    """The input of one operation. Fields it does not know are ignored; null means absent.

    Validation is strict: ``true`` and ``1.0`` are no counts and ``1`` is no name.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _null_means_absent(cls, given: Any) -> Any:
        if isinstance(given, dict):
            return {name: value for name, value in given.items() if value is not None}
        return given


def _ratio(given: object) -> object:
    """Whole numbers, ``[1, 2]``, ``"1/2"`` and ``"0.5"`` are ratios; anything else is not."""
    match given:
        case bool():
            return given
        case int():
            return Fraction(given)
        case [int() as numerator, int() as denominator] if denominator > 0:
            return Fraction(numerator, denominator)
        case str() if _WRITTEN_RATIO.fullmatch(given):
            return Fraction(given)
    return given


_WRITTEN_RATIO: Final = re.compile(r"-?[0-9]{1,40}(/0*[1-9][0-9]{0,39}|\.[0-9]{1,40})?")
"""No exponents: a few characters must not stand for a million digits."""

Count = Annotated[int, Field(ge=0)]
"""A number of things, or an amount in whole units: never negative."""

Ratio = Annotated[
    Fraction,
    BeforeValidator(_ratio),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer"},
                {"type": "string", "pattern": f"^({_WRITTEN_RATIO.pattern})$"},
                {
                    "type": "array",
                    "prefixItems": [{"type": "integer"}, {"type": "integer", "minimum": 1}],
                    "minItems": 2,
                    "maxItems": 2,
                },
            ]
        }
    ),
]
"""An exact number."""

Asked = TypeVar("Asked", bound=Question)

Written = Mapping[str, Any]
"""An answer as it will be written: names, whole numbers, lists and objects; a fraction is written "1/3"."""


class Refused(Exception):
    """A well-formed question whose answer is no: ``code`` is public (docs/solve.md)."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class Op(Generic[Asked]):
    """One operation of the door.

    ``answer`` raises ``Refused``, or lets the core's ``InvalidRequest`` through. ``explain`` tells
    a person the same answer with the arithmetic that leads to it; it is asked only for
    ``--explain``, and only after ``answer`` has answered.
    """

    name: str
    about: str
    question: type[Asked]
    answer: Callable[[Asked], Written]
    explain: Callable[[Asked], str]
