"""Divide replicas over clusters by static weight, moving as little of the last result as it can.

Each cluster's share is its weight's part of the replicas, an exact fraction. A division is fair
when every cluster holds its share rounded down, its *floor*, or one more. The replicas that the
floors leave over are the *residual*, always fewer than there are clusters with a weight; which
clusters hold them is the only freedom there is, and the first of these rules that applies uses it:

``keep``          the last result is fair for this request too: nothing moves
``exact``         the floors leave nothing over: there is only one fair division
``partial_fit``   clusters came or went, and those that stayed can stay as they are: what they do
                  not hold goes to the clusters that came
``minimal``       (mode minimal) the fair division with the least movement; a lot decides between
                  equals
``inertia_add``   (mode seed) the floors are the old ones: every holder of a residual keeps it and
                  a lot gives out the new ones
``inertia_drop``  (mode seed) the same with fewer residuals: a lot says which holders keep theirs
``redraw``        a lot gives out the whole residual

Without a last result, or asked to decide afresh, only ``exact`` and ``redraw`` apply.

Hard caps are filled like water: whoever's share exceeds its cap gets the cap, and the others
divide what is left, until nobody's does. Capacities, by contrast, only lean the odds of the lot.

Odds in proportion to the weights are not the same as shares that are met on average. Whoever wants
the latter lets the residual of a ``redraw`` fall by the ``remainders``.

Whose last result this is, which clusters are candidates and what a shortage means for the
workload is left to ``ledger.decisions``; the lot itself is ``ledger.core.lot``.

Rule, worked examples and the differences from Karmada: docs/core/division.md
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, NamedTuple, get_args

from ledger.core.division.shortage import Shortage
from ledger.core.lot import Lot, Sample
from ledger.core.shares import (
    in_order_of_ratio,
    lowest_terms,
    require_count,
    require_counts,
    whole_parts,
)
from ledger.errors import InvalidRequest
from ledger.units import ClusterName, Replicas, Weight

Inertia = Literal["minimal", "seed"]
"""How a last result that no longer fits is treated: moved as little as possible, or kept only
while the floors are unchanged, as Karmada's proposal 4151 has it."""

Eligibility = Literal["all", "fractional"]
"""Who may hold a residual: every cluster with a weight, or only those whose share is not whole."""

Chances = Literal["odds", "remainders"]
"""How the residual of a redraw falls: drawn one by one with the odds, or all at once so that each
cluster's chance is exactly the part of a replica that its share is short of."""

Branch = Literal["keep", "exact", "partial_fit", "minimal", "inertia_add", "inertia_drop", "redraw"]
"""Which rule made a division. The names are public: they stand in every division decision."""

KAPPA_WITH_CAPACITIES: Final = Fraction(1, 2)
"""How far weights rule the odds when capacities are given and the request does not say: halfway.

The proposal names no figure. Half lets neither a weight nor a momentarily empty cluster win alone.
"""


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be divided over whom.

    ``weights`` names every candidate; if all of them are 0, all count 1. An absent cap is no
    limit, an absent capacity is 0. ``kappa`` says how far weights and not capacities make the odds
    of the lot: 1 is weights alone.
    """

    replicas: Replicas
    weights: Mapping[ClusterName, Weight]
    inertia: Inertia = "minimal"
    fresh: bool = False
    caps: Mapping[ClusterName, Replicas | None] | None = None
    capacities: Mapping[ClusterName, Replicas | None] | None = None
    kappa: Fraction | None = None
    eligibility: Eligibility = "all"
    chances: Chances = "odds"


@dataclass(frozen=True, slots=True)
class Last:
    """The last division of the workload by static weight, and what it was made from.

    ``allocation`` is what stands today: evictions are taken out of it, so it need not add up to
    ``replicas``. The result of another strategy is not a ``Last``.
    """

    allocation: Mapping[ClusterName, Replicas]
    replicas: Replicas
    weights: Mapping[ClusterName, Weight]


class Share(NamedTuple):
    """What one candidate got and why; a tuple, because there is one for every candidate of every division.

    Its share of the open replicas is ``floor`` whole ones and ``remainder`` parts of the open
    weight; ``replicas`` lies between ``floor`` and ``ceiling``. Where the cap is ``filled`` there
    is nothing to share: floor and ceiling are the cap.
    """

    cluster: ClusterName
    weight: Weight
    floor: Replicas
    remainder: int
    ceiling: Replicas
    filled: bool
    replicas: Replicas

    @property
    def residual(self) -> bool:
        """Whether it holds one of the replicas that the floors left over."""
        return self.replicas > self.floor


Purpose = Literal["winners", "keepers"]
"""Winners receive a residual. Keepers are the holders that keep theirs while the others lose it."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A lot that was used: who was in it with which odds, and who was drawn in which order.

    With chances by remainders the odds are the remainders, and ``sample`` says how the lot fell.
    """

    purpose: Purpose
    odds: Mapping[ClusterName, int]
    order: tuple[ClusterName, ...]
    blocks: int
    sample: Sample[ClusterName] | None = None


Reason = Literal["no_weight", "filled", "whole", "drawn", "not_drawn", "held", "floor"]
"""Why one candidate has what it has. The names are public.

``no_weight``   it takes no part
``filled``      its share exceeds its cap
``whole``       its share, or its cap, leaves no room for a residual
``drawn``       the lot gave it a residual, or left it the one it had
``not_drawn``   it was in the lot and was not drawn
``held``        it had a residual and nobody had to give one up
``floor``       it has its floor, and no residual was left for it
"""


@dataclass(frozen=True, slots=True)
class Division:
    """Who gets how many, with everything a reader needs to do it again on paper.

    ``shares`` lists every candidate in the order of the names. ``open_replicas`` and
    ``open_weight`` are what is left once filled caps are taken out of ``replicas`` and ``weight``;
    without caps they are the same. ``drawing`` is None when nothing was left to luck.
    """

    branch: Branch
    replicas: Replicas
    weight: Weight
    open_replicas: Replicas
    open_weight: Weight
    residual: Replicas
    kappa: Fraction
    shares: tuple[Share, ...]
    drawing: Drawing | None

    @property
    def allocation(self) -> dict[ClusterName, Replicas]:
        """The answer: every candidate, also those that get nothing, in the order of the names."""
        return {share.cluster: share.replicas for share in self.shares}

    @property
    def reasons(self) -> dict[ClusterName, Reason]:
        """Why each candidate has what it has, in the order of the names."""
        in_the_draw = {} if self.drawing is None else self.drawing.odds
        reasons: dict[ClusterName, Reason] = {}
        for share in self.shares:
            if not share.weight:
                reason: Reason = "no_weight"
            elif share.filled:
                reason = "filled"
            elif share.floor == share.ceiling:
                reason = "whole"
            elif share.cluster in in_the_draw:
                reason = "drawn" if share.residual else "not_drawn"
            else:
                reason = "held" if share.residual else "floor"
            reasons[share.cluster] = reason
        return reasons

    @property
    def drew(self) -> bool:
        """Whether the lot was used: then, and only then, the workload's epoch goes up by one."""
        return self.drawing is not None


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether an allocation is a fair division; strictly, if no whole share has one on top."""

    fits: bool
    fits_strict_quota: bool


def divide(request: Request, *, last: Last | None, lot: Lot) -> Division | Shortage:
    """Divide the replicas, moving as little of ``last`` as the request allows.

    Raises ``InvalidRequest`` for a request that means nothing; caps that cannot hold the replicas
    are an answer and not an error.
    """
    _require_valid(request)
    if last is not None:
        _require_valid_last(last)

    weights = _effective(request.weights)
    box = _box(request, request.replicas, weights)
    if isinstance(box, Shortage):
        return box

    plan = _plan(box, request, None if request.fresh else last)
    kappa = _kappa(request.capacities, request.kappa)
    drawing = None
    if plan.draws and plan.branch == "redraw" and request.chances == "remainders":
        drawing = _sampled(box, lot)
    elif plan.draws:
        odds = _odds(weights, request.capacities, kappa)
        in_the_draw = {cluster: odds[cluster] for cluster in plan.pool}
        draw = lot.draw(in_the_draw, plan.draws)
        drawing = Drawing(plan.purpose, in_the_draw, draw.order, draw.blocks)
    drawn = frozenset(drawing.order if drawing else ())
    allocation = [
        count + (cluster in drawn) for cluster, count in zip(box.clusters, plan.base, strict=True)
    ]

    assert sum(allocation) == request.replicas, "no replica is lost or made up"
    assert box.contains(allocation), "the division is fair"
    return Division(
        branch=plan.branch,
        replicas=request.replicas,
        weight=Weight(sum(weights.values())),
        open_replicas=Replicas(box.open_replicas),
        open_weight=Weight(box.open_weight),
        residual=Replicas(box.residual),
        kappa=kappa,
        shares=tuple(
            map(
                Share,
                box.clusters,
                weights.values(),
                box.floors,
                box.remainders,
                box.ceilings,
                box.filled,
                allocation,
            )
        ),
        drawing=drawing,
    )


def fit(
    allocation: Mapping[ClusterName, Replicas],
    *,
    replicas: Replicas,
    weights: Mapping[ClusterName, Weight],
) -> Fit:
    """Say whether ``allocation`` is one of the fair divisions of ``replicas`` without caps.

    A holding is fair when it is less than one away from the share, below as above, or exactly one
    above a share that is whole; the strict reading refuses the latter.
    """
    require_count("replicas", replicas)
    _require_weights(weights)
    require_counts("allocation", allocation)
    effective = _effective(weights)
    total = sum(effective.values())
    fits = strict = sum(allocation.values()) == replicas and all(
        effective.get(cluster, 0) > 0 for cluster, held in allocation.items() if held
    )
    for cluster, weight in effective.items():
        # How far the holding lies above the share, in parts of the total weight.
        above = allocation.get(cluster, 0) * total - replicas * weight
        fits = fits and -total < above <= total
        strict = strict and -total < above < total
    return Fit(fits=fits, fits_strict_quota=strict)


def draw_probability(
    weights: Mapping[ClusterName, Weight],
    *,
    capacities: Mapping[ClusterName, Replicas | None] | None = None,
    kappa: Fraction | None = None,
) -> dict[ClusterName, Fraction]:
    """Each candidate's chance of the first residual when every cluster with a weight is drawn from."""
    _require_weights(weights)
    _require_capacities(capacities, kappa)
    effective = _effective(weights)
    odds = _odds(effective, capacities, _kappa(capacities, kappa))
    total = sum(odds.values())
    return {cluster: Fraction(odds.get(cluster, 0), total) for cluster in effective}


@dataclass(frozen=True, slots=True)
class _Box:
    """All fair divisions: between floors and ceilings, adding up to the replicas.

    The columns follow the clusters, which are in the order of their names. A candidate without a
    weight has 0 for both floor and ceiling, so that "nothing where there is no weight" needs no
    case of its own anywhere below.
    """

    clusters: tuple[ClusterName, ...]
    replicas: int
    open_replicas: int
    open_weight: int
    floors: tuple[int, ...]
    remainders: tuple[int, ...]
    ceilings: tuple[int, ...]
    filled: tuple[bool, ...]

    @property
    def residual(self) -> int:
        """The replicas that the floors leave over."""
        return self.replicas - sum(self.floors)

    def bounds(self, held: Sequence[int]) -> Iterator[tuple[ClusterName, int, int, int]]:
        """Each cluster with its floor, what it holds, and its ceiling."""
        return zip(self.clusters, self.floors, held, self.ceilings, strict=True)

    def contains(self, held: Sequence[int]) -> bool:
        """Whether every cluster is between floor and ceiling, whatever the sum."""
        return all(low <= count <= high for _, low, count, high in self.bounds(held))

    def below_ceiling(self, held: Sequence[int]) -> list[ClusterName]:
        """Who could hold a residual and, holding its floor, has none."""
        return [cluster for cluster, low, count, high in self.bounds(held) if count == low < high]

    def above_floor(self, held: Sequence[int]) -> list[ClusterName]:
        """Who holds a residual."""
        return [cluster for cluster, low, count, _ in self.bounds(held) if count > low]


def _box(request: Request, replicas: int, weights: Mapping[ClusterName, Weight]) -> _Box | Shortage:
    """The fair divisions of ``replicas`` by ``weights`` under the request's caps."""
    members = [cluster for cluster, weight in weights.items() if weight]
    caps = _stated(request.caps)
    limits = {cluster: caps[cluster] for cluster in members if cluster in caps}
    if len(limits) == len(members):
        room = sum(limits.values())
        if room < replicas:
            return Shortage(wanted=Replicas(replicas), room=Replicas(room))

    filled = _filled(replicas, weights, limits)
    open_weights = [0 if cluster in filled else int(weights[cluster]) for cluster in weights]
    open_replicas = replicas - sum(filled.values())
    parts = whole_parts(open_replicas, open_weights)
    floors = [whole for whole, _ in parts]
    remainders = [remainder for _, remainder in parts]
    ceilings = [
        whole + (weight > 0 and (remainder > 0 or request.eligibility == "all"))
        for weight, (whole, remainder) in zip(open_weights, parts, strict=True)
    ]
    if limits:
        for place, cluster in enumerate(weights):
            if cluster in filled:
                floors[place] = ceilings[place] = filled[cluster]
            elif cluster in limits:
                ceilings[place] = min(ceilings[place], limits[cluster])
    return _Box(
        clusters=tuple(weights),
        replicas=replicas,
        open_replicas=open_replicas,
        open_weight=sum(open_weights),
        floors=tuple(floors),
        remainders=tuple(remainders),
        ceilings=tuple(ceilings),
        filled=tuple(cluster in filled for cluster in weights),
    )


def _filled(
    replicas: int, weights: Mapping[ClusterName, Weight], limits: Mapping[ClusterName, int]
) -> dict[ClusterName, int]:
    """The clusters whose share exceeds their limit, each with that limit.

    A filled one leaves the others a larger share, which can fill further ones. One cluster always
    stays open: if every share exceeded its limit, the limits together would be too small.
    """
    filled: dict[ClusterName, int] = {}
    left: int = replicas
    total: int = sum(weights.values())
    names = list(limits)
    ratios = [(limits[cluster], int(weights[cluster])) for cluster in names]
    # The least room for its weight is filled first; the first that is not is followed by none.
    for place in in_order_of_ratio(ratios):
        limit, weight = ratios[place]
        if left * weight <= limit * total:
            break
        filled[names[place]] = limit
        left -= limit
        total -= weight
    return filled


@dataclass(frozen=True, slots=True)
class _Plan:
    """A division but for luck: ``base``, and one more for each of ``draws`` names from ``pool``."""

    branch: Branch
    base: Sequence[int]
    pool: Sequence[ClusterName] = ()
    draws: int = 0
    purpose: Purpose = "winners"


def _plan(box: _Box, request: Request, last: Last | None) -> _Plan:
    """The first rule that applies."""
    if last is None:
        return _redraw(box) if box.residual else _Plan("exact", box.floors)

    # What a cluster held that is no candidate any more is gone; the rest of the result stands.
    held = [last.allocation.get(cluster, 0) for cluster in box.clusters]
    if sum(held) == box.replicas and box.contains(held):
        return _Plan("keep", held)
    if not box.residual:
        return _Plan("exact", box.floors)

    members, members_then = _members(request.weights), _members(last.weights)
    if members != members_then:
        partial_fit = _partial_fit(box, held, stayed=members & members_then)
        if partial_fit is not None:
            return partial_fit
    if request.inertia == "minimal":
        return _minimal(box, held)
    if (
        members == members_then
        and box.contains(held)
        and box.floors == _floors_then(request, last, box.clusters)
    ):
        return _inertia(box, held)
    return _redraw(box)


def _redraw(box: _Box) -> _Plan:
    return _Plan("redraw", box.floors, box.below_ceiling(box.floors), box.residual)


def _sampled(box: _Box, lot: Lot) -> Drawing:
    """The residual at one stroke: each cluster's chance is its remainder over the open weight.

    Both in lowest terms, for the same reason as the odds of a lot.
    """
    clusters = [c for c, rest in zip(box.clusters, box.remainders, strict=True) if rest]
    step, *widths = lowest_terms([box.open_weight, *filter(None, box.remainders)])
    odds = dict(zip(clusters, widths, strict=True))
    sample = lot.sample(odds, step=step)
    return Drawing("winners", odds, sample.order, sample.blocks, sample)


def _partial_fit(box: _Box, held: Sequence[int], *, stayed: frozenset[ClusterName]) -> _Plan | None:
    """Who stayed stays as it is and the newcomers share the rest; None if that is not fair."""
    base: list[int] = []
    newcomers: list[ClusterName] = []
    for cluster, low, count, high in box.bounds(held):
        if cluster not in stayed:
            base.append(low)
            if low < high:
                newcomers.append(cluster)
        elif low <= count <= high:
            base.append(count)
        else:
            return None
    missing = box.replicas - sum(base)
    if 0 <= missing <= len(newcomers):
        return _Plan("partial_fit", base, newcomers, missing)
    return None


def _minimal(box: _Box, held: Sequence[int]) -> _Plan:
    """The nearest fair division: clamp every cluster into the box, then settle the sum.

    Inside the box each further step away from the clamped point costs exactly one movement, so
    every choice of as many steps as the sum is off is a nearest one, and the lot may choose.
    """
    nearest = [min(max(count, low), high) for _, low, count, high in box.bounds(held)]
    missing = box.replicas - sum(nearest)
    if missing >= 0:
        return _Plan("minimal", nearest, box.below_ceiling(nearest), missing)
    return _Plan("minimal", box.floors, box.above_floor(nearest), box.residual, "keepers")


def _inertia(box: _Box, held: Sequence[int]) -> _Plan:
    """The floors are what they were: holders come first, gaining or losing as few as it takes."""
    holders = box.above_floor(held)
    if box.residual <= len(holders):
        return _Plan("inertia_drop", box.floors, holders, box.residual, "keepers")
    return _Plan("inertia_add", held, box.below_ceiling(held), box.residual - len(holders))


def _floors_then(
    request: Request, last: Last, clusters: Sequence[ClusterName]
) -> tuple[int, ...] | None:
    """The floors that the last result was made from, under today's caps; None if they hold less."""
    weights_then = _effective(last.weights)
    box = _box(
        request,
        last.replicas,
        {cluster: weights_then.get(cluster, Weight(0)) for cluster in clusters},
    )
    return None if isinstance(box, Shortage) else box.floors


def _effective(weights: Mapping[ClusterName, Weight]) -> dict[ClusterName, Weight]:
    """The weights in the order of the names; if none is above 0, each counts 1.

    Code points sort as their UTF-8 bytes do, so this is the order of the bytes.
    """
    nobody = not any(weights.values())
    return {cluster: Weight(1) if nobody else weights[cluster] for cluster in sorted(weights)}


def _members(weights: Mapping[ClusterName, Weight]) -> frozenset[ClusterName]:
    """The clusters that take part: those with a weight, or all if none has one."""
    return frozenset(cluster for cluster, weight in weights.items() if weight) or frozenset(weights)


def _kappa(
    capacities: Mapping[ClusterName, Replicas | None] | None, kappa: Fraction | None
) -> Fraction:
    if kappa is not None:
        return kappa
    return Fraction(1) if capacities is None else KAPPA_WITH_CAPACITIES


def _odds(
    weights: Mapping[ClusterName, Weight],
    capacities: Mapping[ClusterName, Replicas | None] | None,
    kappa: Fraction,
) -> dict[ClusterName, int]:
    """The odds of every cluster with a weight, before caps, in lowest terms.

    A chance is ``kappa`` of the cluster's part of all weight and the rest of its part of all
    capacity, here over one denominator. In lowest terms, because the lot reads whole numbers: the
    same proportions must draw the same names, however large the numbers that express them.
    """
    members = [cluster for cluster, weight in weights.items() if weight]
    capacity = _stated(capacities)
    room = [capacity.get(cluster, Replicas(0)) for cluster in members]
    odds = [int(weights[cluster]) for cluster in members]
    if any(room):
        by_weight = kappa.numerator * sum(room)
        by_room = (kappa.denominator - kappa.numerator) * sum(odds)
        odds = [
            by_weight * weight + by_room * free for weight, free in zip(odds, room, strict=True)
        ]
    return dict(zip(members, lowest_terms(odds), strict=True))


def _stated(amounts: Mapping[ClusterName, Replicas | None] | None) -> dict[ClusterName, Replicas]:
    """The amounts that are given: one that is None is as good as absent."""
    if amounts is None:
        return {}
    return {cluster: amount for cluster, amount in amounts.items() if amount is not None}


def _require_valid(request: Request) -> None:
    require_count("replicas", request.replicas)
    _require_weights(request.weights)
    require_counts("cap", _stated(request.caps))
    _require_capacities(request.capacities, request.kappa)
    if request.inertia not in get_args(Inertia):
        raise InvalidRequest("invalid_request", f"inertia: there is no {request.inertia!r}")
    if request.eligibility not in get_args(Eligibility):
        raise InvalidRequest("invalid_request", f"eligibility: there is no {request.eligibility!r}")
    if request.chances not in get_args(Chances):
        raise InvalidRequest("invalid_request", f"chances: there is no {request.chances!r}")


def _require_valid_last(last: Last) -> None:
    require_count("last replicas", last.replicas)
    require_counts("last weight", last.weights)
    require_counts("last allocation", last.allocation)


def _require_weights(weights: Mapping[ClusterName, Weight]) -> None:
    if not weights:
        raise InvalidRequest("invalid_request", "weights: there is no candidate cluster")
    require_counts("weight", weights)


def _require_capacities(
    capacities: Mapping[ClusterName, Replicas | None] | None, kappa: Fraction | None
) -> None:
    require_counts("capacity", _stated(capacities))
    if kappa is not None and not 0 <= kappa <= 1:
        raise InvalidRequest("invalid_request", f"kappa: {kappa} is not a part of a whole")
