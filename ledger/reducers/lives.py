"""Which life of its log a World is in.

A log that was restored to an earlier point goes on in its next life, and the life is part of every
decision's id. So the next one begins before anything is decided at the position of the event that
opens it: the deadlines that pass on the way to that event raise decisions too, and in the life before
other decisions may have had their numbers.
"""

from typing import Final

from ledger.facts.event import Event
from ledger.facts.own import LogRecovered
from ledger.reducers.replacing import replace
from ledger.reducers.world import World
from ledger.units import Incarnation

FIRST: Final = Incarnation(1)
"""The life that every log begins in, however many it has had since."""


def entered(world: World, event: Event) -> World:
    """The World in the life that an event belongs to, before any deadline up to it has fired."""
    match event.fact:
        case LogRecovered(incarnation=incarnation):
            assert incarnation >= world.incarnation, f"life {incarnation} after {world.incarnation}"
            return replace(world, incarnation=incarnation)
        case _:
            return world
