"""The engine decides about volumes as the naive model does, and what holds after every event.

What holds is told of the naive model; since the engine agrees with it, it holds of both.
"""

from collections.abc import Iterator

import pytest
from hypothesis import Phase, given, settings

from ledger.facts.decision import Decision
from ledger.facts.disk import ReplicaFailed
from ledger.facts.disk_placement import DiskPlacement
from ledger.facts.event import Fact
from ledger.facts.refusal import Refusal
from ledger.reducers.replicas import host_name
from tests.histories import (
    FLEET,
    History,
    disk_up,
    policy,
    replica_failed,
    subject_of,
    volume_up,
)
from tests.laws import disk_histories
from tests.laws.job_histories import Happening, long_histories
from tests.laws.naive_disks import NaiveDisks
from tests.laws.naive_fleet import NaiveFleet
from tests.laws.naive_part import Said, heading

histories = disk_histories.histories(30, 60)


def told(made: Decision) -> Said:
    """A decision as the naive model says it."""
    said = heading(made)
    match made.outcome:
        case DiskPlacement() as placement:
            there = {
                one.replica: f"{host_name(one.cluster, one.node)}/{one.disk}"
                for one in placement.replicas
            }
            said.rows = {step.replica: there[step.replica] for step in placement.steps}
            said.released = sorted(one.replica for one in placement.released)
        case Refusal() as refusal:
            said.reason, said.waits_for = refusal.reason, refusal.waits_for
        case _:
            raise AssertionError(f"nobody asked for a {made.kind}")
    return said


def agrees(history: list[Happening]) -> None:
    """Event by event: the decisions, what ended, and what is scheduled on each disk."""
    log = History()
    naive = NaiveFleet(salt=FLEET)
    disks = NaiveDisks(naive)
    for fact, source, after in history:
        step = log.add(fact, source=source, after=after)
        naive.add(fact, subject=subject_of(fact), source=source, at=log.events[-1].recorded_at)

        assert [told(made) for made in step.decisions] == naive.said
        assert step.effect == naive.effect
        assert list(step.ended) == naive.ended
        for address, there in naive.all("disk").items():
            host = step.world.disks.hosts[host_name(there.cluster, there.node)]
            kept = host.disk(there.disk)
            assert kept is not None
            assert kept.scheduled == disks.scheduled(address)


@long_histories
@given(histories)
def test_the_engine_decides_as_somebody_who_looks_at_everything(history: list[Happening]) -> None:
    agrees(history)


@pytest.mark.long
@settings(long_histories, max_examples=2_000, phases=[Phase.generate])
@given(disk_histories.histories(200, 220))
def test_the_engine_decides_so_over_long_histories(history: list[Happening]) -> None:
    agrees(history)


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
    agrees([Happening(fact, "test", 1) for fact in facts])


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
                if said.moved:
                    seen.add("waited" if said.moment is not None else "moved")

    look()

    assert seen >= {"disk_placement", "waited", "moved", "shrink", "anti_affinity"}
    assert any(code in reason for reason in seen for code in ("physical_", "scheduling_space"))
