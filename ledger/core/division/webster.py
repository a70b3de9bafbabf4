"""Give out replicas one after the other, each to the cluster that has the best claim to it.

This is the method of Webster and Sainte-Laguë, which Karmada uses from v1.16 on. A cluster with
weight w that holds s replicas claims the next one with w / (2s + 1). The highest claim gets it; of
equal claims that of the cluster that holds less; then the name decides, upwards for one half of the
workloads and downwards for the other. Growing by one therefore never takes a replica from anybody.

A claim does not depend on what others hold. So the claims of all clusters, sorted, are one list
that is the same for every number of replicas, and the answer is its beginning. Nobody has to walk
there replica by replica: the shares that go with some unit u = replicas per weight, rounded to the
nearest whole number, are all claims of at least 1 / 2u, whatever u is. With the u at which the
unrounded shares add up, rounding misses the wanted sum by at most half a replica for each cluster,
and only these last few are handed out, or taken back, one by one.

Who the clusters are, what stands for their weights and whether there is room is left to whoever
asks: ``ledger.core.division.dynamic`` is one who does.

Rule, worked examples and the differences from Karmada: docs/core/webster.md
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heapify, heappop, heapreplace
from operator import itemgetter
from typing import Final

from ledger.core.shares import in_order_of_ratio, require_count, require_counts
from ledger.units import ClusterName, Replicas, Weight

FNV_OFFSET: Final = 0x811C9DC5
FNV_PRIME: Final = 0x01000193
"""FNV-1a with 32 bits: what Karmada puts a workload's uid through before it looks at one bit."""


@dataclass(frozen=True, slots=True)
class Party:
    """What one cluster had, got, and claimed for it. A weight of 0 claims nothing."""

    cluster: ClusterName
    weight: Weight
    initial: Replicas
    replicas: Replicas

    @property
    def got(self) -> Replicas:
        """How many of the new replicas it received."""
        return Replicas(self.replicas - self.initial)

    @property
    def last_claim(self) -> Fraction | None:
        """With what it won its last new replica; None if it got none."""
        return Fraction(self.weight, 2 * self.replicas - 1) if self.got else None

    @property
    def next_claim(self) -> Fraction:
        """With what it would ask for one more."""
        return Fraction(self.weight, 2 * self.replicas + 1)


@dataclass(frozen=True, slots=True)
class Apportionment:
    """Who has how many now, in the order of the names.

    It can be checked without doing it again: no ``next_claim`` comes before a ``last_claim``.
    ``names_descend`` says that among equals the later name came first.
    """

    parties: tuple[Party, ...]
    names_descend: bool

    @property
    def allocation(self) -> dict[ClusterName, Replicas]:
        """The answer: all that have a weight or had replicas, in the order of the names."""
        return {party.cluster: party.replicas for party in self.parties}

    @property
    def last_served(self) -> Party | None:
        """Who received the last replica, hence the weakest claim that was met; None if none was."""
        turns = [
            (self._turn(place, party.replicas - 1), party)
            for place, party in enumerate(self.parties)
            if party.got
        ]
        return max(turns, key=itemgetter(0))[1] if turns else None

    @property
    def next_in_line(self) -> Party | None:
        """Who would receive one more, hence the strongest claim that was not met."""
        turns = [
            (self._turn(place, party.replicas), party) for place, party in enumerate(self.parties)
        ]
        return min(turns, key=itemgetter(0))[1] if turns else None

    def _turn(self, place: int, seats: int) -> tuple[Fraction, int, int]:
        """When the claim of who holds ``seats`` is served: what sorts lower is served earlier."""
        claim = Fraction(self.parties[place].weight, 2 * seats + 1)
        return (-claim, seats, -place if self.names_descend else place)


def apportion(
    replicas: Replicas,
    weights: Mapping[ClusterName, Weight],
    *,
    initial: Mapping[ClusterName, Replicas] | None = None,
    workload: str = "",
) -> Apportionment:
    """Give out ``replicas`` new ones on top of ``initial``.

    A cluster that only ``initial`` names has weight 0. If no weight is above 0, all clusters are
    alike. Without any cluster nothing is given out.
    """
    held = initial or {}
    require_count("replicas", replicas)
    require_counts("weight", weights)
    require_counts("initial", held)

    descend = names_descend(workload)
    # Code points sort as their UTF-8 bytes do, so this is the order of the bytes.
    clusters = sorted({**weights, **held})
    votes = [weights.get(cluster, Weight(0)) for cluster in clusters]
    before = [held.get(cluster, Replicas(0)) for cluster in clusters]
    # Claims of nothing fall to whoever holds least: the same turns as among equal weights.
    counted = [int(vote) for vote in votes] if any(votes) else [1] * len(clusters)
    after = _seats(replicas, counted, before, descend=descend)

    assert sum(after) == sum(before) + (replicas if clusters else 0), "no replica is lost"
    return Apportionment(
        parties=tuple(map(Party, clusters, votes, before, map(Replicas, after))),
        names_descend=descend,
    )


def names_descend(workload: str) -> bool:
    """Whether the later of two equal names comes first: if the digest of the uid is odd."""
    digest = FNV_OFFSET
    for byte in workload.encode("utf-8"):
        digest = (digest ^ byte) * FNV_PRIME % 2**32
    return bool(workload) and digest % 2 == 1


def _seats(
    replicas: int, weights: Sequence[int], before: Sequence[int], *, descend: bool
) -> list[int]:
    """What each place holds in the end."""
    after = list(before)
    entitled = [place for place, weight in enumerate(weights) if weight]
    if not entitled or not replicas:
        return after

    numerator, denominator = _unit(replicas, weights, before, entitled)
    for place in entitled:
        # The share at this unit, rounded to the nearest, half a replica upwards.
        rounded = (2 * weights[place] * numerator + denominator) // (2 * denominator)
        after[place] = max(before[place], rounded)
    missing = replicas + sum(before) - sum(after)
    _settle(missing, weights, before, after, entitled, descend=descend)
    return after


def _unit(
    replicas: int, weights: Sequence[int], before: Sequence[int], entitled: Sequence[int]
) -> tuple[int, int]:
    """The replicas per weight at which the unrounded shares add up, as numerator and denominator.

    Who holds more than its share keeps that, and the others divide what is left. Those are a
    beginning of the list by how much is held for the weight.
    """
    ratios = [(before[place], weights[place]) for place in entitled]
    numerator, denominator = replicas, 0
    for index in in_order_of_ratio(ratios):
        seats, weight = ratios[index]
        if denominator and seats * denominator >= numerator * weight:
            break
        numerator += seats
        denominator += weight
    return numerator, denominator


def _settle(
    missing: int,
    weights: Sequence[int],
    before: Sequence[int],
    after: list[int],
    entitled: Sequence[int],
    *,
    descend: bool,
) -> None:
    """Meet the ``missing`` claims that come next, or take back those that came last.

    The heap holds one claim of each place. Claims are compared as whole numbers: stretched until
    two that differ have different whole parts. Taking back is the same with the order turned round.
    """
    forward = missing > 0
    sign = 1 if forward else -1
    spread = 2 * (2 * (max(after) + abs(missing)) + 1).bit_length()

    def turn(place: int) -> tuple[int, int, int, int]:
        seats = after[place] if forward else after[place] - 1
        claim = (weights[place] << spread) // (2 * seats + 1)
        name = -place if descend else place
        return (-sign * claim, sign * seats, sign * name, place)

    heap = [turn(place) for place in entitled if forward or after[place] > before[place]]
    heapify(heap)
    for _ in range(abs(missing)):
        place = heap[0][-1]
        after[place] += sign
        if forward or after[place] > before[place]:
            heapreplace(heap, turn(place))
        else:
            heappop(heap)
