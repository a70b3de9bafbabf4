"""Laws of the book: over long random histories with pods, everything adds up after every event.

And a sum that does not is found, whichever it is: one wrong number is planted at a time.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from ledger.facts.decision import from_record, record
from ledger.facts.event import Fact
from ledger.facts.incident import Incident
from ledger.reducers.book import NOTHING_HELD
from ledger.reducers.conservation import differences
from ledger.reducers.disk_books import DiskBook, disk_books
from ledger.reducers.evolve import follow
from ledger.reducers.incidents import NO_INCIDENTS, Contradiction
from ledger.reducers.job_books import JobBook, QueueBook, job_books, queue_books
from ledger.reducers.node_books import NodeBook, node_books
from ledger.reducers.open_proposals import target
from ledger.reducers.replicas import no_disks
from ledger.reducers.reservations import Reserved
from ledger.reducers.sightings import Crew
from ledger.reducers.world import NO_ROOM, World, begin
from ledger.replay.followed import Followed
from ledger.units import Bytes, ClusterName, DecisionNumber, Incarnation, NodeName, Subject
from ledger.views.incidents import happenings, settle
from ledger.views.past import Standing
from ledger.views.released import Righted
from ledger.views.table import Row
from tests.histories import (
    DAY,
    SECOND,
    History,
    admitted,
    cluster_up,
    deployed,
    disk_up,
    each_takes,
    genesis,
    listed,
    node_up,
    pod_gone,
    pod_seen,
    policy,
    queue_up,
    replicaset_up,
    volume_up,
    workload_up,
)
from tests.laws import job_histories, test_deployments, test_disk_placements
from tests.laws.test_deployments import BEGINNING, clusters, long_histories, nodes, requests, uids

pod_names = st.sampled_from(["a-1-x", "a-1-y", "a-2-x", "b-0", "p"])
owners = st.sampled_from(
    [
        None,
        ("ReplicaSet", "a-1"),
        ("ReplicaSet", "a-1"),
        ("ReplicaSet", "a-2"),
        ("StatefulSet", "b"),
        ("StatefulSet", "a"),
        ("Job", "b"),
        ("DaemonSet", "a"),
    ]
)
pods_seen = st.builds(
    pod_seen,
    clusters,
    st.just("ns"),
    pod_names,
    uid=uids,
    owner=owners,
    template_hash=st.sampled_from(["", "1", "2"]),
    node=st.one_of(nodes, nodes, st.none()),
    phase=st.sampled_from(["Running", "Running", "Running", "Pending", "Succeeded", "Failed"]),
    terminating=st.sampled_from([False, False, False, True]),
    request=requests,
)
facts: st.SearchStrategy[Fact] = st.one_of(
    test_deployments.facts,
    test_deployments.facts,
    test_deployments.facts,
    pods_seen,
    pods_seen,
    pods_seen,
    st.builds(pod_gone, clusters, st.just("ns"), pod_names),
    st.builds(
        replicaset_up,
        clusters,
        st.just("ns"),
        st.sampled_from(["a-1", "a-2"]),
        st.sampled_from([None, ("Deployment", "a"), ("Deployment", "b"), ("Rollout", "a")]),
    ),
    st.builds(
        listed,
        clusters,
        st.just("pod"),
        st.lists(pod_names.map("ns/{}".format), unique=True),
    ),
    st.builds(
        listed, clusters, st.just("replicaset"), st.sampled_from([[], ["ns/a-1"], ["ns/a-2"]])
    ),
    test_deployments.nodes_up.map(lambda node: replace(node, share_base=50)),
    st.builds(
        workload_up,
        test_deployments.keys,
        st.integers(0, 4),
        kind=st.just("Job"),
        queue=st.just("q"),
        request=requests,
    ),
)
histories = st.lists(
    st.tuples(facts, st.sampled_from([0, 0, SECOND, DAY])), min_size=20, max_size=50
).map(lambda drawn: [*((fact, 0) for fact in BEGINNING), *drawn])


@long_histories
@given(histories)
def test_everything_adds_up_after_every_event(history: list[tuple[Fact, int]]) -> None:
    log = History()
    for fact, after in history:
        log.add(fact, after=after)
        assert differences(log.world) == ()


@long_histories
@given(job_histories.histories(20, 50))
def test_everything_adds_up_with_tasks_of_jobs(history: list[job_histories.Happening]) -> None:
    log = History()
    for fact, source, after in history:
        log.add(fact, source=source, after=after)
        assert differences(log.world) == ()


@test_disk_placements.long_histories
@given(test_disk_placements.histories)
def test_everything_adds_up_on_disks(history: list[test_disk_placements.Happening]) -> None:
    log = History()
    for fact, after in history:
        log.add(fact, after=after)
        assert differences(log.world) == ()


@long_histories
@given(histories)
def test_what_was_recorded_folds_to_the_world_that_recorded_it(
    history: list[tuple[Fact, int]],
) -> None:
    log = History()
    world = begin(genesis(), incarnation=Incarnation(1))
    for fact, after in history:
        step = log.add(fact, after=after)
        read = [from_record(record(made)) for made in step.decisions]
        assert read == list(step.decisions)
        world = follow(world, log.events[-1], read)
        assert world == step.world


@long_histories
@given(histories)
def test_an_incident_is_recorded_once_while_it_lasts_and_never_under_hold(
    history: list[tuple[Fact, int]],
) -> None:
    log = History()
    for fact, after in history:
        before = log.world.incidents.told
        step = log.add(fact, after=after)
        found = [
            Contradiction(made.subject, made.outcome.what, made.outcome.node)
            for made in step.decisions
            if isinstance(made.outcome, Incident) and made.deadline is None
        ]
        assert len(found) == len(set(found))
        assert not (step.world.policy.hold and found)
        if step.world.policy.hold:
            continue
        assert step.world.incidents.untold == NO_INCIDENTS.untold
        for one in step.world.incidents.told:
            assert one in before or one in found or any(made.deadline for made in step.decisions)


@long_histories
@given(histories)
def test_what_is_shown_as_open_is_what_lasts_and_what_was_recorded_of_it_last(
    history: list[tuple[Fact, int]],
) -> None:
    log = History()
    standing: dict[Row, Standing] = {}
    followed = Followed(log.world)
    recorded: dict[Row, int] = {}
    for fact, after in history:
        step = log.add(fact, after=after)
        position = log.events[-1].position
        recorded |= {
            (made.subject, made.outcome.what, made.outcome.node): made.number
            for made in step.decisions
            if isinstance(made.outcome, Incident)
        }
        righted = [Righted(*one, position) for one in step.righted]

        settle(1, standing, happenings(step.decisions, righted))

        assert standing.keys() == {tuple(one) for one in step.world.incidents.told}
        for row, (says, _) in standing.items():
            assert says == (recorded[row],)
        followed.forget()
        followed.take(log.events[-1], step.decisions)
        assert followed.righted == righted


@long_histories
@given(histories)
def test_what_is_shown_of_nodes_is_kept_up_by_looking_at_those_that_were_touched(
    history: list[tuple[Fact, int]],
) -> None:
    log = History()
    shown: dict[tuple[str, str], NodeBook] = {}
    for fact, after in history:
        step = log.add(fact, after=after)
        turned = [one.name for one in step.turned if one.kind == "node"]
        for page in node_books(step.world, turned):
            shown[page.cluster, page.node] = page
        known = [key.subject for key in step.world.objects.known if key.noun == "node"]
        for page in node_books(step.world, [*known, *step.world.book]):
            assert shown.get((page.cluster, page.node), page._replace(declared=None)) == page


@test_disk_placements.long_histories
@given(test_disk_placements.histories)
def test_what_is_shown_of_disks_is_kept_up_by_looking_at_those_that_were_touched(
    history: list[test_disk_placements.Happening],
) -> None:
    log = History()
    shown: dict[Subject, DiskBook] = {}
    for fact, after in history:
        step = log.add(fact, after=after)
        turned = [one.name for one in step.turned if one.kind == "disk"]
        shown |= zip(sorted(turned), disk_books(step.world, turned), strict=True)
        known = {key.subject for key in step.world.objects.known if key.noun == "disk"}
        assert shown.keys() >= known - {
            name for name in known if step.world.objects.fact("disk", name) is None
        }
        for name, page in shown.items():
            assert disk_books(step.world, [name]) == [page]


@long_histories
@given(job_histories.histories(20, 50))
def test_what_is_shown_of_jobs_and_queues_is_kept_up_by_looking_at_those_that_were_touched(
    history: list[job_histories.Happening],
) -> None:
    log = History()
    jobs: dict[Subject, JobBook] = {}
    queues: dict[Subject, QueueBook] = {}
    for fact, source, after in history:
        step = log.add(fact, source=source, after=after)
        turned = sorted(one.name for one in step.turned if one.kind == "job")
        jobs |= zip(turned, job_books(step.world, turned), strict=True)
        turned = sorted(one.name for one in step.turned if one.kind == "queue")
        queues |= zip(turned, queue_books(step.world, turned), strict=True)
        running = {job for job, tasks in step.world.jobs.of.items() if tasks.running}
        assert {job for job, page in jobs.items() if any(page.used)} == running
        for job in running:
            assert job_books(step.world, [job]) == [jobs[job]]
        used = {Subject(f"{queue}/{namespace}") for queue, namespace in step.world.jobs.used}
        assert {queue for queue, page in queues.items() if any(page.used)} == used
        for queue in used:
            assert queue_books(step.world, [queue]) == [queues[queue]]


NODE = Subject("m1/n1")


def fleet() -> World:
    """Two instances and a pod too many, a foreign pod, a claim, an over-committed node, a replica."""
    log = History()
    log.add_all(
        cluster_up("m1"),
        node_up("m1", "n1", memory=20, cores={"0": 100, "1": 100}, volumes={"/x": 9}, storage=9),
        workload_up(
            "ns/a",
            2,
            cluster="m1",
            kind="StatefulSet",
            request=each_takes(cpu=500, bind=True, memory=2, volumes=["AUTO:/a:rw:2"]),
            deploy=deployed(),
        ),
        *(
            pod_seen("m1", "ns", f"a-{place}", node="n1", owner=("StatefulSet", "a"))
            for place in range(3)
        ),
        pod_seen("m1", "ns", "p", node="n1", request=each_takes(memory=1)),
        workload_up("ns/b", 3, cluster="m1", deploy=deployed(), request=each_takes(memory=50)),
        node_up("m1", "n2", memory=1),
        pod_seen("m1", "ns", "q", node="n2", request=each_takes(memory=2)),
        disk_up("m1", "n1", "d"),
        volume_up("v", 1, size=5),
        policy({"round.max_events": 1}),
        queue_up("q"),
        workload_up("ns/j", 2, kind="Job", queue="q", request=each_takes(cpu=10)),
        workload_up("ns/w", 2, cluster="m1", min_available="1"),
        pod_seen("m1", "ns", "w-1-x", owner=("ReplicaSet", "w-1"), template_hash="1"),
        admitted("u", "m1", "ns", ("ReplicaSet", "w-1"), "1"),
    )
    assert log.world.jobs.used, "the tasks run"
    return log.world


def held(world: World, **more: int) -> World:
    wrong = world.book[NODE]
    return replace(
        world,
        book=world.book.set(
            NODE, wrong._replace(**{name: getattr(wrong, name) + by for name, by in more.items()})
        ),
    )


def seats(world: World) -> World:
    on = world.deployments.on
    wrong = on.set(NODE, on[NODE].set(Subject("ns/a@m1"), 1))
    return replace(world, deployments=replace(world.deployments, on=wrong))


def core(world: World) -> World:
    wrong = world.book[NODE]
    return replace(
        world, book=world.book.set(NODE, wrong._replace(pieces=wrong.pieces.set("1", 7)))
    )


def device(world: World) -> World:
    wrong = world.book[NODE]
    return replace(world, book=world.book.set(NODE, wrong._replace(volumes=NOTHING_HELD.volumes)))


def crew(world: World) -> World:
    one = Crew(NODE, "StatefulSet", Subject("ns/a"))
    names = world.pods.crews[one].delete("a-0")
    return replace(world, pods=replace(world.pods, crews=world.pods.crews.set(one, names)))


def leaving(world: World) -> World:
    one = Crew(NODE, "StatefulSet", Subject("ns/a"))
    wrong = world.pods.leaving.set(one, Map({"a-9": None}))
    return replace(world, pods=replace(world.pods, leaving=wrong))


def bereft(world: World) -> World:
    missing = world.pods.missing.set(NODE, Map({Subject("ns/a@m1"): 1}))
    return replace(world, pods=replace(world.pods, missing=missing))


def ghost(world: World) -> World:
    return replace(world, book=world.book.set(Subject("m9/n9"), NOTHING_HELD._replace(pods=1)))


def forgotten(world: World) -> World:
    return replace(world, book=world.book.delete(NODE))


def room(world: World, **wrong: object) -> World:
    cluster = ClusterName("m1")
    rooms = world.rooms
    changed = replace(rooms.by_cluster.get(cluster, NO_ROOM), **wrong)  # type: ignore[arg-type]  # either field
    return replace(world, rooms=replace(rooms, by_cluster=rooms.by_cluster.set(cluster, changed)))


def in_use(world: World) -> World:
    return room(world, nodes=world.rooms.of(ClusterName("m1")).nodes + 1)


def claim(world: World) -> World:
    before = world.rooms.of(ClusterName("m1")).claim
    return room(world, claim=before._replace(memory=before.memory + 1))


def disk(world: World) -> World:
    host = world.disks.hosts[NodeName("m1/n1")]
    wrong = replace(host, disks=tuple(one._replace(scheduled=Bytes(0)) for one in host.disks))
    return replace(world, disks=replace(world.disks, hosts=world.disks.hosts.set(host.name, wrong)))


def replica(world: World) -> World:
    return replace(world, disks=replace(world.disks, on=no_disks().on))


def queue(world: World) -> World:
    (whose,) = world.jobs.used
    wrong = world.jobs.used.set(whose, world.jobs.used[whose]._replace(cpu=21))
    return replace(world, jobs=replace(world.jobs, used=wrong))


def job(world: World) -> World:
    tasks = world.jobs.of[Subject("ns/j")]
    wrong = replace(tasks, held=tasks.held._replace(tasks=1))
    return replace(world, jobs=replace(world.jobs, of=world.jobs.of.set(Subject("ns/j"), wrong)))


def task(world: World) -> World:
    (node,) = world.jobs.on
    wrong = world.jobs.on.set(node, world.jobs.on[node].set(Subject("ns/j"), 1))
    return replace(world, jobs=replace(world.jobs, on=wrong))


def unknown(world: World) -> World:
    return replace(world, incidents=NO_INCIDENTS)


def made_up(world: World) -> World:
    one = Contradiction(NODE, "over_committed", NODE)
    told = world.incidents.told.set(one, None)
    return replace(world, incidents=replace(world.incidents, told=told))


def proposal(world: World) -> World:
    wrong = world.proposals.on.set(target("m1/n1/d"), Map({DecisionNumber(7): None}))
    return replace(world, proposals=replace(world.proposals, on=wrong))


def row(world: World) -> World:
    name = Subject("m1/ns/w-1")
    template = world.admissions.templates[name]
    wrong = world.admissions.templates.set(name, template._replace(pods=Map()))
    return replace(world, admissions=replace(world.admissions, templates=wrong))


def unforgotten(world: World) -> World:
    """Decisions about a workload and a volume, and clusters of a workload, that nobody knows."""
    latest = world.latest
    for name in ("ns/x", "ns/x@m1", "x"):
        latest = latest.set(Subject(name), DecisionNumber(1))
    clusters = world.deployments.clusters.set(Subject("ns/x"), Map({ClusterName("m1"): None}))
    kept = replace(world.deployments, clusters=clusters)
    return replace(world, latest=latest, deployments=kept)


def too_soon(world: World) -> World:
    """The decisions by which something is held are not remembered."""
    latest = world.latest.delete(Subject("ns/a@m1")).delete(Subject("v"))
    clusters = world.deployments.clusters.delete(Subject("ns/a"))
    kept = replace(world.deployments, clusters=clusters)
    return replace(world, latest=latest, deployments=kept)


def reservation(world: World) -> World:
    one = Reserved(Subject("m1/ns/w-1"), 1)
    wrong = world.admissions.reservations.set("shop/1/9", one)
    return replace(world, admissions=replace(world.admissions, reservations=wrong))


PLANTED: dict[str, tuple[Callable[[World], World], list[tuple[str, str]]]] = {
    "cpu": (lambda world: held(world, cpu=1), [("m1/n1", "held: cpu")]),
    "memory": (lambda world: held(world, memory=-2), [("m1/n1", "held: memory")]),
    "storage": (lambda world: held(world, storage=1), [("m1/n1", "held: storage")]),
    "a slot": (lambda world: held(world, pods=1), [("m1/n1", "held: pods")]),
    "a core": (core, [("m1/n1", "held: core 1")]),
    "a device": (device, [("m1/n1", "held: device /x")]),
    "a seat": (seats, [("m1/n1", "placed: ns/a@m1")]),
    "a pod": (crew, [("m1/n1", "seen: StatefulSet ns/a")]),
    "a pod that is to go": (leaving, [("m1/n1", "leaving: StatefulSet ns/a")]),
    "a pod that is missed": (bereft, [("m1/n1", "missing: ns/a@m1")]),
    "a node that never was": (ghost, [("m9/n9", "held: pods")]),
    "a node too many": (in_use, [("m1", "in use: nodes")]),
    "a claim": (claim, [("m1", "claimed: memory")]),
    "a disk": (disk, [("m1/n1", "scheduled: d")]),
    "a replica": (replica, [("m1/n1", "replicas: v on d")]),
    "a row": (row, [("m1/ns/w-1", "admitted: row of w-1-x")]),
    "a reservation": (reservation, [("m1/ns/w-1", "admitted: called shop/1/9")]),
    "a proposal": (proposal, [("m1/n1/d", "proposed: target of #7")]),
    "what nobody knows": (
        unforgotten,
        [
            ("ns/x", "remembered: a decision"),
            ("ns/x", "remembered: cluster m1"),
            ("ns/x@m1", "remembered: a decision"),
            ("x", "remembered: a decision"),
        ],
    ),
    "what was forgotten too soon": (
        too_soon,
        [
            ("ns/a", "remembered: cluster m1"),
            ("ns/a@m1", "remembered: a decision"),
            ("v", "remembered: a decision"),
        ],
    ),
    "a queue": (queue, [("q of ns", "used: cpu")]),
    "a job": (job, [("ns/j", "used: tasks")]),
    "a task": (task, [("m1/n1", "placed: ns/j@m1")]),
    "what is not known": (
        unknown,
        [
            ("m1/n2", "contradicts: over_committed m1/n2"),
            ("ns/a@m1", "contradicts: pods_beyond_instances m1/n1"),
        ],
    ),
    "what is not so": (made_up, [("m1/n1", "contradicts: over_committed m1/n1")]),
}


def test_what_is_spoilt_below_adds_up_before() -> None:
    assert differences(fleet()) == ()


@pytest.mark.parametrize("error", PLANTED)
def test_a_planted_error_is_named(error: str) -> None:
    spoil, wanted = PLANTED[error]

    found = differences(spoil(fleet()))

    named = [
        (one.where, "offered" if one.what.startswith("offered") else one.what) for one in found
    ]
    assert named == wanted
    assert all(one.kept != one.counted for one in found)


def test_a_node_that_is_not_in_the_book_misses_everything_that_is_held_there() -> None:
    found = {one.what for one in differences(forgotten(fleet())) if one.where == NODE}
    assert found >= {"held: cpu", "held: memory", "held: pods", "held: device /x"}
