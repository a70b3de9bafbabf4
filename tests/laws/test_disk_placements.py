"""Laws of volumes and their replicas: the book adds up, whatever happens and in whatever order."""

from collections import Counter
from fractions import Fraction
from itertools import zip_longest
from typing import NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.facts import cluster
from ledger.facts.decision import from_record, record
from ledger.facts.disk_placement import DiskPlacement
from ledger.facts.event import Fact
from ledger.facts.own import TimePassed
from ledger.facts.refusal import Refusal
from ledger.reducers.deadlines import in_order
from ledger.reducers.evolve import follow
from ledger.reducers.replicas import Address
from ledger.reducers.volumes import question_of, unserved, wanted
from ledger.reducers.world import World, begin
from ledger.units import ClusterName, Incarnation, Microseconds, NodeName, Subject
from tests.histories import (
    SECOND,
    History,
    cluster_gone,
    cluster_up,
    disk_gone,
    disk_up,
    genesis,
    node_gone,
    node_reclaimed,
    node_up,
    policy,
    replica_failed,
    replica_recovered,
    volume_gone,
    volume_up,
)

seldom = st.sampled_from([False] * 7 + [True])
often = st.sampled_from([True] * 7 + [False])
clusters = st.sampled_from(["", "m1", "m1"])
nodes = st.sampled_from(["n1", "n2", "n3"])
disks = st.sampled_from(["a", "b"])
volumes = st.sampled_from(["v", "w", "v-r1"])
uids = st.sampled_from([None] * 9 + ["two"])
softness = st.sampled_from([None, None, True, False])
tags = st.sampled_from([(), (), (), ("ssd",), ("ssd", "x")])
alphas = st.sampled_from([None, None, Fraction(0), Fraction(1, 2)])

disks_up = st.builds(
    disk_up,
    clusters,
    nodes,
    disks,
    uid=uids,
    zone=st.sampled_from(["", "", "east", "west"]),
    maximum=st.sampled_from([100, 100, 60, 0]),
    available=st.sampled_from([None, None, 50, 30]),
    reserved=st.sampled_from([0, None, 10]),
    tags=tags,
    node_tags=tags,
    allow=often,
    schedulable=often,
    evicting=seldom,
    node_ready=often,
    node_allow=often,
)
volumes_up = st.builds(
    volume_up,
    volumes,
    st.integers(0, 4),
    size=st.sampled_from([5, 10, 10, 20, 40]),
    uid=uids,
    node_soft=softness,
    zone_soft=softness,
    disk_soft=softness,
    disk_selector=st.sampled_from([(), (), (), ("ssd",)]),
    node_selector=st.sampled_from([(), (), (), ("ssd",)]),
    alpha=alphas,
)
changes = st.fixed_dictionaries(
    {},
    optional={
        "hold": st.sampled_from([False, None, True]),
        "disk.replenish_wait": st.sampled_from([0, 1500, None]),
        "disk.scope": st.sampled_from(["node", "candidates"]),
        "disk.node_soft": st.booleans(),
        "disk.min_available_pct": st.sampled_from([0, 25]),
        "disk.over_provisioning_pct": st.sampled_from([100, 200]),
        "disk.auto_balance": st.sampled_from(["disabled", "best-effort"]),
        "retry.max_subjects": st.sampled_from([1, 64]),
    },
)


def named(volume: str, number: int) -> str:
    return f"{volume}-r{number}"


def listed(noun: cluster.InventoryNoun, keys: list[str]) -> cluster.InventoryListed:
    return cluster.InventoryListed(
        ClusterName("m1"), noun, tuple(Subject(key) for key in sorted(keys)), None
    )


replicas = st.builds(named, volumes, st.integers(1, 6))
facts: st.SearchStrategy[Fact] = st.one_of(
    disks_up,
    disks_up,
    disks_up,
    volumes_up,
    volumes_up,
    st.builds(replica_failed, replicas, reusable=st.booleans()),
    st.builds(replica_recovered, replicas),
    st.builds(disk_gone, clusters, nodes, disks),
    st.builds(volume_gone, volumes),
    st.builds(node_up, st.just("m1"), nodes, ready=often, schedulable=often),
    st.builds(node_gone, st.just("m1"), nodes),
    st.builds(node_reclaimed, st.just("m1"), nodes),
    st.builds(policy, changes),
    st.one_of(
        st.builds(cluster_up, st.just("m1")),
        st.just(cluster_gone("m1")),
        st.builds(listed, st.just("disk"), st.lists(st.sampled_from(["m1/n1/a", "m1/n2/b"]))),
        st.builds(listed, st.just("node"), st.lists(st.sampled_from(["m1/n1", "m1/n2"]))),
    ),
)


class Happening(NamedTuple):
    fact: Fact
    after: int


histories = st.lists(
    st.builds(Happening, facts, st.sampled_from([0, 0, SECOND, 700 * SECOND])),
    min_size=5,
    max_size=40,
)
long_histories = settings(
    # Whatever the profile: each example is the life of all volumes of a fleet.
    max_examples=75,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example],
    deadline=None,
)


def played(history: list[Happening]) -> History:
    log = History()
    for fact, after in history:
        log.add(fact, after=after)
        adds_up(log.world)
    log.wait(SECOND)
    return log


def adds_up(world: World) -> None:
    """What each disk has scheduled is what lies there, and whoever lies there is told."""
    scheduled: Counter[Address] = Counter()
    there: dict[Address, Counter[str]] = {}
    waits = []
    for volume in sorted(world.disks.volumes):
        copies = world.disks.volumes[volume]
        numbers = [one.number for one in copies.replicas]
        assert numbers == sorted(set(numbers))
        assert all(0 < number <= copies.used for number in numbers)
        for one in copies.replicas:
            scheduled[one.at] += copies.size
            there.setdefault(one.at, Counter())[volume] += 1
            waits += [one.wait] if one.wait else []
            assert one.failed or one.wait is None
    for name in sorted(world.disks.hosts):
        host = world.disks.hosts[name]
        assert host.disks
        for disk in host.disks:
            at = Address(NodeName(name), disk.name)
            assert disk.scheduled == scheduled.pop(at, 0)
            assert dict(world.disks.on.get(at, {})) == there.pop(at, Counter())
    assert not +scheduled, "something lies on a disk that is not there"
    assert not there
    assert sorted(waits) == list(in_order(world.deadlines))
    assert len(world.objects.inside("disk", "m1")) == sum(
        len(host.disks) for host in world.disks.hosts.values() if host.cluster
    )


@long_histories
@given(histories)
def test_the_book_adds_up_after_every_event(history: list[Happening]) -> None:
    played(history)


@long_histories
@given(histories)
def test_a_volume_is_refused_exactly_if_it_lacks_something(history: list[Happening]) -> None:
    log = played(history)
    world = log.world

    refused = {question.subject for question in world.refusals}
    if not world.policy.hold:
        lacking = {volume for volume in world.disks.volumes if unserved(world, volume)}
        marked = {question.subject for question in world.retries.marked}
        # Whoever could not be asked in this event for the many before it is asked in the next.
        assert lacking == refused or marked
        assert not any(world.disks.volumes[volume].lost for volume in world.disks.volumes)
        assert not any(world.disks.volumes[volume].over for volume in world.disks.volumes)
    for volume in sorted(refused):
        assert wanted(world, volume) is not None
        listing = world.retries.listed[(world.refusals[question_of(volume)].refusal.waits_for,)]
        assert question_of(volume) in listing


@long_histories
@given(histories)
def test_following_what_was_recorded_ends_in_the_same_world(history: list[Happening]) -> None:
    log = played(history)

    world = begin(genesis(), incarnation=Incarnation(1))
    for event, step in zip(log.events, log.steps, strict=True):
        read = [from_record(record(made)) for made in step.decisions]
        assert read == list(step.decisions)
        world = follow(world, event, read)

    assert world == log.world


@long_histories
@given(histories)
def test_a_decision_says_what_is_in_force_after_it(history: list[Happening]) -> None:
    log = History()
    for fact, after in history:
        step = log.add(fact, after=after)
        last = {made.subject: made for made in step.decisions if made.kind == "disk_placement"}
        for volume, made in last.items():
            placement = made.outcome
            assert isinstance(placement, DiskPlacement)
            copies = log.world.disks.volumes.get(volume)
            here = () if copies is None else copies.replicas
            assert [one.number for one in placement.replicas] == [one.number for one in here]
            gone = {one.replica for one in placement.released}
            stepped = {step.replica for step in placement.steps}
            assert stepped <= {one.replica for one in placement.replicas}
            instead = {step.instead for step in placement.steps if step.instead}
            assert instead <= gone
            assert 0 <= made.moved <= len(here)
        for made in step.decisions:
            if isinstance(made.outcome, Refusal):
                assert made.outcome.reason
                assert made.outcome.detail


@long_histories
@given(histories)
def test_asking_again_serves_nobody(history: list[Happening]) -> None:
    """What is left refused cannot be served as things are: another policy asks all of it again."""
    log = played([*history, Happening(policy({"hold": False, "retry.max_subjects": 64}), 0)])
    log.add(policy({"disk.rebuild_limit": 4}))

    step = log.add(policy({"disk.rebuild_limit": 3}))

    assert not step.decisions
    assert Microseconds(0) <= log.world.now
    assert log.add(TimePassed(log.world.now)).decisions == ()


@long_histories
@given(histories, histories)
def test_histories_of_a_fleet_are_decided_in_turns_as_each_alone(
    one: list[Happening], other: list[Happening]
) -> None:
    """What is kept of hosts between two questions says nothing of another World's."""
    alone = [decided(History(), history) for history in (one, other)]

    logs = History(), History()
    in_turns: list[list[bytes]] = [[], []]
    for happenings in zip_longest(one, other):
        for log, made, happening in zip(logs, in_turns, happenings, strict=True):
            made.extend([] if happening is None else decided(log, [happening]))

    assert in_turns == alone


def decided(log: History, history: list[Happening]) -> list[bytes]:
    steps = [log.add(fact, after=after) for fact, after in history]
    return [record(made) for step in steps for made in step.decisions]
