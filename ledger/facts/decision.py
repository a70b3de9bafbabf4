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

Cause = Literal["edited", "candidates", "rescheduled", "fresh", "policy", "room"]
"""Why a subject was asked: its own wish changed, its candidates did, somebody asked for it to be
decided again (``fresh``: from nothing); or it had been refused, and since then the policy changed
or there is more room."""

RETRIED: Final[frozenset[Cause]] = frozenset({"policy", "room"})
"""The causes for which a refused subject is asked again without being touched itself."""

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
    weight: Weight | None
    """What it was divided by: as wished, or by its room; None where it took no part, or where
    nothing is divided."""
    replicas: Replicas
    previous: Replicas
    available: Replicas | None = None
    """How many more it could take; None where the strategy does not ask."""
    floor: Replicas | None = None
    """The whole part of its weighted share, or its cap. This and what follows: static weight only."""
    remainder: int | None = None
    """What the share has beyond its whole part, in parts of the open weight."""
    ceiling: Replicas | None = None
    """The most it may hold: one more than the floor, unless a cap or no weight forbids it."""
    odds: int | None = None
    """Its chance in the draw, in parts of everybody's; None where it was not in a draw."""
    residual: bool | None = None
    """Whether it holds one of the replicas that the whole parts leave over."""


class Fairness(NamedTuple):
    """What the shares of a division by static weight were made from."""

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


class Chosen(NamedTuple):
    """A cluster that takes part because of a spread constraint."""

    cluster: ClusterName
    score: int
    room: Replicas
    """How many it could take, what it holds included."""
    why: str


class Swap(NamedTuple):
    """A place that went from one cluster to another for room, and the room of all places then."""

    out: ClusterName
    into: ClusterName
    room: Replicas


class ChosenRegion(NamedTuple):
    """A region that was weighed."""

    region: str
    score: int
    why: str


@dataclass(frozen=True, slots=True)
class Selection:
    """Who takes part where a wish says over how many clusters or regions; who does not is a loser."""

    need: Replicas | None
    """For how many replicas there had to be room; None where nobody asked."""
    chosen: tuple[Chosen, ...]
    """In the order of the places."""
    swaps: tuple[Swap, ...]
    regions: tuple[ChosenRegion, ...]


@dataclass(frozen=True, slots=True)
class Division:
    """A workload's replicas over clusters, in the order of the clusters' names."""

    namespace: str
    workload: str
    uid: str
    replicas: Replicas
    """As many in all; on every cluster where they are duplicated."""
    strategy: str
    shares: tuple[ClusterShare, ...]
    left: tuple[tuple[ClusterName, Replicas], ...]
    """Clusters that held some and take no part any more, with what they held."""
    losers: Losers
    """Clusters that were named or matched and could not take part, or were not selected."""
    because: tuple[Cause, ...]
    fairness: Fairness | None = None
    """For static weight."""
    target: Replicas | None = None
    """How many were divided by room; the others stayed where they were."""
    names_descend: bool | None = None
    """Whether the later name came first among equal claims; None where claims are not compared."""
    selection: Selection | None = None
    """None where the wish does not ask to be spread."""

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
                "fairness": _fairness_plain(outcome.fairness),
                "target": outcome.target,
                "names_descend": outcome.names_descend,
                "selection": _selection_plain(outcome.selection),
                "clusters": [
                    {name: value for name, value in share._asdict().items() if name != "replicas"}
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


def _fairness_plain(fairness: Fairness | None) -> Plain:
    if fairness is None:
        return None
    kappa = fairness.kappa
    return {**fairness._asdict(), "kappa": [kappa.numerator, kappa.denominator]}


def _fairness(plain: dict[str, Any] | None) -> Fairness | None:
    if plain is None:
        return None
    return Fairness(**{**plain, "kappa": Fraction(*plain["kappa"])})


def _selection_plain(selection: Selection | None) -> Plain:
    if selection is None:
        return None
    return {
        "need": selection.need,
        "chosen": [one._asdict() for one in selection.chosen],
        "swaps": [swap._asdict() for swap in selection.swaps],
        "regions": [region._asdict() for region in selection.regions],
    }


def _selection(plain: dict[str, Any] | None) -> Selection | None:
    if plain is None:
        return None
    return Selection(
        need=plain["need"],
        chosen=tuple(Chosen(**one) for one in plain["chosen"]),
        swaps=tuple(Swap(**one) for one in plain["swaps"]),
        regions=tuple(ChosenRegion(**one) for one in plain["regions"]),
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
                shares=tuple(
                    ClusterShare(replicas=answer["allocation"][row["cluster"]], **row)
                    for row in why["clusters"]
                ),
                left=_pairs(why["left"]),
                losers=_losers(why["losers"]),
                because=tuple(why["because"]),
                fairness=_fairness(why["fairness"]),
                target=why["target"],
                names_descend=why["names_descend"],
                selection=_selection(why["selection"]),
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
