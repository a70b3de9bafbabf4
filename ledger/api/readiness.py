"""Whether requests should be sent here: whether the log answers, asked beside all that is under way.

A connection of its own is asked, so that a service with much to do is not taken for one that cannot
do anything. Whoever asks while it is asked gets the same answer: strangers may, as often as they like.
"""

import asyncio
from typing import Final, Literal

from ledger.api.connections import Connections
from ledger.api.problems import Problem
from ledger.errors import LogUnavailable, SetupProblem
from ledger.log.desk import Desk

READY_SECONDS: Final = 2.0
"""A database that does not answer by then is none to send requests to."""

OfLog = Literal["ok", "log_unavailable"]


class Readiness:
    """Of the log."""

    def __init__(self, desks: Connections[Desk]) -> None:
        """``desks`` are lent to nobody else."""
        self._desks = desks
        self._asking: asyncio.Task[OfLog] | None = None

    async def of_log(self) -> OfLog:
        """Whether it answers now."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._asked())
        return await asyncio.shield(self._asking)

    async def close(self) -> None:
        """End the connection."""
        if self._asking is not None:
            await asyncio.wait({self._asking})
        await self._desks.close()

    async def _asked(self) -> OfLog:
        try:
            async with asyncio.timeout(READY_SECONDS), self._desks.one() as desk:
                await desk.answers()
        except (LogUnavailable, SetupProblem, Problem, TimeoutError):
            return "log_unavailable"
        return "ok"
