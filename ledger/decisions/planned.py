"""Moves as the rules of a kind plan them, and what stands in their way once they are approved.

Planning and carrying out are told kind by kind in other modules; these values are what they have in
common, and so is which system answers for a kind.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from ledger.facts.canonical import Plain
from ledger.facts.proposal import Proposed, What, WhyNoMore
from ledger.reducers.world import World
from ledger.units import Bytes


class Limits(NamedTuple):
    """How much may be moved at most."""

    moves: int
    size: Bytes | None


class Planned(NamedTuple):
    """Moves, what they are good for, and from what they were planned."""

    measure: str
    before: Fraction | None
    after: Fraction | None
    moves: tuple[Proposed, ...]
    ended: WhyNoMore
    inputs: Callable[[], Plain]
    """Spelled out only where something is recorded: most plans are of no moves, or of those open."""


class Hindered(NamedTuple):
    """The first move that cannot be made any more."""

    place: int
    """Which, counted from 0."""
    why: str


class System(NamedTuple):
    """Who answers, and in which version."""

    name: str
    version: int


def system(world: World, what: What) -> System:
    """Who answers for a kind of proposals."""
    algorithms = world.policy.algorithms
    match what:
        case "disks":
            return System("disk", algorithms.disk)
        case "deployments":
            return System("placement", algorithms.placement)
        case "repair" | "surplus":
            return System("spot", algorithms.spot)
