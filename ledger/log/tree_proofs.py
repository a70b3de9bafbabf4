"""The hashes of a proof, read from the rows that a tree is kept in.

A complete subtree of 256 leaves, and of 256 of those, is a row of ``tile_hashes``; below that are the
leaves themselves. So a proof reads a few tiles however large the tree is. The leaves of events that were
detached come from their archive. What is read is believed only as far as the root that it leads to.
"""

from typing import Final

import asyncpg

from ledger.log import detached, merkle
from ledger.log.archive.reading import Archive
from ledger.log.database import refusals_named
from ledger.log.fleets import Fleet
from ledger.log.merkle import Nodes
from ledger.log.tiles import Tile, nodes_from_tiles, tiles_needed
from ledger.log.trees import Tree

_DECISIONS: Final = (
    "SELECT digest FROM ledger.decisions WHERE fleet = $1 AND number >= $2"
    " AND number < $3 ORDER BY number"
)
_SUBTREES: Final = (
    "SELECT hash FROM ledger.tile_hashes WHERE fleet = $1 AND tree = $2 AND level = $3"
    " AND number >= $4 AND number < $5 ORDER BY number"
)


async def inclusion(
    connection: asyncpg.Connection,
    fleet: Fleet,
    tree: Tree,
    index: int,
    *,
    size: int,
    archive: Archive | None = None,
) -> tuple[bytes, ...]:
    """What leads from a leaf to the root of the first ``size``."""
    tiles = tiles_needed(merkle.inclusion_ranges(index, size=size), size=size)
    node = await _nodes(connection, fleet, tree, tiles, size=size, archive=archive)
    return merkle.inclusion_proof(index, size=size, node=node)


async def consistency(
    connection: asyncpg.Connection,
    fleet: Fleet,
    tree: Tree,
    old_size: int,
    *,
    new_size: int,
    archive: Archive | None = None,
) -> tuple[bytes, ...]:
    """What shows that the larger tree begins with all of the smaller one."""
    ranges = merkle.consistency_ranges(old_size, new_size=new_size)
    tiles = tiles_needed(ranges, size=new_size)
    node = await _nodes(connection, fleet, tree, tiles, size=new_size, archive=archive)
    return merkle.consistency_proof(old_size, new_size=new_size, node=node)


async def hashes(
    connection: asyncpg.Connection,
    fleet: Fleet,
    tree: Tree,
    tile: Tile,
    archive: Archive | None = None,
) -> tuple[bytes, ...]:
    """The hashes of one tile, as many as there are."""
    first, stop = tile.hashes.start, tile.hashes.stop
    if tile.level == 0 and tree == "events":
        return tuple(await detached.leaves(connection, fleet, archive, first=first, before=stop))
    with refusals_named():
        if tile.level == 0:
            rows = await connection.fetch(_DECISIONS, fleet.number, first, stop)
        else:
            rows = await connection.fetch(_SUBTREES, fleet.number, tree, tile.level, first, stop)
    return tuple(row[0] for row in rows)


async def _nodes(
    connection: asyncpg.Connection,
    fleet: Fleet,
    tree: Tree,
    tiles: tuple[Tile, ...],
    *,
    size: int,
    archive: Archive | None = None,
) -> Nodes:
    held = {tile: await hashes(connection, fleet, tree, tile, archive) for tile in tiles}
    for tile, found in held.items():
        # A tree with a hole in it leads to no root: the proof will not hold, and says so.
        held[tile] = found + (merkle.EMPTY_ROOT,) * (tile.width - len(found))
    return nodes_from_tiles(held.__getitem__, size=size)
