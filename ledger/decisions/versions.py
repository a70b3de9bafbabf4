"""Which functions answer for which version of a system.

A policy names the versions that a fleet runs. An old one stays here for as long as a log may hold
its decisions, so that they can be made again; a change that alters one byte of one of them is a
new version beside it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ledger.core.division import dynamic, static_weight
from ledger.core.division.duplicated import duplicate
from ledger.core.division.regions import Bounds, Region, TooFew
from ledger.core.division.selection import Candidate, Selection, select, select_by_region
from ledger.core.division.shortage import Shortage
from ledger.core.division.webster import Apportionment, apportion
from ledger.core.lot import Lot
from ledger.errors import AlgorithmMissing
from ledger.units import ClusterName, Replicas, Weight


@dataclass(frozen=True, slots=True)
class DivisionRules:
    """One version of how replicas are divided: a function for each strategy, and two that select."""

    static: Callable[
        [static_weight.Request, static_weight.Last | None, Lot], static_weight.Division | Shortage
    ]
    webster: Callable[[Replicas, Mapping[ClusterName, Weight], str], Apportionment]
    by_room: Callable[[dynamic.Request], dynamic.Division | Shortage]
    duplicated: Callable[[Replicas, Sequence[ClusterName]], Mapping[ClusterName, Replicas]]
    select: Callable[[Sequence[Candidate], Bounds, Replicas | None], Selection | TooFew | Shortage]
    select_by_region: Callable[[Sequence[Region[Candidate]], Bounds, Bounds], Selection | TooFew]


def division(version: int) -> DivisionRules:
    """How replicas are divided; ``AlgorithmMissing`` if this program has no such version."""
    try:
        return _DIVISION[version]
    except KeyError:
        raise AlgorithmMissing("division", version) from None


def _static_1(
    request: static_weight.Request, last: static_weight.Last | None, lot: Lot
) -> static_weight.Division | Shortage:
    return static_weight.divide(request, last=last, lot=lot)


def _webster_1(
    replicas: Replicas, weights: Mapping[ClusterName, Weight], workload: str
) -> Apportionment:
    return apportion(replicas, weights, workload=workload)


def _select_1(
    candidates: Sequence[Candidate], clusters: Bounds, need: Replicas | None
) -> Selection | TooFew | Shortage:
    return select(candidates, clusters=clusters, need=need)


def _select_by_region_1(
    regions: Sequence[Region[Candidate]], spread: Bounds, clusters: Bounds
) -> Selection | TooFew:
    return select_by_region(regions, spread=spread, clusters=clusters)


_DIVISION: Final[Mapping[int, DivisionRules]] = {
    1: DivisionRules(
        static=_static_1,
        webster=_webster_1,
        by_room=dynamic.divide,
        duplicated=duplicate,
        select=_select_1,
        select_by_region=_select_by_region_1,
    )
}
