"""Admissions at their borders: odd names, owners that change, divisions that are not made yet, other lives."""

from dataclasses import replace

import pytest

from ledger.decisions.step import Step
from ledger.facts.admission import Admission
from ledger.facts.decision import Decision, from_record, record
from ledger.facts.workload import PodObserved
from ledger.reducers.reservations import REMEMBERED
from ledger.units import LARGEST_WHOLE_NUMBER, Subject, Uid
from tests.histories import (
    SECOND,
    History,
    admitted,
    cluster_up,
    divided,
    listed,
    node_up,
    only,
    pod_gone,
    pod_seen,
    pods_listed,
    policy,
    replicaset_up,
    workload_gone,
    workload_up,
)

WEB = ("ReplicaSet", "web-7")


def begun(replicas: int = 4, wanted: str | None = "2", told: int = 4) -> History:
    history = History()
    history.add_all(
        cluster_up("m1"),
        workload_up("shop/web", replicas, min_available=wanted),
        replicaset_up("m1", "shop", "web-7", ("Deployment", "web"), replicas=told),
    )
    return history


def ask(history: History, uid: str, **more: object) -> Admission:
    request = admitted(uid, "m1", "shop", WEB, "7", **more)  # type: ignore[arg-type]  # any of its words
    return answer(history.add(request))


def answer(step: Step) -> Admission:
    (made,) = step.decisions
    assert isinstance(made.outcome, Admission)
    assert from_record(record(made)) == made
    return made.outcome


def seen(name: str, reservation: str | None = None, **more: object) -> PodObserved:
    return pod_seen(
        "m1",
        "shop",
        name,
        owner=WEB,
        template_hash="7",
        reservation=reservation,
        **more,  # type: ignore[arg-type]  # any of its words
    )


def test_an_index_of_any_length_is_answered_and_can_be_recorded() -> None:
    history = History()
    history.add_all(
        cluster_up("m1"), workload_up("shop/db", 3, kind="StatefulSet", min_available="2")
    )

    owner = ("StatefulSet", "db")
    found = answer(history.add(admitted("u", "m1", "shop", owner, pod_index="9" * 200)))

    assert (found.capacity_class, found.index) == ("spot", LARGEST_WHOLE_NUMBER)


@pytest.mark.parametrize("name", ["x" * 300, "", "db-", "db-1-x"])
def test_a_name_without_a_place_leaves_the_pod_as_it_is(name: str) -> None:
    history = History()
    history.add_all(
        cluster_up("m1"), workload_up("shop/db", 3, kind="StatefulSet", min_available="2")
    )

    found = answer(history.add(admitted("u", "m1", "shop", ("StatefulSet", "db"), name=name)))

    assert (found.capacity_class, found.reservation) == (None, None)
    assert found.flags == ("ordinal_unknown",)


def test_a_divided_workload_counts_its_share_and_before_it_has_one_all_of_its_replicas() -> None:
    history = History()
    history.add(policy({"hold": True}))
    history.add_all(
        cluster_up("m1"),
        cluster_up("m2"),
        workload_up("shop/web", 10, divided({"m1": 1, "m2": 4}), min_available="100%"),
    )
    before = ask(history, "u1")
    history.add(policy({"hold": False}))
    after = ask(history, "u2")

    assert (before.share, before.target) == (10, 10)
    assert (after.share, after.target) == (2, 2)


def test_a_replicaset_of_another_life_is_known_by_its_name_only() -> None:
    history = begun()
    request = admitted("u1", "m1", "shop", WEB, "7")
    other = replace(request, owner=replace(request.owner, uid=Uid("another")))
    nobody = replace(other, uid="u2", template_hash="8")

    found, unknown = answer(history.add(other)), answer(history.add(nobody))

    assert (found.workload, found.told) == ("web", None)
    assert (unknown.workload, unknown.flags) == ("web-7", ("workload_unknown",))


def test_a_pod_that_carries_what_another_pod_holds_counts_by_itself() -> None:
    history = begun()
    first = ask(history, "u1")
    history.add(seen("a", first.reservation))
    history.add(seen("b", first.reservation, capacity_class="on-demand"))

    found = ask(history, "u2")

    assert (found.on_demand, found.live, found.capacity_class) == (2, 2, "spot")


def test_a_pod_that_goes_and_is_seen_once_more_stays_gone_until_it_is_another() -> None:
    history = begun()
    history.add(seen("a", ask(history, "u1").reservation))
    history.add(seen("a", "shop/1/0", terminating=True))
    history.add(seen("a", "shop/1/0"))
    assert ask(history, "u2").live == 0

    history.add(pod_gone("m1", "shop", "a"))
    history.add(seen("a", uid="another", capacity_class="on-demand"))

    assert ask(history, "u3").live == 2


def test_an_adopted_pod_is_of_the_class_of_its_node_as_that_is_now() -> None:
    history = begun(wanted="1")
    label = "node.kubernetes.io/capacity"
    history.add_all(node_up("m1", "n", labels={label: "spot"}), seen("a", node="n"))
    assert ask(history, "u1").on_demand == 0

    history.add(node_up("m1", "n", labels={label: "on-demand"}))

    assert ask(history, "u2", user_pin="spot").on_demand == 2


def test_who_was_taken_for_lost_and_is_in_a_later_list_of_all_pods_is_there() -> None:
    history = begun(replicas=2, wanted="1", told=2)
    for name in "ab":
        history.add(seen(name, ask(history, name).reservation))
    lost = ask(history, "u")
    assert lost.assumed_lost == ("shop/1/0",)

    history.add(listed("m1", "pod", ["shop/a", "shop/b"]), after=SECOND)
    template = history.world.admissions.templates[Subject("m1/shop/web-7")]

    assert [template.rows[number].standing for number in sorted(template.rows)] == [
        "confirmed",
        "confirmed",
        "open",
    ]


def test_a_template_is_kept_no_longer_than_it_has_rows_and_who_asked_no_longer_than_that() -> None:
    history = begun()
    ask(history, "u1")
    history.add(seen("a", "shop/1/0"))
    history.add(pod_gone("m1", "shop", "a"))
    history.add(workload_gone("shop/web"))
    history.wait(REMEMBERED)
    kept = history.world.admissions

    assert not (kept.templates)
    assert not (kept.reservations)
    assert not (kept.answered)
    assert not (kept.waiting)
    assert not (kept.forgetting)
    assert not (kept.overdue)
    assert not (history.world.deadlines)


def test_an_admission_that_is_never_listed_is_forgotten() -> None:
    history = begun(told=0)
    history.add(seen("a"))
    assert ask(history, "u1", can_list=True).flags == ("list_first",)

    history.wait(REMEMBERED)
    step = history.add(pods_listed("u1", "7", []))

    assert (step.effect, step.decisions) == ("no_effect", ())


def test_each_answer_names_the_one_about_the_same_template_before_it() -> None:
    history = begun(told=1)
    made: list[Decision] = [only(history.add(admitted("u1", "m1", "shop", WEB, "7")))]
    history.add(workload_up("shop/else", 1))
    other = only(history.add(admitted("u2", "m1", "shop", ("Deployment", "else"), "1")))
    made.append(only(history.add(admitted("u3", "m1", "shop", WEB, "7", can_list=True))))
    made.append(only(history.add(pods_listed("u3", "7", []))))

    assert [one.previous for one in made] == [None, made[0].number, made[1].number]
    assert other.previous is None
