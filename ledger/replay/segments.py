"""Where a replay is cut, so that several workers can do it at once.

A segment begins with the World of a recorded snapshot, or with nothing at position 0, and ends where
the next one begins, at a World that must have the digest of that snapshot. What a segment shows by
itself is only that its decisions follow *if* its snapshot is right. That it is right is shown by the
segment before it, and so on down to position 0, where nothing has to be believed: the chain is a
proof because each link was made from the one before, whoever made it and in whatever order.

A snapshot that does not fit the log, or this program, is no place to cut. To read a World and to
spell one takes as long as thousands of events, so there are no more segments than workers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, NamedTuple

from ledger.errors import UnusableSnapshot, WrongPosition
from ledger.log.snapshots import Layout, Stored
from ledger.reducers import snapshot
from ledger.reducers.evolve import ENGINE_VERSION
from ledger.replay.histories import History
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

    stored: list[Stored]
    """In the order of the log."""
    left_out: list[str]


class Range(NamedTuple):
    """Which part of history is recomputed."""

    first: Position
    through: Position


def own_layout() -> Layout:
    """Of the snapshots that this program reads."""
    return Layout(ENGINE_VERSION, snapshot.LAYOUT, bytes.fromhex(snapshot.fingerprint()))


async def cuts(
    history: History, incarnation: Incarnation, *, through: Position, count: int
) -> Cuts:
    """The snapshots that say of themselves what fits a log decided so far; the others, and why."""
    fit: list[Stored] = []
    left_out: list[str] = []
    for stored in await history.snapshots():
        try:
            await _require(history, incarnation, stored, through=through, count=count)
        except (UnusableSnapshot, WrongPosition) as error:
            left_out.append(f"{stored.described.through}: {error}")
        else:
            fit.append(stored)
    return Cuts(fit, left_out)


def cut(
    wanted: Range, decisions_by_then: int, places: Sequence[Stored], *, workers: int, every: bool
) -> list[Segment]:
    """The segments of a range: from the last snapshot before it, or from position 0.

    As many as there are workers, as equal as the places allow; or as many as there are places.
    """
    before = [one for one in places if one.described.through < wanted.first]
    begins = before[-1] if before else None
    within = [one for one in places if wanted.first <= one.described.through < wanted.through]
    if not every:
        end = _Reached(wanted.through + 1, decisions_by_then, 0)
        reached = [_reached(begins), *map(_reached, within), end]
        within = [within[place - 1] for place in _most_even(reached, workers)]
    return [
        Segment(
            place,
            one,
            wanted.through if following is None else following.described.through,
            following,
            wanted.first,
        )
        for place, (one, following) in enumerate(
            zip([begins, *within], [*within, None], strict=True)
        )
    ]


class _Reached(NamedTuple):
    """How much of a log lies before a place where it can be cut."""

    events: int
    decisions: int
    bytes: int
    """Of the World there."""


def _reached(stored: Stored | None) -> _Reached:
    if stored is None:
        return _Reached(0, 0, 0)
    said = stored.described
    return _Reached(said.through + 1, said.decisions, said.bytes)


EVENT_NANOSECONDS: Final = 40_000
DECISION_NANOSECONDS: Final = 400_000
READ_NANOSECONDS: Final = 65
SPELLED_NANOSECONDS: Final = 30
"""What things cost in the mean: an event, a decision, a byte of a World read, one spelled. Only how
they compare matters, and that only for how even the segments become."""


def _cost(one: _Reached, other: _Reached) -> int:
    """Of the segment between two places."""
    return (
        (other.events - one.events) * EVENT_NANOSECONDS
        + (other.decisions - one.decisions) * DECISION_NANOSECONDS
        + one.bytes * READ_NANOSECONDS
        + other.bytes * SPELLED_NANOSECONDS
    )


def _most_even(reached: Sequence[_Reached], workers: int) -> list[int]:
    """Which places between the first and the last to cut at, so that the longest segment is short.

    For one worker more, the best last segment behind each place is looked for.
    """
    last = len(reached) - 1
    # By place: how long the longest segment up to there is at least, and where it is cut for that.
    best: list[tuple[int, list[int]]] = [(_cost(reached[0], one), []) for one in reached]
    for _ in range(workers - 1):
        best = [
            min(
                [
                    best[place],
                    *(
                        (
                            max(best[cut_][0], _cost(reached[cut_], reached[place])),
                            [*best[cut_][1], cut_],
                        )
                        for cut_ in range(1, place)
                    ),
                ],
                key=lambda one: (one[0], len(one[1])),
            )
            for place in range(last + 1)
        ]
    return best[last][1]


async def _require(
    history: History,
    incarnation: Incarnation,
    stored: Stored,
    *,
    through: Position,
    count: int,
) -> None:
    said = stored.described
    if said.layout != own_layout():
        raise UnusableSnapshot("it was written by a program with another layout")
    # One of an earlier life is of what the next one begins with, or its roots are not the log's.
    if said.incarnation > incarnation:
        raise UnusableSnapshot(f"it is of incarnation {said.incarnation}, not {incarnation}")
    if said.through > through or said.decisions > count:
        raise UnusableSnapshot("it is of a log that is longer than this one")
    roots = (
        await history.root_at("events", said.through + 1),
        await history.root_at("decisions", said.decisions),
    )
    if roots != (said.event_root, said.decision_root):
        raise UnusableSnapshot("its roots are not those of the log")
    if await history.made_by(said.through) != said.decisions:
        raise UnusableSnapshot("it counts other decisions than were made by then")


async def is_intact(history: History, stored: Stored) -> bool:
    """Whether the bytes of a snapshot are those that it was written with."""
    whole = sha256()
    try:
        async for lines in history.snapshot_lines(stored):
            whole.update(b"".join(lines))
    except UnusableSnapshot:
        return False
    return whole.digest() == stored.described.digest
