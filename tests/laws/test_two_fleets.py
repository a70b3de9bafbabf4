"""Laws of deployments over long crowded histories, each of which is a seed.

The engine and the naive fleet agree after every event; what is held and what is free add up to what
is declared; and what still fits where it is stays there, whatever happens to others.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest
from immutables import Map

from ledger.decisions.step import Step
from ledger.facts.cluster import NodeUpserted
from ledger.facts.deployment import Deployment
from ledger.facts.event import Fact
from ledger.facts.workload import PodObserved, WorkloadKind, WorkloadRescheduled
from ledger.reducers.instances import workload_of
from ledger.reducers.world import World
from ledger.units import NodeName, Replicas, Subject, Uid
from tests.histories import (
    SECOND,
    History,
    admitted,
    approved,
    bypassed,
    cluster_up,
    deployed,
    divided,
    each_takes,
    job_up,
    listed,
    node_gone,
    node_up,
    pod_gone,
    pod_seen,
    pods_listed,
    policy,
    queue_up,
    replicaset_up,
    reschedule,
    workload_gone,
    workload_up,
)
from tests.laws import split_histories
from tests.laws.crowded_histories import (
    CAPACITY,
    Happening,
    history,
    smallest,
    with_jobs,
    with_sets,
)
from tests.laws.short_histories import (
    ALPHABETS,
    could_be_served,
    drawn,
    first_difference,
    sampled_difference,
)
from tests.laws.two_fleets import difference, least_difference

EVENTS = 220
WEB = "ns/web"


def lived(seed: int) -> list[tuple[World, Happening, Step]]:
    """Every happening of a history, after the World before it, and what it came to."""
    log = History()
    return [
        (log.world, happening, log.add(happening.fact, after=happening.after))
        for happening in history(seed, EVENTS)
    ]


# In the last one a node with other cores than it tells of is forgotten.
@pytest.mark.parametrize("seed", [*range(8), 4019])
def test_a_fleet_that_looks_at_everything_deploys_the_same(seed: int) -> None:
    happenings = history(seed, EVENTS)

    if difference(happenings) is not None:
        pytest.fail(least_difference(happenings))


@pytest.mark.parametrize("memory", [2, 8])
def test_what_is_rescheduled_under_hold_is_asked_alike_once_it_is_lifted(memory: int) -> None:
    web = workload_up(WEB, 4, cluster="m1", deploy=deployed(), request=each_takes(memory=2))
    none, undeployed = replace(web, replicas=Replicas(0)), replace(web, deploy=None)
    other, gone = Uid("other"), workload_gone(WEB)
    meanwhile: list[Fact] = [none, undeployed, replace(none, uid=other), gone]
    meanwhile.append(job_up(WEB, 1, "q", memory=1))
    afterwards = (web, replace(web, uid=other), replace(web, replicas=Replicas(2)), gone)
    nodes = [node_up("m1", "n1", memory=6), node_up("m1", "n2", memory=2)]
    begins: list[Fact] = [cluster_up("m1"), *nodes, web, policy({"hold": True})]
    ends: list[Fact] = [node_up("m1", "n1", memory=memory), policy({"hold": None})]

    for one, again, fresh in product(meanwhile, afterwards, [True, False]):
        asked = reschedule(WEB, fresh=fresh)
        for happens in ((one, asked, again), (asked, one, again)):
            assert difference([Happening(fact, 0) for fact in (*begins, *happens, *ends)]) is None


def test_what_changed_while_no_task_waited_makes_a_round_due_alike() -> None:
    rounds = policy({"round.max_events": 2, "round.max_milliseconds": 0})
    takes = each_takes(memory=1)
    first, then = (
        workload_up(name, 2, cluster="m1", deploy=deployed(), request=takes)
        for name in ("ns/first", "ns/then")
    )
    node, job = node_up("m1", "n1", memory=3), job_up("ns/job", 1, "q", cpu=0, memory=2)
    happens: tuple[Fact, ...] = (
        replace(job, replicas=Replicas(0)),
        job,
        replace(node, schedulable=False),
        node,
        replace(first, replicas=Replicas(0)),
        replace(then, replicas=Replicas(0)),
    )
    begins: tuple[Fact, ...] = (rounds, cluster_up("m1"), node, queue_up("q"), first, then, job)

    for next_ in product(happens, repeat=3):
        facts = (*begins, *next_, first, first)
        assert difference([Happening(fact, 0) for fact in facts]) is None


@pytest.mark.parametrize("name", ALPHABETS)
def test_whatever_two_things_happen_next_are_decided_alike(name: str) -> None:
    assert first_difference(ALPHABETS[name], 2) is None


@pytest.mark.parametrize("seed", range(3))
def test_what_happened_in_the_end_is_decided_alike_in_other_orders(seed: int) -> None:
    assert sampled_difference(drawn(seed), 8, 10, seed) is None


@pytest.mark.long
@pytest.mark.parametrize("name", ALPHABETS)
def test_all_short_histories_over_small_alphabets_are_decided_alike(name: str) -> None:
    assert first_difference(ALPHABETS[name], 4) is None
    assert sampled_difference(ALPHABETS[name], 10, 500, 1) is None


def test_somebody_who_is_forgotten_is_found() -> None:
    log = History()
    web = workload_up(WEB, 1, cluster="m1", deploy=deployed(), request=each_takes(memory=2))
    log.add_all(cluster_up("m1"), node_up("m1", "n1", memory=1), web)
    log.add_all(policy({"hold": True}), node_up("m1", "n1", memory=2))
    lifted = replace(log.world, policy=replace(log.world.policy, hold=False))
    forgotten = replace(lifted, retries=replace(lifted.retries, marked=Map()))

    assert not [*could_be_served(lifted)]
    assert [one.subject for one in could_be_served(forgotten)] == [f"{WEB}@m1"]


@pytest.mark.parametrize("seed", [50, 51, 52, 620, 1162])
def test_jobs_that_want_the_same_room_are_placed_and_stand_in_the_way_alike(seed: int) -> None:
    happenings = with_jobs(seed, 120)
    log = History()
    steps = [log.add(fact, after=after) for fact, after in happenings]

    if difference(happenings) is not None:
        pytest.fail(least_difference(happenings))
    kinds = Counter(made.kind for step in steps for made in step.decisions)
    assert kinds["allocation"] > 3, "otherwise nobody stood in the way"


@pytest.mark.parametrize("seed", range(60, 64))
def test_sets_that_lack_their_lowest_numbers_are_scaled_alike(seed: int) -> None:
    happenings = with_sets(seed, EVENTS)

    if difference(happenings) is not None:
        pytest.fail(least_difference(happenings))


def test_a_set_has_no_number_beyond_its_share_and_is_complete_with_all_below_it() -> None:
    complete = above_a_gap = 0
    for seed in range(60, 68):
        log = History()
        for fact, after in with_sets(seed, EVENTS):
            for made in log.add(fact, after=after).decisions:
                held = made.outcome
                if not isinstance(held, Deployment) or made.subject.startswith("ns/d@"):
                    continue
                if held.strategy not in {"AUTO", "GLOBAL", "DRAINED"}:
                    continue
                numbers = {one.number for one in held.instances}
                existing = set(range(held.share))
                assert numbers | {one.number for one in held.waiting} <= existing
                assert held.complete <= (numbers == existing)
                complete += held.complete
                above_a_gap += bool(numbers) and numbers != set(range(len(numbers)))
    assert complete > 50
    assert above_a_gap > 50, "otherwise nobody lacked a low number"


def test_pods_that_others_place_are_told_to_go_alike() -> None:
    reached: Counter[str] = Counter()
    for seed in range(70, 74):
        happenings = split_histories.history(seed, EVENTS)
        if difference(happenings, reached) is not None:
            pytest.fail(f"seed {seed}, {least_difference(happenings)}")

    assert reached["proposal repair"] > 5, "otherwise nobody was short"
    assert reached["repair"], "otherwise nobody was told to go"
    assert reached["admission"], "otherwise nobody had a reservation"


@pytest.mark.parametrize("kind", ["Deployment", "Job", "StatefulSet"])
def test_a_lone_replica_that_found_no_node_is_asked_again_when_its_kind_needs_no_such_node(
    kind: WorkloadKind,
) -> None:
    lone = replace(
        workload_up("shop/db", 1, kind="StatefulSet", cluster="m1"), deploy=deployed("GLOBAL")
    )
    facts: list[Fact] = [
        cluster_up("m1"),
        node_up("m1", "n1", labels={CAPACITY: "spot"}),
        lone,
        replace(lone, kind=kind),
    ]

    reached: Counter[str] = Counter()
    assert difference([Happening(each, SECOND) for each in facts], reached) is None

    assert reached["refusal no_eligible_node"] == 1
    assert reached["deployment"] == (kind == "Job")


@pytest.mark.parametrize("can_list", [True, False])
def test_pods_that_nobody_admitted_are_too_many_once_somebody_asks_for_another(
    *, can_list: bool
) -> None:
    above = ("ReplicaSet", "web-7")
    facts: list[Fact] = [
        cluster_up("m1"),
        node_up("m1", "n1", labels={CAPACITY: "on-demand"}),
        workload_up("shop/web", 2, min_available="1"),
        replicaset_up("m1", "shop", "web-7", ("Deployment", "web"), replicas=2),
        *(
            pod_seen("m1", "shop", f"web-7-{name}", owner=above, template_hash="7", node="n1")
            for name in "ab"
        ),
        admitted("u0", "m1", "shop", above, "7", can_list=can_list),
        pods_listed("u0", "7", [], ["web-7-a"]),
        bypassed("u0"),
    ]

    reached: Counter[str] = Counter()
    assert difference([Happening(each, SECOND) for each in facts], reached) is None

    assert (reached["proposal surplus"] > 0) == can_list, (
        "nobody comes yet where a list is waited for"
    )


def test_whatever_happens_to_pods_of_which_too_many_are_on_demand_is_told_alike() -> None:
    above, named = ("ReplicaSet", "web-7"), "shop/web"
    web = workload_up(named, 3, min_available="3")
    fewer = replace(web, min_available="1")
    spot, on_demand = ({CAPACITY: word} for word in ("spot", "on-demand"))

    def seen(name: str) -> PodObserved:
        pod = pod_seen("m1", "shop", f"web-7-{name}", owner=above, template_hash="7", node="n1")
        return replace(pod, reservation=f"shop/1/{'abc'.index(name)}")

    begins: list[Fact] = [cluster_up("m1"), node_up("m1", "n1", labels=on_demand), web]
    begins.append(replicaset_up("m1", "shop", "web-7", ("Deployment", "web"), replicas=3))
    begins += [admitted(uid, "m1", "shop", above, "7") for uid in ("u0", "u1", "u2")]
    begins += [*map(seen, "abc"), fewer]
    happens: list[Fact] = [
        admitted("u3", "m1", "shop", above, "7"),
        bypassed("u2"),
        pods_listed("u2", "7", ["shop/1/0"]),
        approved(0),
        replace(fewer, deploy=deployed()),
        replace(fewer, kind="StatefulSet"),
        replace(fewer, kind="Job"),
        replace(fewer, uid=Uid("other")),
        replace(fewer, division=divided()),
        replace(fewer, min_available=None),
        workload_gone(named),
        replicaset_up("m1", "shop", "web-7", ("Deployment", "web"), replicas=2),
        replicaset_up("m1", "shop", "web-7", ("Deployment", "other"), replicas=3),
        replicaset_up("m1", "shop", "web-7", None, replicas=3),
        pod_gone("m1", "shop", "web-7-a"),
        replace(seen("b"), phase="Failed"),
        replace(seen("b"), node=NodeName("n2")),
        replace(seen("b"), owner=None),
        listed("m1", "pod", ["shop/web-7-a"]),
        node_up("m1", "n1", labels=spot),
        node_gone("m1", "n1"),
    ]

    reached: Counter[str] = Counter()
    for fact in happens:
        facts = (*begins, fact, fewer, policy({}))
        assert difference([Happening(each, SECOND) for each in facts], reached) is None
    needless = reached["proposal surplus"] - len(happens)
    assert needless > len(happens) // 2, "otherwise nothing came of most of them"
    assert reached["repair"], "otherwise nobody was lowered"


@pytest.mark.long
def test_two_thousand_fleets_with_jobs_decide_the_same() -> None:
    for seed in range(20_000, 22_000):
        happenings = with_jobs(seed, EVENTS)
        if difference(happenings) is not None:
            pytest.fail(f"seed {seed}, {least_difference(happenings)}")


@pytest.mark.long
def test_two_thousand_fleets_deploy_the_same() -> None:
    for seed in range(10_000, 12_000):
        happenings = history(seed, EVENTS)
        if difference(happenings) is not None:
            pytest.fail(f"seed {seed}, {least_difference(happenings)}")


@pytest.mark.parametrize("seed", range(100, 106))
def test_what_still_fits_stays_where_it_is(seed: int) -> None:
    kept = 0
    for before, happening, step in lived(seed):
        after = step.world
        if before.policy.hold or after.policy.hold:
            continue
        for subject, was in before.deployments.of.items():
            now = after.deployments.of.get(subject)
            if now is None or not asked_alike(before, happening, after, subject):
                continue
            still = {one.number: one for one in now.instances}
            for one in was.instances:
                wanted = after.workload(workload_of(subject))
                assert wanted is not None
                assert wanted.deploy is not None
                terms = (wanted.request, wanted.deploy.node_selector)
                node = Subject(f"{was.cluster}/{one.node}")
                if (one.terms.request, one.terms.selector) == terms and takes_on(
                    before, after, node
                ):
                    assert still[one.number] == one
                    kept += 1
    assert kept > 100, "otherwise nothing was shown"


def test_every_instance_that_is_elsewhere_than_before_is_told_as_moved() -> None:
    told: Counter[str] = Counter()
    for seed in range(200, 212):
        for before, _, step in lived(seed):
            told.update(told_as_moved(before, step))
    assert len(told) > 3, "otherwise little was shown"


def told_as_moved(before: World, step: Step) -> Iterator[str]:
    """Why instances moved in a step; those moved, and nobody else did."""
    if any(made.deadline is not None for made in step.decisions):
        # Something was decided in between.
        return
    for made in step.decisions:
        was, now = before.deployments.of.get(made.subject), made.outcome
        if was is None or not isinstance(now, Deployment) or "share" in now.because:
            # A share that was nothing for a moment forgot the lost numbers.
            continue
        seated = {one.number: one.node for one in was.instances}
        places = seated | {one.number: one.node for one in was.waiting}
        if was.over or was.uid != now.uid:
            places = {}
        assert {one.number: (one.out, one.into) for one in now.moves} == {
            one.number: (places[one.number], one.node)
            for one in now.instances
            if places.get(one.number, one.node) != one.node
        }
        assert all(one.why == "lost" for one in now.moves if one.number not in seated)
        came = [one.number for one in now.instances if one.number not in places]
        left = places.keys() - {one.number for one in now.instances}
        assert made.moved <= len(now.moves) + min(len(came), len(left))
        yield from (one.why for one in now.moves)


def asked_alike(before: World, happening: Happening, after: World, subject: Subject) -> bool:
    """Whether the same was wanted of a subject before and after."""
    was, now = before.deployments.of[subject], after.deployments.of[subject]
    fact = happening.fact
    fresh = isinstance(fact, WorkloadRescheduled) and fact.fresh
    one, other = (world.workload(workload_of(subject)) for world in (before, after))
    return (
        not (fresh or was.over or now.over)
        and was.share == now.share
        and one is not None
        and other is not None
        and (one.uid, one.deploy, one.kind) == (other.uid, other.deploy, other.kind)
    )


def takes_on(before: World, after: World, node: Subject) -> bool:
    """Whether a node is the same as before, and may take more."""
    was, now = before.objects.fact("node", node), after.objects.fact("node", node)
    return (
        isinstance(was, NodeUpserted)
        and isinstance(now, NodeUpserted)
        and was.uid == now.uid
        and now.ready
        and now.schedulable
        and node not in after.rooms.reclaiming
    )


def test_a_smaller_history_still_fails_and_has_nothing_to_spare() -> None:
    happenings = [one._replace(after=place) for place, one in enumerate(history(1, 40))]

    least = smallest(happenings, lambda part: {3, 17} <= {one.after for one in part})

    assert [one.after for one in least] == [3, 17]
