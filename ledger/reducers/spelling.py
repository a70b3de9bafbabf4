"""How a value of a declared type is spelled as plain JSON values, and read back equal to it.

Nothing here knows a type by name. A spelling is derived from what a type declares: the fields of a
frozen dataclass or NamedTuple in their order, what a ``Map``, a tuple or a frozenset holds, a
``Fraction``, a NewType or Literal of text, numbers and truth values. Where one of several classes
may stand, the name of the class comes first. Names of fields are not written: what stands where is
told by the types, and their ``description`` says whether two programs agree on them.

There is one spelling of a value. Maps and sets are written in the order of their keys; no order of
a process, a version of Python or a hash seed reaches it. A type that has no such spelling, because
it can be changed or is not exact, is refused by name as soon as it is met.

Values are spelled and read many at a time, and their parts one kind after the other: so most of it is
done by the interpreter's own loops. A million values go through here between a restart and its first
decision.

Reading makes one object of equal values for as long as that saves something, so that what was read
takes no more room than what was folded. Whether it does is found out place by place: a name is new where
things are listed by it, and known where it is referred to. For that ``Types`` keeps what it has read: one
is for one reading.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import Field, dataclass, fields, is_dataclass
from fractions import Fraction
from functools import partial
from itertools import islice, repeat
from operator import attrgetter, itemgetter
from typing import Any, Final, Literal, NamedTuple, NewType, Union, get_args, get_origin
from typing import get_type_hints as hints_of

from immutables import Map

Many = Sequence[Any]

Spell = Callable[[Many], Many]
"""From values to plain JSON values, each where its value was."""

Read = Callable[[Many], Many]
"""From plain values, as JSON reads them, to the values."""

_TRIES: Final = 4096
"""After so many different values of a type it is clear whether looking for equal ones pays."""

TEXTS_TRIED: Final = 1 << 17
"""And of texts after so many: each of a hundred thousand names may be met once before it comes again."""

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
    spell_all: Spell | None
    read_all: Read | None
    ordered: bool
    """Whether its values compare with one another."""
    shared: bool
    """Whether equal values may become one object."""

    def spell(self, value: Any) -> Any:
        """One value as plain JSON values."""
        return value if self.spell_all is None else self.spell_all((value,))[0]

    def read(self, plain: Any) -> Any:
        """One value back."""
        return plain if self.read_all is None else self.read_all((plain,))[0]


BESIDE: Final = "beside"
"""In the metadata of a field: it is kept beside a value and says nothing of it, so it is not spelled.

Such fields come last, and have a default."""


def told(class_: Any) -> list[Field[Any]]:
    """The fields that say what a value is."""
    return [field for field in fields(class_) if BESIDE not in field.metadata]


class Entries(NamedTuple):
    """How the entries of a map are spelled and read."""

    ordered: Callable[[Map[Any, Any]], Sequence[tuple[Any, Any]]]
    """In the order of their keys."""
    spell: Callable[[Sequence[tuple[Any, Any]]], Many]
    """Some of them."""
    read: Callable[[Many], Iterable[tuple[Any, Any]]]
    """The same back."""


class _Shared:
    """One object for equal values, until it turns out that most of them are new."""

    __slots__ = ("_enough", "_known", "_met", "_new")

    def __init__(self, known: dict[Any, Any], enough: int = _TRIES) -> None:
        """``known`` may be that of others, too; after ``enough`` new ones it is clear."""
        self._known: dict[Any, Any] | None = known
        self._enough = enough
        self._met = self._new = 0

    def __call__(self, values: Many) -> Many:
        known = self._known
        if known is None:
            return values
        before = len(known)
        # An equal one that is there already is taken instead.
        one_of_each = [*map(known.setdefault, values, values)]
        self._new += len(known) - before
        self._met += len(values)
        if self._new >= self._enough and 2 * self._new > self._met:
            self._known = None
        return one_of_each


class _Texts(_Shared):
    """How the texts of one place are read; asked for None, it answers None."""

    __slots__ = ()

    def __init__(self, known: dict[Any, Any]) -> None:
        super().__init__(known, TEXTS_TRIED)


class Types:
    """The spellings of the types that were asked for, each derived once."""

    def __init__(self) -> None:
        self._shapes: dict[Any, Shape | None] = {}
        self._classes: dict[str, tuple[Any, str]] = {}
        self._texts: Final[dict[Any, Any]] = {}

    def shape(self, type_: Any, *, at: str) -> Shape:
        """How values of a type are spelled; ``at`` says where it was met, for a refusal."""
        if _is_text(type_):
            return Shape("str", None, _Texts(self._texts), ordered=True, shared=True)
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
        if type_ in (int, bool):
            return Shape(type_.__name__, None, None, ordered=True, shared=True)
        if type_ in (None, _NONE):
            return Shape("None", None, None, ordered=False, shared=True)
        if type_ is Fraction:
            return Shape("Fraction", _ratios_spelled, _ratios_read, ordered=True, shared=True)
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
        return Shape(told, None, _Texts(self._texts), ordered=True, shared=True)

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
                _unless_none(shape.spell_all),
                shape.read_all
                if isinstance(shape.read_all, _Texts)
                else _unless_none(shape.read_all),
                ordered=False,
                shared=shape.shared,
            )
        if all(
            shape.told in ("bool", "int") or isinstance(shape.read_all, _Texts)
            for shape in shapes.values()
        ):
            text = self._texts.setdefault
            return Shape(
                words,
                None,
                lambda plain: [text(one, one) if isinstance(one, str) else one for one in plain],
                ordered=False,
                shared=False,  # True is equal to 1, and no number.
            )
        for member in shapes:
            if not is_dataclass(member):
                raise _refused(f"one of several, {member}", at)
        return self._one_of(words, shapes)

    def _one_of(self, words: str, shapes: dict[Any, Shape]) -> Shape:
        spells = {class_: (class_.__name__, shape.spell_all) for class_, shape in shapes.items()}
        reads = {class_.__name__: shape.read_all for class_, shape in shapes.items()}

        def spell(values: Many) -> Many:
            classes = [*map(type, values)]
            spelled: dict[Any, Any] = {_NONE: repeat(None)}
            for class_ in dict.fromkeys(classes):
                if class_ is not _NONE:
                    name, of_class = spells[class_]
                    own = [value for value in values if type(value) is class_]
                    spelled[class_] = zip(repeat(name), own if of_class is None else of_class(own))
            return [next(spelled[class_]) for class_ in classes]

        def read(plain: Many) -> Many:
            inside: dict[Any, list[Any]] = {}
            names = []
            for one in plain:
                name, inner = (None, None) if one is None else one
                names.append(name)
                inside.setdefault(name, []).append(inner)
            values: dict[Any, Any] = {None: repeat(None)}
            for name, own in inside.items():
                if name is not None:
                    of_class = reads[name]
                    values[name] = iter(own if of_class is None else of_class(own))
            return [next(values[name]) for name in names]

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
            return _row(told, shapes, apart=None, together=_rows)
        return _set(*shapes) if origin is frozenset else _map(*shapes)

    def _sequence(self, each: Shape) -> Shape:
        spell_all, read_all = each.spell_all, each.read_all

        def spell(values: Many) -> Many:
            assert spell_all is not None
            inside = [one for value in values for one in value]
            return _parted(iter(spell_all(inside) if inside else ()), values, list)

        def read(plain: Many) -> Many:
            inside: Many = [one for told in plain for one in told]
            if inside and read_all is not None:
                inside = read_all(inside)
            return _parted(iter(inside), plain, tuple)

        return Shape(
            f"tuple[{each.told}, ...]",
            None if spell_all is None else spell,
            _then(read, _Shared({})) if each.shared else read,
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
            together=_made(class_, names),
            ordered=options.order,
            # Values may be equal and different only if a field is left out of the comparison.
            shared=all(field.compare for field in declared),
        )

    def _named_tuple(self, class_: Any) -> Shape:
        return _row(
            class_.__name__,
            self._fields(class_, class_._fields),
            apart=tuple,
            together=lambda columns: [*map(partial(tuple.__new__, class_), _rows(columns))],
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


def _is_text(type_: Any) -> bool:
    while isinstance(type_, NewType):
        type_ = type_.__supertype__
    return type_ is str


def _parts(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """How a value is taken apart into a tuple of its parts."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


Together = Callable[[Sequence[Many]], Many]
"""From columns of parts to values."""


def _rows(columns: Sequence[Many]) -> Many:
    return [*zip(*columns, strict=True)]


def _made(class_: Any, names: list[str]) -> Together:
    """How values of a frozen dataclass are made of columns of these fields.

    Where ``__init__`` would do no more than write all fields, they are written a column at a time.
    """
    if (
        hasattr(class_, "__post_init__")
        or not hasattr(class_, "__slots__")
        or len(names) < len(fields(class_))
    ):
        return lambda columns: [*map(class_, *columns)]
    writers = [getattr(class_, name).__set__ for name in names]

    def make(columns: Sequence[Many]) -> Many:
        values = [*map(object.__new__, repeat(class_, len(columns[0])))]
        for write, column in zip(writers, columns, strict=True):
            deque(map(write, values, column), maxlen=0)
        return values

    return make


def _row(
    told: str,
    shapes: list[Shape],
    *,
    apart: Callable[[Any], tuple[Any, ...]] | None,
    together: Together,
    ordered: bool = True,
    shared: bool = True,
) -> Shape:
    """Values with so many parts; where nothing takes them apart, they are tuples of them already."""
    spells = [
        (at, shape.spell_all) for at, shape in enumerate(shapes) if shape.spell_all is not None
    ]
    reads = [(at, shape.read_all) for at, shape in enumerate(shapes) if shape.read_all is not None]

    def spell(values: Many) -> Many:
        # What is more than a tuple is still a row, but JSON would ask what it is.
        rows = values if apart is None or (apart is tuple and spells) else [*map(apart, values)]
        if not (rows and spells):
            return rows
        columns: list[Many] = [*zip(*rows, strict=True)]
        for at, of_parts in spells:
            columns[at] = of_parts(columns[at])
        return _rows(columns)

    shared = shared and all(shape.shared for shape in shapes)
    known = _Shared({})

    def read(rows: Many) -> Many:
        if not rows:
            return rows
        columns: list[Many] = [*zip(*rows, strict=True)]
        if len(columns) != len(shapes):
            raise ValueError(f"{told} has {len(shapes)} parts, not {len(columns)}")
        for at, of_parts in reads:
            columns[at] = of_parts(columns[at])
        values = together(columns)
        return known(values) if shared else values

    return Shape(
        told,
        spell if spells or apart is not None else None,
        read,
        ordered=ordered and all(shape.ordered for shape in shapes),
        shared=shared,
    )


def _parted(inside: Iterator[Any], like: Many, into: Callable[[Iterable[Any]], Any]) -> Many:
    """What was done to all that several values hold, value by value again."""
    nothing = into(())
    return [into(islice(inside, len(one))) if one else nothing for one in like]


def _set(each: Shape) -> Shape:
    order = _order(each)
    spell_all, read_all = each.spell_all, each.read_all

    def spell(values: Many) -> Many:
        ordered = [sorted(value, key=order) for value in values]
        return ordered if spell_all is None else [spell_all(one) if one else () for one in ordered]

    def read(plain: Many) -> Many:
        return [frozenset(one if read_all is None or not one else read_all(one)) for one in plain]

    return Shape(
        f"frozenset[{each.told}]",
        spell,
        _then(read, _Shared({})) if each.shared else read,
        ordered=False,
        shared=each.shared,
    )


def _map(key: Shape, value: Shape) -> Shape:
    ordered, spell, read = _entries(key, value)

    def spell_all(maps: Many) -> Many:
        entries = [entry for held in maps if held for entry in ordered(held)]
        return _parted(iter(spell(entries)), maps, list)

    def read_all(plain: Many) -> Many:
        entries = iter(read([entry for told in plain for entry in told]))
        return [
            _NOTHING
            if not told
            else _NOTHING.set(*next(entries))
            if len(told) == 1
            else Map(islice(entries, len(told)))
            for told in plain
        ]

    return Shape(
        f"Map[{key.told}, {value.told}]",
        spell_all,
        read_all,
        ordered=False,
        shared=False,
    )


def _entries(key: Shape, value: Shape) -> Entries:
    order = _order(key)
    of_key, of_value = key.spell_all or _themselves, value.spell_all or _themselves
    key_read, value_read = key.read_all or _themselves, value.read_all or _themselves

    def ordered(held: Map[Any, Any]) -> Sequence[tuple[Any, Any]]:
        entries = [*held.items()]
        if len(entries) < 2:
            return entries
        if order is not None:
            entries.sort(key=lambda entry: order(entry[0]))
        elif hasattr(entries[0][0], "_fields"):
            # By the last part first: plain values compare at half the cost of named tuples.
            for part in reversed(range(len(entries[0][0]))):
                entries.sort(key=_by_part(part))
        else:
            entries.sort(key=_KEY)
        return entries

    def keys(entries: Sequence[tuple[Any, Any]]) -> Many:
        return of_key([*map(_KEY, entries)]) if entries else ()

    def pairs(entries: Sequence[tuple[Any, Any]]) -> Many:
        if not entries:
            return ()
        ones, others = zip(*entries, strict=True)
        return [*zip(of_key(ones), of_value(others), strict=True)]

    def keys_read(plain: Many) -> Iterable[tuple[Any, None]]:
        return zip(key_read(plain), repeat(None)) if plain else ()

    def pairs_read(plain: Many) -> Iterable[tuple[Any, Any]]:
        if not plain:
            return ()
        ones, others = zip(*plain, strict=True)
        return zip(key_read(ones), value_read(others), strict=True)

    if value.told == "None":
        return Entries(ordered, keys, keys_read)
    return Entries(ordered, pairs, pairs_read)


def _by_part(part: int) -> Callable[[tuple[Any, Any]], Any]:
    return lambda entry: entry[0][part]


def _order(key: Shape) -> Callable[[Any], str] | None:
    """What keys are sorted by: themselves, or their spelling where they do not compare."""
    if key.ordered:
        return None
    return lambda value: json_text(key.spell(value))


def _ratios_spelled(ratios: Many) -> Many:
    return [ratio.as_integer_ratio() for ratio in ratios]


def _ratios_read(plain: Many) -> Many:
    return [Fraction(*one) for one in plain]


def _themselves(values: Many) -> Many:
    return values


def _unless_none(of_all: Callable[[Many], Many] | None) -> Callable[[Many], Many] | None:
    if of_all is None:
        return None

    def but_none(values: Many) -> Many:
        there = [value for value in values if value is not None]
        if not there:
            return values
        if len(there) == len(values):
            return of_all(values)
        done = iter(of_all(there))
        return [None if value is None else next(done) for value in values]

    return but_none


def _then(first: Read, shared: _Shared) -> Read:
    return lambda plain: shared(first(plain))


def _refused(what: object, at: str) -> AssertionError:
    return AssertionError(
        f"{at}: there is no spelling of {what}. What is spelled is frozen dataclasses, NamedTuples,"
        " Map, tuple, frozenset, Fraction, text, whole numbers, and unions of dataclasses"
    )
