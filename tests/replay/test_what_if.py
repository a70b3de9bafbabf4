"""A branch is what deciding the altered log from its beginning would have come to, and touches nothing else."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest

from ledger.errors import AlgorithmMissing, InvalidRequest
from ledger.facts import algorithms
from ledger.facts.cluster import InventoryListed
from ledger.facts.decision import Decision, record
from ledger.facts.policy import History as Past
from ledger.facts.policy import Policy
from ledger.reducers.conservation import differences
from ledger.reducers.world import World
from ledger.replay.what_if.branch import Course, Place, begun
from ledger.replay.what_if.comparison import Comparison
from ledger.replay.what_if.measures import all_places, measured
from ledger.replay.what_if.question import (
    Question,
    additions,
    leaving,
    policy_change,
    settle,
    weighing,
)
from ledger.units import Milliseconds, Position, Subject
from tests.histories import (
    FLEET,
    SECOND,
    History,
    cluster_up,
    deployed,
    disk_up,
    divided,
    job_up,
    listed,
    node_up,
    pod_gone,
    pod_seen,
    policy,
    queue_up,
    replica_failed,
    volume_up,
    workload_gone,
    workload_up,
)
from tests.scenarios.page import lived

PAGES = sorted((Path(__file__).parents[1] / "scenarios").glob("*.txt"), key=lambda page: page.name)

POLICIES: tuple[dict[str, Any], ...] = (
    {},
    {"division": {"inertia": "seed"}},
    {"disk": {"alpha": "0", "scope": "candidates"}},
    {"fairshare": {"preempt": True, "reclaim": True}},
    {"round": {"max_events": 3, "max_milliseconds": 0}},
    {"grace": {"node_ms": 5000, "cluster_ms": 5000}},
    {"spot": {"strictness": "strict", "default_min_available": "50%"}},
    {"hold": True},
)


def asked(history: History, question: Question) -> tuple[Course, Comparison]:
    """Both courses of a history, to their end."""
    course = begun(question, History().world.genesis)
    comparison = Comparison()
    for event, step in zip(history.events, history.steps, strict=True):
        for moment in course.take(event, step.decisions):
            comparison.add(*moment)
    for moment in course.end():
        comparison.add(*moment)
    comparison.sample(Place(len(history.events)), measured(course.log), measured(course.branch))
    comparison.end(all_places(course.log), all_places(course.branch))
    return course, comparison


def would_be(history: History, question: Question) -> list[Decision]:
    """What the branch decides."""
    course = begun(question, History().world.genesis)
    made: list[Decision] = []
    for event, step in zip(history.events, history.steps, strict=True):
        for moment in course.take(event, step.decisions):
            made += moment.would_be
    for moment in course.end():
        made += moment.would_be
    return made


def told(**settings: object) -> Question:
    return Question(policy=policy_change(FLEET, settings))


def places(world: World) -> Mapping[str, Mapping[str, int]]:
    return {kept.subject: there for kept, there in all_places(world).items()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_in_every_story_a_branch_keeps_its_book_and_the_log_stays_as_it_was(page: Path) -> None:
    history = lived(page.read_text(encoding="utf-8"))
    size = len(history.events)
    luck = Random(page.stem)
    for _ in range(4):
        first = luck.choice([0, luck.randint(0, size)])
        there = range(first, size)
        out = luck.sample(there, min(len(there), luck.randint(0, 2)))
        question = Question(
            first=Position(first),
            policy=policy_change(FLEET, luck.choice(POLICIES)),
            without=tuple(leaving(str(position)) for position in out),
            ask_again=first > 0 and luck.random() < 0.5,
        )

        course, comparison = asked(history, question)

        assert list(differences(course.branch)) == []
        assert course.log == history.world
        assert course.left_out == len(out)
        assert comparison.was.decisions == sum(len(step.decisions) for step in history.steps)


def test_where_nothing_is_otherwise_everything_is_the_same() -> None:
    for page in PAGES[::6]:
        history = lived(page.read_text(encoding="utf-8"))

        # What the fleet begins with is said again, which makes the branch decide for itself.
        course, comparison = asked(history, Question())
        again, repeated = asked(history, told(retry={"max_subjects": 64}))

        assert comparison.same
        if not any("policy" in line for line in page.read_text().splitlines()):
            assert repeated.same
            assert again.branch == course.log == history.world


def test_a_branch_is_the_altered_log_decided_from_its_beginning() -> None:
    history = History()
    history.add_all(cluster_up("eu"), cluster_up("us"), cluster_up("ap"))
    for replicas in (7, 8, 9, 5):
        history.add(workload_up("shop/cart", replicas, divided({"eu": 2, "us": 1, "ap": 1})))

    branch = would_be(
        history, Question(weights=(weighing("shop/cart:eu=5,us=2"),), without=(leaving("5"),))
    )

    altered = History()
    altered.add_all(cluster_up("eu"), cluster_up("us"), cluster_up("ap"))
    for replicas in (7, 8, 5):
        altered.add(workload_up("shop/cart", replicas, divided({"eu": 5, "us": 2, "ap": 1})))
    expected = [one for step in altered.steps for one in step.decisions]
    assert list(map(record, branch)) == list(map(record, expected))


def test_a_setting_holds_although_the_log_changes_it() -> None:
    history = History()
    history.add(policy({"division.inertia": "seed"}))
    history.add_all(cluster_up("eu"), cluster_up("us"))
    history.add(policy({"division": None}))
    history.add(policy({"division.inertia": "seed", "hold": False}))

    course, _ = asked(history, told(division={"inertia": "minimal"}))

    assert course.log.policy.division.inertia == "seed"
    assert course.branch.policy.division.inertia == "minimal"


@pytest.mark.parametrize(
    ("told", "first", "code"),
    [
        ("shop/nobody:a=3", 0, "unknown_workload"),
        ("shop/all:a=3", 0, "unknown_workload"),
        ("shop/gone:a=3", 6, "unknown_workload"),
        ("*:c=3", 0, "unknown_workload"),
        ("queue:none=3", 0, "unknown_queue"),
        ("quota:ml/none=3", 0, "unknown_quota"),
        ("shop/web:mars=3", 0, "unknown_cluster"),
        ("shop/web:mars=3", 7, "unknown_cluster"),
        ("shop/web:a=3", 7, None),
        ("shop/gone:b=3", 0, None),
        ("*:b=3", 7, None),
        ("queue:gold=3", 0, None),
        ("queue:gold=3", 7, None),
    ],
)
def test_weights_that_nobody_has_are_refused(told: str, first: int, code: str | None) -> None:
    history = History()
    history.add_all(cluster_up("a"), cluster_up("b"), queue_up("gold"))
    history.add(workload_up("shop/web", 4, divided({"a": 1, "b": 1})))
    history.add(workload_up("shop/gone", 4, divided({"a": 1})))
    history.add(workload_gone("shop/gone"))
    history.add(workload_up("shop/all", 4))
    question = Question(first=Position(first), weights=(weighing(told),))

    if code is None:
        asked(history, question)
    else:
        with pytest.raises(InvalidRequest, match=f"^{code}: "):
            asked(history, question)


def test_from_a_position_on_only_what_follows_is_decided_otherwise() -> None:
    history = History()
    history.add_all(cluster_up("a"), cluster_up("b"))
    history.add(workload_up("shop/web", 4, divided({"a": 1, "b": 1})))
    history.add(workload_up("shop/api", 4, divided({"a": 1, "b": 1})))

    _, comparison = asked(history, Question(first=Position(3), weights=(weighing("*:a=3"),)))

    # The one that is there is told its other weights, the one that comes later brings them.
    assert [(one.place, one.subject) for one in comparison.others] == [
        (Place(2, 1), "shop/web"),
        (Place(3), "shop/api"),
    ]
    assert [one.would_be for one in comparison.elsewhere] == [{"a": 3, "b": 1}] * 2
    assert [one.moves for one in comparison.elsewhere] == [1, 1]
    assert comparison.would_be.moved["division"] == 1


def test_everything_is_asked_again_only_where_that_is_asked_for() -> None:
    history = History()
    history.add_all(cluster_up("c"), node_up("c", "n1"), node_up("c", "n2"))
    history.add_all(disk_up("c", "n1", "d", maximum=100), disk_up("c", "n2", "d", maximum=1000))
    history.add_all(
        volume_up("v1", 1, size=40), volume_up("v2", 1, size=40), volume_up("v3", 1, size=40)
    )
    policy_ = policy_change(FLEET, {"disk": {"alpha": "0", "scope": "candidates"}})

    left, same = asked(history, Question(first=Position(8), policy=policy_))
    again, other = asked(history, Question(first=Position(8), policy=policy_, ask_again=True))

    assert same.same
    assert places(left.branch) == places(left.log)
    assert other.would_be.by_kind["disk_placement"] > other.was.by_kind["disk_placement"]
    assert sum(len(there) for there in places(again.branch).values()) == 3
    assert list(differences(again.branch)) == []


def two_nodes() -> History:
    """A workload with an instance on each of them."""
    history = History()
    history.add_all(cluster_up("c"), node_up("c", "n1", cpu=4000), node_up("c", "n2", cpu=4000))
    history.add(workload_up("shop/web", 2, cluster="c", deploy=deployed("AUTO")))
    return history


def test_pods_of_instances_that_are_elsewhere_say_nothing_and_are_counted() -> None:
    history = two_nodes()
    for name, where in (("web-a", "n1"), ("web-b", "n2")):
        history.add(pod_seen("c", "shop", name, node=where, owner=("Deployment", "web")))
    history.add(pod_gone("c", "shop", "web-a"))

    course, _ = asked(history, Question(without=(leaving("1"),)))

    # Without n1 both instances are on n2 in the branch, and one on each in the log.
    assert places(course.log)["shop/web@c"] == {"c/n1": 1, "c/n2": 1}
    assert places(course.branch)["shop/web@c"] == {"c/n2": 2}
    assert course.ignored == {"pods": 3}
    assert not course.branch.incidents.told


def test_a_full_list_leaves_pods_of_instances_that_are_elsewhere_as_they_were() -> None:
    history = two_nodes()
    for name, where in (("web-a", "n1"), ("web-b", "n2")):
        history.add(pod_seen("c", "shop", name, node=where, owner=("Deployment", "web")))
    history.add(workload_up("shop/web", 1, cluster="c", deploy=deployed("AUTO")))
    history.add(listed("c", "pod", []))

    course, _ = asked(history, Question(without=(leaving("6"),)))

    left = [
        key
        for key in ("c/shop/web-a", "c/shop/web-b")
        if course.branch.objects.fact("pod", Subject(key)) is not None
    ]
    assert isinstance(history.events[-1].fact, InventoryListed)
    assert len(left) == 1, "where the log has as many instances as the branch, the list is heard"
    assert course.ignored == {"pods": 1}


def test_a_replica_that_is_on_another_disk_did_not_fail_there() -> None:
    history = History()
    history.add_all(cluster_up("c"), node_up("c", "n1"), node_up("c", "n2"))
    history.add_all(disk_up("c", "n1", "d", maximum=100), disk_up("c", "n2", "d", maximum=1000))
    history.add(volume_up("v", 1, size=10))
    (there,) = places(history.world)["v"]
    position = 3 if there == "c/n1/d" else 4
    history.add(replica_failed("v-r1", reusable=False))

    course, _ = asked(history, Question(without=(leaving(str(position)),)))

    assert course.ignored == {"replicas": 1}
    volume = Subject("v")
    assert course.branch.disks.volumes[volume].used == 1
    assert course.log.disks.volumes[volume].used == 2


LINE: dict[str, Any] = {
    "specversion": "1.0",
    "type": "ledger.cluster.cluster.removed.v1",
    "source": "/tests",
    "id": "gone",
    "subject": "us",
    "fleet": FLEET,
    "data": {"name": "us"},
}


def line(**changes: object) -> bytes:
    return orjson.dumps(
        {key: value for key, value in (LINE | changes).items() if value is not None}
    )


def test_an_event_that_is_put_in_stands_where_it_is_told_or_where_its_time_says() -> None:
    history = History()
    history.add_all(cluster_up("eu"), cluster_up("us"))
    for replicas in (2, 4, 6):
        history.add(workload_up("shop/cart", replicas, divided()), after=SECOND)

    for added in (
        additions([line()], FLEET, before=Position(3)),
        additions([b"\n", line(time="1970-01-01T00:00:01Z")], FLEET, before=None),
    ):
        course, comparison = asked(history, Question(added=added))

        assert course.put_in == 1
        assert [one.place for one in comparison.others] == [Place(2, 1), Place(3), Place(4)]
        assert places(course.branch)["shop/cart"] == {"eu": 6}
        assert course.branch.position == course.log.position + 1


def test_one_with_no_place_behind_the_last_event_is_put_in_in_the_end() -> None:
    history = History()
    history.add_all(cluster_up("eu"), cluster_up("us"))

    course, _ = asked(
        history, Question(added=additions([line(time="2030-01-01T00:00:00Z")], FLEET, before=None))
    )

    assert sorted(course.branch.clusters) == ["eu"]
    assert sorted(course.log.clusters) == ["eu", "us"]


def test_an_approval_means_the_proposal_with_these_moves_whatever_its_number() -> None:
    page = (PAGES[0].parent / "proposals-of-disks.txt").read_text(encoding="utf-8")
    history = lived(page)
    approvals = [
        event for event in history.events if type(event.fact).__name__ == "ProposalApproved"
    ]
    assert approvals

    # A workload more makes one decision more, and every number behind it another one.
    more = additions([cluster("zz"), workload("x/y", "zz")], FLEET, before=Position(0))
    course, comparison = asked(history, Question(added=more))

    assert comparison.anew == 1
    assert comparison.other.total() == 1
    assert places(course.branch) == {**places(course.log), "x/y": {"zz": 1}}


def cluster(name: str) -> bytes:
    return line(
        type="ledger.cluster.cluster.upserted.v1", subject=name, id=name, data={"name": name}
    )


def workload(key: str, where: str) -> bytes:
    namespace, name = key.split("/")
    data = {"namespace": namespace, "name": name, "uid": key, "kind": "Deployment", "replicas": 1}
    data["division"] = {"strategy": "static", "weights": {where: 1}}
    return line(type="ledger.workload.workload.upserted.v1", subject=key, id=key, data=data)


@pytest.mark.parametrize(
    ("question", "code"),
    [
        (lambda: Question(without=(leaving("9"),)), "unknown_event"),
        (lambda: Question(without=(leaving("/nobody/x"),)), "unknown_event"),
        (lambda: Question(first=Position(1), without=(leaving("0"),)), "invalid_event"),
        (lambda: Question(first=Position(7)), "invalid_moment"),
        (lambda: Question(added=additions([line()], FLEET, before=Position(7))), "invalid_moment"),
        (lambda: Question(added=additions([line()], FLEET, before=None)), "time_required"),
        (lambda: Question(added=additions([b"{"], FLEET, before=None)), "not_json"),
        (lambda: told(division={"inertia": "most"}), "wrong_field"),
        (lambda: told(devision={"inertia": "seed"}), "unknown_setting"),
        (lambda: told(division={"kapa": "1/2"}), "unknown_setting"),
        (lambda: told(salt="other"), "salt_not_first"),
        (lambda: settle({}, ["division.inertia"]), "invalid_setting"),
        (lambda: settle({"hold": True}, ["hold.what=1"]), "invalid_setting"),
        (lambda: settle({}, ["disk.alpha=1/2", "disk.alpha=0"]), "invalid_setting"),
        (lambda: settle({}, ["disk.alpha=0", "hold=true", "disk.alpha=0"]), "invalid_setting"),
        (lambda: settle({}, ["disk.alpha=0", 'disk={"alpha": "1/2"}']), "invalid_setting"),
        (lambda: settle({}, ['disk={"alpha": "1/2"}', "disk.alpha=0"]), "invalid_setting"),
        (lambda: weighing("shop/cart:eu"), "invalid_weights"),
        (lambda: weighing("cart:eu=1"), "invalid_weights"),
        (lambda: weighing("shop/cart:eu=2,eu=5"), "invalid_weights"),
        (lambda: weighing("queue:gold=0"), "invalid_weights"),
        (lambda: leaving("5..3"), "invalid_event"),
        (lambda: leaving("five"), "invalid_event"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(question: Any, code: str) -> None:
    history = History()
    history.add_all(cluster_up("eu"), cluster_up("us"))

    with pytest.raises(InvalidRequest) as refused:
        asked(history, question())

    assert refused.value.code == code


def test_a_version_that_this_program_does_not_have_is_said() -> None:
    history = History()
    history.add(cluster_up("eu"))
    history.add(workload_up("shop/cart", 2, divided()))

    algorithms.bring("division", 77)

    with pytest.raises(AlgorithmMissing):
        asked(history, told(algorithms={"division": 77}))


def test_a_section_that_is_as_by_default_stays_so_whatever_the_log_says_of_its_settings() -> None:
    history = History()
    history.add(policy({"fairshare.history.decay": Fraction(1, 2), "grace.node_ms": 5}))
    history.add(policy({"fairshare.history.past_weight": Fraction(2), "hold": True}))

    off, _ = asked(history, told(fairshare={"history": None}, grace=None))
    other, _ = asked(history, told(fairshare={"history": {"decay": "1/3"}}))

    assert off.branch.policy == replace(Policy(), hold=True)
    assert other.branch.policy.fairshare.history == Past(
        Milliseconds(60_000), Fraction(1, 3), Fraction(2)
    )


def test_a_setting_of_the_history_is_set_by_its_path() -> None:
    settings: dict[str, Any] = {}
    settle(settings, ["fairshare.history.decay=1/2", "fairshare.history.entry_penalty=null"])

    assert dict(policy_change(FLEET, settings)) == {
        "fairshare.history.decay": Fraction(1, 2),
        "fairshare.history.entry_penalty": None,
    }
    assert policy_change(FLEET, {"fairshare": {"history": {}}}) == (("fairshare.history", True),)


def test_settings_are_read_as_json_or_as_text() -> None:
    settings: dict[str, Any] = {"disk": {"alpha": 0}}
    settle(
        settings,
        ["hold=false", "disk.alpha=1/2", "fairshare.voters.preempt=[]", "grace.node_ms=5"],
    )

    change = dict(policy_change(FLEET, settings))

    assert change == {
        "hold": False,
        "disk.alpha": Fraction(1, 2),
        "fairshare.voters.preempt": (),
        "grace.node_ms": 5,
    }


def test_queues_and_quotas_get_other_weights_too() -> None:
    history = History()
    history.add_all(
        cluster_up("c"), node_up("c", "n1", cpu=8000), queue_up("gold"), queue_up("tin")
    )
    history.add_all(job_up("a/x", 8, "gold"), job_up("b/y", 8, "tin"))
    history.wait(5 * SECOND)

    course, _ = asked(history, Question(weights=(weighing("queue:gold=3"),)))

    def held(world: World) -> list[int]:
        return [len(world.jobs.of[job].running) for job in sorted(world.jobs.of)]

    assert held(course.log) == [4, 4]
    assert held(course.branch) == [6, 2]


def test_measures_are_exact_and_say_nothing_where_there_is_nothing() -> None:
    history = History()
    nothing = measured(history.world)
    history.add_all(cluster_up("a"), cluster_up("b"), node_up("a", "n1"), node_up("a", "n2"))
    history.add(workload_up("shop/web", 3, divided({"a": 2, "b": 1})))
    history.add_all(
        disk_up("a", "n1", "d", maximum=100),
        disk_up("a", "n2", "d", maximum=400),
        volume_up("v", 2, size=20),
    )

    found = measured(history.world)

    assert nothing.cluster_spread is None
    assert nothing.disk_use_spread is None
    assert nothing.on_demand is None
    assert nothing.least_served is None
    assert found.cluster_spread == Fraction((2 - 1) * 2, 3)
    assert found.disk_spread == 0
    assert found.disk_use_spread == Fraction(20, 100) - Fraction(20, 400)
