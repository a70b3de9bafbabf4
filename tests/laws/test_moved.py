"""What decisions say of places adds up, however a loss is made up for.

A loss counts as moved once whatever was lost is somewhere else, so it does not matter by how many
decisions that comes; and whoever adds up what came to a node and left it knows what is there.
"""

from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.decisions.step import Step
from ledger.facts.deployment import Deployment
from ledger.facts.event import Fact
from ledger.facts.workload import WorkloadRemoved
from ledger.reducers.instances import workload_of
from ledger.reducers.world import World
from ledger.units import Subject
from tests.histories import (
    History,
    cluster_gone,
    cluster_up,
    deployed,
    disk_gone,
    disk_up,
    each_takes,
    job_up,
    node_gone,
    node_up,
    policy,
    queue_up,
    volume_up,
    workload_up,
)
from tests.laws.crowded_histories import Happening, history, with_jobs, with_sets

EVENTS = 220

Rooms = list[int]

rooms: st.SearchStrategy[Rooms] = st.lists(st.integers(0, 4), min_size=1, max_size=5)
"""For how many there is room on each node: on one that stays, then on those that come."""


def moved_in(facts: list[Fact], kind: str) -> int:
    """How much decisions of a kind say together that they moved."""
    log = History()
    steps = [log.add(fact) for fact in facts]
    return sum(made.moved for step in steps for made in step.decisions if made.kind == kind)


@given(rooms)
def test_lost_instances_count_once_however_they_are_replaced(room: Rooms) -> None:
    lost, more = sum(room), 2
    web = workload_up("ns/web", lost, cluster="m1", deploy=deployed(), request=each_takes(memory=1))
    grown = workload_up(
        "ns/web", lost + more, cluster="m1", deploy=deployed(), request=each_takes(memory=1)
    )
    coming = [node_up("m1", f"n{place}", memory=free) for place, free in enumerate(room)]
    facts: list[Fact] = [
        cluster_up("m1"),
        node_up("m1", "gone", memory=lost),
        web,
        coming[0],
        node_gone("m1", "gone"),
        *coming[1:2],
        # What is new has not moved, even while others wait.
        grown,
        *coming[2:],
        node_up("m1", "last", memory=more),
    ]

    assert moved_in(facts, "deployment") == lost


@given(rooms)
def test_lost_replicas_count_once_however_they_are_replaced(room: Rooms) -> None:
    lost = sum(room)
    apart = policy({"disk.node_soft": True, "disk.disk_soft": True})

    def disk(node: str, replicas: int) -> Fact:
        return disk_up("m1", node, "d", maximum=10 * replicas, available=10 * replicas, reserved=0)

    coming = [disk(f"n{place}", free) for place, free in enumerate(room) if free]
    facts: list[Fact] = [
        apart,
        policy({"disk.min_available_pct": 0, "disk.over_provisioning_pct": 100}),
        cluster_up("m1"),
        *([disk("gone", lost)] if lost else []),
        volume_up("v", lost, size=10),
        *coming[:1],
        *([disk_gone("m1", "gone", "d")] if lost else []),
        *coming[1:],
    ]

    assert moved_in(facts, "disk_placement") == lost


@given(rooms)
def test_lost_tasks_count_once_however_they_are_placed_again(room: Rooms) -> None:
    lost = sum(room)
    coming = [node_up("m1", f"n{place}", cpu=1000 * free) for place, free in enumerate(room)]
    facts: list[Fact] = [
        policy({"round.max_events": 1, "round.max_milliseconds": 0}),
        cluster_up("m1"),
        node_up("m1", "gone", cpu=1000 * lost),
        queue_up("q"),
        job_up("ns/job", lost, "q"),
        coming[0],
        node_gone("m1", "gone"),
        *coming[1:],
    ]

    assert moved_in(facts, "allocation") == lost


def crowded(seed: int) -> list[Happening]:
    """A history of deployments, every third with sets and every third with jobs."""
    return (history, with_sets, with_jobs)[seed % 3](seed, EVENTS)


@pytest.mark.parametrize("seed", range(300, 318))
def test_what_came_to_nodes_and_left_them_adds_up_to_what_is_there(seed: int) -> None:
    log = History()
    sums: dict[Subject, Counter[str]] = defaultdict(Counter)

    for happening in crowded(seed):
        step = log.add(happening.fact, after=happening.after)

        for made in step.decisions:
            if isinstance(made.outcome, Deployment):
                for change in made.outcome.changes:
                    sums[made.subject][change.node] += change.added - change.removed
                there = Counter(one.node for one in made.outcome.instances)
                assert {node: count for node, count in sums[made.subject].items() if count} == there
        assert {subject: +counts for subject, counts in sums.items() if +counts} == (
            held_or_lost(step.world)
        )


def held_or_lost(world: World) -> dict[Subject, Counter[str]]:
    """What each subject has on nodes, and had there when it was decided about last."""
    found: dict[Subject, Counter[str]] = {}
    for subject, held in world.deployments.of.items():
        assert not held.lost or held.share or world.policy.hold, "nobody tells of it any more"
        counts = Counter([*(str(one.node) for one in held.instances), *held.lost])
        if counts:
            found[subject] = counts
    return found


def test_what_moved_is_what_is_elsewhere_than_the_decision_before_said() -> None:
    waited, moved_later = 0, 0
    for seed in range(320, 332):
        log = History()
        places: dict[Subject, tuple[str, Counter[str]]] = {}
        for happening in crowded(seed):
            fact = happening.fact
            of = log.world.deployments.of
            awaited = {one for one, kept in of.items() if kept.awaited}
            step = log.add(fact, after=happening.after)
            if isinstance(fact, WorkloadRemoved) and step.effect == "applied":
                # The same uid after a removal starts anew.
                over = Subject(f"{fact.namespace}/{fact.name}")
                places = {one: kept for one, kept in places.items() if workload_of(one) != over}
            for subject, moved, counted in moves(step, places):
                assert moved == counted, f"{subject} of {seed}"
                moved_later += moved > 0 and subject in awaited
            waited += bool(awaited)
            # Whoever has no share and nothing to tell waits for nothing any more.
            places = {one: kept for one, kept in places.items() if one in step.world.deployments.of}
    assert waited > 20, "otherwise nothing was shown"
    assert moved_later > 3, "otherwise nothing was shown"


def moves(
    step: Step, places: dict[Subject, tuple[str, Counter[str]]]
) -> list[tuple[Subject, int, int]]:
    """Of each deployment what it says it moved, and what it moved by what records say of places."""
    found = []
    for made in step.decisions:
        if isinstance(made.outcome, Deployment):
            is_ = Counter(str(one.node) for one in made.outcome.instances)
            is_.update(str(one.node) for one in made.outcome.waiting)
            uid, was = places.get(made.subject, (made.outcome.uid, Counter()))
            more, fewer = (is_ - was).total(), (was - is_).total()
            same = uid == made.outcome.uid
            found.append((made.subject, made.moved, min(more, fewer) if same else 0))
            places[made.subject] = (made.outcome.uid, is_)
    return found


def test_what_is_lost_with_a_cluster_is_told_before_its_share_is_anothers() -> None:
    log = History()
    for cluster in ("m1", "m2"):
        log.add(cluster_up(cluster))
        log.add(node_up(cluster, "n1", memory=4))
    web = workload_up("ns/web", 2, cluster="m2", deploy=deployed(), request=each_takes(memory=1))
    log.add(web)

    step = log.add(cluster_gone("m2"))
    assert not any(isinstance(made.outcome, Deployment) for made in step.decisions)
    step = log.add(
        workload_up("ns/web", 2, cluster="m1", deploy=deployed(), request=each_takes(memory=1))
    )

    changes = {
        made.subject: made.outcome.changes
        for made in step.decisions
        if isinstance(made.outcome, Deployment)
    }
    assert changes == {"ns/web@m1": (("n1", 2, 0),), "ns/web@m2": (("n1", 0, 2),)}
