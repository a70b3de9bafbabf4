"""The World of a snapshot, if the snapshot is to be believed.

A snapshot is a cache and unsigned. It is taken for a World only if this program writes the same
layout, its bytes have its digest, and what it says of itself fits the log: genesis, incarnation,
and both roots as the trees have them at its position. Whatever does not fit is ignored and said
(``snapshot_ignored``); then the one before it is looked at, and in the end the log is folded from
its beginning. No fleet stops because of a snapshot.
"""

import asyncio
from collections.abc import Awaitable, Callable
from hashlib import sha256

import structlog

from ledger.engine.activity import Activity
from ledger.errors import UnusableSnapshot, WrongPosition
from ledger.facts.genesis import Genesis
from ledger.log import snapshots as kept
from ledger.log import trees
from ledger.log.database import Connection
from ledger.log.fleets import Fleet
from ledger.log.garbage import none_collected
from ledger.log.snapshots import Described, Layout, Stored
from ledger.reducers import snapshot
from ledger.reducers.evolve import ENGINE_VERSION
from ledger.reducers.snapshot import LAYOUT, Reading
from ledger.reducers.world import World
from ledger.units import Incarnation, Position

log = structlog.get_logger()

Meanwhile = Callable[[], Awaitable[None]]


def own_layout() -> Layout:
    """What this program writes, and all that it reads."""
    return Layout(ENGINE_VERSION, LAYOUT, bytes.fromhex(snapshot.fingerprint()))


async def restore(
    connection: Connection,
    fleet: Fleet,
    genesis: Genesis,
    incarnation: Incarnation,
    *,
    through: Position,
    decisions: int,
    meanwhile: Meanwhile,
    activity: Activity,
) -> World | None:
    """The World of the newest snapshot that fits a log decided so far; None where none does.

    ``meanwhile`` is called between its parts.
    """
    for stored in await kept.newest(connection, fleet):
        described = stored.described
        began = asyncio.get_running_loop().time()
        try:
            _fit(described, incarnation, through=through, decisions=decisions)
            await _fit_trees(connection, fleet, described)
            with none_collected():
                world = await _read(connection, stored, meanwhile)
            _is_of(world, described, genesis)
        except UnusableSnapshot as error:
            activity.snapshots.ignored += 1
            log.warning(
                "snapshot_ignored", fleet=fleet.name, position=described.through, why=str(error)
            )
            continue
        activity.snapshots.read += 1
        log.info(
            "snapshot_read",
            fleet=fleet.name,
            position=described.through,
            bytes=described.bytes,
            seconds=round(asyncio.get_running_loop().time() - began, 3),
        )
        return world
    return None


def _fit(
    described: Described, incarnation: Incarnation, *, through: Position, decisions: int
) -> None:
    own = own_layout()
    if described.layout != own:
        raise UnusableSnapshot(
            f"its layout is {_named(described.layout)}, this program reads {_named(own)}"
        )
    # One of an earlier life is of what the next one begins with, or its roots are not the log's.
    if described.incarnation > incarnation:
        raise UnusableSnapshot(
            f"it is of incarnation {described.incarnation}, the log's is {incarnation}"
        )
    if described.through > through or described.decisions > decisions:
        raise UnusableSnapshot(
            f"it knows {described.decisions} decisions through {described.through}, the log"
            f" {decisions} through {through}"
        )


def _named(layout: Layout) -> str:
    return f"{layout.engine}/{layout.layout}/{layout.types.hex()[:12]}"


async def _fit_trees(connection: Connection, fleet: Fleet, described: Described) -> None:
    try:
        found = await roots(connection, fleet, described.through, described.decisions)
    except WrongPosition as error:
        raise UnusableSnapshot(str(error)) from error
    if found != (described.event_root, described.decision_root):
        raise UnusableSnapshot("its roots are not those of the log")


async def roots(
    connection: Connection, fleet: Fleet, through: Position, decisions: int
) -> tuple[bytes, bytes]:
    """Of both trees, as they were at a position."""
    return (
        await trees.root_at(connection, fleet.number, "events", size=through + 1),
        await trees.root_at(connection, fleet.number, "decisions", size=decisions),
    )


async def _read(connection: Connection, stored: Stored, meanwhile: Meanwhile) -> World:
    reading, whole = Reading(), sha256()
    async for lines in kept.lines(connection, stored, whole):
        for line in lines:
            reading.take(line)
        await meanwhile()
    world = reading.world()
    if whole.digest() != stored.described.digest:
        raise UnusableSnapshot(
            f"its digest is {whole.hexdigest()}, not {stored.described.digest.hex()}"
        )
    return world


def _is_of(world: World, described: Described, genesis: Genesis) -> None:
    """What was read is what it is said to be."""
    said = (genesis, described.incarnation, described.through + 1, described.decisions)
    if (world.genesis, world.incarnation, world.position, world.decisions) != said:
        raise UnusableSnapshot(f"it is the World of {world.fleet} at {world.position}")
