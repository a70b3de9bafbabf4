"""Webster's method at its borders."""

from fractions import Fraction
from typing import Any

import pytest

from ledger.core.division.webster import apportion, names_descend
from ledger.errors import InvalidRequest
from ledger.units import ClusterName, Replicas, Weight


def weights(**named: int) -> dict[ClusterName, Weight]:
    return {ClusterName(name): Weight(weight) for name, weight in named.items()}


def replicas(**named: int) -> dict[ClusterName, Replicas]:
    return {ClusterName(name): Replicas(count) for name, count in named.items()}


def test_without_a_cluster_nothing_is_given_out() -> None:
    nobody = apportion(Replicas(5), {})

    assert nobody.allocation == {}
    assert nobody.last_served is None
    assert nobody.next_in_line is None


def test_without_replicas_everybody_keeps_what_it_had() -> None:
    result = apportion(Replicas(0), weights(a=3, b=1), initial=replicas(b=7, c=2))

    assert result.allocation == replicas(a=0, b=7, c=2)
    assert result.last_served is None
    assert [party.last_claim for party in result.parties] == [None, None, None]


def test_weights_that_are_all_zero_fill_up_those_who_hold_least() -> None:
    result = apportion(Replicas(4), weights(a=0, b=0), initial=replicas(a=2, c=1))

    assert result.allocation == replicas(a=3, b=2, c=2)


def test_whoever_holds_more_than_its_share_waits_for_the_others() -> None:
    result = apportion(Replicas(6), weights(a=1, b=1, c=1), initial=replicas(a=9))

    assert result.allocation == replicas(a=9, b=3, c=3)


def test_a_share_may_be_missed_by_more_than_one_replica() -> None:
    # Eleven small ones of 3/5 each round up, which a large one pays for.
    result = apportion(Replicas(100), weights(z=934, **{f"a{place}": 6 for place in range(11)}))

    z = result.parties[-1]
    assert z.cluster == "z"
    assert z.replicas == 89
    assert Fraction(100 * 934, 1000) - z.replicas > 4


def test_claims_are_compared_beyond_the_precision_of_floats() -> None:
    # a claims its second replica with n, and b its first with one more or less.
    n = 10**40
    result = apportion(Replicas(1), weights(a=3 * n, b=n + 1), initial=replicas(a=1))

    assert result.allocation == replicas(a=1, b=1)
    assert apportion(
        Replicas(1), weights(a=3 * n + 3, b=n), initial=replicas(a=1)
    ).allocation == replicas(a=2, b=0)


@pytest.mark.parametrize(
    ("uid", "descends"),
    [("", False), ("a", False), ("web-7", True), ("4858ca61-3ff8-4095-8267-f3d059d8074c", False)],
)
def test_one_bit_of_the_uid_says_which_way_names_are_read(uid: str, *, descends: bool) -> None:
    assert names_descend(uid) == descends


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"replicas": -1}, "replicas"),
        ({"weights": {"a": True}}, "weight of a"),
        ({"initial": {"a": 0.5}}, "initial of a"),
    ],
)
def test_a_refusal_names_what_it_refuses(change: dict[str, Any], named: str) -> None:
    question: dict[str, Any] = {"replicas": 1, "weights": {"a": 1}, "initial": {}, **change}

    with pytest.raises(InvalidRequest, match=named) as refused:
        apportion(question["replicas"], question["weights"], initial=question["initial"])

    assert refused.value.code == "invalid_request"
