"""Whatever stands where in a question, the door has an answer and not a mistake of ours.

One recorded question of each op is asked again and again, each time with one of its values replaced
by something that does not belong there, in JSON or in that field.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ledger.cli.solve.catalogue import CATALOGUE
from ledger.cli.solve.line import reply
from tests.vectors.test_core_vectors import FACTS, Fact

ODD = (
    *("null", "true", "-1", "0", "1.5", "1e999999999", "-1e-999999999", "9" * 900, "9" * 2_000),
    *('""', '"x"', '"-1"', '"1/3"', '"1e9"', '"NaN"', '"\\u0000"', '"\\ud83d\\ude00"'),
    *("[]", "[null]", "[[]]", "{}", '{"": null}', "1000000000", f'"{"9" * 60}"'),
)
"""Values as they stand in JSON."""

HOLE = "\ue000"
"""Stands where something odd is put; in no recorded question."""

ONE_OF_EACH: dict[str, Fact] = {}
for recorded in FACTS:
    if "error" not in recorded["expect"]:
        ONE_OF_EACH.setdefault(recorded["op"], recorded)


def with_a_hole(value: Any) -> Iterator[Any]:
    """The value, each time with another part of it left out."""
    yield HOLE
    match value:
        case dict():
            for key, entry in value.items():
                yield from (value | {key: other} for other in with_a_hole(entry))
        case list():
            for place, entry in enumerate(value):
                before, after = value[:place], value[place + 1 :]
                yield from ([*before, other, *after] for other in with_a_hole(entry))
        case _:
            pass


@pytest.mark.parametrize("op", ONE_OF_EACH)
def test_something_odd_in_a_question_is_refused_or_answered(op: str) -> None:
    recorded = ONE_OF_EACH[op]
    answers: list[Any] = []
    for question in with_a_hole(recorded["input"]):
        written = json.dumps({"id": 1, "op": op, "input": question})
        before, after = written.split(json.dumps(HOLE))
        for odd in ODD:
            line = f"{before}{odd}{after}".encode()
            told, said = (reply(line, CATALOGUE, for_people=kind) for kind in (True, False))
            assert told is not None
            assert said is not None
            assert (told.failure, said.failure) == (None, None), line
            answers.append(json.loads(said.text))

    codes = {one["error"]["code"] for one in answers if "error" in one}
    assert all(one["id"] == 1 for one in answers)
    assert "invalid_request" in codes
