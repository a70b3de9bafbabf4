"""A tree as static files, for any client of C2SP tlog-tiles: ``ledger tiles``.

Below a directory each origin gets one of its own, which is the prefix that a client is told:

    <origin>/checkpoint                 the signed note of the tree that the files hold
    <origin>/tile/<L>/<N>[.p/<W>]       hashes
    <origin>/tile/entries/<N>[.p/<W>]   what the leaves are hashes of

What an entry is was decided with the leaves, and cannot be another thing: of an event the envelope with
the digest of its bytes, of a decision the whole record. A bundle tells lengths in two bytes. Where a record
is longer than that, its bundle cannot be written; then each entry of it lies alone, as ``<origin>/entry/<N>``,
which is a place of ours (docs/adr/0024). The hashes are served all the same.

Nothing is believed of the rows: leaves are hashed from the entries, every tile from the tiles below, and
the right edge of what was written must lead to the root that was signed. Only then the checkpoint is
replaced, so a client never sees a tree whose files are not there. The next export begins at the last tile
that was not full, and only if the tree continues the one that the directory has.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from ledger.errors import InvalidRequest, LedgerStopped, SetupProblem
from ledger.log import decisions, detached, fleets, merkle, tree_proofs, whole_files
from ledger.log.archive.reading import Archive
from ledger.log.checkpoints import Checkpoint, parse_checkpoint
from ledger.log.database import refusals_named
from ledger.log.fleets import Fleet
from ledger.log.leaf import stored_leaf_data
from ledger.log.merkle import TILE_HEIGHT, TILE_WIDTH
from ledger.log.notes import parse_note
from ledger.log.tiles import (
    ENTRY_LENGTH_MAX,
    Tile,
    entries_path,
    entry_bundle,
    entry_path,
    hashes_of_tile,
    nodes_from_tiles,
    tile_holding,
    tile_levels,
)
from ledger.log.trees import Tree
from ledger.units import Position


@dataclass(frozen=True, slots=True)
class Tiled:
    """What a directory holds of a tree by now."""

    origin: str
    before: int
    """How many leaves it held when the export began."""
    size: int
    alone: int
    """Entries that were written alone, because one beside them is too long for a bundle."""


async def export(
    connection: asyncpg.Connection,
    fleet: Fleet,
    tree: Tree,
    folder: Path,
    archive: Archive | None = None,
) -> Tiled:
    """Bring a directory up to the newest signed end of a tree.

    SetupProblem where nothing was signed, or the directory is none for this; LedgerStopped where the rows
    do not lead to what was signed, or do not continue what the directory has.
    """
    signed, note = await _signed(connection, fleet, tree)
    below = folder / signed.origin
    if (below / "checkpoints").exists():
        raise SetupProblem(
            f"{below}: `ledger seal --publish` writes here; tiles need a directory of their own"
        )
    held = _held(below)
    if held is not None:
        await _require_continued(connection, fleet, tree, held, signed, archive)
    before = 0 if held is None else held.size
    writing = _Writing(below, before, signed.size)
    try:
        if before < signed.size:
            async for first, entries in _bundles(
                connection, fleet, tree, writing.first, signed.size, archive
            ):
                writing.leaves(first, entries)
            await writing.upper(connection, fleet, tree, archive)
            writing.require_root(signed)
        whole_files.write(below / "checkpoint", note)
    except OSError as error:
        raise SetupProblem(f"{error.filename}: {error.strerror}") from error
    return Tiled(signed.origin, before, signed.size, writing.alone)


class _Writing:
    """The files of one tree, from the leaves up."""

    def __init__(self, below: Path, before: int, size: int) -> None:
        self.first = before // TILE_WIDTH * TILE_WIDTH
        self.alone = 0
        self._below = below
        self._before = before
        self._size = size
        self._roots: dict[tuple[int, int], bytes] = {}
        """Of the full tiles that were written: what the level above must have of them."""
        self._last = b""

    def leaves(self, first: int, entries: Sequence[bytes]) -> None:
        """Write the leaves of one tile and what they are hashes of."""
        if any(len(entry) > ENTRY_LENGTH_MAX for entry in entries):
            for index, entry in enumerate(entries, first):
                whole_files.write(self._below / entry_path(index), entry)
            self.alone += len(entries)
        else:
            whole_files.write(
                self._below / entries_path(first, size=self._size), entry_bundle(entries)
            )
        hashes = tuple(map(merkle.leaf_hash, entries))
        self._last = hashes[-1]
        self._tile(tile_holding(0, first, size=self._size), hashes)

    async def upper(
        self,
        connection: asyncpg.Connection,
        fleet: Fleet,
        tree: Tree,
        archive: Archive | None,
    ) -> None:
        """Write the tiles above, those that changed since the last export."""
        for level in tile_levels(self._size)[1:]:
            begins = (self._before >> TILE_HEIGHT * level.level) // TILE_WIDTH
            full = level.full_tiles + (level.partial_width > 0)
            for index in range(begins, full):
                tile = tile_holding(level.level, index * TILE_WIDTH, size=self._size)
                hashes = await tree_proofs.hashes(connection, fleet, tree, tile, archive)
                if len(hashes) != tile.width:
                    raise _unlike(self._below, f"{tile.path} has {len(hashes)} hashes")
                for number, found in zip(tile.hashes, hashes, strict=True):
                    if self._roots.pop((level.level, number), found) != found:
                        raise _unlike(self._below, f"{tile.path} is not the tree of its leaves")
                self._tile(tile, hashes)

    def require_root(self, signed: Checkpoint) -> None:
        """What the files hold leads to the root that was signed."""

        def read(tile: Tile) -> Sequence[bytes]:
            try:
                return hashes_of_tile((self._below / tile.path).read_bytes())
            except InvalidRequest as error:
                raise _unlike(self._below, f"{tile.path}: {error.message}") from error

        index = signed.size - 1
        node = nodes_from_tiles(read, size=signed.size)
        if not merkle.verify_inclusion(
            self._last,
            merkle.inclusion_proof(index, size=signed.size, node=node),
            index=index,
            size=signed.size,
            root=signed.root,
        ):
            raise _unlike(self._below, f"the leaves do not lead to the root of {signed.size}")

    def _tile(self, tile: Tile, hashes: Sequence[bytes]) -> None:
        whole_files.write(self._below / tile.path, b"".join(hashes))
        if tile.width == TILE_WIDTH:
            self._roots[tile.level + 1, tile.index] = merkle.root(hashes)


async def _signed(
    connection: asyncpg.Connection, fleet: Fleet, tree: Tree
) -> tuple[Checkpoint, bytes]:
    """The newest signed end of a tree in the life that its log is in, with most witnesses."""
    with refusals_named():
        note = await connection.fetchval(
            "SELECT note FROM ledger.checkpoints"
            " WHERE fleet = $1 AND incarnation = $2 AND tree = $3"
            " ORDER BY size DESC, again DESC LIMIT 1",
            fleet.number,
            await fleets.incarnation(connection, fleet),
            tree,
        )
    if note is None:
        raise SetupProblem(f"{fleet.name}: no end of its {tree} is signed yet; see `ledger seal`")
    try:
        return parse_checkpoint(parse_note(note).text), note
    except InvalidRequest as error:
        raise LedgerStopped(f"fleet {fleet.name}: checkpoint_mismatch: {error}") from error


def _held(below: Path) -> Checkpoint | None:
    """What a directory holds; None where that is nothing yet."""
    path = below / "checkpoint"
    try:
        return parse_checkpoint(parse_note(path.read_bytes()).text)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SetupProblem(f"{path}: {error.strerror}") from error
    except InvalidRequest as error:
        raise SetupProblem(f"{path}: {error}; remove the directory to begin anew") from error


async def _require_continued(
    connection: asyncpg.Connection,
    fleet: Fleet,
    tree: Tree,
    held: Checkpoint,
    signed: Checkpoint,
    archive: Archive | None,
) -> None:
    hashes: tuple[bytes, ...] = ()
    if 0 < held.size < signed.size:
        hashes = await tree_proofs.consistency(
            connection, fleet, tree, held.size, new_size=signed.size, archive=archive
        )
    if held.size > signed.size or (
        held.size
        and not merkle.verify_consistency(
            hashes,
            old_size=held.size,
            old_root=held.root,
            new_size=signed.size,
            new_root=signed.root,
        )
    ):
        raise LedgerStopped(
            f"{signed.origin}: what is signed, {signed.size}, does not continue the {held.size} that"
            " were exported; `ledger verify` says whether history was rewritten"
        )


async def _bundles(
    connection: asyncpg.Connection,
    fleet: Fleet,
    tree: Tree,
    first: int,
    before: int,
    archive: Archive | None,
) -> AsyncIterator[tuple[int, list[bytes]]]:
    """The entries of each tile, with the index of the first."""
    waiting: list[bytes] = []
    async for page in _entries(connection, fleet, tree, first, before, archive):
        waiting += page
        while len(waiting) >= TILE_WIDTH:
            yield first, waiting[:TILE_WIDTH]
            waiting, first = waiting[TILE_WIDTH:], first + TILE_WIDTH
    if first + len(waiting) != before:
        raise LedgerStopped(
            f"{fleet.name}: {before} {tree} were signed, there are {first + len(waiting)}"
        )
    if waiting:
        yield first, waiting


async def _entries(
    connection: asyncpg.Connection,
    fleet: Fleet,
    tree: Tree,
    first: int,
    before: int,
    archive: Archive | None,
) -> AsyncIterator[list[bytes]]:
    """What the leaves are hashes of, page after page."""
    if tree == "decisions":
        async for made in decisions.pages(connection, fleet, first=first, before=before):
            yield [decision.record for decision in made]
        return
    async for page in detached.pages(
        connection, fleet, archive, first=Position(first), before=before
    ):
        yield [stored_leaf_data(fleet.name, event) for event in page]


def _unlike(below: Path, why: str) -> LedgerStopped:
    return LedgerStopped(f"{below}: {why}; `ledger verify` says where the log is not whole")
