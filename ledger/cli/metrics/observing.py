"""Look at the fleets every few seconds, as a reader, so that a scrape need not wait for a database."""

import asyncio
from time import monotonic
from typing import Final

import structlog

from ledger.cli.metrics.collecting import Observed, Standing
from ledger.errors import LogUnavailable, SetupProblem
from ledger.log.database import connected, refusals_named
from ledger.views import reading

OBSERVE_SECONDS: Final = 5.0
"""Shorter than any usual scrape interval, and little work for the database."""

log = structlog.get_logger()


async def observe(url: str, standing: Standing) -> None:
    """Keep ``standing`` up to date until cancelled. While the database is away it grows old.

    So it does where we may not read at all: whoever decides goes on all the same.
    """
    while True:
        try:
            async with connected(url, "ledger_reader") as connection:
                while True:
                    with refusals_named():
                        fleets = tuple(await reading.lags(connection))
                        waiting = await reading.waiting(connection)
                    standing.observed = Observed(
                        fleets, waiting.quarantined, waiting.halted, monotonic()
                    )
                    await asyncio.sleep(OBSERVE_SECONDS)
        except LogUnavailable:
            await asyncio.sleep(OBSERVE_SECONDS)
        except SetupProblem as problem:
            log.warning("not_observed", why=str(problem))
            return
        except Exception:
            # A mistake of ours: it is said at once, and again by whoever waits for the end.
            log.exception("not_observed")
            raise
