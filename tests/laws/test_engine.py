"""Laws of the pure heart: evolve and decide, over long random histories.

The histories are small worlds in which much goes wrong: late and repeated reports, lives that take
each other's names, clusters that flicker, policies that change in between, days that pass.
"""

import sys
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple, cast

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.decisions.step import Step, advance
from ledger.facts import cluster, quota
from ledger.facts.allocation import Allocation
from ledger.facts.decision import Decision, from_record, record
from ledger.facts.division import Division
from ledger.facts.event import Fact
from ledger.facts.eviction import Eviction
from ledger.facts.own import TimePassed
from ledger.facts.refusal import Refusal
from ledger.facts.workload import DivisionSpec, DivisionStrategy
from ledger.reducers.evolve import follow
from ledger.reducers.world import Ended, World, begin
from ledger.units import (
    ClusterName,
    DecisionNumber,
    Incarnation,
    Microseconds,
    Subject,
    Uid,
)
from tests.histories import (
    DAY,
    FLEET,
    SECOND,
    History,
    allocation,
    cluster_gone,
    cluster_up,
    divided,
    each_takes,
    genesis,
    node_gone,
    node_reclaimed,
    node_up,
    pod_seen,
    policy,
    queue_up,
    reschedule,
    subject_of,
    workload_gone,
    workload_up,
)
from tests.laws.naive_fleet import NaiveFleet, Told
from tests.laws.naive_jobs import NaiveJobs
from tests.laws.naive_part import Said, heading

CLUSTERS = ["m1", "m10", "m2", "é"]
WORKLOADS = ["ns/a", "ns/b", "ns/\U00010000"]

names = st.sampled_from(CLUSTERS)
keys = st.sampled_from(WORKLOADS)
uids = st.sampled_from([None] * 12 + ["one", "two", "three"])
revisions = st.sampled_from([None] * 12 + [1, 2, 3, 4])
labels = st.dictionaries(
    st.sampled_from(["tier", "zone"]), st.sampled_from(["gold", "silver"]), max_size=2
)
strategies: st.SearchStrategy[DivisionStrategy] = st.sampled_from(
    ["static", "static", "static", "webster", "dynamic", "dynamic", "aggregated", "duplicated"]
)
bounds = st.sampled_from([None, None, None, None, (1, 1), (1, 2), (2, 2), (2, None), (0, 0)])
requests = st.sampled_from(
    [
        each_takes(),
        each_takes(memory=1),
        each_takes(memory=3),
        each_takes(cpu=1500, memory=1),
        each_takes(cpu=1500, bind=True),
        each_takes(cpu=2000, bind=True, memory=2),
        each_takes(storage=2),
    ]
)


@st.composite
def wishes(draw: st.DrawFn) -> DivisionSpec:
    return divided(
        draw(st.one_of(st.just({}), st.dictionaries(names, st.integers(0, 4), max_size=4))),
        strategy=draw(strategies),
        clusters=draw(st.one_of(st.just([]), st.just([]), st.lists(names, unique=True))),
        selector=draw(st.one_of(st.just({}), st.just({"tier": "gold"}), labels)),
        caps=draw(st.one_of(st.just({}), st.just({}), st.dictionaries(names, st.integers(0, 5)))),
        over_clusters=draw(bounds),
        over_regions=draw(bounds),
    )


clusters_up = st.builds(
    cluster_up,
    names,
    ready=st.sampled_from([True, True, False]),
    labels=labels,
    region=st.sampled_from(["", "eu", "us"]),
    uid=uids,
    revision=revisions,
)
workloads_up = st.builds(
    workload_up,
    keys,
    st.integers(0, 12),
    st.one_of(st.none(), wishes(), wishes(), wishes(), wishes()),
    uid=uids,
    revision=revisions,
    kind=st.sampled_from(["Deployment", "Deployment", "Job"]),
    queue=st.sampled_from([None, None, "q"]),
    request=requests,
)
nodes = st.sampled_from(["n1", "n2"])
changes = st.fixed_dictionaries(
    {},
    optional={
        "hold": st.sampled_from([False, None, True]),
        "grace.cluster_ms": st.sampled_from([0, 1500, 4000, None]),
        "division.inertia": st.sampled_from(["seed", "minimal", None]),
        "division.kappa": st.sampled_from([None, Fraction(1, 3)]),
        "retry.max_subjects": st.sampled_from([1, 64, None]),
    },
)


def queue_gone(uid: str | None, revision: int | None) -> quota.QueueRemoved:
    return quota.QueueRemoved("q", None if uid is None else Uid(uid), revision)


def nodes_listed(name: str, there: list[str]) -> cluster.InventoryListed:
    listed = tuple(Subject(f"{name}/{node}") for node in sorted(there))
    return cluster.InventoryListed(ClusterName(name), "node", listed, None)


flickers = st.builds(
    cluster_up,
    names,
    ready=st.booleans(),
    region=st.sampled_from(["eu", "eu", "us"]),
    labels=st.one_of(st.just({"tier": "gold"}), st.just({"tier": "gold"}), labels),
)
scalings = st.builds(
    workload_up,
    keys,
    st.integers(4, 9),
    st.one_of(st.just(divided()), st.just(divided(strategy="dynamic")), wishes(), wishes()),
    request=requests,
)
nodes_up = st.builds(
    node_up,
    names,
    nodes,
    uid=uids,
    revision=revisions,
    ready=st.sampled_from([True, True, True, False]),
    schedulable=st.sampled_from([True, True, True, False]),
    cores=st.sampled_from([None, None, {"0": 100, "1": 130}]),
    cpu=st.sampled_from([1000, 4000, 9000]),
    memory=st.integers(0, 30),
    storage=st.sampled_from([0, 10]),
    pods=st.sampled_from([None, None, 3, 12]),
)
noise: st.SearchStrategy[Fact] = st.one_of(
    st.builds(queue_up, st.just("q"), uid=uids, revision=revisions),
    st.builds(queue_gone, uids, revisions),
    st.builds(node_gone, names, nodes),
    st.builds(nodes_listed, names, st.lists(nodes, unique=True)),
    st.just(TimePassed(Microseconds(0))),
)
facts: st.SearchStrategy[Fact] = st.one_of(
    flickers,
    flickers,
    flickers,
    scalings,
    scalings,
    nodes_up,
    nodes_up,
    st.builds(node_reclaimed, names, nodes),
    clusters_up,
    workloads_up,
    st.builds(cluster_gone, names, uid=uids, revision=revisions),
    st.builds(workload_gone, keys, uid=uids, revision=revisions),
    st.builds(reschedule, keys, fresh=st.booleans(), uid=uids),
    st.builds(policy, changes),
    noise,
)


class Happening(NamedTuple):
    """A fact, who said it, and how long after the one before it."""

    fact: Fact
    source: str
    after: int


happenings = st.builds(
    Happening,
    facts,
    st.sampled_from(["east", "east", "west"]),
    st.sampled_from([0, 0, 0, SECOND, SECOND, 2 * SECOND, 4 * SECOND, DAY - SECOND]),
)

BEGINNING: tuple[Fact, ...] = (
    policy({"grace.cluster_ms": 4000}),
    *(cluster_up(name, labels={"tier": "gold"}, region="eu") for name in ("m1", "m2", "m10")),
    node_up("m1", "n1", memory=20),
    node_up("m2", "n1", memory=10, pods=8),
    workload_up("ns/a", 7, divided()),
    workload_up("ns/b", 7, divided({"m1": 3, "m2": 2, "é": 1})),
)
"""Every history begins with something to decide about; the rest of it is drawn."""

START = tuple(Happening(fact, "east", 0) for fact in BEGINNING)

histories = st.lists(happenings, min_size=50, max_size=70).map(lambda drawn: [*START, *drawn])

long_histories = settings(
    # Whatever the profile: each example is the life of a whole fleet, and asks as much as a thousand
    # questions to one system.
    max_examples=50,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
)


def lived(history: list[Happening]) -> History:
    log = History()
    for fact, source, after in history:
        log.add(fact, source=source, after=after)
    return log


def anew() -> World:
    return begin(genesis(), incarnation=Incarnation(1))


class Numbers(dict[int | None, int | None]):
    """The numbers that decisions would have if no incident took one: naive fleets tell of none."""

    def __init__(self) -> None:
        super().__init__({None: None})

    def without_incidents(self, step: Step) -> tuple[list[Decision], list[Ended]]:
        """The decisions of a step and what ended with it, under those numbers."""
        decisions = [made for made in step.decisions if made.kind != "incident"]
        for made in decisions:
            self[made.number] = len(self) - 1
        return (
            [
                replace(
                    made,
                    number=DecisionNumber(self[made.number] or 0),
                    previous=cast("DecisionNumber | None", self[made.previous]),
                )
                for made in decisions
            ],
            [one._replace(number=DecisionNumber(self[one.number] or 0)) for one in step.ended],
        )


def told(made: Decision) -> Told:
    """A decision as the naive fleet would tell it."""
    outcome = made.outcome
    return Told(
        number=made.number,
        position=made.position,
        grace_of=None if made.deadline is None else made.deadline.subject,
        subject=made.subject,
        branch=made.branch,
        answer=outcome.reason if isinstance(outcome, Refusal) else allocation(made),
        moved=made.moved,
        epoch=None if made.lot is None else made.lot.epoch,
        previous=made.previous,
        because=list(made.outcome.because),
    )


def about_jobs(made: Decision) -> Said | None:
    """A decision about tasks as the naive jobs would say it; None where it is about something else."""
    outcome = made.outcome
    rows: dict[str, str] = {}
    reason = waits_for = ""
    match outcome:
        case Allocation() | Eviction():
            rows = {str(one.task): f"{one.cluster}/{one.node}" for one in outcome.tasks}
        case Refusal(wanted="allocation"):
            reason, waits_for = outcome.reason, outcome.waits_for
        case _:
            return None
    return replace(heading(made), rows=rows, reason=reason, waits_for=waits_for)


@long_histories
@given(histories)
def test_a_fleet_that_looks_at_everything_decides_the_same(history: list[Happening]) -> None:
    log = History()
    numbers = Numbers()
    naive = NaiveFleet(salt=FLEET)
    NaiveJobs(naive)

    for fact, source, after in history:
        step = log.add(fact, source=source, after=after)
        expected = naive.add(
            fact, subject=subject_of(fact), source=source, at=log.events[-1].recorded_at
        )

        decisions, ended = numbers.without_incidents(step)
        assert [told(made) for made in decisions if about_jobs(made) is None] == expected
        assert [said for made in decisions if (said := about_jobs(made))] == naive.said
        assert step.effect == naive.effect
        assert sorted(ended) == sorted(naive.ended)


@long_histories
@given(histories)
def test_history_that_was_decided_folds_to_the_world_that_decided_it(
    history: list[Happening],
) -> None:
    log = lived(history)

    world = anew()
    for event, step in zip(log.events, log.steps, strict=True):
        world = follow(world, event, [from_record(record(made)) for made in step.decisions])

        assert world == step.world


@long_histories
@given(histories, st.data())
def test_a_decider_that_takes_over_anywhere_decides_what_the_first_would_have(
    history: list[Happening], data: st.DataObject
) -> None:
    log = lived(history)
    cut = data.draw(st.integers(0, len(log.events)))

    world = anew()
    for event, step in zip(log.events[:cut], log.steps[:cut], strict=True):
        world = follow(world, event, step.decisions)
    steps = []
    for event in log.events[cut:]:
        steps.append(advance(world, event))
        world = steps[-1].world

    assert [step.decisions for step in steps] == [step.decisions for step in log.steps[cut:]]


@long_histories
@given(histories)
def test_whatever_is_in_force_adds_up_and_lies_on_candidates_of_its_own(
    history: list[Happening],
) -> None:
    for step in lived(history).steps:
        for made in step.decisions:
            if isinstance(made.outcome, Division):
                copies = made.outcome.strategy == "duplicated"
                held = allocation(made).values()
                assert sum(held) == made.outcome.replicas * (len(held) if copies else 1)
                for share in made.outcome.shares:
                    assert share.ceiling is None or share.replicas <= share.ceiling
            assert made.moved >= 0
            assert made.branch != "keep" or made.moved == 0


@long_histories
@given(histories)
def test_numbers_and_epochs_have_no_gaps(history: list[Happening]) -> None:
    world = lived(history).world

    decisions = [made for step in lived(history).steps for made in step.decisions]

    assert [made.number for made in decisions] == list(range(world.decisions))
    epochs: dict[tuple[str, str], int] = {}
    for made in decisions:
        if made.lot is not None:
            stream = (made.subject, made.lot.workload)
            # A life that comes back after its removal draws from its stream anew.
            assert made.lot.epoch in {epochs.get(stream, -1) + 1, 0}
            epochs[stream] = made.lot.epoch


@long_histories
@given(st.permutations([*WORKLOADS, *CLUSTERS]), st.data())
def test_under_hold_the_order_in_which_things_are_reported_does_not_matter(
    order: list[str], data: st.DataObject
) -> None:
    reports: dict[str, Fact] = {}
    for name in CLUSTERS:
        reports[name] = cluster_up(name, labels=data.draw(labels), ready=data.draw(st.booleans()))
    for key in WORKLOADS:
        reports[key] = workload_up(key, data.draw(st.integers(0, 9)), data.draw(wishes()))

    def decided(keys_in_order: list[str]) -> tuple[bytes, ...]:
        log = History()
        log.add(policy({"hold": True}))
        log.add_all(*(reports[key] for key in keys_in_order))
        # Whoever was reported before a cluster has one cause more; the answer is the same.
        step = log.add(policy({"hold": False}))
        return tuple(record(_without_causes(made)) for made in step.decisions)

    assert decided(order) == decided(sorted(order))


@given(wishes(), st.integers(0, 9))
def test_the_order_within_a_wish_does_not_matter(wish: DivisionSpec, replicas: int) -> None:
    turned = replace(
        wish,
        weights=wish.weights[::-1],
        clusters=wish.clusters[::-1],
        cluster_selector=wish.cluster_selector[::-1],
        caps=wish.caps[::-1],
    )

    def decided(spec: DivisionSpec) -> list[bytes]:
        log = History()
        log.add(workload_up("ns/a", replicas, spec))
        log.add_all(
            *(cluster_up(name, labels={"tier": "gold", "zone": "gold"}) for name in CLUSTERS)
        )
        log.add(cluster_up("m2", labels={"tier": "gold"}))
        return [record(made) for step in log.steps for made in step.decisions]

    assert decided(wish) == decided(turned)


def test_an_event_costs_the_same_however_many_workloads_it_does_not_touch() -> None:
    """Counted in calls, not seconds: the same events, with few and with many bystanders."""

    def calls(bystanders: int) -> int:
        log = History()
        log.add_all(*(cluster_up(name) for name in ("m1", "m2", "m3", "m4")))
        for place in range(bystanders):
            log.add(workload_up(f"by/w{place}", 3, divided({"m3": 1, "m4": 1})))
            log.add(workload_up(f"by/s{place}", 3, divided(selector={"only": str(place)})))
        log.add(workload_up("ns/a", 5, divided({"m1": 1, "m2": 1})))
        happening: list[Fact] = [
            cluster_up("m2", ready=False),
            cluster_up("m2", labels={"tier": "gold"}),
            cluster_up("m3", region="eu"),
            workload_up("ns/a", 6, divided({"m1": 1, "m2": 1})),
            workload_up("ns/a", 6, divided({"m1": 1, "m2": 1}), priority=3),
            pod_seen("m1", "ns", "a-1"),
            reschedule("ns/a"),
            workload_gone("ns/a"),
        ]
        counted = 0

        def count(*_: object) -> None:
            nonlocal counted
            counted += 1

        sys.setprofile(count)
        try:
            log.add_all(*happening)
        finally:
            sys.setprofile(None)
        return counted

    # What is remembered from one history to the next is remembered before either is counted.
    calls(400)
    few, many = calls(2), calls(400)

    assert many <= few + 20, "the last digits may differ, as a persistent map grows a level"


def _without_causes(made: Decision) -> Decision:
    return replace(made, outcome=replace(made.outcome, because=()))
