"""Show that the log is whole: every leaf from its row, every root and subtree from the leaves.

Reads every event and every decision once, in order, in memory that does not grow. The first thing
that does not fit ends it. What this cannot show, without a root kept elsewhere, is that the whole
log was written anew, rows and heads together.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

import orjson

from ledger.log import decisions, merkle, read
from ledger.log.database import Connection, refusals_named
from ledger.log.decisions import StoredDecision
from ledger.log.fleets import Fleet
from ledger.log.leaf import stored_leaf
from ledger.log.trees import recorded_root
from ledger.replay.grown_tree import GrownTree
from ledger.replay.report import Divergence, Report
from ledger.units import Position

OnProgress = Callable[[int], None]
"""Called now and then with how many rows were read so far."""


@dataclass(frozen=True, slots=True)
class Verified:
    """Both trees, recomputed as far as the rows fit, and how far the fleet was decided by then."""

    events: merkle.Frontier
    decisions: merkle.Frontier
    through: Position
    trouble: Divergence | None


async def verify(
    connection: Connection, fleet: Fleet, *, on_progress: OnProgress | None = None
) -> Verified:
    """Recompute both trees of a fleet from their rows.

    The log may grow meanwhile: what is verified is the decisions as of the cursor found first, and
    the events as of a head found after it.
    """
    through, count = await decisions.cursor(connection, fleet)
    events, trouble = await _events(connection, fleet, on_progress)
    if trouble is not None:
        return Verified(events, merkle.EMPTY, through, trouble)
    decided, trouble = await _decisions(connection, fleet, count, on_progress)
    return Verified(events, decided, through, trouble)


async def report(
    connection: Connection, fleet: Fleet, *, on_progress: OnProgress | None = None
) -> Report:
    """What verifying found, as a report."""
    return reported(fleet, await verify(connection, fleet, on_progress=on_progress))


def reported(fleet: Fleet, verified: Verified) -> Report:
    """A report of what was verified."""
    return Report(
        fleet=fleet.name,
        events=verified.events.size,
        decisions=verified.decisions.size,
        event_root=verified.events.root().hex(),
        decision_root=verified.decisions.root().hex(),
        decided_through=verified.through,
        diverged=verified.trouble,
    )


async def _events(
    connection: Connection, fleet: Fleet, on_progress: OnProgress | None
) -> tuple[merkle.Frontier, Divergence | None]:
    tree = GrownTree(connection, fleet, "events")
    size, root = await recorded_root(connection, fleet.number, "events")
    async for page in read.pages(connection, fleet, first=Position(0), before=size):
        leaves: list[bytes] = []
        for place, event in enumerate(page, tree.frontier.size):
            if event.position != place:
                return tree.frontier, Divergence("position_missing", place)
            leaf = stored_leaf(fleet.name, event)
            if leaf != event.leaf:
                return tree.frontier, Divergence(
                    "leaf_mismatch",
                    place,
                    subject=event.subject,
                    recorded=event.leaf.hex(),
                    recomputed=leaf.hex(),
                )
            leaves.append(leaf)
        trouble = await tree.grow(leaves)
        if trouble is not None:
            return tree.frontier, trouble
        if on_progress is not None:
            on_progress(tree.frontier.size)
    return tree.frontier, await tree.end(size, root)


async def _decisions(
    connection: Connection, fleet: Fleet, count: int, on_progress: OnProgress | None
) -> tuple[merkle.Frontier, Divergence | None]:
    tree = GrownTree(connection, fleet, "decisions")
    size, root = await recorded_root(connection, fleet.number, "decisions", at_most=count)
    async for page in decisions.pages(connection, fleet, before=count):
        leaves: list[bytes] = []
        for number, decision in enumerate(page, tree.frontier.size):
            leaf = merkle.leaf_hash(decision.record)
            said = orjson.loads(decision.record) if decision.digest == leaf else {}
            if (said.get("number"), said.get("position")) != (number, decision.position):
                return tree.frontier, Divergence(
                    "decision_leaf_mismatch",
                    decision.position,
                    decision=number,
                    recorded=decision.digest.hex(),
                    recomputed=leaf.hex(),
                )
            leaves.append(leaf)
        trouble = await tree.grow(leaves) or await _cursors(connection, fleet, page)
        if trouble is not None:
            return tree.frontier, trouble
        if on_progress is not None:
            on_progress(tree.frontier.size)
    return tree.frontier, await tree.end(size, root)


async def _cursors(
    connection: Connection, fleet: Fleet, page: list[StoredDecision]
) -> Divergence | None:
    """Whether each cursor in reach of a page counts the decisions that were made by then."""
    first, last = page[0], page[-1]
    with refusals_named():
        rows = await connection.fetch(
            "SELECT through, decisions FROM ledger.decided"
            " WHERE fleet = $1 AND through >= $2 AND through < $3 ORDER BY through",
            fleet.number,
            first.position,
            last.position,
        )
    made = [decision.position for decision in page]
    for through, count in rows:
        counted = first.number + bisect_right(made, through)
        if count != counted:
            return Divergence(
                "cursor_mismatch",
                through,
                decision=counted,
                recorded=str(count),
                recomputed=str(counted),
            )
    return None
