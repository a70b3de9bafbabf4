"""One line through the door: whatever stands on it, it gets the answer that is due.

Asked is a small catalogue of this test's own, so that what is said here is true of every system.
"""

import json
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import pytest
from pydantic import Field

from ledger.cli.solve.asking import Count, Op, Question, Ratio, Refused
from ledger.cli.solve.catalogue import Catalogue
from ledger.cli.solve.line import reply
from ledger.cli.solve.writing import spelled
from ledger.errors import InvalidRequest


class Portions(Question):
    """So many, by these weights."""

    replicas: Count
    weights: Mapping[str, Count]
    share: Ratio = Fraction(1)
    mode: Literal["even", "odd"] = "even"
    note: str | None = None
    order: tuple[str | Count, ...] = Field(default=(), strict=False)


def portions(asked: Portions) -> dict[str, Any]:
    if not asked.weights:
        raise InvalidRequest("invalid_request", "nobody to give to")
    return {
        "allocation": {name: weight * asked.replicas for name, weight in asked.weights.items()},
        "share": asked.share,
        "mode": asked.mode,
        "note": asked.note,
    }


class Anything(Question):
    """Handed back as it is."""

    value: Any = None


def refuse(_: Anything) -> dict[str, Any]:
    raise Refused("no_disk", "there is none")


def fail(_: Anything) -> dict[str, Any]:
    nothing: dict[str, dict[str, Any]] = {}
    return nothing["missing"]


def vow(_: Anything) -> dict[str, Any]:
    raise AssertionError("what was given out is what there was")


def endless(asked: Anything) -> dict[str, Any]:
    return endless(asked)


OPS = (
    Op("toy.portions", "give", Portions, portions, lambda asked: f"{asked.replicas} each"),
    Op(
        "toy.echo", "hand back", Anything, lambda asked: {"value": asked.value}, lambda _: "\x1b[2J"
    ),
    Op("toy.refuse", "say no", Anything, refuse, lambda _: ""),
    Op("toy.fail", "break", Anything, fail, lambda _: ""),
    Op("toy.vow", "break a promise", Anything, vow, lambda _: ""),
    Op("toy.endless", "never end", Anything, endless, lambda _: ""),
    Op("toy.unwritable", "say what is no JSON", Anything, lambda _: {"it": object()}, lambda _: ""),
)
TOYS = Catalogue({"toy": lambda: OPS})


def ask(line: str | bytes, *, for_people: bool = False) -> str:
    raw = line if isinstance(line, bytes) else line.encode()
    said = reply(raw, TOYS, for_people=for_people)
    assert said is not None
    assert said.failure is None
    return said.text.decode()


def answer(line: str | bytes) -> dict[str, Any]:
    text = ask(line)
    assert text.endswith("\n")
    assert text.count("\n") == 1
    answered: dict[str, Any] = json.loads(text)
    return answered


def portions_of(given: str) -> str:
    """The message about an input that is refused."""
    said = answer(f'{{"id": "a", "op": "toy.portions", "input": {given}}}')
    assert said["id"] == "a"
    assert said["error"]["code"] == "invalid_request"
    message: str = said["error"]["message"]
    return message


def test_a_question_is_answered_in_the_order_its_answer_was_made() -> None:
    line = (
        '{"input": {"weights": {"b": 2, "a": 1}, "replicas": 3, "share": "2/6"},'
        ' "op": "toy.portions", "id": "q", "from": "a newer program"}\r\n'
    )

    assert ask(line) == (
        '{"id": "q", "result": {"allocation": {"b": 6, "a": 3}, "share": "1/3", "mode": "even",'
        ' "note": null}}\n'
    )


@pytest.mark.parametrize("blank", [b"", b"\n", b"\r\n", b" \t \r\n"])
def test_a_blank_line_is_no_question(blank: bytes) -> None:
    assert reply(blank, TOYS) is None


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"nonsense",
        b"{}{}",
        b"'single': 'quotes'",
        b'{"id": 1, "op": "toy.echo", "input": {},}',
        b'{"id": 1, "op": "toy.echo", "input": {"value": 01}}',
        b'{"id": 1, "op": "toy.echo", "input": {"value": "a\tb"}}',
        b'{"id": 1, "op": "toy.echo", "input": {"value": NaN}',
        b'{"id": 1, "id": 1, "op": ',
        b'{"id": 1, "op": "toy.echo", "input": {"value": "\xff"}}',
        b'{"id": 1, "op": "toy.echo", "input": {"value": "\xed\xa0\x80"}}',
        b"\x00",
        b"\x0c",
        b"[" * 100_000,
        b"]" * 100_000,
        b'{"id": 1, "input": ' + b"[" * 100_000 + b"}",
        b'{"id": 1, "input": ' + b"[" * 100 + b"]" * 100,
    ],
    ids=lambda line: line[:40],
)
def test_what_is_not_json_is_said_to_be_none(line: bytes) -> None:
    said = answer(line)

    assert said["id"] is None
    assert said["error"]["code"] == "invalid_json"
    assert said["error"]["message"].startswith(("not JSON: ", "not UTF-8: "))


@pytest.mark.parametrize(
    ("line", "given_id", "words"),
    [
        ("[]", None, "a question is an object with an op and an input"),
        ('"toy.echo"', None, "a question is an object with an op and an input"),
        ("NaN", None, "NaN is not a number"),
        ("{}", None, "op is missing"),
        ('{"id": 7}', 7, "op is missing"),
        ('{"id": 7, "op": 8, "input": {}}', 7, "op must be text"),
        ('{"id": 7, "op": "toy.echo"}', 7, "input is missing"),
        ('{"id": 7, "op": "toy.echo", "input": null}', 7, "input is missing"),
        ('{"id": 7, "op": "toy.echo", "input": []}', 7, "input must be an object"),
        ('{"id": 7, "op": "toy.echo", "op": "toy.echo"}', 7, 'the key "op" is there twice'),
        ('{"id": 7, "op": "toy.echo", "input": {"a": {"b": 1, "b": 1}}}', 7, 'the key "b"'),
        ('{"id": 7, "id": 7, "op": "toy.echo", "input": {}}', 7, 'the key "id" is there twice'),
        ('{"id": 7, "id": 8, "op": "toy.echo", "input": {}}', None, 'the key "id" is there twice'),
        ('{"op": "toy.echo", "input": {"value": NaN}, "id": 7}', 7, "NaN is not a number"),
        ('{"op": "toy.echo", "input": {"value": -Infinity}, "id": 7}', 7, "-Infinity is not a"),
        ('{"id": 7, "op": "toy.echo", "input": {"value": "\\ud800"}}', 7, "holds half of a"),
        ('{"id": 7, "op": "toy.echo", "input": {"\\udc00x": [1]}}', 7, "holds half of a"),
        ('{"id": 7, "op": "toy.echo", "input": {"value": 1e99999999999999999999}}', 7, "reach"),
        ('{"id": 7, "op": "toy.portions", "input": {}}', 7, "replicas is missing; weights is"),
    ],
)
def test_what_asks_nothing_is_refused_with_its_id(line: str, given_id: object, words: str) -> None:
    said = answer(line)

    assert said["id"] == given_id
    assert said["error"]["code"] == "invalid_request"
    assert words in said["error"]["message"]


@pytest.mark.parametrize("levels", [63, 64, 900, 50_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_what_is_nested_too_deep_is_refused_whatever_the_stack(
    levels: int, opening: str, closing: str
) -> None:
    value = f"{opening * (levels - 2)}1{closing * (levels - 2)}"

    said = answer(
        f'{{"op": "toy.echo", "input": {{"unread": {value}}}, "id": [[1], {{"}}": "]"}}]}}'
    )

    assert said["id"] == [[1], {"}": "]"}]
    assert ("error" in said) == (levels > 64)
    assert levels <= 64 or said["error"]["message"] == "nested over 64 deep"


@pytest.mark.parametrize(
    "given_id",
    [
        *('"web"', '"\\u00e9\\n"', '""', "0", "-7", "true", "null", "1.50", "-0.0", "1E+400", "[]"),
        *('{"a": [1, 2.5, "x"]}', "9" * 900, "9" * 9_000, f"[{'9' * 9_000}]", '"\\ud800"'),
    ],
    ids=lambda given_id: given_id[:20],
)
def test_an_id_of_any_kind_comes_back_as_it_was(given_id: str) -> None:
    text = ask(f'{{"id": {given_id}, "op": "toy.nothing", "input": {{}}}}')

    def numbers_as_written(text: str) -> Any:
        return json.loads(text, parse_int=str, parse_float=str)

    assert numbers_as_written(text)["id"] == numbers_as_written(given_id)


def test_an_id_that_is_not_there_is_null() -> None:
    assert answer('{"op": "toy.echo", "input": {}}') == {"id": None, "result": {"value": None}}


def test_null_means_absent_and_what_is_unknown_is_not_read() -> None:
    said = answer(
        '{"id": 1, "op": "toy.portions", "input":'
        ' {"replicas": -0, "weights": {"a": 1}, "mode": null, "share": null, "colour": "blue"}}'
    )

    assert said["result"] == {"allocation": {"a": 0}, "share": "1", "mode": "even", "note": None}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ('{"weights": {}}', "replicas is missing"),
        ('{"replicas": null, "weights": {}}', "replicas is missing"),
        ('{"replicas": -3, "weights": {}}', "replicas must not be negative, and -3 is"),
        ('{"replicas": 1.5, "weights": {}}', "replicas must be a whole number, not 1.5"),
        ('{"replicas": 1.0, "weights": {}}', "replicas must be a whole number, not 1.0"),
        ('{"replicas": 1e3, "weights": {}}', "replicas must be a whole number, not 1E+3"),
        ('{"replicas": 1e0, "weights": {}}', "replicas must be a whole number, not 1E+0"),
        ('{"replicas": true, "weights": {}}', "replicas must be a whole number, not true"),
        ('{"replicas": "3", "weights": {}}', 'replicas must be a whole number, not "3"'),
        ('{"replicas": [], "weights": {}}', "replicas must be a whole number, not a list"),
        (
            f'{{"replicas": {"9" * 1001}, "weights": {{}}}}',
            "replicas must be a whole number of at most 1000 digits, not one of 1001 digits",
        ),
        ('{"replicas": 1, "weights": []}', "weights must be an object, not a list"),
        (
            '{"replicas": 1, "weights": {"a": null}}',
            "weights.a must be a whole number, not null",
        ),
        (
            '{"replicas": 1, "weights": {}, "mode": "odder"}',
            "mode must be 'even' or 'odd', not \"odder\"",
        ),
        ('{"replicas": 1, "weights": {}, "note": 5}', "note must be text, not 5"),
        (
            '{"replicas": 1, "weights": {}, "share": "1/0"}',
            'share must be an exact number (2, "1/2", "0.5" or [1, 2]), not "1/0"',
        ),
        (
            '{"replicas": 1, "weights": {}, "share": 1e999999999}',
            'share must be an exact number (2, "1/2", "0.5" or [1, 2]), not 1E+999999999',
        ),
        (
            '{"replicas": 1, "weights": {}, "order": ["a", {}]}',
            "order[1] must be text or a whole number, not an object",
        ),
        ('{"replicas": 1, "weights": {}}', "nobody to give to"),
    ],
    ids=lambda text: text[:60],
)
def test_a_refusal_names_the_field_and_what_belongs_there(given: str, words: str) -> None:
    assert portions_of(given) == words


def test_every_field_that_is_wrong_is_named_up_to_a_few() -> None:
    names = ("a b", "c.d", "\x1b", "é", "e", "f", "g")

    message = portions_of(json.dumps({"replicas": 1, "weights": dict.fromkeys(names, -1)}))

    *clauses, last = message.split("; ")
    assert clauses == [
        f"weights.{name} must not be negative, and -1 is"
        for name in ('"a b"', '"c.d"', '"\\u001b"', "é", "e")
    ]
    assert last == "and 2 more"


def test_numbers_are_exact_however_large() -> None:
    most = 10**1000 - 1

    said = ask(
        f'{{"id": 1, "op": "toy.portions", "input": {{"replicas": {most}, "weights": {{"a": {most}}}}}}}'
    )

    assert json.loads(said)["result"]["allocation"] == {"a": most * most}


def test_more_digits_than_python_writes_are_written() -> None:
    ops = (
        Op("toy.many", "", Anything, lambda _: {"n": -(10**5000), "f": Fraction(10**5000, 3)}, str),
    )

    said = reply(b'{"op": "toy.many", "input": {}}', Catalogue({"toy": lambda: ops}))

    assert said is not None
    digits = "1" + "0" * 5000
    assert (
        said.text.decode() == f'{{"id": null, "result": {{"n": -{digits}, "f": "{digits}/3"}}}}\n'
    )


@pytest.mark.parametrize("exponent", [63, 2047, 2048, 2049, 4096, 5000, 70_000])
def test_every_digit_of_a_large_number_is_written(exponent: int) -> None:
    for number in (2**exponent - 1, 2**exponent, 2**exponent + 1, 3**exponent):
        assert spelled(number) == str(Decimal(number))
        assert spelled([-number]) == f"[-{Decimal(number)}]"


def test_a_decimal_that_is_handed_through_stays_what_it_was() -> None:
    assert '{"value": [0.10, {"b": true}]}' in ask(
        '{"id": 1, "op": "toy.echo", "input": {"value": [0.10, {"b": true}]}}'
    )


def test_an_unknown_op_is_told_what_was_meant() -> None:
    def message(op: str) -> str:
        said = answer(json.dumps({"id": 1, "op": op, "input": {}}))
        assert said["error"]["code"] == "unknown_op"
        text: str = said["error"]["message"]
        return text

    assert message("toy.portion") == 'there is no op "toy.portion"; did you mean toy.portions?'
    assert message("spot.x") == 'there is no op "spot.x"; `ledger solve --list` shows them all'
    assert message("") == 'there is no op ""; `ledger solve --list` shows them all'
    assert len(message("x" * 1_000_000)) < 200
    assert "\x1b" not in message("\x1b[2J")


def test_no_is_an_answer() -> None:
    assert answer('{"id": 1, "op": "toy.refuse", "input": {}}') == {
        "id": 1,
        "error": {"code": "no_disk", "message": "there is none"},
    }


@pytest.mark.parametrize(
    ("op", "kind"),
    [
        ("toy.fail", KeyError),
        ("toy.vow", AssertionError),
        ("toy.endless", RecursionError),
        ("toy.unwritable", TypeError),
    ],
)
@pytest.mark.parametrize("for_people", [False, True])
def test_a_mistake_of_ours_is_answered_and_handed_over(
    op: str, kind: type[Exception], *, for_people: bool
) -> None:
    line = f'{{"id": "q", "op": "{op}", "input": {{}}}}'.encode()

    said = reply(line, TOYS, for_people=for_people)

    assert said is not None
    assert isinstance(said.failure, kind) or (for_people and op == "toy.unwritable")
    if for_people:
        assert said.text.startswith(f"q  {op}\n".encode())
    else:
        error = json.loads(said.text)["error"]
        assert error["code"] == "internal_error"
        assert kind.__name__ in error["message"]


def test_people_read_text() -> None:
    question = '{"id": "a", "op": "toy.portions", "input": {"replicas": 2, "weights": {"m": 1}}}'

    assert ask(question, for_people=True) == "a  toy.portions\n2 each\n\n"
    assert ask('{"op": "toy.refuse", "input": {}}', for_people=True) == (
        "toy.refuse\nno answer, no_disk: there is none\n\n"
    )
    assert ask('{"id": [1], "op": "toy.refuse"}', for_people=True) == (
        "[1]\nno answer, invalid_request: input is missing\n\n"
    )
    assert ask("{", for_people=True).startswith("no answer, invalid_json: not JSON: ")


def test_nothing_on_a_line_moves_the_terminal_of_who_reads_the_answer() -> None:
    told = ask('{"id": "\\u001b[1m\\u202e\\ud800", "op": "toy.echo", "input": {}}', for_people=True)
    explained = ask('{"id": "x", "op": "toy.echo", "input": {}}', for_people=True)

    assert told.isprintable() or set(told) - {"\n"} <= {*map(chr, range(32, 127))}
    assert "\\u001b[1m\\u202e\\ud800" in told
    assert explained == "x  toy.echo\n\\u001b[2J\n\n"
