"""Histories of jobs, as Hypothesis draws them: two small clusters, and always too little room.

Queues come, close and go, jobs share names with workloads that are none, nodes leave with what is
on them, policies change in between. Rounds close after few events or a short while, so that there
are many.
"""

from fractions import Fraction
from typing import Any, NamedTuple

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from ledger.facts import quota, workload
from ledger.facts.cluster import InventoryListed
from ledger.facts.event import Fact
from ledger.facts.own import TimePassed
from ledger.units import ClusterName, Microseconds, Replicas, Subject, Uid, Weight
from tests.histories import (
    SECOND,
    cluster_gone,
    cluster_up,
    divided,
    each_takes,
    node_gone,
    node_reclaimed,
    node_up,
    policy,
    reschedule,
    workload_gone,
)

long_histories = settings(
    # Whatever the profile: each example is the life of a whole fleet, lived twice, once by looking at
    # everything. Thousands of them are looked at by the runs that are marked long; fewer than these do
    # not reach everything that the laws speak of.
    max_examples=60,
    # A history is long on purpose, and what begins with two hundred events has no small example.
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
)

CLUSTERS = ["c1", "c2"]
NODES = ["n1", "n2"]
QUEUES = ["qa", "qb"]
JOBS = ["ns1/a", "ns1/b", "ns2/a", "ns2/c", "kube-system/d"]


class Happening(NamedTuple):
    """A fact, who said it, and how long after the one before it."""

    fact: Fact
    source: str
    after: int


names = st.sampled_from(CLUSTERS)
nodes = st.sampled_from(NODES)
queues = st.sampled_from(QUEUES)
keys = st.sampled_from(JOBS)
uids = st.sampled_from([None] * 20 + ["one", "two"])
revisions = st.sampled_from([None] * 15 + [1, 2, 3])
mostly = st.sampled_from([True] * 5 + [False])

requests = st.sampled_from(
    [
        each_takes(cpu=1000),
        each_takes(cpu=1000),
        each_takes(cpu=2000),
        each_takes(cpu=1500, bind=True, memory=1),
        each_takes(memory=2),
        each_takes(storage=1),
        each_takes(),
    ]
)


def job_up(
    key: str,
    replicas: int,
    queue: str | None = "qa",
    *,
    request: workload.Request | None = None,
    priority: int = 0,
    gang_min: int = 1,
    preemptable: bool = True,
    division: workload.DivisionSpec | None = None,
    cluster: str | None = None,
    selector: dict[str, str] | None = None,
    uid: str | None = None,
    revision: int | None = None,
    kind: workload.WorkloadKind = "Job",
) -> workload.WorkloadUpserted:
    namespace, name = key.split("/")
    deploy = None
    if selector is not None:
        deploy = workload.DeploySpec("AUTO", 0, 0, None, -1, tuple(sorted(selector.items())))
    return workload.WorkloadUpserted(
        namespace=namespace,
        name=name,
        uid=Uid(uid or key),
        revision=revision,
        kind=kind,
        replicas=Replicas(replicas),
        request=each_takes(cpu=1000) if request is None else request,
        division=division,
        cluster=None if cluster is None else ClusterName(cluster),
        deploy=deploy if kind == "Job" and queue is not None else None,
        min_available=None,
        queue=queue,
        priority=priority,
        gang_min=gang_min,
        preemptable=preemptable,
    )


def queue_up(
    name: str,
    *,
    weight: int = 1,
    capability: dict[str, int] | None = None,
    guarantee: dict[str, int] | None = None,
    is_open: bool = True,
    reclaimable: bool = True,
    priority: int = 0,
    uid: str | None = None,
    revision: int | None = None,
) -> quota.QueueUpserted:
    return quota.QueueUpserted(
        name=name,
        uid=Uid(uid or name),
        revision=revision,
        weight=Weight(weight),
        capability=tuple(sorted((capability or {}).items())),
        guarantee=tuple(sorted((guarantee or {}).items())),
        open=is_open,
        reclaimable=reclaimable,
        priority=priority,
    )


def queue_gone(name: str, uid: str | None, revision: int | None) -> quota.QueueRemoved:
    return quota.QueueRemoved(name, None if uid is None else Uid(uid), revision)


def quota_up(namespace: str, name: str, weight: int | str | None) -> quota.QuotaUpserted:
    """Text is a weight that is none."""
    return quota.QuotaUpserted(
        namespace=namespace,
        name=name,
        uid=Uid(f"{namespace}/{name}"),
        revision=None,
        hard=(),
        weight=Weight(weight) if isinstance(weight, int) else None,
        invalid_weight=weight if isinstance(weight, str) else None,
    )


def quota_gone(namespace: str, name: str) -> quota.QuotaRemoved:
    return quota.QuotaRemoved(namespace, name, None, None)


def job_finished(key: str, task: int | None, uid: str | None = None) -> workload.JobFinished:
    namespace, name = key.split("/")
    return workload.JobFinished(namespace, name, None if uid is None else Uid(uid), task)


def nodes_listed(name: str, there: list[str]) -> InventoryListed:
    listed = tuple(Subject(f"{name}/{node}") for node in sorted(there))
    return InventoryListed(ClusterName(name), "node", listed, None)


gold = st.sampled_from([{}, {}, {"tier": "gold"}])
wishes = st.sampled_from(
    [
        None,
        None,
        None,
        divided(clusters=["c1"]),
        divided(selector={"tier": "gold"}),
        divided({"c2": 1}),
    ]
)
jobs_up = st.builds(
    job_up,
    keys,
    st.integers(0, 4),
    st.sampled_from(["qa", "qa", "qb", "qb", "qc"]),
    request=requests,
    priority=st.sampled_from([0, 0, 0, 1, 2]),
    gang_min=st.sampled_from([1, 1, 1, 2, 3, 0]),
    preemptable=mostly,
    division=wishes,
    cluster=st.sampled_from([None] * 8 + ["c1", "c2"]),
    selector=st.sampled_from([None, None, None, {}, {"tier": "gold"}]),
    uid=uids,
    revision=revisions,
)
no_jobs = st.builds(
    job_up,
    keys,
    st.integers(0, 3),
    st.sampled_from([None, "qa"]),
    kind=st.sampled_from(["Job", "Deployment"]),
    division=st.sampled_from([None, divided()]),
)
some_past = {
    "fairshare.history.bucket_ms": st.sampled_from([400, 1000, 7000, None]),
    "fairshare.history.decay": st.sampled_from(
        [Fraction(1, 2), Fraction(9, 10), Fraction(1), Fraction(1, 2**40), None]
    ),
    "fairshare.history.past_weight": st.sampled_from(
        [Fraction(1), Fraction(2), Fraction(1, 3), Fraction(0), None]
    ),
    "fairshare.history.entry_penalty": st.sampled_from([True, False, None]),
}
nothing: st.SearchStrategy[dict[str, Any]] = st.just({})
past_uses = st.one_of(
    st.fixed_dictionaries({"fairshare.history": st.sampled_from([None, None, True])}),
    st.fixed_dictionaries(some_past),
    st.fixed_dictionaries({}, optional=some_past),
)
changes = st.fixed_dictionaries(
    {},
    optional={
        "fairshare.preempt": st.sampled_from([True, True, False, None]),
        "fairshare.reclaim": st.sampled_from([True, True, False, None]),
        "round.max_events": st.sampled_from([1, 1, 2, 4, None]),
        "round.max_milliseconds": st.sampled_from([0, 1500, None]),
    },
)
rare_changes = st.fixed_dictionaries(
    {},
    optional={
        "hold": st.sampled_from([False, None, True]),
        "round.max_tasks": st.sampled_from([1, 2, None]),
        "grace.node_ms": st.sampled_from([0, 1500, None]),
        "grace.cluster_ms": st.sampled_from([0, 1500, None]),
        "fairshare.scope": st.sampled_from(["global", None]),
        "fairshare.job_order": st.sampled_from([("drf", "priority"), None]),
        "fairshare.voters.preempt": st.sampled_from([("gang", "priority"), None]),
        "fairshare.voters.reclaim": st.sampled_from([("proportion",), ("gang", "priority"), None]),
    },
)
amounts = st.sampled_from([None, None, {"cpu": 2000}, {"cpu": 3000, "memory": 2}])

nodes_up = st.builds(
    node_up,
    names,
    nodes,
    uid=uids,
    revision=revisions,
    labels=gold,
    ready=mostly,
    schedulable=mostly,
    cores=st.sampled_from([None, None, {"0": 100, "1": 130}]),
    cpu=st.sampled_from([1000, 2000, 4000]),
    memory=st.sampled_from([0, 3, 8]),
    storage=st.sampled_from([0, 2]),
    pods=st.sampled_from([None, None, 1, 3]),
)
facts: st.SearchStrategy[Fact] = st.one_of(
    jobs_up,
    jobs_up,
    jobs_up,
    nodes_up,
    nodes_up,
    st.builds(
        queue_up,
        queues,
        weight=st.sampled_from([1, 1, 2, 3]),
        capability=amounts,
        guarantee=st.sampled_from([None, None, None, {"cpu": 1000}, {"cpu": 1000}, {"gpu": 1}]),
        is_open=mostly,
        reclaimable=mostly,
        priority=st.sampled_from([0, 0, 1]),
        uid=uids,
        revision=revisions,
    ),
    st.builds(job_finished, keys, st.sampled_from([None, 0, 0, 1, 1, 2, 3]), uids),
    st.builds(
        quota_up,
        st.sampled_from(["ns1", "ns2"]),
        st.sampled_from(["x", "y"]),
        st.sampled_from([None, 1, 2, 3, "lots"]),
    ),
    st.builds(lambda some, past: policy({**some, **past}), changes, st.one_of(nothing, past_uses)),
    st.one_of(
        no_jobs,
        st.builds(workload_gone, keys, uid=uids, revision=revisions),
        st.builds(node_gone, names, nodes),
        st.builds(node_reclaimed, names, nodes, uid=uids),
        st.builds(queue_gone, queues, uids, revisions),
        st.builds(quota_gone, st.sampled_from(["ns1", "ns2"]), st.sampled_from(["x", "y"])),
        st.builds(cluster_up, names, ready=st.booleans(), labels=gold, uid=uids),
        st.builds(cluster_up, names, labels=gold),
        st.builds(cluster_gone, names, uid=uids, revision=revisions),
        st.builds(nodes_listed, names, st.lists(nodes, unique=True)),
        st.builds(reschedule, keys, fresh=st.booleans()),
        st.builds(policy, rare_changes),
        st.builds(policy, st.just({"hold": False})),
        st.just(TimePassed(Microseconds(0))),
    ),
)
happenings = st.builds(
    Happening,
    facts,
    st.sampled_from(["east", "east", "west"]),
    st.sampled_from([0, 0, 0, SECOND // 2, SECOND, 2 * SECOND]),
)

BEGINNING: tuple[Fact, ...] = (
    policy(
        {
            "round.max_events": 2,
            "round.max_milliseconds": 1500,
            "fairshare.preempt": True,
            "fairshare.reclaim": True,
        }
    ),
    *(cluster_up(name, labels={"tier": "gold"}) for name in CLUSTERS),
    queue_up("qa", weight=2),
    queue_up("qb"),
    node_up("c1", "n1", cpu=4000, memory=8, storage=2),
    node_up("c2", "n1", cpu=3000, memory=4, pods=3),
    job_up("ns1/a", 5),
    job_up("ns2/a", 3, "qb"),
)
"""Every history begins with something to decide about; the rest of it is drawn."""

START = tuple(Happening(fact, "east", 0) for fact in BEGINNING)


def histories(least: int, most: int) -> st.SearchStrategy[list[Happening]]:
    """Histories of so many events beyond the beginning."""
    drawn = st.lists(happenings, min_size=least, max_size=most)
    return drawn.map(lambda more: [*START, *more])
