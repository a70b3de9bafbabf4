"""Histories of volumes, as Hypothesis draws them: a few small disks, and always too little room.

Replicas break and come back or do not, disks and nodes are to be emptied, or go; sizes and wishes
change in between. Disks are told of with a cluster and without one, and with nodes that speak for
themselves or do not.
"""

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from ledger.facts import disk
from ledger.facts.cluster import InventoryListed
from ledger.facts.event import Fact
from ledger.facts.own import TimePassed
from ledger.units import ClusterName, Microseconds, Subject
from tests.histories import (
    SECOND,
    cluster_gone,
    cluster_up,
    disk_gone,
    disk_up,
    node_gone,
    node_reclaimed,
    node_up,
    policy,
    replica_failed,
    replica_recovered,
    volume_gone,
    volume_up,
)
from tests.laws.job_histories import Happening

VOLUMES = ["v", "w", "x"]
PLACES = [("c1", "n1"), ("c1", "n2"), ("c1", "n3"), ("", "n1"), ("c2", "n1")]

volumes = st.sampled_from(VOLUMES)
places = st.sampled_from(PLACES)
uids = st.sampled_from([None] * 20 + ["one", "two"])
revisions = st.sampled_from([None] * 15 + [1, 2, 3])
mostly = st.sampled_from([True] * 6 + [False])
seldom = st.sampled_from([False] * 6 + [True])
disks = st.sampled_from(["d1", "d2"])


def disk_at(place: tuple[str, str], name: str, **told: Any) -> disk.DiskUpserted:
    return disk_up(*place, name, **told)


def disk_off(place: tuple[str, str], name: str, uid: str | None) -> disk.DiskRemoved:
    return disk_gone(*place, name, uid=uid)


def failed(
    volume: str, number: int, *, reusable: bool, uid: str | None = None
) -> disk.ReplicaFailed:
    return replica_failed(f"{volume}-r{number}", reusable=reusable, uid=uid)


def recovered(volume: str, number: int, *, uid: str | None = None) -> disk.ReplicaRecovered:
    return replica_recovered(f"{volume}-r{number}", uid=uid)


def disks_listed(cluster: str, there: list[tuple[tuple[str, str], str]]) -> InventoryListed:
    keys = {Subject(f"{home}/{node}/{name}") for (home, node), name in there if home == cluster}
    return InventoryListed(ClusterName(cluster), "disk", tuple(sorted(keys)), None)


numbers = st.sampled_from([1, 1, 2, 2, 3, 4, 5, 6, 7])
tags = st.sampled_from([(), (), (), ("ssd",)])

disks_up = st.builds(
    disk_at,
    places,
    disks,
    maximum=st.sampled_from([60, 100, 100, 200]),
    available=st.sampled_from([60, 90, 100, 200]),
    reserved=st.sampled_from([0, None, 10]),
    zone=st.sampled_from(["", "", "a", "b"]),
    tags=tags,
    node_tags=tags,
    allow=mostly,
    schedulable=mostly,
    evicting=seldom,
    node_ready=mostly,
    node_allow=mostly,
    uid=uids,
    revision=revisions,
)
plain_disks_up = st.builds(disk_at, places, disks, evicting=seldom)
softness = st.sampled_from([None, None, True, False])
volumes_up = st.builds(
    volume_up,
    volumes,
    st.integers(0, 4),
    size=st.sampled_from([10, 20, 20, 30, 45]),
    node_soft=softness,
    zone_soft=softness,
    disk_soft=softness,
    disk_selector=tags,
    node_selector=tags,
    alpha=st.sampled_from([None, None, Fraction(0), Fraction(1, 2)]),
    workload_key=st.sampled_from([None, "ns/a"]),
    uid=uids,
    revision=revisions,
)
plain_volumes_up = st.builds(
    volume_up,
    volumes,
    st.integers(0, 4),
    size=st.sampled_from([20, 20, 30]),
    node_soft=st.just(True),
)
nodes_up = st.builds(
    node_up,
    st.sampled_from(["c1", "c1", "c2"]),
    st.sampled_from(["n1", "n2", "n3"]),
    ready=mostly,
    schedulable=mostly,
    uid=uids,
    revision=revisions,
)
changes = st.fixed_dictionaries(
    {},
    optional={
        "hold": st.sampled_from([False, None, True]),
        "disk.replenish_wait": st.sampled_from([0, 1500, 3000, None]),
        "disk.scope": st.sampled_from(["candidates", None]),
        "disk.alpha": st.sampled_from([Fraction(0), None]),
        "disk.node_soft": st.sampled_from([True, None]),
        "disk.zone_soft": st.sampled_from([False, None]),
        "disk.degraded_creation": st.sampled_from([False, None]),
        "disk.auto_balance": st.sampled_from(["best-effort", None]),
        "disk.over_provisioning_pct": st.sampled_from([50, 200, None]),
        "disk.min_available_pct": st.sampled_from([0, 10, None]),
        "disk.rebuild_limit": st.sampled_from([0, 1, None]),
        "retry.max_subjects": st.sampled_from([1, None]),
    },
)
facts: st.SearchStrategy[Fact] = st.one_of(
    disks_up,
    plain_disks_up,
    plain_disks_up,
    volumes_up,
    plain_volumes_up,
    plain_volumes_up,
    st.builds(failed, volumes, numbers, reusable=st.booleans(), uid=uids),
    st.builds(failed, volumes, numbers, reusable=st.just(True)),
    st.builds(recovered, volumes, numbers, uid=uids),
    nodes_up,
    st.one_of(
        st.builds(volume_gone, volumes, uid=uids),
        st.builds(disk_off, places, disks, uids),
        st.builds(disk_off, places, disks, st.none()),
        st.builds(node_gone, st.just("c1"), st.sampled_from(["n1", "n2", "n3"])),
        st.builds(node_reclaimed, st.just("c1"), st.sampled_from(["n1", "n2", "n3"]), uid=uids),
        st.builds(cluster_up, st.sampled_from(["c1", "c2"]), ready=st.booleans()),
        st.builds(cluster_gone, st.sampled_from(["c1", "c2"])),
        st.builds(
            disks_listed,
            st.sampled_from(["c1", "c1", "c2"]),
            st.lists(st.tuples(places, disks), max_size=8),
        ),
        st.builds(policy, changes),
        st.builds(policy, st.just({"hold": False})),
        st.just(TimePassed(Microseconds(0))),
    ),
)
happenings = st.builds(
    Happening,
    facts,
    st.sampled_from(["east", "east", "west"]),
    st.sampled_from([0, 0, 0, SECOND, SECOND, 2 * SECOND]),
)

BEGINNING: tuple[Fact, ...] = (
    policy({"disk.replenish_wait": 2000}),
    cluster_up("c1"),
    node_up("c1", "n1"),
    *(disk_at(place, "d1") for place in PLACES[:4]),
    disk_at(PLACES[0], "d2", maximum=200, available=200),
    volume_up("v", 3, size=20),
    volume_up("w", 2, size=30),
)
"""Every history begins with something to decide about; the rest of it is drawn."""

START = tuple(Happening(fact, "east", 0) for fact in BEGINNING)


def histories(least: int, most: int) -> st.SearchStrategy[list[Happening]]:
    """Histories of so many events beyond the beginning."""
    drawn = st.lists(happenings, min_size=least, max_size=most)
    return drawn.map(lambda more: [*START, *more])
