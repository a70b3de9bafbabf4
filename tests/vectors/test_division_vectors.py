"""Division and its lot against recorded facts: what the sources print and what the rules imply.

Each line of ``division.jsonl`` and ``lot.jsonl`` is one question with what must hold of its answer,
and says where that was taken from.
"""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ledger.core.division import Division, Last, Request, Shortage, divide, draw_probability, fit
from ledger.core.lot import Lot
from ledger.core.shares import proportion
from ledger.errors import InvalidRequest
from tests.vectors.verdict import shortcoming

HERE = Path(__file__).parent


def facts(name: str) -> list[Any]:
    with (HERE / name).open(encoding="utf-8") as lines:
        return [pytest.param(fact, id=fact["id"]) for fact in map(json.loads, lines)]


@pytest.mark.parametrize("fact", [*facts("division.jsonl"), *facts("lot.jsonl")])
def test_the_core_answers_as_recorded(fact: dict[str, Any]) -> None:
    try:
        answer = {"result": ASKED[fact["op"]](fact["input"])}
    except InvalidRequest as refused:
        answer = {"error": {"code": refused.code, "message": refused.message}}

    assert shortcoming(fact["expect"], answer) == "", fact["note"]


def ask_static(question: dict[str, Any]) -> dict[str, Any]:
    answer = divide(
        Request(
            replicas=question["replicas"],
            weights=question["weights"],
            inertia=question.get("inertia", "minimal"),
            fresh=question.get("fresh", False),
            caps=question.get("caps"),
            capacities=question.get("capacities"),
            kappa=kappa(question),
        ),
        last=last_static(question.get("last")),
        lot=Lot(
            salt=question.get("salt", ""),
            workload=question.get("workload", ""),
            epoch=question.get("epoch", 0),
        ),
    )
    match answer:
        case Division():
            return {"allocation": answer.allocation, "branch": answer.branch}
        case Shortage():
            raise InvalidRequest(answer.code, f"{answer.wanted} wanted, room for {answer.room}")


def ask_fit(question: dict[str, Any]) -> dict[str, Any]:
    answer = fit(question["allocation"], replicas=question["replicas"], weights=question["weights"])
    return {"fits": answer.fits, "fits_strict_quota": answer.fits_strict_quota}


def ask_draw_probability(question: dict[str, Any]) -> dict[str, Any]:
    chances = draw_probability(
        question["weights"], capacities=question.get("capacities"), kappa=kappa(question)
    )
    return {"first_draw": {cluster: str(chance) for cluster, chance in chances.items()}}


def ask_lot(question: dict[str, Any]) -> dict[str, Any]:
    lot = Lot(question.get("salt", ""), question.get("uid", ""), question.get("epoch", 0))
    return {"draw_order": list(lot.draw(question["weights"], question["draws"]).order)}


def kappa(question: dict[str, Any]) -> Fraction | None:
    parts = question.get("kappa")
    return None if parts is None else proportion(*parts)


def last_static(last: dict[str, Any] | None) -> Last | None:
    if last is None or last["strategy"] != "StaticWeight":
        return None
    return Last(last["allocation"], last["replicas"], last["weights"])


ASKED = {
    "division.static": ask_static,
    "division.fit": ask_fit,
    "division.draw_probability": ask_draw_probability,
    "lot.draw": ask_lot,
}
