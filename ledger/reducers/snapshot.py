"""A World as bytes and back: equal Worlds have equal bytes, wherever they were folded.

A snapshot is lines of JSON. The first says by which layout the others are to be read; then come the
parts of the World in the order of their declaration, a map in as many lines as it takes, with an
empty one behind it. How values are spelled is derived from their types (``ledger.reducers.spelling``),
so a field that is added to the World is in its snapshot without anybody having to think of it.

A layout is two things: ``LAYOUT``, raised by whoever changes what a part means without changing its
type, and the fingerprint of all types. A snapshot of another layout is not read. Nothing of what
was decided is lost with it: it only saves the time to fold the log again.

Whoever has read a snapshot has read that World if the digest is the one it was written with. Where
it is kept and what else it must agree with is told in ``ledger.engine.restoring``.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, is_dataclass
from functools import cache
from hashlib import sha256
from operator import attrgetter
from typing import Any, Final, NamedTuple, get_origin, get_type_hints

from immutables import Map, MapMutation

from ledger.errors import UnusableSnapshot
from ledger.reducers.spelling import Entries, Shape, Types, json_text, told
from ledger.reducers.world import World

LAYOUT: Final = 1
"""Raised when a part of the World gets another meaning and keeps its type."""

_ENTRIES: Final = 256
"""Entries of a map in a line: as many as make calling for each line cheap, few enough that a line
is spelled or read in a few milliseconds."""


class _Part(NamedTuple):
    """A part of the World with lines of its own."""

    path: str
    type_: Any
    is_map: bool


def _parts(class_: Any, path: str = "") -> Iterator[_Part]:
    """The maps that are reached from the World by names alone, and what lies beside them."""
    hints = get_type_hints(class_)
    for field in told(class_):
        type_ = hints[field.name]
        here = f"{path}{field.name}"
        if is_dataclass(type_) and any(part.is_map for part in _parts(type_)):
            yield from _parts(type_, f"{here}.")
        else:
            yield _Part(here, type_, get_origin(type_) is Map)


class _Spelled(NamedTuple):
    """How a part is written and read."""

    path: str
    how: Shape | Entries


@dataclass(frozen=True, slots=True)
class _Layout:
    """How all parts are, and the line that says so."""

    parts: tuple[_Spelled, ...]
    fingerprint: str

    @property
    def heading(self) -> list[Any]:
        return ["ledger world", LAYOUT, self.fingerprint]


def _layout() -> _Layout:
    types = Types()
    parts = []
    shapes = []
    for path, type_, is_map in _parts(World):
        shape = types.shape(type_, at=path)
        parts.append(_Spelled(path, types.entries(type_, at=path) if is_map else shape))
        shapes.append(f"{path}: {shape.told}")
    described = "\n".join([*shapes, types.description])
    return _Layout(tuple(parts), sha256(described.encode()).hexdigest())


@cache
def _own_layout() -> _Layout:
    """For everything but reading: what reads keeps what it has read."""
    return _layout()


def fingerprint() -> str:
    """Of all types that a World is made of, in hex."""
    return _own_layout().fingerprint


def spell(world: World) -> Iterator[bytes]:
    """The lines of a World, one by one; each takes a few milliseconds at most.

    But for the largest maps: sorting their keys comes before their first line.
    """
    return map(line, plain_lines(world))


def plain_lines(world: World) -> Iterator[Any]:
    """The same as plain JSON values, for whoever writes them more quickly than ``line``."""
    yield heading()
    for part, _ in enumerate(entries(world)):
        yield from plain_part(world, part)


def heading() -> Any:
    """The first line, as plain values."""
    return _own_layout().heading


def entries(world: World) -> list[int]:
    """How many entries each part has, in the order of the parts; what is no map is one."""
    return [
        1 if isinstance(how, Shape) else len(attrgetter(path)(world))
        for path, how in _own_layout().parts
    ]


def plain_part(world: World, part: int) -> Iterator[Any]:
    """The lines of one part, as plain values: a part can be spelled without those before it."""
    path, how = _own_layout().parts[part]
    value = attrgetter(path)(world)
    if isinstance(how, Shape):
        yield how.spell(value)
        return
    ordered = how.ordered(value)
    for begin in range(0, len(ordered), _ENTRIES):
        yield how.spell(ordered[begin : begin + _ENTRIES])
    yield ()


def digest(world: World) -> str:
    """Of a World's bytes, in hex: equal for equal Worlds of one layout, and for no others."""
    whole = sha256()
    for spelled in spell(world):
        whole.update(spelled)
    return whole.hexdigest()


class Reading:
    """A World that is read line by line; what does not fit raises UnusableSnapshot.

    Whether all bytes are those that were written is for whoever hands them over to find out, who may do it
    beside.
    """

    def __init__(self) -> None:
        self._layout = _layout()
        self._read: dict[str, Any] = {}
        self._part = -1
        """Which part the next line belongs to; -1 is the heading."""
        self._map: MapMutation[Any, Any] = Map().mutate()

    def take(self, told: bytes) -> None:
        """One more line, its end included."""
        if self._part < 0:
            if told != line(self._layout.heading):
                raise UnusableSnapshot(f"it begins with {told[:100]!r}")
            self._part = 0
            return
        if self._part == len(self._layout.parts):
            raise UnusableSnapshot("it goes on behind its end")
        path, how = self._layout.parts[self._part]
        try:
            plain = json.loads(told)
            if isinstance(how, Shape):
                self._ended(path, how.read(plain))
            elif plain:
                self._map.update(how.read(plain))
            else:
                self._ended(path, self._map.finish())
                self._map = Map().mutate()
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise UnusableSnapshot(f"{path}: {type(error).__name__}: {error}") from error

    def world(self) -> World:
        """The World, once every line was taken."""
        if self._part < len(self._layout.parts):
            raise UnusableSnapshot("it ends too early")
        world = _made(World, self._read, "")
        assert isinstance(world, World)
        return world

    def _ended(self, path: str, value: Any) -> None:
        self._read[path] = value
        self._part += 1


def _made(class_: Any, read: dict[str, Any], path: str) -> Any:
    hints = get_type_hints(class_)
    return class_(
        **{
            name: read[f"{path}{name}"]
            if f"{path}{name}" in read
            else _made(hints[name], read, f"{path}{name}.")
            for name in (field.name for field in told(class_))
        }
    )


def line(plain: Any) -> bytes:
    """A line as it is spelled."""
    return json_text(plain).encode() + b"\n"
