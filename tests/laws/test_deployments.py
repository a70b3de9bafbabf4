"""Laws of deployments, over long random histories in which nodes come, go and are cordoned.

Every history is folded a second time from what was recorded, and the books are added up anew after
every event.
"""

from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.facts.cluster import NodeUpserted
from ledger.facts.decision import from_record, record
from ledger.facts.deployment import Deployment
from ledger.facts.event import Fact
from ledger.facts.own import TimePassed
from ledger.facts.workload import DeployStrategy
from ledger.reducers import book
from ledger.reducers.book import Change
from ledger.reducers.evolve import follow
from ledger.reducers.instances import holding, node_of
from ledger.reducers.rooms import free, node_in_use
from ledger.reducers.world import NO_ROOM, World, begin
from ledger.units import Incarnation, Microseconds, Subject
from tests.histories import (
    SECOND,
    History,
    cluster_gone,
    cluster_up,
    deployed,
    divided,
    each_takes,
    genesis,
    node_gone,
    node_reclaimed,
    node_up,
    policy,
    reschedule,
    workload_gone,
    workload_up,
)

CLASS = "node.kubernetes.io/capacity"

clusters = st.sampled_from(["m1", "m1", "m2"])
nodes = st.sampled_from(["n1", "n10", "n2", "n3"])
keys = st.sampled_from(["ns/a", "ns/b", "ns/c"])
uids = st.sampled_from([None] * 9 + ["one", "two"])
labels = st.sampled_from(
    [
        {},
        {"tier": "gold"},
        {CLASS: "on-demand"},
        {CLASS: "spot"},
        {CLASS: "spot", "tier": "gold"},
        {CLASS: "on-demand", "tier": "gold"},
    ]
)
strategies: st.SearchStrategy[DeployStrategy] = st.sampled_from(
    ["AUTO", "AUTO", "FILL", "EACH", "GLOBAL", "DRAINED"]
)
requests = st.sampled_from(
    [
        each_takes(memory=1),
        each_takes(memory=1),
        each_takes(memory=3),
        each_takes(memory=3, storage=2),
        each_takes(),
        each_takes(cpu=1500, bind=True, memory=1),
        each_takes(cpu=500, bind=True),
        each_takes(cpu=2000, bind=True, memory=2),
        each_takes(cpu=1234, bind=True),
        each_takes(cpu=0, bind=True),
        each_takes(volumes=["AUTO:/a:rw:4"]),
        each_takes(memory=1, volumes=["AUTO:/a:rw:2", "AUTO:/b:rwm:5"]),
    ]
)
deploys = st.builds(
    deployed,
    strategies,
    count=st.integers(1, 3),
    nodes_limit=st.sampled_from([0, 0, 1, 2, 3]),
    policy=st.sampled_from([None, "after_usage"]),
    max_share=st.sampled_from([-1, -1, 1]),
    selector=st.sampled_from([{}, {}, {}, {"tier": "gold"}]),
)
alone = st.builds(
    workload_up,
    keys,
    st.integers(0, 9),
    cluster=clusters,
    uid=uids,
    kind=st.sampled_from(["Deployment", "Deployment", "StatefulSet", "Job"]),
    request=requests,
    deploy=st.one_of(deploys, deploys, deploys, deploys, st.none()),
    min_available=st.sampled_from([None, None, "2", "50%", "x"]),
)
shared = st.builds(
    workload_up,
    keys,
    st.integers(0, 9),
    st.sampled_from([divided(), divided(strategy="dynamic"), divided({"m1": 2, "m2": 1})]),
    uid=uids,
    request=requests,
    deploy=st.one_of(deploys, deploys, deploys, st.none()),
    min_available=st.sampled_from([None, None, "1"]),
)
nodes_up = st.builds(
    node_up,
    clusters,
    nodes,
    uid=uids,
    labels=labels,
    ready=st.sampled_from([True, True, True, False]),
    schedulable=st.sampled_from([True, True, True, False]),
    cores=st.sampled_from([None, None, {"0": 100, "1": 130, "2": 100}]),
    cpu=st.sampled_from([1000, 4000, 9000]),
    memory=st.sampled_from([2, 8, 20, 20]),
    numa=st.sampled_from([None, None, {"0": "a", "1": "a", "2": "b"}]),
    numa_memory=st.sampled_from([None, {"a": 4, "b": 9}]),
    storage=st.sampled_from([0, 9, 30]),
    volumes=st.sampled_from([None, {"/x": 9, "/y": 14}, {"/x": 30}]),
    pods=st.sampled_from([None, None, 2, 7]),
)
changes = st.fixed_dictionaries(
    {},
    optional={
        "hold": st.sampled_from([False, False, True]),
        "grace.node_ms": st.sampled_from([0, 1500]),
        "placement.global_policy": st.sampled_from(["after_usage", None]),
        "retry.max_subjects": st.sampled_from([1, 64]),
    },
)
facts: st.SearchStrategy[Fact] = st.one_of(
    alone,
    alone,
    alone,
    shared,
    nodes_up,
    nodes_up,
    nodes_up,
    nodes_up,
    st.builds(node_gone, clusters, nodes),
    st.builds(node_reclaimed, clusters, nodes, uid=uids),
    st.builds(cluster_up, clusters, ready=st.sampled_from([True, True, False])),
    st.builds(cluster_gone, clusters),
    st.builds(workload_gone, keys),
    st.builds(reschedule, keys, fresh=st.booleans()),
    st.builds(policy, changes),
    st.just(TimePassed(Microseconds(0))),
)

BEGINNING: tuple[Fact, ...] = (
    cluster_up("m1"),
    cluster_up("m2"),
    node_up("m1", "n1", memory=20, labels={CLASS: "on-demand"}),
    node_up("m1", "n2", memory=8, labels={CLASS: "spot", "tier": "gold"}),
    node_up("m2", "n1", memory=20),
    workload_up("ns/a", 4, cluster="m1", deploy=deployed(), request=each_takes(memory=1)),
)

happenings = st.tuples(facts, st.sampled_from([0, 0, SECOND, 2 * SECOND]))
histories = st.lists(happenings, min_size=20, max_size=45).map(
    lambda drawn: [*((fact, 0) for fact in BEGINNING), *drawn]
)

long_histories = settings(
    # Whatever the profile: each example is the life of a whole fleet, some thousand questions. How many
    # lives are looked at is the business of the runs that are marked long and of ``two_fleets``.
    max_examples=60,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
)


@long_histories
@given(histories)
def test_what_was_recorded_folds_to_the_same_world(history: list[tuple[Fact, int]]) -> None:
    log = History()
    world = begin(genesis(), incarnation=Incarnation(1))

    for fact, after in history:
        step = log.add(fact, after=after)

        recorded = [from_record(record(made)) for made in step.decisions]
        assert recorded == list(step.decisions)
        world = follow(world, log.events[-1], recorded)
        assert world == step.world


@long_histories
@given(histories)
def test_the_books_add_up_after_every_event(history: list[tuple[Fact, int]]) -> None:
    log = History()

    for fact, after in history:
        log.add(fact, after=after)

        assert_added_up(log.world)


@long_histories
@given(histories)
def test_nobody_is_placed_where_there_is_no_room(history: list[tuple[Fact, int]]) -> None:
    log = History()

    for fact, after in history:
        step = log.add(fact, after=after)

        for made in step.decisions:
            # What was decided at a deadline may have been lost with the event after it.
            if isinstance(made.outcome, Deployment) and made.deadline is None:
                assert_not_exceeded(step.world, made.outcome)


@long_histories
@given(histories)
def test_a_decision_says_what_it_did(history: list[tuple[Fact, int]]) -> None:
    log = History()

    for fact, after in history:
        before = log.world
        step = log.add(fact, after=after)

        assert step.world.policy.hold <= (not step.decisions) or step.decisions[-1].deadline
        for made in step.decisions:
            if not isinstance(made.outcome, Deployment):
                continue
            outcome = made.outcome
            numbers = [instance.number for instance in outcome.instances]
            waiting = [one.number for one in outcome.waiting]
            assert numbers == sorted(set(numbers))
            assert not set(numbers) & set(waiting)
            assert made.branch != "keep" or (made.moved == 0 and not outcome.changes)
            assert outcome.complete <= (not outcome.waiting and not outcome.ordered)
            if outcome.complete and outcome.strategy in {"AUTO", "GLOBAL", "DRAINED"}:
                assert len(numbers) == outcome.share
            if not outcome.share:
                assert not numbers
            for move in outcome.moves:
                assert move.out != move.into
            assert before.decisions <= made.number


def assert_added_up(world: World) -> None:
    """Every index and sum of the World is what its instances and nodes come to."""
    taken: list[Change] = []
    seated: dict[Subject, Counter[Subject]] = {}
    for subject, held in world.deployments.of.items():
        assert held.share or held.instances or (held.lost and world.policy.hold)
        for instance in held.instances:
            node = node_of(held.cluster, instance.node)
            assert world.objects.fact("node", node) is not None, f"{node} is gone"
            taken.append(Change(node, holding(instance), 1))
            seated.setdefault(node, Counter())[subject] += 1
    assert world.book == book.changed(begin(genesis(), incarnation=Incarnation(1)).book, taken)
    assert {node: dict(on.items()) for node, on in world.deployments.on.items()} == {
        node: dict(counts) for node, counts in seated.items()
    }
    for cluster in world.clusters:
        nodes = [
            key
            for key in world.objects.inside("node", cluster)
            if node_in_use(world.objects, world.rooms.reclaiming, key) is not None
        ]
        room = world.rooms.by_cluster.get(cluster, NO_ROOM)
        assert room.nodes == len(nodes)
        assert room.claim.pods == claimed(world, cluster)


def claimed(world: World, cluster: str) -> int:
    """How many instances a cluster was promised and has on no node."""
    found = 0
    for subject in ("ns/a", "ns/b", "ns/c"):
        workload = world.workload(Subject(subject))
        if workload is None:
            continue
        last = world.divisions.last.get(Subject(subject))
        held = world.deployments.of.get(Subject(f"{subject}@{cluster}"))
        share = 0
        if last is not None and last.in_force:
            share = sum(one.replicas for one in last.division.shares if one.cluster == cluster)
        elif workload.division is None and workload.cluster == cluster:
            share = workload.replicas
        found += max(0, share - (0 if held is None or held.over else len(held.instances)))
    return found


def assert_not_exceeded(world: World, made: Deployment) -> None:
    """A node that was given instances has not less than nothing free of what those take."""
    given = {change.node for change in made.changes if change.added > change.removed}
    for instance in made.instances:
        if instance.node not in given:
            continue
        fact = world.objects.fact("node", node_of(made.cluster, instance.node))
        assert isinstance(fact, NodeUpserted)
        offer, taken = free(world, fact), holding(instance)
        if instance.terms != made.instances[-1].terms:
            # An older one, of the time when the node may have declared more.
            continue
        assert offer.cpu >= 0 or not taken.cpu
        assert offer.memory >= 0 or not taken.memory
        assert offer.storage >= 0 or not taken.storage
        assert offer.pods is None or offer.pods >= 0
        cores, devices = dict(offer.cores), dict(offer.volumes)
        assert all(cores[core] >= 0 for core, _ in taken.pieces if core in cores)
        assert all(devices[name] >= 0 for name, _ in taken.volumes if name in devices)
