"""How much room clusters have: what their nodes declare, and what divisions promised of it.

A node's declaration counts while it is ready, schedulable and not about to be taken away. Nodes
that declare the same are kept as one offer with a number, so that whoever counts what fits looks
at each kind of node once. A division in force claims what its replicas request on each of its
clusters, whichever nodes they will end up on; edits of the request change the claim with it.

Both are kept up by what changes them. What follows from them, and how large a volume is that is
only known by its text, is worked out by ``ledger.decisions.room``. A cluster with more room than
before may serve somebody who was refused: ``ledger.reducers.retries`` is told.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from immutables import Map

from ledger.facts.cluster import Labels, NodeUpserted
from ledger.facts.workload import Request
from ledger.reducers.objects import Objects
from ledger.reducers.retries import grew
from ledger.reducers.world import NO_ROOM, Claim, LastDivision, Offer, Room, World
from ledger.units import ClusterName, Subject

Name = TypeVar("Name")


def offer(node: NodeUpserted) -> Offer:
    """What a node declares, without what only names it."""
    return Offer(
        cores=node.cores,
        cpu=node.cpu,
        share_base=node.share_base,
        memory=node.memory,
        numa=node.numa,
        numa_memory=node.numa_memory,
        volumes=node.volumes,
        storage=node.storage,
        pods=node.pods,
    )


def node_in_use(
    objects: Objects, reclaiming: Map[Subject, None], subject: Subject
) -> NodeUpserted | None:
    """A node, if it takes new work."""
    node = objects.fact("node", subject)
    assert node is None or isinstance(node, NodeUpserted)
    if node is None or not (node.ready and node.schedulable) or subject in reclaiming:
        return None
    return node


def with_nodes(
    world: World,
    objects: Objects,
    subjects: Iterable[Subject],
    *,
    reclaiming: Map[Subject, None],
) -> World:
    """The World with these objects, and the offers of the named nodes as they now are."""
    rooms = world.rooms
    by_cluster = rooms.by_cluster
    changed: dict[ClusterName, None] = {}
    for subject in subjects:
        before = node_in_use(world.objects, rooms.reclaiming, subject)
        after = node_in_use(objects, reclaiming, subject)
        if _decisive(before) == _decisive(after):
            continue
        for node, more in ((before, -1), (after, 1)):
            if node is not None:
                room = by_cluster.get(node.cluster, NO_ROOM)
                offers = _counted(room.offers, offer(node), more)
                by_cluster = _put(by_cluster, node.cluster, replace(room, offers=offers))
                changed[node.cluster] = None
    rooms = replace(rooms, by_cluster=by_cluster, reclaiming=reclaiming)
    return grew(replace(world, objects=objects, rooms=rooms), sorted(changed))


def without_marks(world: World, subjects: Iterable[Subject]) -> Map[Subject, None]:
    """The nodes about to be taken away, without these."""
    reclaiming = world.rooms.reclaiming
    for subject in subjects:
        if subject in reclaiming:
            reclaiming = reclaiming.delete(subject)
    return reclaiming


def claims_replaced(world: World, before: LastDivision | None, after: LastDivision | None) -> World:
    """One division's claims in the place of another's; one that is not in force claims nothing."""
    by_cluster = world.rooms.by_cluster
    changed: dict[ClusterName, None] = {}
    for last, sign in ((before, -1), (after, 1)):
        if last is None or not last.in_force:
            continue
        for share in last.division.shares:
            if share.replicas:
                room = by_cluster.get(share.cluster, NO_ROOM)
                claim = _claimed(room.claim, last.request, sign * share.replicas)
                by_cluster = _put(by_cluster, share.cluster, replace(room, claim=claim))
                changed[share.cluster] = None
    rooms = replace(world.rooms, by_cluster=by_cluster)
    released = [
        cluster
        for cluster in sorted(changed)
        if _takes_less(world.rooms.of(cluster).claim, rooms.of(cluster).claim)
    ]
    return grew(replace(world, rooms=rooms), released)


def _decisive(node: NodeUpserted | None) -> tuple[Offer, Labels] | None:
    return None if node is None else (offer(node), node.labels)


def _claimed(claim: Claim, request: Request, replicas: int) -> Claim:
    volumes = claim.volumes
    if request.volumes:
        volumes = _counted(volumes, request.volumes, replicas)
    return Claim(
        cpu=claim.cpu + (replicas * request.cpu if request.cpu_bind else 0),
        memory=claim.memory + replicas * request.memory,
        storage=claim.storage + replicas * request.storage,
        pods=claim.pods + replicas,
        volumes=volumes,
    )


def _takes_less(before: Claim, after: Claim) -> bool:
    """Whether any of the amounts went down."""
    if any(was > now for was, now in zip(before[:-1], after[:-1], strict=True)):
        return True
    if before.volumes is after.volumes:
        return False
    return any(times > after.volumes.get(texts, 0) for texts, times in before.volumes.items())


def _counted(counts: Map[Name, int], name: Name, more: int) -> Map[Name, int]:
    count = counts.get(name, 0) + more
    if count:
        return counts.set(name, count)
    return counts.delete(name) if name in counts else counts


def _put(
    by_cluster: Map[ClusterName, Room], cluster: ClusterName, room: Room
) -> Map[ClusterName, Room]:
    if room == NO_ROOM:
        return by_cluster.delete(cluster) if cluster in by_cluster else by_cluster
    return by_cluster.set(cluster, room)
