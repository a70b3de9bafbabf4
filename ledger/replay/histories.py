"""Where the history of a fleet is kept: in a database, in an archive, or partly in each.

An audit asks the same of all of them, so what it finds does not depend on where it looked. A place can be
opened once more by a process of its own, which is how several workers read one history.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from ledger.facts.genesis import Genesis
from ledger.log import decisions, detached, fleets, merkle
from ledger.log import snapshots as kept
from ledger.log.archive.reading import Archive
from ledger.log.database import Connection, Role, connected
from ledger.log.fleets import Fleet
from ledger.log.history import FIRST, Decided, archived_pages, decided_pages
from ledger.log.notes import Key
from ledger.log.snapshots import Stored
from ledger.log.trees import Tree
from ledger.replay import archived, verify
from ledger.replay.verify import OnProgress, Verified
from ledger.units import Incarnation, Position, Subject

READER: Final[Role] = "ledger_signer"
"""The role of an audit: it may read everything, and of a log write nothing."""


class History(Protocol):
    """The history of one fleet, as an audit reads it."""

    @property
    def fleet(self) -> Fleet:
        """Whose it is."""

    @property
    def first(self) -> Position:
        """Its first event: 0, unless it is an archive of later ones."""

    async def verified(
        self, keys: Sequence[Key] = (), on_progress: OnProgress | None = None
    ) -> Verified:
        """Both trees recomputed, and whether they are as recorded."""

    async def cursor(self) -> tuple[Position, int]:
        """The last event that was decided, and how many decisions there were by then."""

    async def made_by(self, position: Position) -> int:
        """How many decisions were made about the events up to a position."""

    async def decided_about(
        self, subject: Subject | None, first: Position, through: Position
    ) -> int:
        """How many decisions were made between two positions about a subject, or about anybody."""

    async def genesis(self) -> Genesis | None:
        """What the fleet began with; None before its first event."""

    async def incarnation(self) -> Incarnation:
        """Which life of its log the fleet is in."""

    async def root_at(self, tree: Tree, size: int) -> bytes:
        """The root that a tree had when it was so large; raises WrongPosition."""

    async def snapshots(self) -> list[Stored]:
        """Those whose bytes are there, of whatever layout, in the order of the log."""

    def snapshot_lines(self, stored: Stored) -> AsyncIterator[list[bytes]]:
        """The lines of one, a part at a time."""

    def decided_pages(
        self, *, through: Position, first: Position, number: int
    ) -> AsyncIterator[list[Decided]]:
        """Events with the decisions recorded on each, in order; ``number`` is that of the first."""


class Place(Protocol):
    """Where a history can be opened once more."""

    def open(self, fleet: Fleet) -> AbstractAsyncContextManager[History]:
        """The same history, over a connection or files of its own."""


@dataclass(frozen=True, slots=True)
class DatabaseHistory:
    """In Postgres; what was detached there is read from an archive."""

    connection: Connection
    fleet: Fleet
    archive: Archive | None = None
    first: Position = FIRST

    async def verified(
        self, keys: Sequence[Key] = (), on_progress: OnProgress | None = None
    ) -> Verified:
        """``ledger.replay.verify``, behind a look at the files of the archive."""
        damage = None if self.archive is None else archived.damage(self.archive)
        if damage is not None:
            through, _ = await self.cursor()
            return Verified(merkle.EMPTY, merkle.EMPTY, through, damage)
        return await verify.verify(
            self.connection, self.fleet, keys=keys, on_progress=on_progress, archive=self.archive
        )

    async def cursor(self) -> tuple[Position, int]:
        """As the decider wrote it."""
        return await decisions.cursor(self.connection, self.fleet)

    async def made_by(self, position: Position) -> int:
        """By the rows of the decisions."""
        return await decisions.made_by(self.connection, self.fleet, position)

    async def decided_about(
        self, subject: Subject | None, first: Position, through: Position
    ) -> int:
        """By the rows of the decisions."""
        return await decisions.made_about(
            self.connection, self.fleet, subject, first=first, through=through
        )

    async def genesis(self) -> Genesis | None:
        """As it was written at the first append."""
        return await fleets.read_genesis(self.connection, self.fleet)

    async def incarnation(self) -> Incarnation:
        """The newest."""
        return await fleets.incarnation(self.connection, self.fleet)

    async def root_at(self, tree: Tree, size: int) -> bytes:
        """From the newest head up to there, and the leaves behind it."""
        frontier = await detached.frontier_at(
            self.connection, self.fleet, self.archive, tree, size=size
        )
        return frontier.root()

    async def snapshots(self) -> list[Stored]:
        """As deciders wrote them."""
        return [*reversed(await kept.newest(self.connection, self.fleet))]

    def snapshot_lines(self, stored: Stored) -> AsyncIterator[list[bytes]]:
        """They stop early if a decider deletes them meanwhile."""
        return kept.lines(self.connection, stored)

    def decided_pages(
        self, *, through: Position, first: Position, number: int
    ) -> AsyncIterator[list[Decided]]:
        """A page of rows at a time."""
        return decided_pages(
            self.connection,
            self.fleet,
            through=through,
            first=first,
            number=number,
            archive=self.archive,
        )


@dataclass(frozen=True, slots=True)
class DatabasePlace:
    """A database by its URL, with the archive of what was detached from it."""

    url: str
    archive: Archive | None = None

    @asynccontextmanager
    async def open(self, fleet: Fleet) -> AsyncIterator[History]:
        """Over a connection of its own."""
        async with connected(self.url, READER) as connection:
            yield DatabaseHistory(connection, fleet, self.archive)


@dataclass(frozen=True, slots=True)
class ArchiveHistory:
    """In an archive alone."""

    archive: Archive

    @property
    def fleet(self) -> Fleet:
        """As the manifest has it."""
        return self.archive.fleet

    @property
    def first(self) -> Position:
        """Where the archive begins."""
        return Position(self.archive.manifest.first)

    async def verified(
        self, keys: Sequence[Key] = (), on_progress: OnProgress | None = None
    ) -> Verified:
        """``ledger.replay.archived``, which looks at the files first."""
        return await archived.verify(self.archive, keys=keys, on_progress=on_progress)

    async def cursor(self) -> tuple[Position, int]:
        """An archive holds what was decided and nothing beyond."""
        return self.archive.through, self.archive.manifest.ends.decisions.size

    async def made_by(self, position: Position) -> int:
        """By the rows of the decisions."""
        return self.archive.made_by(position)

    async def decided_about(
        self, subject: Subject | None, first: Position, through: Position
    ) -> int:
        """By the rows of the decisions."""
        return self.archive.made_about(subject, first=first, through=through)

    async def genesis(self) -> Genesis | None:
        """None where no decisions are made."""
        return self.archive.genesis if self.archive.manifest.decides else None

    async def incarnation(self) -> Incarnation:
        """That of its last event."""
        return self.archive.incarnation

    async def root_at(self, tree: Tree, size: int) -> bytes:
        """From the beginning of its range."""
        return self.archive.frontier_at(tree, size).root()

    async def snapshots(self) -> list[Stored]:
        """Those whose bytes were there when their range was written."""
        return self.archive.snapshots()

    async def snapshot_lines(self, stored: Stored) -> AsyncIterator[list[bytes]]:
        """A row group at a time."""
        for lines in self.archive.snapshot_lines(stored):
            yield lines

    def decided_pages(
        self, *, through: Position, first: Position, number: int
    ) -> AsyncIterator[list[Decided]]:
        """A row group at a time."""
        return archived_pages(self.archive, through=through, first=first, number=number)


@dataclass(frozen=True, slots=True)
class ArchivePlace:
    """An archive, which is read by any number at once."""

    archive: Archive

    @asynccontextmanager
    async def open(self, fleet: Fleet) -> AsyncIterator[History]:
        """Its files are opened as they are needed."""
        assert fleet.name == self.archive.manifest.fleet, "an archive is of one fleet"
        yield ArchiveHistory(self.archive)
