"""What may enter the log, and the name of every reason why something may not."""

import hashlib
import json
from typing import Any

import pytest

from ledger.errors import InvalidEvent
from ledger.events import strict_json
from ledger.events.codec import Accepted, Rejected, accept_line, decode, own_event
from ledger.units import LEDGER_FLEET, EventType, FleetName, Microseconds, Subject
from tests.events.samples import (
    ANYTHING,
    CLUSTER,
    EXAMPLES,
    FROM_OUTSIDE,
    NODE,
    OWN,
    POLICY,
    QUEUE,
    QUOTA,
    VOLUME,
    WORKLOAD,
    accepted,
    changed,
    compact,
    example,
    judge,
    refused,
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


# What is no event at all


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "not_json"),
        (b"{", "not_json"),
        (b"{}}", "not_json"),
        (b"{'id':1}", "not_json"),
        (b'\xef\xbb\xbf{"id":"1"}', "not_json"),
        (b'{"id":"a\nb"}', "not_json"),
        (b'{"id":01}', "not_json"),
        (b'{"id":"\xff"}', "not_utf8"),
        (b'{"id":"\xed\xa0\x80"}', "not_utf8"),
        (rb'{"id":"\ud800"}', "not_utf8"),
        (rb'{"\udfff":1}', "not_utf8"),
        (b'{"id":"1","id":"1"}', "duplicate_key"),
        (b'{"data":{"a":{"b":1,"c":2,"b":3}}}', "duplicate_key"),
        (rb'{"id":"1","\u0069d":"1"}', "duplicate_key"),
        (b'{"id":NaN}', "not_a_number"),
        (b'{"id":-Infinity}', "not_a_number"),
        (b'{"id":1e999}', "out_of_range"),
        (b'{"id":18446744073709551616}', "out_of_range"),
        (b'{"id":-9223372036854775809}', "out_of_range"),
        (b'{"id":' + b"9" * 10_000 + b"}", "out_of_range"),
        (b"[" * 33, "too_deep"),
        (b'{"a":' * 33 + b"1" + b"}" * 33, "too_deep"),
        (b"[" * 500_000, "too_deep"),
        (b'"' + b'\\"' * 500_000, "not_json"),
        (b'{"id":"' + b"x" * strict_json.LARGEST_DOCUMENT + b'"}', "too_large"),
        (b"[]", "not_a_cloudevent"),
        (b"[" * 32 + b"]" * 32, "not_a_cloudevent"),
        (b'"text"', "not_a_cloudevent"),
        (b"null", "not_a_cloudevent"),
        (b"1", "not_a_cloudevent"),
        (b"{}", "not_a_cloudevent"),
        (b'{"name":"eu-1"}', "not_a_cloudevent"),
    ],
)
def test_bytes_that_are_no_event_are_refused_by_name(raw: bytes, reason: str) -> None:
    verdict = accept_line(raw, families=ANYTHING)

    assert isinstance(verdict, Rejected)
    assert verdict.reason == reason
    assert verdict.detail.isascii()
    assert verdict.detail.isprintable()
    assert len(verdict.detail) < 500


def test_the_deepest_document_that_is_read_is_32_deep() -> None:
    event = example(CLUSTER)
    deep: object = 1
    for _ in range(30):
        deep = [deep]

    event["data"]["unknown"] = deep
    assert isinstance(judge(event), Accepted)

    event["data"]["unknown"] = [deep]
    assert refused(event)[0] == "too_deep"


# The envelope


@pytest.mark.parametrize("attribute", ["specversion", "id", "source", "type", "subject", "fleet"])
def test_a_missing_attribute_is_named(attribute: str) -> None:
    assert refused(example(CLUSTER, **{attribute: None})) == (
        "missing_attribute",
        f"{attribute}: it is required",
    )


@pytest.mark.parametrize("attribute", ["id", "source", "type", "subject", "fleet", "time"])
@pytest.mark.parametrize(
    "value", ["", 7, 1.5, True, ["x"], {}, "a\x07b", "a\x85b", "x" * 1025, "é" * 513]
)
def test_an_attribute_that_is_no_usable_text_is_named(attribute: str, value: object) -> None:
    reason, detail = refused(example(CLUSTER, **{attribute: value}))

    assert reason == "invalid_attribute"
    assert detail.startswith(f"{attribute}: ")


@pytest.mark.parametrize("value", ["0.3", "1", "1.0.0", 1.0, 1])
def test_only_cloudevents_1_0_is_read(value: object) -> None:
    assert refused(example(CLUSTER, specversion=value))[0] == "invalid_attribute"


@pytest.mark.parametrize(
    "time",
    [
        "2026-01-05",
        "2026-01-05 08:00:00Z",
        "2026-01-05T08:00:00",
        "20260105T080000Z",
        "2026-02-30T08:00:00Z",
        "2026-01-05T24:00:00Z",
        "2026-01-05T08:00:00,5Z",
        "2026-01-05T08:00:00+24:00",
        "0000-01-05T08:00:00Z",
        "٢٠٢٦-01-05T08:00:00Z",
    ],
)
def test_a_time_that_is_not_rfc_3339_is_refused(time: str) -> None:
    reason, detail = refused(example(CLUSTER, time=time))

    assert reason == "invalid_attribute"
    assert detail.startswith("time: ")


def test_an_event_needs_no_time() -> None:
    assert accepted(example(CLUSTER, time=None)).time is None


def test_an_attribute_that_is_null_is_absent() -> None:
    event = example(CLUSTER) | {"time": None, "dataschema": None, "datacontenttype": None}

    assert accepted(event) == accepted(example(CLUSTER, time=None))._replace(stored=compact(event))


def test_extension_attributes_mean_nothing() -> None:
    event = example(CLUSTER) | {"traceparent": "00-1-2-01", "sequence": 7, "sampled": True}

    assert accepted(event)._replace(stored=b"") == accepted(example(CLUSTER))._replace(stored=b"")


@pytest.mark.parametrize("attribute", ["datacontenttype", "dataschema"])
def test_known_attributes_are_texts(attribute: str) -> None:
    assert refused(example(CLUSTER, **{attribute: 1e3}))[0] == "invalid_attribute"
    assert isinstance(judge(example(CLUSTER, **{attribute: "application/json"})), Accepted)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (None, "no_data"),
        ([], "wrong_field"),
        ("{}", "wrong_field"),
        (7, "wrong_field"),
        (False, "wrong_field"),
    ],
)
def test_data_is_an_object(data: object, reason: str) -> None:
    assert refused(example(CLUSTER) | {"data": data})[0] == reason


def test_data_in_base64_is_refused() -> None:
    event = example(CLUSTER, data=None, data_base64="e30=")

    reason, detail = refused(event)

    assert reason == "invalid_attribute"
    assert detail.startswith("data_base64: ")


# Types and families


@pytest.mark.parametrize(
    ("type_", "reason"),
    [
        ("com.example.something", "unknown_type"),
        ("ledger.cluster.cluster.upserted", "unknown_type"),
        ("ledger.cluster.cluster.exploded.v1", "unknown_type"),
        ("LEDGER.cluster.cluster.upserted.v1", "unknown_type"),
        ("ledger.cluster.cluster.upserted.v2", "unknown_version"),
        ("ledger.cluster.cluster.upserted.v0", "unknown_version"),
        ("ledger.cluster.cluster.upserted.v1beta1", "unknown_type"),
        ("ledger.time.time.passed.v9", "unknown_version"),
    ],
)
def test_unknown_types_and_versions_are_told_apart(type_: str, reason: str) -> None:
    assert refused(example(CLUSTER, type=type_))[0] == reason


@pytest.mark.parametrize("type_", OWN)
def test_what_only_the_ledger_may_say_is_refused_from_outside(type_: str) -> None:
    reason, _ = refused(example(type_, fleet="default"))

    assert reason == "reserved_type"


@pytest.mark.parametrize("type_", FROM_OUTSIDE)
def test_a_topic_takes_its_own_family_only(type_: str) -> None:
    raw = compact(EXAMPLES[type_])
    family = type_.split(".")[1].replace("policy", "control").replace("proposal", "control")

    elsewhere = accept_line(raw, families=frozenset(ANYTHING - {family}))

    assert isinstance(accept_line(raw, families=ANYTHING & {family}), Accepted)
    assert isinstance(elsewhere, Rejected)
    assert elsewhere.reason == "wrong_topic"
    assert elsewhere.fleet == "default"


# Fleets


def test_the_fleet_may_come_from_the_surroundings() -> None:
    raw = compact(example(CLUSTER, fleet=None))

    verdict = accept_line(raw, families=ANYTHING, fleet=FleetName("blue"))

    assert isinstance(verdict, Accepted)
    assert verdict.fleet == "blue"


def test_event_and_surroundings_may_not_disagree() -> None:
    raw = compact(example(CLUSTER, fleet="red"))

    verdict = accept_line(raw, families=ANYTHING, fleet=FleetName("blue"))

    assert isinstance(verdict, Rejected)
    assert verdict.reason == "wrong_fleet"
    assert verdict.fleet is None


@pytest.mark.parametrize("fleet", ["Blue", "a.b", "-a", "a-", "a" * 64, "blue ", "_blue", "bläu"])
def test_a_fleet_is_a_dns_label(fleet: str) -> None:
    verdict = judge(example(CLUSTER, fleet=fleet))

    assert isinstance(verdict, Rejected)
    assert verdict.reason == "invalid_attribute"
    assert verdict.fleet is None


@pytest.mark.parametrize("told", [None, LEDGER_FLEET])
@pytest.mark.parametrize("named", [None, "_ledger"])
def test_nobody_speaks_in_the_reserved_fleet(named: str | None, told: FleetName | None) -> None:
    if named is None and told is None:
        pytest.skip("that is a missing attribute")

    verdict = accept_line(compact(example(CLUSTER, fleet=named)), families=ANYTHING, fleet=told)

    assert isinstance(verdict, Rejected)
    assert verdict.reason == "wrong_fleet"
    assert verdict.fleet is None


# Subjects


@pytest.mark.parametrize("type_", FROM_OUTSIDE)
def test_a_subject_other_than_the_key_of_the_data_is_refused(type_: str) -> None:
    assert refused(example(type_, subject="somebody/else"))[0] == "subject_mismatch"


def test_the_subject_of_a_policy_is_the_fleet() -> None:
    assert accepted(example(POLICY, fleet="blue", subject="blue")).fleet == "blue"
    assert refused(example(POLICY, fleet="blue", subject="default"))[0] == "subject_mismatch"


def test_a_disk_without_a_cluster_is_named_by_its_node() -> None:
    type_ = "ledger.disk.disk.removed.v1"

    for data in ({"node": "n", "disk": "d"}, {"cluster": "", "node": "n", "disk": "d"}):
        assert accepted(with_data(type_, data, subject="n/d")).subject == "n/d"
        assert refused(with_data(type_, data, subject="/n/d"))[0] == "subject_mismatch"


# Fields


REQUIRED = [
    (CLUSTER, "name"),
    (NODE, "cluster"),
    (NODE, "name"),
    (WORKLOAD, "namespace"),
    (WORKLOAD, "name"),
    (WORKLOAD, "replicas"),
    (QUEUE, "name"),
    (QUOTA, "namespace"),
    (VOLUME, "size"),
    (VOLUME, "replicas"),
]


@pytest.mark.parametrize(("type_", "field"), REQUIRED)
@pytest.mark.parametrize("how", [..., None])
def test_a_missing_field_is_named_by_its_path(type_: str, field: str, how: object) -> None:
    assert refused(changed(type_, **{field: how})) == (
        "missing_field",
        f"data.{field}: it is required",
    )


@pytest.mark.parametrize(
    ("event", "reason", "path"),
    [
        (changed(WORKLOAD, replicas="3"), "wrong_field", "data.replicas"),
        (changed(WORKLOAD, replicas=True), "wrong_field", "data.replicas"),
        (changed(WORKLOAD, replicas=[3]), "wrong_field", "data.replicas"),
        (changed(WORKLOAD, replicas=-1), "negative_quantity", "data.replicas"),
        (changed(WORKLOAD, replicas=1.0), "not_whole", "data.replicas"),
        (changed(WORKLOAD, replicas=2**31), "out_of_range", "data.replicas"),
        (changed(WORKLOAD, priority=-(2**31) - 1), "out_of_range", "data.priority"),
        (changed(WORKLOAD, kind="DaemonSet"), "wrong_field", "data.kind"),
        (changed(WORKLOAD, preemptable=1), "wrong_field", "data.preemptable"),
        (changed(WORKLOAD, preemptable="true"), "wrong_field", "data.preemptable"),
        (changed(WORKLOAD, min_available=2), "wrong_field", "data.min_available"),
        (changed(WORKLOAD, name=""), "wrong_field", "data.name"),
        (changed(WORKLOAD, name="a/b"), "wrong_field", "data.name"),
        (changed(WORKLOAD, name="a@b"), "wrong_field", "data.name"),
        (changed(WORKLOAD, name="a\x00"), "wrong_field", "data.name"),
        (changed(WORKLOAD, name="a" * 254), "out_of_range", "data.name"),
        (changed(WORKLOAD, request=7), "wrong_field", "data.request"),
        (changed(WORKLOAD, request={"cpu": "1.0005"}), "not_whole", "data.request.cpu"),
        (changed(WORKLOAD, request={"cpu": 0.5}), "not_whole", "data.request.cpu"),
        (changed(WORKLOAD, request={"cpu": True}), "wrong_field", "data.request.cpu"),
        (changed(WORKLOAD, request={"cpu": "-1"}), "negative_quantity", "data.request.cpu"),
        (changed(WORKLOAD, request={"memory": "1500m"}), "not_whole", "data.request.memory"),
        (changed(WORKLOAD, request={"memory": "8E"}), "wrong_field", "none"),
        (changed(WORKLOAD, request={"memory": "16E"}), "out_of_range", "data.request.memory"),
        (changed(WORKLOAD, request={"memory": "lots"}), "wrong_field", "data.request.memory"),
        (changed(WORKLOAD, request={"volumes": "a:b"}), "wrong_field", "data.request.volumes"),
        (
            changed(WORKLOAD, division={"strategy": "STATIC"}),
            "wrong_field",
            "data.division.strategy",
        ),
        (
            changed(WORKLOAD, division={"weights": {"eu-1": -1}}),
            "negative_quantity",
            "data.division.weights.eu-1",
        ),
        (
            changed(WORKLOAD, division={"weights": {"eu-1": 0.5}}),
            "not_whole",
            "data.division.weights.eu-1",
        ),
        (
            changed(WORKLOAD, division={"weights": {"eu-1": 2**63}}),
            "out_of_range",
            "data.division.weights.eu-1",
        ),
        (changed(WORKLOAD, division={"weights": ["eu-1"]}), "wrong_field", "data.division.weights"),
        (
            changed(WORKLOAD, division={"clusters": [None]}),
            "wrong_field",
            "data.division.clusters.0",
        ),
        (
            changed(WORKLOAD, division={"spread": {"cluster": [3, 2]}}),
            "wrong_field",
            "data.division.spread",
        ),
        (
            changed(WORKLOAD, division={"spread": {"cluster": []}}),
            "wrong_field",
            "data.division.spread.cluster",
        ),
        (
            changed(WORKLOAD, division={"spread": {"cluster": [1, 2, 3]}}),
            "out_of_range",
            "data.division.spread.cluster",
        ),
        (
            changed(WORKLOAD, division={"clusters": ["c"] * 10_001}),
            "out_of_range",
            "data.division.clusters",
        ),
        (changed(WORKLOAD, deploy={"max_share": -2}), "out_of_range", "data.deploy.max_share"),
        (
            changed(WORKLOAD, deploy={"nodes_limit": -1}),
            "negative_quantity",
            "data.deploy.nodes_limit",
        ),
        (changed(NODE, cpu="4"), "wrong_field", "data"),
        (changed(NODE, share_base=0), "out_of_range", "data.share_base"),
        (changed(NODE, labels={"": "x"}), "wrong_field", "data.labels"),
        (changed(NODE, labels={"x": 1}), "wrong_field", "data.labels.x"),
        (changed(NODE, numa_memory={"0": "-1Gi"}), "negative_quantity", "data.numa_memory.0"),
        (changed(QUEUE, weight=0), "out_of_range", "data.weight"),
        (changed(QUEUE, weight=-1), "negative_quantity", "data.weight"),
        (changed(QUEUE, guarantee={"cpu": "41"}), "out_of_range", "data"),
        (changed(QUEUE, capability={"cpu": 1.5}), "not_whole", "data.capability"),
        (changed(QUEUE, capability=[]), "wrong_field", "data.capability"),
        (changed(QUOTA, hard={"pods": "0.5"}), "not_whole", "data.hard"),
        (changed(QUOTA, hard={"volcano.sh/namespace.weight": 2.5}), "not_whole", "data.hard"),
        (changed(VOLUME, alpha="3/2"), "out_of_range", "data.alpha"),
        (changed(VOLUME, alpha=0.5), "not_whole", "data.alpha"),
        (changed(VOLUME, alpha="1/0"), "wrong_field", "data.alpha"),
        (changed(VOLUME, alpha="-1/2"), "negative_quantity", "data.alpha"),
        (changed(VOLUME, alpha=[1, 2, 3]), "wrong_field", "data.alpha"),
        (with_data(POLICY, {"round": {"max_events": 0}}), "out_of_range", "data.round.max_events"),
        (
            with_data(POLICY, {"fairshare": {"history": {"decay": 0}}}),
            "out_of_range",
            "data.fairshare.history.decay",
        ),
        (with_data(POLICY, {"hold": "yes"}), "wrong_field", "data.hold"),
        (
            with_data(POLICY, {"algorithms": {"engine": 0}}),
            "out_of_range",
            "data.algorithms.engine",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_field_is_named_by_reason_and_path(
    event: dict[str, Any], reason: str, path: str
) -> None:
    if path == "none":
        assert isinstance(judge(event), Accepted)
        return

    found, detail = refused(event)

    assert found == reason
    assert detail.startswith(path), detail


def test_an_inventory_of_bare_names_is_refused() -> None:
    type_ = "ledger.cluster.inventory.listed.v1"

    reason, detail = refused(changed(type_, keys=["eu-1/n1", "n2"]))

    assert reason == "wrong_field"
    assert "n2" in detail


def test_unknown_fields_mean_nothing_even_floats() -> None:
    event = changed(WORKLOAD, surprise={"ratio": 0.25, "list": [1.5, None]})
    event["data"]["request"]["gpu"] = 1.5

    verdict = accepted(event)

    assert decode(verdict.stored, revision=1) == decode(compact(example(WORKLOAD)), revision=1)
    assert verdict.digest != accepted(example(WORKLOAD)).digest


def test_keys_may_not_be_twice_in_unknown_fields_either() -> None:
    raw = compact(changed(WORKLOAD, surprise=0)).replace(
        b'"surprise":0', b'"surprise":{"a":1e5,"a":1}'
    )

    verdict = accept_line(raw, families=ANYTHING)

    assert isinstance(verdict, Rejected)
    assert verdict.reason == "duplicate_key"


def test_a_repeated_key_is_found_in_the_shortest_spelling_too() -> None:
    raw = compact(example(WORKLOAD)).replace(b'"replicas":12', b'"replicas":11,"replicas":12')

    verdict = accept_line(raw, families=ANYTHING)

    assert isinstance(verdict, Rejected)
    assert verdict.reason == "duplicate_key"
    assert verdict.id == "example-workload.workload.upserted.v1"
    assert verdict.fleet == "default"


def test_a_refusal_says_of_its_sender_what_can_be_believed() -> None:
    event = changed(WORKLOAD, replicas=-1) | {"source": "a\x00b", "subject": 7}

    verdict = judge(event)

    assert isinstance(verdict, Rejected)
    assert verdict.fleet == "default"
    assert verdict.source is None
    assert verdict.subject is None
    assert verdict.type == WORKLOAD


# What the ledger itself says


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
