"""What lies on a fleet's disks, as the core plans moves of it and looks whether they can be made.

Moves stay within the disks that a subject means: the disks of a node, those of a cluster's nodes, or
all. Disks beyond them are neither scored nor moved to, but what lies there keeps others of its volume
away as ever. A volume that is asked for is moved alone, over all disks.

How far replicas are kept apart and how disks are balanced is the fleet's policy throughout: one score
cannot go by the word of each volume.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ledger.core.disk.affinity import Replica as CoreReplica
from ledger.core.disk.eligibility import Demands
from ledger.core.disk.rebalance import Stock, Stored
from ledger.core.disk.scheduling import Node, Volume
from ledger.decisions.disk_placement import rules_of
from ledger.decisions.hosts import hosts_of, with_own
from ledger.reducers.replicas import Copies, busy, replica_name
from ledger.reducers.volumes import evicting, wanted
from ledger.reducers.world import World
from ledger.units import NodeName, Subject


class Reach(NamedTuple):
    """Whose replicas are moved, and among the disks of which hosts."""

    volumes: Sequence[Subject]
    hosts: frozenset[NodeName]


def reach(world: World, subject: Subject) -> Reach | None:
    """What a subject means: everything, else a volume, else a host, else a cluster; None: nothing."""
    volumes, hosts = world.disks.volumes, world.disks.hosts
    if str(subject) == world.fleet:
        return Reach(sorted(volumes), frozenset(hosts))
    if wanted(world, subject) is not None:
        return Reach([subject], frozenset(hosts))
    there = frozenset(name for name in hosts if str(subject) in {name, hosts[name].cluster})
    return Reach(sorted(volumes), there) if there else None


def stock(world: World, within: Reach) -> Stock:
    """All that may be moved, and where to."""
    hosts = hosts_of(world)
    names: dict[NodeName, dict[str, frozenset[str]]] = {}
    stored: list[Stored] = []
    core: dict[str, Volume] = {}
    for volume in sorted(within.volumes):
        fact = wanted(world, volume)
        copies = world.disks.volumes.get(volume)
        if fact is None or copies is None or copies.over:
            continue
        core[str(volume)] = Volume(
            size=copies.size,
            demands=Demands(disk_selector=fact.disk_selector),
            node_selector=fact.node_selector,
        )
        for one in _replicas(world, volume, copies):
            stored.append(Stored(str(volume), one))
            there = names.setdefault(one.node, {})
            there[one.disk] = there.get(one.disk, frozenset()) | {one.name}
    full = busy(world.disks, world.policy.disk.rebuild_limit)
    return Stock(
        nodes=[
            _node(
                hosts.node(name), names.get(name), inside=name in within.hosts, is_busy=name in full
            )
            for name in hosts.names
        ],
        volumes=core,
        stored=stored,
        rules=rules_of(world.policy.disk, None),
    )


def _replicas(world: World, volume: Subject, copies: Copies) -> Iterator[CoreReplica]:
    """A volume's replicas, but for those that were waited for in vain."""
    for one in copies.replicas:
        if not one.overdue:
            yield CoreReplica(
                name=replica_name(volume, one.number),
                node=one.at.host,
                disk=one.at.disk,
                failed=one.failed,
                evicting=evicting(world.disks, one),
            )


def _node(
    there: Node, names: dict[str, frozenset[str]] | None, *, inside: bool, is_busy: bool
) -> Node:
    if is_busy:
        there = replace(there, busy=True)
    if not inside:
        return replace(there, drives=())
    # The book has counted what lies on a disk; a core that knows of it by name does not add it again.
    return there if names is None else with_own(there, names, {})
