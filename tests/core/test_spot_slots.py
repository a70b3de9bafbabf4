"""Reservations: what each thing that can happen to a pod does to the slots of its template."""

import pytest

from ledger.core.spot import slots
from ledger.core.spot.expiry import expires_at, has_expired
from ledger.core.spot.labels import CapacityClass
from ledger.core.spot.repair import Repair, proposed_repair
from ledger.core.spot.slots import Admission, Held, Slots, Template, admit, tally
from ledger.core.spot.target import Target
from ledger.errors import InvalidRequest
from ledger.units import Microseconds, Milliseconds

ONE, TWO = Target(1, "slots"), Target(2, "slots")
SINGLE, NOTHING = Target(1, "single"), Target(None, "passthrough")


def admitted(core: Slots, *uids: str, target: Target = ONE, template: str = "A") -> Slots:
    for uid in uids:
        core = admit(core, Admission(uid, template), target).slots
    return core


def confirmed(core: Slots, *numbers: int) -> Slots:
    for number in numbers:
        core = slots.seen(core, number).slots
    return core


def counts(core: Slots, template: str = "A") -> tuple[int, int]:
    found = core.templates.get(template, Template())
    return found.on_demand, found.live


def test_an_answer_says_what_it_was_made_from() -> None:
    core = admitted(Slots(), "u1", "u2", target=TWO)

    answer = admit(core, Admission("u3", "A"), TWO).answer

    assert (answer.capacity_class, answer.reservation) == ("spot", 3)
    assert (answer.on_demand, answer.live, answer.target) == (2, 2, 2)


def test_a_pin_takes_no_slot_that_it_does_not_hold() -> None:
    spot = admit(Slots(), Admission("u1", "A", user_pin="spot"), ONE)
    on_demand = admit(spot.slots, Admission("u2", "A", user_pin="od"), Target(0, "slots"))

    assert (spot.answer.capacity_class, spot.answer.wanted) == ("spot", "od")
    assert spot.answer.flags == ()
    assert (on_demand.answer.capacity_class, on_demand.answer.wanted) == ("od", "spot")
    assert counts(on_demand.slots) == (1, 2)


def test_a_lone_replica_is_on_demand_though_a_phantom_holds_the_slot() -> None:
    answer = admit(admitted(Slots(), "u1"), Admission("u2", "A"), SINGLE).answer

    assert (answer.capacity_class, answer.on_demand, answer.target) == ("od", 1, 1)


def test_a_pin_counts_for_a_lone_replica_too() -> None:
    answer = admit(Slots(), Admission("u1", "A", user_pin="spot"), SINGLE).answer

    assert (answer.capacity_class, answer.wanted) == ("spot", "od")


def test_without_a_target_a_pod_is_answered_and_not_counted() -> None:
    passed = admit(Slots(), Admission("u1", "A", user_pin="od"), NOTHING)
    again = admit(passed.slots, Admission("u1", "A"), ONE)

    assert (passed.answer.capacity_class, passed.answer.reservation) == (None, None)
    assert passed.slots.last == 0
    assert (again.answer, again.replayed) == (passed.answer, True)


def test_a_template_without_told_replicas_has_room_for_everybody() -> None:
    core = admitted(Slots(), *(f"u{number}" for number in range(20)))

    assert counts(core) == (1, 20)
    assert not slots.must_list(core, "A")
    assert not slots.must_list(core, "never heard of")


def test_the_oldest_open_reservations_make_room_first() -> None:
    core = confirmed(admitted(Slots(), "u1", "u2", "u3", "u4"), 2)
    core = slots.told_replicas(core, "A", 2)
    assert slots.must_list(core, "A")

    answer = admit(core, Admission("u5", "A"), ONE)

    assert (answer.answer.retired, answer.answer.assumed_lost) == ((1, 3, 4), ())
    assert (answer.answer.capacity_class, answer.answer.flags) == ("od", ())
    assert answer.slots.templates["A"].od == Held(open=(5,), lapsed=(1,))
    assert answer.slots.templates["A"].spot == Held(confirmed=(2,), lapsed=(3, 4))


def test_of_many_open_reservations_the_oldest_lapse_whatever_their_class() -> None:
    core = Slots()
    for number, pin in enumerate(("od", "spot", "od", "spot", "od", "spot"), 1):
        capacity_class: CapacityClass = "od" if pin == "od" else "spot"
        core = admit(core, Admission(f"u{number}", "A", user_pin=capacity_class), ONE).slots

    for told, od, spot in ((4, (5,), (4, 6)), (3, (5,), (6,)), (2, (), (6,))):
        admission = Admission("u7", "A", user_pin="spot")
        found = admit(slots.told_replicas(core, "A", told), admission, ONE)
        assert found.answer.retired == (*range(1, 8 - told),)
        assert found.slots.templates["A"].od.open == od
        assert found.slots.templates["A"].spot.open == (*spot, 7)


def test_when_all_were_seen_an_on_demand_one_is_assumed_lost_before_others() -> None:
    core = confirmed(admitted(Slots(), "u1", "u2", "u3", target=Target(2, "slots")), 1, 2, 3)
    core = slots.adopt(core, "A", "spot")

    down_to_two = admit(slots.told_replicas(core, "A", 2), Admission("u4", "A"), ONE).answer
    down_to_one = admit(slots.told_replicas(core, "A", 1), Admission("u4", "A"), ONE).answer

    assert (down_to_two.assumed_lost, down_to_two.flags) == ((1, 2, 3), ("assumed_loss",))
    assert down_to_one.assumed_lost == (1, 2, 3, 4)


def test_a_replicaset_told_to_have_none_still_gets_an_answer() -> None:
    core = slots.told_replicas(admitted(Slots(), "u1"), "A", 0)

    answer = admit(core, Admission("u2", "A"), ONE).answer

    assert (answer.capacity_class, answer.retired, answer.live) == ("od", (1,), 0)


def test_a_dry_run_decides_on_a_copy_and_says_no_more_than_the_class() -> None:
    core = slots.told_replicas(confirmed(admitted(Slots(), "u1", "u2"), 1, 2), "A", 2)
    asked = Admission("u3", "A", carried="r1", dry_run=True)

    dry = admit(core, asked, ONE)
    again = admit(dry.slots, asked, ONE)

    assert dry.slots is core
    assert dry.answer.capacity_class == "od"
    assert dry.answer.flags == ("foreign_reservation_ignored", "dry_run")
    assert (dry.answer.reservation, dry.answer.retired, dry.answer.assumed_lost) == (None, (), ())
    assert (again.answer, again.replayed) == (dry.answer, False)


def test_a_dry_run_of_an_answered_admission_repeats_the_answer() -> None:
    core = admitted(Slots(), "u1")

    dry = admit(core, Admission("u1", "A", dry_run=True), ONE)

    assert dry.replayed
    assert dry.answer.reservation == 1


def test_a_dry_run_of_a_pod_that_holds_a_slot_names_it_and_leaves_no_trace() -> None:
    core = admitted(Slots(), "u1")

    dry = admit(core, Admission("u2", "A", carried="r1", dry_run=True), ONE)

    assert (dry.answer.reservation, dry.answer.flags) == (1, ("reinvocation",))
    assert dry.slots is core


def test_a_second_call_keeps_the_slot_whatever_the_target_is_by_now() -> None:
    core = admitted(Slots(), "u1")

    second = admit(core, Admission("u2", "A", carried="r1"), NOTHING)
    retried = admit(second.slots, Admission("u2", "A"), NOTHING)

    assert (second.answer.capacity_class, second.answer.flags) == ("od", ("reinvocation",))
    assert (retried.answer, retried.replayed) == (second.answer, True)
    assert counts(second.slots) == (1, 1)


@pytest.mark.parametrize("carried", ["r1", "r2", "r3", "x1", "r", "r01", "r0", "R2", " r2"])
def test_only_an_open_reservation_of_the_same_template_is_taken_for_its_own(carried: str) -> None:
    core = admitted(confirmed(admitted(Slots(), "u1"), 1), "u2", template="B")

    answer = admit(core, Admission("u3", "A", carried=carried), ONE).answer

    assert (answer.reservation, answer.flags) == (3, ("foreign_reservation_ignored",))


def test_an_empty_annotation_names_no_reservation() -> None:
    assert admit(Slots(), Admission("u1", "A", carried=""), ONE).answer.flags == ()


def test_another_workload_cannot_be_mistaken_for_this_one() -> None:
    ours, theirs = (admitted(Slots(prefix=prefix), "u1") for prefix in ("7f-", "9c-"))
    copied = theirs.name(1)

    answer = admit(ours, Admission("u2", "A", carried=copied), ONE).answer

    assert (copied, ours.number("7f-1"), ours.number(copied)) == ("9c-1", 1, None)
    assert answer.flags == ("foreign_reservation_ignored",)


def test_a_lapsed_reservation_counts_again_when_its_pod_is_seen_and_that_is_told() -> None:
    core = slots.expire(admitted(Slots(), "u1"), 1)
    assert counts(core) == (0, 0)

    late = slots.seen(core, 1)
    again = slots.seen(late.slots, 1)

    assert (late.late, late.on_demand, counts(late.slots)) == (True, 1, (1, 1))
    assert (again.late, again.slots) == (False, late.slots)


def test_a_lost_one_that_is_seen_counts_again_and_is_not_called_late() -> None:
    core = slots.told_replicas(confirmed(admitted(Slots(), "u1"), 1), "A", 1)
    core = admitted(core, "u2")
    assert core.templates["A"].od == Held(open=(2,), lost=(1,))

    seen = slots.seen(core, 1)

    assert not seen.late
    assert counts(seen.slots) == (2, 2)
    assert tally(seen.slots.templates["A"], ONE).surplus == 1


@pytest.mark.parametrize("before", ["open", "confirmed", "lapsed"])
def test_a_pod_that_is_gone_never_returns(before: str) -> None:
    core = admitted(Slots(), "u1")
    if before == "confirmed":
        core = confirmed(core, 1)
    elif before == "lapsed":
        core = slots.expire(core, 1)

    core = slots.gone(core, 1)

    assert counts(core) == (0, 0)
    assert counts(slots.seen(core, 1).slots) == (0, 0)
    assert slots.gone(core, 1) == slots.expire(core, 1) == core
    assert counts(slots.listed(core, "A", [1])) == (0, 0)


def test_only_what_is_open_expires() -> None:
    core = confirmed(admitted(Slots(), "u1"), 1)

    assert slots.expire(core, 1) is core


def test_a_list_confirms_releases_and_brings_back_but_leaves_what_is_on_its_way() -> None:
    core = confirmed(admitted(Slots(), "u1", "u2", "u3", "u4", "u5"), 2, 3)
    core = slots.expire(core, 4)
    core = admitted(core, "u6", template="B")

    core = slots.listed(core, "A", [1, 2, 4, 6])

    assert core.templates["A"].od == Held(confirmed=(1,))
    assert core.templates["A"].spot == Held(open=(5,), confirmed=(2, 4))
    assert core.templates["B"].od == Held(open=(6,))
    assert 3 not in core.homes
    assert slots.listed(core, "never heard of", [1]) == core


def test_a_list_brings_back_what_was_assumed_lost() -> None:
    core = slots.told_replicas(confirmed(admitted(Slots(), "u1", "u2"), 1, 2), "A", 1)
    core = admitted(core, "u3")
    assert core.templates["A"].od == Held(open=(3,), lost=(1,))

    core = slots.listed(core, "A", [2])

    assert core.templates["A"].od == Held(open=(3,), lost=(1,))
    assert core.templates["A"].spot == Held(confirmed=(2,))
    assert slots.listed(core, "A", [1, 2]).templates["A"].od == Held(open=(3,), confirmed=(1,))


@pytest.mark.parametrize("number", [0, 2, -1])
def test_a_reservation_that_was_never_made_is_refused(number: int) -> None:
    core = admitted(Slots(), "u1")

    for ask in (
        lambda: slots.seen(core, number),
        lambda: slots.gone(core, number),
        lambda: slots.expire(core, number),
        lambda: slots.listed(core, "A", [number]),
    ):
        with pytest.raises(InvalidRequest) as refused:
            ask()
        assert refused.value.code == "invalid_request"


def test_told_replicas_are_a_count() -> None:
    with pytest.raises(InvalidRequest, match="replicas"):
        slots.told_replicas(Slots(), "A", -1)


@pytest.mark.parametrize("capacity_class", ["od", "spot"])
def test_an_adopted_pod_counts_by_where_it_runs(capacity_class: CapacityClass) -> None:
    core = slots.adopt(Slots(), "A", capacity_class)

    assert counts(core) == (int(capacity_class == "od"), 1)
    assert core.last == 1


def test_without_a_target_nothing_is_short() -> None:
    counted = tally(Template(spot=Held(open=(1,))), NOTHING)

    assert (counted.target, counted.deficit, counted.surplus) == (None, 0, 0)


AT_REST = Template(replicas=3, od=Held(confirmed=(2,)), spot=Held(confirmed=(1, 3)))


def test_a_repair_names_as_many_as_are_short_youngest_first() -> None:
    assert proposed_repair(AT_REST, TWO) == Repair("deficit", 1, (3, 1))
    assert proposed_repair(AT_REST, ONE) is None
    assert proposed_repair(AT_REST, Target(0, "slots")) == Repair("surplus", 1, (2,))
    assert proposed_repair(AT_REST, NOTHING) is None
    more = Template(replicas=2, od=Held(confirmed=(1, 2)))
    assert proposed_repair(more, ONE) == Repair("surplus", 1, (2, 1))


@pytest.mark.parametrize(
    "template",
    [
        AT_REST._replace(replicas=None),
        AT_REST._replace(replicas=4),
        AT_REST._replace(spot=Held(open=(3,), confirmed=(1,))),
        AT_REST._replace(od=Held(open=(2,))),
    ],
)
def test_nothing_is_proposed_before_things_have_come_to_rest(template: Template) -> None:
    assert tally(template, Target(3, "slots")).deficit == 2
    assert proposed_repair(template, Target(3, "slots")) is None


def test_a_reservation_runs_out_in_fleet_time_and_only_where_we_have_listened() -> None:
    deadline = expires_at(Microseconds(5), patience=Milliseconds(60_000))
    before, at = Microseconds(deadline - 1), Microseconds(deadline)

    assert deadline == 60_000_005
    assert has_expired(deadline, now=at, heard_through=at)
    assert not has_expired(deadline, now=before, heard_through=at)
    assert not has_expired(deadline, now=at, heard_through=before)
    assert not has_expired(deadline, now=at, heard_through=None)
