"""Where a hash of the tree lies when it is served as files: C2SP tlog-tiles.

A *tile* holds 256 neighbouring hashes of one of every eight levels of the tree: tile level 0 the
leaf hashes, tile level 1 the roots of 256 leaves, and so on; the levels between are recomputed
from them. A full tile never changes, so anybody may cache it for ever. The last tile of a level is
usually *partial*, and its width is part of its path, so that it never changes either.

A path is canonical: it is written in exactly one way and read in no other. Tile indexes are
decimal in groups of three digits, all but the last marked with an x, to keep folders small.

Who stores the hashes is left to others: ``nodes_from_tiles`` turns whatever can produce a tile
into the ``node`` that proofs are built from, and ``tiles_needed`` says beforehand which tiles
those will be, for callers that have to wait for each.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ledger.errors import InvalidRequest
from ledger.log.merkle import (
    HASH_LENGTH,
    TILE_HEIGHT,
    TILE_WIDTH,
    Nodes,
    complete_subtrees,
    root,
)

LEVEL_MAX: Final = 63
"""The highest tile level a path may name; a tree of 2**63 leaves stops at level 7."""

ENTRY_LENGTH_MAX: Final = 2**16 - 1
"""Entries carry their length in two bytes, which is why a leaf holds digests and no payload."""

_PATH: Final = re.compile(
    r"""(?P<level>0|[1-9][0-9]?)
        / (?P<index>[0-9]{3} | x(?!000)[0-9]{3} (/x[0-9]{3})* /[0-9]{3})
        (\.p/ (?P<width>[1-9][0-9]{0,2}))?""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True, order=True)
class Tile:
    """The ``index``-th tile of a tile level; ``width`` below 256 makes it a partial one."""

    level: int
    index: int
    width: int = TILE_WIDTH

    def __post_init__(self) -> None:
        assert 0 <= self.level <= LEVEL_MAX
        assert self.index >= 0
        assert 1 <= self.width <= TILE_WIDTH, "an empty tile does not exist"

    @property
    def hashes(self) -> range:
        """Which hashes of its tile level it holds."""
        start = self.index * TILE_WIDTH
        return range(start, start + self.width)

    @property
    def path(self) -> str:
        """Where it is served, below the log's prefix."""
        return f"tile/{self.level}/{_numbered(self.index, self.width)}"


@dataclass(frozen=True, slots=True)
class TileLevel:
    """How many tiles of one level a tree has: full ones, and the width of a partial one or 0."""

    level: int
    full_tiles: int
    partial_width: int


def parse_tile(path: str) -> Tile:
    """Read the part of a tile's path after ``tile/``, in its one canonical spelling."""
    match = _PATH.fullmatch(path)
    if match is None:
        raise InvalidRequest("invalid_tile_path", f"{path!r} is no level, index and width")
    level = int(match["level"])
    width = int(match["width"] or TILE_WIDTH)
    if level > LEVEL_MAX:
        raise InvalidRequest("invalid_tile_path", f"{path!r}: levels end at {LEVEL_MAX}")
    if match["width"] and width >= TILE_WIDTH:
        raise InvalidRequest("invalid_tile_path", f"{path!r}: a partial tile is below {TILE_WIDTH}")
    return Tile(level, int(re.sub("[x/]", "", match["index"])), width)


def entries_path(index: int, *, size: int) -> str:
    """Where the bundle with entry ``index`` is served while the tree has ``size`` leaves."""
    tile = tile_holding(0, index, size=size)
    return f"tile/entries/{_numbered(tile.index, tile.width)}"


def entry_path(index: int) -> str:
    """Where an entry is served alone that is too long for a bundle: a place of ours, not of C2SP."""
    return f"entry/{_numbered(index, TILE_WIDTH)}"


def entry_bundle(entries: Sequence[bytes]) -> bytes:
    """The leaves of one tile as a served bundle: each after its length in two bytes."""
    assert 1 <= len(entries) <= TILE_WIDTH
    for entry in entries:
        if len(entry) > ENTRY_LENGTH_MAX:
            raise InvalidRequest("entry_too_large", f"{len(entry)} bytes in one entry")
    return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)


def tile_levels(size: int) -> tuple[TileLevel, ...]:
    """Which tiles a tree of ``size`` leaves has, from the leaves up."""
    assert size >= 0
    levels: list[TileLevel] = []
    hashes = size
    while hashes:
        levels.append(TileLevel(len(levels), *divmod(hashes, TILE_WIDTH)))
        hashes //= TILE_WIDTH
    return tuple(levels)


def tile_holding(level: int, index: int, *, size: int) -> Tile:
    """The tile with hash ``index`` of tile level ``level`` while the tree has ``size`` leaves."""
    hashes = size >> TILE_HEIGHT * level
    if not 0 <= index < hashes:
        raise InvalidRequest(
            "index_out_of_range", f"hash {index} of tile level {level} in a tree of {size}"
        )
    tile = index // TILE_WIDTH
    return Tile(level, tile, min(TILE_WIDTH, hashes - tile * TILE_WIDTH))


def tiles_needed(ranges: Iterable[range], *, size: int) -> tuple[Tile, ...]:
    """The tiles that a proof made of these leaf ranges reads, each once, in order."""
    return tuple(
        sorted(
            {
                _tile_above(level, index, size=size)
                for leaves in ranges
                for level, index in complete_subtrees(leaves)
            }
        )
    )


def nodes_from_tiles(tile: Callable[[Tile], Sequence[bytes]], *, size: int) -> Nodes:
    """Any complete subtree of a tree of ``size`` leaves, from the hashes of its tiles."""

    def node(level: int, index: int) -> bytes:
        held = _tile_above(level, index, size=size)
        hashes = tile(held)
        assert len(hashes) == held.width
        height = level % TILE_HEIGHT
        start = (index << height) - held.hashes.start
        return root(hashes[start : start + (1 << height)])

    return node


def hashes_of_tile(data: bytes) -> tuple[bytes, ...]:
    """The hashes of a tile as it is served: one after the other and nothing else."""
    count, rest = divmod(len(data), HASH_LENGTH)
    if rest or not 1 <= count <= TILE_WIDTH:
        raise InvalidRequest("invalid_tile", f"{len(data)} bytes are not 1 to 256 hashes")
    return tuple(data[at : at + HASH_LENGTH] for at in range(0, len(data), HASH_LENGTH))


def _tile_above(level: int, index: int, *, size: int) -> Tile:
    """The tile from whose hashes the complete subtree ``(level, index)`` is computed."""
    tile_level, height = divmod(level, TILE_HEIGHT)
    return tile_holding(tile_level, index << height, size=size)


def _numbered(index: int, width: int) -> str:
    groups = [f"{index % 1000:03}"]
    while index := index // 1000:
        groups.append(f"x{index % 1000:03}")
    partial = "" if width == TILE_WIDTH else f".p/{width}"
    return "/".join(reversed(groups)) + partial
