"""Histories of volumes, as Hypothesis draws them: a few small disks, and always too little room.

Replicas break and come back or do not, disks and nodes are to be emptied, or go; sizes and wishes
change in between. Disks are told of with a cluster and without one, and with nodes that speak for
themselves or do not.
"""

from fractions import Fraction

from hypothesis import strategies as st

from ledger.facts import disk
from ledger.facts.cluster import InventoryListed
from ledger.facts.event import Fact
from ledger.facts.own import TimePassed
from ledger.units import Bytes, ClusterName, Microseconds, NodeName, Subject, Uid
from tests.histories import (
    SECOND,
    cluster_gone,
    cluster_up,
    node_gone,
    node_reclaimed,
    node_up,
    policy,
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


def disk_up(
    place: tuple[str, str],
    name: str,
    *,
    maximum: int = 100,
    available: int = 100,
    reserved: int = 0,
    zone: str = "",
    tags: tuple[str, ...] = (),
    node_tags: tuple[str, ...] = (),
    allow: bool = True,
    schedulable: bool = True,
    evicting: bool = False,
    node_ready: bool = True,
    node_allow: bool = True,
    uid: str | None = None,
    revision: int | None = None,
) -> disk.DiskUpserted:
    cluster, node = place
    return disk.DiskUpserted(
        cluster=ClusterName(cluster),
        node=NodeName(node),
        disk=name,
        uid=Uid(uid or f"{cluster}/{node}/{name}"),
        revision=revision,
        zone=zone,
        region="",
        maximum=Bytes(maximum),
        available=Bytes(available),
        reserved=Bytes(reserved),
        type="filesystem",
        tags=tags,
        node_tags=node_tags,
        allow=allow,
        schedulable=schedulable,
        evicting=evicting,
        node_ready=node_ready,
        node_allow=node_allow,
    )


def disk_gone(
    place: tuple[str, str], name: str, uid: str | None, revision: int | None
) -> disk.DiskRemoved:
    cluster, node = place
    told = None if uid is None else Uid(uid)
    return disk.DiskRemoved(ClusterName(cluster), NodeName(node), name, told, revision)


def volume_up(
    name: str,
    size: int,
    replicas: int,
    *,
    node_soft: bool | None = None,
    zone_soft: bool | None = None,
    disk_soft: bool | None = None,
    disk_selector: tuple[str, ...] = (),
    node_selector: tuple[str, ...] = (),
    alpha: Fraction | None = None,
    workload: str | None = None,
    uid: str | None = None,
    revision: int | None = None,
) -> disk.VolumeUpserted:
    return disk.VolumeUpserted(
        name=name,
        uid=Uid(uid or name),
        revision=revision,
        size=Bytes(size),
        replicas=replicas,
        node_soft=node_soft,
        zone_soft=zone_soft,
        disk_soft=disk_soft,
        disk_selector=disk_selector,
        node_selector=node_selector,
        alpha=alpha,
        workload=workload,
    )


def volume_gone(name: str, uid: str | None, revision: int | None) -> disk.VolumeRemoved:
    return disk.VolumeRemoved(name, None if uid is None else Uid(uid), revision)


def failed(volume: str, number: int, *, reusable: bool) -> disk.ReplicaFailed:
    return disk.ReplicaFailed(volume, f"{volume}-r{number}", reusable)


def recovered(volume: str, number: int) -> disk.ReplicaRecovered:
    return disk.ReplicaRecovered(volume, f"{volume}-r{number}")


def disks_listed(cluster: str, there: list[tuple[tuple[str, str], str]]) -> InventoryListed:
    keys = {Subject(f"{c}/{n}/{d}") for (c, n), d in there if c == cluster}
    return InventoryListed(ClusterName(cluster), "disk", tuple(sorted(keys)), None)


numbers = st.sampled_from([1, 1, 2, 2, 3, 4, 5, 6, 7])
tags = st.sampled_from([(), (), (), ("ssd",)])

disks_up = st.builds(
    disk_up,
    places,
    disks,
    maximum=st.sampled_from([60, 100, 100, 200]),
    available=st.sampled_from([60, 90, 100, 200]),
    reserved=st.sampled_from([0, 0, 10]),
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
plain_disks_up = st.builds(disk_up, places, disks, evicting=seldom)
softness = st.sampled_from([None, None, True, False])
volumes_up = st.builds(
    volume_up,
    volumes,
    st.sampled_from([10, 20, 20, 30, 45]),
    st.integers(0, 4),
    node_soft=softness,
    zone_soft=softness,
    disk_soft=softness,
    disk_selector=tags,
    node_selector=tags,
    alpha=st.sampled_from([None, None, Fraction(0), Fraction(1, 2)]),
    workload=st.sampled_from([None, "ns/a"]),
    uid=uids,
    revision=revisions,
)
plain_volumes_up = st.builds(
    volume_up, volumes, st.sampled_from([20, 20, 30]), st.integers(0, 4), node_soft=st.just(True)
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
        "disk.auto_balance": st.sampled_from(["best-effort", None]),
        "disk.over_provisioning_pct": st.sampled_from([50, 200, None]),
        "disk.min_available_pct": st.sampled_from([0, 10, None]),
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
    st.builds(failed, volumes, numbers, reusable=st.booleans()),
    st.builds(failed, volumes, numbers, reusable=st.just(True)),
    st.builds(recovered, volumes, numbers),
    nodes_up,
    st.one_of(
        st.builds(volume_gone, volumes, uids, revisions),
        st.builds(disk_gone, places, disks, uids, revisions),
        st.builds(disk_gone, places, disks, st.none(), st.none()),
        st.builds(node_gone, st.just("c1"), st.sampled_from(["n1", "n2", "n3"])),
        st.builds(node_reclaimed, st.just("c1"), st.sampled_from(["n1", "n2", "n3"])),
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
    *(disk_up(place, "d1") for place in PLACES[:4]),
    disk_up(PLACES[0], "d2", maximum=200, available=200),
    volume_up("v", 20, 3),
    volume_up("w", 30, 2),
)
"""Every history begins with something to decide about; the rest of it is drawn."""

START = tuple(Happening(fact, "east", 0) for fact in BEGINNING)


def histories(least: int, most: int) -> st.SearchStrategy[list[Happening]]:
    """Histories of so many events beyond the beginning."""
    drawn = st.lists(happenings, min_size=least, max_size=most)
    return drawn.map(lambda more: [*START, *more])
