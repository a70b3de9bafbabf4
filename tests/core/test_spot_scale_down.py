"""Whom a ReplicaSet deletes first, criterion by criterion, and deletion costs."""

from dataclasses import replace
from typing import Any

import pytest

from ledger.core.spot.deletion_cost import DeletionCost, read_deletion_cost
from ledger.core.spot.scale_down import ActivePod, deletion_order, first_difference

PLAIN = ActivePod(assigned=True, phase="Running", ready=True, ready_for=8, age=8)
HOUR = 3600 * 10**9


@pytest.mark.parametrize(
    ("first", "second", "criterion"),
    [
        ({"assigned": False}, {}, "assigned"),
        ({"phase": "Pending"}, {"phase": "Unknown"}, "phase"),
        ({"phase": "Unknown"}, {}, "phase"),
        ({"ready": False, "deletion_cost": 9}, {}, "ready"),
        ({"deletion_cost": -1}, {}, "deletion_cost"),
        ({"same_node_rank": 2}, {"same_node_rank": 1}, "same_node_rank"),
        ({"ready_for": None}, {"ready_for": 0}, "ready_for"),
        ({"ready_for": 0}, {"ready_for": 1}, "ready_for"),
        ({"ready_for": 2 * HOUR}, {"ready_for": 5 * HOUR}, "ready_for"),
        ({"restarts": 3}, {"sidecar_restarts": 9}, "restarts"),
        ({"sidecar_restarts": 1}, {}, "sidecar_restarts"),
        ({"age": None}, {}, "created"),
        ({"age": 7}, {}, "created"),
        ({"uid": "\uffff"}, {"uid": "\U00010000"}, "uid"),
        ({"ready_for": 8 * HOUR, "restarts": 1}, {"ready_for": 5 * HOUR, "uid": ""}, "restarts"),
    ],
)
def test_the_first_difference_decides(
    first: dict[str, Any], second: dict[str, Any], criterion: str
) -> None:
    one, other = replace(PLAIN, **first), replace(PLAIN, **second)

    assert deletion_order([other, one]) == [one, other]
    assert first_difference(one, other) == criterion


def test_how_long_a_pod_was_ready_does_not_matter_once_it_is_not() -> None:
    one = replace(PLAIN, ready=False, ready_for=None)

    assert first_difference(one, replace(one, ready_for=8)) is None


def test_a_pending_on_demand_pod_goes_before_a_ready_spot_pod() -> None:
    on_demand = ActivePod(assigned=True, phase="Pending", ready=False, deletion_cost=1)

    assert deletion_order([PLAIN, on_demand])[0] is on_demand


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, DeletionCost(valid=True, cost=0)),
        ("0", DeletionCost(valid=True, cost=0)),
        ("-0", DeletionCost(valid=True, cost=0)),
        ("-2147483648", DeletionCost(valid=True, cost=-(2**31))),
        ("-2147483649", DeletionCost(valid=False, cost=0)),
        ("00", DeletionCost(valid=False, cost=0)),
        ("1\n", DeletionCost(valid=False, cost=0)),
        (" 1", DeletionCost(valid=False, cost=0)),
        ("-", DeletionCost(valid=False, cost=0)),
        ("--1", DeletionCost(valid=False, cost=0)),
        ("१", DeletionCost(valid=False, cost=0)),
    ],
)
def test_a_cost_is_read_as_kubernetes_reads_it(value: str | None, expected: DeletionCost) -> None:
    assert read_deletion_cost(value) == expected
