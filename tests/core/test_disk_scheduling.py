"""Whole steps: filters, rungs, what Longhorn says of a refusal and what we say besides."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from ledger.core.disk.affinity import Replica, allowed_disks, occupancy
from ledger.core.disk.eligibility import (
    Demands,
    Ineligible,
    Term,
    Traits,
    eligible,
    missing_tags,
    tags_match,
    topology_match,
)
from ledger.core.disk.scheduling import (
    Drive,
    Kept,
    Node,
    PassedOver,
    Placed,
    Rules,
    Situation,
    Unplaced,
    Volume,
    place,
    schedule,
)
from ledger.core.disk.space import Disk, Limits
from ledger.errors import InvalidRequest
from ledger.units import NodeName

HARD = Rules(node_soft=False, zone_soft=True, disk_soft=False)
SOFT = Rules(node_soft=True, zone_soft=True, disk_soft=True)
ZONES_APART = Rules(zone_soft=False)


def drive(node: str, name: str, *, available: int = 100, scheduled: int = 0, **more: Any) -> Drive:
    return Drive(
        disk=Disk(
            node=NodeName(node), name=name, maximum=100, available=available, scheduled=scheduled
        ),
        **more,
    )


def node(name: str, zone: str = "", *drives: Drive, **more: Any) -> Node:
    return Node(
        name=NodeName(name), zone=zone, drives=drives or (drive(name, f"{name}-d1"),), **more
    )


def replica(name: str, node: str = "", disk: str = "", **more: Any) -> Replica:
    return Replica(name=name, node=NodeName(node), disk=disk, **more)


def steps(
    nodes: Sequence[Node],
    *names: str,
    replicas: Sequence[Replica] = (),
    rules: Rules | None = None,
    volume: Volume | None = None,
    replenishing: bool = False,
) -> list[str]:
    """Each step in short: where the replica went, or why it did not."""
    situation = Situation(
        volume=Volume(size=10) if volume is None else volume,
        nodes=nodes,
        rules=Rules() if rules is None else rules,
        replenishing=replenishing,
    )
    return [short(step) for step in schedule(situation, replicas, names)]


def short(step: Placed | Unplaced) -> str:
    if isinstance(step, Placed):
        return f"{step.rungs[-1].name} {step.choice.disk.name}"
    return "; ".join([step.code, *step.reasons])


@pytest.mark.parametrize(
    ("traits", "demands", "allow_empty", "misfit"),
    [
        ({}, {}, True, None),
        ({"allow": False}, {}, True, Ineligible("not_allowed", "disks are unavailable")),
        ({"evicting": True}, {}, True, Ineligible("evicting", "disks are unavailable")),
        ({"type": "block"}, {}, True, Ineligible("wrong_type", "disks are unavailable")),
        ({"type": "block"}, {"engine": "v2"}, True, None),
        ({}, {"engine": "v3"}, True, Ineligible("wrong_type", "disks are unavailable")),
        ({}, {"disk_selector": ["a"]}, True, Ineligible("disk_tags", "tags not fulfilled")),
        ({"tags": ["a"]}, {}, False, Ineligible("disk_tags", "tags not fulfilled")),
        ({}, {}, False, None),
        ({}, {"image": "i", "image_disk_selector": ["b"]}, True, Ineligible("image_tags", "tags not fulfilled")),
        ({}, {"image_disk_selector": ["b"]}, True, None),
    ],
)  # fmt: skip
def test_the_first_demand_that_a_disk_does_not_meet(
    *,
    traits: Mapping[str, Any],
    demands: Mapping[str, Any],
    allow_empty: bool,
    misfit: Ineligible | None,
) -> None:
    found = eligible(Traits(**traits), Demands(**demands), allow_empty_disk_selector=allow_empty)

    assert found == misfit


def test_tags_are_a_set() -> None:
    assert tags_match(["b", "a"], ["a", "b"], allow_empty=False)
    assert not tags_match(["a"], ["a", "b"], allow_empty=True)
    assert missing_tags(["a"], ["c", "a", "b"]) == ["b", "c"]


@pytest.mark.parametrize(
    ("zone", "region", "terms", "met"),
    [
        ("", "", [], True),
        ("z2", "r2", [Term(region="r1")], False),
        ("z2", "r1", [Term(region="r1")], True),
        ("", "", [Term("z1", "r1")], False),
        ("z1", "r2", [Term("z1", "r1"), Term(zone="z1")], True),
        ("z9", "r9", [Term()], True),
    ],
)
def test_any_one_term_is_enough(
    *, zone: str, region: str, terms: Sequence[Term], met: bool
) -> None:
    assert topology_match(zone, region, terms) == met


def test_the_disk_rule() -> None:
    assert allowed_disks(["d2", "d1"], ["d2"], soft=False) == ["d1"]
    assert allowed_disks(["d2", "d1"], ["d1", "d2"], soft=True) == ["d1", "d2"]
    assert allowed_disks(["d2", "d1"], ["d1", "d2"], soft=False) == []


@pytest.mark.parametrize(
    ("more", "occupies", "while_replenishing"),
    [
        ({}, True, True),
        ({"evicting": True}, True, True),
        ({"deleting": True}, False, False),
        ({"failed": True}, True, False),
        ({"failed": True, "disk": ""}, False, False),
        ({"failed": True, "evicting": True}, False, False),
        ({"failed": True, "rebuild_retries": 4}, True, False),
        ({"failed": True, "rebuild_retries": 5}, False, False),
        ({"node": ""}, False, False),
    ],
)
def test_what_a_replica_occupies(
    *, more: Mapping[str, Any], occupies: bool, while_replenishing: bool
) -> None:
    one = replica(**{"name": "r", "node": "n1", "disk": "d1", **more})

    assert one.occupies(replenishing=False) == occupies
    assert one.occupies(replenishing=True) == while_replenishing


def test_a_place_is_evict_only_if_all_who_occupy_it_are_evicting() -> None:
    leaving = replica("r1", "n1", "d1", evicting=True)
    staying = replica("r2", "n1", "d1")
    zone_of = {NodeName("n1"): "z1", NodeName("n2"): "z1"}

    alone = occupancy(zone_of, [leaving], replenishing=False)
    both = occupancy(zone_of, [leaving, staying], replenishing=False)
    elsewhere = occupancy(zone_of, [leaving, replica("r3", "n2")], replenishing=False)

    assert (alone.evict_only_nodes, alone.evict_only_zones) == (("n1",), ("z1",))
    assert (both.evict_only_nodes, both.evict_only_zones) == ((), ())
    assert (elsewhere.evict_only_nodes, elsewhere.evict_only_zones) == (("n1",), ())
    assert occupancy({}, [staying], replenishing=False).nodes == {}


@pytest.mark.parametrize(
    ("wrong", "volume", "reason"),
    [
        ({"allow": False}, {}, "nodes are unavailable"),
        ({"ready": False}, {}, "nodes are unavailable"),
        ({"schedulable": False}, {}, "nodes are unavailable"),
        ({"deleting": True}, {}, "nodes are unavailable"),
        ({}, {"only_node": "n9"}, "hard affinity cannot be satisfied"),
        ({}, {"topology": [Term(zone="z9")]}, "topology requirement cannot be satisfied"),
        ({"image_ready": False}, {}, "none of the node candidates contains a ready engine image"),
        ({"manager_ready": False}, {}, "none of the node candidates contains a ready engine image"),
        # The first filter that leaves nobody speaks alone.
        ({"image_ready": False}, {"only_node": "n9"}, "hard affinity cannot be satisfied"),
    ],
)
def test_the_filter_that_leaves_no_node_gives_the_reason(
    wrong: Mapping[str, Any], volume: Mapping[str, Any], reason: str
) -> None:
    found = steps([node("n1", "z1", **wrong)], "r1", volume=Volume(size=10, **volume))

    assert found == [f"no_eligible_node; {reason}"]


def test_no_nodes_at_all() -> None:
    assert steps([], "r1") == ["no_eligible_node; nodes are unavailable"]


def test_a_demanded_node_is_taken_although_another_has_more_room() -> None:
    nodes = [node("n1", "", drive("n1", "n1-d1", scheduled=50)), node("n2")]

    found = steps(nodes, "r1", volume=Volume(size=10, only_node=NodeName("n1")))

    assert found == ["unused_zone n1-d1"]


def test_soft_rules_climb_down_to_used_nodes() -> None:
    nodes = [node("n1", "z1"), node("n2", "z1")]

    assert steps(nodes, "r1", "r2", "r3", rules=SOFT) == [
        "unused_zone n1-d1",
        "unused_node n2-d1",
        "used_node n1-d1",
    ]


def test_hard_rules_stop_where_everything_is_used() -> None:
    nodes = [node("n1", "z1"), node("n2", "z1")]

    assert steps(nodes, "r1", "r2", "r3", rules=HARD)[2] == "anti_affinity"
    assert steps(nodes, "r1", "r2", rules=ZONES_APART) == ["unused_zone n1-d1", "anti_affinity"]


def test_nodes_without_a_zone_are_one_zone() -> None:
    assert steps([node("n1"), node("n2")], "r1", "r2", rules=ZONES_APART) == [
        "unused_zone n1-d1",
        "anti_affinity",
    ]


def test_an_evicting_replica_gives_its_place_up_last() -> None:
    nodes = [node("n1", "z1", drive("n1", "a"), drive("n1", "b")), node("n2", "z2")]
    leaving = replica("x", "n1", "a", evicting=True)
    staying = replica("y", "n2", "n2-d1")

    assert steps(nodes, "r1", replicas=[leaving, staying], rules=HARD) == ["evict_only_node b"]
    assert steps(nodes, "r1", replicas=[leaving, staying], rules=ZONES_APART) == [
        "evict_only_zone b"
    ]
    assert steps(nodes, "r1", replicas=[leaving], rules=ZONES_APART) == ["unused_zone n2-d1"]


def test_an_evict_only_node_in_a_zone_that_stays_used_is_not_enough() -> None:
    nodes = [node("n1", "z1", drive("n1", "a"), drive("n1", "b")), node("n2", "z1")]
    replicas = [replica("x", "n1", "a", evicting=True), replica("y", "n2", "n2-d1")]

    assert steps(nodes, "r1", replicas=replicas, rules=ZONES_APART) == ["anti_affinity"]
    best_effort = replace(ZONES_APART, auto_balance="best-effort")
    assert steps(nodes, "r1", replicas=replicas, rules=best_effort) == ["evict_only_zone b"]


def test_best_effort_opens_a_used_node_with_a_disk_under_pressure() -> None:
    full, empty = drive("n1", "a", available=5), drive("n1", "b")
    nodes = [node("n1", "z1", full, empty)]
    replicas = [replica("x", "n1", "a")]
    best_effort = replace(HARD, auto_balance="best-effort")

    assert steps(nodes, "r1", replicas=replicas, rules=HARD) == ["anti_affinity"]
    assert steps(nodes, "r1", replicas=replicas, rules=best_effort) == ["evict_only_node b"]


def test_what_best_effort_opens_must_not_come_under_pressure() -> None:
    nodes = [node("n1", "z1", drive("n1", "a", available=5), drive("n1", "b", scheduled=85))]
    volume = Volume(size=10, actual_size=5)
    situation = Situation(
        volume=volume, nodes=nodes, rules=replace(HARD, auto_balance="best-effort")
    )

    [step] = schedule(situation, [replica("x", "n1", "a")], ["r1"])

    assert isinstance(step, Unplaced)
    assert step.reasons == ("insufficient storage",)
    last = step.rungs[-1]
    assert last.passed_over == (
        PassedOver(NodeName("n1"), "a", "actual_space", "insufficient storage", 0, 25),
        PassedOver(NodeName("n1"), "b", "disk_pressure", "insufficient storage", 90, 90),
    )


def test_a_used_node_is_not_asked_for_its_tags_again() -> None:
    nodes = [node("n1", "z1", tags=["ssd"])]
    volume = Volume(size=10, node_selector=["hdd"])

    used = steps(nodes, "r1", replicas=[replica("x", "n1", "n1-d1")], rules=SOFT, volume=volume)

    assert used == ["used_node n1-d1"]
    assert steps(nodes, "r1", rules=SOFT, volume=volume) == ["no_fitting_disk; tags not fulfilled"]


def test_an_image_selects_nodes_too() -> None:
    nodes = [node("n1", "z1", tags=["ssd"])]
    demands = Demands(image="i")
    wrong = Volume(size=10, demands=demands, image_node_selector=["hdd"])
    right = Volume(size=10, demands=demands, image_node_selector=["ssd"])

    assert steps(nodes, "r1", volume=wrong) == ["no_fitting_disk; tags not fulfilled"]
    assert steps(nodes, "r1", volume=right) == ["unused_zone n1-d1"]
    assert steps(nodes, "r1", volume=replace(wrong, demands=Demands())) == ["unused_zone n1-d1"]


def test_a_disk_that_is_switched_off_is_passed_over_in_silence() -> None:
    off = [
        drive("n1", "a", traits=Traits(allow=False)),
        drive("n1", "b", traits=Traits(evicting=True)),
        drive("n1", "c", schedulable=False),
    ]
    full = drive("n1", "d", scheduled=95)

    assert steps([node("n1", "", *off)], "r1") == ["no_fitting_disk; disks are unavailable"]
    assert steps([node("n1", "", *off, full)], "r1") == ["no_fitting_disk; insufficient storage"]
    wrong_type = drive("n1", "e", traits=Traits(type="block"))
    assert steps([node("n1", "", wrong_type, full)], "r1") == [
        "no_fitting_disk; disks are unavailable; insufficient storage"
    ]


def test_every_disk_says_why_it_was_passed_over() -> None:
    drives = [
        drive("n1", "a", traits=Traits(allow=False)),
        drive("n1", "b", traits=Traits(evicting=True)),
        drive("n1", "c", schedulable=False),
        drive("n1", "d", scheduled=95),
        drive("n1", "e", traits=Traits(tags=["x"])),
    ]
    rules = Rules(allow_empty_disk_selector=False)
    situation = Situation(
        volume=Volume(size=10), nodes=[Node(name=NodeName("n1"), drives=drives)], rules=rules
    )

    [step] = schedule(situation, [], ["r1"])

    here = NodeName("n1")
    assert step.rungs[0].passed_over == (
        PassedOver(here, "a", "not_allowed", None),
        PassedOver(here, "b", "evicting", None),
        PassedOver(here, "c", "not_schedulable", None),
        PassedOver(here, "d", "scheduling_space", "insufficient storage", 105, 100),
        PassedOver(here, "e", "disk_tags", "tags not fulfilled"),
    )


def test_a_refusal_names_the_rungs_and_who_was_in_the_way() -> None:
    situation = Situation(
        volume=Volume(size=10),
        nodes=[node("n1", "z1", drive("n1", "a")), node("n2", "z2", drive("n2", "b"))],
        rules=HARD,
    )
    replicas = [replica("x", "n1", "a"), replica("y", "n2", "b", evicting=True)]

    [step] = schedule(situation, replicas, ["r1"])

    assert isinstance(step, Unplaced)
    assert step.reasons == ()
    first, second = NodeName("n1"), NodeName("n2")
    assert {rung.name: rung.kept for rung in step.rungs} == {
        "unused_zone": (Kept(first, "", ("x",)), Kept(second, "", ("y",))),
        "unused_node": (Kept(first, "", ("x",)), Kept(second, "", ("y",))),
        "evict_only_node": (Kept(first, "", ("x",)), Kept(second, "b", ("y",))),
    }


def test_a_disk_prefers_to_be_the_first() -> None:
    nodes = [node("n1", "", drive("n1", "a"), drive("n1", "b", scheduled=60))]

    assert steps(nodes, "r1", "r2", "r3", rules=SOFT) == [
        "unused_zone a",
        "used_node b",
        "used_node a",
    ]
    apart = replace(SOFT, disk_soft=False)
    assert steps(nodes, "r1", "r2", "r3", rules=apart)[2] == "anti_affinity"


def test_a_replica_that_the_disk_does_not_list_is_booked() -> None:
    known = drive("n1", "a", scheduled=90, scheduled_replicas=frozenset({"x"}))
    unknown = drive("n1", "a", scheduled=90)
    replicas = [replica("x", "n1", "a")]

    assert steps([node("n1", "", known)], "r1", replicas=replicas, rules=SOFT) == ["used_node a"]
    assert steps([node("n1", "", unknown)], "r1", replicas=replicas, rules=SOFT) == [
        "no_fitting_disk; insufficient storage"
    ]


def test_a_failed_replica_that_may_come_back_keeps_its_node_for_a_while() -> None:
    nodes = [node("n1", "z1")]
    failed = [replica("x", "n1", "n1-d1", failed=True)]

    assert steps(nodes, "r1", replicas=failed, rules=HARD) == ["anti_affinity"]
    assert steps(nodes, "r1", replicas=failed, rules=HARD, replenishing=True) == [
        "unused_zone n1-d1"
    ]


def test_a_replica_on_a_node_that_was_filtered_out_does_not_hold_its_zone() -> None:
    nodes = [node("n1", "z1", allow=False), node("n2", "z1")]

    found = steps(nodes, "r1", replicas=[replica("x", "n1", "n1-d1")], rules=ZONES_APART)

    assert found == ["unused_zone n2-d1"]


def test_a_replica_is_placed_once() -> None:
    nodes = [node("n1", "z1"), node("n2", "z2")]
    waiting = [replica("r1"), replica("old", "n1", "n1-d1"), replica("dead", failed=True)]

    assert steps(nodes, "old", "r1", "r1", "dead", replicas=waiting) == [
        "already_scheduled; replica already scheduled",
        "unused_zone n2-d1",
        "already_scheduled; replica already scheduled",
        "unused_failed_replica; unused failed replica is not supported",
    ]


def test_a_refused_step_does_not_stop_the_next() -> None:
    nodes = [node("n1", "z1"), node("n2", "z2")]

    assert steps(nodes, "r1", "r1", "r2") == [
        "unused_zone n1-d1",
        "already_scheduled; replica already scheduled",
        "unused_zone n2-d1",
    ]


def test_the_attached_node_comes_first_unless_it_has_a_sound_replica() -> None:
    nodes = [node("n1", "z1"), node("n2", "z2", drive("n2", "b", scheduled=50))]
    near = Volume(size=10, near_node=NodeName("n2"))
    failed = replica("x", "n2", "b", failed=True, rebuild_retries=5)

    assert steps(nodes, "r1", "r2", volume=near) == ["unused_zone b", "unused_zone n1-d1"]
    assert steps(nodes, "r1", volume=near, replicas=[failed]) == ["unused_zone b"]
    assert steps(nodes, "r1", volume=replace(near, near_node=NodeName("n9"))) == [
        "unused_zone n1-d1"
    ]


def test_nothing_named_is_a_refusal_in_the_shipped_scope_and_overcommitted_in_ours() -> None:
    # Both pass the over-provisioning limit, and nothing is left to use.
    limits = Limits(over_provisioning_pct=300)
    nodes = [
        node("n1", "z1", drive("n1", "a", available=50, scheduled=90)),
        node("n2", "z2", drive("n2", "b", available=60, scheduled=90)),
    ]

    shipped = steps(nodes, "r1", rules=Rules(limits=limits, scope="candidates"))
    ours = steps(nodes, "r1", rules=Rules(limits=limits, alpha=Fraction(1, 2)))

    assert shipped == ["no_disk; replica scheduling failed"]
    assert ours == ["unused_zone b"]


def test_questions_that_mean_nothing_are_refused() -> None:
    twice = [node("n1"), node("n1")]
    same_disk = [node("n1", "", drive("n1", "a"), drive("n1", "a"))]
    for nodes in (twice, same_disk):
        with pytest.raises(InvalidRequest):
            steps(nodes, "r1")
    with pytest.raises(InvalidRequest):
        steps([node("n1")], "r1", replicas=[replica("x", "n1"), replica("x")])
    with pytest.raises(InvalidRequest):
        steps([node("n1")], "r1", volume=Volume(size=-1))
    with pytest.raises(InvalidRequest):
        steps([node("n1")], "r1", volume=Volume(size=1, actual_size=-1))
    with pytest.raises(InvalidRequest):
        replica("x", rebuild_retries=-1)


def test_what_was_found_on_a_node_is_kept_unless_replicas_have_a_say_or_it_changes() -> None:
    nodes = [node("a"), node("b"), node("c")]
    first = Situation(volume=Volume(size=10), nodes=nodes)

    place(first, [replica("r1", "a", "a-d1")], "r2")
    found = dict(first.judged)
    full = node("b", "", drive("b", "b-d1", available=1))
    second = replace(first, nodes=[nodes[0], full, nodes[2]])
    kept = place(second, [replica("r1", "a", "a-d1")], "r2")
    taken = place(second, [replica("r1", "c", "c-d1"), replica("r0", "", "a-d1")], "r2")

    assert sorted(found) == ["b", "c"]
    assert second.judged[NodeName("c")] is found[NodeName("c")]
    assert kept == place(replace(second, judged={}), [replica("r1", "a", "a-d1")], "r2")
    assert taken == place(
        replace(second, judged={}), [replica("r1", "c", "c-d1"), replica("r0", "", "a-d1")], "r2"
    )
