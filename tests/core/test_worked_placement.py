"""The worked examples in docs/core/placement.md are true: each is read from the page and asked.

An example may leave out what it does not want to speak of, but nothing that it says goes unchecked:
a word that is not known here fails.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from ledger.core.placement.answer import Placement, Shortage
from ledger.core.placement.nearest_level import Step, first_steps
from ledger.core.placement.place import place
from ledger.core.placement.question import Node, Request, checked
from ledger.core.placement.reasons import highest_usage, outcomes
from ledger.units import NodeName
from tests.core.worked import Lines, examples, listed, pairs


@pytest.mark.parametrize(("asked", "answered"), examples("placement.md"))
def test_an_example_of_placement_comes_out_as_written(asked: Lines, answered: Lines) -> None:
    question = request(asked)

    said = dict(everything(question))

    assert {"deploy", "refused"} & answered.keys()
    assert answered.keys() - said.keys() == set(), "unknown words"
    assert {word: said[word] for word in answered} == answered


def everything(question: Request) -> Iterator[tuple[str, str]]:
    """All that an example may say of the answer."""
    match place(question):
        case Placement() as placed:
            yield "deploy", listed(placed.deploy)
            every = outcomes(question, placed)
            yield "because", " ".join(f"{one.node.name}={one.reason}" for one in every)
            if placed.level is not None:
                yield "level", str(placed.level)
                yield "last", str(placed.last_round)
            yield "highest", str(highest_usage(question, placed))
            if question.strategy == "GLOBAL" and question.policy == "nearest_level":
                steps = first_steps(checked(question), question.count, question.count)
                yield "steps", " ".join(map(step, steps))
        case Shortage() as shortage:
            yield "refused", shortage.code
            yield "found", f"{shortage.found} of {shortage.wanted} {shortage.counted}"
            yield "unable", " ".join(shortage.unable)


def step(one: Step) -> str:
    level = "" if one.next_level is None else f":{one.next_level}"
    return f"{one.node}:{one.rule}{level}"


def request(asked: Lines) -> Request:
    assert asked.keys() <= {"place", "limit", "usage", "rate", "policy"}, "unknown words"
    count, _, rest = asked["place"].partition(" by ")
    strategy, _, nodes = rest.partition(" on ")
    usages, rates = parts(asked.get("usage", "")), parts(asked.get("rate", ""))
    question: dict[str, Any] = {"strategy": strategy, "count": int(count)}
    if "limit" in asked:
        question["nodes_limit"] = int(asked["limit"])
    if "policy" in asked:
        question["policy"] = asked["policy"]
    return Request(
        nodes=[
            Node(
                name=NodeName(name),
                capacity=int(capacity),
                count=int(held),
                usage=usages.get(name, Fraction(0)),
                rate=rates.get(name, Fraction(0)),
            )
            for name, held, capacity in re.findall(r"(\w+)=(\d+)\+(\d+)", nodes)
        ],
        **question,
    )


def parts(text: str) -> dict[str, Fraction]:
    return {name: Fraction(number) for name, number in pairs(text)}
