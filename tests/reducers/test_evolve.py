"""What evolve insists on: one order, forward time, deadlines first, decisions where they belong."""

from dataclasses import replace

import pytest

from ledger.facts.event import Event
from ledger.facts.own import TimePassed
from ledger.reducers.evolve import evolve, follow, lapse
from ledger.reducers.world import World, begin, next_deadline
from ledger.units import DecisionNumber, EventType, Incarnation, Microseconds, Position, Subject
from tests.histories import (
    FLEET,
    SECOND,
    History,
    cluster_up,
    divided,
    genesis,
    only,
    policy,
    workload_up,
)


def ticked(position: int, at: int) -> Event:
    return Event(
        position=Position(position),
        recorded_at=Microseconds(at),
        source="test",
        id=str(position),
        type=EventType("ledger.time.time.passed.v1"),
        subject=Subject(FLEET),
        fact=TimePassed(Microseconds(at)),
    )


def anew() -> World:
    return begin(genesis(), incarnation=Incarnation(1))


def test_a_world_begins_before_its_first_event() -> None:
    world = anew()

    assert (world.fleet, world.incarnation, world.position, world.decisions) == (FLEET, 1, 0, 0)
    assert next_deadline(world) is None


def test_an_event_moves_position_and_time() -> None:
    world = evolve(anew(), ticked(0, 7))

    assert (world.position, world.now) == (1, 7)


def test_a_first_event_may_be_older_than_any_clock() -> None:
    assert evolve(anew(), ticked(0, -7)).now == -7


def test_an_event_out_of_order_is_not_folded() -> None:
    with pytest.raises(AssertionError, match="not the next event"):
        evolve(anew(), ticked(1, 7))


def test_time_that_runs_backwards_is_not_folded() -> None:
    world = evolve(anew(), ticked(0, 7))

    with pytest.raises(AssertionError, match="runs backwards"):
        evolve(world, ticked(1, 6))


def test_an_event_is_not_folded_over_a_deadline() -> None:
    history = History()
    history.add_all(policy({"grace.cluster_ms": 1000}), cluster_up("m1"))
    history.add(cluster_up("m1", ready=False))

    assert next_deadline(history.world) == SECOND
    with pytest.raises(AssertionError, match="comes first"):
        evolve(history.world, ticked(3, SECOND))


def test_a_decision_that_is_not_the_next_one_is_not_folded() -> None:
    history = History()
    history.add(cluster_up("m1"))
    before = history.world
    step = history.add(workload_up("ns/web", 4, divided()))
    event = history.events[-1]
    made = only(step)

    for wrong in (
        replace(made, number=DecisionNumber(made.number + 1)),
        replace(made, position=Position(made.position - 1)),
    ):
        with pytest.raises(AssertionError, match="is not"):
            follow(before, event, [wrong])
    assert follow(before, event, [made]) == step.world


def test_when_a_deadline_fires_it_is_the_deadlines_time() -> None:
    history = History()
    history.add_all(policy({"grace.cluster_ms": 1000}), cluster_up("m1"))
    history.add(cluster_up("m1", ready=False))

    fired = lapse(history.world)

    assert (fired.now, fired.position, next_deadline(fired)) == (SECOND, 3, None)
    assert follow(history.world, ticked(3, 3 * SECOND), ()).now == 3 * SECOND


def test_a_world_that_is_kept_does_not_change() -> None:
    history = History()
    history.add_all(cluster_up("m1"), workload_up("ns/web", 4, divided()))
    kept = history.world
    again = replace(kept)

    history.add_all(cluster_up("m2"), workload_up("ns/web", 9, divided()))

    assert kept == again
    assert kept != history.world
