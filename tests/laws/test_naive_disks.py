"""The engine decides about volumes as the naive model does, and what holds after every event.

What holds is told of the naive model; since the engine agrees with it, it holds of both.
"""

from collections.abc import Iterator

import pytest
from hypothesis import Phase, given, settings

from ledger.facts.disk import ReplicaFailed
from ledger.facts.event import Fact
from tests.histories import (
    disk_up,
    policy,
    replica_failed,
    subject_of,
    volume_up,
)
from tests.laws import disk_histories, worn_histories
from tests.laws.job_histories import Happening, long_histories
from tests.laws.naive_disks import NaiveDisks
from tests.laws.naive_fleet import NaiveFleet
from tests.laws.two_stores import difference, least_difference

histories = disk_histories.histories(30, 60)


@long_histories
@given(histories)
def test_the_engine_decides_as_somebody_who_looks_at_everything(history: list[Happening]) -> None:
    assert difference(history) is None


@pytest.mark.parametrize("seed", range(8))
def test_the_engine_decides_so_over_histories_that_follow_things_up(seed: int) -> None:
    happenings = worn_histories.history(seed, 220)

    if difference(happenings) is not None:
        pytest.fail(least_difference(happenings))


@pytest.mark.long
@settings(long_histories, max_examples=2_000, phases=[Phase.generate])
@given(disk_histories.histories(200, 220))
def test_the_engine_decides_so_over_long_histories(history: list[Happening]) -> None:
    assert difference(history) is None


def test_an_edit_that_waits_under_hold_is_answered_before_the_refusal_ends() -> None:
    facts: list[Fact] = [
        disk_up("c1", "n1", "d1"),
        volume_up("v", 1),
        volume_up("v", 1, size=200),
        policy({"hold": True}),
        volume_up("v", 1),
        replica_failed("v-r1", reusable=True),
        policy({"hold": False}),
    ]
    assert difference([Happening(fact, "test", 1) for fact in facts]) is None


def lived(history: list[Happening]) -> Iterator[tuple[Happening, NaiveFleet, NaiveDisks]]:
    """The fleet after each event of a history."""
    fleet = NaiveFleet(salt="shop")
    disks = NaiveDisks(fleet)
    at = 0
    for happening in history:
        at += happening.after
        fleet.add(
            happening.fact, subject=subject_of(happening.fact), source=happening.source, at=at
        )
        yield happening, fleet, disks


@long_histories
@given(histories)
def test_a_volume_never_has_more_than_it_wants_and_one_more_only_while_it_is_replaced(
    history: list[Happening],
) -> None:
    for _, fleet, disks in lived(history):
        if not fleet.hold:
            for volume, fact in fleet.all("volume").items():
                assert len(disks.of(volume)) <= fact.replicas
            assert all(one.life == disks.life(one.volume) for one in disks.lying)


@long_histories
@given(histories)
def test_a_number_is_used_once_in_the_life_of_a_volume(history: list[Happening]) -> None:
    used: dict[tuple[str, int | None], set[str]] = {}
    for _, fleet, disks in lived(history):
        for said in fleet.said:
            if said.kind == "refusal":
                continue
            names = used.setdefault((said.subject, disks.life(said.subject)), set())
            assert not names & set(said.rows)
            names |= set(said.rows)


@long_histories
@given(histories)
def test_a_sound_replica_stays_where_it_is_unless_it_is_one_too_many_or_has_to_leave(
    history: list[Happening],
) -> None:
    before: dict[tuple[str, int, str], tuple[str, int]] = {}
    for happening, fleet, disks in lived(history):
        now = {
            (one.volume, one.life, one.name): (one.disk, one.disk_life)
            for one in disks.lying
            if not one.failed
        }
        released = {(said.subject, name) for said in fleet.said for name in said.released}
        for key, place in before.items():
            volume, life, name = key
            if key in now:
                assert now[key] == place
                continue
            address, disk_life = place
            gone = fleet.fact("disk", address) is None or fleet.life("disk", address) != disk_life
            broke = isinstance(happening.fact, ReplicaFailed) and happening.fact.replica == name
            assert gone or broke or disks.life(volume) != life or (volume, name) in released
        before = now


def test_the_histories_reach_what_the_laws_speak_of() -> None:
    """A law about moves says nothing if nothing ever moves."""
    seen: set[str] = set()

    @long_histories
    @given(histories)
    def look(history: list[Happening]) -> None:
        for _, fleet, _ in lived(history):
            for said in fleet.said:
                seen.add(said.reason or said.kind)
                if any(said.small.values()):
                    seen.add("infeasible")
                if said.moved:
                    seen.add("waited" if said.moment is not None else "moved")

    look()

    assert seen >= {
        "disk_placement", "waited", "moved", "infeasible", "shrink", "anti_affinity",
    }  # fmt: skip
    short = ("physical_", "scheduling_space", "insufficient storage")
    assert any(word in reason for reason in seen for word in short)
