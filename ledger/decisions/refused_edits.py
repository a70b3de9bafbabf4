"""Whether an edit that was refused would be refused again: known without taking its turn.

An edit changes instances where they are. Those for which that does not go have to move, and if not all of
them find another place nothing is changed (``ledger.decisions.deployment_turn``). Such a refusal can stand
for long, and whenever something grew on a node of its cluster it is asked again. How many instances
a node cannot keep, and how many it could take once the others are changed, follows from that node alone. So
both are kept node by node, for as long as the node and what is on it stay as they are; and where more have
to move than all nodes together could take, nobody needs to be asked.

What is kept is worked out from a World and lies on its walk (``ledger.reducers.trails``).
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ledger.decisions.nodes import Nodes, nodes_of
from ledger.decisions.room import Wanted
from ledger.facts.cluster import NodeUpserted
from ledger.facts.deployment import Instance, Terms
from ledger.facts.workload import DeploySpec, WorkloadUpserted
from ledger.reducers.book import NOTHING_HELD, Held
from ledger.reducers.instances import Deployed, node_of
from ledger.reducers.world import World
from ledger.units import NodeName, Subject

MOST_KEPT: Final = 64
"""So many edits of a cluster are kept; they are forgotten together when there are more."""


class _Tried(NamedTuple):
    """What came of an edit on one node, and of what node that is."""

    node: NodeUpserted
    held: Held
    stay: int
    """How many are changed where they are."""
    room: int
    """For how many more of them there is room then, whether or not it takes new ones."""


class _Edit:
    """An edit that is tried again and again."""

    __slots__ = ("asked", "instances", "open", "tried")

    def __init__(self, instances: tuple[Instance, ...], asked: tuple[object, ...]) -> None:
        terms = asked[0]
        self.instances = instances
        self.asked = asked
        self.open: dict[NodeName, list[Instance]] = {}
        """Who wants something else than it was confirmed with, by number."""
        for one in instances:
            if one.terms != terms:
                self.open.setdefault(one.node, []).append(one)
        self.tried: dict[NodeName, _Tried] = {}


def more_move_than_fit(
    world: World,
    here: Deployed,
    workload: WorkloadUpserted,
    deploy: DeploySpec,
    one: Wanted,
    *,
    terms: Terms,
) -> bool:
    """Whether an edit leaves more instances without a place than there is room for in the cluster."""
    edit = _kept(world, here, (terms, one, world.policy.algorithms.placement))
    nodes = nodes_of(world, here.cluster, workload, deploy)
    if not edit.open.keys() <= nodes.facts.keys():
        return False
    limit = deploy.nodes_limit if deploy.strategy == "AUTO" else 0
    counts = Counter(held.node for held in here.instances)
    movers = room = 0
    for name in sorted(edit.open):
        tried = _tried(world, nodes, edit, name, terms)
        leaving = len(edit.open[name]) - tried.stay
        movers += leaving
        counts[name] -= leaving
        if name in nodes.schedulable:
            room += within_limit(tried.room, counts[name], limit)
    room += sum(
        within_limit(nodes.capacity(name), counts[name], limit)
        for name in nodes.schedulable
        if name not in edit.open
    )
    return movers > room


def within_limit(room: int, count: int, limit: int) -> int:
    """How many a node takes that has room for so many and holds so many; a limit of 0 is none."""
    return min(room, max(0, limit - count)) if limit else room


def _kept(world: World, here: Deployed, asked: tuple[object, ...]) -> _Edit:
    trail = world.rooms.trails.get(here.cluster)
    edits: dict[Subject, Any] = {}
    if trail is not None:
        edits = trail.walk.found.get(_Edit, edits)
        trail.keep(_Edit, edits)
    edit = edits.get(here.workload)
    if edit is None or edit.instances is not here.instances or edit.asked != asked:
        if len(edits) >= MOST_KEPT:
            edits.clear()
        edit = edits[here.workload] = _Edit(here.instances, asked)
    assert isinstance(edit, _Edit)
    return edit


def _tried(world: World, nodes: Nodes, edit: _Edit, name: NodeName, terms: Terms) -> _Tried:
    node, held = nodes.facts[name], world.book.get(node_of(nodes.cluster, name), NOTHING_HELD)
    known = edit.tried.get(name)
    if known is None or known.node is not node or known.held is not held:
        stay = _changed(nodes, edit.open[name], terms)
        known = edit.tried[name] = _Tried(node, held, stay, nodes.capacity(name))
    return known


def _changed(nodes: Nodes, there: Sequence[Instance], terms: Terms) -> int:
    """How many of a node's instances are changed where they are; the others give up their room."""
    stay = 0
    for one in there:
        after: Instance | None
        if one.terms.selector != terms.selector and not nodes.matches(one.node):
            after = None
        elif one.terms.request == terms.request:
            after = one._replace(terms=terms)
        else:
            after = nodes.reallocated(one, terms)
        nodes.give_back(one)
        if after is not None:
            nodes.take(after)
            stay += 1
    return stay
