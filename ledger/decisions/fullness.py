"""How full a node is, by the resources that somebody wants of it: what GLOBAL and DRAINED weigh.

That is a mean over the resources (``ledger.core.capacity.merge``), so it does not depend on how much is
wanted of each, only on which. How full all nodes of a cluster are is compared far more often than it is
told: to be put in order each is a whole number, and only those that are asked about become fractions.
"""

from functools import lru_cache
from typing import Final, NamedTuple

from ledger.core.capacity.merge import BOUND_CPU_WEIGHT, OTHER_WEIGHT, Load, load, mean_load
from ledger.decisions.room import Wanted
from ledger.facts.cluster import NodeUpserted
from ledger.reducers.book import Held, cpu_milli

_HEIGHT: Final = 512
"""Bits that a node that is all used is high.

A fraction is of a product of what a node has of its resources, which is less than half as long: two that
differ do so by more than one over the product of both, and so do their heights.
"""


class Weighed(NamedTuple):
    """Which resources count."""

    cpu: bool
    memory: bool
    storage: bool


def weighed(one: Wanted) -> Weighed:
    """Those of which an instance wants any; cpu only if cores of its own."""
    return Weighed(one.cpu_bind, one.memory > 0, one.storage > 0)


def height(node: NodeUpserted, held: Held, what: Weighed) -> int:
    """A number that compares as the fraction of a node does that is used."""
    above, below, weight = 0, 1, 0
    if what.cpu:
        weight += BOUND_CPU_WEIGHT
        if milli := cpu_milli(node):
            above, below = BOUND_CPU_WEIGHT * held.cpu, milli
    if what.memory:
        weight += OTHER_WEIGHT
        if node.memory:
            above, below = above * node.memory + held.memory * below, below * node.memory
    if what.storage:
        weight += OTHER_WEIGHT
        if node.storage:
            above, below = above * node.storage + held.storage * below, below * node.storage
    assert 2 * (below.bit_length() + weight.bit_length()) < _HEIGHT, f"{node.name} is too large"
    return (above << _HEIGHT) // (below * weight) if weight else 0


def load_of(node: NodeUpserted, held: Held, one: Wanted) -> Load:
    """The same as a fraction, and the part of the node that one more instance takes."""
    cpu = (cpu_milli(node), held.cpu, one.cpu_milli) if one.cpu_bind else None
    memory = (node.memory, held.memory, one.memory) if one.memory else None
    storage = (node.storage, held.storage, one.storage) if one.storage else None
    return _load(cpu, memory, storage)


# From question to question most nodes are as full as they were, and the same few kinds are wanted.
@lru_cache(maxsize=1 << 14)
def _load(*resources: tuple[int, int, int] | None) -> Load:
    weights = (BOUND_CPU_WEIGHT, OTHER_WEIGHT, OTHER_WEIGHT)
    return mean_load(
        [
            load(used=resource[1], capacity=resource[0], request=resource[2], weight=weight)
            for resource, weight in zip(resources, weights, strict=True)
            if resource is not None
        ]
    )
