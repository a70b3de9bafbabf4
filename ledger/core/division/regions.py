"""Choose the regions that a workload is spread over.

A set of regions will do if it has no fewer and no more regions than the wish allows, and enough
clusters between them. The best is the one with the highest scores in sum, then with the most
clusters; of equal ones the first, where sets are read like words and the regions, from the best
score down and then by name, are the alphabet. Of that set the beginning is used that is just long
enough to do as well. Regions without a cluster do not exist.

Looking at every set takes twice as long for each region more. It is not needed. Scores are not
negative and every region brings a cluster, so a larger set is always better: the best has as many
regions as it may. If the highest scores happen to have enough clusters, they are the answer. Else
this is a knapsack whose sizes are numbers of clusters, and the best choice of so many regions with
so many clusters from the regions behind a given one can be had from those behind the next: steps in
the product of regions, regions to choose and clusters to find, all of them numbers of things that
the question lists.

Where a region's score comes from is left to whoever asks.

Rule: docs/core/selection.md
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from ledger.core.shares import require_count, require_distinct
from ledger.errors import InvalidRequest

Cluster = TypeVar("Cluster")


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many are wanted: at least so many, and at most; None is no limit, 0 is none at all."""

    least: int = 0
    most: int | None = None

    def within(self, found: int) -> int:
        """How many of those found may be taken."""
        return found if self.most is None else min(found, self.most)

    def require_valid(self, what: str) -> None:
        """Refuse bounds that no number keeps."""
        require_count(f"least {what}", self.least)
        if self.most is not None:
            require_count(f"most {what}", self.most)
            if self.most < self.least:
                raise InvalidRequest(
                    "invalid_request", f"{what}: at most {self.most}, but at least {self.least}"
                )


@dataclass(frozen=True, slots=True)
class TooFew:
    """There are fewer than the wish needs; nothing is chosen.

    ``found`` counts all regions, or the clusters of as many regions as may be used together.
    """

    code: Literal["too_few_clusters", "too_few_regions"]
    wanted: int
    found: int


@dataclass(frozen=True, slots=True)
class Region(Generic[Cluster]):
    """A region with its score and those of its clusters that could take part."""

    name: str
    score: int
    clusters: Sequence[Cluster]


RegionReason = Literal["chosen", "not_needed", "not_in_best_set"]
"""Why a region is used, or not. The names are public.

``chosen``           clusters are taken from it
``not_needed``       it is in the best set, but those before it are enough
``not_in_best_set``  another set that has enough clusters is worth more
"""


@dataclass(frozen=True, slots=True)
class RegionStanding(Generic[Cluster]):
    """What became of one region and why."""

    region: Region[Cluster]
    reason: RegionReason

    @property
    def used(self) -> bool:
        """Whether clusters are taken from it."""
        return self.reason == "chosen"


def choose_regions(
    regions: Sequence[Region[Cluster]], *, spread: Bounds, clusters: int
) -> tuple[RegionStanding[Cluster], ...] | TooFew:
    """Choose regions within the bounds that have so many clusters between them.

    All regions that have a cluster are answered, in the order in which they were considered.
    """
    require_distinct("regions", [region.name for region in regions])
    for region in regions:
        require_count(f"score of {region.name}", region.score)
    spread.require_valid("regions")
    require_count("least clusters", clusters)
    # Code points sort as their UTF-8 bytes do, so the names stand in the order of the bytes.
    ordered = sorted(
        (region for region in regions if region.clusters), key=lambda one: (-one.score, one.name)
    )
    if len(ordered) < spread.least:
        return TooFew("too_few_regions", wanted=spread.least, found=len(ordered))

    count = spread.within(len(ordered))
    sizes = [len(region.clusters) for region in ordered]
    most = sum(sorted(sizes, reverse=True)[:count])
    if count == 0 or most < clusters:
        return TooFew("too_few_clusters", wanted=max(clusters, 1), found=most)

    best = _best([region.score for region in ordered], sizes, count, clusters)
    needed, found = 0, 0
    for place in best:
        if needed >= max(1, spread.least) and found >= clusters:
            break
        needed += 1
        found += sizes[place]
    reasons: dict[int, RegionReason] = dict.fromkeys(best, "not_needed")
    reasons |= dict.fromkeys(best[:needed], "chosen")
    return tuple(
        RegionStanding(region, reasons.get(place, "not_in_best_set"))
        for place, region in enumerate(ordered)
    )


def _best(scores: Sequence[int], sizes: Sequence[int], count: int, clusters: int) -> list[int]:
    """The places of the best ``count`` regions that have ``clusters``; some have."""
    by_worth = sorted(range(len(scores)), key=lambda place: (-scores[place], -sizes[place], place))
    first = sorted(by_worth[:count])
    if sum(sizes[place] for place in first) >= clusters:
        return first
    return _knapsack(scores, sizes, count, clusters)


Chain = tuple[int, "Chain"] | None
"""Places, from the first to the last."""


def _knapsack(scores: Sequence[int], sizes: Sequence[int], count: int, clusters: int) -> list[int]:
    """The places of the best ``count`` regions that have ``clusters``, by dynamic programming.

    ``worth[taken][short]`` is the best that ``taken`` of the regions looked at so far are worth if
    they have at least ``short`` clusters, below 0 if they have not; ``chain`` says which they are.
    Score and clusters are one number, in which any score outweighs all clusters. The regions are
    looked at from the last to the first, so that the one at hand comes first in its set, and of
    equal sets the one with it is read earlier.
    """
    scale = sum(sizes) + 1
    impossible = -1
    worth = [[impossible] * (clusters + 1) for _ in range(count + 1)]
    worth[0][0] = 0
    chain: list[list[Chain]] = [[None] * (clusters + 1) for _ in range(count + 1)]
    for place in reversed(range(len(scores))):
        size = sizes[place]
        value = scores[place] * scale + size
        # Those before this place can take no more than there are, and the rest is to be had here.
        for taken in range(min(count, len(scores) - place), max(1, count - place) - 1, -1):
            fewer, behind = worth[taken - 1], chain[taken - 1]
            row, links = worth[taken], chain[taken]
            for short in range(clusters + 1):
                left = max(0, short - size)
                if fewer[left] != impossible and fewer[left] + value >= row[short]:
                    row[short] = fewer[left] + value
                    links[short] = (place, behind[left])
    found: list[int] = []
    link = chain[count][clusters]
    while link is not None:
        found.append(link[0])
        link = link[1]
    return found
