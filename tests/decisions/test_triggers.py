"""Which events ask for a division, and which do not."""

import pytest

from ledger.facts.decision import Decision
from ledger.facts.division import Division
from ledger.facts.event import MessageReleased
from ledger.facts.workload import DivisionSpec
from ledger.reducers.deadlines import in_order
from ledger.units import EventType, Subject
from tests.histories import (
    SECOND,
    History,
    allocation,
    cluster_gone,
    cluster_up,
    divided,
    division_of,
    fairness_of,
    node_up,
    only,
    policy,
    queue_up,
    reschedule,
    workload_gone,
    workload_up,
)


def fleet(*names: str) -> History:
    history = History()
    for name in names:
        history.add(cluster_up(name))
    return history


def total(made: Decision) -> int:
    return sum(allocation(made).values())


def test_a_first_wish_is_divided() -> None:
    history = fleet("m1", "m2")

    made = only(history.add(workload_up("ns/web", 4, divided())))

    assert allocation(made) == {"m1": 2, "m2": 2}
    assert (made.number, made.position, made.previous, made.moved) == (0, 2, None, 0)
    assert made.branch == "exact"
    assert division_of(made).because == ("edited",)


def test_a_workload_without_a_wish_is_not_divided() -> None:
    history = fleet("m1")

    assert not history.add(workload_up("ns/web", 4)).decisions


def test_an_upsert_that_changes_nothing_that_matters_asks_nothing() -> None:
    history = fleet("m1", "m2")
    history.add(workload_up("ns/web", 5, divided(), revision=1))

    step = history.add(workload_up("ns/web", 5, divided(), revision=2, priority=9))

    assert step.effect == "applied"
    assert not step.decisions


def test_other_replicas_ask_with_the_last_result_in_mind() -> None:
    history = fleet("m1", "m2", "m3")
    first = only(history.add(workload_up("ns/web", 4, divided())))

    second = only(history.add(workload_up("ns/web", 5, divided())))

    assert second.previous == first.number
    assert all(
        count >= allocation(first).get(cluster, 0) for cluster, count in allocation(second).items()
    )


def test_an_edit_that_the_last_result_still_satisfies_is_recorded_as_kept() -> None:
    history = fleet("m1", "m2")
    first = only(history.add(workload_up("ns/web", 5, divided({"m1": 1, "m2": 1}))))

    second = only(history.add(workload_up("ns/web", 5, divided({"m1": 3, "m2": 3}))))

    assert (second.branch, second.moved, second.lot) == ("keep", 0, None)
    assert allocation(second) == allocation(first)


def test_a_stale_edit_asks_nothing() -> None:
    history = fleet("m1", "m2")
    history.add(workload_up("ns/web", 5, divided(), revision=2))

    step = history.add(workload_up("ns/web", 9, divided(), revision=1))

    assert (step.effect, step.decisions) == ("stale", ())


@pytest.mark.parametrize(
    ("wish", "touched"),
    [
        (divided(), True),
        (divided({"m1": 1, "m3": 1}), True),
        (divided({"m1": 1, "m2": 1}), False),
        (divided(clusters=["m1", "m3"]), True),
        (divided({"m3": 1}, clusters=["m1"]), False),
        (divided(selector={"tier": "gold"}), True),
        (divided(selector={"tier": "gold", "zone": "b"}), False),
        (divided(selector={"tier": "silver"}), False),
        (divided(selector={"tier": "gold"}, clusters=["m1"]), False),
    ],
)
def test_a_cluster_that_comes_touches_whoever_may_go_there(
    wish: DivisionSpec,
    touched: bool,  # noqa: FBT001 - a column of the table above
) -> None:
    history = fleet("m1", "m2")
    history.add(workload_up("ns/web", 4, wish))

    step = history.add(cluster_up("m3", labels={"tier": "gold", "zone": "a"}))

    assert bool(step.decisions) == touched


def test_a_new_candidate_is_divided_to() -> None:
    history = fleet("m1", "m2")
    history.add(workload_up("ns/web", 6, divided()))

    made = only(history.add(cluster_up("m3")))

    assert allocation(made) == {"m1": 2, "m2": 2, "m3": 2}
    assert made.moved == 2
    assert division_of(made).because == ("candidates",)


def test_a_candidate_without_a_weight_gets_nothing_but_is_a_candidate() -> None:
    history = fleet("m1")
    history.add(workload_up("ns/web", 4, divided({"m1": 1}, clusters=["m1", "m2"])))

    made = only(history.add(cluster_up("m2")))

    assert (made.branch, allocation(made)) == ("keep", {"m1": 4})
    assert [share.weight for share in division_of(made).shares] == [1, 0]


def test_a_cluster_that_goes_gives_its_replicas_to_the_others() -> None:
    history = fleet("m1", "m2", "m3")
    history.add(workload_up("ns/web", 6, divided()))

    made = only(history.add(cluster_gone("m2")))

    assert allocation(made) == {"m1": 3, "m3": 3}
    assert made.moved == 2
    assert division_of(made).left == (("m2", 2),)


def test_a_cluster_that_changes_but_stays_a_candidate_asks_nothing() -> None:
    history = fleet("m1", "m2")
    history.add(workload_up("ns/web", 4, divided()))

    assert not history.add(cluster_up("m1", labels={"tier": "gold"}, region="eu")).decisions
    assert not history.add(cluster_up("m1")).decisions
    assert not history.add(cluster_up("m1", uid="rebuilt")).decisions


def test_labels_alone_can_make_and_unmake_a_candidate() -> None:
    history = fleet("m1", "m2")
    history.add(cluster_up("m1", labels={"tier": "gold"}))
    history.add(workload_up("ns/web", 4, divided(selector={"tier": "gold"})))

    won = only(history.add(cluster_up("m2", labels={"a": "b", "tier": "gold"})))
    lost = only(history.add(cluster_up("m1", labels={"tier": "silver"})))

    assert allocation(won) == {"m1": 2, "m2": 2}
    assert allocation(lost) == {"m2": 4}


def test_a_cluster_that_flickers_touches_whoever_selects_it_by_any_label() -> None:
    history = History()
    history.add(cluster_up("m1", labels={"tier": "gold", "zone": "a"}))
    history.add(workload_up("ns/by-tier", 4, divided(selector={"tier": "gold"})))
    history.add(workload_up("ns/by-zone", 4, divided(selector={"zone": "a"})))

    lost = history.add(cluster_up("m1", ready=False, labels={"tier": "gold", "zone": "a"}))
    won = history.add(cluster_up("m1", labels={"tier": "gold", "zone": "a"}))

    assert [made.kind for made in lost.decisions] == ["refusal", "refusal"]
    assert [made.branch for made in won.decisions] == ["keep", "keep"]


def test_a_selector_comes_before_weights_and_names_before_both() -> None:
    history = fleet("m1", "m2")
    history.add(cluster_up("m3", labels={"tier": "gold"}))

    selected = only(
        history.add(workload_up("ns/a", 4, divided({"m1": 1}, selector={"tier": "gold"})))
    )
    named = only(
        history.add(
            workload_up("ns/b", 4, divided({"m1": 1}, clusters=["m2"], selector={"tier": "gold"}))
        )
    )

    assert allocation(selected) == {"m3": 4}
    assert allocation(named) == {"m2": 4}


def test_a_cluster_that_is_not_ready_is_no_candidate_until_it_is() -> None:
    history = fleet("m1")
    history.add(cluster_up("m2", ready=False))
    first = only(history.add(workload_up("ns/web", 4, divided(clusters=["m1", "m2", "m9"]))))

    second = only(history.add(cluster_up("m2")))

    assert allocation(first) == {"m1": 4}
    assert division_of(first).losers.named == (("m2", "not_ready"), ("m9", "unknown"))
    assert allocation(second) == {"m1": 2, "m2": 2}


def test_nodes_and_other_objects_ask_for_no_division() -> None:
    history = fleet("m1")
    history.add(workload_up("ns/web", 4, divided()))

    assert not history.add(node_up("m1", "n")).decisions


def test_several_workloads_are_decided_in_the_order_of_their_bytes() -> None:
    history = fleet("m1")
    for name in ("b/\uffff", "b/\U00010000", "a/z", "b/A", "b/a"):
        history.add(workload_up(name, 2, divided()))

    step = history.add(cluster_up("m2"))

    subjects = [made.subject for made in step.decisions]
    assert subjects == sorted(subjects, key=str.encode)
    assert [made.number for made in step.decisions] == [5, 6, 7, 8, 9]


def test_a_job_with_a_queue_is_not_divided_and_one_without_is() -> None:
    history = fleet("m1", "m2")
    history.add(queue_up("q"))

    assert not history.add(workload_up("ns/job", 4, divided(), kind="Job", queue="q")).decisions
    assert not history.add(reschedule("ns/job")).decisions
    assert not history.add(cluster_up("m3")).decisions
    assert only(history.add(workload_up("ns/job", 6, divided(), kind="Job"))).kind == "division"


def test_a_removal_ends_the_places_by_itself() -> None:
    history = fleet("m1", "m2")
    made = only(history.add(workload_up("ns/web", 4, divided())))

    step = history.add(workload_gone("ns/web"))

    assert not step.decisions
    assert step.ended == (("division", "ns/web", made.number),)


def test_the_same_uid_after_a_removal_starts_anew() -> None:
    history = fleet("m1", "m2", "m3")
    first = only(history.add(workload_up("ns/web", 4, divided())))
    history.add(workload_up("ns/web", 5, divided()))
    history.add(workload_gone("ns/web"))

    again = only(history.add(workload_up("ns/web", 4, divided())))

    assert again.lot == first.lot
    assert allocation(again) == allocation(first)
    assert all(share.previous == 0 for share in division_of(again).shares)


def test_another_uid_is_another_workload() -> None:
    history = fleet("m1", "m2", "m3")
    first = only(history.add(workload_up("ns/web", 4, divided(), uid="one")))

    step = history.add(workload_up("ns/web", 4, divided(), uid="two"))

    made = only(step)
    assert step.ended == (("division", "ns/web", first.number),)
    assert made.lot is not None
    assert (made.lot.workload, made.lot.epoch, made.moved) == ("two", 0, 0)
    assert all(share.previous == 0 for share in division_of(made).shares)
    assert made.previous == first.number


def test_an_epoch_counts_the_decisions_that_drew() -> None:
    history = fleet("m1", "m2", "m3")

    decisions = [
        only(history.add(workload_up("ns/web", count, divided()))) for count in (4, 6, 7, 8, 3, 4)
    ]

    epochs = [made.lot and made.lot.epoch for made in decisions]
    assert epochs == [0, None, 1, 2, None, 3]


def test_a_reschedule_asks_with_the_last_result_and_is_recorded() -> None:
    history = fleet("m1", "m2", "m3")
    first = only(history.add(workload_up("ns/web", 4, divided())))

    made = only(history.add(reschedule("ns/web", fresh=False)))

    assert (made.branch, made.moved) == ("keep", 0)
    assert allocation(made) == allocation(first)
    assert division_of(made).because == ("rescheduled",)


def test_a_fresh_reschedule_asks_from_nothing() -> None:
    history = fleet("m1", "m2", "m3")
    first = only(history.add(workload_up("ns/web", 4, divided())))

    made = only(history.add(reschedule("ns/web", fresh=True)))

    assert made.branch == "redraw"
    assert made.lot is not None
    assert made.lot.epoch == 1
    assert made.moved == (allocation(made) != allocation(first))


def test_a_wish_taken_away_gives_up_the_places_and_given_back_finds_the_result() -> None:
    history = fleet("m1", "m2", "m3")
    first = only(history.add(workload_up("ns/web", 4, divided())))

    taken = history.add(workload_up("ns/web", 4))
    given = only(history.add(workload_up("ns/web", 4, divided())))

    assert taken.ended == (("division", "ns/web", first.number),)
    assert not taken.decisions
    assert (given.branch, given.moved) == ("keep", 0)
    assert allocation(given) == allocation(first)
    assert all(share.previous == 0 for share in division_of(given).shares)


def test_a_released_message_asks_as_if_it_had_come_now() -> None:
    history = fleet("m1", "m2")
    fact = workload_up("ns/web", 4, divided())
    released = MessageReleased(
        address="ledger.workload/0@3",
        source="east",
        id="1",
        type=EventType("ledger.workload.workload.upserted.v1"),
        subject=Subject("ns/web"),
        fact=fact,
    )

    made = only(history.add(released))

    assert made.subject == "ns/web"
    assert allocation(made) == {"m1": 2, "m2": 2}


def test_another_mode_touches_nothing_until_the_next_question() -> None:
    history = fleet("m1", "m2")
    before = only(history.add(workload_up("ns/web", 5, divided())))

    assert not history.add(policy({"division.inertia": "seed"})).decisions
    after = only(history.add(workload_up("ns/web", 6, divided())))

    assert fairness_of(before).inertia == "minimal"
    assert fairness_of(after).inertia == "seed"
    assert before.policy != after.policy


def test_null_takes_a_setting_back_and_the_policy_digest_with_it() -> None:
    history = fleet("m1", "m2")
    before = only(history.add(workload_up("ns/web", 5, divided())))
    history.add(policy({"division.inertia": "seed"}))
    history.add(policy({"division": None}))

    after = only(history.add(workload_up("ns/web", 6, divided())))

    assert after.policy == before.policy


def test_not_ready_counts_until_the_grace_is_over() -> None:
    history = fleet("m1", "m2")
    history.add(policy({"grace.cluster_ms": 5000}))
    history.add(workload_up("ns/web", 4, divided()))

    assert not history.add(cluster_up("m2", ready=False)).decisions
    assert not history.wait(5 * SECOND - 1).decisions
    made = only(history.wait(1))

    assert allocation(made) == {"m1": 4}
    assert made.deadline is not None
    assert (made.deadline.kind, made.deadline.subject) == ("grace", "m2")


def test_ready_again_within_the_grace_asks_nothing() -> None:
    history = fleet("m1", "m2")
    history.add(policy({"grace.cluster_ms": 5000}))
    history.add(workload_up("ns/web", 4, divided()))
    history.add(cluster_up("m2", ready=False))

    assert not history.add(cluster_up("m2"), after=4 * SECOND).decisions
    assert not history.world.deadlines
    assert not history.wait(10 * SECOND).decisions


def test_ready_again_at_the_very_moment_is_too_late_by_one_decision() -> None:
    history = fleet("m1", "m2")
    history.add(policy({"grace.cluster_ms": 5000}))
    history.add(workload_up("ns/web", 4, divided()))
    history.add(cluster_up("m2", ready=False))

    lost, back = history.add(cluster_up("m2"), after=5 * SECOND).decisions

    assert (allocation(lost), lost.deadline is None) == ({"m1": 4}, False)
    assert (allocation(back), back.deadline) == ({"m1": 2, "m2": 2}, None)
    assert lost.position == back.position


def test_saying_not_ready_again_does_not_move_the_deadline() -> None:
    history = fleet("m1", "m2")
    history.add(policy({"grace.cluster_ms": 5000}))
    history.add(cluster_up("m2", ready=False))
    (before,) = in_order(history.world.deadlines)

    history.add(policy({"grace.cluster_ms": 60_000}))
    history.add(cluster_up("m2", ready=False, region="eu"), after=SECOND)

    assert in_order(history.world.deadlines) == (before,)


def test_a_cluster_that_goes_takes_its_grace_along() -> None:
    history = fleet("m1", "m2")
    history.add(policy({"grace.cluster_ms": 5000}))
    history.add(workload_up("ns/web", 4, divided()))
    history.add(cluster_up("m2", ready=False))

    made = only(history.add(cluster_gone("m2")))

    assert allocation(made) == {"m1": 4}
    assert not history.world.deadlines


def test_a_cluster_never_seen_ready_has_no_grace() -> None:
    history = fleet("m1")
    history.add(policy({"grace.cluster_ms": 5000}))
    history.add(workload_up("ns/web", 4, divided()))

    assert not history.add(cluster_up("m2", ready=False)).decisions
    assert not history.world.deadlines


def test_another_life_of_a_cluster_inherits_no_grace() -> None:
    history = fleet("m1", "m2")
    history.add(policy({"grace.cluster_ms": 5000}))
    history.add(workload_up("ns/web", 4, divided()))
    history.add(cluster_up("m1", ready=False))

    first = only(history.add(cluster_up("m1", uid="rebuilt", ready=False)))
    second = only(history.add(cluster_up("m2", uid="rebuilt", ready=False)))

    assert allocation(first) == {"m2": 4}
    assert second.kind == "refusal"
    assert not history.world.deadlines


def test_each_deadline_is_decided_by_itself_before_the_event() -> None:
    history = fleet("m1", "m2", "m3")
    history.add(policy({"grace.cluster_ms": 5000}))
    history.add(workload_up("ns/web", 6, divided()))
    history.add(cluster_up("m3", ready=False))
    history.add(cluster_up("m2", ready=False))

    decisions = history.add(workload_up("ns/web", 3, divided()), after=9 * SECOND).decisions

    assert [made.deadline and made.deadline.subject for made in decisions] == ["m2", "m3", None]
    assert [allocation(made) for made in decisions] == [{"m1": 3, "m3": 3}, {"m1": 6}, {"m1": 3}]
    assert {made.position for made in decisions} == {7}


def test_under_hold_events_fold_and_nothing_is_asked() -> None:
    history = fleet("m1")
    history.add(policy({"hold": True}))

    assert not history.add(workload_up("ns/web", 4, divided())).decisions
    assert not history.add(cluster_up("m2")).decisions
    assert history.world.workload(Subject("ns/web")) is not None


def test_when_hold_is_lifted_each_waiting_subject_is_asked_once_in_order() -> None:
    history = fleet("m1")
    history.add(workload_up("ns/calm", 4, divided({"m1": 1})))
    history.add(policy({"hold": True}))
    history.add_all(
        workload_up("ns/web", 4, divided()),
        workload_up("ns/api", 2, divided()),
        workload_up("ns/gone", 2, divided()),
        cluster_up("m2"),
        workload_up("ns/web", 8, divided()),
        workload_gone("ns/gone"),
    )

    decisions = history.add(policy({"hold": None})).decisions

    assert [made.subject for made in decisions] == ["ns/api", "ns/web"]
    assert [total(made) for made in decisions] == [2, 8]
    assert division_of(decisions[1]).because == ("candidates", "edited")
    assert not history.add(cluster_up("m2", region="eu")).decisions


def test_a_fresh_reschedule_under_hold_is_still_fresh_when_it_is_lifted() -> None:
    history = fleet("m1", "m2")
    history.add(workload_up("ns/web", 5, divided()))
    history.add_all(
        policy({"hold": True}), reschedule("ns/web"), workload_up("ns/web", 7, divided())
    )

    made = only(history.add(policy({"hold": False})))

    assert made.branch == "redraw"


def test_a_grace_that_ends_under_hold_is_asked_about_when_it_is_lifted() -> None:
    history = fleet("m1", "m2")
    history.add(policy({"grace.cluster_ms": 5000, "hold": True}))
    history.add(workload_up("ns/web", 4, divided()))
    history.add(cluster_up("m2", ready=False))

    assert not history.wait(6 * SECOND).decisions
    made = only(history.add(policy({"hold": False})))

    assert allocation(made) == {"m1": 4}
    assert made.deadline is None


def test_every_decision_is_a_division_of_exactly_the_replicas() -> None:
    history = fleet("m1", "m2", "m3")

    for count in (0, 1, 2, 17, 3):
        made = only(history.add(workload_up("ns/web", count, divided({"m1": 3, "m3": 2, "m2": 2}))))

        assert isinstance(made.outcome, Division)
        assert total(made) == count
