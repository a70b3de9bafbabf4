"""A replaced value is what the usual way would have made."""

import dataclasses
from dataclasses import dataclass

import pytest

from ledger.facts.genesis import born
from ledger.reducers.replacing import replace
from ledger.reducers.world import begin
from ledger.units import FleetName, Incarnation, Microseconds


def test_a_value_is_replaced_as_the_usual_way_replaces_it() -> None:
    world = begin(born(FleetName("f"), salt=None, revision=1), incarnation=Incarnation(1))

    made = replace(world, now=Microseconds(7), last_effect="stale")

    assert made == dataclasses.replace(world, now=Microseconds(7), last_effect="stale")
    assert world.now == 0
    assert replace(world) == world
    assert replace(world) is not world


def test_what_is_made_is_as_frozen_as_what_it_was_made_of() -> None:
    world = begin(born(FleetName("f"), salt=None, revision=1), incarnation=Incarnation(1))

    with pytest.raises(dataclasses.FrozenInstanceError):
        replace(world, now=Microseconds(7)).now = Microseconds(8)  # type: ignore[misc]  # the point


def test_a_part_that_there_is_not_is_refused() -> None:
    world = begin(born(FleetName("f"), salt=None, revision=1), incarnation=Incarnation(1))

    with pytest.raises(KeyError):
        replace(world, later=7)  # type: ignore[call-arg]  # the point


def test_a_class_that_makes_sure_of_something_is_not_passed_over() -> None:
    @dataclass(frozen=True, slots=True)
    class Sure:
        one: int
        two: int

        def __post_init__(self) -> None:
            assert self.one < self.two

    with pytest.raises(AssertionError):
        replace(Sure(1, 2), one=3)
