"""What was recorded of a tree beside its leaves: heads, hashes of complete subtrees, signed notes.

A tree that is made anew (``ledger.replay.grown_tree``) is held against this. In a database there is a
head for each append and a row for each subtree that proofs are made of; an archive has the ends of its
ranges and no subtrees, since whoever has the leaves can make those.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from ledger.log.archive.reading import Archive, SignedNote
from ledger.log.database import Connection, refusals_named
from ledger.log.fleets import Fleet
from ledger.log.trees import Tree, recorded_root


class Head(NamedTuple):
    """Where a tree ended."""

    size: int
    root: bytes
    frontier: bytes
    recorded_at: int | None


class RecordedTree(Protocol):
    """What one place has recorded of one tree of one fleet."""

    @property
    def begins_late(self) -> int | None:
        """The size with which it begins, if that is later than the log; None: with the first leaf."""

    async def heads(self, after: int, through: int) -> Mapping[int, Head]:
        """The heads of more than ``after`` leaves and at most ``through``."""

    async def newest(self) -> int:
        """The size of the newest head."""

    async def subtrees(self, level: int, first: int, last: int) -> Mapping[int, bytes] | None:
        """The hashes of complete subtrees; None where none are kept."""

    async def counted(self, size: int) -> Mapping[int, tuple[int, int]] | None:
        """By level: how many subtrees of so many leaves there are, and the largest number of any."""

    async def signed(self, after: int, through: int) -> Sequence[SignedNote]:
        """The tree's own notes, by size and life."""

    async def largest_signed(self, after: int) -> int | None:
        """The largest size of which there is a note, if one is above."""

    def bound(self) -> AsyncIterator[Sequence[SignedNote]]:
        """The notes that bind both trees, in the order in which they were signed."""


_NOTES: Final = 500
"""Notes a page: of some hundred bytes each."""


@dataclass(frozen=True, slots=True)
class TreeInDatabase:
    """A tree's records in Postgres."""

    connection: Connection
    fleet: Fleet
    tree: Tree

    @property
    def begins_late(self) -> None:
        """All of it is there, or in the archive beside it."""
        return

    async def heads(self, after: int, through: int) -> Mapping[int, Head]:
        """One for each append."""
        with refusals_named():
            rows = await self.connection.fetch(
                "SELECT size, root, frontier, recorded_at_micros FROM ledger.heads"
                " WHERE fleet = $1 AND tree = $2 AND size > $3 AND size <= $4",
                self.fleet.number,
                self.tree,
                after,
                through,
            )
        return {row["size"]: Head(*row) for row in rows}

    async def newest(self) -> int:
        """Of all heads."""
        size, _ = await recorded_root(self.connection, self.fleet.number, self.tree)
        return size

    async def subtrees(self, level: int, first: int, last: int) -> Mapping[int, bytes]:
        """Of one level, by number."""
        with refusals_named():
            rows = await self.connection.fetch(
                "SELECT number, hash FROM ledger.tile_hashes WHERE fleet = $1 AND tree = $2"
                " AND level = $3 AND number >= $4 AND number <= $5 ORDER BY number",
                self.fleet.number,
                self.tree,
                level,
                first,
                last,
            )
        return {row["number"]: row["hash"] for row in rows}

    async def counted(self, size: int) -> Mapping[int, tuple[int, int]]:
        """Of every level that has any."""
        with refusals_named():
            rows = await self.connection.fetch(
                "SELECT level, count(*) FILTER (WHERE number < $3::bigint >> (8 * level)),"
                " max(number) FROM ledger.tile_hashes WHERE fleet = $1 AND tree = $2"
                " GROUP BY level",
                self.fleet.number,
                self.tree,
                size,
            )
        return {level: (count, largest) for level, count, largest in rows}

    async def signed(self, after: int, through: int) -> Sequence[SignedNote]:
        """As the signer wrote them down."""
        with refusals_named():
            rows = await self.connection.fetch(
                "SELECT incarnation, size, root, note FROM ledger.checkpoints"
                " WHERE fleet = $1 AND tree = $2 AND size > $3 AND size <= $4"
                " ORDER BY size, incarnation, again",
                self.fleet.number,
                self.tree,
                after,
                through,
            )
        return [SignedNote(*row) for row in rows]

    async def largest_signed(self, after: int) -> int | None:
        """Of any life of the log."""
        with refusals_named():
            largest: int | None = await self.connection.fetchval(
                "SELECT max(size) FROM ledger.checkpoints"
                " WHERE fleet = $1 AND tree = $2 AND size > $3",
                self.fleet.number,
                self.tree,
                after,
            )
        return largest

    async def bound(self) -> AsyncIterator[Sequence[SignedNote]]:
        """Page after page."""
        last = (0, -1)
        while True:
            with refusals_named():
                rows = await self.connection.fetch(
                    "SELECT incarnation, size, root, note FROM ledger.checkpoints"
                    " WHERE fleet = $1 AND tree = 'both' AND (incarnation, size) > ($2, $3)"
                    " ORDER BY incarnation, size LIMIT $4",
                    self.fleet.number,
                    *last,
                    _NOTES,
                )
            if rows:
                yield [SignedNote(*row) for row in rows]
                last = rows[-1]["incarnation"], rows[-1]["size"]
            if len(rows) < _NOTES:
                return


class TreeInArchive:
    """A tree's records in an archive."""

    def __init__(self, archive: Archive, tree: Tree) -> None:
        self._archive = archive
        self._tree = tree
        self._signed = archive.notes(tree)
        self._waiting: list[SignedNote] = []
        manifest = archive.manifest
        self.begins_late = manifest.begins.of(tree).size if manifest.first else None

    async def heads(self, after: int, through: int) -> Mapping[int, Head]:
        """One for each range; two ranges may end at one decision, and say the same of it."""
        found: dict[int, Head] = {}
        for one in self._archive.manifest.ranges:
            end = one.ends.of(self._tree)
            if after < end.size <= through:
                moment = one.recorded_at if self._tree == "events" else None
                found[end.size] = Head(end.size, end.root(), end.to_bytes(), moment)
        return found

    async def newest(self) -> int:
        """Of the last range."""
        return self._archive.manifest.ends.of(self._tree).size

    async def subtrees(self, level: int, first: int, last: int) -> None:
        """None are kept."""

    async def counted(self, size: int) -> None:
        """None are kept."""

    async def signed(self, after: int, through: int) -> Sequence[SignedNote]:
        """In the order of the files, which is that of the sizes; asked for once, from the first on."""
        while not self._waiting or self._waiting[-1].size <= through:
            found = next(self._signed, None)
            if found is None:
                break
            self._waiting += found
        told = [one for one in self._waiting if after < one.size <= through]
        self._waiting = [one for one in self._waiting if one.size > through]
        return told

    async def largest_signed(self, after: int) -> int | None:
        """Of what was not asked for yet."""
        await self.signed(after, after)
        for found in self._signed:
            self._waiting += found
        return max((one.size for one in self._waiting if one.size > after), default=None)

    async def bound(self) -> AsyncIterator[Sequence[SignedNote]]:
        """Group after group."""
        for found in self._archive.notes("both"):
            yield found
