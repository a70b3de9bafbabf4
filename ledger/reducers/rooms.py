"""How much room clusters have: what their nodes have free, and what divisions promised of it.

What a node has free (``ledger.reducers.book``) counts while it is ready, schedulable and not about
to be taken away. Nodes that have the same are kept as one offer with a number, so that whoever
counts what fits looks at each kind of node once. What a workload was promised on a cluster, by its
division in force or because it is all to be deployed there, and has on no node yet, claims what it
requests, whichever nodes it will end up on; edits of the request change the claim with it.

A node that cut its cores otherwise while somebody is bound to pieces of them keeps the old ones. From
the event or deadline after the last piece was given back it has what it told since: whoever gives back
and takes in one event does both in the same pieces.

Both are kept up by what changes them. What follows from them, and how large a volume is that is
only known by its text, is worked out by ``ledger.decisions.room``. A cluster with more room than
before may serve somebody who was refused: ``ledger.reducers.retries`` is told. Rounds of jobs read
what each node has free: ``ledger.reducers.rounds`` is told of every change.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeVar

from immutables import Map

from ledger.facts.cluster import NodeUpserted
from ledger.facts.workload import Request, WorkloadUpserted
from ledger.reducers import book, incidents, rounds
from ledger.reducers.book import NOTHING_HELD, Change, Offer
from ledger.reducers.incidents import Contradiction
from ledger.reducers.instances import subject_of
from ledger.reducers.objects import Key, Objects, restated
from ledger.reducers.replacing import replace
from ledger.reducers.retries import grew, grew_for, less_promised
from ledger.reducers.world import NO_ROOM, Claim, Room, World
from ledger.units import ClusterName, Subject

Name = TypeVar("Name")

_NOWHERE: Final[Map[ClusterName, None]] = Map()


def node_in_use(
    objects: Objects, reclaiming: Map[Subject, None], subject: Subject
) -> NodeUpserted | None:
    """A node, if it takes new work."""
    node = objects.fact("node", subject)
    assert node is None or isinstance(node, NodeUpserted)
    if node is None or not (node.ready and node.schedulable) or subject in reclaiming:
        return None
    return node


def in_use(world: World) -> Iterator[NodeUpserted]:
    """All nodes that take new work now, of clusters that do, cluster by cluster."""
    for cluster in sorted(world.clusters):
        if takes_work(world, cluster):
            for subject in world.objects.inside("node", cluster):
                node = node_in_use(world.objects, world.rooms.reclaiming, subject)
                if node is not None:
                    yield node


def with_nodes(
    world: World,
    objects: Objects,
    subjects: Iterable[Subject],
    *,
    reclaiming: Map[Subject, None],
) -> World:
    """The World with these objects, and the offers of the named nodes as they now are."""
    rooms = replace(world.rooms, reclaiming=reclaiming)
    named = tuple(subjects)
    after = _offered(world, replace(world, objects=objects, rooms=rooms), named)
    # Whatever changed on a node may be what somebody there waits for.
    changed = {subject.partition("/")[0] for subject in named if _changed(world, after, subject)}
    for cluster in sorted(changed):
        after = grew_for(after, ("nodes", cluster))
    return _judged(after, named)


def with_holdings(world: World, changes: Sequence[Change]) -> World:
    """The World in which these holdings came to their nodes, or left them."""
    if not changes:
        return world
    after = replace(world, book=book.changed(world.book, changes))
    nodes = sorted({change.node for change in changes})
    return _judged(_offered(world, after, nodes), nodes)


def recut(world: World, turned: Iterable[Subject]) -> World:
    """The World in which those of these nodes to which nobody is bound have the cores they told."""
    told = world.rooms.told
    if not told:
        return world
    nodes = [
        node
        for node in sorted(turned)
        if node in told and not world.book.get(node, NOTHING_HELD).pieces
    ]
    after = world
    for node in nodes:
        known = restated(after.objects, Key("node", node), told[node])
        after = with_told(replace(after, objects=known), node, None)
    after = _offered(world, after, nodes)
    for cluster in sorted({node.partition("/")[0] for node in nodes}):
        after = grew_for(after, ("nodes", cluster))
    return _judged(after, nodes)


def with_told(world: World, node: Subject, fact: NodeUpserted | None) -> World:
    """The World with what a node says that keeps other pieces than it tells; None: it keeps none."""
    told = world.rooms.told
    if fact is None and node not in told:
        return world
    told = told.delete(node) if fact is None else told.set(node, fact)
    return replace(world, rooms=replace(world.rooms, told=told))


def free(world: World, node: NodeUpserted) -> Offer:
    """What a node of this World has left."""
    subject = Subject(f"{node.cluster}/{node.name}")
    return book.free(node, world.book.get(subject, NOTHING_HELD))


def without_marks(world: World, subjects: Iterable[Subject]) -> Map[Subject, None]:
    """The nodes about to be taken away, without these."""
    reclaiming = world.rooms.reclaiming
    for subject in subjects:
        if subject in reclaiming:
            reclaiming = reclaiming.delete(subject)
    return reclaiming


def claims_replaced(before: World, world: World, workload: Subject) -> World:
    """The World with what a workload now claims in the place of what it claimed before."""
    was, is_ = promised(before, workload), promised(world, workload)
    if was == is_:
        return world
    by_cluster = world.rooms.by_cluster
    changed: dict[ClusterName, None] = {}
    for claims, sign in ((was, -1), (is_, 1)):
        for cluster, (request, replicas) in claims.items():
            room = by_cluster.get(cluster, NO_ROOM)
            claim = _claimed(room.claim, request, sign * replicas)
            by_cluster = _put(by_cluster, cluster, replace(room, claim=claim))
            changed[cluster] = None
    rooms = replace(world.rooms, by_cluster=by_cluster)
    released = [
        cluster
        for cluster in sorted(changed)
        if _takes_less(world.rooms.of(cluster).claim, rooms.of(cluster).claim)
    ]
    return less_promised(replace(world, rooms=rooms), released)


def promised(world: World, workload: Subject) -> dict[ClusterName, tuple[Request, int]]:
    """What a workload was promised and has on no node yet; in no order."""
    fact = world.workload(workload)
    if fact is None:
        return {}
    last = world.divisions.last.get(workload)
    deployed = {
        cluster: state
        for cluster in world.deployments.clusters.get(workload, _NOWHERE)
        if (state := world.deployments.of.get(subject_of(workload, cluster))) is not None
    }
    shares: list[tuple[ClusterName, int]] = []
    if last is not None and last.in_force:
        shares = [(share.cluster, share.replicas) for share in last.division.shares]
    elif fact.division is None and fact.cluster is not None and not _has_tasks(fact):
        shares = [(fact.cluster, fact.replicas)]
    claims: dict[ClusterName, tuple[Request, int]] = {}
    for cluster, share in shares:
        state = deployed.get(cluster)
        held = 0 if state is None or state.over else len(state.instances)
        if share > held:
            claims[cluster] = fact.request, share - held
    return claims


def _has_tasks(fact: WorkloadUpserted) -> bool:
    """Whether it is placed in rounds, and promised nothing before."""
    return fact.kind == "Job" and fact.queue is not None


def _offered(before: World, after: World, subjects: Iterable[Subject]) -> World:
    """``after`` with the offers of these nodes as they are there; who waits for them is told."""
    by_cluster = after.rooms.by_cluster
    changed: dict[ClusterName, None] = {}
    moved: list[ClusterName] = []
    kept: dict[ClusterName, None] = {}
    for subject in subjects:
        if (cluster := _grew_where_it_is(before, after, subject)) is not None:
            kept[cluster] = None
        was = node_in_use(before.objects, before.rooms.reclaiming, subject)
        is_ = node_in_use(after.objects, after.rooms.reclaiming, subject)
        held_before = before.book.get(subject, NOTHING_HELD)
        held_after = after.book.get(subject, NOTHING_HELD)
        if held_before is held_after and _declares_the_same(was, is_):
            continue
        offers = [
            None if node is None else book.free(node, held)
            for node, held in ((was, held_before), (is_, held_after))
        ]
        for node, offer, more in ((was, offers[0], -1), (is_, offers[1], 1)):
            if node is not None and offer is not None:
                room = by_cluster.get(node.cluster, NO_ROOM)
                counted = _counted(room.offers, offer, more)
                by_cluster = _put(by_cluster, node.cluster, replace(room, offers=counted))
        if offers[0] != offers[1]:
            moved += [node.cluster for node in (was, is_) if node is not None]
        elif was is not None and is_ is not None and takes_work(after, is_.cluster):
            after = rounds.relabelled_node(after, is_.cluster, was.labels, is_.labels)
        declared_otherwise = not _declares_the_same(was, is_)
        for node in (was, is_):
            if node is not None and (declared_otherwise or book.grew(*offers)):
                changed[node.cluster] = None
    rooms = replace(after.rooms, by_cluster=by_cluster)
    after = replace(after, rooms=rooms)
    if any(takes_work(after, cluster) for cluster in moved):
        after = rounds.changed(after)
    world = grew(after, sorted(changed))
    for cluster in sorted(kept):
        world = grew_for(world, ("nodes", cluster))
    return world


def takes_work(world: World, cluster: ClusterName) -> bool:
    """Whether new work may go to a cluster at all."""
    known = world.clusters.get(cluster)
    return known is not None and known.ready


def _grew_where_it_is(before: World, after: World, subject: Subject) -> ClusterName | None:
    """The cluster of a node with more room, for what changes without leaving it.

    That is allowed on a node that takes nothing new, too.
    """
    if ("nodes", subject.partition("/")[0]) not in after.retries.listed:
        # Nobody there waits for anything.
        return None
    was, is_ = before.objects.fact("node", subject), after.objects.fact("node", subject)
    if not (isinstance(was, NodeUpserted) and isinstance(is_, NodeUpserted)):
        return None
    more = book.grew(
        book.free(was, before.book.get(subject, NOTHING_HELD)),
        book.free(is_, after.book.get(subject, NOTHING_HELD)),
    )
    return is_.cluster if more or was.labels != is_.labels else None


def _judged(world: World, subjects: Iterable[Subject]) -> World:
    """The World in which it is known that these nodes are others, and which declare too little."""
    found, turned = world.incidents, world.turned
    for subject in subjects:
        turned = turned.set(subject, None)
        node = world.objects.fact("node", subject)
        one = Contradiction(subject, "over_committed", subject)
        held = world.book.get(subject, NOTHING_HELD)
        missing = book.short(node, held) if isinstance(node, NodeUpserted) else ()
        found = incidents.found(found, one, missing) if missing else incidents.over(found, one)
    return replace(world, incidents=found, turned=turned)


def _changed(before: World, after: World, subject: Subject) -> bool:
    """Whether a node says anything else than before, or has another mark."""
    was, is_ = before.objects.fact("node", subject), after.objects.fact("node", subject)
    if (subject in before.rooms.reclaiming) != (subject in after.rooms.reclaiming):
        return True
    if not (isinstance(was, NodeUpserted) and isinstance(is_, NodeUpserted)):
        return was is not is_
    return was != replace(is_, revision=was.revision)


def _declares_the_same(one: NodeUpserted | None, other: NodeUpserted | None) -> bool:
    """Whether two declarations offer the same to the same wishes."""
    if one is None or other is None:
        return one is other
    return (
        one.memory == other.memory
        and one.cpu == other.cpu
        and one.cores == other.cores
        and one.labels == other.labels
        and one.storage == other.storage
        and one.pods == other.pods
        and one.volumes == other.volumes
        and one.share_base == other.share_base
        and one.numa == other.numa
        and one.numa_memory == other.numa_memory
    )


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
