"""What is left to do though nobody tells anything: from which moment on the passing of time is enough.

Somebody who was refused is to be asked again, or a round that was full goes on: that is done inside the next
event, so one is owed at once. Else it is the first deadline, unless it lies beyond all calendars.

Who lets the time pass is not asked here (``ledger.engine.decider``).
"""

from typing import Final

from ledger.reducers import retries, rounds
from ledger.reducers.world import World, next_deadline
from ledger.units import Microseconds

LATEST: Final = Microseconds(253_402_300_799_999_999)
"""The end of the year 9999: no clock or calendar tells what is later, and nobody waits for it."""


def is_owed(world: World) -> bool:
    """Whether the next event would do something, whatever it tells: nothing else is waited for."""
    return retries.is_owed(world) or rounds.is_owed(world)


def due_at(world: World) -> Microseconds | None:
    """From which moment on the passing of time alone has something to do; None where it never has."""
    if is_owed(world):
        return world.now
    deadline = next_deadline(world)
    return None if deadline is None or deadline > LATEST else deadline
