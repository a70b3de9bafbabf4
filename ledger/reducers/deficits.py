"""Who is short of on-demand places, and is looked at again when there is more room for them.

Whoever lacks on-demand places gets a proposal when that begins (``ledger.reducers.proposals``), of as many
moves as there is room for. If that are too few, it is listed by its cluster, and looked at again when room
on an on-demand node there may have grown: the node came or changed, something on it was given back, the
cluster or the policy is other. The list says who was short when it was looked at last. Where nobody lacks
anything it is empty, and growing room costs no more than finding that out.

How many belong on on-demand nodes is for the core to say. Here it is known from the decisions; where none
has said it since what it depends on changed, all that is wanted counts, so that nobody is forgotten:
whoever is listed needlessly is looked at in vain.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from immutables import Map

from ledger.facts.cluster import Labels, NodeUpserted
from ledger.facts.workload import DeploySpec, WorkloadUpserted
from ledger.reducers.instances import Deployed, node_of, on_demand_below, workload_of
from ledger.reducers.open_proposals import Matter
from ledger.reducers.replacing import replace
from ledger.reducers.world import World
from ledger.units import ClusterName, NodeName, Subject

_NOBODY: Final[Map[Subject, None]] = Map()
_TOLD_APART: Final = frozenset({"Deployment", "StatefulSet"})
"""The kinds of workloads that have on-demand places at all."""


class Seated(NamedTuple):
    """A workload whose instances the ledger places by capacity class."""

    held: Deployed
    workload: WorkloadUpserted
    deploy: DeploySpec


def seated(world: World, subject: Subject) -> Seated | None:
    """A workload in a cluster; None where it has no places that could be wrong."""
    held = world.deployments.of.get(subject)
    workload = world.workload(workload_of(subject))
    if held is None or held.over or not held.share or workload is None:
        return None
    deploy = workload.deploy
    if deploy is None or deploy.strategy in {"FILL", "EACH"}:
        return None
    return Seated(held, workload, deploy)


def misplaced(world: World, held: Deployed, target: int) -> list[int]:
    """The numbers that belong on on-demand nodes, where those are so many, and are on spot nodes."""
    below = on_demand_below(held, target) if target else 0
    spot = world.policy.spot
    return [
        one.number
        for one in held.instances
        if one.number < below and (spot.label, spot.spot) in _labels(world, held, one.node)
    ]


def seen(world: World, subjects: Iterable[Subject]) -> World:
    """These were looked at: the World in which those are listed who lack more than is proposed."""
    lacking = world.proposals.lacking
    for subject in subjects:
        cluster = ClusterName(subject.rpartition("@")[2])
        known = lacking.get(cluster, _NOBODY)
        lacks = _lacks(world, subject)
        if lacks == (subject in known):
            continue
        known = known.set(subject, None) if lacks else known.delete(subject)
        lacking = lacking.set(cluster, known) if known else lacking.delete(cluster)
    return _with(world, lacking)


def room_grew(world: World, clusters: Iterable[ClusterName]) -> World:
    """There may be more room on on-demand nodes of these clusters."""
    grown = world.proposals.grown
    for cluster in clusters:
        # In no order, into a map that has none.
        for subject in world.proposals.lacking.get(cluster, _NOBODY):
            grown = grown.set(subject, None)
    if grown is world.proposals.grown:
        return world
    return replace(world, proposals=replace(world.proposals, grown=grown))


def is_on_demand(world: World, node: NodeUpserted) -> bool:
    """Whether room on a node is room for those."""
    spot = world.policy.spot
    return (spot.label, spot.on_demand) in node.labels


def forgotten(world: World, subject: Subject) -> World:
    """A workload in a cluster has nothing there any more, and is to have nothing."""
    cluster = ClusterName(subject.rpartition("@")[2])
    lacking = world.proposals.lacking
    known = lacking.get(cluster, _NOBODY)
    if subject not in known:
        return world
    known = known.delete(subject)
    return _with(world, lacking.set(cluster, known) if known else lacking.delete(cluster))


def _lacks(world: World, subject: Subject) -> bool:
    """Whether more is short than is proposed to be moved, and could be proposed."""
    found = seated(world, subject)
    if found is None:
        return False
    open_ = world.proposals.open.get(Matter("repair", subject))
    proposed = 0 if open_ is None else len(open_.moves)
    if open_ is not None and proposed >= open_.most:
        return False
    return len(misplaced(world, found.held, _most(world, found))) > proposed


def _most(world: World, found: Seated) -> int:
    """How many of the lowest numbers belong on on-demand nodes at most."""
    held, workload, _ = found
    if workload.kind not in _TOLD_APART:
        return 0
    if held.target is not None:
        return held.target
    default = world.policy.spot.default_min_available
    if held.share <= 1 or workload.min_available is not None or default is not None:
        return held.share
    return 0


def _labels(world: World, held: Deployed, name: NodeName) -> Labels:
    node = world.objects.fact("node", node_of(held.cluster, name))
    return node.labels if isinstance(node, NodeUpserted) else ()


def _with(world: World, lacking: Map[ClusterName, Map[Subject, None]]) -> World:
    if lacking is world.proposals.lacking:
        return world
    return replace(world, proposals=replace(world.proposals, lacking=lacking))
