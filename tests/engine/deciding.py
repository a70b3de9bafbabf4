"""Run the real decider to the end of a log, for tests that need decisions."""

import asyncio

from ledger.engine import decider
from ledger.engine.decider import Progress


async def decide_all(url: str, *, holder: str = "tests") -> Progress:
    """Decide everything there is, ticks included."""
    return await decider.decide(url, holder=holder, until_idle=True, stop=asyncio.Event())
