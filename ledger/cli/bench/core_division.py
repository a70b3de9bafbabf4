"""How long it takes to divide replicas over clusters, and how that grows."""

from fractions import Fraction
from functools import partial
from typing import Final

from ledger.cli.bench.core_case import Asking, Case, Growth
from ledger.core.division import dynamic, selection, static_weight, webster
from ledger.core.division.regions import Bounds, Region
from ledger.core.lot import Lot
from ledger.units import ClusterName, Replicas, Weight

MILLION: Final = Replicas(1_000_000)

CLUSTERS: Final = (200, 1_000, 5_000, 25_000)
"""How many, where the cost is seen to grow."""


def _weights(clusters: int) -> dict[ClusterName, Weight]:
    """Weights from 1 to 97 in no order, so that shares are seldom whole."""
    return {ClusterName(f"member{n}"): Weight(1 + n * 7919 % 97) for n in range(clusters)}


def _static(weights: dict[ClusterName, Weight], replicas: int) -> Asking:
    request = static_weight.Request(Replicas(replicas), weights)
    return partial(static_weight.divide, request, last=None, lot=Lot("bench", "workload", 0))


def _static_of(clusters: int) -> Asking:
    return _static(_weights(clusters), 10 * clusters + clusters // 2)


def _equal(clusters: int, residual: int) -> Asking:
    weights = {ClusterName(f"member{n}"): Weight(1) for n in range(clusters)}
    return _static(weights, clusters + residual)


def _scaled(clusters: int) -> Asking:
    """One replica more than the last result has."""
    weights = _weights(clusters)
    lot = Lot("bench", "workload", 0)
    replicas = Replicas(10 * clusters + clusters // 2)
    first = static_weight.divide(static_weight.Request(replicas, weights), last=None, lot=lot)
    assert isinstance(first, static_weight.Division)
    request = static_weight.Request(Replicas(replicas + 1), weights)
    last = static_weight.Last(first.allocation, replicas, weights)
    return partial(static_weight.divide, request, last=last, lot=lot)


def _capped(clusters: int) -> Asking:
    """Caps so tight that most of them fill, one after the other."""
    weights = _weights(clusters)
    caps = {name: Replicas(3 + place % 50) for place, name in enumerate(weights)}
    request = static_weight.Request(Replicas(sum(caps.values()) * 9 // 10), weights, caps=caps)
    return partial(static_weight.divide, request, last=None, lot=Lot("bench", "workload", 0))


def _webster(clusters: int) -> Asking:
    return partial(webster.apportion, MILLION, _weights(clusters), workload="bench")


def _aggregated(clusters: int) -> Asking:
    available = {ClusterName(f"member{n}"): Replicas(1 + n * 7919 % 97) for n in range(clusters)}
    request = dynamic.Request(Replicas(20 * clusters), available, strategy="aggregated")
    return partial(dynamic.divide, request)


def _candidates(clusters: int) -> list[selection.Candidate]:
    return [
        selection.Candidate(ClusterName(f"member{n}"), n * 31 % 101, Replicas(n * 7919 % 97))
        for n in range(clusters)
    ]


def _select(clusters: int) -> Asking:
    """Half of the clusters, and as much room as only swapping can make."""
    need = Replicas(30 * clusters)
    bounds = Bounds(1, clusters // 2)
    return partial(selection.select, _candidates(clusters), clusters=bounds, need=need)


def _select_by_region() -> Asking:
    """Fifty regions of one to five clusters, a half of them to be used, and small ones score best."""
    regions = [
        Region(f"region{n}", 100 - n, [_cluster(n, k) for k in range(1 + n // 10)])
        for n in range(50)
    ]
    bounds = Bounds(80)
    return partial(selection.select_by_region, regions, spread=Bounds(1, 25), clusters=bounds)


def _cluster(region: int, number: int) -> selection.Candidate:
    return selection.Candidate(ClusterName(f"member{region}-{number}"), number, Replicas(1))


CASES: Final[tuple[Case, ...]] = (
    Case(
        "division-100",
        "divide by static weight over 100 clusters, no last result",
        partial(_static_of, 100),
        Fraction(4, 10),
    ),
    Case(
        "division-100-scaled",
        "one replica more on 100 clusters, moving as little as possible",
        partial(_scaled, 100),
        Fraction(4, 10),
    ),
    Case(
        "division-1000",
        "divide over 1,000 equal clusters with 345 replicas left over by the floors",
        partial(_equal, 1_000, 345),
        Fraction(6),
    ),
    Case(
        "webster-100",
        "a million replicas on 100 clusters by Webster's method",
        partial(_webster, 100),
        Fraction(1),
    ),
    Case(
        "select-by-region",
        "25 of 50 regions with 80 clusters at least, which the best scores do not have",
        _select_by_region,
        Fraction(100),
    ),
)

GROWTHS: Final[tuple[Growth, ...]] = (
    Growth(
        "division",
        "divide by static weight, by clusters",
        _static_of,
        CLUSTERS,
    ),
    Growth(
        "division-capped",
        "divide by static weight with caps that fill, by clusters",
        _capped,
        CLUSTERS,
    ),
    Growth(
        "webster",
        "a million replicas by Webster's method, by clusters",
        _webster,
        CLUSTERS,
    ),
    Growth(
        "aggregated",
        "divide on as few clusters as have the room, by clusters",
        _aggregated,
        CLUSTERS,
    ),
    Growth(
        "select",
        "choose half of the clusters and make room, by clusters",
        _select,
        CLUSTERS,
    ),
)
