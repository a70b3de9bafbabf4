"""What a consumer does to the log, over one connection of its own.

A process that feeds the log holds one of these. It speaks for whole partitions: takes them over,
hands in their batches, halts them, and asks how far the deciders are behind. Each call is a
transaction of its own, and calls are made one after the other, as the connection wants it.

A refusal of the network or of a server that is going down is ``LogUnavailable``; the door is then
broken, and whoever holds it opens another one and takes its partitions over again.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Self

import asyncpg

from ledger.errors import LogUnavailable
from ledger.log import backlog, fleets, incidents, receipts, stops
from ledger.log.database import connect, refusals_named
from ledger.log.intake import Intake, Taken
from ledger.log.messages import Claim, Message
from ledger.log.receipts import Adopted, Halt, HaltReason
from ledger.log.stops import Stop
from ledger.units import FleetName, Offset


class Door:
    """One process's way into the log."""

    def __init__(self, connection: asyncpg.Connection, *, owner: str, create_fleets: bool) -> None:
        """``owner`` is the name under which partitions are taken over."""
        self._connection = connection
        self._owner = owner
        self._intake = Intake(connection, create_fleets=create_fleets)

    @classmethod
    async def open(cls, url: str, *, owner: str, create_fleets: bool) -> Self:
        """Connect as a writer."""
        return cls(await connect(url, "ledger_writer"), owner=owner, create_fleets=create_fleets)

    async def close(self, *, patience: float = 5) -> None:
        """End the connection; whatever it was in the middle of did not happen."""
        with suppress(LogUnavailable), refusals_named():
            await self._connection.close(timeout=patience)

    async def take(
        self, messages: Sequence[Message], claim: Claim, *, timestamp: int, after: Offset | None
    ) -> Taken:
        """Hand in the next batch of a partition; see ``Intake.take``."""
        return await self._intake.take(messages, claim, timestamp=timestamp, after=after)

    async def adopt(self, topic: str, partition: int) -> Adopted:
        """Take a partition over, and learn where it stands."""
        with refusals_named():
            async with self._connection.transaction():
                return await receipts.adopt(self._connection, topic, partition, owner=self._owner)

    async def halt(self, claim: Claim, reason: HaltReason, detail: str) -> None:
        """Stop a partition until a person resumes it; StaleEpoch where it is not ours to stop.

        A log that was rewound stops every fleet that comes by the partition.
        """
        with refusals_named():
            async with self._connection.transaction():
                await receipts.claim(self._connection, claim)
                await receipts.halt(
                    self._connection,
                    claim.topic,
                    claim.partition,
                    reason=reason,
                    detail=detail,
                    by=self._owner,
                )
                if reason == "log_rewound":
                    place = f"{claim.topic}/{claim.partition}"
                    why = Stop("consumer", "log_rewound", f"{place}: {detail}")
                    for name in await receipts.comes_by(
                        self._connection, claim.topic, claim.partition
                    ):
                        fleet = await fleets.find(self._connection, FleetName(name))
                        if fleet is not None:
                            await stops.stop(self._connection, fleet, why)

    async def standing(self, topic: str, partition: int) -> Halt | None:
        """The newest word on whether a partition may go on."""
        with refusals_named():
            return await receipts.standing(self._connection, topic, partition)

    async def report(self, claim: Claim, kind: str, detail: str, *, id_: str) -> bool:
        """Record an incident of a partition that goes on; False where ``id_`` is known already."""
        with refusals_named():
            async with self._connection.transaction():
                await receipts.claim(self._connection, claim)
                return await incidents.record(
                    self._connection,
                    kind=kind,
                    address=f"{claim.topic}/{claim.partition}",
                    detail=detail,
                    id_=id_,
                )

    async def undecided(self, names: Collection[FleetName]) -> dict[FleetName, int]:
        """How many events of each fleet are recorded and not decided yet."""
        with refusals_named():
            return await backlog.undecided(self._connection, names)
