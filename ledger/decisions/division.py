"""How a workload's replicas are divided: from the World to the core's question, and back.

``given`` reads off the World everything that the core is asked with, and nothing else; ``spelled``
is its one plain form, whose digest stands in the decision, so that anybody can hold what they
recompute against what was asked then. ``answer`` asks and turns what comes back into a decision
with its reasons.

What each strategy looks at beside the replicas and the candidates:

``static``      weights, caps, the last result if static weight made it; what is available only
                where the policy says how much it leans the odds of the lot
``webster``     weights; no last result
``dynamic``, ``aggregated``  what is available, and the places in force
``duplicated``  nothing

A wish to be spread over so many clusters or regions is heeded first, by every strategy but static
(``ledger.decisions.selection``); that too looks at what is available (``ledger.decisions.room``).

What cannot be served is refused, and what was in force stays in force:

``no_candidate_cluster``   no cluster it may go to exists and counts; waits for a cluster
``too_few_clusters``       fewer than the wish asks to be spread over; waits for a cluster
``too_few_regions``        the same of regions; waits for a cluster
``insufficient_capacity``  there is less room than was asked for: waits for nodes. Or the caps of a
                           division by static weight together hold less: waits for a cluster if they
                           would hold enough with others that it may go to, else for another wish
codes of an invalid request   it means nothing, and room was asked for; waits for another wish

A refusal that waits for a cluster names those that it may not go to as well, if it selects by labels.
A refusal that would only repeat the open one is not recorded, and neither is one that was only
asked again because something grew.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, cast

from ledger.core.division import dynamic
from ledger.core.division.regions import Bounds, TooFew
from ledger.core.division.shortage import Shortage
from ledger.core.division.static_weight import Division, Last, Request
from ledger.core.division.webster import names_descend
from ledger.core.lot import Lot
from ledger.decisions import versions
from ledger.decisions.answer import REFUSED, Answered
from ledger.decisions.room import available, wanted
from ledger.decisions.selection import Asked, Selected, Spread, selected
from ledger.errors import InvalidRequest
from ledger.facts import division as record
from ledger.facts.canonical import Plain, digest
from ledger.facts.cluster import ClusterUpserted
from ledger.facts.decision import LotUse
from ledger.facts.division import ClusterShare, Fairness
from ledger.facts.reason import RETRIED, Cause, losers
from ledger.facts.refusal import Refusal
from ledger.facts.workload import DivisionSpec, WorkloadUpserted
from ledger.reducers.candidates import candidates, named, unmatched, wish
from ledger.reducers.retries import WAITS_FOR_CLUSTER, WAITS_FOR_NODES, WAITS_FOR_WISH
from ledger.reducers.world import Causes, Question, World
from ledger.units import ClusterName, Replicas, Subject, Weight

SYSTEM: Final = "division"

STATIC: Final = "static"
WEBSTER: Final = "webster"
DUPLICATED: Final = "duplicated"
BY_ROOM: Final = ("dynamic", "aggregated")

KEEP: Final = "keep"
"""The branch of an answer that is the last one."""

Allocation = Mapping[ClusterName, Replicas]


@dataclass(frozen=True, slots=True)
class Given:
    """Everything that one division is made from."""

    strategy: str
    version: int
    request: Request
    """Of static weight; the others read of it what they need."""
    last: Last | None
    """For static weight."""
    held: Allocation
    """The places in force, for those that divide by room or select."""
    spread: Spread | None
    lot: Lot
    invalid: str | None
    """Why what is available cannot be said: the code of a request that means nothing."""
    passed_over: tuple[tuple[ClusterName, str], ...]
    """Who is not in the request and why: for the reader, no part of the question."""


@dataclass(frozen=True, slots=True)
class _Refused:
    reason: str
    waits_for: str
    detail: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class _Divided:
    """What a strategy answered, as a record tells it."""

    branch: str
    shares: tuple[ClusterShare, ...]
    fairness: Fairness | None = None
    target: Replicas | None = None
    names_descend: bool | None = None
    lot: LotUse | None = None

    @property
    def allocation(self) -> Allocation:
        return {share.cluster: share.replicas for share in self.shares}


def answer(_: World, world: World, question: Question, causes: Causes) -> tuple[Answered, ...]:
    """Divide the subject's replicas as the World has it; nothing where there is nothing to record."""
    subject = question.subject
    asked = given(world, subject, causes)
    because = tuple(sorted(causes))
    outcome: record.Division | Refusal
    lot = None
    moved = 0
    chosen, answered = _asked_of_the_core(world, subject, asked)
    if isinstance(answered, _Refused):
        if _says_nothing_new(world, question, answered, causes):
            return ()
        branch = REFUSED
        outcome = Refusal(
            wanted="division",
            reason=answered.reason,
            waits_for=answered.waits_for,
            detail=answered.detail,
            losers=losers(_lost(world, subject, asked, answered), world.losers_named),
            because=because,
        )
    else:
        previous = _in_force(world, subject)
        branch = answered.branch
        lot = answered.lot
        moved = _moved(previous, answered.allocation)
        outcome = _division(world, subject, asked, answered, chosen, previous, because)
    return (
        Answered(
            subject=subject,
            algorithm=SYSTEM,
            version=asked.version,
            inputs=digest(spelled(asked)).hex(),
            branch=branch,
            outcome=outcome,
            moved=moved,
            lot=lot,
        ),
    )


def given(world: World, subject: Subject, causes: Causes) -> Given:
    """What the core is asked with if the subject is asked now."""
    workload = world.workload(subject)
    spec = wish(workload)
    assert workload is not None, f"{subject} is not there"
    assert spec is not None, f"{subject} is not to be divided"
    who = candidates(world, spec)
    told = dict(spec.weights)
    weights = {
        cluster: told.get(cluster, Weight(0)) if told else Weight(1) for cluster in who.clusters
    }
    policy = world.policy.division
    spread = _spread(world, spec, who.clusters)
    static = spec.strategy == STATIC
    invalid = None
    capacities: dict[ClusterName, Replicas | None] | None = None
    if spread is not None or spec.strategy in BY_ROOM or (static and policy.kappa is not None):
        capacities, invalid = _available(world, workload, who.clusters)
    caps = {cluster: cap for cluster, cap in spec.caps if cluster in weights}
    return Given(
        strategy=spec.strategy,
        version=world.policy.algorithms.division,
        request=Request(
            replicas=workload.replicas,
            weights=weights,
            inertia=policy.inertia,
            fresh="fresh" in causes,
            caps=(caps or None) if static else None,
            capacities=capacities,
            kappa=policy.kappa if static else None,
        ),
        last=_last(world, subject) if static else None,
        held={} if capacities is None or static else _in_force(world, subject),
        spread=spread,
        lot=Lot(world.genesis.salt, workload.uid, world.divisions.epochs.get(subject, 0)),
        invalid=invalid,
        passed_over=who.passed_over,
    )


def spelled(asked: Given) -> Plain:
    """What the core is asked with, as the plain value that a decision's ``inputs`` digests."""
    request, last, spread = asked.request, asked.last, asked.spread
    static = asked.strategy == STATIC
    return {
        "strategy": asked.strategy,
        "replicas": request.replicas,
        "weights": _plain(request.weights) if static or asked.strategy == WEBSTER else None,
        "candidates": sorted(request.weights),
        "inertia": request.inertia if static else None,
        "fresh": request.fresh,
        "caps": None if request.caps is None else _plain(request.caps),
        "available": None if request.capacities is None else _plain(request.capacities),
        "kappa": None if request.kappa is None else _ratio(request.kappa),
        "last": None
        if last is None
        else {
            "allocation": _plain(last.allocation),
            "replicas": last.replicas,
            "weights": _plain(last.weights),
        },
        "held": _plain(asked.held),
        "spread": None
        if spread is None
        else {
            "clusters": [spread.clusters.least, spread.clusters.most],
            "regions": None
            if spread.regions is None
            else [spread.regions.least, spread.regions.most],
            "region_of": {one: spread.region_of[one] for one in sorted(spread.region_of)},
        },
        "lot": {
            "salt": asked.lot.salt,
            "workload": asked.lot.workload,
            "epoch": asked.lot.epoch,
        },
        "invalid": asked.invalid,
    }


def _spread(world: World, spec: DivisionSpec, clusters: tuple[ClusterName, ...]) -> Spread | None:
    """What the wish says of groups; static weight does not look at it."""
    if spec.strategy == STATIC or (spec.spread_clusters is None and spec.spread_regions is None):
        return None
    bounds, regions = spec.spread_clusters, spec.spread_regions
    return Spread(
        clusters=Bounds() if bounds is None else Bounds(bounds.least, bounds.most),
        regions=None if regions is None else Bounds(regions.least, regions.most),
        region_of={cluster: _region(world, cluster) for cluster in clusters},
    )


def _region(world: World, cluster: ClusterName) -> str:
    fact = world.objects.fact("cluster", Subject(cluster))
    assert isinstance(fact, ClusterUpserted), f"{cluster} counts and is not there"
    return fact.region


def _available(
    world: World, workload: WorkloadUpserted, clusters: tuple[ClusterName, ...]
) -> tuple[dict[ClusterName, Replicas | None] | None, str | None]:
    """What is available on each cluster, or the code of a request that means nothing."""
    try:
        one = wanted(world, workload)
    except InvalidRequest as invalid:
        return None, invalid.code
    room: dict[ClusterName, Replicas | None] = {**available(world, clusters, workload, one)}
    return room, None


def _asked_of_the_core(
    world: World, subject: Subject, asked: Given
) -> tuple[Selected | None, _Divided | _Refused]:
    if not asked.request.weights:
        return None, _Refused("no_candidate_cluster", WAITS_FOR_CLUSTER)
    if asked.invalid is not None:
        return None, _Refused(asked.invalid, WAITS_FOR_WISH)
    rules = versions.division(asked.version)
    chosen: Selected | None = None
    clusters = tuple(asked.request.weights)
    if asked.spread is not None:
        request = asked.request
        found = selected(
            rules,
            asked.spread,
            Asked(
                replicas=request.replicas,
                available=_known(request.capacities),
                held=asked.held,
                fresh=request.fresh,
                need=None if asked.strategy == DUPLICATED else request.replicas,
            ),
        )
        if not isinstance(found, Selected):
            return None, _short(found)
        chosen, clusters = found, tuple(sorted(found.clusters))
    match asked.strategy:
        case "static":
            return chosen, _by_weight(world, subject, rules, asked)
        case "webster":
            return chosen, _by_claim(world, subject, rules, asked, clusters)
        case "duplicated":
            return chosen, _everywhere(world, subject, rules, asked, clusters)
        case _:
            return chosen, _by_room(world, subject, rules, asked, clusters)


def _by_weight(
    world: World, subject: Subject, rules: versions.DivisionRules, asked: Given
) -> _Divided | _Refused:
    divided = rules.static(asked.request, asked.last, asked.lot)
    if isinstance(divided, Shortage):
        # Only caps can be too small: what is available leans the odds and no more.
        return _short(divided, waits_for=_beyond_caps(world, subject, asked.request.weights))
    previous = _in_force(world, subject)
    room = asked.request.capacities or {}
    odds = {} if divided.drawing is None else divided.drawing.odds
    return _Divided(
        branch=divided.branch,
        shares=tuple(
            ClusterShare(
                cluster,
                weight,
                replicas,
                previous.get(cluster, Replicas(0)),
                room.get(cluster),
                floor=floor,
                remainder=remainder,
                ceiling=ceiling,
                odds=odds.get(cluster),
                residual=replicas > floor,
            )
            for cluster, weight, floor, remainder, ceiling, _, replicas in divided.shares
        ),
        fairness=Fairness(
            inertia=asked.request.inertia,
            kappa=divided.kappa,
            total_weight=divided.weight,
            open_weight=divided.open_weight,
            open_replicas=divided.open_replicas,
            drawn=None if divided.drawing is None else divided.drawing.purpose,
        ),
        lot=_lot_use(asked.lot, divided),
    )


def _by_claim(
    world: World,
    subject: Subject,
    rules: versions.DivisionRules,
    asked: Given,
    clusters: tuple[ClusterName, ...],
) -> _Divided:
    weights = {cluster: asked.request.weights[cluster] for cluster in clusters}
    apportioned = rules.webster(asked.request.replicas, weights, asked.lot.workload)
    previous = _in_force(world, subject)
    room = asked.request.capacities or {}
    return _Divided(
        branch=_unless_kept("apportioned", previous, apportioned.allocation),
        shares=tuple(
            ClusterShare(
                cluster=party.cluster,
                weight=party.weight,
                replicas=party.replicas,
                previous=previous.get(party.cluster, Replicas(0)),
                available=room.get(party.cluster),
            )
            for party in apportioned.parties
        ),
        names_descend=apportioned.names_descend,
    )


def _by_room(
    world: World,
    subject: Subject,
    rules: versions.DivisionRules,
    asked: Given,
    clusters: tuple[ClusterName, ...],
) -> _Divided | _Refused:
    room = _known(asked.request.capacities)
    divided = rules.by_room(
        dynamic.Request(
            replicas=asked.request.replicas,
            available={cluster: room[cluster] for cluster in clusters},
            last=asked.held,
            strategy=cast("dynamic.Strategy", asked.strategy),
            fresh=asked.request.fresh,
            workload=asked.lot.workload,
        )
    )
    if isinstance(divided, Shortage):
        return _short(divided)
    previous = _in_force(world, subject)
    return _Divided(
        branch=divided.course,
        shares=tuple(
            ClusterShare(
                cluster=share.cluster,
                weight=share.weight,
                replicas=share.replicas,
                previous=previous.get(share.cluster, Replicas(0)),
                available=share.available,
            )
            for share in divided.shares
        ),
        target=divided.target,
        names_descend=names_descend(asked.lot.workload),
    )


def _everywhere(
    world: World,
    subject: Subject,
    rules: versions.DivisionRules,
    asked: Given,
    clusters: tuple[ClusterName, ...],
) -> _Divided:
    copies = rules.duplicated(asked.request.replicas, clusters)
    previous = _in_force(world, subject)
    room = asked.request.capacities or {}
    return _Divided(
        branch=_unless_kept("duplicated", previous, copies),
        shares=tuple(
            ClusterShare(
                cluster=cluster,
                weight=None,
                replicas=copies[cluster],
                previous=previous.get(cluster, Replicas(0)),
                available=room.get(cluster),
            )
            for cluster in clusters
        ),
    )


def _short(found: Shortage | TooFew, *, waits_for: str = WAITS_FOR_NODES) -> _Refused:
    """What is short, by how much, and what could end it."""
    if isinstance(found, Shortage):
        detail = (("room", int(found.room)), ("wanted", int(found.wanted)))
        return _Refused(found.code, waits_for, detail)
    detail = (("found", found.found), ("wanted", found.wanted))
    return _Refused(found.code, WAITS_FOR_CLUSTER, detail)


def _beyond_caps(world: World, subject: Subject, weights: Mapping[ClusterName, Weight]) -> str:
    """What could end that the caps of the candidates hold too little: other clusters, or another wish."""
    workload = world.workload(subject)
    spec = wish(workload)
    assert workload is not None
    assert spec is not None
    told, names = dict(spec.weights), named(spec)
    weighed = any(weights.values())
    if names is None and not (told and weighed):
        # Whoever comes gets a part, and may have no cap.
        return WAITS_FOR_CLUSTER
    who = sorted(told) if names is None else names
    heavy = [one for one in who if not told or told.get(one)]
    # Those without a weight get something as long as nobody has one.
    light = [] if weighed else [one for one in who if one not in heavy]
    caps = dict(spec.caps)
    enough = any(
        any(one not in caps for one in together)
        or sum(caps[one] for one in together) >= workload.replicas
        for together in (heavy, light)
    )
    return WAITS_FOR_CLUSTER if enough else WAITS_FOR_WISH


def _lost(
    world: World, subject: Subject, asked: Given, refused: _Refused
) -> tuple[tuple[ClusterName, str], ...]:
    """Who is no candidate and why, in order."""
    spec = wish(world.workload(subject))
    assert spec is not None
    if refused.waits_for != WAITS_FOR_CLUSTER:
        return asked.passed_over
    return tuple(sorted((*asked.passed_over, *unmatched(world, spec))))


def _says_nothing_new(world: World, question: Question, refused: _Refused, causes: Causes) -> bool:
    open_refusal = world.refusals.get(question)
    if open_refusal is None:
        return False
    was = open_refusal.refusal
    return RETRIED.issuperset(causes) or (was.reason, was.waits_for) == (
        refused.reason,
        refused.waits_for,
    )


def _last(world: World, subject: Subject) -> Last | None:
    """The last result as far as the core can use it: only one by static weight is comparable."""
    last = world.divisions.last.get(subject)
    if last is None or last.division.strategy != STATIC:
        return None
    return Last(
        allocation=_allocation(last.division),
        replicas=last.division.replicas,
        weights={share.cluster: share.weight or Weight(0) for share in last.division.shares},
    )


def _in_force(world: World, subject: Subject) -> Allocation:
    """The places as they are: those of the last result, unless they were given up since."""
    last = world.divisions.last.get(subject)
    return {} if last is None or not last.in_force else _allocation(last.division)


def _allocation(division: record.Division) -> dict[ClusterName, Replicas]:
    return {share.cluster: share.replicas for share in division.shares}


def _unless_kept(branch: str, before: Allocation, after: Allocation) -> str:
    """How an answer is named that may be the last one again."""
    changed = any(before.get(one, 0) != after.get(one, 0) for one in [*before, *after])
    return branch if changed or not before else KEEP


def _moved(before: Allocation, after: Allocation) -> int:
    """How many replicas changed places: what came anew or was only lost has not moved."""
    changes = [
        after.get(cluster, 0) - before.get(cluster, 0)
        for cluster in sorted(before.keys() | after.keys())
    ]
    return min(
        sum(change for change in changes if change > 0),
        -sum(change for change in changes if change < 0),
    )


def _division(
    world: World,
    subject: Subject,
    asked: Given,
    divided: _Divided,
    chosen: Selected | None,
    previous: Allocation,
    because: tuple[Cause, ...],
) -> record.Division:
    workload = world.workload(subject)
    assert workload is not None
    not_selected = () if chosen is None else chosen.not_selected
    return record.Division(
        namespace=workload.namespace,
        workload=workload.name,
        uid=workload.uid,
        replicas=workload.replicas,
        strategy=asked.strategy,
        shares=divided.shares,
        left=tuple(
            (cluster, previous[cluster])
            for cluster in sorted(previous)
            if previous[cluster] and cluster not in divided.allocation
        ),
        losers=losers((*asked.passed_over, *not_selected), world.losers_named),
        because=because,
        fairness=divided.fairness,
        target=divided.target,
        names_descend=divided.names_descend,
        selection=None if chosen is None else chosen.told,
    )


def _lot_use(lot: Lot, divided: Division) -> LotUse | None:
    if divided.drawing is None:
        return None
    return LotUse(lot.salt, lot.workload, lot.epoch, divided.drawing.order)


def _known(room: Mapping[ClusterName, Replicas | None] | None) -> dict[ClusterName, Replicas]:
    """What is available, where it was asked for: of every candidate then."""
    assert room is not None, "nobody selects or divides by room without it"
    return {cluster: Replicas(count or 0) for cluster, count in room.items()}


def _plain(amounts: Mapping[ClusterName, int | None]) -> dict[str, Plain]:
    return {cluster: amounts[cluster] for cluster in sorted(amounts)}


def _ratio(ratio: Fraction) -> list[int]:
    return [ratio.numerator, ratio.denominator]
