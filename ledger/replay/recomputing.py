"""One segment of history, made again: every step taken, every decision compared.

It begins with the World of its snapshot, or with nothing, and ends at the World that the next
snapshot is of. The first difference ends it. Where the question differed, what was recorded is
folded on to the end of the segment: if that ends in the recorded World, the fold is not what is
wrong, but what was taken from the World for the question; if it ends in another one, the fold is.

Pages of history come from wherever they are kept; one is in memory at a time.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final

import orjson

from ledger.errors import AlgorithmMissing, UnusableSnapshot
from ledger.facts.decision import from_record
from ledger.facts.genesis import Genesis
from ledger.log.folding import event
from ledger.log.garbage import none_collected, searched_no_more
from ledger.log.history import Decided
from ledger.log.snapshots import Stored
from ledger.reducers import lives, snapshot
from ledger.reducers.conservation import differences
from ledger.reducers.evolve import follow
from ledger.reducers.snapshot import Reading
from ledger.reducers.world import World, begin
from ledger.replay.comparing import compare, failing
from ledger.replay.histories import History
from ledger.replay.report import DIVERGENCES, Divergence
from ledger.replay.segments import Segment
from ledger.replay.slices import Evidence, evidence
from ledger.replay.worlds import first_unequal
from ledger.units import Position, Subject

Pages = AsyncIterator[list[Decided]]

GoOn = Callable[[Position], bool]
"""Told the position reached; False: a divergence before it is known, nothing here counts any more."""

FOLLOWED: Final = 100_000
"""Events behind a divergence that are folded at most to find out whether the fold is what is wrong."""


@dataclass(frozen=True, slots=True)
class Recomputed:
    """How a segment ended."""

    world: World | None
    """None where it could not be folded to its end."""
    trouble: Divergence | None
    evidence: Evidence | None = None
    """What is needed to see the same again, where it is the work of one event."""


async def beginning(history: History, begins: Stored | None, genesis: Genesis) -> World:
    """The World at which a segment begins; raises UnusableSnapshot."""
    if begins is None:
        return begin(genesis, incarnation=lives.FIRST)
    reading, whole = Reading(), sha256()
    with none_collected():
        async for lines in history.snapshot_lines(begins):
            for line in lines:
                whole.update(line)
                reading.take(line)
        world = reading.world()
    said = begins.described
    if whole.digest() != said.digest:
        raise UnusableSnapshot("its bytes are damaged")
    if (world.genesis, world.incarnation, world.position, world.decisions) != (
        genesis,
        said.incarnation,
        said.through + 1,
        said.decisions,
    ):
        raise UnusableSnapshot(f"it is the World of {world.fleet} at {world.position}")
    return world


async def recompute(
    pages: Pages, world: World, segment: Segment, *, subject: Subject | None, go_on: GoOn
) -> Recomputed:
    """Take every step of a segment, from its first World to its last."""
    async for page in pages:
        for place, (stored, decided) in enumerate(page):
            recorded = [one.record for one in decided]
            try:
                happened = event(stored)
            except Exception as failed:  # noqa: BLE001 - it could be read when it was decided about
                return Recomputed(
                    None, failing(world, Position(stored.position), stored.subject, failed)
                )
            if happened.position < segment.compared_from:
                try:
                    world = follow(world, happened, [from_record(one) for one in recorded])
                except AlgorithmMissing as missing:
                    told = Divergence("version_missing", happened.position, recorded=str(missing))
                    return Recomputed(None, replace(told, stage="version"))
                continue
            compared = compare(world, happened, recorded, subject=subject)
            trouble = compared.trouble
            if trouble is not None:
                held = None
                if trouble.trouble in DIVERGENCES:
                    held = evidence(world, stored, recorded, trouble, asked=subject)
                rest = _after(page[place:], pages)
                return Recomputed(None, await _located(trouble, rest, world, segment), held)
            if subject is None or compared.decided(recorded):
                assert compared.world is not None, "nothing failed"
                world = compared.world
            else:
                # What was decided about others is theirs to compare; here it is what was recorded.
                world = follow(world, happened, [from_record(one) for one in recorded])
        searched_no_more()
        if not go_on(world.position):
            return Recomputed(None, None)
    return Recomputed(world, None)


def digest(world: World) -> str:
    """Of a World's bytes, as its snapshot has it; the quick way to spell it."""
    whole = sha256()
    for plain in snapshot.plain_lines(world):
        whole.update(_line(plain))
    return whole.hexdigest()


def at_end(world: World, ends: Stored) -> Divergence | None:
    """Whether a World is that of the snapshot at which its segment ends."""
    recomputed = digest(world)
    if recomputed == ends.described.digest.hex():
        return None
    return Divergence(
        "snapshot_differs",
        ends.described.through,
        stage="fold",
        recorded_digest=ends.described.digest.hex(),
        recomputed_digest=recomputed,
    )


def unlike(trouble: Divergence, recorded: World, recomputed: World) -> Divergence:
    """The same with the first part of the World that differs."""
    path, was, is_ = first_unequal(recorded, recomputed)
    return replace(trouble, path=path, recorded=was, recomputed=is_)


def added_up(world: World) -> Divergence | None:
    """The first sum of a World that is not what it is the sum of."""
    for where, what, counted, found in differences(world):
        return Divergence(
            "book_differs",
            world.position - 1,
            subject=where,
            path=what,
            recorded=str(counted),
            recomputed=str(found),
            stage="fold",
        )
    return None


async def _located(trouble: Divergence, rest: Pages, world: World, segment: Segment) -> Divergence:
    """Whether another question came from another World, where the segment's end can tell."""
    ends = segment.ends
    if trouble.stage != "question" or ends is None:
        return trouble
    if segment.through - world.position > FOLLOWED:
        return trouble
    try:
        async for page in rest:
            for stored, decided in page:
                made = [from_record(one.record) for one in decided]
                world = follow(world, event(stored), made)
        same = digest(world) == ends.described.digest.hex()
    except Exception:  # noqa: BLE001 - the fold does not bear what was recorded: it is another one
        same = False
    return trouble if same else replace(trouble, stage="fold")


async def _after(page: Sequence[Decided], pages: Pages) -> Pages:
    yield list(page)
    async for more in pages:
        yield more


def _line(plain: Any) -> bytes:
    """As a snapshot spells it; the quick writer knows no number of over 64 bits."""
    try:
        return orjson.dumps(plain, default=tuple, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:
        return snapshot.line(plain)
