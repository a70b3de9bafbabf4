"""A fleet's history read from its archive: rows in order, ends of trees, notes, snapshots.

A row group is in memory at a time. What is read is not believed here: a file that cannot be read is a
``DamagedArchive``, and whether its rows fit the trees is for ``ledger.replay`` to find out, as it is of
rows in Postgres.
"""

import fcntl
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from ledger.errors import DamagedArchive, SetupProblem, UnusableSnapshot, WrongPosition
from ledger.facts import genesis
from ledger.facts.genesis import Genesis
from ledger.log import merkle
from ledger.log.archive import manifest as manifests
from ledger.log.archive.layout import LOCK, MANIFEST, TABLES, TableName, file_name
from ledger.log.archive.manifest import ArchivedFile, ArchivedRange, Manifest
from ledger.log.archive.parquet import ParquetReading, digest, require
from ledger.log.decisions import NOTHING_DECIDED, StoredDecision
from ledger.log.fleets import NO_NUMBER, Fleet
from ledger.log.merkle import Frontier
from ledger.log.read import StoredEvent
from ledger.log.snapshots import Described, Layout, Stored, decompressed
from ledger.log.trees import Tree
from ledger.units import DecisionNumber, FleetName, Incarnation, Position

Row = tuple[Any, ...]

_EVENT: Final = tuple(column.name for column in TABLES["events"])
_DECISION: Final = ("number", "position", "record", "digest")
_DECISION_ROW: Final = tuple(column.name for column in TABLES["decisions"])
_LEAVES: Final[dict[Tree, tuple[TableName, str]]] = {
    "events": ("events", "leaf"),
    "decisions": ("decisions", "digest"),
}
_NOTE: Final = ("tree", "incarnation", "size", "root", "note")


class SignedNote(NamedTuple):
    """A signed note, and what its row says of it."""

    incarnation: int
    size: int
    root: bytes
    note: bytes


@dataclass(frozen=True, slots=True)
class Archive:
    """The archive of one fleet."""

    folder: Path
    manifest: Manifest

    @classmethod
    def open(cls, folder: Path) -> Self:
        """The archive in a folder; nothing but its manifest is read."""
        require()
        return cls(folder, manifests.read(folder))

    @property
    def fleet(self) -> Fleet:
        """Whose it is."""
        return Fleet(NO_NUMBER, self.manifest.fleet, self.manifest.clock)

    @property
    def through(self) -> Position:
        """The last event that was decided."""
        return Position(self.manifest.next - 1 if self.manifest.decides else NOTHING_DECIDED)

    @property
    def genesis(self) -> Genesis:
        """What the fleet began with; DamagedArchive where that cannot be read, or is another fleet's."""
        document = self.manifest.genesis
        try:
            found = genesis.from_document(document)
            same = genesis.document(found) == document and found.fleet == self.manifest.fleet
        except (AssertionError, LookupError, TypeError, ValueError) as error:
            raise DamagedArchive("manifest_damaged", MANIFEST, f"genesis: {error}") from error
        if not same:
            raise DamagedArchive("manifest_damaged", MANIFEST, "the genesis is not of this fleet")
        return found

    @property
    def incarnation(self) -> Incarnation:
        """Which life of its log the last event in it is of."""
        return self.incarnation_at(self.manifest.next - 1)

    def incarnation_at(self, position: int) -> Incarnation:
        """Which life of its log an event is of, as the manifest says."""
        begun = [life for life, size in self.manifest.incarnations if size <= position]
        if not begun:
            raise DamagedArchive("manifest_damaged", MANIFEST, f"no life began before {position}")
        return Incarnation(max(begun))

    def check_file(self, file: ArchivedFile) -> None:
        """Hold a file against the manifest; raises DamagedArchive."""
        found = digest(self.folder / file.name)
        if found != (file.bytes, file.sha256):
            raise DamagedArchive(
                "file_damaged",
                file.name,
                f"{found[0]} bytes, {found[1]}; written were {file.bytes}, {file.sha256}",
            )

    def unexpected(self) -> str | None:
        """The first file of rows that the manifest does not name: a reader of every file reads it.

        What a running export has put there and will name in a moment is not meant.
        """
        named = {file.name for one in self.manifest.ranges for file in one.files.values()}
        found = {path.name for path in self.folder.glob("*.parquet")} - named
        if not found:
            return None
        # Asked before the manifest is read again: an export that has ended since has named its files.
        exports = _is_held(self.folder)
        newest = manifests.read(self.folder)
        found -= {file.name for one in newest.ranges for file in one.files.values()}
        if exports:
            found -= {file_name(table, newest.next) for table in TABLES}
        return min(found, default=None)

    def event_rows(
        self, first: int, before: int, columns: Sequence[str] = _EVENT
    ) -> Iterator[list[Row]]:
        """The events of some positions in the order of the log; as they are, with StoredEvent's fields."""
        return self._between("events", columns, first, before)

    def events(self, first: int, before: int) -> Iterator[list[StoredEvent]]:
        """The same by name."""
        for rows in self.event_rows(first, before):
            yield [StoredEvent._make(row) for row in rows]

    def decisions(self, first: int, before: int) -> Iterator[list[StoredDecision]]:
        """The decisions of some numbers, in order."""
        for rows in self._between("decisions", _DECISION, first, before):
            yield [StoredDecision(*row) for row in rows]

    def decision_rows(self, first: int, before: int) -> Iterator[list[Row]]:
        """The same with every column."""
        return self._between("decisions", _DECISION_ROW, first, before)

    def leaves(self, tree: Tree, first: int, before: int) -> list[bytes]:
        """The leaves of a tree as the rows name them."""
        table, column = _LEAVES[tree]
        return [leaf for rows in self._between(table, (column,), first, before) for (leaf,) in rows]

    def frontier_at(self, tree: Tree, size: int) -> Frontier:
        """A tree as it was when it was so large, by the leaves that the rows name."""
        begins = self.manifest.begins.of(tree)
        if not begins.size <= size <= self.manifest.ends.of(tree).size:
            raise WrongPosition(f"{self.folder}: the tree of {tree} had no {size} leaves here")
        for one in self.manifest.ranges:
            if one.begins.of(tree).size <= size:
                begins = one.begins.of(tree)
        leaves = self.leaves(tree, begins.size, size)
        found = merkle.extend(begins, leaves).frontier
        if found.size != size:
            raise WrongPosition(f"{self.folder}: the tree of {tree} has no {size} leaves")
        return found

    def made_by(self, position: int) -> int:
        """How many decisions were made about the events up to a position."""
        made = self.manifest.begins.decisions.size
        for one in self.manifest.ranges:
            if one.next <= position + 1:
                made = one.ends.decisions.size
            elif one.first <= position:
                for rows in self._of(one, "decisions", ("position",)):
                    made += bisect_right([told for (told,) in rows], position)
        return made

    def made_about(self, subject: str | None, *, first: int, through: int) -> int:
        """How many decisions were made between two positions; with a subject, those about it alone.

        A workload's deployments are about the workload.
        """
        made = 0
        for one in self.manifest.ranges:
            if one.next <= first or one.first > through:
                continue
            for rows in self._of(one, "decisions", ("position", "subject")):
                made += sum(
                    first <= position <= through
                    and (subject is None or about == subject or about.startswith(f"{subject}@"))
                    for position, about in rows
                )
        return made

    def notes(self, tree: str) -> Iterator[list[SignedNote]]:
        """The signed notes of a tree, or those of both, in the order in which they were signed."""
        for one in self.manifest.ranges:
            for rows in self._of(one, "checkpoints", _NOTE):
                found = [SignedNote(*row[1:]) for row in rows if row[0] == tree]
                if found:
                    yield found

    def snapshots(self) -> list[Stored]:
        """The snapshots that are there, in the order of the log."""
        found: list[Stored] = []
        for place, one in enumerate(self.manifest.ranges):
            names = tuple(column.name for column in TABLES["snapshots"][:-1])
            for group, ((*told, part),) in enumerate(self._of(one, "snapshots", names)):
                if part == 0:
                    found.append(Stored(_number(place, group), _described(told)))
        return found

    def snapshot_lines(self, stored: Stored) -> Iterator[list[bytes]]:
        """The lines of a snapshot, a part at a time, each with its end."""
        place, group = divmod(stored.number, _MOST_GROUPS)
        file = self.manifest.ranges[place].files["snapshots"]
        begun = b""
        with closing(ParquetReading(self.folder / file.name, TABLES["snapshots"])) as reading:
            for at in range(group, len(reading.groups)):
                ((part, content),) = reading.rows(at, ("part", "content"))
                if part != at - group:
                    break
                try:
                    *lines, begun = (begun + decompressed(content)).split(b"\n")
                except UnusableSnapshot as error:
                    raise DamagedArchive("file_damaged", file.name, f"{error}") from error
                yield [line + b"\n" for line in lines]

    def _between(
        self, table: TableName, names: Sequence[str], first: int, before: int
    ) -> Iterator[list[Row]]:
        tree: Tree = "events" if table == "events" else "decisions"
        for one in self.manifest.ranges:
            begins, ends = one.begins.of(tree).size, one.ends.of(tree).size
            if ends <= first or begins >= before or begins == ends:
                continue
            yield from self._of(one, table, names, _Wanted(begins, first, before))

    def _of(
        self,
        one: ArchivedRange,
        table: TableName,
        names: Sequence[str],
        wanted: "_Wanted | None" = None,
    ) -> Iterator[list[Row]]:
        """The rows of a range, group after group; groups that are not wanted are not read."""
        file = one.files.get(table)
        if file is None:
            return
        with closing(ParquetReading(self.folder / file.name, TABLES[table])) as reading:
            at = 0 if wanted is None else wanted.begins
            for group, count in enumerate(reading.groups):
                skipped, left = 0, count
                if wanted is not None:
                    skipped = min(max(wanted.first - at, 0), count)
                    left = min(max(wanted.before - at, 0), count)
                at += count
                if skipped < left:
                    yield reading.rows(group, names)[skipped:left]


class _Wanted(NamedTuple):
    """Which rows of a file are asked for, by their places in the tree."""

    begins: int
    """The place of its first row."""
    first: int
    before: int


def fleets_in(folder: Path) -> list[FleetName]:
    """Whose archives lie in a folder, by name; the ledger's own last."""
    if not folder.is_dir():
        raise SetupProblem(f"{folder}: there is no such directory")
    names = sorted(one.name for one in folder.iterdir() if one.is_dir() and _is_archive(one))
    if not names:
        raise SetupProblem(f"{folder}: there is no archive in it; `ledger export` writes one")
    return [FleetName(name) for name in sorted(names, key=lambda name: (name[0] == "_", name))]


def _is_held(folder: Path) -> bool:
    """Whether a process exports into a folder now."""
    try:
        with (folder / LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False  # A copy, or a place that knows no locks: nobody exports there.
    return False


def _is_archive(folder: Path) -> bool:
    """Whether somebody exported into it, however little of that is left."""
    return (folder / MANIFEST).exists() or any(folder.glob("*.parquet"))


_MOST_GROUPS: Final = 2**32


def _number(place: int, group: int) -> int:
    """Of a snapshot in an archive: where it begins."""
    return place * _MOST_GROUPS + group


def _described(told: Sequence[Any]) -> Described:
    incarnation, through, decisions, *layout, digest_, event_root, decision_root, size = told
    return Described(
        incarnation=Incarnation(incarnation),
        through=Position(through),
        decisions=DecisionNumber(decisions),
        layout=Layout(*layout),
        digest=digest_,
        event_root=event_root,
        decision_root=decision_root,
        bytes=size,
    )
