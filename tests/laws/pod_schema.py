"""Pods by their schema: whatever has the fields and types of the Kubernetes API, as far as a patch looks.

``test_spot`` draws pods that somebody would write. Here a schema is drawn from as it stands, so that
what nobody would write is there too: empty maps and lists beside absent ones, nulls where something
may be absent, fields that nobody here reads. What is in a list, or required, is never null: an API server
has read the pod before it asks, and could not write such a thing.
"""

from typing import Any, Final

from hypothesis import strategies as st

Schema = dict[str, Any]

WORDS: Final = (
    "node.kubernetes.io/capacity",
    "on-demand",
    "spot",
    "zone",
    "a",
    "3",
    "metadata.name",
    "n1",
    "controller.kubernetes.io/pod-deletion-cost",
    "distributed-scheduling/reservation",
    "distributed-scheduling/desired-capacity",
    "m~n/o",
    "",
)
"""What a string is, half of the time: words that matter here."""

STRING: Final[Schema] = {"type": "string"}
STRINGS: Final[Schema] = {"type": "object", "additionalProperties": STRING, "nullable": True}
NUMBER: Final[Schema] = {"enum": ["-2", "0", "3", "7"]}


def _array(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, "nullable": True, **more}


def _object(properties: dict[str, Schema], *required: str) -> Schema:
    nullable = not required
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "nullable": nullable,
    }


def _requirements(key: Schema) -> Schema:
    def requirement(operators: list[str], values: Schema | None) -> Schema:
        told = {"key": key, "operator": {"enum": operators}}
        return _object(told if values is None else told | {"values": values}, *told, "values")

    several = {"type": "array", "items": STRING, "minItems": 1}
    one = {"type": "array", "items": NUMBER, "minItems": 1, "maxItems": 1}
    return {
        "oneOf": [
            requirement(["In", "NotIn"], several),
            requirement(["Exists", "DoesNotExist"], None),
            requirement(["Gt", "Lt"], one),
        ]
    }


FIELD: Final[Schema] = _object(
    {
        "key": {"enum": ["metadata.name"]},
        "operator": {"enum": ["In", "NotIn"]},
        "values": {"type": "array", "items": STRING, "minItems": 1, "maxItems": 1},
    },
    *("key", "operator", "values"),
)
TERM: Final[Schema] = _object(
    {"matchExpressions": _array(_requirements(STRING)), "matchFields": _array(FIELD)}
)
PREFERRED: Final[Schema] = _object(
    {"weight": {"type": "integer", "minimum": 1, "maximum": 100}, "preference": TERM},
    *("weight", "preference"),
)
TOLERATION: Final[Schema] = _object(
    {
        "key": STRING,
        "operator": {"enum": ["Exists", "Equal", ""]},
        "value": STRING,
        "effect": {"enum": ["NoSchedule", "PreferNoSchedule", "NoExecute", ""]},
        "tolerationSeconds": {"type": "integer", "minimum": -1, "maximum": 2**31},
    }
)
AFFINITY: Final[Schema] = _object(
    {
        "nodeAffinity": _object(
            {
                "requiredDuringSchedulingIgnoredDuringExecution": _object(
                    {"nodeSelectorTerms": _array(TERM)}
                ),
                "preferredDuringSchedulingIgnoredDuringExecution": _array(PREFERRED),
            }
        ),
        "podAffinity": STRINGS,
        "podAntiAffinity": STRINGS,
    }
)
POD: Final[Schema] = {
    "type": "object",
    "properties": {
        "metadata": _object({"labels": STRINGS, "annotations": STRINGS, "generateName": STRING}),
        "spec": {
            "type": "object",
            "properties": {
                "affinity": AFFINITY,
                "nodeSelector": STRINGS,
                "tolerations": _array(TOLERATION),
                "containers": _array(_object({"name": STRING, "image": STRING})),
                "priority": {"type": "integer", "minimum": 0, "maximum": 10},
            },
            "required": (),
        },
    },
    "required": ("spec",),
}


def drawn(schema: Schema) -> st.SearchStrategy[Any]:
    """Whatever a schema allows."""
    if schema.get("nullable"):
        return st.one_of(drawn({**schema, "nullable": False}), st.none())
    if "oneOf" in schema:
        return st.one_of(*map(drawn, schema["oneOf"]))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema["type"]:
        case "string":
            return st.one_of(st.sampled_from(WORDS), st.text(max_size=4))
        case "integer":
            return st.integers(schema["minimum"], schema["maximum"])
        case "array":
            return st.lists(
                drawn({**schema["items"], "nullable": False}),
                min_size=schema.get("minItems", 0),
                max_size=schema.get("maxItems", 3),
            )
        case "object" if "additionalProperties" in schema:
            return st.dictionaries(drawn(STRING), drawn(schema["additionalProperties"]), max_size=3)
        case "object":
            required, optional = dict[str, Any](), dict[str, Any]()
            for name, one in schema["properties"].items():
                if name in schema["required"]:
                    required[name] = drawn({**one, "nullable": False})
                else:
                    optional[name] = drawn(one)
            return st.fixed_dictionaries(required, optional=optional)
        case other:
            raise AssertionError(f"no schema here has the type {other}")


pods: Final = drawn(POD)
