"""The values that fields of contracts hold: names, texts, counts, quantities, ratios, moments.

Each is a type for pydantic with its own limits and its own JSON Schema. docs/events.md explains
them to people under "Values", in the same words and with the same limits.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, Final, TypeVar, cast

from pydantic import Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from ledger.errors import InvalidEvent
from ledger.events import moments, quantities
from ledger.events.sharing import shared_pairs
from ledger.units import (
    LARGEST_WHOLE_NUMBER,
    Bytes,
    ClusterName,
    CpuMilli,
    Microseconds,
    NodeName,
    Replicas,
    Uid,
)

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
MOST_TASKS: Final = 150_000
"""Of a job: each is known by itself, so no more than pods that a cluster is made for."""
MOST_COPIES: Final = 1_000
"""Of a volume, each of which is placed by itself: more than anybody can have use for."""


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
            "pattern": "^(" + quantities.PATTERN + r")$(?!\n)",
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
    return quantities.whole_number(value)


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
    """A ratio of whole numbers: ``"1/2"``, ``[1, 2]``, or a whole number as it is."""
    told: Sequence[object] = value if isinstance(value, list) else [value]
    if isinstance(value, str) and _RATIO.fullmatch(value):
        told = [int(part) for part in value.split("/")]
    match [quantities.whole_number(part) for part in told]:
        case [whole]:
            return Fraction(whole)
        case [numerator, denominator] if denominator > 0:
            return Fraction(numerator, denominator)
        case _:
            raise InvalidEvent("wrong_field", "a ratio like 1/2 or [1, 2] belongs here")


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


Key = TypeVar("Key", bound=str)
Value = TypeVar("Value")


def sorted_pairs(mapping: Mapping[Key, Value]) -> tuple[tuple[Key, Value], ...]:
    """A map as facts hold it."""
    if not mapping:
        return ()
    return cast("tuple[tuple[Key, Value], ...]", shared_pairs(tuple(sorted(mapping.items()))))
