"""Requests, last results and lots as Hypothesis draws them: small worlds, odd corners included.

Two requests about nothing in common say little. So a last result is made from something near the
request it comes before: the same weights or edited ones, a few replicas more or fewer, and now and
then a drift that no division made.
"""

from dataclasses import dataclass

from hypothesis import strategies as st

from ledger.core.division.static_weight import (
    Chances,
    Division,
    Eligibility,
    Inertia,
    Last,
    Request,
    divide,
)
from ledger.core.lot import Lot
from ledger.units import ClusterName, Replicas, Weight

Weights = dict[ClusterName, Weight]
Amounts = dict[ClusterName, Replicas | None]

CLUSTERS = [
    ClusterName(name) for name in ("m1", "m2", "m10", "M1", "é", "\uffff", "\U00010000", "")
]
"""Few names, so that two requests share some, and such that sort differently by other rules."""

clusters = st.sampled_from(CLUSTERS)
counts = st.integers(0, 40).map(Replicas)
small_weights = st.one_of(st.integers(1, 2), st.integers(0, 9)).map(Weight)
any_weights = st.one_of(small_weights, st.integers(0, 2**63 - 1).map(Weight))
inertias: st.SearchStrategy[Inertia] = st.sampled_from(["minimal", "seed"])
eligibilities: st.SearchStrategy[Eligibility] = st.sampled_from(["all", "fractional"])
chances: st.SearchStrategy[Chances] = st.sampled_from(["odds", "odds", "remainders"])
kappas = st.fractions(0, 1, max_denominator=12)
seldom = st.sampled_from([False] * 7 + [True])
words = st.text(st.characters(codec="utf-8"), max_size=6)
lots = st.builds(Lot, salt=words, workload=words, epoch=st.integers(0, 2**40))


def weight_maps(
    weight: st.SearchStrategy[Weight] = small_weights, *, most: int = 6
) -> st.SearchStrategy[Weights]:
    """Several clusters more often than one, and all alike more often than by chance."""
    several = st.lists(clusters, min_size=3, max_size=most, unique=True)
    return st.one_of(
        st.builds(dict.fromkeys, several, weight),
        st.dictionaries(clusters, weight, min_size=2, max_size=most),
        st.dictionaries(clusters, weight, min_size=1, max_size=most),
    )


def amounts(most: int = 20) -> st.SearchStrategy[Amounts]:
    """Caps or capacities: of anybody, now and then of everybody, and some of them null."""
    amount = st.integers(0, most).map(Replicas)
    return st.one_of(
        st.dictionaries(clusters, st.one_of(st.none(), amount), max_size=6),
        st.fixed_dictionaries(dict.fromkeys(CLUSTERS, amount)),
    )


def requests(
    *, weights: st.SearchStrategy[Weights] | None = None, caps: bool = True
) -> st.SearchStrategy[Request]:
    return st.builds(
        Request,
        replicas=counts,
        weights=weight_maps() if weights is None else weights,
        inertia=inertias,
        fresh=seldom,
        caps=st.one_of(st.none(), st.none(), amounts()) if caps else st.none(),
        capacities=st.one_of(st.none(), amounts()),
        kappa=st.one_of(st.none(), kappas),
        eligibility=eligibilities,
        chances=chances,
    )


@dataclass(frozen=True, slots=True)
class Before:
    """How a last result differs from the request it comes before."""

    step: int | None
    """How many replicas more; None stands for any number, ``replicas``."""
    replicas: Replicas
    changed: Weights
    joined: int | None
    """Which of the clusters was not there yet."""
    unrelated: Weights | None
    drift: dict[ClusterName, Replicas]
    lot: Lot


befores = st.builds(
    Before,
    step=st.sampled_from([1, -1, 2, -2, 3, -3, 0, None]),
    replicas=counts,
    changed=st.one_of(
        st.just({}), st.just({}), st.dictionaries(clusters, small_weights, min_size=1, max_size=2)
    ),
    joined=st.one_of(st.none(), st.integers(0, 7)),
    unrelated=seldom.flatmap(lambda other: weight_maps() if other else st.none()),
    drift=st.one_of(st.just({}), st.just({}), st.dictionaries(clusters, counts, max_size=2)),
    lot=lots,
)


@dataclass(frozen=True, slots=True)
class Case:
    """A question to ``divide`` with all that goes with it."""

    request: Request
    last: Last | None
    lot: Lot


def cases(request: st.SearchStrategy[Request] | None = None) -> st.SearchStrategy[Case]:
    """A request, mostly after an earlier division of something like it."""
    return st.builds(
        lambda now, before, first, lot: Case(now, None if first else last_before(now, before), lot),
        requests() if request is None else request,
        befores,
        seldom,
        lots,
    )


def last_before(now: Request, before: Before) -> Last:
    weights = {**now.weights, **before.changed}
    if before.joined is not None and len(weights) > 1:
        del weights[sorted(weights)[before.joined % len(weights)]]
    if before.unrelated is not None:
        weights = before.unrelated
    replicas = before.replicas if before.step is None else max(0, now.replicas + before.step)
    division = divide(Request(Replicas(replicas), weights), last=None, lot=before.lot)
    assert isinstance(division, Division)
    return Last(division.allocation | before.drift, Replicas(replicas), weights)
