"""Laws of proposals, over random histories in which somebody asks and approves all the time.

Deployments, disks and repairs alike: every move strictly lowers the score, what is open is of things in
force, an approval that nothing came in between of is carried out, and the book adds up throughout.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, product

from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.decisions.step import Step
from ledger.facts.control import ProposalApproved
from ledger.facts.decision import Decision, from_record, record
from ledger.facts.deployment import Deployment
from ledger.facts.disk_placement import DiskPlacement
from ledger.facts.event import Fact
from ledger.facts.proposal import Proposal
from ledger.facts.refusal import Refusal
from ledger.reducers.conservation import differences
from ledger.reducers.evolve import follow
from ledger.reducers.open_proposals import Matter, OpenProposal
from ledger.reducers.replicas import numbered
from ledger.reducers.world import World, begin
from ledger.units import Incarnation, NodeName, Replicas, Subject
from tests.histories import (
    SECOND,
    History,
    approved,
    cluster_up,
    deployed,
    each_takes,
    genesis,
    node_gone,
    node_reclaimed,
    node_up,
    requested,
    workload_up,
)
from tests.laws import test_deployments, test_naive_proposals, two_stores
from tests.laws.test_deployments import CLASS, long_histories

SUBJECTS = [None, None, "ns/a", "ns/b", "ns/a@m1", "ns/c@m2", "m1", "m2", "nobody"]

requests = st.builds(
    requested,
    st.just("deployments"),
    st.sampled_from(SUBJECTS),
    max_moves=st.sampled_from([None, None, 0, 1, 2]),
    max_bytes=st.sampled_from([None, None, 0, 3]),
)
approvals = st.builds(approved, st.integers(0, 9))
spread = st.builds(
    workload_up,
    test_deployments.keys,
    st.integers(0, 6),
    cluster=test_deployments.clusters,
    request=st.sampled_from([each_takes(memory=1), each_takes(memory=1, storage=1)]),
    deploy=st.builds(deployed, st.sampled_from(["AUTO", "AUTO", "GLOBAL"])),
    min_available=st.sampled_from([None, "1", "3", "50%"]),
)
roomy = st.builds(
    node_up,
    test_deployments.clusters,
    test_deployments.nodes,
    labels=test_deployments.labels,
    schedulable=st.sampled_from([True, True, False]),
    memory=st.sampled_from([4, 20]),
    storage=st.just(20),
)
facts: st.SearchStrategy[Fact] = st.one_of(
    test_deployments.facts, requests, requests, approvals, spread, spread, roomy, roomy
)
BEGINNING: list[Fact] = [
    cluster_up("m1"),
    cluster_up("m2"),
    node_up("m1", "n1", memory=20, storage=20, labels={CLASS: "spot"}),
    workload_up("ns/a", 4, cluster="m1", request=each_takes(memory=1), deploy=deployed()),
    node_up("m1", "n2", memory=20, storage=20, labels={CLASS: "on-demand"}),
]
turns = st.one_of(st.tuples(facts), st.tuples(facts), st.tuples(roomy, requests, approvals))
of_instances = st.lists(
    st.tuples(turns, st.sampled_from([0, 0, SECOND])), min_size=10, max_size=30
).map(
    lambda drawn: [
        *((fact, 0) for fact in BEGINNING),
        *((fact, after) for facts, after in drawn for fact in facts),
    ]
)
of_replicas = test_naive_proposals.histories(10, 25).map(
    lambda history: [(one.fact, one.after) for one in history]
)
histories = st.one_of(of_instances, of_instances, of_replicas)

Histories = list[tuple[Fact, int]]


def lived(history: Histories) -> Iterator[tuple[History, Fact, Step]]:
    """Every happening, with the log that it is the end of and what followed."""
    log = History()
    for drawn, after in history:
        fact = two_stores.meant(drawn, log.world.proposals.matters)
        step = log.add(fact, after=after)
        yield log, fact, step


@long_histories
@given(histories)
def test_every_move_strictly_lowers_the_score(history: Histories) -> None:
    for _, _, step in lived(history):
        for made in step.decisions:
            if isinstance(made.outcome, Proposal):
                proposal = made.outcome
                scores = [proposal.before, *(move.score for move in proposal.moves)]
                assert scores[-1] == proposal.after
                assert len({(move.subject, move.thing) for move in proposal.moves}) == len(
                    proposal.moves
                )
                for score, next_ in pairwise(scores):
                    assert score is not None
                    assert next_ is not None
                    assert next_ < score
                assert len(proposal.moves) <= proposal.max_moves
                assert proposal.max_bytes is None or proposal.size <= proposal.max_bytes


@long_histories
@given(histories)
def test_what_is_open_is_of_things_in_force(history: Histories) -> None:
    for _, _, step in lived(history):
        world = step.world
        assert differences(world) == ()
        for matter in sorted(world.proposals.open):
            proposal = world.proposals.open[matter]
            assert proposal.moves
            assert world.proposals.matters[proposal.number] == matter
            in_force(world, matter, proposal)


def in_force(world: World, matter: Matter, proposal: OpenProposal) -> None:
    for move in proposal.moves:
        if matter.what == "disks":
            one = numbered(move.subject, world.disks.volumes[move.subject], move.thing)
            assert one is not None
            assert "/".join(one.at) == move.out
            host, _, disk = move.into.rpartition("/")
            assert world.disks.hosts[NodeName(host)].disk(disk) is not None
            continue
        held = world.deployments.of[move.subject]
        there = {str(one.number): f"{held.cluster}/{one.node}" for one in held.instances}
        assert there[move.thing] == move.out
        assert world.objects.fact("node", Subject(move.into)) is not None
        assert not held.over


@long_histories
@given(histories)
def test_what_is_approved_at_once_is_carried_out(history: Histories) -> None:
    for log, _, step in lived(history):
        for made in step.decisions:
            if made.number in log.world.proposals.matters:
                carried_out(log, made)


def carried_out(lived: History, made: Decision) -> None:
    """Approved in a branch of its own: the history goes on without."""
    assert isinstance(made.outcome, Proposal)
    log = History(world=lived.world, events=[*lived.events])
    step = log.add(ProposalApproved(made.number))

    assert step.effect == "applied"
    mine = [one for one in step.decisions if "approved" in one.outcome.because]
    assert {one.subject for one in mine} == {move.subject for move in made.outcome.moves}
    assert not any(isinstance(one.outcome, Refusal) for one in mine)
    assert sum(one.moved for one in mine) <= len(made.outcome.moves)
    assert made.number not in step.world.proposals.matters
    assert differences(step.world) == ()


def test_whatever_two_things_happen_before_it_what_is_approved_at_once_is_carried_out() -> None:
    spot, on_demand = ({CLASS: says} for says in ("spot", "on-demand"))
    takes = each_takes(memory=2)
    one = node_up("m1", "n1", memory=12, labels=spot)
    two = node_up("m1", "n2", memory=6, labels=on_demand)
    a = workload_up("ns/a", 4, cluster="m1", deploy=deployed(), request=each_takes(memory=1))
    b = workload_up("ns/b", 3, cluster="m1", deploy=deployed("GLOBAL"), request=takes)
    b = replace(b, min_available="2")
    everything = requested("deployments")
    letters: list[Fact] = [
        everything,
        approved(0),
        node_up("m1", "n3", memory=6, labels=spot),
        replace(two, schedulable=False),
        replace(two, labels=one.labels),
        node_up("m1", "n2", memory=2, labels=spot),
        node_gone("m1", "n2"),
        node_reclaimed("m1", "n1"),
        replace(a, deploy=deployed("DRAINED")),
        replace(b, min_available="1"),
        replace(b, replicas=Replicas(1)),
    ]
    proposed = 0

    for first, then in product(letters, repeat=2):
        facts = (cluster_up("m1"), one, a, b, two, first, then, everything)
        for log, _, step in lived([(fact, 0) for fact in facts]):
            assert differences(log.world) == ()
            for made in step.decisions:
                if made.number in log.world.proposals.matters:
                    carried_out(log, made)
                    proposed += 1
    assert proposed > len(letters), "otherwise little was to be moved"


@long_histories
@given(histories)
def test_history_with_proposals_folds_to_the_world_that_decided_it(history: Histories) -> None:
    log = History()
    world = begin(genesis(), incarnation=Incarnation(1))
    for drawn, after in history:
        fact = two_stores.meant(drawn, log.world.proposals.matters)
        step = log.add(fact, after=after)
        read = [from_record(record(made)) for made in step.decisions]
        assert read == list(step.decisions)
        world = follow(world, log.events[-1], read)
        assert world == step.world


def test_the_histories_reach_what_the_laws_speak_of() -> None:
    seen: set[str] = set()

    @settings(long_histories, max_examples=400)
    @given(histories)
    def look(history: Histories) -> None:
        for _, _, step in lived(history):
            for made in step.decisions:
                outcome = made.outcome
                if isinstance(outcome, Proposal) and outcome.moves:
                    seen.add(outcome.what)
                if isinstance(outcome, Deployment) and outcome.proposal is not None:
                    seen.add("instances moved")
                if isinstance(outcome, DiskPlacement) and outcome.proposal is not None:
                    seen.add("replicas moved")
            seen.update(one.kind for one in step.ended)

    look()

    assert seen >= {
        "deployments",
        "disks",
        "repair",
        "instances moved",
        "replicas moved",
        "proposal",
    }
