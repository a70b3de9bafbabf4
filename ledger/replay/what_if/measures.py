"""How a fleet stands: how even it is, how fair, and how much of it is on demand.

Every measure is an exact ratio, or None where there is nothing to measure. A *spread* of amounts is
(most - least) * how many / their sum: 0 is even, 1 says that the one with most has as much more than
the one with least as there is for each. A spread of use is most - least of what is used in parts of
what is declared, between 0 and 1 unless something is over-committed.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple

from immutables import Map

from ledger.facts.cluster import NodeUpserted
from ledger.facts.places import Places, counted
from ledger.reducers.book import NOTHING_HELD, Held, cpu_milli
from ledger.reducers.world import World
from ledger.units import NodeName, Subject

_NOBODY: Final[Map[Subject, int]] = Map()


@dataclass(frozen=True, slots=True)
class Measures:
    """How a fleet stands at one position."""

    open_refusals: int
    tasks_waiting: int
    cluster_spread: Fraction | None
    """Of replicas that divisions gave them."""
    cpu_spread: Fraction | None
    """Of nodes, in use."""
    memory_spread: Fraction | None
    host_spread: Fraction | None
    """Of the bytes of volumes on nodes with disks."""
    disk_spread: Fraction | None
    """The same on single disks."""
    disk_use_spread: Fraction | None
    """Of disks, in use."""
    least_served: Fraction | None
    """What the namespace that is worst off holds in its queue, in parts of what it deserves and
    asks for, as rounds told last."""
    on_demand: Fraction | None
    """The part of the instances on nodes of a known capacity class that is on on-demand nodes."""
    off_demand: int
    """Instances that belong on on-demand nodes and are elsewhere."""


def measured(world: World) -> Measures:
    """How a World stands."""
    nodes = list(_nodes(world))
    disks = [disk for name in sorted(world.disks.hosts) for disk in world.disks.hosts[name].disks]
    known, on_demand = _classes(world)
    return Measures(
        open_refusals=len(world.refusals),
        tasks_waiting=sum(world.jobs.of[job].waiting for job in sorted(world.jobs.of)),
        cluster_spread=_spread(_divided(world)),
        cpu_spread=_use_spread(
            (_held(world, node).cpu, cpu_milli(node)) for node in nodes if cpu_milli(node)
        ),
        memory_spread=_use_spread(
            (_held(world, node).memory, node.memory) for node in nodes if node.memory
        ),
        host_spread=_spread(
            [
                sum(disk.scheduled for disk in world.disks.hosts[name].disks)
                for name in sorted(world.disks.hosts)
            ]
        ),
        disk_spread=_spread([disk.scheduled for disk in disks]),
        disk_use_spread=_use_spread(
            (disk.scheduled, disk.maximum) for disk in disks if disk.maximum
        ),
        least_served=_least_served(world),
        on_demand=Fraction(on_demand, known) if known else None,
        off_demand=_off_demand(world),
    )


class Kept(NamedTuple):
    """Something that has places."""

    kind: str
    subject: Subject


def all_places(world: World) -> dict[Kept, Places]:
    """Where everything is that the ledger has placed, by kind and subject."""
    found: dict[Kept, Places] = {}
    for subject in sorted(world.divisions.last):
        last = world.divisions.last[subject]
        if last.in_force:
            shares = sorted((share.cluster, share.replicas) for share in last.division.shares)
            found[Kept("division", subject)] = {name: held for name, held in shares if held}
    for subject in sorted(world.deployments.of):
        held = world.deployments.of[subject]
        found[Kept("deployment", subject)] = counted(
            f"{held.cluster}/{instance.node}" for instance in held.instances
        )
    for subject in sorted(world.jobs.of):
        running = world.jobs.of[subject].running
        found[Kept("allocation", subject)] = counted(
            running[index].node for index in sorted(running)
        )
    for subject in sorted(world.disks.volumes):
        found[Kept("disk_placement", subject)] = counted(
            f"{replica.at.host}/{replica.at.disk}"
            for replica in world.disks.volumes[subject].replicas
        )
    return {kept: there for kept, there in found.items() if there}


def _nodes(world: World) -> Iterator[NodeUpserted]:
    for place in sorted(world.objects.members):
        if place.noun == "node":
            for subject in world.objects.inside("node", place.within):
                node = world.objects.fact("node", subject)
                assert isinstance(node, NodeUpserted), f"{subject} is no node"
                yield node


def _spread(amounts: Sequence[int]) -> Fraction | None:
    total = sum(amounts)
    if not total:
        return None
    return Fraction((max(amounts) - min(amounts)) * len(amounts), total)


def _use_spread(of: Iterable[tuple[int, int]]) -> Fraction | None:
    ratios = [Fraction(used, declared) for used, declared in of]
    return max(ratios) - min(ratios) if any(ratios) else None


def _divided(world: World) -> list[int]:
    """How many replicas each cluster has by divisions; one that has none counts with none."""
    replicas = dict.fromkeys(sorted(world.clusters), 0)
    for subject in sorted(world.divisions.last):
        last = world.divisions.last[subject]
        if last.in_force:
            for share in last.division.shares:
                replicas[share.cluster] = replicas.get(share.cluster, 0) + share.replicas
    return list(replicas.values())


def _held(world: World, node: NodeUpserted) -> Held:
    return world.book.get(Subject(f"{node.cluster}/{node.name}"), NOTHING_HELD)


def _least_served(world: World) -> Fraction | None:
    served = [
        Fraction(told.allocated) / min(told.deserved, Fraction(told.requested))
        for _, told in sorted(world.jobs.shares.items())
        if told.requested and told.deserved
    ]
    return min(served, default=None)


def _class(world: World, cluster: str, name: NodeName) -> str | None:
    node = world.objects.fact("node", Subject(f"{cluster}/{name}"))
    if not isinstance(node, NodeUpserted):
        return None
    spot = world.policy.spot
    value = dict(node.labels).get(spot.label)
    return value if value in {spot.on_demand, spot.spot} else None


def _classes(world: World) -> tuple[int, int]:
    """How many instances are on nodes of a known class, and how many of those on demand."""
    known = on_demand = 0
    for where in sorted(world.deployments.on):
        cluster, _, name = where.partition("/")
        found = _class(world, cluster, NodeName(name))
        if found is not None:
            there = world.deployments.on[where]
            count = sum(there[subject] for subject in sorted(there))
            known += count
            on_demand += count if found == world.policy.spot.on_demand else 0
    return known, on_demand


def _off_demand(world: World) -> int:
    count = 0
    for subject in sorted(world.deployments.targets):
        target = world.deployments.targets[subject].target
        held = world.deployments.of.get(subject)
        if target is None or held is None:
            continue
        # They are by number, and the lowest belong there.
        for instance in held.instances[:target]:
            found = _class(world, held.cluster, instance.node)
            count += found is not None and found != world.policy.spot.on_demand
    return count
