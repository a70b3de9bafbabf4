"""What can be asked about dividing replicas over clusters, and about the lot behind it."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, Final, TypeVar, cast

from pydantic import Field, model_validator

from ledger.cli.solve.asking import Count, Op, Question, Refused, Written
from ledger.cli.solve.meanings import WHAT_A_BRANCH_DOES
from ledger.cli.solve.telling import table
from ledger.core.division import dynamic, selection, static_weight, webster
from ledger.core.division.duplicated import duplicate
from ledger.core.division.regions import Bounds, Region, TooFew
from ledger.core.division.shortage import Shortage
from ledger.core.lot import Draw, Lot
from ledger.core.shares import proportion
from ledger.errors import InvalidRequest
from ledger.units import ClusterName, Replicas, Weight

Placed = TypeVar("Placed")

ReplicaCount = Annotated[Replicas, Field(ge=0)]
WeightCount = Annotated[Weight, Field(ge=0)]

Kappa = Annotated[list[Count], Field(min_length=2, max_length=2)]
"""Numerator and denominator."""

Range = Annotated[list[Count | None], Field(max_length=2)]
"""The least and the most; what is null or left out is no limit."""


class LastResult(Question):
    """A last result. Only one by static weight is looked into; of another the name is enough."""

    strategy: str
    allocation: dict[ClusterName, ReplicaCount | None] = Field(default={})
    replicas: ReplicaCount = Replicas(0)
    weights: dict[ClusterName, WeightCount] = Field(default={})

    @model_validator(mode="before")
    @classmethod
    def _look_into_static_weight_only(cls, given: Any) -> Any:
        if not isinstance(given, dict) or not isinstance(given.get("strategy"), str):
            return given
        if given["strategy"] != STATIC_WEIGHT:
            return {"strategy": given["strategy"]}
        for name in ("allocation", "replicas", "weights"):
            if given.get(name) is None:
                raise ValueError(f"a last result by {STATIC_WEIGHT} needs {name}")
        return given


STATIC_WEIGHT: Final = "StaticWeight"
"""What Karmada calls the strategy whose last result can be compared with a new one."""


class Static(Question):
    """``division.static``."""

    replicas: ReplicaCount
    weights: dict[ClusterName, WeightCount]
    last: LastResult | None = None
    inertia: static_weight.Inertia = "minimal"
    fresh: bool = False
    caps: dict[ClusterName, ReplicaCount | None] | None = None
    capacities: dict[ClusterName, ReplicaCount | None] | None = None
    kappa: Kappa | None = None
    salt: str = ""
    workload: str = ""
    epoch: Count = 0


class Fitting(Question):
    """``division.fit``."""

    allocation: dict[ClusterName, ReplicaCount | None]
    replicas: ReplicaCount
    weights: dict[ClusterName, WeightCount]


class Probability(Question):
    """``division.draw_probability``."""

    weights: dict[ClusterName, WeightCount]
    capacities: dict[ClusterName, ReplicaCount | None] | None = None
    kappa: Kappa | None = None


class Webster(Question):
    """``division.webster``."""

    replicas: ReplicaCount
    weights: dict[ClusterName, WeightCount]
    initial: dict[ClusterName, ReplicaCount | None] = Field(default={})
    workload: str = ""


class Dynamic(Question):
    """``division.dynamic``."""

    replicas: ReplicaCount
    available: dict[ClusterName, ReplicaCount]
    last: dict[ClusterName, ReplicaCount | None] = Field(default={})
    strategy: str = "dynamic"
    fresh: bool = False
    workload: str = ""


class Duplicated(Question):
    """``division.duplicated``."""

    replicas: ReplicaCount
    candidates: list[ClusterName]


class CandidateCluster(Question):
    """A cluster that could take part."""

    name: ClusterName
    score: Count
    available: ReplicaCount = Replicas(0)
    tier: Count = 0


class CandidateRegion(Question):
    """A region that could be used."""

    score: Count
    clusters: list[CandidateCluster] = Field(default=[])


NOT_ASKED: Final = -1
"""A need that asks for no room: everybody gets a copy of everything."""


class Select(Question):
    """``division.select``."""

    clusters: list[CandidateCluster] | None = None
    min_groups: Count = 0
    max_groups: Count | None = None
    need_replicas: Annotated[int, Field(ge=NOT_ASKED)] = 0
    regions: dict[str, CandidateRegion] | None = None
    region: Range = Field(default=[])
    cluster: Range = Field(default=[])
    strategy: str | None = None

    @model_validator(mode="after")
    def _of_clusters_or_of_regions(self) -> "Select":
        if (self.clusters is None) == (self.regions is None):
            raise ValueError("either clusters or regions are to be selected from")
        return self


class Drawing(Question):
    """``lot.draw``."""

    weights: dict[str, Count]
    draws: Count
    salt: str = ""
    uid: str = ""
    epoch: Count = 0


def answer_static(asked: Static) -> Written:
    """Who gets how many, what the floors left over, and who was in the lot for that."""
    divided = _divided(asked)
    reasons = divided.reasons
    drawing = divided.drawing
    return {
        "allocation": divided.allocation,
        "branch": divided.branch,
        "weight": divided.weight,
        "open_replicas": divided.open_replicas,
        "open_weight": divided.open_weight,
        "residual": divided.residual,
        "kappa": divided.kappa,
        "shares": [
            {
                "cluster": share.cluster,
                "weight": share.weight,
                "floor": share.floor,
                "remainder": share.remainder,
                "ceiling": share.ceiling,
                "replicas": share.replicas,
                "reason": reasons[share.cluster],
            }
            for share in divided.shares
        ],
        "drawing": None
        if drawing is None
        else {
            "purpose": drawing.purpose,
            "odds": dict(drawing.odds),
            "order": list(drawing.order),
            "blocks": drawing.blocks,
        },
    }


def explain_static(asked: Static) -> str:
    """The floors with their arithmetic, and the lot."""
    divided = _divided(asked)
    reasons = divided.reasons
    lines = [f"{divided.branch}: {WHAT_A_BRANCH_DOES[divided.branch]}."]
    if divided.open_replicas != divided.replicas:
        lines.append(
            f"Filled caps take {divided.replicas - divided.open_replicas} of {divided.replicas}; "
            f"{divided.open_replicas} are divided by a weight of {divided.open_weight}."
        )
    lines.append("")
    rows = [["cluster", "share", "floor", "replicas", "why"]]
    for share in divided.shares:
        exact = f"{divided.open_replicas} * {share.weight}/{divided.open_weight}"
        mixed = _mixed(share.floor, share.remainder, divided.open_weight)
        shown = "cap" if share.filled else f"{exact} = {mixed}" if share.weight else "none"
        why = reasons[share.cluster]
        rows.append([share.cluster, shown, str(share.floor), str(share.replicas), why])
    lines += table(rows, numbers=range(1, 4))
    floors = sum(share.floor for share in divided.shares)
    lines += ["", f"Left over by the floors: {divided.replicas} - {floors} = {divided.residual}."]
    if divided.drawing is not None:
        drawing = divided.drawing
        lines += [
            f"In the lot, with odds (kappa {divided.kappa}): {_listed(drawing.odds)}.",
            f"Drawn as {drawing.purpose}: {', '.join(drawing.order)}.",
            f"The lot is that of {_lot_told(asked.salt, asked.workload, asked.epoch)}.",
        ]
    return "\n".join(lines)


def answer_fit(asked: Fitting) -> Written:
    """Whether the allocation is fair, also if whole shares may not be exceeded."""
    fitting = _fit(asked)
    return {"fits": fitting.fits, "fits_strict_quota": fitting.fits_strict_quota}


def explain_fit(asked: Fitting) -> str:
    """Each holding beside the share it is held against."""
    fitting = _fit(asked)
    held = _stated(asked.allocation)
    nobody = not any(asked.weights.values())
    weights = {name: 1 if nobody else int(weight) for name, weight in asked.weights.items()}
    total = sum(weights.values())
    rows = [["cluster", "held", "share", "above the share by"]]
    for cluster in sorted({**weights, **held}):
        count = held.get(cluster, 0)
        share = Fraction(asked.replicas * weights.get(cluster, 0), total)
        rows.append([cluster, str(count), str(share), str(count - share)])
    verdict = "It fits" if fitting.fits else "It does not fit"
    strictly = "also" if fitting.fits_strict_quota else "not"
    return "\n".join(
        [
            f"{verdict}; {strictly} if nothing may lie on top of a whole share.",
            f"Held together: {sum(held.values())} of {asked.replicas}.",
            "A holding is fair within less than 1 of the share, or 1 above a whole one.",
            "",
            *table(rows, numbers=range(1, 3)),
        ]
    )


def answer_probability(asked: Probability) -> Written:
    """Each cluster's chance of the first residual."""
    return {"first_draw": _chances(asked)}


def explain_probability(asked: Probability) -> str:
    """The chances, one a line."""
    rows = [["cluster", "chance"], *([name, str(one)] for name, one in _chances(asked).items())]
    return "\n".join(table(rows))


def answer_webster(asked: Webster) -> Written:
    """Who holds how many in the end, and the claims that decide it."""
    result = _apportioned(asked)
    return {"allocation": result.allocation, **_claims(result)}


def explain_webster(asked: Webster) -> str:
    """The last claim that was met beside the first that was not."""
    return "\n".join(_claims_told(_apportioned(asked)))


def answer_dynamic(asked: Dynamic) -> Written:
    """Who holds how many, what was divided and by which weights."""
    divided = _divided_by_availability(asked)
    return {
        "allocation": divided.allocation,
        "course": divided.course,
        "target": divided.target,
        "row": list(divided.row),
        "shares": [
            {
                "cluster": share.cluster,
                "available": share.available,
                "held": share.held,
                "weight": share.weight,
                "replicas": share.replicas,
            }
            for share in divided.shares
        ],
        **_claims(divided.apportionment),
    }


WHAT_A_COURSE_DOES: Final[Mapping[dynamic.Course, str]] = {
    "keep": "the last result adds up, nothing moves",
    "scale_up": "what is missing is divided by availability and added to what is held",
    "scale_down": "what is wanted is divided by what is held",
    "fresh": "all of it is divided by availability, what is held counting as available",
}


def explain_dynamic(asked: Dynamic) -> str:
    """What was divided, over whom, and the claims that decided it."""
    divided = _divided_by_availability(asked)
    rows = [["cluster", "available", "held", "weight", "replicas"]]
    for share in divided.shares:
        weight = "no part" if share.weight is None else str(share.weight)
        counts = [str(share.available), str(share.held), weight, str(share.replicas)]
        rows.append([share.cluster, *counts])
    lines = [
        f"{divided.course}: {WHAT_A_COURSE_DOES[divided.course]}.",
        "",
        *table(rows, numbers=range(1, 4)),
    ]
    if divided.course != "keep":
        lines += ["", f"Divided, counting from nothing: {divided.target}."]
        lines += _claims_told(divided.apportionment)
    return "\n".join(lines)


def answer_duplicated(asked: Duplicated) -> Written:
    """The whole number for each candidate."""
    return {"allocation": duplicate(asked.replicas, asked.candidates)}


def explain_duplicated(asked: Duplicated) -> str:
    """The whole number for each candidate."""
    allocation = duplicate(asked.replicas, asked.candidates)
    if not allocation:
        return "There is no candidate."
    return f"Every candidate gets all {asked.replicas}: {', '.join(allocation)}."


def answer_select(asked: Select) -> Written:
    """Who was selected, and what became of everybody."""
    chosen = _selected(asked)
    return {
        "selected": list(chosen.selected),
        "standings": [
            {"cluster": one.candidate.cluster, "selected": one.selected, "reason": one.reason}
            for one in chosen.standings
        ],
        "swaps": [
            {"place": one.place, "out": one.out, "in": one.into, "room": one.room}
            for one in chosen.swaps
        ],
        "regions": [
            {
                "region": one.region.name,
                "score": one.region.score,
                "clusters": len(one.region.clusters),
                "reason": one.reason,
            }
            for one in chosen.regions
        ],
    }


def explain_select(asked: Select) -> str:
    """The candidates from the best down, with what became of each."""
    chosen = _selected(asked)
    lines = [f"Selected: {', '.join(chosen.selected) or 'nobody'}.", ""]
    rows = [["cluster", "tier", "score", "available", "why"]]
    for standing in chosen.standings:
        one = standing.candidate
        counts = [str(one.tier), str(one.score), str(one.available)]
        rows.append([one.cluster, *counts, standing.reason])
    lines += table(rows, numbers=range(1, 4))
    lines += [
        f"For room, place {swap.place + 1} went from {swap.out} to {swap.into}: {swap.room} together."
        for swap in chosen.swaps
    ]
    if chosen.regions:
        found = [
            [one.region.name, str(one.region.score), str(len(one.region.clusters)), one.reason]
            for one in chosen.regions
        ]
        lines += ["", *table([["region", "score", "clusters", "why"], *found], numbers=range(1, 3))]
    return "\n".join(lines)


def answer_draw(asked: Drawing) -> Written:
    """The names in the order in which they are drawn, and the points they were found at."""
    drawn = _drawn(asked)
    return {
        "draw_order": list(drawn.order),
        "points": list(drawn.points),
        "blocks": drawn.blocks,
    }


def explain_draw(asked: Drawing) -> str:
    """Each draw: the point, the width of all that are still in, and whom it found."""
    drawn = _drawn(asked)
    left = dict(asked.weights)
    rows = [["draw", "point", "of", "name"]]
    for number, (point, name) in enumerate(zip(drawn.points, drawn.order, strict=True)):
        rows.append([str(number), str(point), str(sum(left.values()) or len(left)), name])
        del left[name]
    return "\n".join(
        [
            f"The names lie side by side in the order of their bytes: {_listed(asked.weights)}.",
            f"The lot is that of {_lot_told(asked.salt, asked.uid, asked.epoch)}.",
            f"Blocks read: {drawn.blocks}.",
            "",
            *table(rows, numbers=range(1, 3)),
        ]
    )


def _divided(asked: Static) -> static_weight.Division:
    last = asked.last
    divided = static_weight.divide(
        static_weight.Request(
            replicas=asked.replicas,
            weights=asked.weights,
            inertia=asked.inertia,
            fresh=asked.fresh,
            caps=asked.caps,
            capacities=asked.capacities,
            kappa=_kappa(asked.kappa),
        ),
        last=None
        if last is None or last.strategy != STATIC_WEIGHT
        else static_weight.Last(_stated(last.allocation), last.replicas, last.weights),
        lot=Lot(asked.salt, asked.workload, asked.epoch),
    )
    return _placed(divided)


def _fit(asked: Fitting) -> static_weight.Fit:
    return static_weight.fit(
        _stated(asked.allocation), replicas=asked.replicas, weights=asked.weights
    )


def _chances(asked: Probability) -> dict[ClusterName, Fraction]:
    return static_weight.draw_probability(
        asked.weights, capacities=asked.capacities, kappa=_kappa(asked.kappa)
    )


def _apportioned(asked: Webster) -> webster.Apportionment:
    return webster.apportion(
        asked.replicas,
        asked.weights,
        initial=_stated(asked.initial),
        workload=asked.workload,
    )


def _divided_by_availability(asked: Dynamic) -> dynamic.Division:
    return _placed(
        dynamic.divide(
            dynamic.Request(
                replicas=asked.replicas,
                available=asked.available,
                last=_stated(asked.last),
                # Another word is refused by the core, which has a code for it.
                strategy=cast("dynamic.Strategy", asked.strategy),
                fresh=asked.fresh,
                workload=asked.workload,
            )
        )
    )


def _drawn(asked: Drawing) -> Draw[str]:
    return Lot(asked.salt, asked.uid, asked.epoch).draw(asked.weights, asked.draws)


def _selected(asked: Select) -> selection.Selection:
    if asked.strategy not in {None, "static", "duplicated", "dynamic", "aggregated"}:
        raise InvalidRequest("invalid_strategy", f"strategy: there is no {asked.strategy!r}")
    clusters = Bounds(asked.min_groups, asked.max_groups)
    if asked.regions is not None:
        clusters = _bounds(asked.cluster)
    spread = _bounds(asked.region)
    clusters.require_valid("clusters")
    spread.require_valid("regions")
    regions = [
        Region(name, region.score, _candidates(region.clusters))
        for name, region in (asked.regions or {}).items()
    ]
    candidates = _candidates(asked.clusters or [])
    chosen: selection.Selection | TooFew | Shortage
    if asked.strategy == "static":
        of_regions = [one for region in regions for one in region.clusters]
        chosen = selection.select_everybody([*candidates, *of_regions])
    elif asked.regions is not None:
        chosen = selection.select_by_region(regions, spread=spread, clusters=clusters)
    else:
        everywhere = asked.strategy == "duplicated" or asked.need_replicas == NOT_ASKED
        need = None if everywhere else Replicas(asked.need_replicas)
        chosen = selection.select(candidates, clusters=clusters, need=need)
    if isinstance(chosen, TooFew):
        raise Refused(chosen.code, f"{chosen.wanted} are wanted and {chosen.found} found")
    return _placed(chosen)


def _candidates(given: Iterable[CandidateCluster]) -> list[selection.Candidate]:
    return [selection.Candidate(one.name, one.score, one.available, one.tier) for one in given]


def _bounds(given: Sequence[int | None]) -> Bounds:
    least, most = (*given, None, None)[:2]
    return Bounds(least or 0, most)


def _placed(outcome: Placed | Shortage) -> Placed:
    if isinstance(outcome, Shortage):
        message = f"{outcome.wanted} are wanted and there is room for {outcome.room}"
        raise Refused(outcome.code, message)
    return outcome


def _kappa(parts: Sequence[int] | None) -> Fraction | None:
    return None if parts is None else proportion(*parts)


def _stated(amounts: Mapping[ClusterName, Replicas | None]) -> dict[ClusterName, Replicas]:
    """The amounts that are given: a null is as good as nothing."""
    return {name: amount for name, amount in amounts.items() if amount is not None}


def _claims(result: webster.Apportionment) -> dict[str, Any]:
    """What each party got and claimed, and where the line between won and lost runs."""
    last, following = result.last_served, result.next_in_line
    return {
        "parties": [
            {
                "cluster": party.cluster,
                "weight": party.weight,
                "initial": party.initial,
                "replicas": party.replicas,
                "last_claim": party.last_claim,
                "next_claim": party.next_claim,
            }
            for party in result.parties
        ],
        "names_descend": result.names_descend,
        "last_served": None if last is None else last.cluster,
        "next_in_line": None if following is None else following.cluster,
    }


def _claims_told(result: webster.Apportionment) -> list[str]:
    rows = [["cluster", "weight", "had", "has", "last claim met", "next claim"]]
    for party in result.parties:
        met = "none" if party.last_claim is None else f"{party.weight}/{2 * party.replicas - 1}"
        lost = f"{party.weight}/{2 * party.replicas + 1}"
        counts = [str(party.weight), str(party.initial), str(party.replicas)]
        rows.append([party.cluster, *counts, met, lost])
    lines = [
        "The next replica goes to the highest weight / (2 * held + 1); of equals to who holds less,",
        f"then to the {'later' if result.names_descend else 'earlier'} name.",
        "",
        *table(rows, numbers=range(1, 5)),
    ]
    last, following = result.last_served, result.next_in_line
    if last is not None and following is not None:
        lines += [
            "",
            f"The last one went to {last.cluster}; the next would go to {following.cluster}.",
        ]
    return lines


def _lot_told(salt: str, workload: str, epoch: int) -> str:
    return f"salt {salt!r}, workload {workload!r}, epoch {epoch}"


def _mixed(whole: int, remainder: int, divisor: int) -> str:
    return f"{whole} {remainder}/{divisor}" if remainder else str(whole)


def _listed(amounts: Mapping[Any, int]) -> str:
    return ", ".join(f"{name}={amount}" for name, amount in amounts.items())


OPS: Final[tuple[Op[Any], ...]] = (
    Op(
        "division.static",
        "divide replicas over clusters by static weight, moving as little as possible",
        Static,
        answer_static,
        explain_static,
    ),
    Op(
        "division.fit",
        "does an allocation fit a request by static weight?",
        Fitting,
        answer_fit,
        explain_fit,
    ),
    Op(
        "division.draw_probability",
        "each cluster's chance of the first replica that the floors leave over",
        Probability,
        answer_probability,
        explain_probability,
    ),
    Op(
        "division.webster",
        "divide replicas by Webster's method, on top of what is held",
        Webster,
        answer_webster,
        explain_webster,
    ),
    Op(
        "division.dynamic",
        "divide replicas by what is available, over many clusters or few",
        Dynamic,
        answer_dynamic,
        explain_dynamic,
    ),
    Op(
        "division.duplicated",
        "give every candidate all the replicas",
        Duplicated,
        answer_duplicated,
        explain_duplicated,
    ),
    Op(
        "division.select",
        "choose clusters under spread constraints, by cluster or by region",
        Select,
        answer_select,
        explain_select,
    ),
    Op(
        "lot.draw",
        "which names a lot draws, in order",
        Drawing,
        answer_draw,
        explain_draw,
    ),
)
