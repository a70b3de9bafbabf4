"""Laws of admissions: over random histories of pods, lists and lapses of time, answered as literally said.

The model beside it (``naive_admissions``) looks through everything it was ever told. What the World keeps
to be quicker has to add up, be in snapshots, and follow from recorded decisions alone.
"""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ledger.facts.admission import Admission
from ledger.facts.cluster import InventoryListed
from ledger.facts.decision import Decision, from_record, record
from ledger.facts.event import Fact
from ledger.facts.incident import Incident
from ledger.facts.own import AdmissionRequested
from ledger.facts.workload import PodObserved
from ledger.reducers import snapshot
from ledger.reducers.conservation import differences
from ledger.reducers.evolve import follow
from ledger.reducers.world import begin
from ledger.units import Incarnation, Microseconds
from tests.histories import (
    FLEET,
    SECOND,
    History,
    admitted,
    bypassed,
    cluster_up,
    genesis,
    listed,
    pod_gone,
    pod_seen,
    pods_listed,
    policy,
    replicaset_up,
    subject_of,
    workload_gone,
    workload_up,
)
from tests.laws.naive_admissions import NaiveAdmissions
from tests.laws.naive_fleet import NaiveFleet
from tests.laws.test_engine import long_histories

uids = st.sampled_from([f"u{number}" for number in range(24)])
names = st.sampled_from([f"web-7-{letter}" for letter in "abcd"])
reservations = st.integers(0, 25).map("shop/1/{}".format)
rarely = st.sampled_from([False] * 4 + [True])
owners = st.sampled_from(
    [
        *[("ReplicaSet", "web-7")] * 8,
        *[("ReplicaSet", "web-8"), ("Deployment", "web"), ("StatefulSet", "db")] * 2,
        *[("ReplicaSet", "x-7"), ("StatefulSet", "web"), ("DaemonSet", "web")],
    ]
)


def _fitting(admission: AdmissionRequested) -> AdmissionRequested:
    """With the hash that a template of its owner has, and a name where there is one."""
    hash_ = "" if admission.owner.kind == "StatefulSet" else "7"
    if admission.owner.kind == "ReplicaSet":
        hash_ = admission.owner.name[-1]
    name = admission.name if admission.owner.kind == "StatefulSet" else None
    return replace(admission, template_hash=hash_, name=name)


admissions = st.builds(
    admitted,
    uids,
    st.just("m1"),
    st.just("shop"),
    owners,
    dry_run=rarely,
    carried=st.one_of(st.none(), st.none(), st.none(), reservations),
    user_pin=st.sampled_from([None, None, None, None, "od", "spot"]),
    name=st.sampled_from([None, "db-0", "db-1", "db-4", "other-1", "db-x"]),
    pod_index=st.sampled_from([None, None, "2", "x"]),
    ordinals_start=st.sampled_from([None, None, 0, 1]),
    can_list=rarely,
    replicas=st.sampled_from([None, None, 0, 1, 3]),
    min_available=st.sampled_from([None, "1", "50%", "many"]),
    replicaset_replicas=st.sampled_from([None, None, 0, 1, 3]),
).map(_fitting)

pods = st.builds(
    pod_seen,
    st.sampled_from(["m1", "m1", "m1", "m2"]),
    st.just("shop"),
    names,
    uid=st.sampled_from([None, None, None, "other"]),
    owner=st.sampled_from([("ReplicaSet", "web-7")] * 4 + [("ReplicaSet", "web-8"), None]),
    template_hash=st.just("7"),
    phase=st.sampled_from(["Running", "Running", "Running", "Pending", "Failed"]),
    terminating=rarely,
    capacity_class=st.sampled_from(["", "on-demand", "spot"]),
    reservation=st.one_of(st.none(), reservations, reservations),
)


def _through(fact: InventoryListed, through: int | None) -> InventoryListed:
    return replace(fact, through=None if through is None else Microseconds(through))


facts: st.SearchStrategy[Fact] = st.one_of(
    *[admissions] * 6,
    *[pods] * 4,
    st.builds(pod_gone, st.just("m1"), st.just("shop"), names),
    st.builds(bypassed, uids),
    *[
        st.builds(
            pods_listed,
            uids,
            st.sampled_from(["7", "7", "7", "8"]),
            st.lists(reservations, max_size=4, unique=True),
            st.one_of(st.none(), st.lists(names, unique=True)),
        )
    ]
    * 2,
    st.builds(
        _through,
        st.builds(
            listed,
            st.just("m1"),
            st.just("pod"),
            st.lists(names.map("shop/{}".format), unique=True),
        ),
        st.one_of(st.none(), st.integers(0, 600).map(SECOND.__mul__)),
    ),
    st.builds(
        replicaset_up,
        st.just("m1"),
        st.just("shop"),
        st.sampled_from(["web-7", "web-7", "web-8"]),
        st.sampled_from([("Deployment", "web")] * 5 + [None]),
        replicas=st.integers(0, 5),
    ),
    st.builds(
        workload_up,
        st.just("shop/web"),
        st.integers(0, 5),
        min_available=st.sampled_from([None, "0", "1", "2", "50%", "many"]),
    ),
    st.builds(
        lambda count, text, start: workload_up(
            "shop/db", count, kind="StatefulSet", min_available=text, ordinals_start=start
        ),
        st.integers(0, 5),
        st.sampled_from(["1", "2", "100%", "none"]),
        st.sampled_from([None, None, 0, 1]),
    ),
    st.builds(lambda span: policy({"spot.reservation_ms": span}), st.sampled_from([500, 60_000])),
    st.builds(workload_gone, st.sampled_from(["shop/web", "shop/db"])),
    st.builds(lambda hold: policy({"hold": hold}), st.booleans()),
)

BEGINNING: tuple[Fact, ...] = (
    cluster_up("m1"),
    workload_up("shop/web", 4, min_available="2"),
    workload_up("shop/db", 3, kind="StatefulSet", min_available="1"),
    replicaset_up("m1", "shop", "web-7", ("Deployment", "web"), replicas=4),
)

spans = st.sampled_from([0, 0, 0, 0, SECOND, 30 * SECOND, 60 * SECOND, 300 * SECOND])
histories = st.lists(st.tuples(facts, spans), min_size=30, max_size=60).map(
    lambda drawn: [*((fact, 0) for fact in BEGINNING), *drawn]
)


def said(made: Decision) -> dict[str, Any]:
    """An answer in the words of the model."""
    assert isinstance(made.outcome, Admission)
    return {
        "class": made.outcome.capacity_class,
        "name": made.outcome.reservation,
        "flags": [*made.outcome.flags],
        "retired": [*made.outcome.retired],
        "lost": [*made.outcome.assumed_lost],
    }


def spelled(answer: dict[str, Any]) -> dict[str, str]:
    """An answer as one of the naive fleet's decisions has it."""
    return {what: str(told) for what, told in answer.items()}


@long_histories
@given(histories)
def test_admissions_are_answered_as_by_whoever_looks_through_everything(
    history: list[tuple[Fact, int]],
) -> None:
    log = History()
    naive = NaiveFleet(salt=FLEET)
    admissions = NaiveAdmissions(naive)
    late = 0
    for fact, after in history:
        # Repairs are proposed meanwhile, which is compared elsewhere.
        naive.number = log.world.decisions
        step = log.add(fact, after=after)
        at = log.events[-1].recorded_at
        naive.add(fact, subject=subject_of(fact), source="test", at=at)

        answers = [said(made) for made in step.decisions if isinstance(made.outcome, Admission)]
        assert [spelled(one) for one in answers] == [one.rows for one in naive.said]
        late += sum(
            int(dict(made.outcome.numbers)["pods"])
            for made in step.decisions
            if isinstance(made.outcome, Incident) and made.outcome.what == "late_confirmation"
        )
        untold = (
            int(dict(numbers)["pods"])
            for one, numbers in log.world.incidents.untold.items()
            if one.what == "late_confirmation"
        )
        assert late + sum(untold) == admissions.late.total()


@long_histories
@given(histories)
def test_rows_add_up_after_every_event(history: list[tuple[Fact, int]]) -> None:
    log = History()
    for fact, after in history:
        log.add(fact, after=after)
        assert differences(log.world) == ()


@long_histories
@given(histories)
def test_what_was_answered_folds_to_the_world_that_answered_and_is_in_its_snapshot(
    history: list[tuple[Fact, int]],
) -> None:
    log = History()
    world = begin(genesis(), incarnation=Incarnation(1))
    for fact, after in history:
        step = log.add(fact, after=after)
        made = [from_record(record(one)) for one in step.decisions]
        world = follow(world, log.events[-1], made)
        assert world == log.world
        assert log.world.admissions.due is None, "an admission is answered or waits to be listed"

    reading = snapshot.Reading()
    for line in snapshot.spell(world):
        reading.take(line)
    assert reading.world() == world
    assert snapshot.digest(world) == snapshot.digest(log.world)


@long_histories
@given(histories)
def test_a_reservation_is_opened_once_and_named_after_its_decision(
    history: list[tuple[Fact, int]],
) -> None:
    log = History()
    opened: dict[str, Decision] = {}
    for fact, after in history:
        for made in log.add(fact, after=after).decisions:
            if not isinstance(made.outcome, Admission) or made.outcome.reservation is None:
                continue
            name = made.outcome.reservation
            if "reinvocation" in made.outcome.flags:
                first = opened[name].outcome
                assert isinstance(first, Admission)
                assert first.capacity_class == made.outcome.capacity_class
            else:
                assert name == f"shop/1/{made.number}"
                opened[name] = made


@long_histories
@given(histories, admissions)
def test_a_dry_run_and_the_same_uid_leave_everything_as_it_is(
    history: list[tuple[Fact, int]], last: AdmissionRequested
) -> None:
    log = History()
    for fact, after in history:
        log.add(fact, after=after)
    fresh = replace(last, uid="fresh", can_list=False)

    before = log.world
    log.add(replace(fresh, dry_run=True))
    templates = log.world.admissions.templates
    answer = [said(made) for made in log.add(replace(fresh, dry_run=False)).decisions]
    again = log.add(replace(fresh, dry_run=False))

    for name in sorted(before.admissions.templates):
        if name in templates:
            assert templates[name] == before.admissions.templates[name]
    assert len(answer) == 1
    assert (again.effect, again.decisions) == ("no_effect", ())


@given(st.integers(1, 12), st.integers(0, 12), st.data())
def test_however_admissions_and_reports_are_mixed_exactly_the_target_is_on_demand(
    count: int, wanted: int, data: st.DataObject
) -> None:
    log = History()
    log.add_all(
        cluster_up("m1"),
        workload_up("shop/web", count, min_available=str(wanted)),
        replicaset_up("m1", "shop", "web-7", ("Deployment", "web"), replicas=count),
    )
    waiting: list[PodObserved] = []
    classes = []
    for place in range(count):
        (made,) = log.add(
            admitted(f"u{place}", "m1", "shop", ("ReplicaSet", "web-7"), "7")
        ).decisions
        answer = said(made)
        classes.append(answer["class"])
        waiting.append(
            pod_seen(
                "m1",
                "shop",
                f"web-7-{place}",
                owner=("ReplicaSet", "web-7"),
                template_hash="7",
                reservation=answer["name"],
            )
        )
        for _ in range(data.draw(st.integers(0, len(waiting)), label="reports")):
            log.add(waiting.pop(data.draw(st.integers(0, len(waiting) - 1), label="whose")))

    due = 1 if count <= 1 else min(wanted, count)
    assert classes.count("od") == due
