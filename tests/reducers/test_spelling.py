"""How values are spelled: one way each, read back equal, and nothing that has no spelling."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, make_dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple, NewType

import pytest
from immutables import Map

from ledger.reducers.spelling import Types, json_text

Name = NewType("Name", str)


class Pair(NamedTuple):
    left: Name
    right: int | None


@dataclass(frozen=True, slots=True)
class Circle:
    radius: Fraction
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Square:
    side: int
    tags: tuple[Literal["red", "blue"], ...] = ()


@dataclass(frozen=True, slots=True)
class Alone:
    value: str


@dataclass(frozen=True, slots=True)
class Drawing:
    shapes: Map[Name, Circle | Square | None]
    order: tuple[Pair, ...]
    flags: frozenset[Literal["b", "a", "c"]]
    counts: Map[Pair, int]
    present: Map[tuple[str, ...], Map[Name, None]]
    either: bool | int | str
    alone: Alone


DRAWING = Drawing(
    shapes=Map(
        [
            (Name("é"), Circle(Fraction(-1, 3))),
            (Name("a"), Square(2, ("red", "blue"))),
            (Name("b"), None),
        ]
    ),
    order=(Pair(Name("x"), None), Pair(Name("w"), 1)),
    flags=frozenset({"c", "a"}),
    counts=Map({Pair(Name("x"), None): 1, Pair(Name("x"), 2): 2, Pair(Name("\U00010000"), 10): 3}),
    present=Map([(("k", "v"), Map([(Name("n2"), None), (Name("n10"), None)])), ((), Map())]),
    either=True,
    alone=Alone("here"),
)

SPELLED = (
    '[[["a",["Square",[2,["red","blue"]]]],["b",null],["é",["Circle",[[-1,3],null]]]],'
    '[["x",null],["w",1]],["a","c"],'
    '[[["x",2],2],[["x",null],1],[["𐀀",10],3]],'
    '[[[],[]],[["k","v"],["n10","n2"]]],true,["here"]]'
)


def spelled(type_: Any, value: Any) -> str:
    shape = Types().shape(type_, at="test")
    return json_text(shape.spell(value))


def read(type_: Any, text: str) -> Any:
    shape = Types().shape(type_, at="test")
    return shape.read(json.loads(text))


def test_a_value_has_one_spelling_and_is_read_back() -> None:
    assert spelled(Drawing, DRAWING) == SPELLED
    again = read(Drawing, SPELLED)
    assert again == DRAWING
    assert again.either is True


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (bool | int | str, 1),
        (bool | int | str, True),
        (int | None, 2**200),
        (str | None, None),
        (Fraction | None, Fraction(7, 2)),
        (tuple[int | None, str], (None, "")),
        (frozenset[tuple[str, int]], frozenset({("b", 1), ("a", 2)})),
        (Map[int, tuple[Fraction, ...]], Map({10: (Fraction(1),), 9: ()})),
        (Circle | None, Circle(Fraction(1), "x")),
    ],
)
def test_what_was_read_has_the_types_it_was_written_with(type_: Any, value: Any) -> None:
    again = read(type_, spelled(type_, value))

    assert again == value
    assert type(again) is type(value)


def test_true_and_one_stay_what_they_are() -> None:
    """They are equal to Python, and what is read is shared with what is equal."""
    shape = Types().shape(tuple[tuple[bool | int, ...], ...], at="test")

    values = ((1,), (True,), (1,))

    again = shape.read(json.loads(json_text(values)))
    assert [[type(value) for value in each] for each in again] == [[int], [bool], [int]]


def test_equal_values_become_one() -> None:
    shape = Types().shape(tuple[Circle, ...], at="test")

    one, other = shape.read([[[1, 3], "same"], [[1, 3], "same"]])
    assert one is other
    assert one.radius == Fraction(1, 3)


def test_sharing_ends_where_it_saves_nothing() -> None:
    shape = Types().shape(Pair, at="test")
    first = shape.read(["first", 0])
    assert shape.read(["first", 0]) is first

    for number in range(10_000):
        assert shape.read(["another", number]) == ("another", number)

    assert shape.read(["first", 0]) is not first


def test_equal_texts_of_whatever_kind_become_one_but_for_a_kind_of_which_most_are_new() -> None:
    types = Types()
    name, plain = types.shape(Name, at="test"), types.shape(str, at="test")
    known = json.loads('"often there"')
    assert plain.read(known) is known

    assert name.read(json.loads('"often there"')) is known
    for number in range(10_000):
        assert name.read(f"new {number}") == f"new {number}"

    assert name.read(json.loads('"often there"')) is not known
    assert plain.read(json.loads('"often there"')) is known


class Open:
    value: int


@dataclass
class Changeable:
    value: int


@dataclass(frozen=True)
class Holder:
    inner: Changeable


@dataclass(frozen=True)
class Chain:
    next: "Chain | None"


@dataclass(frozen=True)
class Made:
    value: int
    twice: int = field(init=False, default=0)


Namesakes: Any = make_dataclass(
    "Namesakes",
    [("one", Alone), ("other", make_dataclass("Alone", [("else_", int)], frozen=True))],
    frozen=True,
)


@pytest.mark.parametrize(
    ("type_", "said"),
    [
        (float, "test: there is no spelling of <class 'float'>"),
        (Any, "no spelling of typing.Any"),
        (dict[str, int], r"no spelling of dict\[str, int\]"),
        (list[int], r"no spelling of list\[int\]"),
        (tuple[float, ...], "no spelling of <class 'float'>"),
        (Callable[[int], int], "no spelling of collections.abc.Callable"),
        (Literal[1, 2], r"no spelling of one of \(1, 2\)"),
        (Open, "no spelling of <class '.*Open'>"),
        (Holder, "Holder.inner: there is no spelling of <class '.*Changeable'>, which can be"),
        (Chain, "Chain.next: a <class '.*Chain'> that holds others of its kind has no spelling"),
        (Made, "Made'>, whose twice nobody may give"),
        (int | Fraction, "no spelling of one of several, "),
        (tuple[int, ...] | tuple[str, ...], "no spelling of one of several, "),
        (Namesakes, "would be taken for each other"),
    ],
)
def test_what_has_no_spelling_is_refused_by_name(type_: Any, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        Types().shape(type_, at="test")


def test_the_description_tells_types_apart() -> None:
    types = Types()
    types.shape(Drawing, at="test")

    assert types.description.splitlines()[:2] == [
        "Alone(value: str)",
        "Circle(radius: Fraction, label: str | None)",
    ]
    assert "shapes: Map[str, Circle | Square | None]" in types.description
