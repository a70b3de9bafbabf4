"""Show that an archive is whole: its files as they were written, every leaf from its row, every root.

First each file is held against the digest that the manifest has of it; the place of what is wrong in it
is looked for in its rows. Then both trees are made again from the rows, as ``ledger.replay.verify``
makes them from those of a database, and held against the ends of ranges and whatever was signed. So an
archive whose files and manifest were rewritten together is found as far as its rows do not add up, or a
signed end is not met; without such an end, or a root that the reader knows, nothing else would show it.
What the manifest says of the fleet itself is held against the rows as far as they tell of it
(``ledger.replay.manifest_claims``).

An archive that begins later than the log begins with a tree that is believed until a root is met.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import orjson

from ledger.errors import DamagedArchive
from ledger.log import merkle
from ledger.log.archive.layout import DECISIONS, MANIFEST, TableName
from ledger.log.archive.manifest import ArchivedRange
from ledger.log.archive.reading import Archive
from ledger.log.decisions import NOTHING_DECIDED
from ledger.log.garbage import seldom_collected
from ledger.log.notes import Key
from ledger.log.trees import Tree
from ledger.replay.brought_keys import BroughtKeys
from ledger.replay.grown_tree import GrownTree
from ledger.replay.leaves import (
    COLUMNS,
    INCARNATION,
    LEAF,
    POSITION,
    RECORDED_AT,
    SUBJECT,
    Row,
    leaf_hashes,
)
from ledger.replay.manifest_claims import Claims, unreadable
from ledger.replay.recorded_tree import TreeInArchive
from ledger.replay.report import Divergence, Report
from ledger.replay.verify import OnProgress, Verified, add_page, reported
from ledger.units import FleetName

_SAID: Final = tuple(column.name for column in DECISIONS[:-2])
"""Columns that the record says too."""


def damage(archive: Archive) -> Divergence | None:
    """The first file that is not as it was written, and where in the log that is; or that nobody wrote."""
    for one in archive.manifest.ranges:
        for table, file in one.files.items():
            try:
                archive.check_file(file)
            except DamagedArchive as damaged:
                return _located(archive, one, table, damaged)
    try:
        unexpected = archive.unexpected()
    except DamagedArchive as damaged:
        return told(damaged)
    if unexpected is None:
        return None
    return Divergence(
        "file_unexpected",
        None,
        path=unexpected,
        recorded="the manifest does not name it, and no export is writing it",
    )


async def report(
    folder: Path,
    fleet: FleetName,
    *,
    keys: Sequence[Key] = (),
    on_progress: OnProgress | None = None,
) -> Report:
    """What verifying the archive of a fleet in a directory found."""
    try:
        archive = opened(folder, fleet)
    except DamagedArchive as damaged:
        return unread(fleet, damaged)
    found = reported(archive.fleet, await verify(archive, keys=keys, on_progress=on_progress))
    return replace(found, begins_at=archive.manifest.first)


def opened(folder: Path, fleet: FleetName) -> Archive:
    """The archive of a fleet in a directory; raises DamagedArchive."""
    archive = Archive.open(folder / fleet)
    if archive.manifest.fleet != fleet:
        raise DamagedArchive(
            "manifest_damaged", MANIFEST, f"in {fleet} lies the archive of {archive.manifest.fleet}"
        )
    return archive


def unread(fleet: FleetName, damaged: DamagedArchive) -> Report:
    """The report of an archive of which not even the manifest can be read."""
    return replace(empty(fleet), diverged=told(damaged))


def empty(fleet: FleetName) -> Report:
    """The report of a fleet of which nothing was read."""
    root = merkle.EMPTY_ROOT.hex()
    return Report(
        fleet=fleet,
        events=0,
        decisions=0,
        event_root=root,
        decision_root=root,
        decided_through=NOTHING_DECIDED,
        diverged=None,
    )


def told(damaged: DamagedArchive) -> Divergence:
    """What is wrong with a file, as a finding."""
    return Divergence(damaged.reason, None, path=damaged.file, recorded=damaged.detail)


async def verify(
    archive: Archive, *, keys: Sequence[Key] = (), on_progress: OnProgress | None = None
) -> Verified:
    """Look at every file of an archive, and recompute both trees from its rows."""
    brought = BroughtKeys(keys)
    begins = archive.manifest.begins
    trouble = damage(archive) or unreadable(archive)
    if trouble is not None:
        return Verified(begins.events, begins.decisions, archive.through, trouble)
    claims = Claims(archive.manifest)
    with seldom_collected():
        events, trouble = await _events(archive, brought, claims, on_progress)
        if trouble is not None:
            return Verified(events, begins.decisions, archive.through, trouble)
        decided, trouble = await _decisions(archive, brought, on_progress)
        trouble = trouble or claims.end(archive)
    return Verified(
        events,
        decided,
        archive.through,
        trouble,
        brought.notes,
        brought.used,
        brought.unchecked,
    )


async def _events(
    archive: Archive, keys: BroughtKeys, claims: Claims, on_progress: OnProgress | None
) -> tuple[merkle.Frontier, Divergence | None]:
    manifest = archive.manifest
    tree = _begun(archive, "events", keys)
    clock = 0
    try:
        for rows in archive.event_rows(manifest.first, manifest.next, COLUMNS):
            trouble = await tree.expect(tree.frontier.size + len(rows))
            trouble = trouble or add_page(manifest.fleet, tree, rows, {}, clock)
            trouble = trouble or _of_lives(archive, rows) or claims.take(rows)
            if trouble is not None:
                return tree.frontier, trouble
            clock = rows[-1][RECORDED_AT]
            if on_progress is not None:
                on_progress(tree.frontier.size)
        return tree.frontier, await _ended(tree, manifest.ends.events)
    except DamagedArchive as damaged:
        return tree.frontier, replace(told(damaged), position=tree.frontier.size)


def _of_lives(archive: Archive, rows: Sequence[Row]) -> Divergence | None:
    """Whether events are of the lives that the manifest has of the log."""
    ends = (rows[0], rows[-1])
    told = {archive.incarnation_at(row[POSITION]) for row in ends}
    # A page seldom has more than one.
    if len(told) == 1 and told == {row[INCARNATION] for row in rows}:
        return None
    for row in rows:
        life = archive.incarnation_at(row[POSITION])
        if row[INCARNATION] != life:
            return Divergence(
                "incarnation_mismatch",
                row[POSITION],
                subject=row[SUBJECT],
                path=MANIFEST,
                recorded=str(life),
                recomputed=str(row[INCARNATION]),
            )
    return None


async def _decisions(
    archive: Archive, keys: BroughtKeys, on_progress: OnProgress | None
) -> tuple[merkle.Frontier, Divergence | None]:
    tree = _begun(archive, "decisions", keys)
    try:
        for one in archive.manifest.ranges:
            begins, ends = one.begins.decisions.size, one.ends.decisions.size
            for rows in archive.decision_rows(begins, ends):
                trouble = _unlike(one, rows, tree.frontier.size)
                trouble = trouble or await tree.grow([row[-1] for row in rows])
                if trouble is not None:
                    return tree.frontier, trouble
                if on_progress is not None:
                    on_progress(tree.frontier.size)
        return tree.frontier, await _ended(tree, archive.manifest.ends.decisions)
    except DamagedArchive as damaged:
        return tree.frontier, replace(told(damaged), decision=tree.frontier.size)


def _begun(archive: Archive, tree: Tree, keys: BroughtKeys) -> GrownTree:
    """A tree as it was where the archive begins."""
    frontier = archive.manifest.begins.of(tree)
    return GrownTree(
        TreeInArchive(archive, tree), archive.manifest.fleet, tree, keys, frontier=frontier
    )


async def _ended(tree: GrownTree, end: merkle.Frontier) -> Divergence | None:
    return await tree.end(end.size, end.root())


def _unlike(one: ArchivedRange, rows: Sequence[Sequence[Any]], first: int) -> Divergence | None:
    """What is wrong with a row of some decisions, by its record, its number and its range."""
    for number, row in enumerate(rows, first):
        *columns, record, digest = row
        leaf = merkle.leaf_hash(record)
        position = columns[1]
        if leaf != digest:
            return Divergence(
                "decision_leaf_mismatch",
                position,
                decision=number,
                recorded=digest.hex(),
                recomputed=leaf.hex(),
            )
        said = _read(record)
        for name, value in zip(_SAID, columns, strict=True):
            if said.get(name) != value:
                return Divergence(
                    "column_differs",
                    position,
                    decision=number,
                    path=f"decisions.{name}",
                    recorded=str(value),
                    recomputed=str(said.get(name)),
                )
        if columns[0] != number or not one.first <= position < one.next:
            return Divergence(
                "cursor_mismatch",
                position,
                decision=number,
                recorded=f"decision {columns[0]} in the range of {one.first} to {one.next - 1}",
                recomputed=f"decision {number} at {position}",
            )
    return None


def _read(record: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(record)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _located(
    archive: Archive, one: ArchivedRange, table: TableName, damaged: DamagedArchive
) -> Divergence:
    """Where in the log the damage of a file lies: the first row that cannot be read, or is not its leaf's.

    Bytes that no row depends on are in no place of the log; then the range of the file is told.
    """
    found = replace(told(damaged), position=one.first)
    if damaged.reason == "file_missing" or table not in ("events", "decisions"):
        return found
    if table == "events":
        at = one.first
        try:
            for rows in archive.event_rows(one.first, one.next, COLUMNS):
                leaves = leaf_hashes(archive.manifest.fleet, rows)
                for row, leaf in zip(rows, leaves, strict=True):
                    if (row[POSITION], row[LEAF]) != (at, leaf):
                        return replace(found, position=at)
                    at += 1
        except (DamagedArchive, orjson.JSONEncodeError):
            return replace(found, position=at)
        return found
    number = one.begins.decisions.size
    try:
        for rows in archive.decision_rows(number, one.ends.decisions.size):
            trouble = _unlike(one, rows, number)
            if trouble is not None:
                return replace(found, position=trouble.position, decision=trouble.decision)
            number += len(rows)
    except DamagedArchive:
        return replace(found, decision=number)
    return found
