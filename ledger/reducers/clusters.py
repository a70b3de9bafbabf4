"""What happens to clusters, and to what lives in them.

A cluster that became not ready still counts as a candidate for the policy's ``grace.cluster_ms``
from that moment; the deadline is fixed when it is set, and taken back if the cluster is ready again
or goes. One that was never seen ready has no grace, and neither has another life of the name.

A node that is about to be taken away takes no new work for the rest of its life. What is lost with
one is told in ``ledger.reducers.deployments``, and of its disks in ``ledger.reducers.volumes``. A node
on which somebody is bound to pieces of cores may not cut its cores otherwise: all else that it says
counts, and what it says of its cores once nobody is bound any more (``ledger.reducers.rooms``).

With a cluster go its nodes and disks, its pods and ReplicaSets and what was admitted there; with a node go its
disks, while pods may be told of before their node is and outlive what is told of it. A full list of one noun removes what
it does not name, except what was reported after the moment up to which the list speaks.
"""

from collections.abc import Sequence
from typing import Final

from ledger.facts.cluster import (
    ClusterRemoved,
    ClusterUpserted,
    InventoryListed,
    Labels,
    NodeReclaiming,
    NodeRemoved,
    NodeUpserted,
)
from ledger.facts.reason import Deadline
from ledger.reducers import (
    admissions,
    deadlines,
    deficits,
    deployments,
    incidents,
    objects,
    pods,
    proposals,
    retries,
    rounds,
    volumes,
)
from ledger.reducers.book import NOTHING_HELD
from ledger.reducers.candidates import touched
from ledger.reducers.incidents import Contradiction
from ledger.reducers.objects import Key
from ledger.reducers.replacing import replace
from ledger.reducers.rooms import says_the_same, with_nodes, with_told, with_turned, without_marks
from ledger.reducers.world import Cluster, World
from ledger.units import ClusterName, Microseconds, Subject

_WITHIN: Final[tuple[objects.Noun, ...]] = ("node", "disk", "pod", "replicaset")
"""What goes with a cluster, in this order."""


def upserted(world: World, subject: Subject, fact: ClusterUpserted, *, source: str) -> World:
    """A cluster came or changed."""
    told = objects.upsert(
        world.objects, Key("cluster", subject), fact, source=source, now=world.now
    )
    if told.effect != "applied":
        return replace(world, last_effect=told.effect)
    before = world.clusters.get(fact.name)
    same_life = before if told.before is not None else None
    after = Cluster(fact.labels, fact.ready, _grace(world, fact, same_life))
    world = replace(_put(world, fact.name, before, after), objects=told.objects)
    if before == after and _region(told.before) == fact.region:
        return world
    return deficits.room_grew(retries.grew(world, [fact.name]), [fact.name])


def removed(world: World, subject: Subject, fact: ClusterRemoved, *, source: str) -> World:
    """A cluster is gone, with its nodes, disks, pods and ReplicaSets, and what was admitted there."""
    told = objects.remove(
        world.objects, Key("cluster", subject), fact, source=source, now=world.now
    )
    if told.effect != "applied":
        return replace(world, last_effect=told.effect)
    nodes, disks, there, above = (told.objects.inside(noun, fact.name) for noun in _WITHIN)
    world = _put(world, fact.name, world.clusters[fact.name], None)
    left = _dropped(_dropped(told.objects, "node", nodes, world.now), "disk", disks, world.now)
    world = volumes.disks_gone(_without_nodes(world, left, nodes), disks)
    before = admissions.cluster_gone(world, fact.name)
    left = _dropped(before.objects, "pod", there, world.now)
    before = pods.gone_with_cluster(replace(before, objects=left), before, there)
    # After the pods that name them: so none of those seems to become somebody else's.
    left = _dropped(before.objects, "replicaset", above, world.now)
    return pods.replicasets_gone(replace(before, objects=left), before, above)


def grace_over(world: World, deadline: Deadline) -> World:
    """A cluster has been not ready for too long."""
    name = ClusterName(deadline.subject)
    before = world.clusters[name]
    assert before.grace == deadline, f"{name}: {before.grace} was set, {deadline} fired"
    return _put(world, name, before, replace(before, grace=None))


def node_grace_over(world: World, deadline: Deadline) -> World:
    """A node has been not ready for too long."""
    return deployments.node_grace_over(world, deadline)


def node_upserted(world: World, subject: Subject, fact: NodeUpserted, *, source: str) -> World:
    """A node came or changed; another life of it is not about to be taken away."""
    kept = _kept_base(world, subject, fact)
    told = objects.upsert(world.objects, Key("node", subject), kept, source=source, now=world.now)
    if told.effect != "applied":
        return replace(world, last_effect=told.effect)
    if kept is not fact:
        before = world.rooms.told.get(subject)
        if before is None or before.share_base != fact.share_base:
            one = Contradiction(subject, "share_base_kept", subject)
            numbers = (("kept", kept.share_base), ("told", fact.share_base))
            world = replace(world, incidents=incidents.found(world.incidents, one, numbers))
    elif (
        isinstance(told.before, NodeUpserted)
        and fact.schedulable
        and says_the_same(told.before, fact)
    ):
        # What follows from it was found out when it was said for the first time.
        world = with_turned(replace(world, objects=told.objects), [subject])
        return with_told(world, subject, None)
    world = with_told(world, subject, None if kept is fact else fact)
    reclaiming = world.rooms.reclaiming
    if told.before is None:
        reclaiming = without_marks(world, [subject])
        world = deployments.node_settled(world, subject)
    world = with_nodes(world, told.objects, [subject], reclaiming=reclaiming)
    world = volumes.node_changed(world, subject)
    if told.before is None:
        return pods.node_changed(deployments.nodes_lost(world, [subject]), subject)
    assert isinstance(told.before, NodeUpserted)
    if told.before.labels != fact.labels:
        world = proposals.may_be_short(world, world.deployments.on.get(subject, ()))
        world = pods.may_be_short(world, world.pods.on.get(subject, ()))
    world = deployments.node_ready(world, subject, was=told.before.ready, is_=fact.ready)
    return world if fact.schedulable else pods.node_cordoned(world, subject)


def node_reclaiming(world: World, subject: Subject, fact: NodeReclaiming) -> World:
    """A node is about to be taken away."""
    effect = objects.named(world.objects, Key("node", subject), uid=fact.uid)
    if effect != "applied":
        return replace(world, last_effect=effect)
    if subject in world.rooms.reclaiming:
        return replace(world, last_effect="no_effect")
    reclaiming = world.rooms.reclaiming.set(subject, None)
    world = with_nodes(world, world.objects, [subject], reclaiming=reclaiming)
    return deployments.node_reclaiming(volumes.node_changed(world, subject), subject)


def node_removed(world: World, subject: Subject, fact: NodeRemoved, *, source: str) -> World:
    """A node is gone, with its disks."""
    told = objects.remove(world.objects, Key("node", subject), fact, source=source, now=world.now)
    if told.effect != "applied":
        return replace(world, last_effect=told.effect)
    return _without_nodes_and_disks(world, told.objects, [subject])


def listed(world: World, fact: InventoryListed) -> World:
    """Whatever of the noun the cluster does not list any more is gone."""
    there = frozenset(fact.keys)
    missing = [
        subject
        for subject in world.objects.inside(fact.noun, fact.cluster)
        if subject not in there and _is_covered(world, fact, subject)
    ]
    if not missing:
        return replace(world, last_effect="no_effect")
    left = objects.drop(
        world.objects, [Key(fact.noun, subject) for subject in missing], now=world.now
    )
    match fact.noun:
        case "node":
            return _without_nodes_and_disks(world, left, missing)
        case "pod":
            return pods.gone(replace(world, objects=left), world, missing)
        case "replicaset":
            return pods.replicasets_gone(replace(world, objects=left), world, missing)
        case "disk":
            return volumes.disks_gone(replace(world, objects=left), missing)


def _put(world: World, name: ClusterName, before: Cluster | None, after: Cluster | None) -> World:
    """The World with a cluster as it is now, its deadline set or taken back, and who is touched."""
    queue = world.deadlines
    was = None if before is None else before.grace
    is_ = None if after is None else after.grace
    if was != is_:
        queue = queue if was is None else deadlines.take_back(queue, was)
        queue = queue if is_ is None else deadlines.put(queue, is_)
    clusters = world.clusters
    if world.rooms.of(name).nodes:
        was_ready, is_ready = _labels_if_ready(before), _labels_if_ready(after)
        if was_ready is None or is_ready is None:
            world = world if was_ready == is_ready else rounds.changed(world)
        else:
            world = rounds.relabelled_cluster(world, name, was_ready, is_ready)
    return replace(
        world,
        clusters=clusters.delete(name) if after is None else clusters.set(name, after),
        deadlines=queue,
        due=touched(world, name, before=before, after=after),
    )


def _region(fact: objects.Upsert | None) -> str | None:
    return fact.region if isinstance(fact, ClusterUpserted) else None


def _grace(world: World, fact: ClusterUpserted, before: Cluster | None) -> Deadline | None:
    if fact.ready or before is None:
        return None
    if not before.ready:
        return before.grace
    grace = world.policy.grace.cluster_ms
    if grace == 0:
        return None
    return Deadline(deadlines.after(world.now, grace), "grace", Subject(fact.name))


def _kept_base(world: World, subject: Subject, fact: NodeUpserted) -> NodeUpserted:
    """What a node says, but with the pieces that it has as long as somebody is bound to some."""
    before = world.objects.fact("node", subject)
    if (
        not isinstance(before, NodeUpserted)
        or before.uid != fact.uid
        or before.share_base == fact.share_base
        or not world.book.get(subject, NOTHING_HELD).pieces
    ):
        return fact
    if not fact.cores:
        # Whole cores are told, and those are whole whatever the base is.
        return replace(fact, share_base=before.share_base)
    return replace(fact, share_base=before.share_base, cores=before.cores, cpu=before.cpu)


def _labels_if_ready(cluster: Cluster | None) -> Labels | None:
    """What a round sees of a cluster: one that is not ready is not there."""
    return cluster.labels if cluster is not None and cluster.ready else None


def _without_nodes(world: World, left: objects.Objects, nodes: Sequence[Subject]) -> World:
    for node in nodes:
        world = with_told(world, node, None)
    world = with_nodes(world, left, nodes, reclaiming=without_marks(world, nodes))
    for node in nodes:
        world = deployments.node_settled(world, node)
    world = deployments.nodes_lost(world, nodes)
    for node in nodes:
        world = pods.node_changed(world, node)
    return world


def _without_nodes_and_disks(
    world: World, kept: objects.Objects, nodes: Sequence[Subject]
) -> World:
    disks = [disk for node in nodes for disk in kept.inside("disk", node)]
    left = objects.drop(kept, [Key("disk", disk) for disk in disks], now=world.now)
    return volumes.disks_gone(_without_nodes(world, left, nodes), disks)


def _dropped(
    kept: objects.Objects, noun: objects.Noun, subjects: Sequence[Subject], now: Microseconds
) -> objects.Objects:
    return objects.drop(kept, [Key(noun, subject) for subject in subjects], now=now)


def _is_covered(world: World, fact: InventoryListed, subject: Subject) -> bool:
    return fact.through is None or world.objects.known[Key(fact.noun, subject)].at <= fact.through
