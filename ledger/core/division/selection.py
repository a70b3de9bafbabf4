"""Choose which clusters take part, where a wish says how many it wants to be spread over.

The candidates stand in one order: lower overflow tier first, then higher score, then more
available, then the name. A spread constraint takes the best of them, as many as it allows. If these
have too little room together, they are gone through once from the worst to the best, and each
place is given to whoever of the others has most room, as long as that is more; a cluster that lost
its place may come back for a better one. If there is still too little room, nobody is chosen.

With regions, ``ledger.core.division.regions`` says which regions are used, and what follows is
said here: each gives its best cluster, and the best of the others follow.

Scores, and how much room there is, are the business of whoever asks.

Rule, worked examples and the differences from Karmada: docs/core/selection.md
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from typing import Literal

from ledger.core.division.regions import Bounds, Region, RegionStanding, TooFew, choose_regions
from ledger.core.division.shortage import Shortage
from ledger.core.shares import require_count, require_distinct
from ledger.units import ClusterName, Replicas

Reason = Literal[
    "ranked",
    "best_of_region",
    "swapped_in",
    "swapped_out",
    "not_needed",
    "region_not_chosen",
]
"""Why a candidate is in, or out. The names are public."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A cluster that could take part."""

    cluster: ClusterName
    score: int
    available: Replicas
    tier: int = 0


@dataclass(frozen=True, slots=True)
class Standing:
    """What became of one candidate and why."""

    candidate: Candidate
    selected: bool
    reason: Reason


@dataclass(frozen=True, slots=True)
class Swap:
    """One place that was given away for room; ``room`` is what all places have together then."""

    place: int
    out: ClusterName
    into: ClusterName
    room: Replicas


@dataclass(frozen=True, slots=True)
class Selection:
    """Who takes part, in the order of the places, and what became of everybody.

    ``standings`` are in the order of the candidates. ``swaps`` are those that were made for room,
    and ``regions`` says which regions were used, both in the order in which they were considered.
    """

    selected: tuple[ClusterName, ...]
    standings: tuple[Standing, ...]
    swaps: tuple[Swap, ...] = ()
    regions: tuple[RegionStanding[Candidate], ...] = ()


def select(
    candidates: Sequence[Candidate], *, clusters: Bounds, need: Replicas | None
) -> Selection | TooFew | Shortage:
    """Choose the best clusters within the bounds that have room for ``need`` replicas together.

    A ``need`` of None asks for no room at all: whoever gets a copy of everything is not divided.
    """
    ordered = _in_order(candidates)
    clusters.require_valid("clusters")
    if need is not None:
        require_count("need", need)
    if len(ordered) < clusters.least:
        return TooFew("too_few_clusters", wanted=clusters.least, found=len(ordered))

    places = ordered[: clusters.within(len(ordered))]
    why: dict[ClusterName, Reason] = {place.cluster: "ranked" for place in places}
    swaps: list[Swap] = []
    if need is not None:
        swaps = _make_room(places, ordered[len(places) :], need)
        room = sum(place.available for place in places)
        if room < need:
            return Shortage(wanted=need, room=Replicas(room))
    for swap in swaps:
        why[swap.out] = "swapped_out"
        why[swap.into] = "swapped_in"
    return _selection(ordered, places, why, swaps=tuple(swaps))


def select_everybody(candidates: Sequence[Candidate]) -> Selection:
    """Choose all of them: a division by static weight does not look at spread constraints."""
    ordered = _in_order(candidates)
    return _selection(ordered, ordered, {one.cluster: "ranked" for one in ordered})


def select_by_region(
    regions: Sequence[Region[Candidate]], *, spread: Bounds, clusters: Bounds
) -> Selection | TooFew:
    """Choose regions that have enough clusters between them, and clusters from all of these.

    Every chosen region is represented, even by more clusters than the bound allows. Nobody asks
    here how much room there is.
    """
    ordered = _in_order([candidate for region in regions for candidate in region.clusters])
    clusters.require_valid("clusters")
    considered = choose_regions(regions, spread=spread, clusters=clusters.least)
    if isinstance(considered, TooFew):
        return considered

    used = [standing.region for standing in considered if standing.used]
    home = {local.cluster: region.name for region in used for local in region.clusters}
    best: dict[str, Candidate] = {}
    others: list[Candidate] = []
    for candidate in ordered:
        region = home.get(candidate.cluster)
        if region is None:
            continue
        if best.setdefault(region, candidate) is not candidate:
            others.append(candidate)
    leaders = [best[region.name] for region in used]
    followers = others[: max(0, clusters.within(len(home)) - len(leaders))]
    why: dict[ClusterName, Reason] = {one.cluster: "not_needed" for one in others}
    why |= {one.cluster: "ranked" for one in followers}
    why |= {one.cluster: "best_of_region" for one in leaders}
    why |= {one.cluster: "region_not_chosen" for one in ordered if one.cluster not in home}
    return _selection(ordered, [*leaders, *followers], why, regions=considered)


def _in_order(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates from the best to the worst."""
    require_distinct("clusters", [candidate.cluster for candidate in candidates])
    for candidate in candidates:
        for what in ("score", "available", "tier"):
            require_count(f"{what} of {candidate.cluster}", getattr(candidate, what))
    # Code points sort as their UTF-8 bytes do, so the names stand in the order of the bytes.
    return sorted(candidates, key=_rank)


def _rank(candidate: Candidate) -> tuple[int, int, int, ClusterName]:
    return (candidate.tier, -candidate.score, -candidate.available, candidate.cluster)


def _make_room(places: list[Candidate], rest: Sequence[Candidate], need: int) -> list[Swap]:
    """Give places away until all of them together have room for ``need``, and say to whom."""
    swaps: list[Swap] = []
    room: int = sum(place.available for place in places)
    waiting = [(-candidate.available, _rank(candidate), candidate) for candidate in rest]
    heapify(waiting)
    for place in reversed(range(len(places))):
        if room >= need or not waiting:
            break
        out, into = places[place], waiting[0][-1]
        if into.available > out.available:
            heapreplace(waiting, (-out.available, _rank(out), out))
            places[place] = into
            room += into.available - out.available
            swaps.append(Swap(place, out.cluster, into.cluster, Replicas(room)))
    return swaps


def _selection(
    ordered: Sequence[Candidate],
    places: Sequence[Candidate],
    why: Mapping[ClusterName, Reason],
    *,
    swaps: tuple[Swap, ...] = (),
    regions: tuple[RegionStanding[Candidate], ...] = (),
) -> Selection:
    selected = {place.cluster: place for place in places}
    return Selection(
        selected=tuple(selected),
        standings=tuple(
            Standing(one, one.cluster in selected, why.get(one.cluster, "not_needed"))
            for one in ordered
        ),
        swaps=swaps,
        regions=regions,
    )
