"""Whether a partition of events may be let go of: what is in it is archived, and nobody folds it again.

Who decides here begins with a snapshot from then on, and the signer continues what it signed last. So
for each fleet with rows in the partition its archive is verified, byte for byte, up to trees that are
those of the log; there is a snapshot behind the partition that this program reads and that is what it is
said to be; and the last signed end is not in the partition. Otherwise ``LedgerStopped`` says what is
missing. The database itself refuses where a fleet still appends or decides there.
"""

from collections.abc import Sequence
from pathlib import Path

from ledger.errors import DamagedArchive, LedgerStopped, WrongPosition
from ledger.log import detached, trees
from ledger.log.archive.reading import Archive
from ledger.log.database import Connection, refusals_named
from ledger.log.fleets import Fleet
from ledger.log.trees import TREES
from ledger.replay import archived
from ledger.replay.histories import DatabaseHistory
from ledger.replay.segments import cuts, is_intact
from ledger.replay.verify import OnProgress
from ledger.units import LEDGER_FLEET, FleetName


async def require_archived(
    connection: Connection,
    positions: range,
    folder: Path,
    *,
    on_progress: OnProgress | None = None,
) -> list[FleetName]:
    """The fleets of which a partition has events; raises LedgerStopped unless all of it can go."""
    with refusals_named():
        rows = await connection.fetch(
            "SELECT number, name, clock FROM ledger.fleets f"
            " WHERE EXISTS (SELECT FROM ledger.events e WHERE e.fleet = f.number"
            "                AND e.position >= $1 AND e.position < $2) ORDER BY name",
            positions.start,
            positions.stop,
        )
    found = [Fleet(row["number"], FleetName(row["name"]), row["clock"]) for row in rows]
    for fleet in found:
        archive = _archive(folder, fleet)
        await _require_continuing(connection, fleet, archive, positions.stop)
    for fleet in found:
        await _require_whole(connection, fleet, _archive(folder, fleet), positions, on_progress)
    return [fleet.name for fleet in found]


def _archive(folder: Path, fleet: Fleet) -> Archive:
    try:
        return archived.opened(folder, fleet.name)
    except DamagedArchive as damaged:
        raise LedgerStopped(
            f"fleet {fleet.name}: {folder / fleet.name}/{damaged}; see `ledger export`"
        ) from damaged


async def _require_continuing(
    connection: Connection, fleet: Fleet, archive: Archive, past: int
) -> None:
    """What goes on behind the partition does not need it."""
    if fleet.name != LEDGER_FLEET and not await _has_snapshot(connection, fleet, archive, past):
        raise LedgerStopped(
            f"fleet {fleet.name}: no snapshot behind position {past - 1} that this program reads;"
            " a decider writes one now and then"
        )
    with refusals_named():
        signed = await connection.fetchval(
            "SELECT max(size) FROM ledger.checkpoints WHERE fleet = $1 AND tree = 'events'",
            fleet.number,
        )
    if signed is not None and signed < past:
        raise LedgerStopped(
            f"fleet {fleet.name}: the last end that was signed is {signed}, and what continues it"
            f" is shown from there on; `ledger seal --once` signs the one behind {past - 1}"
        )


async def _has_snapshot(connection: Connection, fleet: Fleet, archive: Archive, past: int) -> bool:
    history = DatabaseHistory(connection, fleet, archive)
    through, count = await history.cursor()
    found = await cuts(history, await history.incarnation(), through=through, count=count)
    for stored in found.stored:
        size = stored.described.through + 1
        if size < past:
            continue
        # A decider holds its roots against the newest head up to there, and the leaves behind that.
        head = await trees.newest_frontier(connection, fleet.number, "events", at_most=size)
        if (head.size >= past or head.size == size) and await is_intact(history, stored):
            return True
    return False


async def _require_whole(
    connection: Connection,
    fleet: Fleet,
    archive: Archive,
    positions: range,
    on_progress: OnProgress | None,
) -> None:
    """The archive has everything that was and will be detached, and is the log's."""
    where = f"fleet {fleet.name}: {archive.folder}"
    manifest = archive.manifest
    needed = await _needed(connection, fleet, positions)
    if manifest.first > needed.start or manifest.next < needed.stop:
        raise LedgerStopped(
            f"{where}: positions {needed.start} to {needed.stop - 1} are needed, there are"
            f" {manifest.first} to {manifest.next - 1}; see `ledger export`"
        )
    verified = await archived.verify(archive, on_progress=on_progress)
    if verified.trouble is not None:
        trouble = verified.trouble
        raise LedgerStopped(
            f"{where}: {trouble.trouble} at position {trouble.position}"
            f" {trouble.path or ''}".rstrip()
        )
    ends: Sequence[bytes] = ()
    try:
        ends = [
            (await detached.frontier_at(connection, fleet, archive, tree, size=end.size)).root()
            for tree, end in zip(TREES, manifest.ends, strict=True)
        ]
    except WrongPosition as error:
        raise LedgerStopped(f"{where}: it is of a longer log: {error}") from error
    if ends != [manifest.ends.events.root(), manifest.ends.decisions.root()]:
        raise LedgerStopped(f"{where}: it is whole, and not the archive of this log")


async def _needed(connection: Connection, fleet: Fleet, positions: range) -> range:
    """What was detached of a fleet before and is to be now."""
    with refusals_named():
        row = await connection.fetchrow(
            "SELECT min(first) AS first, max(next) AS next FROM ledger.archived_ranges"
            " WHERE fleet = $1",
            fleet.number,
        )
    assert row is not None, "extremes are always one row"
    if row["first"] is None:
        return positions
    return range(min(row["first"], positions.start), max(row["next"], positions.stop))
