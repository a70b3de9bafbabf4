"""Which disk takes a replica: the node first, then the disk on it.

Nodes are compared as if each were one disk, with the usable bytes and totals of its candidate disks
added up; then the disks of the best node. Both stages go by the balance score that the placement
would leave, ties by more usable bytes and then by the name.

There are two scopes, which are two profiles. ``node`` compares the disks of the chosen node among
themselves, takes only nodes on which a single disk is large enough, and always names a disk: where
none is large enough, the one with the most usable bytes, signed, and says that it is overcommitted.
``candidates`` is what Longhorn 1.11 ships: disks are scored in the set of all candidates, a node
is large enough if its disks together are, and where Longhorn falls back on an arbitrary disk, or
scores nothing, there is no disk.

A single candidate is taken as it is. That the candidates may be used at all is for
``ledger.core.disk.scheduling`` to see to.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ledger.core.disk.space import Disk
from ledger.core.disk.weighing import Score, Weighing
from ledger.core.shares import require_count
from ledger.errors import InvalidRequest
from ledger.units import NodeName

Scope = Literal["node", "candidates"]
"""Among which disks a disk is scored; the scope also chooses the profile."""

Rule = Literal["single", "balance", "most_usable"]
"""What named the disk: it was the only one, the scores, or, overcommitted, its signed bytes."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The disk and how it was found; a rule other than ``balance`` has no stages."""

    disk: Disk
    rule: Rule
    overcommitted: bool
    node_stage: Weighing | None = None
    disk_stage: Weighing | None = None

    @property
    def node_scores(self) -> dict[str, Score]:
        """What placing on each node would leave."""
        return {} if self.node_stage is None else self.node_stage.scores()

    @property
    def disk_scores(self) -> dict[str, Score]:
        """What placing on each disk of the chosen node would leave."""
        return {} if self.disk_stage is None else self.disk_stage.scores()


@dataclass(frozen=True, slots=True)
class NoDisk:
    """No disk can be named: there is none, or (scope candidates) none has a score."""

    size: int
    stage: Literal["none", "node", "disk"]
    """Where the search ended: before it began, among nodes, or among the disks of the best node."""
    node_stage: Weighing | None = None
    code: Literal["no_disk"] = "no_disk"


def choose(
    disks: Sequence[Disk], *, size: int, alpha: Fraction = Fraction(1), scope: Scope = "node"
) -> Choice | NoDisk:
    """Name the disk for a replica of ``size``; ``disks`` are all at different addresses."""
    require_count("size", size)
    if not disks:
        return NoDisk(size, "none")
    if len(disks) == 1:
        return Choice(disks[0], "single", overcommitted=disks[0].usable < size)

    nodes = _node_stage(disks, size=size, alpha=alpha, scope=scope)
    if not nodes.feasible and scope == "node":
        fullest_last = min(disks, key=lambda disk: (-disk.usable, disk.node, disk.name))
        return Choice(fullest_last, "most_usable", overcommitted=True, node_stage=nodes)
    node = nodes.best(undefined_wins=scope == "node")
    if node is None:
        return NoDisk(size, "node", nodes)

    chosen = NodeName(nodes.names[node])
    if scope == "node":
        return on_node([disk for disk in disks if disk.node == chosen], nodes)
    stage = Weighing(
        names=[disk.name for disk in disks],
        usable=[disk.room for disk in disks],
        totals=[disk.total for disk in disks],
        size=size,
        alpha=alpha,
        feasible=[
            place for place, disk in enumerate(disks) if disk.node == chosen and disk.room >= size
        ],
        listed=[place for place, disk in enumerate(disks) if disk.node == chosen],
    )
    place = stage.best(undefined_wins=False)
    if place is None:
        return NoDisk(size, "disk", nodes)
    return Choice(disks[place], "balance", False, nodes, stage)


def on_node(disks: Sequence[Disk], nodes: Weighing) -> Choice:
    """Name one of the disks of the best node, which are compared among themselves."""
    rooms = [disk.room for disk in disks]
    stage = Weighing(
        names=[disk.name for disk in disks],
        usable=rooms,
        totals=[disk.total for disk in disks],
        size=nodes.size,
        alpha=nodes.alpha,
        feasible=[place for place, room in enumerate(rooms) if room >= nodes.size],
        listed=range(len(disks)),
    )
    place = stage.best(undefined_wins=True)
    assert place is not None, "a node without a disk that is large enough is not feasible"
    return Choice(disks[place], "balance", False, nodes, stage)


def require_addresses(disks: Sequence[Disk]) -> None:
    """Refuse two disks at one address."""
    seen: set[tuple[str, str]] = set()
    for disk in disks:
        address = disk.node, disk.name
        if address in seen:
            raise InvalidRequest(
                "invalid_request", f"disk {disk.name} of node {disk.node} is given twice"
            )
        seen.add(address)


def _node_stage(disks: Sequence[Disk], *, size: int, alpha: Fraction, scope: Scope) -> Weighing:
    usable: dict[str, int] = {}
    totals: dict[str, int] = {}
    with_one_large_enough: set[str] = set()
    for disk in disks:
        node, room = disk.node, disk.room
        if node in usable:
            usable[node] += room
            totals[node] += disk.total
        else:
            usable[node] = room
            totals[node] = disk.total
        if room >= size:
            with_one_large_enough.add(node)
    if scope == "node":
        feasible = [place for place, node in enumerate(usable) if node in with_one_large_enough]
    else:
        feasible = [place for place, room in enumerate(usable.values()) if room >= size]
    return Weighing(
        names=list(usable),
        usable=list(usable.values()),
        totals=list(totals.values()),
        size=size,
        alpha=alpha,
        feasible=feasible,
        listed=range(len(usable)),
    )
