"""The core against recorded facts, asked through the door that everybody uses.

Each line of ``<system>.jsonl`` is a question with what must hold of its answer, and says where that
was taken from; a ``note`` says what is worth noticing. Beside it, every row is asked in other
spellings that must not matter.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ledger.cli.solve.catalogue import CATALOGUE
from ledger.cli.solve.line import reply
from tests.vectors.verdict import shortcoming

HERE = Path(__file__).parent

ROWS = {
    "capacity.jsonl": 91,
    "disk.jsonl": 132,
    "division.jsonl": 205,
    "fairshare.jsonl": 170,
    "lot.jsonl": 21,
    "placement.jsonl": 87,
    "spot.jsonl": 132,
}
"""How many there are, so that none is lost unnoticed."""

WITHOUT_ROWS = {"disk.auto_balance", "disk.capacity", "disk.rebalance"}
"""What nobody else has recorded facts about; docs/core/disk.md has examples."""

Fact = dict[str, Any]


def facts(name: str) -> list[Fact]:
    with (HERE / name).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


FACTS = [fact for name in ROWS for fact in facts(name)]
EACH = pytest.mark.parametrize("fact", [pytest.param(fact, id=fact["id"]) for fact in FACTS])


def asked(fact: Fact, *, for_people: bool = False) -> str:
    """What the door says to a question of ours, which it must not fail at."""
    question = {"id": fact["id"], "op": fact["op"], "input": fact["input"]}
    said = reply(json.dumps(question).encode(), CATALOGUE, for_people=for_people)
    assert said is not None
    if said.failure is not None:
        raise said.failure
    return said.text.decode()


@EACH
def test_the_core_answers_as_recorded(fact: Fact) -> None:
    answer = json.loads(asked(fact), parse_float=no_float)

    assert answer["id"] == fact["id"]
    assert shortcoming(fact["expect"], answer) == "", (fact["source"], fact.get("note"))


@EACH
def test_the_order_of_keys_does_not_show_in_the_answer(fact: Fact) -> None:
    answer, other = asked(fact), asked(fact | {"input": backwards(fact["input"])})

    # A patch hands the pod's own objects back as they stood.
    assert other == answer or (
        fact["op"] == "spot.patch" and json.loads(other) == json.loads(answer)
    )


@EACH
def test_people_get_an_answer_in_words(fact: Fact) -> None:
    told = asked(fact, for_people=True)

    heading, _, body = told.partition("\n")
    assert heading == f"{fact['id']}  {fact['op']}"
    assert body.strip()
    if "error" in fact["expect"]:
        assert body.startswith(f"no answer, {fact['expect']['error']}: ")


def test_no_row_was_lost() -> None:
    assert {name: len(facts(name)) for name in ROWS} == ROWS
    assert max(Counter(fact["id"] for fact in FACTS).values()) == 1


def test_every_op_has_rows() -> None:
    assert {op.name for op in CATALOGUE.ops()} - {fact["op"] for fact in FACTS} == WITHOUT_ROWS


def backwards(value: Any) -> Any:
    """The same JSON value with every object written from its end."""
    match value:
        case dict():
            return {key: backwards(value[key]) for key in reversed(value)}
        case list():
            return [backwards(entry) for entry in value]
        case _:
            return value


def no_float(text: str) -> None:
    raise AssertionError(f"the core answered {text}, which is no exact number")
