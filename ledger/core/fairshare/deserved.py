"""What each queue deserves of each resource: weighted max-min fairness, found exactly.

Picture one vessel per queue, as wide as its weight, all standing in the same water. A queue is
never below its guarantee, its *floor*, nor above what it asks for and may hold, its *upper* bound;
in between it has its weight times the *level*, and the level is the one at which the water is used
up. Only this level has to be found: every queue begins to rise where floor / weight is reached and
stops at upper / weight, and between two such points the sum grows in a straight line. Sorting the
points and walking along them once costs n log n, and nothing is approached step by step.

If the guarantees together exceed the total they are no floors any more but upper bounds: the total
is shared out by weight, nobody gets more than its guarantee, and the answer says so.

Which queues take part and what they ask for is left to the caller.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from ledger.core.fairshare.orders import exact_bits, exact_key
from ledger.core.fairshare.queues import Queue, require_queues
from ledger.core.fairshare.resources import (
    Amounts,
    QueueName,
    Resource,
    resources_of,
)
from ledger.core.shares import require_counts


class Claim(NamedTuple):
    """A claim on one resource: by ``weight``, at least ``floor`` and at most ``upper``."""

    weight: int
    floor: int
    upper: int


@dataclass(frozen=True, slots=True)
class Fill:
    """What each claim got, and the level: what one unit of weight gets where nothing clamps it.

    There is no level where the amount is enough for all upper bounds.
    """

    level: Fraction | None
    parts: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class QueueClaim:
    """A queue that takes part, with all that its jobs hold and wait for."""

    queue: Queue
    request: Amounts


@dataclass(frozen=True, slots=True)
class ResourceShares:
    """How one resource was shared out, with all that is needed to do it again by hand.

    ``claims`` are the bounds that were used. ``infeasible`` says that the guarantees exceed the
    total, so that they were taken as upper bounds.
    """

    total: int
    level: Fraction | None
    infeasible: bool
    claims: Mapping[QueueName, Claim]
    parts: Mapping[QueueName, Fraction]


@dataclass(frozen=True, slots=True)
class Deserved:
    """What each queue deserves, resource by resource; both in the order of their names."""

    resources: Mapping[Resource, ResourceShares]
    queues: tuple[QueueName, ...]

    def of(self, queue: QueueName) -> dict[Resource, Fraction]:
        """All that one queue deserves."""
        return {resource: shares.parts[queue] for resource, shares in self.resources.items()}

    @property
    def infeasible(self) -> tuple[Resource, ...]:
        """The resources of which more is guaranteed than there is (``guarantee_infeasible``)."""
        return tuple(name for name, shares in self.resources.items() if shares.infeasible)


def deserve(total: Amounts, claims: Sequence[QueueClaim]) -> Deserved:
    """Share ``total`` out among the queues.

    The resources are those that the total, a request or a guarantee names.
    """
    require_counts("total", total)
    require_queues([claim.queue for claim in claims])
    for claim in claims:
        require_counts(f"queue {claim.queue.name}: request", claim.request)
    return shared_out(total, claims)


def shared_out(total: Amounts, claims: Sequence[QueueClaim]) -> Deserved:
    """The same for whoever made sure already of what ``deserve`` refuses."""
    resources = resources_of(
        [
            total,
            *(claim.request for claim in claims),
            *(claim.queue.guarantee for claim in claims),
        ]
    )
    by_name = sorted(claims, key=lambda claim: claim.queue.name)
    return Deserved(
        resources={resource: _shared(resource, total, by_name) for resource in resources},
        queues=tuple(claim.queue.name for claim in by_name),
    )


def fill(amount: Fraction, claims: Sequence[Claim]) -> Fill:
    """Share ``amount`` out by weight between the bounds; the floors fit into it."""
    # In units of one over the denominator everything is a whole number.
    unit = amount.denominator
    wanted = amount.numerator
    if sum([claim.upper for claim in claims]) * unit <= wanted:
        return Fill(None, tuple([Fraction(claim.upper) for claim in claims]))

    level = _level(wanted, unit, claims)
    height, width = level.numerator, level.denominator
    parts = []
    held = 0
    for weight, floor, upper in claims:
        risen = weight * height
        if risen >= upper * width:
            parts.append(Fraction(upper))
            held += upper * width
        elif risen <= floor * width:
            parts.append(Fraction(floor))
            held += floor * width
        else:
            parts.append(Fraction(risen, width))
            held += risen
    assert held * unit == wanted * width, "nothing is lost or made up"
    return Fill(level, tuple(parts))


def whole_units(shares: ResourceShares) -> dict[QueueName, int]:
    """The parts in whole units, none lost: largest remainder first, then by name.

    For people. Whatever is decided is decided by the exact parts.
    """
    whole = {name: part.numerator // part.denominator for name, part in shares.parts.items()}
    missing = sum(shares.parts.values(), start=Fraction(0)) - sum(whole.values())
    assert missing.denominator == 1, "the parts add up to whole units"
    nearest = sorted(whole, key=lambda name: (whole[name] - shares.parts[name], name))
    for name in nearest[: missing.numerator]:
        whole[name] += 1
    return whole


def _shared(resource: Resource, total: Amounts, by_name: Sequence[QueueClaim]) -> ResourceShares:
    there = total.get(resource, 0)
    floors = [claim.queue.guarantee.get(resource, 0) for claim in by_name]
    guaranteed = sum(floors)
    infeasible = guaranteed > there
    # What others are guaranteed is out of reach for everybody else.
    free = max(there - guaranteed, 0)
    claims = []
    for claim, floor in zip(by_name, floors, strict=True):
        if infeasible:
            claims.append(Claim(claim.queue.weight, 0, floor))
            continue
        reach = free + floor
        limit = claim.queue.capability.get(resource)
        if limit is not None and limit < reach:
            reach = limit
        upper = max(floor, min(claim.request.get(resource, 0), reach))
        claims.append(Claim(claim.queue.weight, floor, upper))
    filled = fill(Fraction(there), claims)
    names = [claim.queue.name for claim in by_name]
    return ResourceShares(
        total=there,
        level=filled.level,
        infeasible=infeasible,
        claims=dict(zip(names, claims, strict=True)),
        parts=dict(zip(names, filled.parts, strict=True)),
    )


def _level(wanted: int, unit: int, claims: Sequence[Claim]) -> Fraction:
    """The level at which the claims together hold ``wanted`` units, which is less than they may."""
    bits = exact_bits(max(claim.weight for claim in claims))
    # All claims in units, and the points where one begins (place) or ends (~place) to rise.
    floors = [claim.floor * unit for claim in claims]
    uppers = [claim.upper * unit for claim in claims]
    points: list[tuple[int, int]] = []
    still = 0
    rising = 0
    for place, claim in enumerate(claims):
        if floors[place] == uppers[place]:
            still += floors[place]
            continue
        if floors[place]:
            still += floors[place]
            points.append((exact_key(floors[place], claim.weight, bits), place))
        else:
            rising += claim.weight
        points.append((exact_key(uppers[place], claim.weight, bits), ~place))
    assert still <= wanted, "the floors fit"
    points.sort()

    for _, signed in points:
        place = signed if signed >= 0 else ~signed
        weight = claims[place].weight
        bound = floors[place] if signed >= 0 else uppers[place]
        # Up to this point the sum is still + rising * level.
        if (wanted - still) * weight <= rising * bound:
            break
        if signed >= 0:
            still -= bound
            rising += weight
        else:
            still += bound
            rising -= weight
    # Nobody rises only where the floors are all there is: the water has not begun to rise.
    return Fraction(wanted - still, rising * unit) if rising else Fraction(0)
