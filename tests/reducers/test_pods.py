"""What pods that are seen hold on their nodes, and whose they are taken for."""

from dataclasses import replace

import pytest
from immutables import Map

from ledger.facts.cluster import InventoryNoun, NodeUpserted
from ledger.facts.event import Fact
from ledger.facts.workload import PodObserved, PodPhase, WorkloadUpserted
from ledger.reducers.book import NOTHING_HELD, Held
from ledger.reducers.rooms import free
from ledger.reducers.sightings import NO_PODS
from ledger.units import Subject
from tests.histories import (
    History,
    cluster_up,
    deployed,
    each_takes,
    incident_of,
    job_up,
    listed,
    node_gone,
    node_up,
    on_nodes,
    only,
    pod_gone,
    pod_seen,
    policy,
    queue_up,
    replicaset_up,
    workload_gone,
    workload_up,
)

OWN = each_takes(cpu=500, memory=2, storage=1)
WANTED = each_takes(cpu=700, memory=3)


def fleet() -> History:
    log = History()
    log.add_all(
        cluster_up("m1"),
        node_up("m1", "n1", memory=100, storage=9, pods=10),
        node_up("m1", "n2", memory=100, storage=9),
    )
    return log


def held(log: History, node: str = "n1") -> Held:
    return log.world.book.get(Subject(f"m1/{node}"), NOTHING_HELD)


def amounts(log: History, node: str = "n1") -> tuple[int, int, int, int]:
    return held(log, node)[:4]


def test_a_foreign_pod_holds_what_it_requests_and_a_slot_where_it_is_while_it_is_there() -> None:
    log = fleet()
    assert log.add(pod_seen("m1", "ns", "p", node="n1", request=OWN)).decisions == ()
    assert amounts(log) == (500, 2, 1, 1)
    log.add(pod_seen("m1", "ns", "p", node="n1", request=each_takes(memory=7)))
    assert amounts(log) == (0, 7, 0, 1)
    log.add(pod_seen("m1", "ns", "p", node="n2", request=OWN))
    assert (held(log), amounts(log, "n2")) == (NOTHING_HELD, (500, 2, 1, 1))
    log.add(pod_gone("m1", "ns", "p"))
    assert (log.world.book, log.world.pods) == (Map(), NO_PODS)


def test_a_pod_that_runs_nowhere_or_no_more_holds_nothing() -> None:
    log = fleet()
    log.add(pod_seen("m1", "ns", "p", request=OWN))
    log.add(pod_seen("m1", "ns", "q", node="n1", phase="Succeeded", request=OWN))
    log.add(pod_seen("m1", "ns", "r", node="n1", phase="Failed", request=OWN))
    log.add(pod_seen("m1", "ns", "s", node="n1", terminating=True, request=OWN))
    assert log.world.pods == NO_PODS
    log.add(pod_seen("m1", "ns", "p", node="n1", phase="Pending", request=OWN))
    log.add(pod_seen("m1", "ns", "q", node="n1", phase="Unknown", request=OWN))
    assert amounts(log) == (1000, 4, 2, 2)


def test_another_life_of_a_pod_takes_the_place_of_the_one_before() -> None:
    log = fleet()
    log.add(pod_seen("m1", "ns", "p", uid="one", node="n1", request=OWN))
    log.add(pod_seen("m1", "ns", "p", uid="two", node="n2", request=OWN))
    log.add(pod_seen("m1", "ns", "p", uid="one", node="n1", request=OWN))
    assert (held(log), amounts(log, "n2")) == (NOTHING_HELD, (500, 2, 1, 1))


def test_what_pods_hold_is_free_for_nobody_else() -> None:
    log = fleet()
    log.add(pod_seen("m1", "ns", "p", node="n1", request=OWN))
    nodes = [log.world.objects.fact("node", Subject(f"m1/{name}")) for name in ("n1", "n2")]
    offers = [free(log.world, node) for node in nodes if isinstance(node, NodeUpserted)]
    assert [(offer.cpu, offer.memory, offer.pods) for offer in offers] == [
        (3500, 98, 9),
        (4000, 100, None),
    ]


def test_pods_of_a_workload_whose_nodes_are_decided_hold_its_request_and_contradict_the_book() -> (
    None
):
    log = fleet()
    pod = pod_seen("m1", "ns", "db-0", node="n1", owner=("StatefulSet", "db"), request=OWN)
    log.add(pod)
    assert amounts(log) == (500, 2, 1, 1)

    kept = workload_up("ns/db", 0, kind="StatefulSet", request=WANTED, deploy=deployed())
    found = only(log.add(kept))

    assert amounts(log) == (0, 3, 0, 1), "who is not bound to cores takes no cpu of the book"
    assert (found.subject, found.kind, found.branch) == (
        "ns/db@m1",
        "incident",
        "pods_beyond_instances",
    )
    assert incident_of(found).node == "m1/n1"
    assert dict(incident_of(found).numbers) == {"instances": 0, "pods": 1}

    more = pod_seen("m1", "ns", "db-1", node="n1", owner=("StatefulSet", "db"), request=OWN)
    assert log.add(more).decisions == (), "it lasts, and is known"
    assert amounts(log) == (0, 6, 0, 2)
    bound = each_takes(cpu=1000, bind=True, memory=1)
    log.add(workload_up("ns/db", 0, kind="StatefulSet", request=bound, deploy=deployed()))
    assert amounts(log) == (2000, 2, 0, 2), "as the workload requests by now"
    log.add(workload_gone("ns/db"))
    assert amounts(log) == (1000, 4, 2, 2), "foreign again"
    assert only(log.add(kept)).number == found.number + 1, "it had ended, and begins anew"


def test_an_incident_ends_with_the_last_pod_too_many_and_may_come_back() -> None:
    log = fleet()
    log.add(workload_up("ns/db", 0, kind="StatefulSet", deploy=deployed()))
    pod = pod_seen("m1", "ns", "db-0", node="n1", owner=("StatefulSet", "db"))
    assert only(log.add(pod)).kind == "incident"
    assert log.add(pod_gone("m1", "ns", "db-0")).decisions == ()
    assert only(log.add(pod)).kind == "incident"


def test_tasks_take_cpu_also_where_they_are_bound_to_no_core() -> None:
    log = fleet()
    log.add(workload_up("ns/job", 0, kind="Job", queue="q", request=WANTED))
    log.add(pod_seen("m1", "ns", "job-0", node="n1", owner=("Job", "job"), request=OWN))
    assert amounts(log) == (700, 3, 0, 1)


def test_only_the_kind_of_workload_that_a_pod_names_is_its_own() -> None:
    log = fleet()
    log.add(workload_up("ns/db", 0, kind="Deployment", request=WANTED, deploy=deployed()))
    pod = pod_seen("m1", "ns", "db-0", node="n1", owner=("StatefulSet", "db"), request=OWN)
    assert log.add(pod).decisions == ()
    assert (
        log.add(
            pod_seen("m1", "ns", "db-x", node="n1", owner=("DaemonSet", "db"), request=OWN)
        ).decisions
        == ()
    )
    assert amounts(log) == (1000, 4, 2, 2)


def test_a_replicaset_leads_to_its_deployment_and_is_guessed_until_it_is_known() -> None:
    log = fleet()
    log.add(workload_up("ns/web", 0, request=WANTED, deploy=deployed()))
    log.add(workload_up("ns/api", 0, request=each_takes(memory=5), deploy=deployed()))
    pod = pod_seen(
        *("m1", "ns", "web-7f-x"),
        node="n1",
        owner=("ReplicaSet", "web-7f"),
        template_hash="7f",
        request=OWN,
    )
    assert only(log.add(pod)).subject == "ns/web@m1"
    assert amounts(log) == (0, 3, 0, 1)

    assert only(log.add(replicaset_up("m1", "ns", "web-7f", ("Deployment", "api")))).subject == (
        "ns/api@m1"
    )
    assert amounts(log) == (0, 5, 0, 1)
    log.add(replicaset_up("m1", "ns", "web-7f", None))
    assert amounts(log) == (500, 2, 1, 1), "a bare one belongs to nobody that is decided"
    log.add(listed("m1", "replicaset", []))
    assert amounts(log) == (0, 3, 0, 1), "guessed again"
    log.add(pod_gone("m1", "ns", "web-7f-x"))
    assert log.world.pods == NO_PODS


def test_a_pod_and_a_replicaset_of_one_name_are_two() -> None:
    log = fleet()
    log.add(pod_seen("m1", "ns", "x", node="n1", request=OWN))
    log.add(pod_seen("m1", "ns", "y", node="n1", owner=("ReplicaSet", "x"), request=OWN))
    nouns: list[InventoryNoun] = ["replicaset", "pod"]
    log.add(replicaset_up("m1", "ns", "x", ("Deployment", "x")))
    for noun in nouns:
        log.add(listed("m1", noun, ["ns/y"]))
        assert amounts(log)[3] == (2 if noun == "replicaset" else 1)


def test_what_a_list_does_not_name_is_gone_from_its_node() -> None:
    log = fleet()
    for name in ("p", "q", "r"):
        log.add(pod_seen("m1", "ns", name, node="n1", request=OWN))
    log.add(listed("m1", "pod", ["ns/q"]))
    assert amounts(log) == (500, 2, 1, 1)


def test_pods_may_be_seen_before_their_node_and_contradict_nothing_until_it_is_there() -> None:
    log = History()
    log.add(workload_up("ns/db", 0, kind="StatefulSet", request=WANTED, deploy=deployed()))
    pod = pod_seen("m1", "ns", "db-0", node="n1", owner=("StatefulSet", "db"), request=OWN)
    assert log.add(pod).decisions == ()
    found = log.add(node_up("m1", "n1", memory=2)).decisions
    assert [made.branch for made in found] == ["over_committed", "pods_beyond_instances"]
    assert log.add(node_gone("m1", "n1")).decisions == ()
    assert amounts(log) == (0, 3, 0, 1)
    assert len(log.add(node_up("m1", "n1", memory=9)).decisions) == 1


def test_under_hold_nothing_is_recorded_and_afterwards_what_is_still_so() -> None:
    log = fleet()
    log.add(policy({"hold": True}))
    log.add(workload_up("ns/db", 0, kind="StatefulSet", deploy=deployed()))
    for name in ("db-0", "db-1", "db-2"):
        node = "n2" if name == "db-2" else "n1"
        assert (
            log.add(pod_seen("m1", "ns", name, node=node, owner=("StatefulSet", "db"))).decisions
            == ()
        )
    log.add(pod_gone("m1", "ns", "db-2"))
    found = only(log.add(policy({"hold": False})))
    assert (incident_of(found).node, dict(incident_of(found).numbers)) == (
        "m1/n1",
        {"instances": 0, "pods": 2},
    )


def with_instances(replicas: int, pods: int, *, node: str = "n1") -> History:
    """A set whose instances are all on one node, and as many pods of it seen there."""
    log = fleet()
    other = {"n1": "n2", "n2": "n1"}[node]
    log.add(node_up("m1", other, memory=100, schedulable=False))
    log.add(database(replicas))
    for place in range(pods):
        log.add(database_pod(place, node=node))
    return log


def database(replicas: int) -> WorkloadUpserted:
    return workload_up(
        "ns/db", replicas, cluster="m1", kind="StatefulSet", request=WANTED, deploy=deployed()
    )


def database_pod(
    place: int, *, node: str = "n1", phase: PodPhase = "Running", terminating: bool = False
) -> PodObserved:
    return pod_seen(
        *("m1", "ns", f"db-{place}"),
        node=node,
        owner=("StatefulSet", "db"),
        phase=phase,
        terminating=terminating,
        request=OWN,
    )


def test_pods_of_instances_hold_nothing_beside_them() -> None:
    log = with_instances(3, 3)
    assert amounts(log) == (0, 9, 0, 3)
    assert all(made.kind != "incident" for step in log.steps for made in step.decisions)
    found = only(log.add(database_pod(3)))
    assert amounts(log) == (0, 12, 0, 4)
    assert dict(incident_of(found).numbers) == {"instances": 3, "pods": 4}
    assert found.previous == 0, "the deployment that it contradicts"


def test_giving_up_instances_marks_as_many_pods_the_last_by_name() -> None:
    log = with_instances(3, 3)
    step = log.add(database(1))
    assert [made.kind for made in step.decisions] == ["deployment"]
    assert amounts(log) == (0, 3, 0, 1)
    assert sorted(log.world.pods.given_up) == ["m1/ns/db-1", "m1/ns/db-2"]
    assert log.add(database_pod(2)).decisions == (), "seen again, and given up all the same"
    assert amounts(log) == (0, 3, 0, 1)
    log.add(pod_gone("m1", "ns", "db-2"))
    assert only(log.add(database_pod(2))).kind == "incident", "another pod of the same name"
    log.add(database(0))
    log.add_all(*(pod_gone("m1", "ns", f"db-{place}") for place in range(3)))
    assert log.world.pods == NO_PODS


def test_a_decision_of_the_same_event_that_places_what_is_seen_is_no_contradiction() -> None:
    log = fleet()
    log.add(policy({"hold": True}))
    log.add(node_up("m1", "n2", memory=100, schedulable=False))
    log.add_all(database(2), database_pod(0), database_pod(1))
    step = log.add(policy({"hold": False}))
    assert [made.kind for made in step.decisions] == ["deployment"]


def test_a_workload_that_is_removed_leaves_pods_that_were_given_up() -> None:
    log = with_instances(2, 2)
    log.add(workload_gone("ns/db"))
    assert held(log) == NOTHING_HELD
    assert len(log.world.pods.given_up) == 2


def test_what_a_node_that_is_gone_lost_is_held_by_its_pods_if_it_comes_back() -> None:
    log = with_instances(1, 1)
    assert all(made.kind != "incident" for made in log.add(node_gone("m1", "n1")).decisions)
    found = log.add(node_up("m1", "n1", memory=100)).decisions
    assert [made.branch for made in found if made.kind == "incident"] == []
    assert amounts(log) == (0, 3, 0, 1), "the instance is back, and the pod is its own"


def test_an_instance_on_a_node_that_is_not_ready_is_lost_and_its_pod_contradicts_the_book() -> None:
    log = with_instances(1, 1)
    step = log.add(node_up("m1", "n1", memory=100, storage=9, pods=10, ready=False))
    assert [made.kind for made in step.decisions] == ["refusal", "incident"]
    assert amounts(log) == (0, 3, 0, 1)


def test_what_an_event_ends_and_brings_back_has_lasted() -> None:
    log = with_instances(2, 2)
    small = node_up("m1", "n1", memory=5, storage=9, pods=10)
    assert only(log.add(small)).branch == "over_committed"
    # The instances are lost, so the node is large enough, but for the pods that are still there.
    step = log.add(replace(small, ready=False))
    assert [made.branch for made in step.decisions] == ["refused", "pods_beyond_instances"]
    log.add(pod_gone("m1", "ns", "db-0"))
    assert only(log.add(database_pod(0))).branch == "over_committed", "it had ended"


@pytest.mark.parametrize("ending", ["gone", "terminating", "failed", "not listed", "another life"])
def test_a_cordoned_node_loses_an_instance_with_a_pod(ending: str) -> None:
    log = with_instances(3, 3)
    log.add(node_up("m1", "n1", memory=100, storage=9, schedulable=False))
    endings: dict[str, Fact] = {
        "gone": pod_gone("m1", "ns", "db-0"),
        "terminating": database_pod(0, terminating=True),
        "failed": database_pod(0, phase="Failed"),
        "not listed": listed("m1", "pod", ["ns/db-1", "ns/db-2"]),
        "another life": pod_seen("m1", "ns", "db-0", uid="other", node="n2"),
    }
    step = log.add(endings[ending])
    assert [made.kind for made in step.decisions] == ["refusal"]
    assert on_nodes(log.world, "ns/db@m1") == {"n1": [1, 2]}, "the one whose pod it was"
    assert amounts(log) == (0, 6, 0, 2)
    # A pod that was dying before takes nobody with it when it is gone.
    log.add(pod_gone("m1", "ns", "db-0"))
    assert on_nodes(log.world, "ns/db@m1") == {"n1": [1, 2]}


@pytest.mark.parametrize("ending", ["gone", "terminating", "failed"])
def test_a_pod_that_ended_before_its_node_was_cordoned_takes_an_instance_with_it(
    ending: str,
) -> None:
    log = with_instances(3, 3)
    endings: dict[str, Fact] = {
        "gone": pod_gone("m1", "ns", "db-0"),
        "terminating": database_pod(0, terminating=True),
        "failed": database_pod(0, phase="Failed"),
    }
    assert log.add(endings[ending]).decisions == ()
    assert on_nodes(log.world, "ns/db@m1") == {"n1": [0, 1, 2]}
    cordoned = node_up("m1", "n1", memory=100, storage=9, schedulable=False)
    assert [made.kind for made in log.add(cordoned).decisions] == ["refusal"]
    assert on_nodes(log.world, "ns/db@m1") == {"n1": [1, 2]}, "the one whose pod it was"
    log.add_all(cordoned, pod_gone("m1", "ns", "db-0"), cordoned)
    assert on_nodes(log.world, "ns/db@m1") == {"n1": [1, 2]}, "it has ended already"
    log.add_all(pod_gone("m1", "ns", "db-1"), pod_gone("m1", "ns", "db-2"))
    assert on_nodes(log.world, "ns/db@m1") == {}


def test_a_cordon_keeps_an_instance_whose_pod_was_never_seen_or_has_come_again() -> None:
    log = with_instances(3, 0)
    cordoned = node_up("m1", "n1", memory=100, storage=9, schedulable=False)
    log.add(cordoned)
    assert on_nodes(log.world, "ns/db@m1") == {"n1": [0, 1, 2]}
    log = with_instances(3, 3)
    log.add_all(pod_gone("m1", "ns", "db-1"), database_pod(1), cordoned)
    assert on_nodes(log.world, "ns/db@m1") == {"n1": [0, 1, 2]}


def test_an_instance_that_was_given_up_is_not_missed_when_another_comes() -> None:
    log = with_instances(2, 2)
    log.add_all(pod_gone("m1", "ns", "db-1"), database(0), database(2))
    assert log.world.pods.missing == Map()
    log.add(node_up("m1", "n1", memory=100, storage=9, schedulable=False))
    assert on_nodes(log.world, "ns/db@m1") == {"n1": [0, 1]}


def test_a_cordoned_node_keeps_a_task_whose_pod_is_gone() -> None:
    log = History()
    log.add_all(cluster_up("m1"), node_up("m1", "n1", cpu=4000), queue_up("q"))
    log.add_all(policy({"round.max_events": 1}), job_up("ns/j", 2, "q"))
    log.add(pod_seen("m1", "ns", "j-0", owner=("Job", "j"), node="n1"))
    log.add(node_up("m1", "n1", cpu=4000, schedulable=False))
    assert log.add(pod_gone("m1", "ns", "j-0")).released == ()
    assert sorted(log.world.jobs.of[Subject("ns/j")].running) == [0, 1]


def test_a_node_that_takes_new_work_loses_nothing_with_a_pod() -> None:
    log = with_instances(3, 3)
    assert log.add(pod_gone("m1", "ns", "db-0")).decisions == ()
    assert on_nodes(log.world, "ns/db@m1") == {"n1": [0, 1, 2]}
    assert amounts(log) == (0, 9, 0, 3)


def test_a_pod_too_many_or_given_up_takes_no_instance_with_it() -> None:
    log = with_instances(2, 3)
    log.add(node_up("m1", "n1", memory=100, storage=9, schedulable=False))
    log.add(pod_gone("m1", "ns", "db-1"))
    assert on_nodes(log.world, "ns/db@m1") == {"n1": [0, 1]}
    log.add(database(1))
    assert on_nodes(log.world, "ns/db@m1") == {"n1": [0]}
    log.add(pod_gone("m1", "ns", "db-2"))
    assert on_nodes(log.world, "ns/db@m1") == {"n1": [0]}


def test_a_pod_of_another_kind_takes_no_instance_with_it() -> None:
    log = with_instances(1, 0)
    log.add(node_up("m1", "n1", memory=100, storage=9, schedulable=False))
    log.add(pod_seen("m1", "ns", "db-x", owner=("Deployment", "db"), node="n1"))
    log.add(pod_gone("m1", "ns", "db-x"))
    assert on_nodes(log.world, "ns/db@m1") == {"n1": [0]}


def test_foreign_pods_of_one_owner_may_go_at_once() -> None:
    log = fleet()
    for name in ("x-1", "x-2"):
        log.add(pod_seen("m1", "ns", name, owner=("Deployment", "x"), node="n1", request=OWN))
    assert amounts(log) == (1000, 4, 2, 2)
    log.add(listed("m1", "pod", []))
    assert log.world.book == Map()


def test_with_the_tasks_of_what_was_a_job_no_pods_of_another_kind_are_given_up() -> None:
    log = fleet()
    log.add_all(policy({"round.max_events": 1, "round.max_milliseconds": 0}), queue_up("q"))
    log.add_all(
        replicaset_up("m1", "ns", "b-h", ("Deployment", "b")),
        pod_seen("m1", "ns", "b-h-x", owner=("ReplicaSet", "b-h"), node="n1", request=OWN),
    )
    log.add(job_up("ns/b", 1, "q"))
    assert list(log.world.jobs.of[Subject("ns/b")].running) == [0]

    edited = workload_up("ns/b", 0, cluster="m1", deploy=deployed(), request=WANTED)
    (found,) = log.add(edited).decisions

    assert incident_of(found).numbers == (("instances", 0), ("pods", 1))
    assert not log.world.pods.given_up
    assert amounts(log) == (0, 3, 0, 1)


def test_of_two_kinds_of_pods_no_more_are_given_up_than_there_were_places() -> None:
    log = History()
    log.add_all(cluster_up("m1"), node_up("m1", "n1", memory=9))
    log.add(pod_seen("m1", "ns", "d-0", owner=("Deployment", "d"), node="n1"))
    one = workload_up("ns/d", 1, cluster="m1", kind="StatefulSet", deploy=deployed())
    log.add_all(one, pod_seen("m1", "ns", "d-1", owner=("StatefulSet", "d"), node="n1"))
    log.add(workload_gone("ns/d"))
    assert list(log.world.pods.given_up) == ["m1/ns/d-1"]
