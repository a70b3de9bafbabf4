"""What the book says of nodes, amount by amount, for whoever shows it.

An amount has a name: ``cpu``, ``memory``, ``storage``, ``pods``, and ``core``, ``group`` and
``device`` each with the name of one. What is nothing is not listed.
"""

from collections.abc import Iterable
from typing import NamedTuple

from immutables import Map

from ledger.facts.cluster import NodeUpserted
from ledger.reducers.book import MILLI, NOTHING_HELD, Amounts, Change, Held, changed, cpu_milli
from ledger.reducers.incidents import Contradiction
from ledger.reducers.tasks import holding
from ledger.reducers.world import World
from ledger.units import Subject


class NodeBook(NamedTuple):
    """A node's page in the book."""

    cluster: str
    node: str
    declared: dict[str, int] | None
    """None where nobody knows the node; ``pods`` is missing where it sets no limit."""
    placed: dict[str, int]
    """What decisions in force placed there."""
    seen: dict[str, int]
    """What pods hold there beyond that."""
    tasks: dict[str, int]
    """What of ``placed`` tasks of jobs hold."""
    over_committed: bool
    """Whether it is known that the node declares less than it holds."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to be shown."""
        return self.declared is None and not (self.placed or self.seen)


def node_books(world: World, nodes: Iterable[Subject]) -> list[NodeBook]:
    """The pages of these nodes, in order."""
    return [_page(world, node) for node in sorted(set(nodes))]


def amounts(held: Held) -> dict[str, int]:
    """Everything that is held, by name."""
    if held == NOTHING_HELD:
        return {}
    sums = {
        "cpu": held.cpu,
        "memory": held.memory,
        "storage": held.storage,
        "pods": held.pods,
        **{f"core {name}": amount for name, amount in held.pieces.items()},
        **{f"group {name}": amount for name, amount in held.numa.items()},
        **{f"device {name}": amount for name, amount in held.volumes.items()},
    }
    return {name: sums[name] for name in sorted(sums) if sums[name]}


def _page(world: World, node: Subject) -> NodeBook:
    fact = world.objects.fact("node", node)
    beyond = [
        Change(node, world.pods.held[crew], -1)
        for crew in sorted(world.pods.on.get(node, ()))
        if crew in world.pods.held
    ]
    placed = changed(world.book, beyond).get(node, NOTHING_HELD)
    seen = changed(Map(), [change._replace(times=1) for change in beyond]).get(node, NOTHING_HELD)
    tasks = [
        Change(node, holding(task.request), 1)
        for job in sorted(world.jobs.on.get(node, ()))
        for task in world.jobs.of[job].running.values()
        if task.node == node
    ]
    cluster, _, name = node.partition("/")
    over_committed = Contradiction(node, "over_committed", node)
    return NodeBook(
        cluster,
        name,
        _declared(fact, placed) if isinstance(fact, NodeUpserted) else None,
        amounts(placed),
        amounts(seen),
        amounts(changed(Map(), tasks).get(node, NOTHING_HELD)),
        over_committed in world.incidents.told or over_committed in world.incidents.untold,
    )


def _declared(node: NodeUpserted, held: Held) -> dict[str, int]:
    declared = {
        "cpu": cpu_milli(node),
        "memory": node.memory,
        "storage": node.storage,
        **{f"core {name}": pieces for name, pieces in _cores(node, held)},
        **{f"group {name}": size for name, size in node.numa_memory},
        **{f"device {name}": size for name, size in node.volumes},
    }
    return declared if node.pods is None else declared | {"pods": node.pods}


def _cores(node: NodeUpserted, held: Held) -> Amounts:
    """As declared; where only the cpu is told, the whole cores of which somebody has pieces."""
    if node.cpu is None:
        return node.cores
    whole = node.cpu // MILLI
    return tuple(
        (core, node.share_base)
        for core in sorted(held.pieces)
        if core.isdecimal() and int(core) < whole
    )
