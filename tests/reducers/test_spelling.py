"""How values are spelled: one way each, read back equal, and nothing that has no spelling."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, make_dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple, NewType

import pytest
from immutables import Map

from ledger.reducers.spelling import TEXTS_TRIED, Shape, Types, json_text

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


def test_names_become_one_where_they_are_referred_to_and_not_where_most_are_new() -> None:
    types = Types()
    listing = types.shape(tuple[Name, ...], at="listing")
    referring = types.shape(Map[str, Name], at="referring")
    few = [f"name {number}" for number in range(1000)]
    many = [f"another {number}" for number in range(TEXTS_TRIED)]

    def read_again(shape: Shape, plain: object) -> Any:
        return shape.read(json.loads(json_text(plain)))

    listed = read_again(listing, [*few, *many])
    again = read_again(listing, few)
    first, second = (read_again(referring, [[name, name] for name in few]) for _ in range(2))

    assert again == tuple(few) == listed[: len(few)]
    assert not any(one is other for one, other in zip(again, listed, strict=False)), "it gave up"
    assert [*first.values()] == [*second.values()]
    assert all(first[name] is second[name] for name in few)
    assert all(first[name] is known for name, known in zip(few, listed, strict=False))


class Coordinates(NamedTuple):
    name: str
    number: int


def test_entries_are_in_the_order_of_keys_of_several_parts() -> None:
    keys = [Coordinates(name, number) for name in ("b", "a", "", "a b") for number in (10, 9, -1)]

    again = json.loads(spelled(Map[Coordinates, int], Map(dict.fromkeys(keys, 0))))

    assert [tuple(key) for key, _ in again] == sorted(map(tuple, keys))


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
