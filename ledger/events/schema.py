"""The contracts as JSON Schema 2020-12: one document per event type and version.

Each describes a whole event in structured form, so that a producer can check a message before it
is sent. The documents are generated from the contracts and kept in ``schemas/``, inside the
package; ``python -m ledger.events --write`` writes them, a test fails when they are stale.

A schema cannot say everything a contract says: that the subject is the data's own key, that a
quantity comes out whole, that a most is not below its least; and it takes ``1.0`` for a whole number.
What a schema refuses the contract refuses too, but for an entry of a map that is null under a key
that could not be one: it is absent.
"""

from importlib.resources import files
from typing import Any, Final

import orjson
from pydantic.json_schema import GenerateJsonSchema

from ledger.events import envelope
from ledger.events.registry import REGISTRY, ContractType
from ledger.units import LEDGER_FLEET

STORED: Final = files("ledger.events").joinpath("schemas")
DIALECT: Final = GenerateJsonSchema.schema_dialect

_FLEET: Final = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$(?!\n)"
_OWN_FLEET: Final = rf"^({LEDGER_FLEET}|[a-z0-9]([a-z0-9-]{{0,61}}[a-z0-9])?)$(?!\n)"
_NULL: Final = {"type": "null"}
_BESIDE_A_CHOICE: Final = {"default", "description", "title"}


def generate() -> dict[str, bytes]:
    """Every schema by the name of its file."""
    return {
        f"{type_}.json": spelled(describe(contract))
        for type_, contract in sorted(REGISTRY.contracts.items())
    }


def describe(contract: ContractType) -> dict[str, Any]:
    """The schema of one event type."""
    data = contract.model_json_schema()
    definitions = data.pop("$defs", {})
    name = data["title"]
    definitions[name] = data
    if not contract.null_resets:
        definitions = {key: _nullable(definition) for key, definition in definitions.items()}
    if not contract.only_known:
        definitions = {key: _open(definition) for key, definition in definitions.items()}
    return {
        "$schema": DIALECT,
        "$id": f"urn:ledger:event:{contract.event_type}",
        "title": contract.event_type,
        "description": data["description"],
        "type": "object",
        "properties": {
            "specversion": {"const": "1.0"},
            "id": _attribute("With the source, which event it is."),
            "source": _attribute("Who says it."),
            "type": {"const": contract.event_type},
            "subject": _attribute("The key of the object, made of the data."),
            "time": {
                "description": "When it happened, as RFC 3339; it decides nothing.",
                "type": ["string", "null"],
                "format": "date-time",
            },
            "fleet": {
                "description": "The fleet; it may be left out where the message's key names it.",
                "type": ["string", "null"],
                "pattern": _OWN_FLEET if contract.family == "own" else _FLEET,
            },
            "data": {"$ref": f"#/$defs/{name}"},
        },
        "required": ["specversion", "id", "source", "type", "subject", "data"],
        "$defs": {key: _without_noise(value) for key, value in sorted(definitions.items())},
    }


def spelled(document: dict[str, Any]) -> bytes:
    """A generated document as it stands in the repository: people read its diffs."""
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _attribute(description: str) -> dict[str, Any]:
    return {
        "description": description,
        "type": "string",
        "minLength": 1,
        "maxLength": envelope.LONGEST_ATTRIBUTE,
        "not": {"pattern": r"[\u0000-\u001f\u007f-\u009f]"},
    }


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """``schema`` with null allowed wherever a field may be absent: null is absent."""
    required = schema.get("required", ())
    changed = dict(schema)
    if "properties" in schema:
        changed["properties"] = {
            name: _nullable(entry) if name in required else _or_null(_nullable(entry))
            for name, entry in schema["properties"].items()
        }
    if isinstance(schema.get("additionalProperties"), dict):
        changed["additionalProperties"] = _or_null(_nullable(schema["additionalProperties"]))
    return changed


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    if _NULL in schema.get("anyOf", ()):
        return schema
    outside = {key: entry for key, entry in schema.items() if key in _BESIDE_A_CHOICE}
    inside = {key: entry for key, entry in schema.items() if key not in _BESIDE_A_CHOICE}
    return {"anyOf": [*inside.pop("anyOf", [inside]), _NULL], **outside}


def _open(definition: dict[str, Any]) -> dict[str, Any]:
    """``definition`` with fields that it does not know: they are accepted."""
    return {
        key: entry
        for key, entry in definition.items()
        if not (key == "additionalProperties" and entry is False)
    }


def _without_noise(schema: Any, *, inside: bool = False) -> Any:
    """``schema`` without what generation adds and nobody asked for.

    Fields have names and need no titles; a default of null says no more than being optional does.
    """
    if isinstance(schema, list):
        return [_without_noise(entry, inside=True) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for key, entry in schema.items():
        if key == "properties":
            kept[key] = {name: _without_noise(field, inside=True) for name, field in entry.items()}
        elif key == "description":
            kept[key] = entry.replace("\n", " ")
        elif not ((key == "title" and inside) or (key == "default" and entry is None)):
            kept[key] = _without_noise(entry, inside=True)
    return kept
