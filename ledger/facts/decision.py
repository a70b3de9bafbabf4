"""What was decided: the record under the digest, and its one spelling.

A decision names the event that made it due (or the deadline that ran out before that event), the
rule that answered, the policy and the lot it used, the digest of everything that went in, the
decision about the same subject before it, the answer, and the numbers that let a reader redo it.
Nothing in it depends on when or where it was computed; whoever folds the same log writes the same
bytes.

``record`` spells a decision, ``from_record`` reads it back; the leaf of the decision tree is taken
over the spelling. What SQL shows of a decision is read from here by ``ledger.log``.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal, NamedTuple

from ledger.facts.canonical import Plain, canonical
from ledger.units import (
    ClusterName,
    DecisionNumber,
    FleetName,
    Incarnation,
    Microseconds,
    Position,
    Replicas,
    Subject,
    Weight,
)

RECORD_LAYOUT: Final = 1

LOSERS_NAMED: Final = 16
"""How many losers a record names; the rest is counted by reason and can be recomputed."""

Kind = Literal["division", "refusal"]

Cause = Literal["edited", "candidates", "rescheduled", "fresh", "policy"]
"""Why a subject was asked: its own wish changed, its candidates did, somebody asked for it to be
decided again (``fresh``: from nothing), or a policy it had been waiting for changed."""

Draw = Literal["winners", "keepers"]
"""What a lot decides: who receives one of the residual replicas, or who keeps the one it holds."""

DeadlineKind = Literal["grace"]


@dataclass(frozen=True, slots=True, order=True)
class Deadline:
    """A moment of fleet time at which something runs out; in the order in which they fire."""

    at: Microseconds
    kind: DeadlineKind
    subject: Subject


@dataclass(frozen=True, slots=True)
class LotUse:
    """Which stream a draw read from, and who was drawn, in order."""

    salt: str
    workload: str
    epoch: int
    draws: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Losers:
    """Who could not even be weighed: how many for each reason, and the first of them by name."""

    counts: tuple[tuple[str, int], ...] = ()
    named: tuple[tuple[str, str], ...] = ()
    """Name and reason."""


def losers(passed_over: Sequence[tuple[str, str]]) -> Losers:
    """What a record says of these names and reasons, which come in order."""
    counts = Counter(why for _, why in passed_over)
    return Losers(tuple(sorted(counts.items())), tuple(passed_over[:LOSERS_NAMED]))


class ClusterShare(NamedTuple):
    """One cluster in a division: ``replicas`` is what it got, the rest is how that came about.

    A tuple, because a fleet of a hundred clusters makes a hundred of them for each decision.
    """

    cluster: ClusterName
    weight: Weight
    replicas: Replicas
    floor: Replicas
    """The whole part of its weighted share, or its cap."""
    remainder: int
    """What the share has beyond its whole part, in parts of the open weight."""
    ceiling: Replicas
    """The most it may hold: one more than the floor, unless a cap or no weight forbids it."""
    odds: int | None
    """Its chance in the draw, in parts of everybody's; None where it was not in a draw."""
    residual: bool
    """Whether it holds one of the replicas that the whole parts leave over."""
    previous: Replicas


@dataclass(frozen=True, slots=True)
class Division:
    """A workload's replicas over clusters, in the order of the clusters' names."""

    namespace: str
    workload: str
    uid: str
    replicas: Replicas
    strategy: str
    inertia: str
    kappa: Fraction
    """How far weights and not capacities made the odds."""
    total_weight: int
    open_weight: int
    """The weight of the clusters whose cap is not filled."""
    open_replicas: Replicas
    """What is left for those once the filled ones have their cap."""
    drawn: Draw | None
    """What the lot decided; None where nothing was left to luck."""
    shares: tuple[ClusterShare, ...]
    left: tuple[tuple[ClusterName, Replicas], ...]
    """Clusters that held some and are no candidates any more, with what they held."""
    losers: Losers
    """Clusters that were named or matched and could not be candidates."""
    because: tuple[Cause, ...]

    kind: Literal["division"] = "division"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that could not be served; what was in force before stays in force."""

    wanted: Kind
    reason: str
    waits_for: str
    detail: tuple[tuple[str, int], ...] = ()
    """What is short, by how much."""
    losers: Losers = Losers()
    because: tuple[Cause, ...] = ()

    kind: Literal["refusal"] = "refusal"


Outcome = Division | Refusal


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision of a fleet, complete."""

    fleet: FleetName
    incarnation: Incarnation
    number: DecisionNumber
    position: Position
    """Of the event that made it due, or before which a deadline did."""
    deadline: Deadline | None
    """What ran out before that event; None where the event itself made it due."""
    subject: Subject
    algorithm: str
    version: int
    policy: str
    """Digest of the policy and genesis in force, in hex."""
    lot: LotUse | None
    inputs: str
    """Digest of everything the rule was given, in hex."""
    previous: DecisionNumber | None
    """The decision about the same subject before it, of whatever kind. If that is a refusal of
    what this one serves or refuses anew, this one ends it."""
    branch: str
    outcome: Outcome
    moved: int

    @property
    def kind(self) -> Kind:
        """What kind of decision this is."""
        return self.outcome.kind


def record(decision: Decision) -> bytes:
    """The one spelling of a decision."""
    lot = decision.lot
    deadline = decision.deadline
    return canonical(
        {
            "record": RECORD_LAYOUT,
            "fleet": decision.fleet,
            "incarnation": decision.incarnation,
            "number": decision.number,
            "position": decision.position,
            "deadline": None
            if deadline is None
            else {"at": deadline.at, "kind": deadline.kind, "subject": deadline.subject},
            "kind": decision.kind,
            "subject": decision.subject,
            "algorithm": decision.algorithm,
            "version": decision.version,
            "policy": decision.policy,
            "lot": None
            if lot is None
            else {
                "salt": lot.salt,
                "workload": lot.workload,
                "epoch": lot.epoch,
                "draws": lot.draws,
            },
            "inputs": decision.inputs,
            "previous": decision.previous,
            "branch": decision.branch,
            "moved": decision.moved,
            "result": result(decision.outcome),
            "reasons": reasons(decision.outcome),
        }
    )


def result(outcome: Outcome) -> Plain:
    """The answer as plain data: what ``ledger_api.decisions.result`` shows."""
    match outcome:
        case Division():
            return {
                "namespace": outcome.namespace,
                "workload": outcome.workload,
                "uid": outcome.uid,
                "replicas": outcome.replicas,
                "allocation": {share.cluster: share.replicas for share in outcome.shares},
            }
        case Refusal():
            return {
                "wanted": outcome.wanted,
                "reason": outcome.reason,
                "waits_for": outcome.waits_for,
            }


def reasons(outcome: Outcome) -> Plain:
    """The numbers behind the answer: what ``ledger_api.decisions.reasons`` shows."""
    match outcome:
        case Division():
            return {
                "because": outcome.because,
                "strategy": outcome.strategy,
                "inertia": outcome.inertia,
                "kappa": [outcome.kappa.numerator, outcome.kappa.denominator],
                "total_weight": outcome.total_weight,
                "open_weight": outcome.open_weight,
                "open_replicas": outcome.open_replicas,
                "drawn": outcome.drawn,
                "clusters": [
                    {
                        "cluster": share.cluster,
                        "weight": share.weight,
                        "floor": share.floor,
                        "remainder": share.remainder,
                        "ceiling": share.ceiling,
                        "odds": share.odds,
                        "residual": share.residual,
                        "previous": share.previous,
                    }
                    for share in outcome.shares
                ],
                "left": outcome.left,
                "losers": _losers_plain(outcome.losers),
            }
        case Refusal():
            return {
                "because": outcome.because,
                "detail": dict(outcome.detail),
                "losers": _losers_plain(outcome.losers),
            }


def from_record(spelled: bytes) -> Decision:
    """Read a recorded decision back; ``record(from_record(x)) == x`` for every recorded x."""
    plain = json.loads(spelled)
    assert plain["record"] == RECORD_LAYOUT, f"record layout {plain['record']} is not known here"
    lot = plain["lot"]
    deadline = plain["deadline"]
    return Decision(
        fleet=plain["fleet"],
        incarnation=plain["incarnation"],
        number=plain["number"],
        position=plain["position"],
        deadline=None if deadline is None else Deadline(**deadline),
        subject=plain["subject"],
        algorithm=plain["algorithm"],
        version=plain["version"],
        policy=plain["policy"],
        lot=None
        if lot is None
        else LotUse(lot["salt"], lot["workload"], lot["epoch"], tuple(lot["draws"])),
        inputs=plain["inputs"],
        previous=plain["previous"],
        branch=plain["branch"],
        outcome=_outcome(plain),
        moved=plain["moved"],
    )


def _losers_plain(losers: Losers) -> Plain:
    return {"counts": dict(losers.counts), "named": losers.named}


def _losers(plain: dict[str, Any]) -> Losers:
    return Losers(tuple(sorted(plain["counts"].items())), _pairs(plain["named"]))


def _pairs(plain: list[list[Any]]) -> tuple[tuple[Any, Any], ...]:
    return tuple((name, value) for name, value in plain)


def _outcome(plain: dict[str, Any]) -> Outcome:
    answer, why = plain["result"], plain["reasons"]
    match plain["kind"]:
        case "division":
            return Division(
                namespace=answer["namespace"],
                workload=answer["workload"],
                uid=answer["uid"],
                replicas=answer["replicas"],
                strategy=why["strategy"],
                inertia=why["inertia"],
                kappa=Fraction(*why["kappa"]),
                total_weight=why["total_weight"],
                open_weight=why["open_weight"],
                open_replicas=why["open_replicas"],
                drawn=why["drawn"],
                shares=tuple(
                    ClusterShare(replicas=answer["allocation"][row["cluster"]], **row)
                    for row in why["clusters"]
                ),
                left=_pairs(why["left"]),
                losers=_losers(why["losers"]),
                because=tuple(why["because"]),
            )
        case "refusal":
            return Refusal(
                wanted=answer["wanted"],
                reason=answer["reason"],
                waits_for=answer["waits_for"],
                detail=tuple(sorted(why["detail"].items())),
                losers=_losers(why["losers"]),
                because=tuple(why["because"]),
            )
        case unknown:
            raise AssertionError(f"a decision of kind {unknown!r} cannot be read here")
