"""The questions of ``ledger solve`` that redo a recorded step, made from the record alone.

A division carries all that its strategy looked at, so its question can be put together again, asked
again and told by the explainer of that op. The answer is held against the record: what does not come
out the same is said to, and not told as if it did. The lot is asked by itself, too.

Of a cap only what bound is in a record; where no event is there that tells the caps, those that bound
stand for all, which gives the same answer.

What the nodes or disks had free is not in a record, only its digest: deployments, disk placements and
rounds are redone from the log, by ``ledger replay``.
"""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ledger.cli.explain.derivation import Derivation
from ledger.errors import InvalidRequest
from ledger.facts.capacity_class import CapacityClass
from ledger.facts.decision import Decision
from ledger.facts.division import Division

LAST_BY_WEIGHT: Final = "StaticWeight"
"""What ``ledger solve`` calls the strategy whose last result can be compared."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question of ``ledger solve`` whose answer is in the record."""

    op: str
    input: Mapping[str, Any]
    expected: Mapping[str, Any]
    """Fields of the answer, as the record has them."""

    @property
    def line(self) -> str:
        """As ``ledger solve`` reads it."""
        return json.dumps({"op": self.op, "input": self.input}, separators=(",", ":"))

    @property
    def command(self) -> str:
        """For a shell."""
        return f"echo {shlex.quote(self.line)} | ledger solve --explain"


@dataclass(frozen=True, slots=True)
class Redone:
    """What came of a question now."""

    question: Question
    told: tuple[str, ...]
    """By the explainer of the op."""
    differs: str | None
    """In what the answer is another than the recorded one; None where it is the same."""


def redone(question: Question) -> Redone:
    """Ask again."""
    # Only divisions and targets can be asked again; whoever reads the others does not wait for this.
    from ledger.cli.solve.asking import Refused
    from ledger.cli.solve.catalogue import CATALOGUE

    op = CATALOGUE.find(question.op)
    assert op is not None, f"{question.op} is an op"
    try:
        asked = op.question.model_validate(question.input)
        answer = op.answer(asked)
    except (Refused, InvalidRequest) as refused:
        return Redone(question, (), f"it is refused now: {refused.code}")
    for name, expected in question.expected.items():
        if answer[name] != expected:
            return Redone(
                question, (), f"{name} comes out as {answer[name]}, recorded is {expected}"
            )
    return Redone(question, tuple(op.explain(asked).splitlines()), None)


def questions(of: Derivation) -> tuple[Question, ...]:
    """What can be asked again of a decision: the lot first, where there was one, then the whole."""
    decision = of.decision
    match decision.outcome:
        case Division() as division:
            whole = _division(of, division)
            lot = _lot(decision, division)
            return (*(() if lot is None else (lot,)), whole)
        case CapacityClass() as target if of.wish is not None:
            return (_target(of, target),)
        case _:
            return ()


def _lot(decision: Decision, division: Division) -> Question | None:
    if decision.lot is None:
        return None
    lot = decision.lot
    return Question(
        "lot.draw",
        {
            "weights": {
                share.cluster: share.odds for share in division.shares if share.odds is not None
            },
            "draws": len(lot.draws),
            "salt": lot.salt,
            "uid": lot.workload,
            "epoch": lot.epoch,
        },
        {"draw_order": list(lot.draws)},
    )


def _division(of: Derivation, division: Division) -> Question:
    allocation = {share.cluster: share.replicas for share in division.shares}
    match division.strategy:
        case "static":
            return Question(
                "division.static",
                _by_weight(of, division),
                {"allocation": allocation, "branch": of.decision.branch},
            )
        case "webster":
            asked: dict[str, Any] = {
                "replicas": division.replicas,
                "weights": {share.cluster: share.weight for share in division.shares},
                "workload": division.uid,
            }
            return Question("division.webster", asked, {"allocation": allocation})
        case "duplicated":
            asked = {"replicas": division.replicas, "candidates": sorted(allocation)}
            return Question("division.duplicated", asked, {"allocation": allocation})
        case strategy:
            asked = {
                "replicas": division.replicas,
                "available": {share.cluster: share.available for share in division.shares},
                "last": _held(division),
                "strategy": strategy,
                "fresh": "fresh" in division.because,
                "workload": division.uid,
            }
            return Question("division.dynamic", asked, {"allocation": allocation})


def _held(division: Division) -> Mapping[str, int]:
    held: dict[str, int] = {one.cluster: one.previous for one in division.shares if one.previous}
    return held | dict(division.left)


def _by_weight(of: Derivation, division: Division) -> dict[str, Any]:
    fairness = division.fairness
    assert fairness is not None, "static weight says what its shares were made from"
    asked: dict[str, Any] = {
        "replicas": division.replicas,
        "weights": {share.cluster: share.weight for share in division.shares},
        "inertia": fairness.inertia,
    }
    if caps := caps_of(of, division):
        asked["caps"] = caps
    room = {share.cluster: share.available for share in division.shares}
    if any(available is not None for available in room.values()):
        kappa = fairness.kappa
        asked |= {"capacities": room, "kappa": [kappa.numerator, kappa.denominator]}
    if "fresh" in division.because:
        asked["fresh"] = True
    last = None if of.last is None else of.last.decision.outcome
    if isinstance(last, Division) and last.strategy == "static":
        asked["last"] = {
            "strategy": LAST_BY_WEIGHT,
            "allocation": {share.cluster: share.replicas for share in last.shares},
            "replicas": last.replicas,
            "weights": {share.cluster: share.weight for share in last.shares},
        }
    lot = of.decision.lot
    if lot is not None:
        asked |= {"salt": lot.salt, "workload": lot.workload, "epoch": lot.epoch}
    return asked


def caps_of(of: Derivation, division: Division) -> dict[str, int]:
    """The caps of the candidates: as they were wished, or those that bound."""
    told = (of.wished.get("division") or {}).get("caps") or {}
    names = {share.cluster for share in division.shares}
    if told:
        return {name: told[name] for name in sorted(told) if name in names}
    return {
        share.cluster: share.ceiling
        for share in division.shares
        if share.weight and share.ceiling is not None and share.ceiling == share.floor
    }


def _target(of: Derivation, target: CapacityClass) -> Question:
    asked: dict[str, Any] = {
        "kind": of.wished.get("kind"),
        "replicas": target.share,
        "annotation": of.wished.get("min_available"),
    }
    if "last_valid_used" in target.flags:
        asked["last_valid"] = target.read
    return Question("spot.target", asked, {"T": target.target, "mode": target.mode})
