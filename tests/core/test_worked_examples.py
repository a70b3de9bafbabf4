"""The worked examples in docs/core are true: each is read from its page, asked, and compared.

Here are the pages on division and its lot; the other systems have files of their own. An example
may leave out what it does not want to speak of, but nothing that it says goes unchecked: a word that
is not known here fails.
"""

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from hashlib import shake_256
from typing import Any

import pytest

from ledger.core.division import dynamic, regions, selection, webster
from ledger.core.division.static_weight import Division, Last, Request, divide
from ledger.core.lot import Lot, block_bytes
from ledger.units import ClusterName, Replicas, Weight
from tests.core.worked import PAGES, Lines, counts, examples, listed, text_of


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


@pytest.mark.parametrize(("asked", "answered"), examples("webster.md"))
def test_an_example_of_webster_comes_out_as_written(asked: Lines, answered: Lines) -> None:
    replicas, _, weights = asked["webster"].partition(" by ")
    assert asked.keys() <= {"webster", "initial", "workload"}, "unknown words"
    question: dict[str, Any] = {"initial": counts(asked.get("initial", ""))}

    result = webster.apportion(
        Replicas(int(replicas)),
        weights_of(weights),
        workload=asked.get("workload", ""),
        **question,
    )

    assert_said(claims(result), answered)


@pytest.mark.parametrize(("asked", "answered"), examples("dynamic.md"))
def test_an_example_of_dynamic_comes_out_as_written(asked: Lines, answered: Lines) -> None:
    strategies = {"dynamic": "dynamic", "aggregate": "aggregated"}
    assert asked.keys() <= {*strategies, "last", "fresh"}, "unknown words"
    word = next(iter(asked))
    replicas, _, available = asked[word].partition(" on ")
    question: dict[str, Any] = {
        "replicas": int(replicas),
        "available": counts(available),
        "last": counts(asked.get("last", "")),
        "strategy": strategies[word],
        "fresh": "fresh" in asked,
    }

    division = dynamic.divide(dynamic.Request(**question))

    assert isinstance(division, dynamic.Division)
    weights = {one.cluster: one.weight for one in division.shares if one.weight is not None}
    said = {
        "course": division.course,
        "target": str(division.target),
        "row": " ".join(division.row),
        "weights": listed(weights),
        "replicas": listed(division.allocation),
    }
    assert_said(said, answered)


@pytest.mark.parametrize(("asked", "answered"), examples("selection.md"))
def test_an_example_of_selection_comes_out_as_written(asked: Lines, answered: Lines) -> None:
    by_region = "regions" in asked
    clusters = bounds(asked["clusters"])
    chosen: object
    if by_region:
        given = [
            regions.Region(name, int(text.partition(": ")[0]), candidates(text.partition(": ")[2]))
            for name, text in asked.items()
            if name not in {"regions", "clusters"}
        ]
        chosen = selection.select_by_region(
            given, spread=bounds(asked["regions"]), clusters=clusters
        )
    else:
        assert asked.keys() == {"select", "clusters", "need"}, "unknown words"
        need = None if asked["need"] == "none" else Replicas(int(asked["need"]))
        chosen = selection.select(candidates(asked["select"]), clusters=clusters, need=need)

    assert isinstance(chosen, selection.Selection)
    said = {
        "selected": " ".join(chosen.selected),
        "swaps": " ".join(
            f"{one.place + 1}:{one.out}>{one.into}:{one.room}" for one in chosen.swaps
        ),
    }
    for reason in ("chosen", "not_needed"):
        said[reason] = " ".join(r.region.name for r in chosen.regions if r.reason == reason)
    assert_said({word: text for word, text in said.items() if text}, answered)
    assert {"swaps", "not_needed"} & said.keys() & answered.keys() == {
        word for word in ("swaps", "not_needed") if said[word]
    }, "an example says what was swapped or left over"


@pytest.mark.parametrize("page", sorted(page.name for page in PAGES.glob("*.md")))
def test_every_block_of_a_page_is_an_example(page: str) -> None:
    assert text_of(page).count("```") == 2 * len(examples(page, reading=str)) > 0


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
        if division.drawing.sample is not None:
            yield "line", " ".join(division.drawing.sample.line)
            yield "point", str(division.drawing.sample.point)
        yield division.drawing.purpose, " ".join(division.drawing.order)
    yield "replicas", listed(division.allocation)


def assert_said(said: Lines, answered: Lines) -> None:
    """Whatever an example says is so, and it says nothing that is not known."""
    assert answered
    assert answered.keys() - said.keys() == set(), "unknown words"
    assert {word: said[word] for word in answered} == answered


def claims(result: webster.Apportionment) -> Lines:
    met = {party.cluster: party.last_claim for party in result.parties if party.got}
    following = {party.cluster: party.next_claim for party in result.parties}
    last, first = result.last_served, result.next_in_line
    return {
        "met": listed(met),
        "next": listed(following),
        "last": last.cluster if last else "",
        "follows": first.cluster if first else "",
        "replicas": listed(result.allocation),
    }


def candidates(text: str) -> list[selection.Candidate]:
    found = []
    for written in text.split():
        name, _, numbers = written.partition("=")
        score, _, available = numbers.partition("/")
        found.append(selection.Candidate(ClusterName(name), int(score), Replicas(int(available))))
    return found


def bounds(text: str) -> regions.Bounds:
    least, _, most = text.partition("..")
    return regions.Bounds(int(least), int(most))


def weights_of(text: str) -> dict[ClusterName, Weight]:
    return {ClusterName(name): Weight(number) for name, number in counts(text).items()}


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
    known = {"divide", "last", "lot", "mode", "caps", "capacities", "kappa", "chances"}
    assert asked.keys() <= known, "unknown words"
    question: dict[str, Any] = {"replicas": int(replicas), "weights": counts(weights)}
    if "mode" in asked:
        question["inertia"] = asked["mode"]
    if "chances" in asked:
        question["chances"] = asked["chances"]
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
