"""Where a replay is cut, so that several workers can do it at once.

A segment begins with the World of a recorded snapshot, or with nothing at position 0, and ends where
the next one begins, at a World that must have the digest of that snapshot. What a segment shows by
itself is only that its decisions follow *if* its snapshot is right. That it is right is shown by the
segment before it, and so on down to position 0, where nothing has to be believed: the chain is a
proof because each link was made from the one before, whoever made it and in whatever order.

A snapshot that does not fit the log that was verified, or this program, is no place to cut.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, NamedTuple

from ledger.errors import UnusableSnapshot, WrongPosition
from ledger.log import decisions, trees
from ledger.log import snapshots as kept
from ledger.log.database import Connection
from ledger.log.fleets import Fleet
from ledger.log.snapshots import Layout, Stored
from ledger.reducers import snapshot
from ledger.reducers.evolve import ENGINE_VERSION
from ledger.replay.verify import Verified
from ledger.units import Incarnation, Position

START: Final = Position(0)


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of history for one worker."""

    place: int
    """In the chain; the first is 0."""
    begins: Stored | None
    """None: with nothing, at position 0."""
    through: Position
    ends: Stored | None
    """The snapshot whose digest its last World must have; None for the last one."""
    compared_from: Position
    """What lies before is folded as it was recorded, and not recomputed."""

    @property
    def first(self) -> Position:
        """Of its first event."""
        return START if self.begins is None else Position(self.begins.described.through + 1)

    @property
    def number(self) -> int:
        """Of the first decision behind its beginning."""
        return 0 if self.begins is None else self.begins.described.decisions

    @property
    def events(self) -> int:
        """How many it holds."""
        return self.through + 1 - self.first


class Cuts(NamedTuple):
    """Snapshots at which a fleet's history can be cut, and those that do not serve."""

    stored: Sequence[Stored]
    """In the order of the log."""
    left_out: tuple[str, ...]


class Range(NamedTuple):
    """Which part of history is recomputed."""

    first: Position
    through: Position


def own_layout() -> Layout:
    """Of the snapshots that this program reads."""
    return Layout(ENGINE_VERSION, snapshot.LAYOUT, bytes.fromhex(snapshot.fingerprint()))


async def cuts(
    connection: Connection, fleet: Fleet, incarnation: Incarnation, verified: Verified
) -> Cuts:
    """Every snapshot whose bytes are kept and fit, with those that do not and why."""
    fit: list[Stored] = []
    left_out: list[str] = []
    for stored in reversed(await kept.newest(connection, fleet)):
        try:
            await _require(connection, fleet, incarnation, verified, stored)
        except (UnusableSnapshot, WrongPosition) as error:
            left_out.append(f"{stored.described.through}: {error}")
        else:
            fit.append(stored)
    return Cuts(fit, tuple(left_out))


def cut(wanted: Range, places: Sequence[Stored]) -> list[Segment]:
    """The segments of a range: from the last snapshot before it, or from position 0."""
    before = [one for one in places if one.described.through < wanted.first]
    within = [one for one in places if wanted.first <= one.described.through < wanted.through]
    begins = [before[-1] if before else None, *within]
    return [
        Segment(
            place,
            one,
            wanted.through if following is None else following.described.through,
            following,
            wanted.first,
        )
        for place, (one, following) in enumerate(zip(begins, [*within, None], strict=True))
    ]


async def _require(
    connection: Connection,
    fleet: Fleet,
    incarnation: Incarnation,
    verified: Verified,
    stored: Stored,
) -> None:
    said = stored.described
    if said.layout != own_layout():
        raise UnusableSnapshot("it was written by a program with another layout")
    if said.incarnation != incarnation:
        raise UnusableSnapshot(f"it is of incarnation {said.incarnation}, not {incarnation}")
    if said.through > verified.through or said.decisions > verified.decisions.size:
        raise UnusableSnapshot("it is of a log that is longer than this one")
    roots = (
        await trees.root_at(connection, fleet.number, "events", size=said.through + 1),
        await trees.root_at(connection, fleet.number, "decisions", size=said.decisions),
    )
    if roots != (said.event_root, said.decision_root):
        raise UnusableSnapshot("its roots are not those of the log")
    if await decisions.made_by(connection, fleet, said.through) != said.decisions:
        raise UnusableSnapshot("it counts other decisions than were made by then")
    whole = sha256()
    async for lines in kept.lines(connection, stored):
        whole.update(b"".join(lines))
    if whole.digest() != said.digest:
        raise UnusableSnapshot("its bytes are damaged")
