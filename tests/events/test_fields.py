"""The data of an event: every way to get a field wrong has a name and a path."""

from typing import Any

import pytest

from ledger.events.codec import decode
from tests.events.samples import (
    CLUSTER,
    NODE,
    POLICY,
    QUEUE,
    QUOTA,
    VOLUME,
    WORKLOAD,
    accepted,
    changed,
    compact,
    example,
    refused,
    with_data,
)

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
        (changed(WORKLOAD, kind="Job", replicas=150_001), "out_of_range", "data"),
        (changed(VOLUME, replicas=1_001), "out_of_range", "data.replicas"),
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
        (
            with_data(POLICY, {"algorithms": {"engine": 99}}),
            "unknown_algorithm",
            "data.algorithms.engine",
        ),
        (
            with_data(POLICY, {"algorithms": {"division": None, "disk": 2, "later": 7}}),
            "unknown_algorithm",
            "data.algorithms.disk",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_field_is_named_by_reason_and_path(
    event: dict[str, Any], reason: str, path: str
) -> None:
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
