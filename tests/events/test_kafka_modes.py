"""How a Kafka message carries an event: structured mode, binary mode, and what is neither.

The table of modes restates section 3 of the Kafka protocol binding of CloudEvents 1.0.
"""

import json

import pytest

from ledger.errors import InvalidEvent
from ledger.events import envelope, strict_json
from ledger.events.codec import Accepted, Rejected, accept, decode
from ledger.units import FleetName
from tests.events.samples import (
    ANYTHING,
    CLUSTER,
    EXAMPLES,
    FROM_OUTSIDE,
    WORKLOAD,
    accepted,
    changed,
    compact,
    example,
)

STRUCTURED = (("content-type", b"application/cloudevents+json"),)


def headers_of(type_: str, **others: bytes) -> tuple[tuple[str, bytes], ...]:
    """The headers that carry an example's attributes in binary mode."""
    attributes = {name: text.encode() for name, text in EXAMPLES[type_].items() if name != "data"}
    return tuple((f"ce_{name}", value) for name, value in (attributes | others).items())


@pytest.mark.parametrize(
    ("headers", "mode"),
    [
        ({"content-type": "application/cloudevents+json; charset=UTF-8"}, "structured"),
        ({"content-type": "Application/CloudEvents+JSON"}, "structured"),
        ({"Content-Type": "application/cloudevents+json"}, "structured"),
        ({"content-type": "application/cloudevents+json", "ce_id": "1"}, "structured"),
        ({"content-type": "application/json", "ce_specversion": "1.0", "ce_id": "1"}, "binary"),
        ({"ce_specversion": "1.0", "ce_type": "t", "ce_source": "s", "ce_id": "1"}, "binary"),
        ({"ce_id": "1"}, "binary"),
        ({"CE_ID": "1"}, "binary"),
        ({"content-type": "application/json"}, "not_a_cloudevent"),
        ({}, "not_a_cloudevent"),
        ({"other": "header"}, "not_a_cloudevent"),
        ({"content-type": "application/cloudevents+avro"}, "unsupported_mode"),
        ({"content-type": "application/cloudevents"}, "unsupported_mode"),
        ({"content-type": "application/cloudevents-batch+json"}, "unsupported_mode"),
    ],
)
def test_headers_tell_the_mode(headers: dict[str, str], mode: str) -> None:
    pairs = [(name, value.encode()) for name, value in headers.items()]

    try:
        found: str = envelope.mode(pairs)
    except InvalidEvent as refused:
        found = refused.reason

    assert found == mode


@pytest.mark.parametrize("type_", FROM_OUTSIDE)
@pytest.mark.parametrize("spelled", [compact, lambda data: json.dumps(data, indent=1).encode()])
def test_both_modes_say_the_same(type_: str, spelled: object) -> None:
    assert callable(spelled)
    event = EXAMPLES[type_]

    structured = accept(compact(event), headers=STRUCTURED, families=ANYTHING)
    binary = accept(spelled(event["data"]), headers=headers_of(type_), families=ANYTHING)

    assert isinstance(structured, Accepted)
    assert isinstance(binary, Accepted)
    assert binary._replace(stored=b"") == structured._replace(stored=b"")
    assert decode(binary.stored, revision=1) == decode(structured.stored, revision=1)


def test_binary_mode_is_stored_in_structured_form_with_one_spelling() -> None:
    pretty = json.dumps(EXAMPLES[CLUSTER]["data"], indent=2).encode()
    upside_down = tuple(reversed(headers_of(CLUSTER)))

    verdicts = [
        accept(pretty, headers=headers_of(CLUSTER), families=ANYTHING),
        accept(compact(EXAMPLES[CLUSTER]["data"]), headers=upside_down, families=ANYTHING),
    ]

    assert verdicts[0] == verdicts[1]
    assert isinstance(verdicts[0], Accepted)
    assert verdicts[0].stored == strict_json.canonical(EXAMPLES[CLUSTER])


def test_the_content_type_of_binary_mode_is_kept_as_an_attribute() -> None:
    headers = (*headers_of(CLUSTER), ("content-type", b"application/json"))

    verdict = accept(compact(EXAMPLES[CLUSTER]["data"]), headers=headers, families=ANYTHING)

    assert isinstance(verdict, Accepted)
    assert json.loads(verdict.stored)["datacontenttype"] == "application/json"


def test_a_header_value_is_text_as_it_stands() -> None:
    headers = headers_of(CLUSTER, source=b"/caf%C3%A9/\xc3\xa9")

    verdict = accept(compact(EXAMPLES[CLUSTER]["data"]), headers=headers, families=ANYTHING)

    assert isinstance(verdict, Accepted)
    assert verdict.source == "/caf%C3%A9/é"


def test_the_key_of_a_message_names_its_fleet() -> None:
    raw = compact(example(CLUSTER, fleet=None))
    headers = tuple(pair for pair in headers_of(CLUSTER) if pair[0] != "ce_fleet")

    structured = accept(raw, headers=STRUCTURED, families=ANYTHING, fleet=FleetName("blue"))
    binary = accept(
        compact(EXAMPLES[CLUSTER]["data"]),
        headers=headers,
        families=ANYTHING,
        fleet=FleetName("blue"),
    )

    assert isinstance(structured, Accepted)
    assert isinstance(binary, Accepted)
    assert structured.fleet == binary.fleet == "blue"


@pytest.mark.parametrize(
    ("value", "headers", "reason"),
    [
        (None, (), "not_a_cloudevent"),
        (None, STRUCTURED, "no_data"),
        (None, headers_of(CLUSTER), "no_data"),
        (b"", headers_of(CLUSTER), "not_json"),
        (b"null", headers_of(CLUSTER), "no_data"),
        (b"[]", headers_of(CLUSTER), "wrong_field"),
        (b'{"name":"eu-1","name":"eu-1"}', headers_of(CLUSTER), "duplicate_key"),
        (b'{"name":"eu-1"}', headers_of(CLUSTER)[1:], "missing_attribute"),
        (b'{"name":"eu-1"}', (("ce_id", b"1"),), "missing_attribute"),
        (b'{"name":"eu-1"}', (*headers_of(CLUSTER), ("ce_id", b"1")), "invalid_attribute"),
        (b'{"name":"eu-1"}', (*headers_of(CLUSTER), ("ce_data", b"{}")), "invalid_attribute"),
        (b'{"name":"eu-1"}', headers_of(CLUSTER, source=b"\xff"), "not_utf8"),
        (b'{"name":"eu-1"}', headers_of(CLUSTER, source=b"a\x00"), "invalid_attribute"),
        (b'{"name":"eu-1"}', headers_of(CLUSTER, source=b"a\x7f"), "invalid_attribute"),
        (b'{"name":"eu-1"}', headers_of(CLUSTER, extra=b"x" * 1024 * 1024), "too_large"),
        (
            b'{"name":"eu-1"}',
            (*headers_of(CLUSTER), ("content-type", b"application/avro")),
            "unsupported_mode",
        ),
        (b'{"a":' * 32 + b"1" + b"}" * 32, headers_of(CLUSTER), "too_deep"),
    ],
)
def test_a_message_that_carries_no_good_event_is_refused_by_name(
    value: bytes | None, headers: tuple[tuple[str, bytes], ...], reason: str
) -> None:
    verdict = accept(value, headers=headers, families=ANYTHING)

    assert isinstance(verdict, Rejected)
    assert verdict.reason == reason


def test_a_refusal_in_binary_mode_knows_its_sender_whatever_the_value() -> None:
    verdict = accept(b"\xff", headers=headers_of(CLUSTER), families=ANYTHING)

    assert isinstance(verdict, Rejected)
    assert verdict.reason == "not_utf8"
    assert (verdict.fleet, verdict.id) == ("default", "example-cluster.cluster.upserted.v1")


def test_headers_and_values_cannot_speak_for_each_other() -> None:
    smuggled = b'{"name":"eu-1"},"id":"other"'

    verdict = accept(smuggled, headers=headers_of(CLUSTER), families=ANYTHING)

    assert isinstance(verdict, Rejected)
    assert verdict.reason == "not_json"


def test_a_stored_message_can_be_sent_again() -> None:
    deep: object = 1
    for _ in range(29):
        deep = [deep]
    data = changed(WORKLOAD, surprise=deep)["data"]
    verdict = accept(compact(data), headers=headers_of(WORKLOAD), families=ANYTHING)
    assert isinstance(verdict, Accepted)

    assert accepted(json.loads(verdict.stored)) == verdict
