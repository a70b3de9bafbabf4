"""Run the real decider to the end of a log, for tests that need decisions."""

import asyncio
import math
from typing import Final

from ledger.engine import decider
from ledger.engine.decider import Pace, Progress

UNHURRIED: Final = Pace(soon_seconds=math.inf, behind_seconds=math.inf)
"""What is read together is written together, however slow the machine is."""


async def decide_all(url: str, *, holder: str = "tests") -> Progress:
    """Decide everything there is, ticks included."""
    return await decider.decide(
        url, holder=holder, until_idle=True, stop=asyncio.Event(), pace=UNHURRIED
    )
