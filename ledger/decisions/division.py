"""How a workload's replicas are divided: from the World to the core's question, and back.

``given`` reads off the World everything that the core is asked with, and nothing else; ``spelled``
is its one plain form, whose digest stands in the decision, so that anybody can hold what they
recompute against what was asked then. ``answer`` asks and turns what comes back into a decision
with its reasons.

What cannot be served is refused, and what was in force stays in force:

``unsupported_strategy``   a wish for anything but division by static weight
``no_candidate_cluster``   no cluster it may go to exists and counts; waits for a cluster
``unknown_capacity``       the policy wants odds by capacity, and a candidate's nodes are known but
                           not what is free on them; waits for another policy
``insufficient_capacity``  the caps together hold less than was asked for; waits for another wish

A refusal that would only repeat the open one is not recorded, and neither is one that a mere
change of policy provoked.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from ledger.core.division.shortage import Shortage
from ledger.core.division.static_weight import Division, Last, Request
from ledger.core.lot import Lot
from ledger.decisions import versions
from ledger.facts import decision as record
from ledger.facts.canonical import Plain, digest
from ledger.facts.decision import ClusterShare, Deadline, Decision, LotUse, Refusal, losers
from ledger.reducers.candidates import candidates, wish
from ledger.reducers.policies import WAITS_FOR_POLICY
from ledger.reducers.world import Causes, Question, World
from ledger.units import ClusterName, Position, Replicas, Subject, Weight

SYSTEM: Final = "division"

STATIC: Final = "static"

REFUSED: Final = "refused"
"""The branch of every refusal."""

WAITS_FOR_WISH: Final = "specification"
WAITS_FOR_CLUSTER: Final = "cluster"

Allocation = Mapping[ClusterName, Replicas]


@dataclass(frozen=True, slots=True)
class Given:
    """Everything that one division is made from."""

    strategy: str
    version: int
    request: Request
    last: Last | None
    lot: Lot
    passed_over: tuple[tuple[ClusterName, str], ...]
    """Who is not in the request and why: for the reader, no part of the question."""


def answer(
    world: World, question: Question, position: Position, deadline: Deadline | None
) -> Decision | None:
    """Divide the subject's replicas as the World has it; None where there is nothing to record."""
    subject = question.subject
    causes = world.due[question]
    asked = given(world, subject, causes)
    because = tuple(sorted(causes))
    outcome: record.Division | Refusal
    lot = None
    moved = 0
    answered = _asked_of_the_core(world, asked)
    if isinstance(answered, _Refused):
        if _says_nothing_new(world, question, answered, causes):
            return None
        branch = REFUSED
        outcome = Refusal(
            wanted="division",
            reason=answered.reason,
            waits_for=answered.waits_for,
            detail=answered.detail,
            losers=losers(asked.passed_over),
            because=because,
        )
    else:
        previous = _in_force(world, subject)
        branch = answered.branch
        lot = _lot_use(asked.lot, answered)
        moved = _moved(previous, answered.allocation)
        outcome = _division(world, subject, asked, answered, previous, because)
    return Decision(
        fleet=world.fleet,
        incarnation=world.incarnation,
        number=world.decisions,
        position=position,
        deadline=deadline,
        subject=subject,
        algorithm=SYSTEM,
        version=asked.version,
        policy=world.policy_digest,
        lot=lot,
        inputs=digest(spelled(asked)).hex(),
        previous=world.latest.get(subject),
        branch=branch,
        outcome=outcome,
        moved=moved,
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
    return Given(
        strategy=spec.strategy,
        version=world.policy.algorithms.division,
        request=Request(
            replicas=workload.replicas,
            weights=weights,
            inertia=policy.inertia,
            fresh="fresh" in causes,
            caps={cluster: cap for cluster, cap in spec.caps if cluster in weights} or None,
            # A cluster without nodes has no room; one with nodes is an obstacle before this is used.
            capacities=None if policy.kappa is None else dict.fromkeys(weights, Replicas(0)),
            kappa=policy.kappa,
        ),
        last=_last(world, subject),
        lot=Lot(world.genesis.salt, workload.uid, world.divisions.epochs.get(subject, 0)),
        passed_over=who.passed_over,
    )


def spelled(asked: Given) -> Plain:
    """What the core is asked with, as the plain value that a decision's ``inputs`` digests."""
    request, last = asked.request, asked.last
    return {
        "strategy": asked.strategy,
        "replicas": request.replicas,
        "weights": _plain(request.weights),
        "inertia": request.inertia,
        "fresh": request.fresh,
        "caps": None if request.caps is None else _plain(request.caps),
        "capacities": None if request.capacities is None else _plain(request.capacities),
        "kappa": None if request.kappa is None else _ratio(request.kappa),
        "last": None
        if last is None
        else {
            "allocation": _plain(last.allocation),
            "replicas": last.replicas,
            "weights": _plain(last.weights),
        },
        "lot": {
            "salt": asked.lot.salt,
            "workload": asked.lot.workload,
            "epoch": asked.lot.epoch,
        },
    }


@dataclass(frozen=True, slots=True)
class _Refused:
    reason: str
    waits_for: str
    detail: tuple[tuple[str, int], ...] = ()


def _asked_of_the_core(world: World, asked: Given) -> Division | _Refused:
    refused = _obstacle(world, asked)
    if refused is not None:
        return refused
    answered = versions.division(asked.version)(asked.request, asked.last, asked.lot)
    if isinstance(answered, Shortage):
        short = (("room", int(answered.room)), ("wanted", int(answered.wanted)))
        return _Refused(answered.code, WAITS_FOR_WISH, short)
    return answered


def _obstacle(world: World, asked: Given) -> _Refused | None:
    """What keeps the core from being asked at all."""
    if asked.strategy != STATIC:
        return _Refused("unsupported_strategy", WAITS_FOR_WISH)
    if not asked.request.weights:
        return _Refused("no_candidate_cluster", WAITS_FOR_CLUSTER)
    if asked.request.capacities is not None and any(
        world.objects.inside("node", cluster) for cluster in asked.request.weights
    ):
        return _Refused("unknown_capacity", WAITS_FOR_POLICY)
    return None


def _says_nothing_new(world: World, question: Question, refused: _Refused, causes: Causes) -> bool:
    open_refusal = world.refusals.get(question)
    if open_refusal is None:
        return False
    was = open_refusal.refusal
    return causes == {"policy"} or (was.reason, was.waits_for) == (
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
        weights={share.cluster: share.weight for share in last.division.shares},
    )


def _in_force(world: World, subject: Subject) -> Allocation:
    """The places as they are: those of the last result, unless they were given up since."""
    last = world.divisions.last.get(subject)
    return {} if last is None or not last.in_force else _allocation(last.division)


def _allocation(division: record.Division) -> dict[ClusterName, Replicas]:
    return {share.cluster: share.replicas for share in division.shares}


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
    divided: Division,
    previous: Allocation,
    because: tuple[record.Cause, ...],
) -> record.Division:
    workload = world.workload(subject)
    assert workload is not None
    drawing = divided.drawing
    odds = {} if drawing is None else drawing.odds
    return record.Division(
        namespace=workload.namespace,
        workload=workload.name,
        uid=workload.uid,
        replicas=divided.replicas,
        strategy=asked.strategy,
        inertia=asked.request.inertia,
        kappa=divided.kappa,
        total_weight=divided.weight,
        open_weight=divided.open_weight,
        open_replicas=divided.open_replicas,
        drawn=None if drawing is None else drawing.purpose,
        shares=tuple(
            ClusterShare(
                cluster=share.cluster,
                weight=share.weight,
                replicas=share.replicas,
                floor=share.floor,
                remainder=share.remainder,
                ceiling=share.ceiling,
                odds=odds.get(share.cluster),
                residual=share.residual,
                previous=previous.get(share.cluster, Replicas(0)),
            )
            for share in divided.shares
        ),
        left=tuple(
            (cluster, previous[cluster])
            for cluster in sorted(previous)
            if previous[cluster] and cluster not in asked.request.weights
        ),
        losers=losers(asked.passed_over),
        because=because,
    )


def _lot_use(lot: Lot, divided: Division) -> LotUse | None:
    if divided.drawing is None:
        return None
    return LotUse(lot.salt, lot.workload, lot.epoch, divided.drawing.order)


def _plain(amounts: Mapping[ClusterName, int | None]) -> dict[str, Plain]:
    return {cluster: amounts[cluster] for cluster in sorted(amounts)}


def _ratio(ratio: Fraction) -> list[int]:
    return [ratio.numerator, ratio.denominator]
