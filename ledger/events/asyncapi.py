"""The topics as an AsyncAPI 3 document, generated from the registry.

Kept at docs/asyncapi.json; ``python -m ledger.events --write`` writes it, a test fails when it is
stale. Payloads are not repeated there: they refer to the JSON Schemas of the package.
"""

from collections.abc import Mapping
from typing import Any, Final

from ledger.events.codec import CONTRACT_REVISION
from ledger.events.contract import Family
from ledger.events.registry import REGISTRY
from ledger.events.schema import spelled
from ledger.units import EventType

TOPICS: Final[Mapping[str, Family]] = {
    "ledger.cluster": "cluster",
    "ledger.workload": "workload",
    "ledger.quota": "quota",
    "ledger.disk": "disk",
    "ledger.control": "control",
}
"""Which family each Kafka topic carries."""
DECISIONS: Final = "ledger.decisions"
DEAD_LETTERS: Final = "ledger.deadletter"
NOTES: Final = "ledger.notes"

_SCHEMA_FORMAT: Final = "application/schema+json;version=draft-2020-12"
_STRUCTURED: Final = "application/cloudevents+json"


def generate() -> bytes:
    """The document as it stands in the repository."""
    return spelled(describe())


def describe() -> dict[str, Any]:
    """What the ledger reads from Kafka and what it writes to it."""
    taken = {
        topic: [
            type_
            for type_, contract in sorted(REGISTRY.contracts.items())
            if contract.family == family
        ]
        for topic, family in TOPICS.items()
    }
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Ledger",
            "version": str(CONTRACT_REVISION),
            "description": (
                "Events of clusters in, decisions out. Events are CloudEvents 1.0, in structured or"
                " binary mode, as docs/events.md describes them."
            ),
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": _STRUCTURED,
        "channels": {
            **{
                topic: _channel(topic, f"Events of the {family} family.", taken[topic], "the fleet")
                for topic, family in TOPICS.items()
            },
            DECISIONS: _channel(
                DECISIONS,
                "Decisions, in the order of their numbers.",
                ["decision"],
                "the fleet and the subject, as fleet/subject",
            ),
            DEAD_LETTERS: _channel(
                DEAD_LETTERS,
                "Messages that could not be accepted, as they came.",
                ["deadletter"],
                "the key that the message had",
            ),
            NOTES: _channel(
                NOTES,
                "What was signed of the trees, origin by origin in the order of sizes.",
                ["note"],
                "the origin",
            ),
        },
        "operations": {
            **{
                f"take {topic}": {
                    "action": "receive",
                    "channel": {"$ref": f"#/channels/{topic}"},
                    "summary": f"What a producer of {family} events sends.",
                }
                for topic, family in TOPICS.items()
            },
            "publish decisions": {
                "action": "send",
                "channel": {"$ref": f"#/channels/{DECISIONS}"},
                "summary": "What was decided; what is not above the last incarnation and number of its subject is old.",
            },
            "set aside": {
                "action": "send",
                "channel": {"$ref": f"#/channels/{DEAD_LETTERS}"},
                "summary": "What nobody should lose and nobody could read.",
            },
            "publish notes": {
                "action": "send",
                "channel": {"$ref": f"#/channels/{NOTES}"},
                "summary": "What a later audit holds the log against, sent by whoever has the signing key.",
            },
        },
        "components": {
            "messages": {
                **{type_: _message(type_) for types in taken.values() for type_ in types},
                "decision": {
                    "name": "decision",
                    "title": "A decision",
                    "summary": "The canonical record of one decision.",
                    "payload": {"type": "object"},
                },
                "deadletter": {
                    "name": "deadletter",
                    "title": "A refused message",
                    "summary": "The message's own value, with the reason in its headers.",
                    "payload": {},
                },
                "note": {
                    "name": "note",
                    "title": "A signed note",
                    "summary": "A C2SP signed note, as docs/proofs.md describes the three of a fleet.",
                    "contentType": "text/plain; charset=UTF-8",
                    "payload": {"type": "string"},
                },
            }
        },
    }


def _channel(address: str, description: str, messages: list[Any], key: str) -> dict[str, Any]:
    return {
        "address": address,
        "description": description,
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in messages},
        "bindings": {"kafka": {"topic": address}},
        "x-kafka-key": key,
    }


def _message(type_: EventType) -> dict[str, Any]:
    return {
        "name": type_,
        "title": type_,
        "summary": (REGISTRY.contracts[type_].__doc__ or "").partition("\n")[0],
        "contentType": _STRUCTURED,
        "payload": {
            "schemaFormat": _SCHEMA_FORMAT,
            "schema": {"$ref": f"../ledger/events/schemas/{type_}.json"},
        },
        "bindings": {
            "kafka": {
                "key": {"type": "string", "description": "The fleet."},
                "bindingVersion": "0.5.0",
            }
        },
    }
