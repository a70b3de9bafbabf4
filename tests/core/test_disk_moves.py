"""Moving what lies on disks: auto-balance and its guard against circles, and the bounded plan."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from ledger.core.disk.affinity import Replica
from ledger.core.disk.auto_balance import Add, Relieve, Spread, Still, next_step, surplus
from ledger.core.disk.eligibility import Traits
from ledger.core.disk.rebalance import Stock, Stored, plan
from ledger.core.disk.scheduling import AutoBalance, Drive, Node, Rules, Situation, Volume
from ledger.core.disk.space import Disk, Limits
from ledger.errors import InvalidRequest
from ledger.units import NodeName


def drive(node: str, name: str, *, available: int = 100, **more: Any) -> Drive:
    amounts = {key: more.pop(key) for key in ("scheduled", "written") if key in more}
    return Drive(
        disk=Disk(node=NodeName(node), name=name, maximum=100, available=available, **amounts),
        **more,
    )


def node(name: str, zone: str, *drives: Drive, **more: Any) -> Node:
    return Node(name=NodeName(name), zone=zone, drives=drives or (drive(name, "d"),), **more)


def on(*nodes: str, **more: Any) -> list[Replica]:
    """One replica on disk d of each of the nodes."""
    return [
        Replica(name=f"r{number}", node=NodeName(name), disk="d", **more)
        for number, name in enumerate(nodes)
    ]


def situation(nodes: Sequence[Node], mode: AutoBalance) -> Situation:
    return Situation(volume=Volume(size=10), nodes=nodes, rules=Rules(auto_balance=mode))


def wants(
    nodes: Sequence[Node],
    replicas: Sequence[Replica],
    *,
    wanted: int,
    mode: AutoBalance = "best-effort",
    healthy: bool = True,
    engine: str = "",
) -> Still | Add | Relieve:
    spread = Spread(wanted=wanted, healthy=healthy, engine_node=NodeName(engine))
    return next_step(situation(nodes, mode), replicas, spread)


TWO_ZONES = [node("n1", "z1"), node("n2", "z1"), node("n3", "z2")]
ONE_ZONE = [node("n1", "z1"), node("n2", "z1"), node("n3", "z1")]


def test_nothing_is_moved_that_should_not_be() -> None:
    assert wants(TWO_ZONES, on("n1", "n1"), wanted=2, mode="disabled") == Still("disabled")
    assert wants(TWO_ZONES, on("n1", "n1"), wanted=2, healthy=False) == Still("not_healthy")
    assert wants(TWO_ZONES, on("n1", "n3"), wanted=2) == Still("balanced")
    assert wants([], [], wanted=2) == Still("balanced")


def test_zones_come_before_nodes() -> None:
    assert wants(TWO_ZONES, on("n1", "n1"), wanted=2) == Add("zone", 1, {"z1": 2, "z2": 0})
    assert wants(ONE_ZONE, on("n1", "n1"), wanted=2) == Add("node", 1, {"n1": 2, "n2": 0, "n3": 0})
    assert wants(ONE_ZONE, on("n1", "n1", "n1"), wanted=3, mode="least-effort") == Add(
        "node", 2, {"n1": 3, "n2": 0, "n3": 0}
    )


def test_the_zone_of_the_engine_counts_as_taken() -> None:
    both_in_one = on("n1", "n2")

    near = wants(TWO_ZONES, both_in_one, wanted=2, engine="n3", mode="least-effort")
    far = wants(TWO_ZONES, both_in_one, wanted=2, engine="n1", mode="least-effort")

    assert near == Still("balanced")
    assert far == Add("zone", 1, {"z1": 2, "z2": 0})


def test_only_sound_replicas_run_and_only_ready_nodes_count() -> None:
    failed = [*on("n1", "n2"), Replica(name="x", node=NodeName("n3"), disk="d", failed=True)]
    assert wants(ONE_ZONE, failed, wanted=3) == Add("node", 1, {"n1": 1, "n2": 1, "n3": 0})
    cordoned = [node("n1", "z1"), node("n2", "z1", allow=False)]
    assert wants(cordoned, on("n1", "n1"), wanted=2) == Still("balanced")
    # It takes no new one, but the one that it has counts.
    assert wants(cordoned, on("n2", "n2"), wanted=2) == Add("node", 1, {"n1": 0, "n2": 2})


def test_a_gap_is_measured_from_the_emptiest_even_if_it_has_none() -> None:
    assert wants(ONE_ZONE[:2], on("n1", "n1", "n1", "n2"), wanted=4) == Add(
        "node_gap", 1, {"n1": 3, "n2": 1}
    )
    uneven = on("n1", "n1", "n1", "n2")
    assert wants(ONE_ZONE[:2], uneven, wanted=4, mode="least-effort") == Still("balanced")
    # Two nodes are enough for two replicas, yet all four lie on these.
    assert wants(ONE_ZONE, on("n1", "n1", "n1", "n2"), wanted=2) == Add(
        "node_gap", 2, {"n1": 3, "n2": 1, "n3": 0}
    )
    zones = [node("n1", "z1"), node("n2", "z1"), node("n3", "z1"), node("n4", "z2")]
    assert wants(zones, on("n1", "n2", "n3", "n4"), wanted=4) == Add(
        "zone_gap", 1, {"z1": 3, "z2": 1}
    )


def test_a_replica_leaves_a_disk_under_pressure_for_another_of_its_node() -> None:
    full = drive("n1", "d", available=5)
    nodes = [node("n1", "z1", full, drive("n1", "e"), drive("n1", "f", scheduled=20))]

    step = wants(nodes, on("n1", "n1"), wanted=2)

    assert isinstance(step, Relieve)
    assert (step.replica, step.source.name, step.target.name) == ("r0", "d", "e")


@pytest.mark.parametrize(
    "other",
    [
        drive("n1", "e", available=20),
        drive("n1", "e", scheduled=90),
        drive("n1", "e", schedulable=False),
        drive("n1", "e", traits=Traits(type="block")),
    ],
)
def test_without_a_better_disk_on_the_node_it_stays(other: Drive) -> None:
    nodes = [node("n1", "z1", drive("n1", "d", available=5), other)]

    assert wants(nodes, on("n1"), wanted=1) == Still("balanced")


def test_a_node_that_takes_no_replica_takes_none_for_relief() -> None:
    drives = drive("n1", "d", available=5), drive("n1", "e")

    assert isinstance(wants([node("n1", "z1", *drives)], on("n1"), wanted=1), Relieve)
    cordoned = [node("n1", "z1", *drives, allow=False)]
    assert wants(cordoned, on("n1"), wanted=1) == Still("balanced")


def test_two_replicas_never_share_a_disk_for_relief() -> None:
    nodes = [node("n1", "z1", drive("n1", "d", available=5), drive("n1", "e"))]
    beside = Replica(name="x", node=NodeName("n1"), disk="e")

    assert wants(nodes, [*on("n1"), beside], wanted=2) == Still("balanced")


def spare(nodes: Sequence[Node], replicas: Sequence[Replica], *, wanted: int) -> str | None:
    spread = Spread(wanted=wanted, healthy=True, engine_node=NodeName(""))
    return surplus(situation(nodes, "best-effort"), replicas, spread).replica


def test_the_copy_to_go_comes_from_the_fullest_zone_then_node_then_disk_then_name() -> None:
    assert spare(TWO_ZONES, on("n1", "n3", "n2"), wanted=2) == "r2"
    assert spare(ONE_ZONE, on("n2", "n1", "n2", "n3"), wanted=3) == "r2"
    tight = [node("n1", "z1", drive("n1", "d", scheduled=50)), node("n2", "z1")]
    assert spare(tight, on("n1", "n2"), wanted=1) == "r0"
    assert spare(TWO_ZONES, on("n1", "n3"), wanted=2) is None


def test_bytes_are_compared_as_numbers() -> None:
    nodes = [
        node("n1", "z1", Drive(disk=big("n1", 1000))),
        node("n2", "z1", Drive(disk=big("n2", 900))),
    ]

    assert spare(nodes, on("n1", "n2"), wanted=1) == "r1"


def big(node: str, usable: int) -> Disk:
    return Disk(node=NodeName(node), name="d", maximum=2000, available=usable)


def test_a_copy_that_would_be_wanted_again_stays() -> None:
    # Without the evicting one, n2 would have none and call for a replica again.
    leaving = Replica(name="x", node=NodeName("n2"), disk="d", evicting=True)
    nodes = ONE_ZONE[:2]
    spread = Spread(wanted=2, healthy=True, engine_node=NodeName(""))

    found = surplus(situation(nodes, "best-effort"), [*on("n1", "n1"), leaving], spread)

    assert found.replica == "r1"
    assert [(one.replica, one.wanted_again) for one in found.considered] == [
        ("x", True),
        ("r1", False),
    ]


def test_if_every_copy_would_be_wanted_again_all_stay() -> None:
    spread = Spread(wanted=2, healthy=True, engine_node=NodeName("n9"))
    nodes = [node("n1", "z1"), node("n2", "z2"), node("n3", "z3"), node("n4", "z1")]
    crowd = on("n1", "n1", "n1", "n1")

    found = surplus(situation(nodes, "best-effort"), crowd, spread)

    assert found.replica is None
    assert all(one.wanted_again for one in found.considered)
    assert len(found.considered) == len(crowd)


def test_a_number_of_replicas_is_a_count() -> None:
    with pytest.raises(InvalidRequest):
        Spread(wanted=-1, healthy=True, engine_node=NodeName(""))


LISTED = frozenset({"v", "w", "x"})


def stock(*drives: Drive, alpha: int = 1, **lies: tuple[int, str]) -> Stock:
    """Volumes of one replica each, with their size and the disk it lies on; a node for each disk."""
    return Stock(
        nodes=[node(one.disk.node, "", replace(one, scheduled_replicas=LISTED)) for one in drives],
        volumes={name: Volume(size=size) for name, (size, _) in lies.items()},
        stored=[
            Stored(name, Replica(name=name, node=NodeName(where), disk="d"))
            for name, (_, where) in lies.items()
        ],
        rules=Rules(limits=Limits(min_available_pct=0), alpha=Fraction(alpha)),
    )


def test_a_plan_moves_from_full_to_empty_and_says_why_it_ends() -> None:
    uneven = stock(drive("a", "d", scheduled=60), drive("b", "d"), v=(20, "a"), w=(40, "a"))

    found = plan(uneven, max_moves=9)

    assert [(one.replica, one.target, one.score) for one in found.moves] == [
        ("v", ("b", "d"), Fraction(2, 7))
    ]
    assert (found.before, found.after, found.size) == (Fraction(6, 7), Fraction(2, 7), 20)
    assert found.ended == "no_better_move"


def test_the_bounds_end_a_plan() -> None:
    uneven = stock(drive("a", "d", scheduled=60), drive("b", "d"), v=(20, "a"), w=(40, "a"))

    assert plan(uneven, max_moves=0).ended == "max_moves"
    assert plan(uneven, max_moves=1, max_bytes=19).ended == "max_bytes"
    within = plan(uneven, max_moves=1, max_bytes=20)
    assert (within.size, within.ended) == (20, "no_better_move")


def test_a_swap_that_leaves_the_score_as_it_is_is_no_move() -> None:
    even = stock(drive("a", "d", scheduled=20), drive("b", "d"), v=(20, "a"))

    assert plan(even, max_moves=9).moves == ()


def test_by_range_two_full_disks_stand_in_each_others_way_and_by_spread_not() -> None:
    two_full = stock(
        drive("a", "d", scheduled=40),
        drive("b", "d", scheduled=40),
        drive("c", "d"),
        drive("e", "d"),
        v=(20, "a"),
        w=(20, "b"),
    )

    assert plan(two_full, max_moves=9).moves == ()
    found = plan(two_full, max_moves=9, measure="spread")
    assert [(one.replica, one.target[0]) for one in found.moves] == [("v", "c"), ("w", "e")]
    assert found.after == 0


def test_what_is_written_moves_along() -> None:
    # One replica of 20, written: its disk has 60 usable, and 100 without it.
    before = stock(drive("a", "d", available=80, scheduled=20), drive("b", "d"), v=(20, "a"))
    written = replace(before, volumes={"v": Volume(size=20, actual_size=20)})

    assert plan(before, max_moves=1).moves != ()
    assert plan(written, max_moves=1).moves == ()


def test_where_written_bytes_count_once_a_disk_with_less_room_can_be_the_better_target() -> None:
    # The 40 bytes cost b, which has 30 written that nobody was promised, 10 and c all 40.
    uneven = stock(
        drive("a", "d", scheduled=80, written=10, available=90),
        drive("b", "d", scheduled=0, written=30, available=70),
        drive("c", "d", scheduled=29, written=0),
        v=(40, "a"),
    )

    [move] = plan(uneven, max_moves=1).moves

    assert move.target == ("b", "d")
    assert move.score == Fraction(33, 191)


def test_what_is_written_has_to_leave_the_minimum_available() -> None:
    uneven = stock(drive("a", "d", scheduled=80), drive("b", "d", available=50), v=(5, "a"))
    limited = replace(uneven, rules=Rules(limits=Limits(min_available_pct=48)))

    def moves(actual: int) -> int:
        volumes = {"v": Volume(size=5, actual_size=actual)}
        return len(plan(replace(limited, volumes=volumes), max_moves=1).moves)

    assert moves(actual=1) == 1
    assert moves(actual=2) == 0


def test_nothing_is_moved_that_is_being_moved_or_lost_and_nothing_closer() -> None:
    drives = drive("a", "d", scheduled=60), drive("b", "d")
    uneven = stock(*drives, v=(30, "a"))
    for state in ("failed", "evicting", "deleting"):
        given_up: dict[str, Any] = {state: True}
        one = replace(uneven.stored[0].replica, **given_up)
        assert plan(replace(uneven, stored=[Stored("v", one)]), max_moves=9).moves == ()
    sibling = Stored("v", Replica(name="w", node=NodeName("b"), disk="d"))
    assert plan(uneven, max_moves=9).moves != ()
    assert plan(replace(uneven, stored=[*uneven.stored, sibling]), max_moves=9).moves == ()


def test_a_plan_without_a_score() -> None:
    nothing = stock(drive("a", "d", available=0), drive("b", "d", available=0))

    found = plan(nothing, max_moves=1)

    assert (found.before, found.after, found.ended) == (None, None, "undefined")


def test_replicas_that_belong_nowhere_are_refused() -> None:
    good = stock(drive("a", "d"), v=(1, "a"))
    with pytest.raises(InvalidRequest):
        replace(good, stored=[*good.stored, *good.stored])
    with pytest.raises(InvalidRequest):
        replace(good, volumes={})
    with pytest.raises(InvalidRequest):
        plan(good, max_moves=-1)
    with pytest.raises(InvalidRequest):
        plan(good, max_moves=1, max_bytes=-1)
