"""Verify a fleet, or all of them with the ledger's own and what belongs to none: ``ledger verify``.

What was detached from the database is read from archives in a directory; or there are archives alone.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

from ledger.errors import DamagedArchive, SetupProblem
from ledger.log import fleets
from ledger.log.archive.reading import fleets_in
from ledger.log.database import Connection, refusals_named
from ledger.log.detached import Stretch, archive_of, stretches
from ledger.log.fleets import Fleet
from ledger.log.notes import Key
from ledger.replay import archived
from ledger.replay import verify as trees
from ledger.replay.deep import deep as derived
from ledger.replay.report import Report
from ledger.replay.taken import Taken
from ledger.replay.verify import OnProgress
from ledger.units import LEDGER_FLEET, FleetName


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
    detached: Path | None = None,
    on_progress: OnProgress | None = None,
) -> Report:
    """What verifying a fleet found; with the ledger's own go receipts and quarantine."""
    audit = derived if deep else trees.report
    try:
        archive = await archive_of(connection, fleet, detached)
    except DamagedArchive as damaged:
        return archived.unread(fleet.name, damaged)
    damage = None if archive is None else archived.damage(archive)
    if damage is not None:
        return replace(archived.empty(fleet.name), diverged=damage)
    found = await audit(connection, fleet, keys=keys, on_progress=on_progress, archive=archive)
    if fleet.name != LEDGER_FLEET or found.diverged is not None:
        return found
    with refusals_named():
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            away = await _all_detached(connection, detached)
            return replace(found, diverged=await Taken(connection, away).check())


async def all_verified(
    connection: Connection,
    wanted: Sequence[Fleet],
    *,
    deep: bool,
    keys: Sequence[Key] = (),
    detached: Path | None = None,
    on_progress: OnProgress | None = None,
) -> AsyncIterator[Report]:
    """One fleet after the other; ``detached`` has the archives of what is no longer in the database."""
    for fleet in wanted:
        yield await verified(
            connection, fleet, deep=deep, keys=keys, detached=detached, on_progress=on_progress
        )


async def archives_verified(
    folder: Path,
    wanted: FleetName | None,
    *,
    keys: Sequence[Key] = (),
    on_progress: OnProgress | None = None,
) -> AsyncIterator[Report]:
    """The archives in a directory, or that of one fleet, without a database."""
    names = fleets_in(folder)
    if wanted is not None and wanted not in names:
        raise SetupProblem(f"{folder}: there is no archive of fleet {wanted} in it")
    for name in names:
        if wanted in (None, name):
            yield await archived.report(folder, name, keys=keys, on_progress=on_progress)


async def _all_detached(connection: Connection, folder: Path | None) -> list[Stretch]:
    """Where everything lies that was detached."""
    found: list[Stretch] = []
    for fleet in await every(connection):
        archive = await archive_of(connection, fleet, folder)
        there = await stretches(connection, fleet, archive, first=0, before=2**62)
        found += [stretch for stretch in there if stretch.archive is not None]
    return found
