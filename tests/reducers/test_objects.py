"""Lives, revisions, tombstones: the rules that hold for every noun alike."""

import pytest

from ledger.facts.cluster import InventoryListed, InventoryNoun, NodeRemoved
from ledger.facts.event import MessageReleased
from ledger.facts.quota import QueueRemoved
from ledger.facts.workload import JobFinished, PodDeleted
from ledger.reducers.objects import Noun, Upsert
from ledger.units import ClusterName, EventType, Microseconds, NodeName, Subject, Uid
from tests.histories import (
    DAY,
    SECOND,
    History,
    cluster_gone,
    cluster_up,
    disk_up,
    finished,
    job_up,
    node_reclaimed,
    node_up,
    pod_seen,
    queue_up,
    replica_failed,
    replica_recovered,
    replicaset_up,
    reschedule,
    volume_up,
    workload_gone,
    workload_up,
)


def in_force(history: History, noun: Noun, subject: str) -> Upsert | None:
    return history.world.objects.fact(noun, Subject(subject))


def queue_gone(name: str, *, uid: str | None = None, revision: int | None = None) -> QueueRemoved:
    return QueueRemoved(name, None if uid is None else Uid(uid), revision)


def test_a_lower_revision_than_the_last_applied_is_stale() -> None:
    history = History()
    history.add(queue_up("q", revision=7))

    step = history.add(queue_up("q", revision=6))

    assert step.effect == "stale"
    assert in_force(history, "queue", "q") == queue_up("q", revision=7)


def test_an_equal_revision_applies() -> None:
    history = History()
    history.add(pod_seen("c", "ns", "p", revision=7))

    assert history.add(pod_seen("c", "ns", "p", revision=7)).effect == "applied"


def test_an_upsert_without_a_revision_applies_and_leaves_the_order_as_it_was() -> None:
    history = History()
    history.add(queue_up("q", revision=7))

    assert history.add(queue_up("q")).effect == "applied"
    assert history.add(queue_up("q", revision=6)).effect == "stale"


def test_each_source_has_an_order_of_its_own() -> None:
    history = History()
    history.add(queue_up("q", revision=7), source="east")

    assert history.add(queue_up("q", revision=1), source="west").effect == "applied"
    assert history.add(queue_up("q", revision=6), source="east").effect == "stale"


def test_the_order_outlives_a_removal() -> None:
    history = History()
    history.add(queue_up("q", revision=7))
    history.add(queue_gone("q", revision=9))

    assert history.add(queue_up("q", revision=8)).effect == "stale"
    assert history.add(queue_up("q", revision=9)).effect == "applied"


def test_a_removal_with_a_lower_revision_is_stale() -> None:
    history = History()
    history.add(queue_up("q", revision=7))

    assert history.add(queue_gone("q", revision=6)).effect == "stale"
    assert in_force(history, "queue", "q") is not None


def test_another_uid_is_another_life_whatever_its_revision() -> None:
    history = History()
    history.add(queue_up("q", uid="one", revision=7))

    step = history.add(queue_up("q", uid="two", revision=1))

    assert step.effect == "applied"
    assert in_force(history, "queue", "q") == queue_up("q", uid="two", revision=1)


def test_whatever_names_the_replaced_uid_is_stale() -> None:
    history = History()
    history.add(workload_up("ns/w", 1, uid="one"))
    history.add(workload_up("ns/w", 1, uid="two"))

    assert history.add(workload_up("ns/w", 5, uid="one", revision=99)).effect == "stale"
    assert history.add(workload_gone("ns/w", uid="one")).effect == "stale"
    assert history.add(reschedule("ns/w", uid="one")).effect == "stale"
    assert in_force(history, "workload", "ns/w") == workload_up("ns/w", 1, uid="two")


def test_a_replaced_uid_stays_dead_for_longer_than_a_tombstone() -> None:
    history = History()
    history.add(queue_up("q", uid="one"))
    history.add(queue_up("q", uid="two"))

    assert history.add(queue_up("q", uid="one"), after=3 * DAY).effect == "stale"


def test_a_uid_that_was_removed_before_its_name_was_taken_is_dead_for_a_day() -> None:
    history = History()
    history.add(queue_up("q", uid="one"))
    history.add(queue_gone("q"))
    history.add(queue_up("q", uid="two"), after=SECOND)

    assert history.add(queue_up("q", uid="one"), after=DAY - SECOND - 1).effect == "stale"
    assert history.add(queue_up("q", uid="one"), after=1).effect == "applied"


def test_a_tombstone_is_forgotten_after_a_day_and_the_order_with_it() -> None:
    history = History()
    history.add(queue_up("q", revision=7))
    history.add(queue_gone("q"))

    assert history.add(queue_up("q", revision=6), after=DAY - 1).effect == "stale"
    assert history.add(queue_up("q", revision=6), after=1).effect == "applied"
    assert not history.world.objects.tombstones


def test_the_tombstone_of_an_earlier_removal_does_not_touch_a_later_one() -> None:
    history = History()
    history.add(queue_up("q", revision=7))
    history.add(queue_gone("q"))
    history.add(queue_up("q"), after=SECOND)
    history.add(queue_gone("q"), after=SECOND)

    assert history.add(queue_up("q", revision=6), after=DAY - SECOND).effect == "stale"
    assert history.add(queue_up("q", revision=6), after=SECOND).effect == "applied"


def test_removing_what_is_not_there_has_no_effect() -> None:
    history = History()

    assert history.add(queue_gone("q")).effect == "no_effect"
    assert history.add(cluster_gone("m1")).effect == "no_effect"
    assert history.add(workload_gone("ns/w")).effect == "no_effect"


def test_removing_twice_has_no_effect_the_second_time() -> None:
    history = History()
    history.add(queue_up("q"))

    assert history.add(queue_gone("q")).effect == "applied"
    assert history.add(queue_gone("q")).effect == "no_effect"


def test_removing_another_life_than_the_one_in_force_has_no_effect() -> None:
    history = History()
    history.add(queue_up("q", uid="one"))

    assert history.add(queue_gone("q", uid="two")).effect == "no_effect"
    assert in_force(history, "queue", "q") is not None


def test_an_event_that_only_names_an_object_needs_it_to_be_there() -> None:
    history = History()
    reclaiming = node_reclaimed("c", "n")

    assert history.add(reclaiming).effect == "no_effect"
    assert history.add(reschedule("ns/w")).effect == "no_effect"
    assert history.add(replica_failed("v-r1")).effect == "no_effect"

    history.add_all(node_up("c", "n"), workload_up("ns/w", 1))

    assert history.add(reclaiming).effect == "applied"
    assert history.add(reschedule("ns/w")).effect == "applied"


def test_an_event_that_only_names_an_object_means_the_life_that_it_says() -> None:
    """What is late of a life that is over says nothing of the one that took its name."""
    history = History()
    first, other, third = "first", "other", "third"
    history.add_all(cluster_up("c"), node_up("c", "n", uid=first), node_up("c", "n", uid=other))
    history.add(disk_up("c", "n", "d"))
    history.add_all(volume_up("v", 1, uid=first), volume_up("v", 1, uid=other))
    before = history.world

    for late, effect in ((first, "stale"), (third, "no_effect")):
        assert history.add(node_reclaimed("c", "n", uid=late)).effect == effect
        assert history.add(replica_failed("v-r1", uid=late)).effect == effect
        assert history.add(replica_failed("v-r1", reusable=True, uid=late)).effect == effect
        assert history.add(replica_recovered("v-r1", uid=late)).effect == effect
    assert history.world.rooms == before.rooms
    assert history.world.disks.volumes == before.disks.volumes

    assert history.add(replica_failed("v-r1", reusable=True, uid=other)).effect == "applied"
    assert history.add(replica_recovered("v-r1", uid=other)).effect == "applied"
    assert history.add(node_reclaimed("c", "n", uid=other)).effect == "applied"


def test_only_a_job_finishes_and_only_tasks_that_it_has() -> None:
    history = History()
    history.add_all(workload_up("ns/web", 2), workload_up("ns/job", 2, kind="Job", queue="q"))

    assert history.add(JobFinished("ns", "web", None, None)).effect == "no_effect"
    assert history.add(JobFinished("ns", "job", None, 2)).effect == "no_effect"
    assert history.add(JobFinished("ns", "job", None, 1)).effect == "applied"
    assert history.add(JobFinished("ns", "job", None, None)).effect == "applied"


def test_with_a_cluster_goes_what_lives_there_and_nothing_else() -> None:
    history = History()
    history.add_all(cluster_up("c"), node_up("c", "n"), disk_up("c", "n", "d"), node_up("d", "n"))
    history.add_all(pod_seen("c", "ns", "p"), pod_seen("d", "ns", "p"), workload_up("ns/w", 1))
    history.add_all(replicaset_up("c", "ns", "r", None), replicaset_up("d", "ns", "r", None))

    history.add(cluster_gone("c"))

    assert in_force(history, "node", "c/n") is None
    assert in_force(history, "disk", "c/n/d") is None
    assert in_force(history, "node", "d/n") is not None
    assert in_force(history, "pod", "c/ns/p") is None
    assert in_force(history, "pod", "d/ns/p") is not None
    assert in_force(history, "replicaset", "c/ns/r") is None
    assert in_force(history, "replicaset", "d/ns/r") is not None
    assert in_force(history, "workload", "ns/w") is not None


def test_what_went_with_a_cluster_leaves_a_tombstone_too() -> None:
    history = History()
    history.add_all(cluster_up("c"), node_up("c", "n", revision=5))
    history.add(cluster_gone("c"))

    assert history.add(node_up("c", "n", revision=4)).effect == "stale"
    assert history.add(node_up("c", "n", revision=5)).effect == "applied"


def test_with_a_node_go_its_disks_only() -> None:
    history = History()
    history.add_all(node_up("c", "n"), disk_up("c", "n", "d"), disk_up("c", "m", "d"))

    history.add(NodeRemoved(ClusterName("c"), NodeName("n"), None, None))

    assert in_force(history, "disk", "c/n/d") is None
    assert in_force(history, "disk", "c/m/d") is not None


def listed(
    noun: InventoryNoun, *keys: str, cluster: str = "c", through: int | None = None
) -> InventoryListed:
    return InventoryListed(
        ClusterName(cluster),
        noun,
        tuple(Subject(key) for key in sorted(keys)),
        None if through is None else Microseconds(through),
    )


def test_what_an_inventory_does_not_list_is_gone() -> None:
    history = History()
    history.add_all(
        pod_seen("c", "ns", "a"),
        pod_seen("c", "ns", "b"),
        pod_seen("d", "ns", "b"),
        node_up("c", "n"),
    )

    assert history.add(listed("pod", "c/ns/a")).effect == "applied"

    assert in_force(history, "pod", "c/ns/a") is not None
    assert in_force(history, "pod", "c/ns/b") is None
    assert in_force(history, "pod", "d/ns/b") is not None
    assert in_force(history, "node", "c/n") is not None


def test_an_inventory_that_finds_everything_there_has_no_effect() -> None:
    history = History()
    history.add(pod_seen("c", "ns", "a"))

    assert history.add(listed("pod", "c/ns/a", "c/ns/never-seen")).effect == "no_effect"


def test_an_inventory_does_not_speak_of_what_was_reported_after_it() -> None:
    history = History()
    history.add(pod_seen("c", "ns", "a"), after=10)
    history.add(pod_seen("c", "ns", "b"), after=10)

    history.add(listed("pod", through=10), after=10)

    assert in_force(history, "pod", "c/ns/a") is None
    assert in_force(history, "pod", "c/ns/b") is not None


@pytest.mark.parametrize(("through", "left"), [(20, "b"), (10, "ab"), (21, "")])
def test_an_inventory_by_a_late_clock_leaves_what_is_gone_and_one_ahead_takes_what_came(
    through: int, left: str
) -> None:
    """The list was made at 20: a had been reported at 11 and was gone, b came and was reported at 21."""
    history = History()
    history.add(pod_seen("c", "ns", "a"), after=11)
    history.add(pod_seen("c", "ns", "b"), after=10)

    history.add(listed("pod", through=through), after=1)

    assert [name for name in "ab" if in_force(history, "pod", f"c/ns/{name}")] == list(left)


def test_a_node_that_an_inventory_misses_takes_its_disks_along() -> None:
    history = History()
    history.add_all(node_up("c", "n"), disk_up("c", "n", "d"))

    history.add(listed("node"))

    assert in_force(history, "disk", "c/n/d") is None


def test_a_deleted_pod_is_gone() -> None:
    history = History()
    history.add(pod_seen("c", "ns", "a"))

    history.add(PodDeleted(ClusterName("c"), "ns", "a", None, None))

    assert in_force(history, "pod", "c/ns/a") is None


def test_a_released_message_happens_as_what_it_said_by_whom_it_was_said() -> None:
    history = History()
    history.add(queue_up("q", revision=7), source="east")
    late = MessageReleased(
        address="ledger.quota/0@12",
        source="east",
        id="4",
        type=EventType("ledger.quota.queue.upserted.v1"),
        subject=Subject("q"),
        fact=queue_up("q", revision=6),
    )

    assert history.add(late, source="ledger/quarantine").effect == "stale"


@pytest.mark.parametrize("uid", [None, "one"])
def test_the_same_life_after_a_removal_is_there_again(uid: str | None) -> None:
    history = History()
    history.add(queue_up("q", uid=uid))
    history.add(queue_gone("q"))

    assert history.add(queue_up("q", uid=uid)).effect == "applied"
    assert in_force(history, "queue", "q") is not None


def test_what_has_happened_already_happens_only_once() -> None:
    log = History()
    log.add_all(cluster_up("m1"), node_up("m1", "n1"), queue_up("q"), job_up("ns/j", 2, "q"))
    log.add(job_up("ns/aside", 2, None))
    for fact in (
        finished("ns/j", 0),
        finished("ns/j"),
        finished("ns/aside", 1),
        finished("ns/aside"),
        node_reclaimed("m1", "n1"),
    ):
        assert [log.add(fact).effect for _ in range(2)] == ["applied", "no_effect"], fact
