"""What nodes have free for tasks, for all those of a cluster at once and from round to round.

They are of the nodes that take new work. Between one round and the next few of them change, and which
ones the trail of the World tells (``ledger.reducers.trails``): those are looked at again. What was
found out is never written to once it was given out.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from ledger.core.fairshare.room import NO_LIMIT
from ledger.facts.canonical import canonical
from ledger.reducers.book import NOTHING_HELD, Loose, loose
from ledger.reducers.rooms import node_in_use
from ledger.reducers.world import World
from ledger.units import ClusterName, NodeName, Subject

_QUOTED: Final = 1 << 17
"""Names of nodes: more than the largest fleet is meant to have, 50,000. They are looked at in their
order, so if there were fewer none would still be there when it comes again."""


class Nodes(NamedTuple):
    """What the nodes of a cluster that take new work have free, in the order of their names.

    Less than nothing is nothing.
    """

    names: Sequence[NodeName]
    """With their cluster."""
    cpu: Sequence[int]
    memory: Sequence[int]
    storage: Sequence[int]
    slots: Sequence[int]
    """``NO_LIMIT`` where tasks are not counted."""
    spelled: Sequence[str]
    """Each as a round's inputs spell it, up to its pools."""


def of(world: World, name: NodeName) -> Loose:
    """What one node that takes new work has free."""
    subject = Subject(name)
    node = node_in_use(world.objects, world.rooms.reclaiming, subject)
    assert node is not None, f"{name} takes no new work"
    return loose(node, world.book.get(subject, NOTHING_HELD))


class _Kept:
    """The nodes of a cluster as the World has them that was asked about last."""

    __slots__ = ("at", "nodes")

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.at = 0
        """Where on its walk that World stands."""


def nodes(world: World, cluster: ClusterName) -> Nodes:
    """The nodes of a cluster that take new work in this World if the cluster does."""
    trail = world.rooms.trails.get(cluster)
    if trail is None:
        return _looked_at(world, _none(), world.objects.inside("node", cluster))
    found = trail.walk.found.get(_Kept)
    if found is None:
        found = _Kept(_looked_at(world, _none(), world.objects.inside("node", cluster)))
        trail.keep(_Kept, found)
    elif found.at != trail.at:
        changed = [Subject(f"{cluster}/{name}") for name in sorted(trail.between(found.at))]
        found.nodes = _looked_at(world, found.nodes, changed)
    assert isinstance(found, _Kept)
    found.at = trail.at
    return found.nodes


def _looked_at(world: World, before: Nodes, subjects: Iterable[Subject]) -> Nodes:
    """The nodes as they are now, of which at most these are others than before."""
    columns: list[list[Any]] = [[*column] for column in before]
    names: list[NodeName] = columns[0]
    for subject in subjects:
        row = _row(world, subject)
        name = NodeName(subject)
        place = bisect_left(names, name)
        is_there = place < len(names) and names[place] == name
        if row is not None and is_there:
            for column, one in zip(columns, row, strict=True):
                column[place] = one
        elif row is not None:
            for column, one in zip(columns, row, strict=True):
                column.insert(place, one)
        elif is_there:
            for column in columns:
                del column[place]
    return Nodes(*columns)


def _none() -> Nodes:
    return Nodes([], [], [], [], [], [])


def _row(world: World, subject: Subject) -> tuple[NodeName, int, int, int, int, str] | None:
    """What is told of a node; None if it takes no new work."""
    node = node_in_use(world.objects, world.rooms.reclaiming, subject)
    if node is None:
        return None
    signed = loose(node, world.book.get(subject, NOTHING_HELD))
    cpu, memory, storage = max(0, signed.cpu), max(0, signed.memory), max(0, signed.storage)
    slots = NO_LIMIT if signed.pods is None else max(0, signed.pods)
    name = NodeName(subject)
    told = "null" if signed.pods is None else slots
    spelled = f"[{_quoted(name)},[{cpu},{memory},{storage}],{told},"
    return name, cpu, memory, storage, slots, spelled


@lru_cache(maxsize=_QUOTED)
def _quoted(name: NodeName) -> str:
    return canonical(name).decode()
