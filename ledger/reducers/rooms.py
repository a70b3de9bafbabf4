"""How much room clusters have: what their nodes have free, and what divisions promised of it.

What a node has free (``ledger.reducers.book``) counts while it is ready, schedulable and not about
to be taken away. Which nodes of a cluster changed is kept (``ledger.reducers.trails``), so that whoever
counts what fits need not look at all of them again. What a workload was promised on a cluster, by its
division in force or because it is all to be deployed there, and has on no node yet, claims what it
requests, whichever nodes it will end up on; edits of the request change the claim with it.

A node that cut its cores otherwise while somebody is bound to pieces of them keeps the old ones. From
the event or deadline after the last piece was given back it has what it told since: whoever gives back
and takes in one event does both in the same pieces.

Both are kept up by what changes them. What follows from them, and how large a volume is that is
only known by its text, is worked out by ``ledger.decisions.room``. A cluster with more room than
before may serve somebody who was refused: ``ledger.reducers.retries`` is told. Rounds of jobs read
what each node has free for tasks: ``ledger.reducers.rounds`` is told of every change of that.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Final, TypeVar

from immutables import Map

from ledger.facts.cluster import NodeUpserted
from ledger.facts.workload import Request, WorkloadUpserted
from ledger.reducers import book, deficits, incidents, rounds
from ledger.reducers.book import NOTHING_HELD, Change, Offer
from ledger.reducers.incidents import Contradiction
from ledger.reducers.instances import subject_of
from ledger.reducers.objects import Key, Objects, restated
from ledger.reducers.replacing import replace
from ledger.reducers.retries import grew, grew_for, less_promised
from ledger.reducers.trails import begun as trail_begun
from ledger.reducers.world import NO_ROOM, Account, Claim, Room, Rooms, World
from ledger.units import ClusterName, NodeName, Subject

Name = TypeVar("Name")

_SAID: Final = attrgetter(*(part.name for part in fields(NodeUpserted) if part.name != "revision"))


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
    rooms = world.rooms
    if reclaiming is not rooms.reclaiming:
        rooms = replace(rooms, reclaiming=reclaiming)
    named = tuple(subjects)
    after = replace(world, objects=objects, rooms=rooms, turned=_turned(world, named))
    # Whatever changed on a node may be what somebody there waits for.
    changed = [subject for subject in named if _changed(world, after, subject)]
    after = _offered(world, after, changed)
    for cluster in sorted({subject.partition("/")[0] for subject in changed}):
        after = grew_for(after, ("nodes", cluster))
    return _judged(after, changed)


def with_holdings(world: World, changes: Sequence[Change]) -> World:
    """The World in which these holdings came to their nodes, or left them."""
    if not changes:
        return world
    nodes = sorted({change.node for change in changes})
    changed = book.changed(world.book, changes)
    after = replace(world, book=changed, turned=_turned(world, nodes))
    return _judged(_offered(world, after, nodes), nodes)


def recut(world: World, turned: Iterable[Account]) -> World:
    """The World in which those nodes among these to which nobody is bound have the cores they told."""
    told = world.rooms.told
    if not told:
        return world
    nodes = [
        node
        for kind, node in sorted(turned)
        if kind == "node" and node in told and not world.book.get(node, NOTHING_HELD).pieces
    ]
    after = world
    for node in nodes:
        known = restated(after.objects, Key("node", node), told[node])
        after = with_told(replace(after, objects=known), node, None)
    after = _offered(world, after, nodes)
    for cluster in sorted({node.partition("/")[0] for node in nodes}):
        after = grew_for(after, ("nodes", cluster))
    return _judged(with_turned(after, nodes), nodes)


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


def claims_replaced(
    before: World, world: World, workload: Subject, *, only: ClusterName | None = None
) -> World:
    """The World with what a workload now claims in the place of what it claimed before.

    ``only`` names the cluster where that is known to be all that can differ.
    """
    was, is_ = promised(before, workload, only=only), promised(world, workload, only=only)
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


def promised(
    world: World, workload: Subject, *, only: ClusterName | None = None
) -> dict[ClusterName, tuple[Request, int]]:
    """What a workload was promised and has on no node yet, or of that what is in one cluster; in no order."""
    fact = world.workload(workload)
    if fact is None:
        return {}
    last = world.divisions.last.get(workload)
    shares: list[tuple[ClusterName, int]] = []
    if last is not None and last.in_force:
        shares = [
            (share.cluster, share.replicas)
            for share in last.division.shares
            if only is None or share.cluster == only
        ]
    elif fact.division is None and fact.cluster is not None and not _has_tasks(fact):
        shares = [(fact.cluster, fact.replicas)] if only in {None, fact.cluster} else []
    claims: dict[ClusterName, tuple[Request, int]] = {}
    of = world.deployments.of
    for cluster, share in shares:
        if not share:
            continue
        state = of.get(subject_of(workload, cluster))
        held = 0 if state is None or state.over else len(state.instances)
        if share > held:
            claims[cluster] = fact.request, share - held
    return claims


def _has_tasks(fact: WorkloadUpserted) -> bool:
    """Whether it is placed in rounds, and promised nothing before."""
    return fact.kind == "Job" and fact.queue is not None


def _offered(before: World, after: World, subjects: Iterable[Subject]) -> World:
    """``after`` with the room that these nodes have there; who waits for it is told."""
    stirred: dict[ClusterName, list[NodeName]] = {}
    counts: dict[ClusterName, int] = {}
    changed: dict[ClusterName, None] = {}
    moved: list[tuple[Subject, book.Loose | None, book.Loose | None]] = []
    kept: dict[ClusterName, None] = {}
    divisions_wait, listed = bool(after.retries.waiting), after.retries.listed
    lacking, mendable = after.proposals.lacking, dict[ClusterName, None]()
    for subject in subjects:
        cluster = ClusterName(subject.partition("/")[0])
        stirred.setdefault(cluster, []).append(NodeName(subject[len(cluster) + 1 :]))
        there = _Both(before, after, subject)
        awaited = ("nodes", cluster) in listed
        if awaited and there.grew_where_it_is:
            kept[cluster] = None
        was, is_ = there.in_use(before, 0), there.in_use(after, 1)
        if (was is None) != (is_ is None):
            counts[cluster] = counts.get(cluster, 0) + (-1 if is_ is None else 1)
        same = _declares_the_same(was, is_)
        if (there.held[0] is there.held[1] and same) or was is is_ is None:
            continue
        # Else it is known already that rounds are to look again.
        if _is_read(after) and takes_work(after, cluster):
            had, has = (
                None if node is None else book.loose(node, held)
                for node, held in zip((was, is_), there.held, strict=True)
            )
            if had != has:
                moved.append((subject, had, has))
            elif was is not None and is_ is not None:
                after = rounds.relabelled_node(after, cluster, was.labels, is_.labels)
        lacks = cluster in lacking and is_ is not None and deficits.is_on_demand(after, is_)
        if (divisions_wait or awaited or lacks) and (not same or book.grew(*there.offers)):
            changed[cluster] = None
            if lacks:
                mendable[cluster] = None
    after = replace(after, rooms=_stirred(after.rooms, stirred, counts))
    after = rounds.stirred(after, moved) if moved else after
    world = grew(after, sorted(changed))
    for cluster in sorted(kept):
        world = grew_for(world, ("nodes", cluster))
    return deficits.room_grew(world, mendable)


class _Both:
    """A node as it was and as it is, and what is held there; what is free is worked out if asked for."""

    __slots__ = ("_offers", "facts", "held", "subject")

    def __init__(self, before: World, after: World, subject: Subject) -> None:
        self.subject = subject
        was = is_ = before.objects.fact("node", subject)
        if after.objects is not before.objects:
            is_ = after.objects.fact("node", subject)
        assert was is None or isinstance(was, NodeUpserted)
        assert is_ is None or isinstance(is_, NodeUpserted)
        self.facts = was, is_
        self.held = before.book.get(subject, NOTHING_HELD), after.book.get(subject, NOTHING_HELD)
        self._offers: tuple[Offer | None, Offer | None] | None = None

    def in_use(self, world: World, side: int) -> NodeUpserted | None:
        """The node in the World of a side, if it takes new work there."""
        node = self.facts[side]
        if node is None or not (node.ready and node.schedulable):
            return None
        return None if self.subject in world.rooms.reclaiming else node

    @property
    def offers(self) -> tuple[Offer | None, Offer | None]:
        """What is free on both sides, whether or not the node takes new work."""
        if self._offers is None:
            was, is_ = (
                None if node is None else book.free(node, held)
                for node, held in zip(self.facts, self.held, strict=True)
            )
            self._offers = was, is_
        return self._offers

    @property
    def grew_where_it_is(self) -> bool:
        """Whether there is more room for what changes without leaving the node.

        That is allowed on a node that takes nothing new, too.
        """
        was, is_ = self.facts
        if was is None or is_ is None:
            return False
        return was.labels != is_.labels or book.grew(*self.offers)


def _is_read(world: World) -> bool:
    """Whether rounds are yet to be told that something changed."""
    return not (world.jobs.rounds.changed or world.jobs.rounds.done)


def _stirred(
    rooms: Rooms, stirred: Mapping[ClusterName, list[NodeName]], counts: Mapping[ClusterName, int]
) -> Rooms:
    """The rooms in which these nodes have changed, and so many more take new work."""
    trails = rooms.trails
    for cluster, nodes in stirred.items():
        trail = trails.get(cluster)
        trails = trails.set(cluster, (trail_begun() if trail is None else trail).on(nodes))
    by_cluster = rooms.by_cluster
    for cluster, more in counts.items():
        room = by_cluster.get(cluster, NO_ROOM)
        by_cluster = _put(by_cluster, cluster, replace(room, nodes=room.nodes + more))
    return replace(rooms, by_cluster=by_cluster, trails=trails)


def takes_work(world: World, cluster: ClusterName) -> bool:
    """Whether new work may go to a cluster at all."""
    known = world.clusters.get(cluster)
    return known is not None and known.ready


def with_turned(world: World, subjects: Iterable[Subject]) -> World:
    """The World in which it is known that something was said of these nodes, or done there."""
    return replace(world, turned=_turned(world, subjects))


def _turned(world: World, subjects: Iterable[Subject]) -> Map[Account, None]:
    turned = world.turned
    for subject in subjects:
        turned = turned.set(Account("node", subject), None)
    return turned


def _judged(world: World, subjects: Iterable[Subject]) -> World:
    """The World in which it is known which of these nodes declare too little."""
    found = world.incidents
    for subject in subjects:
        node = world.objects.fact("node", subject)
        one = Contradiction(subject, "over_committed", subject)
        held = world.book.get(subject, NOTHING_HELD)
        missing = book.short(node, held) if isinstance(node, NodeUpserted) else ()
        found = incidents.found(found, one, missing) if missing else incidents.over(found, one)
    return world if found is world.incidents else replace(world, incidents=found)


def _changed(before: World, after: World, subject: Subject) -> bool:
    """Whether a node says anything else than before, or has another mark."""
    was, is_ = before.objects.fact("node", subject), after.objects.fact("node", subject)
    if (subject in before.rooms.reclaiming) != (subject in after.rooms.reclaiming):
        return True
    if not (isinstance(was, NodeUpserted) and isinstance(is_, NodeUpserted)):
        return was is not is_
    return not says_the_same(was, is_)


def says_the_same(one: NodeUpserted, other: NodeUpserted) -> bool:
    """Whether a node says of itself what it said already."""
    said: bool = _SAID(one) == _SAID(other)
    return said


def _declares_the_same(one: NodeUpserted | None, other: NodeUpserted | None) -> bool:
    """Whether two declarations offer the same to the same wishes."""
    if one is other:
        return True
    if one is None or other is None:
        return False
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
