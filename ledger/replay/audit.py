"""Verify a fleet, or all of them with the ledger's own and what belongs to none: ``ledger verify``."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from ledger.log import fleets
from ledger.log.database import Connection, refusals_named
from ledger.log.fleets import Fleet
from ledger.log.notes import Key
from ledger.replay import verify as trees
from ledger.replay.deep import deep as derived
from ledger.replay.report import Report
from ledger.replay.taken import Taken
from ledger.replay.verify import OnProgress
from ledger.units import LEDGER_FLEET


async def every(connection: Connection) -> list[Fleet]:
    """All fleets by name, the ledger's own last."""
    own = await fleets.find(connection, LEDGER_FLEET)
    return [*await fleets.every(connection), *([] if own is None else [own])]


async def verified(
    connection: Connection,
    fleet: Fleet,
    *,
    deep: bool,
    keys: Sequence[Key] = (),
    on_progress: OnProgress | None = None,
) -> Report:
    """What verifying a fleet found; with the ledger's own go receipts and quarantine."""
    audit = derived if deep else trees.report
    found = await audit(connection, fleet, keys=keys, on_progress=on_progress)
    if fleet.name != LEDGER_FLEET or found.diverged is not None:
        return found
    with refusals_named():
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            return replace(found, diverged=await Taken(connection).check())


async def all_verified(
    connection: Connection,
    wanted: Sequence[Fleet],
    *,
    deep: bool,
    keys: Sequence[Key] = (),
    on_progress: OnProgress | None = None,
) -> AsyncIterator[Report]:
    """One fleet after the other."""
    for fleet in wanted:
        yield await verified(connection, fleet, deep=deep, keys=keys, on_progress=on_progress)
