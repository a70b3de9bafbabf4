"""Who takes part in a division whose wish says over how many clusters or regions to spread it.

A cluster scores 100 if it holds replicas of the last result, else 0. What it holds counts as its
room beside what is available there: a workload that fills its clusters is not short of room for
itself. A region scores what it could take of its part, in thousands, and the mean score of its
clusters; a cluster that names no region is in none.

Asked to forget, nobody scores for what it holds; the room stays, as it is given up.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ledger.core.division import selection as core
from ledger.core.division.regions import Bounds, Region, TooFew
from ledger.core.division.shortage import Shortage
from ledger.decisions.versions import DivisionRules
from ledger.facts.division import Chosen, ChosenRegion, Selection, Swap
from ledger.units import ClusterName, Replicas

SCORE_OF_A_HOLDER: Final = 100
SCORE_OF_A_REPLICA: Final = 1000

NO_REGION: Final = "no_region"
"""Why a cluster that names no region takes no part where regions are chosen."""


@dataclass(frozen=True, slots=True)
class Spread:
    """What a wish says of clusters and of regions, and in which region each candidate is."""

    clusters: Bounds
    regions: Bounds | None
    region_of: Mapping[ClusterName, str]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a selection is made from beside the spread."""

    replicas: Replicas
    available: Mapping[ClusterName, Replicas]
    held: Mapping[ClusterName, Replicas]
    fresh: bool
    need: Replicas | None
    """None asks for no room."""


@dataclass(frozen=True, slots=True)
class Selected:
    """The clusters that take part, how that came about, and who does not and why."""

    clusters: tuple[ClusterName, ...]
    told: Selection
    not_selected: tuple[tuple[ClusterName, str], ...]


def selected(rules: DivisionRules, spread: Spread, asked: Asked) -> Selected | TooFew | Shortage:
    """Choose the clusters; a choice of none is too few, whatever the wish allows."""
    candidates = tuple(_candidates(asked))
    homeless: tuple[tuple[ClusterName, str], ...] = ()
    if spread.regions is None:
        need = asked.need
        answered = rules.select(candidates, spread.clusters, need)
    else:
        need = None
        homeless = tuple(
            (one.cluster, NO_REGION) for one in candidates if not spread.region_of[one.cluster]
        )
        regions = _regions(candidates, spread.region_of, spread.regions, asked.replicas)
        answered = rules.select_by_region(regions, spread.regions, spread.clusters)
    if not isinstance(answered, core.Selection):
        return answered
    if not answered.selected:
        return TooFew("too_few_clusters", wanted=1, found=0)
    standing = {one.candidate.cluster: one for one in answered.standings}
    return Selected(
        clusters=answered.selected,
        told=Selection(
            need=need,
            chosen=tuple(_chosen(standing[cluster]) for cluster in answered.selected),
            swaps=tuple(Swap(swap.out, swap.into, swap.room) for swap in answered.swaps),
            regions=tuple(
                ChosenRegion(one.region.name, one.region.score, one.reason)
                for one in answered.regions
            ),
        ),
        not_selected=(
            *(
                (one.candidate.cluster, one.reason)
                for one in answered.standings
                if not one.selected
            ),
            *homeless,
        ),
    )


def _candidates(asked: Asked) -> Iterator[core.Candidate]:
    for cluster in sorted(asked.available):
        held = asked.held.get(cluster, 0)
        yield core.Candidate(
            cluster=cluster,
            score=SCORE_OF_A_HOLDER if held and not asked.fresh else 0,
            available=Replicas(asked.available[cluster] + held),
        )


def _regions(
    candidates: tuple[core.Candidate, ...],
    region_of: Mapping[ClusterName, str],
    bounds: Bounds,
    replicas: Replicas,
) -> list[Region[core.Candidate]]:
    members: dict[str, list[core.Candidate]] = {}
    for candidate in candidates:
        if region_of[candidate.cluster]:
            members.setdefault(region_of[candidate.cluster], []).append(candidate)
    part = -(-replicas // max(1, bounds.least))
    return [Region(name, _score(members[name], part), members[name]) for name in sorted(members)]


def _score(clusters: list[core.Candidate], part: int) -> int:
    room = sum(one.available for one in clusters)
    mean = sum(one.score for one in clusters) // len(clusters)
    return min(part, room) * SCORE_OF_A_REPLICA + mean


def _chosen(standing: core.Standing) -> Chosen:
    one = standing.candidate
    return Chosen(one.cluster, one.score, one.available, standing.reason)
