"""What nodes have free for tasks, for all those of a cluster at once and from round to round.

They are of the nodes that take new work. Between one round and the next few of them change, and which
ones the trail of the World tells (``ledger.reducers.trails``): those are looked at again, and what was
counted of all of them is put right. What was found out is never written to once it was given out.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple

from ledger.core.fairshare.resources import Resource
from ledger.core.fairshare.room import NO_LIMIT, Column, Names, Plot
from ledger.facts.canonical import canonical
from ledger.reducers.book import NOTHING_HELD, Loose, loose
from ledger.reducers.rooms import node_in_use
from ledger.reducers.world import World
from ledger.units import ClusterName, NodeName, Subject

_QUOTED: Final = 1 << 17
"""Names of nodes: more than the largest fleet is meant to have, 50,000. They are looked at in their
order, so if there were fewer none would still be there when it comes again."""


CPU: Final = Resource("cpu")
MEMORY: Final = Resource("memory")
STORAGE: Final = Resource("storage")
RESOURCES: Final = (CPU, MEMORY, STORAGE)
"""What tasks can ask for, in the order of the names."""


class Nodes(NamedTuple):
    """What the nodes of a cluster that take new work have free, in the order of their names.

    Less than nothing is nothing.
    """

    plot: Plot
    """As the core finds them; they are named with their cluster."""
    spelled: "Spelled"


@dataclass(slots=True)
class Spelled:
    """Nodes as a round's inputs spell them, each up to its pools; nobody writes to it."""

    each: Sequence[str]
    _without_pools: str | None = field(default=None, compare=False)

    def but(self, changes: Mapping[int, str]) -> "Spelled":
        """The same nodes, of which some are spelled like this."""
        each = [*self.each]
        for place, text in changes.items():
            each[place] = text
        return self if each == self.each else Spelled(each)

    @property
    def without_pools(self) -> str:
        """All of them, where none is in a pool."""
        if self._without_pools is None:
            self._without_pools = ",".join([f"{text}[]]" for text in self.each])
        return self._without_pools


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
    names = before.plot.names.all
    rows = [(NodeName(subject), _row(world, subject)) for subject in subjects]
    changes: list[dict[int, Any]] = [{} for _ in _Row._fields]
    for name, row in rows:
        place = bisect_left(names, name)
        is_there = place < len(names) and names[place] == name
        if row is not None and is_there:
            for change, one in zip(changes, row, strict=True):
                change[place] = one
        elif row is not None or is_there:
            return _others(before, rows)
    cpu, memory, storage, slots, spelled = changes
    amounts = before.plot.amounts
    return Nodes(
        Plot(
            before.plot.names,
            {
                CPU: amounts[CPU].but(cpu),
                MEMORY: amounts[MEMORY].but(memory),
                STORAGE: amounts[STORAGE].but(storage),
            },
            before.plot.slots.but(slots),
        ),
        before.spelled.but(spelled),
    )


class _Row(NamedTuple):
    """What is told of a node beside its name."""

    cpu: int
    memory: int
    storage: int
    slots: int
    spelled: str


def _others(before: Nodes, rows: Iterable[tuple[NodeName, _Row | None]]) -> Nodes:
    """Nodes of which some are there only now, or not any more: those have None for a row."""
    plot = before.plot
    there = dict(
        zip(
            plot.names.all,
            map(
                _Row,
                *(plot.amounts[resource].amounts for resource in RESOURCES),
                plot.slots.amounts,
                before.spelled.each,
            ),
            strict=True,
        )
    )
    for name, row in rows:
        if row is None:
            there.pop(name, None)
        else:
            there[name] = row
    names = sorted(there)
    told = [there[name] for name in names]
    return Nodes(
        Plot(
            Names(names),
            {
                CPU: Column([row.cpu for row in told]),
                MEMORY: Column([row.memory for row in told]),
                STORAGE: Column([row.storage for row in told]),
            },
            Column([row.slots for row in told]),
        ),
        Spelled([row.spelled for row in told]),
    )


def _none() -> Nodes:
    columns = {resource: Column([]) for resource in RESOURCES}
    return Nodes(Plot(Names([]), columns, Column([])), Spelled([]))


def _row(world: World, subject: Subject) -> _Row | None:
    """What is told of a node; None if it takes no new work."""
    node = node_in_use(world.objects, world.rooms.reclaiming, subject)
    if node is None:
        return None
    signed = loose(node, world.book.get(subject, NOTHING_HELD))
    cpu, memory, storage = max(0, signed.cpu), max(0, signed.memory), max(0, signed.storage)
    slots = NO_LIMIT if signed.pods is None else max(0, signed.pods)
    told = "null" if signed.pods is None else slots
    spelled = f"[{_quoted(NodeName(subject))},[{cpu},{memory},{storage}],{told},"
    return _Row(cpu, memory, storage, slots, spelled)


@lru_cache(maxsize=_QUOTED)
def _quoted(name: NodeName) -> str:
    return canonical(name).decode()
