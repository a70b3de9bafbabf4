"""Ingest CloudEvents from JSON lines: the way in for people without Kafka.

The same contract, the same identity, the same quarantine. Exactly once rests on identity here:
a file read twice, or half a file read again after a crash, appends what was not there yet and
counts the rest as duplicates.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final

import asyncpg

from ledger.events.codec import accept_line
from ledger.events.contract import Family
from ledger.log.fleets import Clock
from ledger.log.intake import Intake, Taken
from ledger.log.messages import Coordinates, Message
from ledger.units import FleetName

FAMILIES: Final[frozenset[Family]] = frozenset({"cluster", "workload", "quota", "disk", "control"})
"""What the command line may say: everything but the ledger's own records."""

BATCH: Final = 2000
"""Lines a transaction: past this, commits are lost in the noise and memory and locks only grow."""

SLICE: Final = 100
"""Lines judged between two turns of the event loop, so that Postgres is never kept waiting."""


async def ingest(
    connection: asyncpg.Connection,
    lines: Iterable[bytes],
    *,
    fleet: FleetName | None = None,
    clock: Clock | None = None,
    create_fleets: bool = True,
    batch: int = BATCH,
    first_line: int = 1,
    on_batch: Callable[[Taken], None] | None = None,
) -> Taken:
    """Take every line into the log; judge the next batch while Postgres writes the one before.

    ``first_line`` is the number of the first line, for callers that hand over a file in parts.
    """
    intake = Intake(connection, create_fleets=create_fleets, clock=clock)
    total = Taken()

    def count(taken: Taken) -> None:
        total.add(taken)
        if on_batch is not None:
            on_batch(total)

    numbered = (
        (number, line) for number, line in enumerate(lines, first_line) if not line.isspace()
    )
    writing: asyncio.Task[Taken] | None = None
    try:
        while messages := await _judge(numbered, batch, fleet):
            if writing is not None:
                count(await writing)
            writing = asyncio.create_task(intake.take(messages))
        if writing is not None:
            count(await writing)
    finally:
        if writing is not None and not writing.done():
            writing.cancel()
    return total


async def _judge(
    numbered: Iterator[tuple[int, bytes]], batch: int, fleet: FleetName | None
) -> list[Message]:
    messages: list[Message] = []
    while len(messages) < batch:
        part = list(islice(numbered, min(SLICE, batch - len(messages))))
        if not part:
            break
        for number, line in part:
            value = line.rstrip(b"\r\n")
            verdict = accept_line(value, families=FAMILIES, fleet=fleet)
            messages.append(Message(Coordinates("file", None, None, number), verdict, None, value))
        await asyncio.sleep(0)
    return messages
