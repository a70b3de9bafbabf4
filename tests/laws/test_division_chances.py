"""How often which cluster is lucky, and how often somebody moves the wrong way: laws of large numbers.

Workloads and salts are fixed, so the counts below never change between runs. Each bound says how
unlucky a fair lot would have to be to fail.
"""

from collections import Counter
from fractions import Fraction
from random import Random

import pytest

from ledger.core.division.static_weight import Division, Last, Request, divide, draw_probability
from ledger.core.lot import Lot
from ledger.units import ClusterName, Replicas, Weight
from tests.laws.chance import UNLIKELY, one_of_each, some_of_each

WORKLOADS = 20_000


def divided(request: Request, last: Last | None, lot: Lot) -> Division:
    division = divide(request, last=last, lot=lot)
    assert isinstance(division, Division)
    return division


def equal(clusters: int) -> dict[ClusterName, Weight]:
    return {ClusterName(f"member{number}"): Weight(1) for number in range(1, clusters + 1)}


@pytest.mark.parametrize("clusters", range(2, 11))
def test_every_cluster_is_as_likely_to_hold_a_residual(clusters: int) -> None:
    weights = equal(clusters)
    request = Request(Replicas(4 * clusters - 1), weights)
    included = {residual: Counter[ClusterName]() for residual in range(1, clusters)}

    for uid in range(WORKLOADS):
        drawing = divided(request, None, Lot("fairness", f"uid-{uid}", 0)).drawing
        assert drawing is not None
        # One residual more only adds a holder (a law of its own), so the beginnings of this order
        # are the holders of fewer residuals.
        for residual, holders in included.items():
            holders.update(drawing.order[:residual])

    for residual, holders in included.items():
        surprise = some_of_each([holders[cluster] for cluster in weights], WORKLOADS)
        assert surprise > UNLIKELY, (residual, holders)


@pytest.mark.parametrize(
    "clusters", [2, 3, 5, 10, *(pytest.param(k, marks=pytest.mark.long) for k in (4, 6, 7, 8, 9))]
)
def test_every_cluster_is_as_likely_after_a_walk_of_scaling(clusters: int) -> None:
    weights = equal(clusters)
    most, few = clusters - 1, max(1, clusters // 3)
    walk = [2 * clusters + few, 2 * clusters + most, clusters + few]
    holders = [Counter[ClusterName]() for _ in walk]

    for uid in range(WORKLOADS):
        last, epoch = None, 0
        for replicas, lucky in zip(walk, holders, strict=True):
            request = Request(Replicas(replicas), weights)
            division = divided(request, last, Lot("walk", f"uid-{uid}", epoch))
            last = Last(division.allocation, request.replicas, weights)
            epoch += division.drew
            lucky.update(share.cluster for share in division.shares if share.residual)

    for replicas, lucky in zip(walk, holders, strict=True):
        assert lucky.total() == replicas % clusters * WORKLOADS
        surprise = some_of_each([lucky[cluster] for cluster in weights], WORKLOADS)
        assert surprise > UNLIKELY, (replicas, lucky)


@pytest.mark.parametrize("kappa", [None, Fraction(0), Fraction(1, 3), Fraction(1)])
def test_the_first_residual_falls_as_often_as_its_chance_says(kappa: Fraction | None) -> None:
    weights = {ClusterName(c): Weight(w) for c, w in {"a": 2, "b": 1, "c": 1}.items()}
    capacities = {ClusterName(c): Replicas(n) for c, n in {"a": 10, "b": 10, "c": 25}.items()}
    request = Request(Replicas(5), weights, capacities=capacities, kappa=kappa)

    holders = Counter(
        share.cluster
        for uid in range(WORKLOADS)
        for share in divided(request, None, Lot("first", f"uid-{uid}", 0)).shares
        if share.residual
    )

    chances = draw_probability(weights, capacities=capacities, kappa=kappa)
    assert sum(holders.values()) == WORKLOADS, "one residual each time"
    surprise = one_of_each([holders[c] for c in weights], [chances[c] for c in weights])
    assert surprise > UNLIKELY, holders


def test_by_remainders_every_cluster_gets_its_share_on_average() -> None:
    weights = {ClusterName(f"m{place}"): Weight(w) for place, w in enumerate((7, 3, 3, 2, 2, 1))}
    request = Request(Replicas(25), weights, chances="remainders")
    total = sum(weights.values())

    holders = Counter(
        share.cluster
        for uid in range(WORKLOADS)
        for share in divided(request, None, Lot("average", f"uid-{uid}", 0)).shares
        if share.residual
    )

    for cluster, weight in weights.items():
        chance = Fraction(request.replicas * weight % total, total)
        counts = [holders[cluster], WORKLOADS - holders[cluster]]
        assert one_of_each(counts, [chance, 1 - chance]) > UNLIKELY, (cluster, holders)


def test_by_remainders_of_equal_weights_every_set_of_clusters_is_as_likely() -> None:
    weights = equal(5)
    request = Request(Replicas(7), weights, chances="remainders")

    pairs = Counter(
        tuple(share.cluster for share in division.shares if share.residual)
        for uid in range(WORKLOADS)
        for division in [divided(request, None, Lot("sets", f"uid-{uid}", 0))]
    )

    assert len(pairs) == 10
    assert one_of_each(list(pairs.values()), [Fraction(1, 10)] * 10) > UNLIKELY, pairs


@pytest.mark.parametrize(
    ("step", "at_most"),
    [pytest.param(1, Fraction(1, 100), id="up"), pytest.param(-1, Fraction(2, 100), id="down")],
)
def test_a_step_seldom_moves_a_cluster_the_wrong_way(step: int, at_most: Fraction) -> None:
    chooser = Random("unequal weights")
    wrong = 0
    for uid in range(WORKLOADS):
        names = [ClusterName(f"m{place}") for place in range(chooser.randint(2, 6))]
        weights = {name: Weight(chooser.randint(1, 9)) for name in names}
        if len(set(weights.values())) == 1:
            weights[names[0]] = Weight(10)
        replicas = Replicas(chooser.randint(1, 40))
        before = divided(Request(replicas, weights), None, Lot("step", f"uid-{uid}", 0))
        last = Last(before.allocation, replicas, weights)

        request = Request(Replicas(replicas + step), weights)
        after = divided(request, last, Lot("step", f"uid-{uid}", int(before.drew)))

        moves = [after.allocation[name] - before.allocation[name] for name in names]
        wrong += any(move * step < 0 for move in moves)

    assert 0 < Fraction(wrong, WORKLOADS) <= at_most
