"""Attributes, types, fleets and subjects: what the envelope has to say, and what it may not."""

import pytest

from ledger.events.codec import Accepted, Rejected, accept_line
from ledger.units import LEDGER_FLEET, FleetName
from tests.events.samples import (
    ANYTHING,
    CLUSTER,
    EXAMPLES,
    FROM_OUTSIDE,
    OWN,
    POLICY,
    accepted,
    compact,
    example,
    judge,
    refused,
    with_data,
)


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


@pytest.mark.parametrize(
    ("named", "told"), [("_ledger", None), (None, LEDGER_FLEET), ("_ledger", LEDGER_FLEET)]
)
def test_nobody_speaks_in_the_reserved_fleet(named: str | None, told: FleetName | None) -> None:
    verdict = accept_line(compact(example(CLUSTER, fleet=named)), families=ANYTHING, fleet=told)

    assert isinstance(verdict, Rejected)
    assert verdict.reason == "wrong_fleet"
    assert verdict.fleet is None


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
