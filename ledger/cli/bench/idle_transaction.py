"""What one idle transaction that holds a snapshot for minutes costs those who append.

Rows that are updated leave dead versions behind, which nobody may clear away while a snapshot of
before is held; whoever appends then walks past more of them each time. The ledger updates nothing
on its way in, and this shows it. Intervals with and without the idle transaction take turns; the
floor of a round is the mean of the two intervals beside it. Batches are small, because what one
costs is paid once a transaction.
"""

from collections.abc import Iterator
from itertools import pairwise
from time import perf_counter

from ledger.cli.bench import figures, material
from ledger.cli.bench.servers import Postgres
from ledger.log import lines
from ledger.log.database import Connection, connect

_EVENTS_DRAWN = 50_000


async def idle_transaction(postgres: Postgres, *, seconds: float, rounds: int, batch: int) -> str:
    """``rounds`` intervals with an idle transaction, each between two without, all equally long."""
    feed = material.endless(material.lines(_EVENTS_DRAWN))
    async with postgres.database() as url:
        writer = await connect(url, "ledger_writer")
        idler = await connect(url, None)
        try:
            # Somebody else's session, a dump or a notebook: one of ours would be ended long before.
            await idler.execute("SET idle_in_transaction_session_timeout = 0")
            await _interval(writer, feed, seconds / 10, batch)
            without = [await _interval(writer, feed, seconds, batch)]
            held: list[tuple[int, float]] = []
            for _ in range(rounds):
                async with idler.transaction(isolation="repeatable_read", readonly=True):
                    await idler.fetchval("SELECT count(*) FROM ledger.heads")
                    held.append(await _interval(writer, feed, seconds, batch))
                without.append(await _interval(writer, feed, seconds, batch))
        finally:
            await writer.close()
            await idler.close()
    taken = [
        figures.Round(events, spent, before[0] + after[0], before[1] + after[1])
        for (events, spent), (before, after) in zip(held, pairwise(without), strict=True)
    ]
    lost = 100 - 100 * sum(one.ratio for one in taken) / len(taken)
    told = {"loss_percent": round(lost, 1), "held_seconds": seconds, "batch": batch}
    return figures.line("idle-transaction", taken, postgres=postgres.version, more=told)


async def _interval(
    writer: Connection, feed: Iterator[bytes], seconds: float, batch: int
) -> tuple[int, float]:
    """Ingest for so long; says how many events that were, and how long it took."""
    began = perf_counter()
    taken = await lines.ingest(writer, _until(feed, began + seconds), batch=batch)
    return taken.appended, perf_counter() - began


def _until(feed: Iterator[bytes], deadline: float) -> Iterator[bytes]:
    for event in feed:
        yield event
        if perf_counter() > deadline:
            return
