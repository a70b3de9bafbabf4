"""Verify a fleet, or all of them with the ledger's own and what belongs to none: ``ledger verify``.

What was detached from the database is read from archives in a directory; or there are archives alone.

A key with which nothing was verified is a finding: of its own fleet where that is looked at, of the last
one otherwise, since only then it is known of a witness's key, or one of a fleet that nobody asked for.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ledger.errors import DamagedArchive, SetupProblem
from ledger.log import fleets
from ledger.log.archive.reading import fleets_in
from ledger.log.database import Connection, refusals_named
from ledger.log.detached import Stretch, archive_of, still_there, stretches
from ledger.log.fleets import Fleet
from ledger.log.notes import Key
from ledger.replay import archived, brought_keys
from ledger.replay import verify as trees
from ledger.replay.deep import deep as derived
from ledger.replay.report import Divergence, Report
from ledger.replay.taken import Taken
from ledger.replay.verify import OnProgress
from ledger.units import LEDGER_FLEET, FleetName, Incarnation


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
    there = None if archive is None else await still_there(connection, fleet)
    if there is not None:
        # It would be read from the archive, and what people are shown would not be looked at.
        kept = Divergence(
            "row_unexpected",
            there,
            path="events",
            recorded="in the database",
            recomputed="detached, as archived_ranges says",
        )
        return replace(archived.empty(fleet.name), diverged=kept)
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
    asked = _Asked(keys, [fleet.name for fleet in wanted])
    for fleet in wanted:
        found = await verified(
            connection, fleet, deep=deep, keys=keys, detached=detached, on_progress=on_progress
        )
        yield replace(asked.judged(found), deep=deep)


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
    looked_at = [name for name in names if wanted in (None, name)]
    asked = _Asked(keys, looked_at)
    for name in looked_at:
        found = await archived.report(folder, name, keys=keys, on_progress=on_progress)
        newest = None
        if found.diverged is None and found.events > found.begins_at:
            newest = archived.opened(folder, name).incarnation
        yield asked.judged(found, newest=newest)


@dataclass(slots=True)
class _Asked:
    """The keys of a call, and the fleets in it that were not looked at yet."""

    keys: Sequence[Key]
    fleets: Collection[FleetName]
    _met: set[Key] = field(default_factory=set)
    _looked_at: int = 0

    def judged(self, report: Report, *, newest: Incarnation | None = None) -> Report:
        """The report of the next fleet, with the key that verified nothing in it as a finding.

        ``newest`` is the life that an archive ends in.
        """
        self._looked_at += 1
        self._met |= report.used
        missed = brought_keys.unmet(
            brought_keys.own(self.keys, report.fleet),
            report.used,
            newest=newest,
            begins_late=report.begins_at > 0,
        )
        if self._looked_at == len(self.fleets):
            others = {key for name in self.fleets for key in brought_keys.own(self.keys, name)}
            missed += [key for key in self.keys if key not in others and key not in self._met]
        # What was not read to its end says nothing about the keys.
        if report.diverged is not None or not missed:
            return report
        return replace(report, diverged=_unmet(missed[0]))


def _unmet(key: Key) -> Divergence:
    return Divergence(
        "checkpoint_mismatch",
        None,
        subject=key.name,
        recorded="no note that this key signed",
        recomputed=f"a note signed with {key.spelled}",
    )


async def _all_detached(connection: Connection, folder: Path | None) -> list[Stretch]:
    """Where everything lies that was detached."""
    found: list[Stretch] = []
    for fleet in await every(connection):
        archive = await archive_of(connection, fleet, folder)
        there = await stretches(connection, fleet, archive, first=0, before=2**62)
        found += [stretch for stretch in there if stretch.archive is not None]
    return found
