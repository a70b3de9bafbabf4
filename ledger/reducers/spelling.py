"""How a value of a declared type is spelled as plain JSON values, and read back equal to it.

Nothing here knows a type by name. A spelling is derived from what a type declares: the fields of a
frozen dataclass or NamedTuple in their order, what a ``Map``, a tuple or a frozenset holds, a
``Fraction``, a NewType or Literal of text, numbers and truth values. Where one of several classes
may stand, the name of the class comes first. Names of fields are not written: what stands where is
told by the types, and their ``description`` says whether two programs agree on them.

There is one spelling of a value. Maps and sets are written in the order of their keys; no order of
a process, a version of Python or a hash seed reaches it. A type that has no such spelling, because
it can be changed or is not exact, is refused by name as soon as it is met.

Reading makes one object of equal texts, and of other equal values for as long as that saves
something, so that what was read takes no more room than what was folded. For that ``Types`` keeps
what it has read: one is for one reading.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import Field, dataclass, fields, is_dataclass
from fractions import Fraction
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, Final, Literal, NamedTuple, NewType, Union, get_args, get_origin
from typing import get_type_hints as hints_of

from immutables import Map

Spell = Callable[[Any], Any]
"""From a value to plain JSON values."""

Read = Callable[[Any], Any]
"""From plain values, as JSON reads them, to the value. A list it is given is its own to change."""

_TRIES: Final = 4096
"""After so many different values of a type it is clear whether looking for equal ones pays."""

_NOTHING: Final[Map[Any, Any]] = Map()

_KEY: Final = itemgetter(0)
"""Comparing keys alone is half the work of comparing entries."""

_NONE: Final = type(None)
_GENERICS: Final = (type(tuple[int]), type(list[int] | None))
"""``tuple[int]``, ``Map[int, int]``; and ``int | None``."""

json_text: Final = json.JSONEncoder(
    separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False
).encode
"""Plain values as text. A spelling holds no object, so there are no keys to be put in order."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How values of one type are spelled and read; None: a value is its own spelling."""

    told: str
    """The type in words; of a class only its name."""
    spell: Spell | None
    read: Read | None
    ordered: bool
    """Whether its values compare with one another."""
    shared: bool
    """Whether equal values may become one object."""


BESIDE: Final = "beside"
"""In the metadata of a field: it is kept beside a value and says nothing of it, so it is not spelled.

Such fields come last, and have a default."""


def told(class_: Any) -> list[Field[Any]]:
    """The fields that say what a value is."""
    return [field for field in fields(class_) if BESIDE not in field.metadata]


class Entries(NamedTuple):
    """How the entries of a map are spelled and read, one by one."""

    spell: Callable[[Map[Any, Any]], Iterator[Any]]
    """In the order of their keys."""
    read: Callable[[Iterable[Any]], Iterable[tuple[Any, Any]]]


class _Texts(dict[Any, Any]):
    """One object for equal texts."""

    def __missing__(self, text: Any) -> Any:
        self[text] = text
        return text


class _Shared:
    """One object for equal values, until it turns out that most of them are different."""

    __slots__ = ("_found", "_values", "tries")

    def __init__(self) -> None:
        self._values: dict[Any, Any] = {}
        self._found = 0
        self.tries = True
        """Whether it still looks for equal ones."""

    def __call__(self, value: Any) -> Any:
        if not self.tries:
            return value
        known = self._values.setdefault(value, value)
        if known is not value:
            self._found += 1
        elif len(self._values) >= _TRIES and self._found < len(self._values):
            self.tries = False
            self._values.clear()
        return known


class Types:
    """The spellings of the types that were asked for, each derived once."""

    def __init__(self) -> None:
        self._shapes: dict[Any, Shape | None] = {}
        self._classes: dict[str, tuple[Any, str]] = {}
        self._text: Final = _Texts().__getitem__

    def shape(self, type_: Any, *, at: str) -> Shape:
        """How values of a type are spelled; ``at`` says where it was met, for a refusal."""
        if type_ not in self._shapes:
            self._shapes[type_] = None
            self._shapes[type_] = self._derived(type_, at)
        shape = self._shapes[type_]
        assert shape is not None, f"{at}: a {type_} that holds others of its kind has no spelling"
        return shape

    def entries(self, map_: Any, *, at: str) -> Entries:
        """How the entries of a map of this type are spelled."""
        assert get_origin(map_) is Map, f"{at}: {map_} is no map"
        key, value = (self.shape(inner, at=at) for inner in get_args(map_))
        return _entries(key, value)

    @property
    def description(self) -> str:
        """Every class that was met, with its fields and their types, in the order of the names."""
        return "\n".join(self._classes[name][1] for name in sorted(self._classes))

    def _derived(self, type_: Any, at: str) -> Shape:
        if isinstance(type_, NewType):
            return self.shape(type_.__supertype__, at=at)
        if type_ is str:
            return Shape("str", None, self._text, ordered=True, shared=True)
        if type_ in (int, bool):
            return Shape(type_.__name__, None, None, ordered=True, shared=True)
        if type_ in (None, _NONE):
            return Shape("None", None, None, ordered=False, shared=True)
        if type_ is Fraction:
            return Shape("Fraction", _ratio_spelled, _ratio_read, ordered=True, shared=True)
        origin = get_origin(type_)
        if origin is Literal:
            return self._literal(get_args(type_), at)
        if origin is Union or isinstance(type_, _GENERICS[1]):
            return self._union(get_args(type_), at)
        if isinstance(type_, _GENERICS[0]):
            return self._generic(type_, origin, get_args(type_), at)
        if isinstance(type_, type) and is_dataclass(type_):
            return self._dataclass(type_, at)
        if isinstance(type_, type) and issubclass(type_, tuple) and hasattr(type_, "_fields"):
            return self._named_tuple(type_)
        raise _refused(type_, at)

    def _literal(self, values: tuple[Any, ...], at: str) -> Shape:
        if not all(isinstance(value, str) for value in values):
            raise _refused(f"one of {values}", at)
        told = f"Literal[{', '.join(sorted(values))}]"
        return Shape(told, None, self._text, ordered=True, shared=True)

    def _union(self, members: tuple[Any, ...], at: str) -> Shape:
        shapes = {
            member: self.shape(member, at=at) for member in members if member not in (None, _NONE)
        }
        told = sorted(shape.told for shape in shapes.values())
        if len(shapes) < len(members):
            told.append("None")
        words = " | ".join(told)
        if len(shapes) == 1:
            (shape,) = shapes.values()
            return Shape(
                words,
                _unless_none(shape.spell),
                # Asked for None, the texts answer None.
                shape.read if shape.read is self._text else _unless_none(shape.read),
                ordered=False,
                shared=shape.shared,
            )
        if all(
            shape.told in ("bool", "int") or shape.read is self._text for shape in shapes.values()
        ):
            text = self._text
            return Shape(
                words,
                None,
                lambda plain: text(plain) if isinstance(plain, str) else plain,
                ordered=False,
                shared=False,  # True is equal to 1, and no number.
            )
        for member in shapes:
            if not is_dataclass(member):
                raise _refused(f"one of several, {member}", at)
        return self._one_of(words, shapes)

    def _one_of(self, words: str, shapes: dict[Any, Shape]) -> Shape:
        spells = {class_: (class_.__name__, shape.spell) for class_, shape in shapes.items()}
        reads = {class_.__name__: shape.read for class_, shape in shapes.items()}

        def spell(value: Any) -> Any:
            if value is None:
                return None
            name, of_class = spells[type(value)]
            return name, value if of_class is None else of_class(value)

        def read(plain: Any) -> Any:
            if plain is None:
                return None
            name, inner = plain
            of_class = reads[name]
            return inner if of_class is None else of_class(inner)

        shared = all(shape.shared for shape in shapes.values())
        return Shape(words, spell, read, ordered=False, shared=shared)

    def _generic(self, type_: Any, origin: Any, inner: tuple[Any, ...], at: str) -> Shape:
        if origin not in (tuple, frozenset, Map):
            raise _refused(type_, at)
        if origin is tuple and inner[1:] == (Ellipsis,):
            return self._sequence(self.shape(inner[0], at=at))
        shapes = [self.shape(part, at=at) for part in inner]
        if origin is tuple:
            told = f"tuple[{', '.join(shape.told for shape in shapes)}]"
            return _row(told, shapes, apart=None, together=tuple)
        return _set(*shapes) if origin is frozenset else _map(*shapes)

    def _sequence(self, each: Shape) -> Shape:
        spell, read = each.spell, each.read
        made: Read = (
            tuple if read is None else lambda plain: tuple(map(read, plain)) if plain else ()
        )
        return Shape(
            f"tuple[{each.told}, ...]",
            None if spell is None else lambda values: [*map(spell, values)],
            _then(made, _Shared()) if each.shared else made,
            ordered=each.ordered,
            shared=each.shared,
        )

    def _dataclass(self, class_: Any, at: str) -> Shape:
        options = class_.__dataclass_params__
        if not (options.frozen and options.eq):
            raise _refused(f"{class_}, which can be changed or is equal to nothing", at)
        declared = told(class_)
        for field in declared:
            if not field.init:
                raise _refused(f"{class_}, whose {field.name} nobody may give", at)
        names = [field.name for field in declared]
        shapes = self._fields(class_, names)
        return _row(
            class_.__name__,
            shapes,
            apart=_parts(names),
            together=lambda row: class_(*row),
            ordered=options.order,
            # Values may be equal and different only if a field is left out of the comparison.
            shared=all(field.compare for field in declared),
        )

    def _named_tuple(self, class_: Any) -> Shape:
        return _row(
            class_.__name__,
            self._fields(class_, class_._fields),
            apart=None,
            together=partial(tuple.__new__, class_),
        )

    def _fields(self, class_: Any, names: Iterable[str]) -> list[Shape]:
        """The shapes of a class's fields; from then on the class is part of the description."""
        name = class_.__name__
        hints = hints_of(class_)
        shapes = {field: self.shape(hints[field], at=f"{name}.{field}") for field in names}
        told = ", ".join(f"{field}: {shape.told}" for field, shape in shapes.items())
        known, _ = self._classes.setdefault(name, (class_, f"{name}({told})"))
        assert known is class_, f"{known} and {class_} would be taken for each other"
        return list(shapes.values())


def _parts(names: list[str]) -> Spell:
    """How a value is taken apart into a tuple of its parts."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


def _row(
    told: str,
    shapes: list[Shape],
    *,
    apart: Spell | None,
    together: Read,
    ordered: bool = True,
    shared: bool = True,
) -> Shape:
    """A value with so many parts; where nothing takes it apart, it is a tuple of them already."""
    spells = [(at, shape.spell) for at, shape in enumerate(shapes) if shape.spell is not None]
    reads = [(at, shape.read) for at, shape in enumerate(shapes) if shape.read is not None]

    def spell(value: Any) -> list[Any]:
        row = [*(value if apart is None else apart(value))]
        for at, of_part in spells:
            row[at] = of_part(row[at])
        return row

    shared = shared and all(shape.shared for shape in shapes)
    known = _Shared()

    def read(row: list[Any]) -> Any:
        for at, of_part in reads:
            row[at] = of_part(row[at])
        return together(row)

    def read_shared(row: list[Any]) -> Any:
        for at, of_part in reads:
            row[at] = of_part(row[at])
        value = together(row)
        return known(value) if known.tries else value

    return Shape(
        told,
        spell if spells else apart,
        read_shared if shared else read,
        ordered=ordered and all(shape.ordered for shape in shapes),
        shared=shared,
    )


def _set(each: Shape) -> Shape:
    order = _order(each)

    def spell(values: frozenset[Any]) -> list[Any]:
        sorted_ = sorted(values, key=order)
        return sorted_ if each.spell is None else [*map(each.spell, sorted_)]

    def read(plain: list[Any]) -> frozenset[Any]:
        return frozenset(plain if each.read is None else map(each.read, plain))

    return Shape(
        f"frozenset[{each.told}]",
        spell,
        _then(read, _Shared()) if each.shared else read,
        ordered=False,
        shared=each.shared,
    )


def _map(key: Shape, value: Shape) -> Shape:
    spell, read = _entries(key, value)

    def read_all(plain: list[Any]) -> Map[Any, Any]:
        if not plain:
            return _NOTHING
        if len(plain) == 1:
            ((one, other),) = read(plain)
            return _NOTHING.set(one, other)
        return Map(read(plain))

    return Shape(
        f"Map[{key.told}, {value.told}]",
        lambda held: [*spell(held)] if held else (),
        read_all,
        ordered=False,
        shared=False,
    )


def _entries(key: Shape, value: Shape) -> Entries:
    order = _order(key)
    of_key, of_value = key.spell or _itself, value.spell or _itself
    key_read, value_read = key.read or _itself, value.read or _itself

    def keys(held: Map[Any, None]) -> Iterator[Any]:
        return map(of_key, sorted(held, key=order))

    def pairs(held: Map[Any, Any]) -> Iterator[Any]:
        if order is not None:
            return ((of_key(one), of_value(held[one])) for one in sorted(held, key=order))
        sorted_ = sorted(held.items(), key=_KEY)
        if key.spell is value.spell is None:
            return iter(sorted_)
        return ((of_key(one), of_value(other)) for one, other in sorted_)

    def keys_read(plain: Iterable[Any]) -> Iterable[tuple[Any, None]]:
        return ((key_read(one), None) for one in plain)

    def pairs_read(plain: Iterable[Any]) -> Iterable[tuple[Any, Any]]:
        return ((key_read(one), value_read(other)) for one, other in plain)

    return Entries(keys, keys_read) if value.told == "None" else Entries(pairs, pairs_read)


def _order(key: Shape) -> Callable[[Any], str] | None:
    """What keys are sorted by: themselves, or their spelling where they do not compare."""
    if key.ordered:
        return None
    spell = key.spell or _itself
    return lambda value: json_text(spell(value))


def _ratio_spelled(ratio: Fraction) -> tuple[int, int]:
    return ratio.numerator, ratio.denominator


def _ratio_read(plain: list[int]) -> Fraction:
    return Fraction(*plain)


def _itself(value: Any) -> Any:
    return value


def _unless_none(of: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    if of is None:
        return None
    return lambda value: None if value is None else of(value)


def _then(first: Read, second: Read) -> Read:
    return lambda plain: second(first(plain))


def _refused(what: object, at: str) -> AssertionError:
    return AssertionError(
        f"{at}: there is no spelling of {what}. What is spelled is frozen dataclasses, NamedTuples,"
        " Map, tuple, frozenset, Fraction, text, whole numbers, and unions of dataclasses"
    )
