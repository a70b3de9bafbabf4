"""Volumes where their rules have borders: what is asked, what is not, and what a record holds."""

from fractions import Fraction

from ledger.facts.reason import LOSERS_NAMED
from tests.histories import (
    History,
    disk_gone,
    disk_placement_of,
    disk_up,
    node_reclaimed,
    node_up,
    on_disks,
    only,
    policy,
    refusal_of,
    replica_failed,
    volume_gone,
    volume_up,
)


def with_disks(count: int, *, available: int = 100) -> History:
    history = History()
    for number in range(count):
        history.add(disk_up("m1", f"n{number:02}", "d", available=available))
    return history


def test_who_uses_a_volume_is_no_question() -> None:
    history = with_disks(1)
    history.add(volume_up("pv", 1))

    step = history.add(volume_up("pv", 1, workload_key="ns/db"))

    assert step.effect == "applied"
    assert step.decisions == ()


def test_another_selector_is_a_question_that_moves_nothing() -> None:
    history = with_disks(1)
    history.add(volume_up("pv", 1))

    made = only(history.add(volume_up("pv", 1, disk_selector=["ssd"])))

    assert (made.branch, made.moved) == ("keep", 0)
    assert on_disks(made) == {"pv-r1": "m1/n00/d"}


def test_a_volume_that_wants_no_replicas_takes_any_size() -> None:
    history = with_disks(1)

    history.add(volume_up("pv", 0, size=500))
    made = only(history.add(volume_up("pv", 0, size=5)))

    assert disk_placement_of(made).size == 5
    assert disk_placement_of(made).complete


def test_a_size_shrinks_where_all_replicas_are_gone() -> None:
    history = with_disks(1)
    history.add(volume_up("pv", 1, size=50))
    history.add(policy({"hold": True}))
    history.add_all(disk_gone("m1", "n00", "d"), disk_up("m1", "n01", "d"))
    history.add(volume_up("pv", 1, size=5))

    made = only(history.add(policy({"hold": False})))

    assert disk_placement_of(made).size == 5
    assert on_disks(made) == {"pv-r2": "m1/n01/d"}
    assert made.moved == 1


def test_the_disk_of_another_life_is_empty() -> None:
    history = with_disks(2)
    history.add(volume_up("pv", 1))

    made = only(history.add(disk_up("m1", "n00", "d", uid="another")))

    assert [gone.why for gone in disk_placement_of(made).released] == ["lost"]
    assert on_disks(made) == {"pv-r2": "m1/n00/d"}


def test_failed_replicas_go_before_those_that_have_to_leave_and_those_before_full_disks() -> None:
    history = with_disks(2)
    history.add(disk_up("m1", "n02", "d", available=40))
    history.add(disk_up("m1", "n03", "d"))
    history.add(volume_up("pv", 4))
    history.add(replica_failed("pv-r1", reusable=True))
    history.add_all(node_up("m1", "n01"), node_reclaimed("m1", "n01"))

    there = on_disks(only(history.add(volume_up("pv", 2))))

    assert "m1/n00/d" not in there.values()
    assert "m1/n01/d" not in there.values()


def test_a_failed_replica_on_a_disk_to_be_emptied_is_not_waited_for() -> None:
    history = with_disks(2)
    history.add(volume_up("pv", 1))
    history.add(replica_failed("pv-r1", reusable=True))

    made = only(history.add(disk_up("m1", "n00", "d", evicting=True)))

    assert on_disks(made) == {"pv-r2": "m1/n01/d"}
    assert history.world.deadlines == ()


def test_a_record_names_the_first_losers_and_counts_the_others() -> None:
    history = with_disks(30)
    history.add(disk_up("m1", "n99", "d", available=10))

    placement = disk_placement_of(only(history.add(volume_up("pv", 1))))

    (step,) = placement.steps
    assert step.candidates == 30
    assert len(step.nodes) == LOSERS_NAMED + 1
    assert step.nodes[0].name == "m1/n00"
    assert step.losers.named == (("m1/n99/d", "actual_space 10 25"),)


def test_a_disk_that_passes_the_filters_and_has_too_little_room_is_a_loser() -> None:
    history = with_disks(30)
    history.add_all(
        *[disk_up("m1", f"s{n:02}", "d", available=60, reserved=30) for n in range(20)],
        disk_up("m1", "n00", "e", available=60, reserved=30),
    )

    made = only(history.add(volume_up("pv", 1, size=40)))

    (step,) = disk_placement_of(made).steps
    assert on_disks(made) == {"pv-r1": "m1/n00/d"}
    assert step.candidates == 51
    assert step.losers.counts == (("infeasible", 21),)
    assert step.losers.named == (
        ("m1/n00/e", "infeasible 30 40"),
        *((f"m1/s{n:02}/d", "infeasible 30 40") for n in range(LOSERS_NAMED - 1)),
    )


def test_where_no_disk_has_room_nobody_lost_with_the_one_that_is_taken() -> None:
    history = History()
    history.add(policy({"disk.over_provisioning_pct": 300}))
    history.add_all(
        *[disk_up("m1", f"n{n}", "d", available=60 + n, reserved=30) for n in range(20)]
    )

    made = only(history.add(volume_up("pv", 1, size=90)))

    (step,) = disk_placement_of(made).steps
    assert (step.rule, step.overcommitted) == ("most_usable", True)
    assert on_disks(made) == {"pv-r1": "m1/n19/d"}
    assert step.losers.counts == (("infeasible", 19),)
    assert all(name != "m1/n19/d" for name, _ in step.losers.named)
    assert len(step.losers.named) == LOSERS_NAMED


def test_a_disk_of_the_volumes_own_node_that_has_too_little_room_is_a_loser_too() -> None:
    history = with_disks(1)
    history.add(policy({"disk.node_soft": True}))
    history.add(volume_up("pv", 1, size=40))
    history.add_all(disk_up("m1", "n00", "e", available=60, reserved=30), disk_up("m1", "n00", "f"))

    made = only(history.add(volume_up("pv", 2, size=40)))

    (step,) = disk_placement_of(made).steps
    assert on_disks(made) == {"pv-r1": "m1/n00/d", "pv-r2": "m1/n00/f"}
    assert step.losers.named == (
        ("m1/n00/d", "anti_affinity used_node pv-r1"),
        ("m1/n00/e", "infeasible 30 40"),
    )


def test_a_refusal_among_all_candidates_names_the_disks_that_have_too_little_room() -> None:
    history = History()
    history.add(policy({"disk.scope": "candidates", "disk.over_provisioning_pct": 300}))
    history.add_all(*[disk_up("m1", f"n{n}", "d", available=60, reserved=30) for n in range(2)])

    refusal = refusal_of(only(history.add(volume_up("pv", 1, size=90))))

    assert refusal.reason == "replica scheduling failed"
    assert refusal.losers.named == (
        ("m1/n0/d", "infeasible 30 90"),
        ("m1/n1/d", "infeasible 30 90"),
    )


def test_the_volumes_own_balance_goes_before_the_policy() -> None:
    history = with_disks(2)
    history.add(policy({"disk.alpha": Fraction(1, 3)}))

    first = disk_placement_of(only(history.add(volume_up("pv", 1))))
    second = disk_placement_of(only(history.add(volume_up("pw", 1, alpha=Fraction(0)))))

    assert (first.alpha, second.alpha) == (Fraction(1, 3), Fraction(0))


def test_a_size_that_was_refused_is_asked_for_again_where_the_replicas_went_meanwhile() -> None:
    history = with_disks(1)
    history.add(volume_up("pv", 1, size=70))
    history.add(policy({"hold": True}))
    history.add_all(
        disk_up("m1", "n00", "d", evicting=True), disk_up("m1", "n01", "d", maximum=400)
    )
    history.add(volume_up("pv", 1, size=110))

    moved, refused = history.add(policy({"hold": False})).decisions
    grown, _ = history.add(volume_up("another", 0)).decisions

    assert on_disks(moved) == {"pv-r2": "m1/n01/d"}
    assert disk_placement_of(moved).size == 70
    assert refusal_of(refused).detail == (("expansion", 40), ("expansion_short", 10))
    assert (grown.subject, disk_placement_of(grown).size) == ("pv", 110)


def test_a_disk_that_cannot_help_asks_nobody_and_one_that_can_does() -> None:
    history = with_disks(1)
    refused = refusal_of(only(history.add(volume_up("pv", 1, size=150))))

    small = history.add(disk_up("m1", "n01", "d"))
    large = history.add(disk_up("m1", "n02", "d", maximum=200))

    assert refused.reason == "insufficient storage"
    assert refused.detail == (("missing", 1), ("replica_short", 50))
    assert small.decisions == ()
    assert on_disks(only(large)) == {"pv-r1": "m1/n02/d"}


def test_a_volume_that_is_gone_leaves_its_room_to_the_refused() -> None:
    history = with_disks(1)
    history.add(volume_up("pv", 1, size=80))
    history.add(volume_up("pw", 1, size=80))

    first, second = history.add(volume_gone("pv")).decisions

    assert [gone.why for gone in disk_placement_of(first).released] == ["gone"]
    assert on_disks(second) == {"pw-r1": "m1/n00/d"}


def test_a_replica_that_was_given_up_for_good_frees_its_disk_also_under_hold() -> None:
    history = with_disks(1)
    history.add(volume_up("pv", 1, size=80))
    history.add(policy({"hold": True}))

    history.add(replica_failed("pv-r1"))

    (host,) = history.world.disks.hosts.values()
    assert host.disks[0].scheduled == 0


def test_an_edit_that_waits_under_hold_is_what_ends_a_refusal() -> None:
    history = with_disks(1)
    history.add(volume_up("pv", 1))
    history.add(volume_up("pv", 1, size=200))
    history.add(policy({"hold": True}))
    history.add(volume_up("pv", 1))

    broken = history.add(replica_failed("pv-r1", reusable=True))
    made = only(history.add(policy({"hold": False})))

    assert broken.ended == ()
    assert made.branch == "keep"
    assert disk_placement_of(made).complete
    assert not history.world.refusals


def test_a_disk_that_offers_less_asks_nobody_and_one_that_is_otherwise_does() -> None:
    history = with_disks(2, available=80)
    history.add(volume_up("pv", 1, size=150))

    history.add(disk_up("m1", "n00", "d", available=79))
    less = history.world.retries.marked
    history.add(disk_up("m1", "n00", "d", available=78, schedulable=False))
    off = history.world.retries.marked
    otherwise = []
    for changed in (
        disk_up("m1", "n00", "d", available=79, schedulable=False),
        disk_up("m1", "n00", "d", available=79),
        disk_up("m1", "n00", "d", available=79, maximum=90),
        disk_up("m1", "n00", "d", available=79, maximum=90, reserved=5),
        disk_up("m1", "n00", "d", available=79, maximum=90, reserved=5, tags=["ssd"]),
        disk_up("m1", "n00", "d", available=79, maximum=90, reserved=5, zone="a"),
        disk_up("m1", "n00", "d", available=79, maximum=90, reserved=5, node_ready=False),
        disk_up("m1", "n00", "d", available=79, maximum=90, reserved=5, evicting=True),
    ):
        history.add(changed)
        otherwise.append(bool(history.world.retries.marked))

    assert not less
    assert not off
    assert all(otherwise)


def test_a_disk_under_pressure_opens_its_node_to_the_refused_under_best_effort() -> None:
    history = with_disks(1, available=80)
    history.add(policy({"disk.auto_balance": "best-effort", "disk.disk_pressure_pct": 30}))
    history.add(disk_up("m1", "n00", "e"))
    history.add(volume_up("pv", 2, size=1))

    step = history.add(disk_up("m1", "n00", "d", available=60))

    assert on_disks(only(step)) == {"pv-r1": "m1/n00/e", "pv-r2": "m1/n00/d"}
