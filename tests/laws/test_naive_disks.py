"""What holds of volumes after every event, whatever happens: told of the naive model.

That the engine decides the same is a law of its own; so these are laws of both.
"""

from collections.abc import Iterator

from hypothesis import HealthCheck, given, settings

from ledger.facts.disk import ReplicaFailed
from tests.histories import subject_of
from tests.laws import disk_histories
from tests.laws.job_histories import Happening
from tests.laws.naive_disks import NaiveDisks
from tests.laws.naive_fleet import NaiveFleet

histories = disk_histories.histories(30, 60)
long_histories = settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


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
