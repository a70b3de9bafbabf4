"""A log of which ranges were detached: what is no longer in the database is read from its archive.

The database remembers which ranges it let go of (``archived_ranges``). Whoever reads history through
here gets the rows of those from the archive beside the database and all others from Postgres, in order.
Without the archive nothing is left out silently: the reader is told which positions are missing.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from ledger.errors import SetupProblem, WrongPosition
from ledger.log import merkle, read, trees
from ledger.log.archive.reading import Archive
from ledger.log.database import refusals_named
from ledger.log.fleets import Fleet
from ledger.log.merkle import Frontier
from ledger.log.read import StoredEvent
from ledger.log.trees import Tree
from ledger.units import Position


@dataclass(frozen=True, slots=True)
class Stretch:
    """Positions that lie in one place."""

    first: int
    before: int
    archive: Archive | None
    """None: in the database."""


async def archive_of(
    connection: asyncpg.Connection, fleet: Fleet, folder: Path | None
) -> Archive | None:
    """The archive of a fleet in a directory of archives; None where nothing of it was detached."""
    with refusals_named():
        detached = await connection.fetchval(
            "SELECT EXISTS (SELECT FROM ledger.archived_ranges WHERE fleet = $1)", fleet.number
        )
    return Archive.open(folder / fleet.name) if detached and folder is not None else None


async def still_there(connection: asyncpg.Connection, fleet: Fleet) -> int | None:
    """The first position that is said to be detached, and is in the database all the same."""
    with refusals_named():
        found: int | None = await connection.fetchval(
            "SELECT min((SELECT min(e.position) FROM ledger.events e"
            "             WHERE e.fleet = a.fleet AND e.position >= a.first AND e.position < a.next))"
            "  FROM ledger.archived_ranges a WHERE a.fleet = $1",
            fleet.number,
        )
    return found


async def stretches(
    connection: asyncpg.Connection,
    fleet: Fleet,
    archive: Archive | None,
    *,
    first: int,
    before: int,
) -> list[Stretch]:
    """Where the events of some positions lie, in order; raises SetupProblem where it is not told."""
    with refusals_named():
        rows = await connection.fetch(
            "SELECT first, next FROM ledger.archived_ranges"
            " WHERE fleet = $1 AND next > $2 AND first < $3 ORDER BY first",
            fleet.number,
            first,
            before,
        )
    found: list[Stretch] = []
    at = first
    for begins, ends in rows:
        if at < begins:
            found.append(Stretch(at, begins, None))
        at = max(at, begins)
        end = min(ends, before)
        _require_covering(fleet, archive, begins, ends)
        found.append(Stretch(at, end, archive))
        at = end
    if at < before:
        found.append(Stretch(at, before, None))
    return found


def _require_covering(fleet: Fleet, archive: Archive | None, first: int, before: int) -> None:
    """The archive of the fleet has these positions."""
    where = f"fleet {fleet.name}: positions {first} to {before - 1} were detached"
    if archive is None:
        raise SetupProblem(
            f"{where}; `ledger verify`, `replay`, `prove`, `seal` and `recover` read them from their"
            " archive with --detached DIR"
        )
    if archive.manifest.fleet != fleet.name or not (
        archive.manifest.first <= first and before <= archive.manifest.next
    ):
        raise SetupProblem(
            f"{where}; the archive in {archive.folder} has {archive.manifest.fleet}"
            f" from {archive.manifest.first} to {archive.manifest.next - 1}"
        )


async def pages(
    connection: asyncpg.Connection,
    fleet: Fleet,
    archive: Archive | None,
    *,
    first: Position,
    before: int,
) -> AsyncIterator[list[StoredEvent]]:
    """The events of some positions in order, page after page, wherever they lie."""
    for stretch in await stretches(connection, fleet, archive, first=first, before=before):
        if stretch.archive is not None:
            for page in stretch.archive.events(stretch.first, stretch.before):
                yield page
            continue
        async for page in read.pages(
            connection, fleet, first=Position(stretch.first), before=stretch.before
        ):
            yield page


async def leaves(
    connection: asyncpg.Connection,
    fleet: Fleet,
    archive: Archive | None,
    *,
    first: int,
    before: int,
) -> list[bytes]:
    """The leaves of some events, as their rows name them."""
    found: list[bytes] = []
    for stretch in await stretches(connection, fleet, archive, first=first, before=before):
        if stretch.archive is not None:
            found += stretch.archive.leaves("events", stretch.first, stretch.before)
            continue
        with refusals_named():
            rows = await connection.fetch(
                "SELECT leaf FROM ledger.events"
                " WHERE fleet = $1 AND position >= $2 AND position < $3 ORDER BY position",
                fleet.number,
                stretch.first,
                stretch.before,
            )
        found += [leaf for (leaf,) in rows]
    return found


async def frontier_at(
    connection: asyncpg.Connection, fleet: Fleet, archive: Archive | None, tree: Tree, *, size: int
) -> Frontier:
    """A tree as it was when it was so large (``ledger.log.trees.frontier_at``)."""
    if tree == "decisions":
        return await trees.frontier_at(connection, fleet.number, tree, size=size)
    begins = await trees.newest_frontier(connection, fleet.number, tree, at_most=size)
    rest = await leaves(connection, fleet, archive, first=begins.size, before=size)
    found = merkle.extend(begins, rest).frontier
    if found.size != size:
        raise WrongPosition(f"the tree of {tree} has no {size} leaves")
    return found
