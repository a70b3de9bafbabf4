"""The quota family: queues of jobs, and the quotas that give namespaces their weight."""

# ruff: noqa: D102 - what fact is for is said once, in EventData

import re
from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import Field, PlainValidator, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from ledger.errors import InvalidEvent
from ledger.events import quantities
from ledger.events.contract import (
    Family,
    Removal,
    Upsert,
)
from ledger.events.contract_values import (
    CONTROLS,
    LONGEST_NAME,
    MOST_ENTRIES,
    QUANTITY_SCHEMA,
    Name,
    Priority,
    sorted_pairs,
)
from ledger.facts import quota as facts
from ledger.units import LARGEST_WHOLE_NUMBER, EventType, Weight

NAMESPACE_WEIGHT: Final = "volcano.sh/namespace.weight"
_CONTROL: Final = re.compile(f"[{CONTROLS}]")


def _amount(resource: str, value: object) -> int:
    try:
        return quantities.amount(resource, value)
    except InvalidEvent as refused:
        raise PydanticCustomError(
            refused.reason,
            "{resource}: {detail}",
            {"resource": resource, "detail": refused.detail},
        ) from None


def _amounts(value: object) -> dict[str, int]:
    """Amounts by resource: what a whole number counts depends on the resource's name."""
    if not isinstance(value, dict):
        raise PydanticCustomError("wrong_field", "an object belongs here")
    if len(value) > MOST_ENTRIES:
        raise PydanticCustomError("out_of_range", f"longer than {MOST_ENTRIES}")
    for resource in value:
        if not 0 < len(resource) <= LONGEST_NAME or _CONTROL.search(resource):
            raise PydanticCustomError(
                "wrong_field", f"a resource has a name of 1 to {LONGEST_NAME} plain characters"
            )
    return {resource: _amount(resource, entry) for resource, entry in value.items()}


def _hard(value: object) -> dict[str, Any]:
    """The limits of a quota; a namespace weight among them is kept as it was told."""
    if not isinstance(value, dict) or NAMESPACE_WEIGHT not in value:
        return _amounts(value)
    weight = value[NAMESPACE_WEIGHT]
    if isinstance(weight, float):
        raise PydanticCustomError("not_whole", f"{NAMESPACE_WEIGHT}: {weight!r} is not whole")
    if not isinstance(weight, str | int):
        raise PydanticCustomError("wrong_field", f"{NAMESPACE_WEIGHT}: a number belongs here")
    if isinstance(weight, str) and len(weight) > LONGEST_NAME:
        raise PydanticCustomError("out_of_range", f"{NAMESPACE_WEIGHT}: longer than {LONGEST_NAME}")
    limits = {resource: entry for resource, entry in value.items() if resource != NAMESPACE_WEIGHT}
    return {**_amounts(limits), NAMESPACE_WEIGHT: weight}


_AMOUNTS_SCHEMA: Final = {
    "type": "object",
    "propertyNames": {
        "minLength": 1,
        "maxLength": LONGEST_NAME,
        "not": {"pattern": f"[{CONTROLS}]"},
    },
    "maxProperties": MOST_ENTRIES,
    "additionalProperties": QUANTITY_SCHEMA,
}
Amounts = Annotated[dict[str, int], PlainValidator(_amounts), WithJsonSchema(_AMOUNTS_SCHEMA)]
Limits = Annotated[
    dict[str, Any],
    PlainValidator(_hard),
    WithJsonSchema(
        _AMOUNTS_SCHEMA
        | {"properties": {NAMESPACE_WEIGHT: {"type": ["string", "integer", "boolean"]}}}
    ),
]
QueueWeight = Annotated[Weight, Field(ge=1, le=LARGEST_WHOLE_NUMBER)]


class QueueUpserted(Upsert):
    """A queue was created, or changed."""

    event_type: ClassVar = EventType("ledger.quota.queue.upserted.v1")
    family: ClassVar[Family] = "quota"
    key_fields: ClassVar[tuple[str, ...]] = ("name",)

    name: Name
    """The queue."""
    weight: QueueWeight = Weight(1)
    """Its part of what queues share."""
    capability: Amounts = Field(default_factory=dict)
    """The most it may use, by resource; a resource that is not named has no limit."""
    guarantee: Amounts = Field(default_factory=dict)
    """What it is sure of, by resource; never above its capability."""
    open: bool = True
    """Whether it takes work."""
    reclaimable: bool = True
    """Whether other queues may take back what it uses beyond its share."""
    priority: Priority = 0
    """The higher, the earlier."""

    @model_validator(mode="after")
    def _guarantee_is_within_capability(self) -> Self:
        for resource, amount in self.guarantee.items():
            if amount > self.capability.get(resource, amount):
                raise PydanticCustomError(
                    "out_of_range",
                    "guarantee.{resource}: it is above the capability",
                    {"resource": resource},
                )
        return self

    def fact(self) -> facts.QueueUpserted:
        return facts.QueueUpserted(
            name=self.name,
            uid=self.settled_uid(),
            revision=self.revision,
            weight=self.weight,
            capability=sorted_pairs(self.capability),
            guarantee=sorted_pairs(self.guarantee),
            open=self.open,
            reclaimable=self.reclaimable,
            priority=self.priority,
        )


class QueueRemoved(Removal):
    """A queue is gone."""

    event_type: ClassVar = EventType("ledger.quota.queue.removed.v1")
    family: ClassVar[Family] = "quota"
    key_fields: ClassVar[tuple[str, ...]] = ("name",)

    name: Name
    """The queue."""

    def fact(self) -> facts.QueueRemoved:
        return facts.QueueRemoved(self.name, self.uid, self.revision)


class QuotaUpserted(Upsert):
    """A ResourceQuota was created, or changed."""

    event_type: ClassVar = EventType("ledger.quota.quota.upserted.v1")
    family: ClassVar[Family] = "quota"
    key_fields: ClassVar[tuple[str, ...]] = ("namespace", "name")

    namespace: Name
    """The namespace it is for."""
    name: Name
    """The quota."""
    hard: Limits = Field(default_factory=dict)
    """Its limits by resource; `volcano.sh/namespace.weight` among them is the namespace's weight: a
    positive whole number, also as text of digits. Anything else there counts as 1 and is reported."""

    def fact(self) -> facts.QuotaUpserted:
        told = self.hard.get(NAMESPACE_WEIGHT)
        weight = _weight(told)
        limits = {name: limit for name, limit in self.hard.items() if name != NAMESPACE_WEIGHT}
        return facts.QuotaUpserted(
            namespace=self.namespace,
            name=self.name,
            uid=self.settled_uid(),
            revision=self.revision,
            hard=sorted_pairs(limits),
            weight=weight,
            invalid_weight=None if told is None or weight is not None else _as_written(told),
        )


class QuotaRemoved(Removal):
    """A ResourceQuota is gone."""

    event_type: ClassVar = EventType("ledger.quota.quota.removed.v1")
    family: ClassVar[Family] = "quota"
    key_fields: ClassVar[tuple[str, ...]] = ("namespace", "name")

    namespace: Name
    """The namespace it was for."""
    name: Name
    """The quota."""

    def fact(self) -> facts.QuotaRemoved:
        return facts.QuotaRemoved(self.namespace, self.name, self.uid, self.revision)


def _weight(told: str | int | None) -> Weight | None:
    """A namespace weight that counts: a positive whole number, or text of digits that is one."""
    if isinstance(told, str) and told.isascii() and told.isdecimal():
        told = int(told)
    if type(told) is int and 1 <= told <= LARGEST_WHOLE_NUMBER:
        return Weight(told)
    return None


def _as_written(told: str | int) -> str:
    """Something that is no weight, in plain characters."""
    return (ascii(told)[1:-1] if isinstance(told, str) else str(told).lower())[:LONGEST_NAME]
