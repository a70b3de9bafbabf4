"""Which nodes of a cluster changed on the way from one World to another.

Whoever looks at all nodes of a cluster for a question, and at all of them again for the next one,
looks at most of them in vain. A trail says which have changed in between, so that what was found out
about all of them can be kept and put right.

A *walk* is a list of nodes, one for each change, in the order in which Worlds were made from one
another; the trail of a World says how far along it that World stands. Between any two places of a
walk nothing else has changed than the nodes listed between them. Worlds need not follow one upon
the other: where somebody goes on from a World that others have gone on from already, the walk leads
back to it first, over the same nodes.

A trail says nothing about a World that the World does not say itself. It is no part of what makes
two Worlds equal, stands in no snapshot, and is begun anew whenever it grows long.
"""

from collections.abc import Hashable, Iterable
from typing import Any, Final, NamedTuple

from ledger.units import NodeName

MOST_STEPS: Final = 1 << 14
"""So long a walk has cost more than looking at every node of a large cluster anew."""

MOST_FOUND: Final = 64
"""More than so many different things are seldom asked about a cluster."""


class Walk:
    """The one part of a World that is written to while it is read: what was found out along it.

    What is found out is worked out from a World and no more than kept here, so nobody can see
    whether it was kept.
    """

    __slots__ = ("found", "steps")

    def __init__(self) -> None:
        self.steps: list[NodeName] = []
        self.found: dict[Hashable, Any] = {}


class Trail(NamedTuple):
    """How far along its walk a World stands."""

    walk: Walk
    at: int

    def on(self, nodes: Iterable[NodeName]) -> "Trail":
        """Where a World stands in which these nodes have changed."""
        steps = self.walk.steps
        if len(steps) - self.at > MOST_STEPS or len(steps) > 2 * MOST_STEPS:
            return begun()
        if self.at < len(steps):
            steps += steps[self.at :]
        steps += nodes
        return Trail(self.walk, len(steps))

    def between(self, at: int) -> frozenset[NodeName]:
        """Which nodes have changed between here and another place of the walk."""
        return frozenset(self.walk.steps[min(at, self.at) : max(at, self.at)])

    def keep(self, what: Hashable, found: object) -> None:
        """Keep what was found out here."""
        known = self.walk.found
        if len(known) >= MOST_FOUND and what not in known:
            known.clear()
        known[what] = found


def begun() -> Trail:
    """The beginning of a walk: nothing is known of what was before."""
    return Trail(Walk(), 0)
