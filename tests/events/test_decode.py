"""Stored bytes to facts: defaults, order, revisions, versions, and released messages."""

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

import pytest

from ledger.errors import LedgerStopped
from ledger.events.codec import CONTRACT_REVISION, decode, own_event
from ledger.events.contract import Contract, Family, Shape
from ledger.events.contract_values import Count, Name
from ledger.events.registry import REGISTRY, Lift, Registry
from ledger.facts.cluster import ClusterUpserted, InventoryListed, NodeUpserted
from ledger.facts.control import PolicyChanged
from ledger.facts.disk import DiskUpserted, VolumeUpserted
from ledger.facts.event import Fact, MessageReleased
from ledger.facts.own import AdmissionRequested
from ledger.facts.policy import Toleration
from ledger.facts.quota import QuotaUpserted
from ledger.facts.workload import Bounds, DivisionSpec, Request, WorkloadUpserted
from ledger.units import (
    Bytes,
    ClusterName,
    CpuMilli,
    EventType,
    FleetName,
    NodeName,
    Replicas,
    Subject,
    Uid,
    Weight,
)
from tests.events.samples import (
    CLUSTER,
    DISK,
    EXAMPLES,
    NODE,
    POLICY,
    QUOTA,
    VOLUME,
    WORKLOAD,
    accepted,
    changed,
    said,
    with_data,
)


def fact_of(event: object) -> Fact:
    """What an event says, once it was accepted."""
    return decode(accepted(event).stored, revision=CONTRACT_REVISION)


@pytest.mark.parametrize("type_", sorted(EXAMPLES))
def test_every_type_says_something_hashable_and_always_the_same(type_: str) -> None:
    stored = said(type_).stored

    fact = decode(stored, revision=CONTRACT_REVISION)

    assert fact == decode(stored, revision=CONTRACT_REVISION)
    assert hash(fact) == hash(decode(stored, revision=CONTRACT_REVISION))


def test_every_default_is_filled_in() -> None:
    workload = with_data(WORKLOAD, {"namespace": "shop", "name": "cart", "replicas": 3})
    node = with_data(NODE, {"cluster": "eu-1", "name": "n1"})

    assert fact_of(workload) == WorkloadUpserted(
        namespace="shop",
        name="cart",
        uid=Uid("shop/cart"),
        revision=None,
        kind="Deployment",
        replicas=Replicas(3),
        request=Request(CpuMilli(0), cpu_bind=False, memory=Bytes(0), storage=Bytes(0), volumes=()),
        division=None,
        cluster=None,
        deploy=None,
        min_available=None,
        queue=None,
        priority=0,
        gang_min=1,
        preemptable=False,
    )
    assert fact_of(node) == NodeUpserted(
        cluster=ClusterName("eu-1"),
        name=NodeName("n1"),
        uid=Uid("eu-1/n1"),
        revision=None,
        region="",
        zone="",
        labels=(),
        ready=True,
        schedulable=True,
        cores=(),
        cpu=None,
        share_base=100,
        memory=Bytes(0),
        numa=(),
        numa_memory=(),
        volumes=(),
        storage=Bytes(0),
        pods=None,
    )


def test_null_is_absent_at_any_depth() -> None:
    plain = with_data(
        WORKLOAD, {"namespace": "shop", "name": "cart", "replicas": 3, "division": {}}
    )
    nulls = with_data(
        WORKLOAD,
        {
            "namespace": "shop",
            "name": "cart",
            "replicas": 3,
            "kind": None,
            "request": None,
            "division": {"strategy": None, "weights": None, "caps": {"eu-1": None}, "spread": None},
            "priority": None,
        },
    )

    assert fact_of(nulls) == fact_of(plain)


def test_maps_are_sorted_and_lists_of_names_are_sets() -> None:
    division = {"weights": {"b": 1, "a": 2}, "clusters": ["b", "a", "b"], "caps": {"z": 1, "b": 0}}

    fact = fact_of(changed(WORKLOAD, division=division | {"spread": {"region": [None, 2]}}))

    assert isinstance(fact, WorkloadUpserted)
    assert fact.division == DivisionSpec(
        strategy="static",
        weights=((ClusterName("a"), Weight(2)), (ClusterName("b"), Weight(1))),
        clusters=(ClusterName("a"), ClusterName("b")),
        cluster_selector=(),
        caps=((ClusterName("b"), Replicas(0)), (ClusterName("z"), Replicas(1))),
        spread_clusters=None,
        spread_regions=Bounds(0, 2),
    )


def test_quantities_become_whole_numbers() -> None:
    fact = fact_of(changed(NODE, cores=..., cpu="3.5", memory="1Gi", volumes={"/dev/sdb": 5}))

    assert isinstance(fact, NodeUpserted)
    assert (fact.cpu, fact.memory, fact.volumes) == (3_500, 2**30, (("/dev/sdb", 5),))


@pytest.mark.parametrize("alpha", ["1/2", "2/4", [1, 2]])
def test_a_ratio_has_several_spellings_and_one_meaning(alpha: object) -> None:
    fact = fact_of(changed(VOLUME, alpha=alpha))

    assert isinstance(fact, VolumeUpserted)
    assert fact.alpha == Fraction(1, 2)


@pytest.mark.parametrize(
    ("told", "weight", "invalid"),
    [
        (..., None, None),
        (3, 3, None),
        ("3", 3, None),
        ("03", 3, None),
        (0, None, "0"),
        (-2, None, "-2"),
        ("-2", None, "-2"),
        ("2.5", None, "2.5"),
        ("lots", None, "lots"),
        ("٣", None, r"\u0663"),
        ("a\x00", None, r"a\x00"),
        (True, None, "true"),
        (2**63, None, "9223372036854775808"),
    ],
)
def test_a_namespace_weight_that_is_none_is_reported(
    told: object, weight: int | None, invalid: str | None
) -> None:
    hard = {"pods": "5"} if told is ... else {"pods": "5", "volcano.sh/namespace.weight": told}

    fact = fact_of(changed(QUOTA, hard=hard))

    assert isinstance(fact, QuotaUpserted)
    assert (fact.hard, fact.weight, fact.invalid_weight) == ((("pods", 5),), weight, invalid)


def test_an_inventory_is_a_sorted_set_with_a_moment() -> None:
    type_ = "ledger.cluster.inventory.listed.v1"

    told = fact_of(changed(type_, keys=["eu-1/b", "eu-1/a", "eu-1/b"], through=7))
    spelled = fact_of(changed(type_, through="1970-01-01T00:00:00.000007Z"))

    assert isinstance(told, InventoryListed)
    assert isinstance(spelled, InventoryListed)
    assert told.keys == ("eu-1/a", "eu-1/b")
    assert told.through == spelled.through == 7


def test_a_disk_of_an_unnamed_cluster_has_an_implied_uid() -> None:
    disk = {"node": "n", "disk": "d", "maximum": 5, "available": 5}

    fact = fact_of(with_data(DISK, disk, subject="n/d"))

    assert isinstance(fact, DiskUpserted)
    assert (fact.cluster, fact.uid) == ("", "n/d")


@pytest.mark.parametrize(
    ("told", "reserved"),
    [
        ({}, 0),
        ({"default": False}, 0),
        ({"default": True}, None),
        ({"default": True, "reserved": None}, None),
        ({"default": True, "reserved": 0}, 0),
        ({"reserved": 2}, 2),
    ],
)
def test_what_is_reserved_of_a_default_disk_is_left_to_the_policy(
    told: dict[str, object], reserved: int | None
) -> None:
    disk = {"node": "n", "disk": "d", "maximum": 5, "available": 5, **told}

    fact = fact_of(with_data(DISK, disk, subject="n/d"))

    assert isinstance(fact, DiskUpserted)
    assert fact.reserved == reserved


def test_a_policy_tells_absent_from_null() -> None:
    fact = fact_of(
        with_data(
            POLICY,
            {
                "division": {"kappa": None},
                "grace": None,
                "fairshare": {
                    "voters": {"reclaim": []},
                    "history": {"decay": [1, 2], "past_weight": None},
                },
                "spot": {"tolerations": [{"key": "spot", "operator": None}]},
                "hold": False,
                "salt": "sea",
            },
        )
    )

    assert fact == PolicyChanged(
        change=(
            ("division.kappa", None),
            ("fairshare.history.decay", Fraction(1, 2)),
            ("fairshare.history.past_weight", None),
            ("fairshare.voters.reclaim", ()),
            ("grace", None),
            ("hold", False),
            ("spot.tolerations", (Toleration(key="spot"),)),
        ),
        salt="sea",
    )


def test_what_an_admission_needs_of_its_pod_is_canonical_text() -> None:
    fact = decode(said("ledger.workload.admission.requested.v1").stored, revision=1)

    assert isinstance(fact, AdmissionRequested)
    assert fact.pod == '{"labels":{"app":"cart"}}'


def test_a_released_message_says_what_it_holds() -> None:
    held = accepted(changed(WORKLOAD, division={"clusters": None}))
    release = own_event(
        type=EventType("ledger.quarantine.message.released.v1"),
        source="ledger/quarantine",
        id="release/4",
        subject=Subject("ledger.workload/0@3"),
        fleet=FleetName("default"),
        data={"address": "ledger.workload/0@3", "event": json.loads(held.stored)},
    )

    fact = decode(release.stored, revision=1)

    said_there = decode(held.stored, revision=1)
    assert isinstance(said_there, WorkloadUpserted)
    assert fact == MessageReleased(
        address="ledger.workload/0@3",
        source=held.source,
        id=held.id,
        type=held.type,
        subject=held.subject,
        fact=said_there,
    )


class Crate(Shape):
    """A part of the toys below."""

    size: Count = 0
    colour: Name = "red"


class ToyV1(Contract):
    """A toy."""

    event_type: ClassVar = EventType("ledger.cluster.toy.upserted.v1")
    family: ClassVar[Family] = "cluster"
    key_fields: ClassVar[tuple[str, ...]] = ("name",)
    newer_fields: ClassVar[Mapping[str, int]] = {"wheels": 2, "crate.colour": 3, "crate.missing": 9}

    name: Name
    wheels: Count = 4
    crate: Crate | None = None

    def fact(self) -> Fact:
        colour = None if self.crate is None else self.crate.colour
        return _toy(self.name, f"{self.wheels} {colour}")


class ToyV3(Contract):
    """A toy, two versions later."""

    event_type: ClassVar = EventType("ledger.cluster.toy.upserted.v3")
    family: ClassVar[Family] = "cluster"
    key_fields: ClassVar[tuple[str, ...]] = ("name",)

    name: Name
    legs: Count

    def fact(self) -> Fact:
        return _toy(self.name, f"{self.legs} legs")


class ToyV2(ToyV3):
    """A toy, one version later."""

    event_type: ClassVar = EventType("ledger.cluster.toy.upserted.v2")


def _toy(name: str, region: str) -> ClusterUpserted:
    return ClusterUpserted(ClusterName(name), Uid(name), None, region, "", (), ready=True)


def _v1_to_v2(data: dict[str, Any]) -> dict[str, Any]:
    return {"name": data["name"], "legs": data.get("wheels", 4)}


def _v2_to_v3(data: dict[str, Any]) -> dict[str, Any]:
    return data | {"legs": data["legs"] * 10}


def test_a_field_unknown_at_acceptance_means_nothing_for_ever() -> None:
    registry = Registry([ToyV1], {})
    data = {"name": "car", "wheels": 3, "crate": {"size": 1, "colour": "blue"}}

    def read_at(revision: int) -> dict[str, Any]:
        return registry.lifted(ToyV1.event_type, data, revision=revision)[1]

    assert read_at(1) == {"name": "car", "crate": {"size": 1}}
    assert read_at(2) == {"name": "car", "wheels": 3, "crate": {"size": 1}}
    assert read_at(3) == data
    assert data["wheels"] == 3


def test_old_versions_are_lifted_step_by_step() -> None:
    registry = Registry(
        [ToyV1, ToyV2, ToyV3],
        {
            ToyV1.event_type: Lift(ToyV2.event_type, _v1_to_v2),
            ToyV2.event_type: Lift(ToyV3.event_type, _v2_to_v3),
        },
    )
    old, newer = {"name": "car", "wheels": 3}, {"name": "car", "legs": 3}

    assert registry.lifted(ToyV1.event_type, old, revision=9) == (
        ToyV3,
        {"name": "car", "legs": 30},
    )
    assert registry.lifted(ToyV2.event_type, newer, revision=9) == (
        ToyV3,
        {"name": "car", "legs": 30},
    )
    assert registry.lifted(ToyV3.event_type, newer, revision=9) == (ToyV3, newer)
    assert old == {"name": "car", "wheels": 3}


def test_a_log_newer_than_the_program_stops_it() -> None:
    stored = accepted(EXAMPLES[CLUSTER]).stored

    with pytest.raises(LedgerStopped, match="contract revision 2"):
        decode(stored, revision=CONTRACT_REVISION + 1)
    with pytest.raises(LedgerStopped, match=r"upserted\.v9"):
        decode(stored.replace(b"upserted.v1", b"upserted.v9"), revision=CONTRACT_REVISION)


def test_every_type_there_is_has_an_example() -> None:
    assert set(EXAMPLES) == set(REGISTRY.contracts)
