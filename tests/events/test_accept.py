"""What an accepted event carries, and what is known of a refused one."""

import hashlib
import json

import pytest

from ledger.errors import InvalidEvent
from ledger.events.codec import Accepted, Rejected, accept_line, own_event
from ledger.units import EventType, FleetName, Microseconds, Subject
from tests.events.samples import (
    ANYTHING,
    CLUSTER,
    EXAMPLES,
    FROM_OUTSIDE,
    POLICY,
    WORKLOAD,
    accepted,
    changed,
    compact,
    example,
    judge,
    with_data,
)


@pytest.mark.parametrize("type_", FROM_OUTSIDE)
def test_every_example_is_accepted_however_it_is_spelled(type_: str) -> None:
    event = EXAMPLES[type_]
    upside_down = dict(reversed(event.items()))

    spellings = [
        compact(event),
        json.dumps(event).encode(),
        json.dumps(event, indent=4, ensure_ascii=True).encode(),
        compact(upside_down),
    ]

    verdicts = [accept_line(raw, families=ANYTHING) for raw in spellings]
    assert all(isinstance(verdict, Accepted) for verdict in verdicts)
    assert [verdict.stored for verdict in verdicts if isinstance(verdict, Accepted)] == spellings
    assert (
        len({verdict._replace(stored=b"") for verdict in verdicts if isinstance(verdict, Accepted)})
        == 1
    )


def test_an_accepted_event_has_its_attributes_and_the_received_bytes() -> None:
    raw = compact(example(WORKLOAD, fleet="blue", time="2026-01-05T08:00:00.1234567Z"))

    verdict = accept_line(raw, families=frozenset({"workload"}))

    assert isinstance(verdict, Accepted)
    assert verdict.fleet == "blue"
    assert verdict.source == "/clusters/eu-1/agent"
    assert verdict.id == "example-workload.workload.upserted.v1"
    assert verdict.type == WORKLOAD
    assert verdict.subject == "shop/cart"
    assert verdict.time == 1_767_600_000_123_456
    assert verdict.stored == raw
    assert verdict.salt is None


def test_identity_and_digest_are_hashes_of_canonical_json() -> None:
    event = with_data(CLUSTER, {"zone": "z", "name": "eu-1"}, id="7", source="/é")

    verdict = accepted(event)

    identity = '["/é","7"]'.encode()
    digest = b'["ledger.cluster.cluster.upserted.v1","eu-1",{"name":"eu-1","zone":"z"}]'
    assert verdict.identity == hashlib.sha256(identity).digest()[:16]
    assert verdict.digest == hashlib.sha256(digest).digest()


def test_the_digest_covers_what_is_said_and_not_who_when_and_where() -> None:
    event = accepted(example(WORKLOAD))

    elsewhere = accepted(
        example(WORKLOAD, id="other", source="/other", time=None, fleet="other", dataschema="urn:x")
    )
    otherwise = accepted(changed(WORKLOAD, replicas=13))

    assert elsewhere.digest == event.digest
    assert elsewhere.identity != event.identity
    assert otherwise.digest != event.digest
    assert otherwise.identity == event.identity


def test_only_a_policy_carries_a_salt() -> None:
    assert accepted(with_data(POLICY, {"salt": "sea"})).salt == "sea"
    assert accepted(with_data(POLICY, {"hold": True})).salt is None
    assert accepted(with_data(POLICY, {"salt": None})).salt is None
    assert accepted(changed(CLUSTER, salt="sea")).salt is None


def test_a_refusal_says_of_its_sender_what_can_be_believed() -> None:
    event = changed(WORKLOAD, replicas=-1) | {"source": "a\x00b", "subject": 7}

    verdict = judge(event)

    assert isinstance(verdict, Rejected)
    assert verdict.fleet == "default"
    assert verdict.source is None
    assert verdict.subject is None
    assert verdict.type == WORKLOAD


def test_an_own_event_is_canonical_and_carries_its_time() -> None:
    event = own_event(
        type=EventType("ledger.time.time.passed.v1"),
        source="ledger/time",
        id="0/5",
        subject=Subject("blue"),
        fleet=FleetName("blue"),
        data={"now": 5},
        time=Microseconds(5),
    )

    assert event.stored == (
        b'{"data":{"now":5},"fleet":"blue","id":"0/5","source":"ledger/time","specversion":"1.0",'
        b'"subject":"blue","time":"1970-01-01T00:00:00.000005Z","type":"ledger.time.time.passed.v1"}'
    )
    assert event.time == 5
    assert event.fleet == "blue"


def test_an_own_event_has_to_fit_its_contract_too() -> None:
    with pytest.raises(InvalidEvent, match=r"missing_field: data\.now"):
        own_event(
            type=EventType("ledger.time.time.passed.v1"),
            source="ledger/time",
            id="0/5",
            subject=Subject("blue"),
            fleet=FleetName("blue"),
            data={},
        )


def test_the_ledger_does_not_put_words_into_the_mouths_of_producers() -> None:
    event = EXAMPLES[CLUSTER]

    with pytest.raises(AssertionError):
        own_event(
            **{name: event[name] for name in ("type", "source", "id", "subject", "fleet", "data")}
        )
