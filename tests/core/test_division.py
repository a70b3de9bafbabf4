"""Division at its borders: what the vectors and laws do not spell out."""

from fractions import Fraction
from typing import Any

import pytest

from ledger.core.division.shortage import Shortage
from ledger.core.division.static_weight import Division, Last, Request, divide
from ledger.core.lot import Lot
from ledger.errors import InvalidRequest
from ledger.units import ClusterName, Replicas, Weight

LOT = Lot("salt", "workload", 0)


def weights(**named: int) -> dict[ClusterName, Weight]:
    return {ClusterName(name): Weight(weight) for name, weight in named.items()}


def replicas(**named: int) -> dict[ClusterName, Replicas]:
    return {ClusterName(name): Replicas(count) for name, count in named.items()}


def divided(request: Request, last: Last | None = None) -> Division:
    division = divide(request, last=last, lot=LOT)
    assert isinstance(division, Division)
    return division


def test_a_shortage_says_what_was_wanted_and_what_there_is() -> None:
    request = Request(Replicas(10), weights(a=1, b=2, c=0), caps=replicas(a=3, b=4, c=99))

    assert divide(request, last=None, lot=LOT) == Shortage(Replicas(10), Replicas(7))


def test_the_strict_reading_gives_no_residual_to_a_whole_share() -> None:
    by_weight = weights(a=3, b=3, c=2)
    last = Last(replicas(a=1, b=1, c=2), Replicas(4), by_weight)
    # Four on 3:3:2 are 3/2, 3/2 and a whole one, and c holds one above it.
    literal = divided(Request(Replicas(4), by_weight), last)
    strict = divided(Request(Replicas(4), by_weight, eligibility="fractional"), last)

    assert literal.branch == "keep"
    assert strict.branch == "minimal"
    assert strict.allocation[ClusterName("c")] == 1
    assert [share.ceiling - share.floor for share in strict.shares] == [1, 1, 0]


@pytest.mark.parametrize(
    ("capacities", "kappa", "in_force"),
    [
        (None, None, Fraction(1)),
        ({}, None, Fraction(1, 2)),
        (replicas(a=1), None, Fraction(1, 2)),
        (None, Fraction(1, 3), Fraction(1, 3)),
        (replicas(a=1), Fraction(0), Fraction(0)),
    ],
)
def test_the_kappa_in_force_is_said(
    capacities: dict[ClusterName, Replicas | None] | None,
    kappa: Fraction | None,
    in_force: Fraction,
) -> None:
    request = Request(Replicas(3), weights(a=1, b=1), capacities=capacities, kappa=kappa)

    assert divided(request).kappa == in_force


def test_weights_that_are_all_zero_are_said_to_count_one() -> None:
    division = divided(Request(Replicas(2), weights(b=0, a=0)))

    assert division.weight == 2
    assert [(share.cluster, share.weight) for share in division.shares] == [("a", 1), ("b", 1)]


def test_a_filled_cap_is_told_from_one_that_was_just_reached() -> None:
    # Five on 3:1:1 are 3, 1 and 1. The cap of a is reached by the share itself, that of nobody
    # is exceeded; with six wanted, a would have 18/5.
    reached = divided(Request(Replicas(5), weights(a=3, b=1, c=1), caps=replicas(a=3)))
    exceeded = divided(Request(Replicas(6), weights(a=3, b=1, c=1), caps=replicas(a=3)))

    assert [share.filled for share in reached.shares] == [False, False, False]
    assert [share.filled for share in exceeded.shares] == [True, False, False]
    assert (exceeded.open_replicas, exceeded.open_weight) == (3, 2)


def test_every_reason_is_told() -> None:
    by_weight = weights(a=9, b=0, c=2, d=2, e=2, f=4)
    # a has its cap of 3, and ten or eleven are left: of ten, f has exactly its cap; of eleven,
    # nobody's share is whole, and one of four is lucky.
    exact = divided(Request(Replicas(13), by_weight, caps=replicas(a=3, f=4)))
    drawn = divided(Request(Replicas(14), by_weight, caps=replicas(a=3)))
    again = Last(drawn.allocation, Replicas(14), by_weight)
    kept = divided(Request(Replicas(14), by_weight, caps=replicas(a=3)), again)

    assert [*exact.reasons.values()] == ["filled", "no_weight", *3 * ["floor"], "whole"]
    lucky = {share.cluster for share in drawn.shares if share.residual}
    assert len(lucky) == 1
    for division, won, lost in ((drawn, "drawn", "not_drawn"), (kept, "held", "floor")):
        told = {**division.reasons}
        assert told.pop(ClusterName("a")) == "filled"
        assert told.pop(ClusterName("b")) == "no_weight"
        assert told == {name: won if name in lucky else lost for name in told}


def test_one_stroke_takes_the_residual_only_from_a_redraw() -> None:
    by_weight = weights(a=3, b=2, c=2)
    first = divided(Request(Replicas(5), by_weight, chances="remainders"))
    again = Last(first.allocation, Replicas(5), by_weight)
    grown = divided(Request(Replicas(6), by_weight, chances="remainders"), again)

    assert first.drawing is not None
    assert first.drawing.sample is not None
    assert grown.branch == "minimal"
    assert grown.drawing is None or grown.drawing.sample is None


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"weights": {"a": None}}, "weight of a"),
        ({"weights": {"a": float("nan")}}, "weight of a"),
        ({"weights": {"a": 1, "b": "1"}}, "weight of b"),
        ({"replicas": 1.0}, "replicas"),
        ({"caps": {"b": -1}}, "cap of b"),
        ({"capacities": {"b": True}}, "capacity of b"),
        ({"kappa": Fraction(3, 2)}, "kappa"),
        ({"kappa": Fraction(-1, 2)}, "kappa"),
        ({"inertia": "some"}, "inertia"),
        ({"eligibility": "some"}, "eligibility"),
        ({"chances": "some"}, "chances"),
    ],
)
def test_a_refusal_names_what_it_refuses(change: dict[str, Any], named: str) -> None:
    question: dict[str, Any] = {"replicas": 1, "weights": {"a": 1}, **change}

    with pytest.raises(InvalidRequest) as refused:
        divide(Request(**question), last=None, lot=LOT)

    assert refused.value.code == "invalid_request"
    assert refused.value.message.startswith(f"{named}: ")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"allocation": {"a": -1}}, "last allocation of a"),
        ({"replicas": None}, "last replicas"),
        ({"weights": {"a": 0.5}}, "last weight of a"),
    ],
)
@pytest.mark.parametrize("fresh", [False, True])
def test_a_malformed_last_result_is_refused_even_when_it_is_not_used(
    change: dict[str, Any],
    named: str,
    fresh: bool,  # noqa: FBT001  # a case of the table
) -> None:
    last: dict[str, Any] = {"allocation": {"a": 1}, "replicas": 1, "weights": {"a": 1}, **change}

    with pytest.raises(InvalidRequest, match=named):
        divide(Request(Replicas(1), weights(a=1), fresh=fresh), last=Last(**last), lot=LOT)
