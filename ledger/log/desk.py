"""Where messages are handed in over one connection, and each is told what became of it.

Beside ``Door``, which speaks for whole partitions: here nobody owns anything, any number of desks may
stand side by side, and what is handed in twice is a duplicate.
"""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Final, Self

import asyncpg

from ledger.errors import LogUnavailable
from ledger.events.contract import Family
from ledger.log import backlog, quarantine
from ledger.log.database import connect, refusals_named
from ledger.log.intake import Intake
from ledger.log.messages import Message
from ledger.log.outcomes import Outcome, outcomes
from ledger.log.quarantine import Released
from ledger.units import FleetName, Position

COMMIT_SECONDS: Final = 15
"""How long a batch may take, with the wait for its fleets' locks: who sent it would give up soon."""


class Desk:
    """One connection at which messages are handed in, one batch after the other."""

    def __init__(self, connection: asyncpg.Connection, *, create_fleets: bool) -> None:
        self._connection = connection
        self._intake = Intake(connection, create_fleets=create_fleets)

    @classmethod
    async def open(cls, url: str, *, create_fleets: bool) -> Self:
        """Connect as a writer."""
        return cls(await connect(url, "ledger_writer"), create_fleets=create_fleets)

    @property
    def closed(self) -> bool:
        """Whether it can be used no more."""
        return self._connection.is_closed()

    async def close(self) -> None:
        """End the connection; whatever it was in the middle of did not happen."""
        with suppress(LogUnavailable), refusals_named():
            await self._connection.close(timeout=5)

    async def take(self, messages: Sequence[Message]) -> list[Outcome]:
        """Take a batch into the log: all of it, or nothing where LogUnavailable is raised.

        Unless the time runs out while it is committed: then nobody knows, and who asks again learns.
        """
        try:
            async with asyncio.timeout(COMMIT_SECONDS):
                taken = await self._intake.take(messages)
        except TimeoutError:
            self._connection.terminate()
            raise LogUnavailable(f"the log: no commit within {COMMIT_SECONDS} s") from None
        return outcomes(messages, taken)

    async def undecided(self, names: Collection[FleetName]) -> dict[FleetName, int]:
        """How many events of each fleet are recorded and not decided yet."""
        with refusals_named():
            return await backlog.undecided(self._connection, names)

    async def release(
        self,
        position: Position,
        *,
        families: frozenset[Family],
        by: str,
        why: str,
        corrected: bytes | None,
        fleet: FleetName | None,
    ) -> Released:
        """Let a quarantined message in; see ``quarantine.release``."""
        return await quarantine.release(
            self._connection,
            position,
            families=families,
            by=by,
            why=why,
            corrected=corrected,
            fleet=fleet,
        )

    async def discard(self, position: Position, *, by: str, why: str) -> None:
        """Close a quarantined message without letting it in."""
        await quarantine.discard(self._connection, position, by=by, why=why)

    async def answers(self) -> None:
        """Return where the database answers."""
        with refusals_named():
            await self._connection.fetchval("SELECT 1")
