"""The worked examples in docs/core are true: each is read from its page, asked, and compared.

An example is a block marked ``worked``: what is asked, four dashes, what comes out. It may leave out
what it does not want to speak of, but nothing that it says goes unchecked: a word that is not known
here fails.
"""

import json
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from hashlib import shake_256
from pathlib import Path
from typing import Any

import pytest

from ledger.core.division import Division, Last, Request, divide
from ledger.core.lot import Lot, block_bytes

PAGES = Path(__file__).parents[2] / "docs" / "core"
BLOCK = re.compile(r"^```worked\n(.*?)^```$", re.DOTALL | re.MULTILINE)

Lines = dict[str, str]


def examples(page: str) -> list[Any]:
    text = (PAGES / page).read_text(encoding="utf-8")
    found = []
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        asked, dashes, answered = block[1].partition("\n----\n")
        assert dashes, f"{page}:{line} has no line of four dashes"
        found.append(pytest.param(words(asked), words(answered), id=f"{page}:{line}"))
    return found


def words(text: str) -> Lines:
    """Each line's first word, and the rest of the line."""
    lines = [line.split(maxsplit=1) for line in text.strip().splitlines()]
    assert len({first for first, *_ in lines}) == len(lines), "the same word twice"
    return {first: "".join(rest) for first, *rest in lines}


@pytest.mark.parametrize(("asked", "answered"), examples("division.md"))
def test_an_example_of_division_comes_out_as_written(asked: Lines, answered: Lines) -> None:
    division = divide(request(asked), last=last(asked), lot=lot(asked))

    assert isinstance(division, Division)
    assert {"branch", "replicas"} <= answered.keys()
    assert answered.keys() - dict(said(division)).keys() == set(), "unknown words"
    assert {word: text for word, text in said(division) if word in answered} == answered
    drawn = {"winners", "keepers"} & answered.keys()
    assert bool(drawn) == division.drew, "an example says so when it drew"


@pytest.mark.parametrize(("asked", "answered"), examples("lot.md"))
def test_an_example_of_a_lot_comes_out_as_written(asked: Lines, answered: Lines) -> None:
    odds = counts(asked["odds"])
    drawing = lot(asked)

    draw = drawing.draw(odds, int(asked["draws"]))

    by_hand = dict(steps(drawing, odds, draw.order))
    by_core = {"order": " ".join(draw.order), "blocks": str(draw.blocks)}
    assert "order" in answered
    assert answered.keys() - by_hand.keys() - by_core.keys() == set(), "unknown words"
    assert {word: (by_hand | by_core)[word] for word in answered} == answered


@pytest.mark.parametrize("page", ["division.md", "lot.md"])
def test_every_block_of_a_page_is_an_example(page: str) -> None:
    text = (PAGES / page).read_text(encoding="utf-8")

    assert text.count("```") == 2 * len(examples(page)) > 0


def said(division: Division) -> Iterator[tuple[str, str]]:
    """Everything that an example of division may say."""

    def of_each(column: str) -> str:
        return listed({share.cluster: getattr(share, column) for share in division.shares})

    yield "branch", division.branch
    yield "open", f"{division.open_replicas} by {division.open_weight}"
    yield "floor", of_each("floor")
    yield "remainder", of_each("remainder")
    yield "residual", str(division.residual)
    if division.drawing is not None:
        yield "odds", listed(division.drawing.odds)
        yield division.drawing.purpose, " ".join(division.drawing.order)
    yield "replicas", listed(division.allocation)


def steps(lot: Lot, odds: Mapping[str, int], order: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Each draw from the stream by hand, as far as no block is refused."""
    left = dict(odds)
    for number, name in enumerate(order):
        total = sum(left.values())
        text = json.dumps(["kdiv1", lot.salt, lot.workload, lot.epoch, number])
        text = text.replace(", ", ",")
        digest = shake_256(text.encode("ascii")).digest(block_bytes(total))
        point = int.from_bytes(digest, "big") % total
        yield f"text-{number}", text
        yield f"digest-{number}", digest.hex()
        yield f"point-{number}", f"{point} of {total}"
        assert "".join(one * left[one] for one in sorted(left))[point] == name
        del left[name]


def request(asked: Lines) -> Request:
    replicas, _, weights = asked["divide"].partition(" by ")
    known = {"divide", "last", "lot", "mode", "caps", "capacities", "kappa"}
    assert asked.keys() <= known, "unknown words"
    question: dict[str, Any] = {"replicas": int(replicas), "weights": counts(weights)}
    if "mode" in asked:
        question["inertia"] = asked["mode"]
    if "kappa" in asked:
        question["kappa"] = Fraction(asked["kappa"])
    for word in ("caps", "capacities"):
        if word in asked:
            question[word] = counts(asked[word])
    return Request(**question)


def last(asked: Lines) -> Last | None:
    if "last" not in asked:
        return None
    replicas, _, rest = asked["last"].partition(" by ")
    weights, _, allocation = rest.partition(" as ")
    division: dict[str, Any] = {
        "allocation": counts(allocation),
        "replicas": int(replicas),
        "weights": counts(weights),
    }
    return Last(**division)


def lot(asked: Lines) -> Lot:
    values = dict(pair.split("=") for pair in asked["lot"].split())
    return Lot(values["salt"], values["workload"], int(values["epoch"]))


def counts(text: str) -> dict[str, int]:
    pairs = (pair.split("=") for pair in text.split())
    return {name: int(number) for name, number in pairs}


def listed(amounts: Mapping[Any, int]) -> str:
    return " ".join(f"{name}={amount}" for name, amount in amounts.items())
