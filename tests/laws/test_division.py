"""What holds of every division by static weight, whoever asks for it."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import TypeVar

import pytest
from hypothesis import Phase, assume, find, given, settings
from hypothesis import strategies as st

from ledger.core.division.shortage import Shortage
from ledger.core.division.static_weight import (
    Branch,
    Division,
    Last,
    Request,
    divide,
    draw_probability,
    fit,
)
from ledger.core.lot import Lot
from ledger.units import ClusterName, Replicas, Weight
from tests.laws import model
from tests.laws.strategies import (
    CLUSTERS,
    Case,
    amounts,
    any_weights,
    cases,
    counts,
    kappas,
    lots,
    requests,
    weight_maps,
)

Amount = TypeVar("Amount")


def answer(case: Case) -> Division:
    """The division; a case whose caps are too small is not one for this law."""
    division = divide(case.request, last=case.last, lot=case.lot)
    assume(isinstance(division, Division))
    assert isinstance(division, Division)
    return division


def as_last(division: Division, request: Request) -> Last:
    return Last(division.allocation, request.replicas, request.weights)


def equal(clusters: int) -> dict[ClusterName, Weight]:
    return {ClusterName(f"member{number}"): Weight(1) for number in range(1, clusters + 1)}


@given(cases())
def test_no_replica_is_lost_or_made_up_and_none_goes_where_no_weight_is(case: Case) -> None:
    division = answer(case)

    assert sum(division.allocation.values()) == case.request.replicas
    assert set(division.allocation) == set(case.request.weights)
    assert all(count >= 0 for count in division.allocation.values())
    members = model.members(case.request.weights)
    assert all(cluster in members for cluster, n in division.allocation.items() if n)


@given(cases())
def test_everybody_holds_the_floor_or_one_more(case: Case) -> None:
    division = answer(case)

    bounds = model.box(case.request.replicas, model.members(case.request.weights), case.request)
    assert bounds is not None
    low, top = bounds
    for share in division.shares:
        assert share.floor == low.get(share.cluster, 0)
        assert share.ceiling == top.get(share.cluster, 0)
        assert share.floor <= share.replicas <= share.ceiling <= share.floor + 1


@given(cases())
def test_caps_are_never_exceeded_and_refused_only_when_too_small(case: Case) -> None:
    caps = {c: cap for c, cap in (case.request.caps or {}).items() if cap is not None}
    members = model.members(case.request.weights)

    division = divide(case.request, last=case.last, lot=case.lot)

    if isinstance(division, Shortage):
        assert members.keys() <= caps.keys()
        assert division.room == sum(caps[ClusterName(cluster)] for cluster in members)
        assert division.room < division.wanted == case.request.replicas
    else:
        allocation = division.allocation
        assert all(n <= caps[c] for c, n in allocation.items() if c in caps and c in members)


@given(cases())
def test_nothing_is_left_to_luck_that_is_settled(case: Case) -> None:
    division = answer(case)

    if division.residual == 0 or division.branch in ("keep", "exact"):
        assert division.drawing is None
    if division.drawing is not None:
        assert division.drew
        assert division.drawing.blocks >= len(division.drawing.order) > 0
    forced = division.drawing and len(division.drawing.order) == len(division.drawing.odds)
    assert not forced or division.branch == "partial_fit"


@given(cases(requests(weights=weight_maps(any_weights))), st.randoms(use_true_random=False))
def test_the_same_inputs_in_any_order_give_the_same_answer(case: Case, shuffler: Random) -> None:
    division = divide(case.request, last=case.last, lot=case.lot)

    again = divide(
        replace(
            case.request,
            weights=shuffled(case.request.weights, shuffler),
            caps=shuffled(case.request.caps or {}, shuffler),
            capacities=case.request.capacities and shuffled(case.request.capacities, shuffler),
        ),
        last=case.last
        and Last(
            allocation=shuffled(case.last.allocation, shuffler),
            replicas=case.last.replicas,
            weights=shuffled(case.last.weights, shuffler),
        ),
        lot=case.lot,
    )

    # The text, because equal dictionaries may still be written in different orders.
    assert repr(again) == repr(division)


@given(cases(), lots)
def test_asking_again_moves_nothing(case: Case, another_lot: Lot) -> None:
    division = answer(case)

    again = divide(
        replace(case.request, fresh=False), last=as_last(division, case.request), lot=another_lot
    )

    assert isinstance(again, Division)
    assert again.branch == "keep"
    assert again.shares == division.shares
    assert not again.drew


@given(cases(requests(weights=weight_maps(any_weights))), st.integers(2, 10**12))
def test_scaling_every_weight_changes_nothing(case: Case, factor: int) -> None:
    division = answer(case)
    scaled = replace(
        case.request,
        weights={c: Weight(factor * weight) for c, weight in case.request.weights.items()},
    )

    asked_first = divide(scaled, last=case.last, lot=case.lot)
    asked_again = divide(
        replace(scaled, fresh=False), last=as_last(division, case.request), lot=case.lot
    )

    assert isinstance(asked_first, Division)
    assert asked_first.allocation == division.allocation
    assert asked_first.drawing == division.drawing
    assert isinstance(asked_again, Division)
    assert asked_again.branch == "keep"


@given(counts, weight_maps(), st.data())
def test_an_allocation_fits_exactly_when_it_is_one_of_the_fair_divisions(
    replicas: Replicas, weights: dict[ClusterName, Weight], data: st.DataObject
) -> None:
    amount = st.integers(0, 8).map(Replicas)
    anything = st.dictionaries(st.sampled_from(CLUSTERS), amount, max_size=6)
    allocation = data.draw(st.one_of(near_fair(replicas, weights), anything))

    fitting = fit(allocation, replicas=replicas, weights=weights)

    held = {cluster: count for cluster, count in allocation.items() if count}
    assert fitting.fits == (held in fair_divisions(Request(replicas, weights)))
    assert fitting.fits_strict_quota == (
        held in fair_divisions(Request(replicas, weights, eligibility="fractional"))
    )


@given(cases(requests(caps=False)))
def test_what_fits_is_kept_and_nothing_else_is(case: Case) -> None:
    division = answer(case)

    kept = division.branch == "keep"
    if case.last is None or case.request.fresh:
        assert not kept
    else:
        here = {c: n for c, n in case.last.allocation.items() if c in case.request.weights}
        fitting = fit(here, replicas=case.request.replicas, weights=case.request.weights)
        literal = case.request.eligibility == "all"
        assert kept == (fitting.fits if literal else fitting.fits_strict_quota)


@given(cases(requests(weights=weight_maps(most=8))))
def test_mode_minimal_moves_as_little_as_any_fair_division(case: Case) -> None:
    division = answer(case)
    if case.last is None or division.branch not in ("keep", "minimal"):
        return

    here = {c: case.last.allocation.get(c, Replicas(0)) for c in case.request.weights}

    def distance(allocation: Mapping[ClusterName, int]) -> int:
        return sum(abs(allocation.get(c, 0) - n) for c, n in here.items())

    def ended(allocation: Mapping[ClusterName, int]) -> int:
        return sum(max(0, n - allocation.get(c, 0)) for c, n in here.items())

    fair = fair_divisions(case.request)
    assert distance(division.allocation) == min(map(distance, fair))
    assert ended(division.allocation) == min(map(ended, fair))


eight_at_most = weight_maps(most=8)
any_capacities = st.one_of(st.none(), amounts())
any_kappa = st.one_of(st.none(), kappas)


@st.composite
def equal_cases(draw: st.DrawFn) -> Case:
    """Equal weights then and now on the same clusters, and nothing drifted."""
    now, then = draw(st.tuples(st.integers(0, 5), st.integers(0, 5)))
    clusters = list(draw(eight_at_most))
    request = Request(
        replicas=draw(counts),
        weights=dict.fromkeys(clusters, Weight(now)),
        capacities=draw(any_capacities),
        kappa=draw(any_kappa),
    )
    before = Request(draw(counts), dict.fromkeys(clusters, Weight(then)))
    division = divide(before, last=None, lot=draw(lots))
    assert isinstance(division, Division)
    return Case(request, as_last(division, before), draw(lots))


@given(equal_cases())
def test_equal_weights_scale_without_a_step_back(case: Case) -> None:
    division = answer(case)

    assert case.last is not None
    steps = [division.allocation[c] - n for c, n in case.last.allocation.items()]
    assert min(steps) >= 0 or case.request.replicas < case.last.replicas
    assert max(steps) <= 0 or case.request.replicas > case.last.replicas


@given(equal_cases())
def test_with_equal_weights_both_modes_draw_the_same(case: Case) -> None:
    minimal = answer(case)

    seed = divide(replace(case.request, inertia="seed"), last=case.last, lot=case.lot)

    assert isinstance(seed, Division)
    assert seed.allocation == minimal.allocation
    assert seed.drew == minimal.drew


@given(cases())
def test_who_may_stay_is_left_untouched(case: Case) -> None:
    division = answer(case)
    if case.last is None or division.branch not in ("keep", "partial_fit"):
        return

    stayed = set(case.request.weights)
    if division.branch == "partial_fit":
        stayed = {*model.members(case.request.weights)} & {*model.members(case.last.weights)}

    for cluster, count in division.allocation.items():
        if cluster in stayed:
            assert count == case.last.allocation.get(cluster, 0)


@given(cases())
def test_the_answer_is_that_of_the_literal_model(case: Case) -> None:
    division = divide(case.request, last=case.last, lot=case.lot)

    literal = model.division(case.request, case.last, case.lot)

    if isinstance(division, Shortage):
        assert literal is None
    else:
        assert literal is not None
        assert division.branch == literal[0]
        assert {c: n for c, n in division.allocation.items() if n} == literal[1]


@given(cases(requests(weights=weight_maps(any_weights))))
def test_a_division_can_be_redone_from_what_it_says(case: Case) -> None:
    division = answer(case)

    assert division.weight == sum(share.weight for share in division.shares)
    assert division.residual == division.replicas - sum(share.floor for share in division.shares)
    for share in division.shares:
        parts = share.floor * division.open_weight + share.remainder
        assert share.filled or parts == division.open_replicas * share.weight
    filled = [share for share in division.shares if share.filled]
    assert division.open_weight == division.weight - sum(share.weight for share in filled)
    assert division.open_replicas == division.replicas - sum(share.floor for share in filled)
    if division.drawing is not None:
        drawing = division.drawing
        assert list(drawing.odds) == model.bytewise(drawing.odds)
        if drawing.sample is not None:
            step = drawing.sample.step
            assert {c: Fraction(n, step) for c, n in drawing.odds.items()} == {
                share.cluster: Fraction(share.remainder, division.open_weight)
                for share in division.shares
                if share.remainder
            }
            return
        chances = model.odds(case.request)
        assert drawing.odds == {cluster: chances[cluster] for cluster in drawing.odds}
        drawn = model.scan(case.lot, drawing.odds, len(drawing.order))
        assert (list(drawing.order), drawing.blocks) == drawn
        for share in division.shares:
            if share.cluster in drawing.odds:
                assert share.residual == (share.cluster in drawing.order)


@given(weight_maps(any_weights), st.one_of(st.none(), amounts()), st.one_of(st.none(), kappas))
def test_chances_of_the_first_residual_are_whole_and_follow_the_formula(
    weights: dict[ClusterName, Weight],
    capacities: dict[ClusterName, Replicas | None] | None,
    kappa: Fraction | None,
) -> None:
    chances = draw_probability(weights, capacities=capacities, kappa=kappa)

    literal = model.odds(Request(Replicas(0), weights, capacities=capacities, kappa=kappa))
    assert sum(chances.values()) == 1
    assert chances == {
        cluster: Fraction(literal.get(cluster, 0), sum(literal.values())) for cluster in weights
    }


@pytest.mark.parametrize(
    "branch",
    ["keep", "exact", "partial_fit", "minimal", "inertia_add", "inertia_drop", "redraw"],
)
def test_these_laws_see_every_branch(branch: Branch) -> None:
    def takes_it(case: Case) -> bool:
        division = divide(case.request, last=case.last, lot=case.lot)
        return isinstance(division, Division) and division.branch == branch

    quick = settings(max_examples=2_000, phases=[Phase.generate], database=None)
    assert takes_it(find(cases(), takes_it, settings=quick))


@given(lots, st.integers(2, 12), st.integers(0, 5))
def test_one_residual_more_only_adds_a_holder(lot: Lot, clusters: int, floor: int) -> None:
    weights = equal(clusters)

    orders = [
        division.drawing.order
        for residual in range(1, clusters)
        for division in [
            divide(Request(Replicas(floor * clusters + residual), weights), last=None, lot=lot)
        ]
        if isinstance(division, Division) and division.drawing
    ]

    assert [len(order) for order in orders] == list(range(1, clusters))
    assert all(more[:-1] == fewer for fewer, more in pairwise(orders))


def shuffled(amounts: Mapping[ClusterName, Amount], shuffler: Random) -> dict[ClusterName, Amount]:
    names = list(amounts)
    shuffler.shuffle(names)
    return {name: amounts[name] for name in names}


def fair_divisions(request: Request) -> list[model.Allocation]:
    """Every fair division, zeros left out."""
    bounds = model.box(request.replicas, model.members(request.weights), request)
    assert bounds is not None
    points = model.fair_divisions(*bounds, request.replicas)
    return [{c: n for c, n in point.items() if n} for point in points]


@st.composite
def near_fair(
    draw: st.DrawFn, replicas: Replicas, weights: Mapping[ClusterName, Weight]
) -> dict[ClusterName, Replicas]:
    """A fair division, or one with up to two clusters a step off."""
    division = divide(Request(replicas, weights), last=None, lot=draw(lots))
    assert isinstance(division, Division)
    allocation = division.allocation
    for cluster in draw(st.lists(st.sampled_from(sorted(weights)), max_size=2)):
        step = draw(st.sampled_from([-1, 1]))
        allocation[cluster] = Replicas(max(0, allocation[cluster] + step))
    return allocation
