"""Laws of snapshots: a World that was written and read is that World, and goes on as that World.

Over the histories of ``test_engine``, at every place where a process may have been stopped.
"""

import os
import subprocess
import sys
from itertools import pairwise
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from ledger.decisions.step import advance
from ledger.reducers import snapshot
from ledger.reducers.objects import Noun
from ledger.reducers.snapshot import Reading
from ledger.reducers.world import World
from tests import simulated
from tests.laws.test_engine import Happening, histories, lived, long_histories


def written_and_read(world: World) -> World:
    reading = Reading()
    for line in snapshot.spell(world):
        reading.take(line)
    return reading.world()


@long_histories
@given(histories, st.data())
def test_what_was_read_is_what_was_written_and_decides_the_same(
    history: list[Happening], data: st.DataObject
) -> None:
    log = lived(history)
    cut = data.draw(st.integers(0, len(log.events) - 1))
    before = log.steps[cut].world

    world = written_and_read(before)

    assert world == before
    assert snapshot.digest(world) == snapshot.digest(before)
    for event, step in zip(log.events[cut + 1 :], log.steps[cut + 1 :], strict=True):
        again = advance(world, event)
        world = again.world
        assert again == step


@long_histories
@given(histories)
def test_worlds_that_differ_have_different_bytes(history: list[Happening]) -> None:
    worlds = [step.world for step in lived(history).steps]

    for one, other in pairwise(worlds):
        assert one != other
        assert snapshot.digest(one) != snapshot.digest(other)


SPELLED = """
from ledger.decisions.step import advance
from ledger.reducers import snapshot
from tests import simulated

world = simulated.beginning()
print(snapshot.fingerprint(), snapshot.digest(world))
for event in simulated.events(11, 900):
    world = advance(world, event).world
    print(snapshot.digest(world))
"""


def test_the_bytes_depend_on_no_hash_seed() -> None:
    """A fleet with everything in it that events can tell, spelled by processes of their own."""
    told = {
        subprocess.run(
            [sys.executable, "-c", SPELLED],
            check=True,
            capture_output=True,
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        ).stdout
        for seed in ("0", "1", "4242")
    }

    (lines,) = (one.splitlines() for one in told)
    assert len(set(lines)) == len(lines) == 901


def test_every_family_of_events_is_read_back() -> None:
    world = simulated.beginning()
    for place, event in enumerate(simulated.events(12, 1500)):
        world = advance(world, event).world
        if place % 100 == 0:
            assert written_and_read(world) == world

    nouns = {key.noun for key in world.objects.known}
    assert nouns == set(get_args(Noun))
