"""The append lock of a fleet's tree and the head under it.

Whoever appends locks the tree first and holds the lock to the end of its transaction; positions
are drawn under it, so they are gapless by construction and commit in order. The head is the
newest row of an append-only table.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import asyncpg

from ledger.errors import WrongPosition
from ledger.log import merkle
from ledger.log.database import refusals_named
from ledger.units import Incarnation, Microseconds

Tree = Literal["events", "decisions"]

TREES: Final[tuple[Tree, ...]] = ("events", "decisions")


@dataclass(frozen=True, slots=True)
class Head:
    """Where a tree ends, as seen under its lock, and what the database's clock says there."""

    frontier: merkle.Frontier
    recorded_at: Microseconds | None
    clock: Microseconds
    incarnation: Incarnation


async def lock(connection: asyncpg.Connection, fleet: int, tree: Tree) -> Head:
    """Take the tree's place in line; the lock is held until the transaction ends."""
    assert connection.is_in_transaction(), "without a transaction the lock is gone at once"
    row = await connection.fetchrow("SELECT * FROM ledger.lock_tree($1, $2)", fleet, tree)
    assert row is not None, "lock_tree answers with one row or raises"
    return Head(
        frontier=merkle.Frontier.from_bytes(row["frontier"], size=row["size"]),
        recorded_at=row["recorded_at_micros"],
        clock=row["clock_micros"],
        incarnation=row["incarnation"],
    )


async def extend(
    connection: asyncpg.Connection,
    fleet: int,
    tree: Tree,
    head: Head,
    leaves: Sequence[bytes],
    *,
    recorded_at: Microseconds | None,
) -> merkle.Frontier:
    """Write the head behind ``leaves``, and the tile hashes that they complete.

    Whoever waits for events is rung up with the commit.
    """
    extension = merkle.extend(head.frontier, leaves)
    await connection.execute(
        "WITH grown AS ("
        " INSERT INTO ledger.heads (fleet, tree, size, recorded_at_micros, root, frontier)"
        " VALUES ($1, $2, $3, $4, $5, $6))"
        " SELECT pg_notify('ledger_events', '') WHERE $2 = 'events'",
        fleet,
        tree,
        extension.frontier.size,
        recorded_at,
        extension.frontier.root(),
        extension.frontier.to_bytes(),
    )
    await keep_tiles(connection, fleet, tree, extension)
    return extension.frontier


async def keep_tiles(
    connection: asyncpg.Connection, fleet: int, tree: Tree, extension: merkle.Extension
) -> None:
    """Write the tile hashes that an extension completed."""
    if extension.completed:
        await connection.executemany(
            "INSERT INTO ledger.tile_hashes (fleet, tree, level, number, hash)"
            " VALUES ($1, $2, $3, $4, $5)",
            [(fleet, tree, done.level, done.index, done.hash) for done in extension.completed],
        )


async def recorded_root(
    connection: asyncpg.Connection, fleet: int, tree: Tree, *, at_most: int = 2**63 - 1
) -> tuple[int, bytes]:
    """Size and root of the newest head up to a size, without the lock."""
    with refusals_named():
        row = await connection.fetchrow(
            "SELECT size, root FROM ledger.heads WHERE fleet = $1 AND tree = $2 AND size <= $3"
            " ORDER BY size DESC LIMIT 1",
            fleet,
            tree,
            at_most,
        )
    return (0, merkle.EMPTY_ROOT) if row is None else (row["size"], row["root"])


async def sizes(connection: asyncpg.Connection, fleet: int) -> dict[Tree, int]:
    """How large both trees are by their newest heads."""
    return {tree: (await recorded_root(connection, fleet, tree))[0] for tree in TREES}


async def recorded_at(connection: asyncpg.Connection, fleet: int, *, size: int) -> Microseconds:
    """When the last event of an append was recorded behind which there were so many; 0 before the first."""
    with refusals_named():
        found = await connection.fetchval(
            "SELECT recorded_at_micros FROM ledger.heads"
            " WHERE fleet = $1 AND tree = 'events' AND size = $2",
            fleet,
            size,
        )
    return Microseconds(found or 0)


async def root_at(connection: asyncpg.Connection, fleet: int, tree: Tree, *, size: int) -> bytes:
    """The root that a tree had when it was so large, wherever appends began and ended."""
    return (await frontier_at(connection, fleet, tree, size=size)).root()


async def frontier_at(
    connection: asyncpg.Connection, fleet: int, tree: Tree, *, size: int
) -> merkle.Frontier:
    """The tree as it was then: from the newest head up to there, and the leaves behind it."""
    begins = await newest_frontier(connection, fleet, tree, at_most=size)
    return await grown(connection, fleet, tree, begins, size=size)


async def grown(
    connection: asyncpg.Connection, fleet: int, tree: Tree, begins: merkle.Frontier, *, size: int
) -> merkle.Frontier:
    """A tree with the leaves behind it; WrongPosition where they are not all there."""
    with refusals_named():
        leaves = await connection.fetch(_LEAVES[tree], fleet, begins.size, size)
    frontier = merkle.extend(begins, [leaf for (leaf,) in leaves]).frontier
    if frontier.size != size:
        raise WrongPosition(f"the tree of {tree} has no {size} leaves")
    return frontier


async def newest_frontier(
    connection: asyncpg.Connection, fleet: int, tree: Tree, *, at_most: int
) -> merkle.Frontier:
    """The tree at the newest head up to a size."""
    with refusals_named():
        row = await connection.fetchrow(
            "SELECT size, frontier FROM ledger.heads WHERE fleet = $1 AND tree = $2 AND size <= $3"
            " ORDER BY size DESC LIMIT 1",
            fleet,
            tree,
            at_most,
        )
    if row is None:
        return merkle.EMPTY
    return merkle.Frontier.from_bytes(row["frontier"], size=row["size"])


_LEAVES: Final[dict[Tree, str]] = {
    "events": "SELECT leaf FROM ledger.events"
    " WHERE fleet = $1 AND position >= $2 AND position < $3 ORDER BY position",
    "decisions": "SELECT digest FROM ledger.decisions"
    " WHERE fleet = $1 AND number >= $2 AND number < $3 ORDER BY number",
}
