"""What all contracts have in common: their field types, and how a refusal gets its name.

A contract is the shape of one event type's ``data`` in one version. It says what a producer may
write; ``key_fields`` says which subject the event must carry, ``fact`` what the event means. Fields that
a contract does not know are accepted and mean nothing; a field that is null is one that is absent.

Contracts are pydantic models because pydantic checks a nested document faster than anything
written in Python and describes itself as JSON Schema. They live at the border only: what leaves
this room is a fact.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Final, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError, WithJsonSchema
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from ledger.errors import InvalidEvent, InvalidReason
from ledger.events import moments, quantities
from ledger.facts.event import Fact
from ledger.units import (
    LARGEST_WHOLE_NUMBER,
    Bytes,
    ClusterName,
    CpuMilli,
    EventType,
    Microseconds,
    NodeName,
    Replicas,
    Uid,
)

Family = Literal["cluster", "workload", "quota", "disk", "control", "own"]
"""Who speaks: a topic accepts its own families only, and ``own`` is never accepted from outside."""

LONGEST_NAME: Final = 253
"""Characters of a name: what Kubernetes allows a DNS subdomain."""
LONGEST_TEXT: Final = 1024
LONGEST_DETAIL: Final = 16_384
MOST_ENTRIES: Final = 10_000
"""Entries of a map or a list; more do not belong in one event."""
MOST_KEYS: Final = 100_000
"""Keys of an inventory, which is a list of everything there is."""
MOST_REPLICAS: Final = 2**31 - 1
"""What Kubernetes can count in ``spec.replicas``."""


class Shape(BaseModel):
    """A part of a contract, and what its subclasses inherit: nothing is converted silently.

    A shape by itself refuses fields it does not know, which is what the quick path wants;
    ``registry.validated`` reads past them.
    """

    model_config = ConfigDict(strict=True, extra="forbid", use_attribute_docstrings=True)


class Contract(Shape):
    """The ``data`` of one event type in one version."""

    event_type: ClassVar[EventType]
    family: ClassVar[Family]
    key_fields: ClassVar[tuple[str, ...]]
    """The fields that make the subject, joined by slashes, an empty one left out; none at all is the
    fleet's own name."""
    null_resets: ClassVar[bool] = False
    """Whether a null says "back to the default" instead of nothing."""
    newer_fields: ClassVar[Mapping[str, int]] = {}
    """Fields added later, with the contract revision that brought each: in an event accepted
    before, the field was unknown and means nothing for ever."""


class Checkable(Protocol):
    """What every contract says of itself."""

    event_type: ClassVar[EventType]
    family: ClassVar[Family]
    key_fields: ClassVar[tuple[str, ...]]
    null_resets: ClassVar[bool]
    newer_fields: ClassVar[Mapping[str, int]]
    __pydantic_fields__: ClassVar[dict[str, FieldInfo]]
    __pydantic_validator__: ClassVar[Any]
    __pydantic_core_schema__: ClassVar[Any]

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        """The contract as JSON Schema."""


class EventData(Checkable, Protocol):
    """What a contract can do once it holds an event's data."""

    def fact(self) -> Fact:
        """What the event says, with every default filled in."""


def _checked(read: Callable[[Any], object]) -> PlainValidator:
    """``read`` as a validator that keeps the reason it refuses with."""

    def validate(value: object) -> object:
        try:
            return read(value)
        except InvalidEvent as refused:
            raise PydanticCustomError(
                refused.reason, "{detail}", {"detail": refused.detail}
            ) from None

    return PlainValidator(validate)


def _no_such_character(characters: str) -> dict[str, object]:
    return {"not": {"pattern": f"[{characters}]"}}


CONTROLS: Final = r"\u0000-\u001f\u007f"
"""No text of a contract holds these; as part of a regular expression."""
_NAME: Final = Field(min_length=1, max_length=LONGEST_NAME, pattern=r"^[^/@\x00-\x1f\x7f]+$")
_NAME_SCHEMA: Final = WithJsonSchema(
    {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME}
    | _no_such_character("/@" + CONTROLS)
)
_WORD: Final = Field(min_length=1, max_length=LONGEST_NAME, pattern=r"^[^\x00-\x1f\x7f]+$")
_WORD_SCHEMA: Final = WithJsonSchema(
    {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME} | _no_such_character(CONTROLS)
)

Name = Annotated[str, _NAME, _NAME_SCHEMA]
"""A name that can be part of a subject: not empty, without ``/``, ``@`` and control characters."""
Cluster = Annotated[ClusterName, _NAME, _NAME_SCHEMA]
Node = Annotated[NodeName, _NAME, _NAME_SCHEMA]
ClusterOrNone = Annotated[
    ClusterName,
    Field(max_length=LONGEST_NAME, pattern=r"^[^/@\x00-\x1f\x7f]*$"),
    WithJsonSchema(
        {"type": "string", "maxLength": LONGEST_NAME} | _no_such_character("/@" + CONTROLS)
    ),
]
"""A cluster's name, or nothing where the fleet has one cluster and does not name it."""

Word = Annotated[str, _WORD, _WORD_SCHEMA]
"""A text that names something without being part of a subject: a label's key, a core."""
ObjectUid = Annotated[Uid, _WORD, _WORD_SCHEMA]

Text = Annotated[
    str,
    Field(max_length=LONGEST_TEXT, pattern=r"^[^\x00-\x1f\x7f]*$"),
    WithJsonSchema({"type": "string", "maxLength": LONGEST_TEXT} | _no_such_character(CONTROLS)),
]
"""Any text without control characters, the empty one too."""

Whole = Annotated[int, Field(ge=0, le=LARGEST_WHOLE_NUMBER)]
Count = Annotated[int, Field(ge=0, le=MOST_REPLICAS)]
ReplicaCount = Annotated[Replicas, Field(ge=0, le=MOST_REPLICAS)]
Priority = Annotated[int, Field(ge=-MOST_REPLICAS - 1, le=MOST_REPLICAS)]
"""As Kubernetes counts priorities."""

QUANTITY_SCHEMA: Final[dict[str, Any]] = {
    "anyOf": [
        {"type": "integer", "minimum": 0, "maximum": LARGEST_WHOLE_NUMBER},
        {
            "type": "string",
            "maxLength": quantities.LONGEST_TEXT,
            "pattern": rf"^({quantities.PATTERN})$(?!\n)",
        },
    ]
}

Cpu = Annotated[CpuMilli, _checked(quantities.cpu_milli), WithJsonSchema(QUANTITY_SCHEMA)]
"""Milli-cores as a whole number, or a Kubernetes quantity of cores as text."""
Quantity = Annotated[int, _checked(quantities.base_units), WithJsonSchema(QUANTITY_SCHEMA)]
"""Base units as a whole number, or a Kubernetes quantity as text."""
Size = Annotated[Bytes, _checked(quantities.base_units), WithJsonSchema(QUANTITY_SCHEMA)]

Labels = Annotated[dict[Word, Text], Field(max_length=MOST_ENTRIES)]


def _moment(value: object) -> int:
    if isinstance(value, str):
        try:
            return moments.microseconds(value)
        except InvalidEvent as refused:
            raise InvalidEvent("wrong_field", refused.detail) from None
    return quantities.base_units(value)


Moment = Annotated[
    Microseconds,
    _checked(_moment),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": LARGEST_WHOLE_NUMBER},
                {"type": "string", "format": "date-time"},
            ]
        }
    ),
]
"""RFC 3339 text, or whole microseconds since 1970."""


def _ratio(value: object) -> Fraction:
    """A ratio of whole numbers: ``"1/2"``, ``[1, 2]``, or 0 and 1 as they are."""
    parts: Sequence[object]
    match value:
        case str():
            parts = value.split("/") if _RATIO.fullmatch(value) else ()
            parts = [int(str(part)) for part in parts]
        case list():
            parts = value
        case _:
            parts = (value,)
    match [quantities.base_units(part) for part in parts]:
        case [whole]:
            ratio = Fraction(whole)
        case [numerator, denominator] if denominator > 0:
            ratio = Fraction(numerator, denominator)
        case _:
            raise InvalidEvent("wrong_field", "a ratio like 1/2 or [1, 2] belongs here")
    return ratio


def _ratio_up_to_one(value: object) -> Fraction:
    ratio = _ratio(value)
    if ratio > 1:
        raise InvalidEvent("out_of_range", f"{ratio} is above 1")
    return ratio


_RATIO: Final = re.compile(r"-?[0-9]{1,19}(/[0-9]{1,19})?")
_RATIO_SCHEMA: Final = WithJsonSchema(
    {
        "anyOf": [
            {"type": "integer", "minimum": 0, "maximum": LARGEST_WHOLE_NUMBER},
            {"type": "string", "pattern": r"^[0-9]{1,19}(/[0-9]{1,19})?$(?!\n)"},
            {
                "type": "array",
                "items": {"type": "integer", "minimum": 0, "maximum": LARGEST_WHOLE_NUMBER},
                "minItems": 1,
                "maxItems": 2,
            },
        ]
    }
)
Ratio = Annotated[Fraction, _checked(_ratio_up_to_one), _RATIO_SCHEMA]
"""An exact ratio between 0 and 1, as text ``"1/2"`` or as a list ``[1, 2]``."""
AnyRatio = Annotated[Fraction, _checked(_ratio), _RATIO_SCHEMA]
"""An exact ratio from 0 on, spelled like ``Ratio``."""


class Upsert(Contract):
    """The fields every upsert has beside its own."""

    uid: ObjectUid | None = None
    """Which object of that name this is; absent, it is the subject. Another uid is another object."""
    revision: Whole | None = None
    """Orders versions of one object from one source: a lower one than the last applied is stale."""

    def settled_uid(self) -> Uid:
        """The uid, told or implied."""
        parts = (getattr(self, name) for name in self.key_fields)
        return self.uid or Uid("/".join(part for part in parts if part))


class Removal(Contract):
    """The fields every removal has beside its own."""

    uid: ObjectUid | None = None
    """Which object of that name is gone; absent, whichever is in force."""
    revision: Whole | None = None
    """Orders versions of one object from one source: a lower one than the last applied is stale."""


Key = TypeVar("Key", bound=str)
Value = TypeVar("Value")


def sorted_pairs(mapping: Mapping[Key, Value]) -> tuple[tuple[Key, Value], ...]:
    """A map as facts hold it."""
    if not mapping:
        return ()
    return tuple(sorted(mapping.items()))


def without_nulls(value: Any) -> Any:
    """``value`` with every field that is null left out, at any depth; lists keep theirs."""
    match value:
        case dict():
            return {key: without_nulls(entry) for key, entry in value.items() if entry is not None}
        case list():
            return [without_nulls(entry) for entry in value]
        case _:
            return value


def refusal(error: ValidationError) -> InvalidEvent:
    """The first thing that is wrong, in the order of the contract's fields, by its public name."""
    first = error.errors(include_url=False)[0]
    path = ".".join(["data", *(str(step)[:60] for step in first["loc"])])
    reason, detail = _reason(first)
    return InvalidEvent(reason, f"{path}: {detail}")


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
