"""The contracts once more, as a check that makes nothing of what it checks.

Intake wants to know whether an event fits its contract and has no use for a model instance, and
making one costs as much as all the checking. So the quick path runs the contracts' own validators
over plain dicts: the same compiled schemas, with models taken as typed dicts and defaults as
absent, under one envelope. A contract with a rule between fields keeps its models where that rule
is, since the rule asks an instance.

What this accepts the contract itself accepts; tests/laws/test_contracts.py holds the two together.
"""

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any, Final

from pydantic_core import SchemaValidator, core_schema

from ledger.events import envelope
from ledger.events.contract import Checkable

KeyReader = Callable[[Mapping[str, Any]], str | None]
"""Reads the subject out of data that its contract found valid; None is the fleet's own name."""

_NOT_ABOUT_CHECKING: Final = frozenset({"metadata", "serialization"})


def plain_events(contracts: Iterable[type[Checkable]]) -> SchemaValidator:
    """The check of a whole event of any of these types, in structured form and plain text.

    It refuses everything that somebody has to look at: fields and attributes it does not know too.
    """
    events = {
        contract.event_type: envelope.plain_event(
            contract.event_type, _without_instances(contract.__pydantic_core_schema__)
        )
        for contract in contracts
    }
    return SchemaValidator(core_schema.tagged_union_schema(events, discriminator="type"))


def key_reader(contract: type[Checkable]) -> KeyReader:
    """What reads the subject out of a contract's data."""
    fields = contract.key_fields
    told = contract.__pydantic_fields__
    if not fields:
        return lambda _data: None
    if len(fields) > 1 and all(name in told and told[name].is_required() for name in fields):
        several = itemgetter(*fields)
        return lambda data: "/".join(several(data))
    return lambda data: "/".join(part for name in fields if (part := _part(data, name)))


def _part(data: Mapping[str, Any], path: str) -> str:
    """The field at a dotted path, as a part of a subject."""
    value: Any = data
    for name in path.split("."):
        value = value.get(name)
    return "" if value is None else str(value)


def _without_instances(schema: Any) -> Any:
    match schema:
        case {"type": "function-after", "schema": {"type": "model"}}:
            return schema
        case {"type": "model", "schema": {"fields": fields}, "config": config}:
            return core_schema.typed_dict_schema(
                {name: _field(field["schema"]) for name, field in fields.items()},
                config=config,
                extra_behavior="forbid",
                ref=schema.get("ref"),
            )
        case dict():
            return {
                key: _without_instances(entry)
                for key, entry in schema.items()
                if key not in _NOT_ABOUT_CHECKING
            }
        case list():
            return [_without_instances(entry) for entry in schema]
        case _:
            return schema


def _field(schema: Any) -> core_schema.TypedDictField:
    if schema["type"] == "default":
        return core_schema.typed_dict_field(_without_instances(schema["schema"]), required=False)
    return core_schema.typed_dict_field(_without_instances(schema), required=True)
