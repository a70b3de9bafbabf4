"""What all contracts have in common.

A contract is the shape of one event type's ``data`` in one version. It says what a producer may
write; ``key_fields`` says which subject the event must carry, ``fact`` what the event means. Fields
that a contract does not know are accepted and mean nothing, but for ``only_known``; a field that is null
is absent.

Contracts are pydantic models because pydantic checks a nested document faster than anything
written in Python and describes itself as JSON Schema. They live at the border only: what leaves
this room is a fact.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Protocol

from pydantic import BaseModel, ConfigDict
from pydantic.fields import FieldInfo

from ledger.events.contract_values import ObjectUid, Whole
from ledger.facts.event import Fact
from ledger.units import EventType, Uid

Family = Literal["cluster", "workload", "quota", "disk", "control", "own"]
"""Who speaks: a topic accepts its own families only, and ``own`` is never accepted from outside."""


class Shape(BaseModel):
    """A part of a contract, and what its subclasses inherit: nothing is converted silently.

    A shape by itself refuses fields it does not know, which is what the quick path wants;
    ``registry.refuse_misfit`` reads past them.
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
    only_known: ClassVar[bool] = False
    """Whether an event with a field that nobody knows is refused, because a person wrote it and meant
    something by it. One that is in a log already is read all the same."""
    newer_fields: ClassVar[Mapping[str, int]] = {}
    """Fields added later, with the contract revision that brought each: in an event accepted
    before, the field was unknown and means nothing for ever."""


class Checkable(Protocol):
    """What every contract says of itself."""

    event_type: ClassVar[EventType]
    family: ClassVar[Family]
    key_fields: ClassVar[tuple[str, ...]]
    null_resets: ClassVar[bool]
    only_known: ClassVar[bool]
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


class Upsert(Contract):
    """The fields every upsert has beside its own."""

    uid: ObjectUid | None = None
    """Which object of that name this is; absent, it is the subject. Another uid is another object."""
    revision: Whole | None = None
    """Orders versions of one object from one source: a lower one than the last applied is stale."""

    def settled_uid(self) -> Uid:
        """The uid, told or implied."""
        if self.uid:
            return self.uid
        parts = (getattr(self, name) for name in self.key_fields)
        return Uid("/".join(part for part in parts if part))


class Removal(Contract):
    """The fields every removal has beside its own."""

    uid: ObjectUid | None = None
    """Which object of that name is gone; absent, whichever is in force."""
    revision: Whole | None = None
    """Orders versions of one object from one source: a lower one than the last applied is stale."""


def without_nulls(value: Any) -> Any:
    """``value`` with every field that is null left out, at any depth; lists keep theirs."""
    match value:
        case dict():
            return {key: without_nulls(entry) for key, entry in value.items() if entry is not None}
        case list():
            return [without_nulls(entry) for entry in value]
        case _:
            return value
