"""What a node's capacities by single resources amount to, and how loaded the node is.

An instance needs all of its resources, so the scarcest one decides. A node that lacks one of them
altogether is left out, and it is said which one that was. How full a node is and how much of it one
instance takes are means over the resources, in which bound cores count a hundred times.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from ledger.core.capacity.amounts import INFINITE
from ledger.core.shares import require_count
from ledger.units import NodeName

BOUND_CPU_WEIGHT: Final = 100
"""How much bound cores count in a mean: they are what nodes run out of first."""
OTHER_WEIGHT: Final = 1
"""How much any other resource counts."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The capacity of every node that can serve, in the order of the names, and of all together.

    ``lacking`` says of every other node which resource is the first that it has nothing of, by its
    place in the question.
    """

    capacity: Mapping[NodeName, int]
    total: int
    lacking: Mapping[NodeName, int]


def merge(resources: Sequence[Mapping[NodeName, int]]) -> Merged:
    """The smallest of each node's capacities; a node that a resource does not mention has none."""
    names = sorted({name for resource in resources for name in resource})
    capacity: dict[NodeName, int] = {}
    lacking: dict[NodeName, int] = {}
    for name in names:
        amounts = [resource.get(name, 0) for resource in resources]
        scarcest = min(amounts)
        if scarcest > 0:
            capacity[name] = min(scarcest, INFINITE)
        else:
            lacking[name] = next(place for place, amount in enumerate(amounts) if amount <= 0)
    return Merged(capacity, min(sum(capacity.values()), INFINITE), lacking)


@dataclass(frozen=True, slots=True)
class Load:
    """How full a node is, and the part of it that one more instance takes."""

    usage: Fraction
    rate: Fraction
    weight: int


def load(*, used: int, capacity: int, request: int, weight: int = OTHER_WEIGHT) -> Load:
    """The load by one resource; a node that has none of it counts as empty."""
    for what, amount in (("used", used), ("capacity", capacity), ("request", request)):
        require_count(what, amount)
    if capacity == 0:
        return Load(Fraction(0), Fraction(0), weight)
    return Load(_ratio(used, capacity), _ratio(request, capacity), weight)


# What an instance takes of a node is the same for all nodes that are alike, and as long as nothing
# happens on a node so is how full it is.
@lru_cache(maxsize=1 << 14)
def _ratio(part: int, whole: int) -> Fraction:
    return Fraction(part, whole)


def mean_load(loads: Sequence[Load]) -> Load:
    """The load by all resources together; without any the node counts as empty."""
    weight = sum(one.weight for one in loads)
    if weight == 0:
        return Load(Fraction(0), Fraction(0), 0)
    if len(loads) == 1:
        return loads[0]
    return Load(
        usage=_mean([(one.usage, one.weight) for one in loads], weight),
        rate=_mean([(one.rate, one.weight) for one in loads], weight),
        weight=weight,
    )


def _mean(ratios: Sequence[tuple[Fraction, int]], weight: int) -> Fraction:
    """Added up as whole numbers: a fraction for each step would be put into lowest terms each time."""
    above, below = 0, 1
    for ratio, times in ratios:
        above = above * ratio.denominator + times * ratio.numerator * below
        below *= ratio.denominator
    return Fraction(above, below * weight)
