"""A snapshot's lines: what is no snapshot is refused, and no type of the World is left out."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

import pytest

from ledger.errors import UnusableSnapshot
from ledger.reducers import snapshot
from ledger.reducers.snapshot import Reading
from ledger.reducers.spelling import BESIDE, Types
from ledger.reducers.world import World
from tests.histories import History, cluster_up, divided, node_up, workload_up


@pytest.fixture
def lines() -> list[bytes]:
    log = History()
    log.add_all(cluster_up("m1"), cluster_up("m2"), workload_up("ns/a", 5, divided()))
    return list(snapshot.spell(log.world))


def read(lines: list[bytes]) -> World:
    reading = Reading()
    for line in lines:
        reading.take(line)
    return reading.world()


def classes_in(type_: Any, met: set[Any]) -> Iterator[type]:
    """Every class with fields that a type leads to, found by looking and not by spelling."""
    for inner in get_args(type_):
        yield from classes_in(inner, met)
    names = getattr(type_, "_fields", ())
    if is_dataclass(type_):
        names = tuple(field.name for field in fields(type_) if BESIDE not in field.metadata)
    if names and type_ not in met:
        met.add(type_)
        yield type_
        hints = get_type_hints(type_)
        for name in names:
            yield from classes_in(hints[name], met)


def test_every_type_that_a_world_leads_to_has_a_spelling() -> None:
    types = Types()
    types.shape(World, at="World")

    described = {line.partition("(")[0] for line in types.description.splitlines()}

    assert {class_.__name__ for class_ in classes_in(World, set())} == described
    assert len(described) > 25


def test_what_is_kept_beside_a_world_is_in_no_snapshot() -> None:
    log = History()
    log.add_all(cluster_up("m1"), node_up("m1", "n1"))
    assert log.world.rooms.trails

    again = read(list(snapshot.spell(log.world)))

    assert again == log.world
    assert not again.rooms.trails


def test_a_long_map_takes_several_lines() -> None:
    one, many = History(), History()
    one.add(cluster_up("m1"))
    many.add_all(*(cluster_up(f"m{number}") for number in range(1000)))

    longer = list(snapshot.spell(many.world))

    assert len(longer) == len(list(snapshot.spell(one.world))) + 2 * 3
    assert max(map(len, longer)) < 50_000
    assert read(longer) == many.world


def test_another_layout_is_refused(lines: list[bytes]) -> None:
    with pytest.raises(UnusableSnapshot, match="it begins with"):
        read([lines[0].replace(b'world",1', b'world",2'), *lines[1:]])


def test_a_snapshot_that_ends_early_or_late_is_refused(lines: list[bytes]) -> None:
    for end in range(len(lines)):
        with pytest.raises(UnusableSnapshot, match="it ends too early"):
            read(lines[:end])
    with pytest.raises(UnusableSnapshot, match="it goes on behind its end"):
        read([*lines, b"[]\n"])


def test_whatever_is_changed_is_refused_or_is_another_world(lines: list[bytes]) -> None:
    for place, line in enumerate(lines):
        for cut in range(0, len(line) - 1, 7):
            for byte in (b"7", b'"', b"[", b"\xff"):
                changed = line[:cut] + byte + line[cut + 1 :]
                if changed == line:
                    continue
                reading = Reading()
                try:
                    for one in [*lines[:place], changed, *lines[place + 1 :]]:
                        reading.take(one)
                    world = reading.world()
                except UnusableSnapshot:
                    continue
                assert list(snapshot.spell(world)) != lines
