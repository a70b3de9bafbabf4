"""How long to wait before trying again."""

import asyncio
from contextlib import suppress
from typing import Final

FIRST_SECONDS: Final = 0.05
LONGEST_SECONDS: Final = 2.0


class Patience:
    """Longer each time, short again after a success."""

    def __init__(self) -> None:
        """Nothing has failed yet."""
        self._next = FIRST_SECONDS

    async def wait(self, stop: asyncio.Event) -> None:
        """Wait, unless ``stop`` is set meanwhile."""
        seconds, self._next = self._next, min(self._next * 2, LONGEST_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await stop.wait()

    def reset(self) -> None:
        """It worked."""
        self._next = FIRST_SECONDS
