"""Write ranges of a fleet's history into an archive: ``ledger export``.

An archive ends where its manifest says, and is continued from there: range after range is written, each
of its files brought to disk, and then all of them are shown and the manifest replaced. Whatever is killed in between leaves an
archive that is whole as far as its manifest goes; what lies behind that is written over.

What is written is looked at first: the leaf of each event is made again from its row and that of each
decision from its record, and the tree they add up to must be the log's own. A log that is not whole is
not archived; ``ledger verify`` says what is wrong with it. Events that are not decided yet stay out, so
that a range has all decisions on its events.
"""

import fcntl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import Any, Final, NamedTuple

import asyncpg
import orjson

from ledger.errors import (
    DamagedArchive,
    InvalidRequest,
    LedgerStopped,
    SetupProblem,
    UnusableSnapshot,
    WrongPosition,
)
from ledger.log import decisions, merkle, read, trees
from ledger.log import snapshots as kept
from ledger.log.archive import manifest as manifests
from ledger.log.archive.layout import (
    ASIDE,
    GROUP_BYTES,
    GROUP_ROWS,
    LOCK,
    RANGE,
    TABLES,
    TableName,
    file_name,
)
from ledger.log.archive.manifest import (
    NOTHING_SIGNED,
    ArchivedFile,
    ArchivedRange,
    Ends,
    Manifest,
    SignedRound,
    with_range,
)
from ledger.log.archive.parquet import ParquetWriting, make_folder, require, sync_folder
from ledger.log.bound_notes import Bound, read_bound
from ledger.log.database import refusals_named
from ledger.log.decisions import StoredDecision
from ledger.log.fleets import Fleet
from ledger.log.leaf import stored_leaf
from ledger.log.notes import parse_note
from ledger.log.read import StoredEvent
from ledger.log.snapshots import Stored
from ledger.log.trees import TREES
from ledger.units import LEDGER_FLEET, Position

OnWritten = Callable[[int, int], None]
"""Told the position that was reached, and the one behind the last that is wanted."""

_NOTES: Final = 500
"""Notes asked for at once: of some hundred bytes each."""

_FROM_RECORD: Final = (
    *("number", "position", "incarnation", "kind", "subject", "algorithm", "version", "branch"),
    *("moved", "previous"),
)
"""Members of a record that are columns too."""


class Exported(NamedTuple):
    """What an archive is now, and where it ended before."""

    manifest: Manifest
    before: int
    undecided: int
    """Events of the log that are not decided yet, and stayed out."""


async def export(
    connection: asyncpg.Connection,
    fleet: Fleet,
    folder: Path,
    *,
    first: Position | None = None,
    through: Position | None = None,
    on_written: OnWritten,
    positions: int = RANGE,
) -> Exported:
    """Bring an archive up to a position, or as far as the fleet is decided.

    A new archive begins at ``first``; one that is there is continued, and may not be told to begin
    elsewhere. ``positions`` are those of a range.
    """
    require()
    with _held(folder):
        head, _ = await trees.recorded_root(connection, fleet.number, "events")
        ready = await _ready(connection, fleet, head)
        manifest = await _begun(connection, fleet, folder, first, ready)
        before = manifest.next
        end = ready if through is None else min(ready, through + 1)
        while manifest.next < end:
            next_ = min((manifest.next // positions + 1) * positions, end)
            one = await _Range(connection, fleet, folder, manifest, next_).write()
            manifest = with_range(manifest, one)
            manifests.write(folder, manifest)
            on_written(next_, end)
        if not manifest.ranges:
            raise SetupProblem(
                f"fleet {fleet.name}: there is nothing to export; {ready} events are decided"
            )
    return Exported(manifest, before, head - ready)


async def _ready(connection: asyncpg.Connection, fleet: Fleet, head: int) -> int:
    """How many events can be exported: those that are decided, where anything ever is."""
    if fleet.name == LEDGER_FLEET:
        return head
    through, _ = await decisions.cursor(connection, fleet)
    return through + 1


async def _begun(
    connection: asyncpg.Connection, fleet: Fleet, folder: Path, first: Position | None, ready: int
) -> Manifest:
    """The manifest that is continued."""
    try:
        found = manifests.read(folder)
    except DamagedArchive as damaged:
        if damaged.reason != "file_missing":
            raise
    else:
        await _require_same(connection, fleet, folder, found)
        if first is not None and first != found.next:
            raise SetupProblem(
                f"{folder}: the archive goes up to position {found.next - 1},"
                f" so what is added begins at {found.next} and not at {first}"
            )
        return replace(found, incarnations=await _lives(connection, fleet))
    start = first or Position(0)
    if start > ready:
        raise SetupProblem(
            f"fleet {fleet.name}: an archive cannot begin at {start}; {ready} events are decided"
        )
    with refusals_named():
        document = await connection.fetchval(
            "SELECT document FROM ledger.geneses WHERE fleet = $1", fleet.number
        )
    if document is None:
        raise SetupProblem(f"fleet {fleet.name}: nothing was ever appended to it")
    begins = await _ends(connection, fleet, start)
    return Manifest(
        fleet=fleet.name,
        clock=fleet.clock,
        genesis=document,
        incarnations=await _lives(connection, fleet),
        begins=begins,
        signed_before=await _last_round(connection, fleet, NOTHING_SIGNED, begins),
    )


async def _lives(connection: asyncpg.Connection, fleet: Fleet) -> tuple[tuple[int, int], ...]:
    """The incarnations of a fleet, the oldest first, each with the size at which it began."""
    with refusals_named():
        rows = await connection.fetch(
            "SELECT incarnation, from_size FROM ledger.incarnations WHERE fleet = $1"
            " ORDER BY incarnation",
            fleet.number,
        )
    return tuple((row["incarnation"], row["from_size"]) for row in rows)


async def _require_same(
    connection: asyncpg.Connection, fleet: Fleet, folder: Path, found: Manifest
) -> None:
    """What is continued is of this log: the trees had these roots where the archive ends."""
    same = found.fleet == fleet.name
    if same:
        try:
            same = await _ends(connection, fleet, Position(found.next)) == found.ends
        except LedgerStopped:
            same = False
    if not same:
        raise LedgerStopped(
            f"{folder}: the archive there is not of this log of {fleet.name};"
            " one of them was rewritten or restored: `ledger verify` both"
        )


async def _ends(connection: asyncpg.Connection, fleet: Fleet, size: int) -> Ends:
    """Both trees as they were behind so many events."""
    count = await decisions.made_by(connection, fleet, Position(size - 1)) if size else 0
    try:
        return Ends(
            await trees.frontier_at(connection, fleet.number, "events", size=size),
            await trees.frontier_at(connection, fleet.number, "decisions", size=count),
        )
    except WrongPosition as missing:
        raise LedgerStopped(f"fleet {fleet.name}: {missing}; see `ledger verify`") from missing


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """One process at a time writes into an archive."""
    try:
        make_folder(folder)
    except OSError as error:
        raise SetupProblem(f"{folder}: {error.strerror}") from error
    with (folder / LOCK).open("w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SetupProblem(f"{folder}: another process exports into it") from None
        yield


class _Range:
    """One range while it is written."""

    def __init__(
        self,
        connection: asyncpg.Connection,
        fleet: Fleet,
        folder: Path,
        manifest: Manifest,
        next_: int,
    ) -> None:
        self._connection = connection
        self._fleet = fleet
        self._folder = folder
        self._aside = folder / ASIDE
        self._begins = manifest.ends
        self._signed = manifest.signed
        self._first, self._next = manifest.next, next_
        self._recorded_at = 0

    async def write(self) -> ArchivedRange:
        """All files of it."""
        make_folder(self._aside)
        ends = await _ends(self._connection, self._fleet, self._next)
        made: dict[TableName, ArchivedFile | None] = {
            "events": await self._written("events", self._events(ends)),
            "decisions": await self._written("decisions", self._decisions(ends)),
        }
        signed = await _last_round(self._connection, self._fleet, self._signed, ends)
        made["checkpoints"] = await self._written("checkpoints", self._notes(signed))
        # The decider may delete the parts of a snapshot at any time: not while they are copied.
        with refusals_named():
            async with self._connection.transaction(isolation="repeatable_read", readonly=True):
                made["snapshots"] = await self._written("snapshots", self._snapshots())
        files = {table: file for table, file in made.items() if file is not None}
        self._show(files)
        return ArchivedRange(self._begins, ends, self._recorded_at, signed, files)

    async def _written(
        self, table: TableName, groups: AsyncIterator[list[Sequence[Any]]]
    ) -> ArchivedFile | None:
        """A file of these row groups; none where there are none."""
        name = file_name(table, self._first)
        first = await anext(groups, None)
        if first is None:
            return None
        with ParquetWriting(self._aside / name, TABLES[table]) as writing:
            writing.write(first)
            async for rows in groups:
                writing.write(rows)
        return ArchivedFile(name, *writing.digested())

    def _show(self, files: Mapping[TableName, ArchivedFile]) -> None:
        """Put the files where readers look, over what an export that was killed left there.

        All of them at the last moment: whoever reads every file of a table reads these as well, and the
        manifest does not name them yet.
        """
        for table in TABLES:
            file = files.get(table)
            if file is None:
                (self._folder / file_name(table, self._first)).unlink(missing_ok=True)
            else:
                (self._aside / file.name).replace(self._folder / file.name)
        rmtree(self._aside)
        sync_folder(self._folder)

    async def _events(self, ends: Ends) -> AsyncIterator[list[Sequence[Any]]]:
        frontier = self._begins.events
        group = _Group()
        pages = read.pages(
            self._connection, self._fleet, first=Position(self._first), before=self._next
        )
        async for page in pages:
            frontier = merkle.extend(frontier, self._leaves(page, frontier.size)).frontier
            self._recorded_at = page[-1].recorded_at_micros
            for event in page:
                if group.takes(event, len(event.payload)):
                    yield group.taken()
        if frontier != ends.events:
            raise self._unlike("event_root_mismatch", f"position {frontier.size}")
        if group.rows:
            yield group.taken()

    def _leaves(self, page: Sequence[StoredEvent], first: int) -> list[bytes]:
        for position, event in enumerate(page, first):
            if event.position != position:
                raise self._unlike("position_missing", f"position {position}")
            if stored_leaf(self._fleet.name, event) != event.leaf:
                raise self._unlike("leaf_mismatch", f"position {position}")
        return [event.leaf for event in page]

    async def _decisions(self, ends: Ends) -> AsyncIterator[list[Sequence[Any]]]:
        frontier = self._begins.decisions
        group = _Group()
        pages = decisions.pages(
            self._connection, self._fleet, first=frontier.size, before=ends.decisions.size
        )
        async for page in pages:
            leaves = [merkle.leaf_hash(one.record) for one in page]
            for one, leaf in zip(page, leaves, strict=True):
                if leaf != one.digest:
                    raise self._unlike("decision_leaf_mismatch", f"decision {one.number}")
                if group.takes(self._decision(one), len(one.record)):
                    yield group.taken()
            frontier = merkle.extend(frontier, leaves).frontier
        if frontier != ends.decisions:
            raise self._unlike("decision_root_mismatch", f"decision {frontier.size}")
        if group.rows:
            yield group.taken()

    def _decision(self, one: StoredDecision) -> Sequence[Any]:
        said = orjson.loads(one.record)
        if (said["number"], said["position"]) != (one.number, one.position):
            raise self._unlike("decision_leaf_mismatch", f"decision {one.number}")
        return (*(said[name] for name in _FROM_RECORD), one.record, one.digest)

    async def _notes(self, last: SignedRound) -> AsyncIterator[list[Sequence[Any]]]:
        """What was signed in the rounds since the last range, each tree's notes by their sizes."""
        for tree in TREES:
            with refusals_named():
                cursor = self._connection.cursor(
                    "SELECT tree, incarnation, size, root, note FROM ledger.checkpoints"
                    " WHERE fleet = $1 AND tree = $2 AND (incarnation, size) > ($3, $4)"
                    " AND (incarnation, size) <= ($5, $6) ORDER BY size, incarnation, again",
                    self._fleet.number,
                    tree,
                    self._signed.incarnation,
                    self._signed.of(tree),
                    last.incarnation,
                    last.of(tree),
                    prefetch=_NOTES,
                )
                async for rows in self._groups(cursor):
                    yield rows
        with refusals_named():
            cursor = self._connection.cursor(
                "SELECT tree, incarnation, size, root, note FROM ledger.checkpoints"
                " WHERE fleet = $1 AND tree = 'both' AND (incarnation, size) > ($2, $3)"
                " AND (incarnation, size) <= ($4, $5) ORDER BY incarnation, size",
                self._fleet.number,
                *self._signed[:2],
                *last[:2],
                prefetch=_NOTES,
            )
            async for rows in self._groups(cursor):
                yield rows

    async def _groups(self, cursor: Any) -> AsyncIterator[list[Sequence[Any]]]:
        group = _Group()
        async with self._connection.transaction(readonly=True):
            async for row in cursor:
                if group.takes(tuple(row), len(row["note"])):
                    yield group.taken()
        if group.rows:
            yield group.taken()

    async def _snapshots(self) -> AsyncIterator[list[Sequence[Any]]]:
        """The snapshots of the range whose bytes are there, the earliest first, a part a group."""
        for stored in reversed(await kept.newest(self._connection, self._fleet)):
            said = stored.described
            if not self._first <= said.through < self._next:
                continue
            if not await _is_intact(self._connection, stored):
                continue
            told = (
                *(said.incarnation, said.through, said.decisions, *said.layout),
                *(said.digest, said.event_root, said.decision_root, said.bytes),
            )
            async for part, content in kept.parts(self._connection, stored):
                yield [(*told, part, content)]

    def _unlike(self, trouble: str, where: str) -> LedgerStopped:
        return LedgerStopped(
            f"fleet {self._fleet.name}: {trouble} at {where}: what is not whole is not archived;"
            " see `ledger verify`"
        )


class _Group:
    """Rows of one row group, as they come."""

    def __init__(self) -> None:
        self.rows: list[Sequence[Any]] = []
        self._bytes = 0

    def takes(self, row: Sequence[Any], size: int) -> bool:
        """Add a row; whether the group is full now."""
        self.rows.append(row)
        self._bytes += size
        return len(self.rows) >= GROUP_ROWS or self._bytes >= GROUP_BYTES

    def taken(self) -> list[Sequence[Any]]:
        """The rows, and begin the next group."""
        rows, self.rows, self._bytes = self.rows, [], 0
        return rows


async def _last_round(
    connection: asyncpg.Connection, fleet: Fleet, after: SignedRound, ends: Ends
) -> SignedRound:
    """The last round of the signer that signed no more than these ends.

    A round is taken as a whole: its note that binds both trees says of what the others are.
    """
    last = after
    while True:
        with refusals_named():
            rows = await connection.fetch(
                "SELECT incarnation, size, note FROM ledger.checkpoints"
                " WHERE fleet = $1 AND tree = 'both' AND (incarnation, size) > ($2, $3)"
                " ORDER BY incarnation, size LIMIT $4",
                fleet.number,
                *last[:2],
                _NOTES,
            )
        for row in rows:
            said = _bound(fleet, row["note"], row["incarnation"])
            if said.events.size > ends.events.size or said.decisions.size > ends.decisions.size:
                return last
            last = SignedRound(
                row["incarnation"], row["size"], said.events.size, said.decisions.size
            )
        if len(rows) < _NOTES:
            return last


def _bound(fleet: Fleet, note: bytes, incarnation: int) -> Bound:
    try:
        return read_bound(parse_note(note).text, incarnation)
    except InvalidRequest as error:
        raise LedgerStopped(f"fleet {fleet.name}: checkpoint_mismatch: {error}") from error


async def _is_intact(connection: asyncpg.Connection, stored: Stored) -> bool:
    whole = sha256()
    try:
        async for lines in kept.lines(connection, stored):
            whole.update(b"".join(lines))
    except UnusableSnapshot:
        return False
    return whole.digest() == stored.described.digest
