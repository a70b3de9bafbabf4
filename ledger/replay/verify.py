"""Show that the log is whole: every leaf from its row, every root and subtree from the leaves.

Reads every event and every decision once, in order, in memory that does not grow. The first thing
that does not fit ends it. What this cannot show, without a root kept elsewhere, is that the whole
log was written anew, rows and heads together.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import orjson

from ledger.log import decisions, merkle
from ledger.log.archive.reading import Archive
from ledger.log.database import Connection, refusals_named
from ledger.log.decisions import StoredDecision
from ledger.log.fleets import Fleet
from ledger.log.garbage import seldom_collected
from ledger.log.notes import Key
from ledger.log.trees import TREES, recorded_root
from ledger.replay.brought_keys import BroughtKeys
from ledger.replay.grown_tree import GrownTree
from ledger.replay.leaves import (
    INCARNATION,
    LEAF,
    PAYLOAD,
    POSITION,
    RECORDED_AT,
    SUBJECT,
    TYPE,
    EventPages,
    Row,
    leaf_hash,
    leaf_hashes,
    payload,
)
from ledger.replay.recorded_tree import TreeInDatabase
from ledger.replay.report import Divergence, Report
from ledger.replay.told_events import RECOVERED
from ledger.units import FleetName, Position

OnProgress = Callable[[int], None]
"""Called now and then with how many rows were read so far."""


@dataclass(frozen=True, slots=True)
class Verified:
    """Both trees, recomputed as far as the rows fit, and how far the fleet was decided by then."""

    events: merkle.Frontier
    decisions: merkle.Frontier
    through: Position
    trouble: Divergence | None
    notes: int | None = None
    """How many signed notes the keys that were brought verified; None where none were."""
    used: frozenset[Key] = frozenset()
    """The keys that verified one."""
    unchecked: int = 0
    """How many signed notes were met of which no signature was looked at, since no key was brought."""


async def verify(
    connection: Connection,
    fleet: Fleet,
    *,
    keys: Sequence[Key] = (),
    on_progress: OnProgress | None = None,
    archive: Archive | None = None,
) -> Verified:
    """Recompute both trees of a fleet from their rows; those of detached ranges lie in ``archive``.

    The log may grow meanwhile: what is verified is the decisions as of the cursor found first, and
    the events as of a head found after it. With ``keys`` of those who sign, who signed is looked at
    too.
    """
    brought = BroughtKeys(keys)
    through, count = await decisions.cursor(connection, fleet)
    beyond = await _beyond(connection, fleet)
    with seldom_collected():
        events, trouble = await events_verified(connection, fleet, brought, on_progress, archive)
        if trouble is not None or (beyond is not None and beyond.decision is None):
            return Verified(events, merkle.EMPTY, through, _first(beyond, trouble))
        decided, trouble = await _decisions(connection, fleet, count, brought, on_progress)
        trouble = _first(beyond, trouble) or await _turns(connection, fleet, through)
    return Verified(
        events, decided, through, trouble, brought.notes, brought.used, brought.unchecked
    )


async def report(
    connection: Connection,
    fleet: Fleet,
    *,
    keys: Sequence[Key] = (),
    on_progress: OnProgress | None = None,
    archive: Archive | None = None,
) -> Report:
    """What verifying found, as a report."""
    found = await verify(connection, fleet, keys=keys, on_progress=on_progress, archive=archive)
    return reported(fleet, found)


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
        notes=verified.notes,
        used=verified.used,
        unchecked=verified.unchecked,
    )


async def events_verified(
    connection: Connection,
    fleet: Fleet,
    keys: BroughtKeys | None = None,
    on_progress: OnProgress | None = None,
    archive: Archive | None = None,
) -> tuple[merkle.Frontier, Divergence | None]:
    """The tree of the events, recomputed from their rows as far as they fit."""
    records = TreeInDatabase(connection, fleet, "events")
    tree = GrownTree(records, fleet.name, "events", keys or BroughtKeys())
    size, root = await recorded_root(connection, fleet.number, "events")
    pages = EventPages(connection, fleet, archive, before=size)
    clock = 0
    try:
        while rows := await pages.next():
            trouble = await tree.expect(tree.frontier.size + len(rows))
            if trouble is not None:
                return tree.frontier, trouble
            leaves = {
                place: leaf_hash(fleet.name, row, await payload(connection, fleet, row))
                for place, row in enumerate(rows)
                if row[PAYLOAD] is None
            }
            await pages.ask()
            trouble = add_page(fleet.name, tree, rows, leaves, clock)
            if trouble is not None:
                return tree.frontier, trouble
            clock = rows[-1][RECORDED_AT]
            if on_progress is not None:
                on_progress(tree.frontier.size)
    finally:
        await pages.stop()
    return tree.frontier, await tree.end(size, root)


def add_page(
    fleet: FleetName, tree: GrownTree, rows: Sequence[Row], known: Mapping[int, bytes], clock: int
) -> Divergence | None:
    """Add a page of events to their tree; ``known`` has the leaves of large ones."""
    first = tree.frontier.size
    leaves: list[bytes]
    if known:
        leaves = [
            known[place] if place in known else leaf_hashes(fleet, [row])[0]
            for place, row in enumerate(rows)
        ]
    else:
        leaves = leaf_hashes(fleet, rows)
    moments = [row[RECORDED_AT] for row in rows]
    positions = [row[POSITION] for row in rows]
    # In files nothing but this keeps a position from being in the place of another.
    if (
        positions != list(range(first, first + len(rows)))
        or [row[LEAF] for row in rows] != leaves
        or [clock, *moments] != sorted([clock, *moments])
    ):
        return _first_bad(rows, leaves, first, clock)
    if rows[-1][INCARNATION] != tree.life:
        _note_lives(tree, rows)
    return tree.add(leaves, moments)


def _note_lives(tree: GrownTree, rows: Sequence[Row]) -> None:
    """Note which lives begin in a page, and with what."""
    tree.life = rows[-1][INCARNATION]
    for row in rows:
        if row[TYPE] == RECOVERED:
            said = orjson.loads(row[PAYLOAD])["data"]["signed"]
            ends = [(one["origin"], one["size"], one["root"]) for one in said]
            tree.recovered(row[INCARNATION], ends)


def _first_bad(
    rows: Sequence[Row], leaves: Sequence[bytes], first: int, clock: int
) -> Divergence | None:
    """What is wrong with a page that is not as it should be, and where first."""
    for place, (row, leaf) in enumerate(zip(rows, leaves, strict=True), first):
        if row[POSITION] != place:
            return Divergence("position_missing", place)
        if leaf != row[LEAF]:
            return Divergence(
                "leaf_mismatch",
                place,
                subject=row[SUBJECT],
                recorded=row[LEAF].hex(),
                recomputed=leaf.hex(),
            )
        if row[RECORDED_AT] < clock:
            return Divergence(
                "clock_mismatch",
                place,
                subject=row[SUBJECT],
                recorded=str(row[RECORDED_AT]),
                recomputed=f"not before {clock}",
            )
        clock = row[RECORDED_AT]
    raise AssertionError("a page without a flaw is not looked through")


async def _decisions(
    connection: Connection,
    fleet: Fleet,
    count: int,
    keys: BroughtKeys,
    on_progress: OnProgress | None,
) -> tuple[merkle.Frontier, Divergence | None]:
    tree = GrownTree(TreeInDatabase(connection, fleet, "decisions"), fleet.name, "decisions", keys)
    size, root = await recorded_root(connection, fleet.number, "decisions", at_most=count)
    reached = -1
    async for page in decisions.pages(connection, fleet, before=count):
        leaves: list[bytes] = []
        for number, decision in enumerate(page, tree.frontier.size):
            leaf = merkle.leaf_hash(decision.record)
            if decision.digest != leaf or not _says(decision, number):
                return tree.frontier, Divergence(
                    "decision_leaf_mismatch",
                    decision.position,
                    decision=number,
                    recorded=decision.digest.hex(),
                    recomputed=leaf.hex(),
                )
            leaves.append(leaf)
        trouble = await tree.grow(leaves) or await _cursors(connection, fleet, reached, page)
        if trouble is not None:
            return tree.frontier, trouble
        reached = page[-1].position
        if on_progress is not None:
            on_progress(tree.frontier.size)
    trouble = await tree.end(size, root) or await _batches(connection, fleet, count)
    return tree.frontier, trouble


def _says(decision: StoredDecision, number: int) -> bool:
    """Whether a record is of this number and of the position of its row."""
    # Keys are sorted in it, and no other object of a record has these beside each other: most
    # records need not be read for it.
    record = decision.record
    if (
        b'"number":%d,"policy":"' % number in record
        and b'","position":%d,"previous":' % decision.position in record
    ):
        return True
    said = orjson.loads(record)
    return (said.get("number"), said.get("position")) == (number, decision.position)


async def _beyond(connection: Connection, fleet: Fleet) -> Divergence | None:
    """Whether there are rows behind the ends that are recorded, or where nothing ever is.

    Read in one statement: rows, heads and cursor are written together, so no other moment shows
    some of them without the others.
    """
    with refusals_named():
        row = await connection.fetchrow(
            "WITH ends AS (SELECT"
            "   coalesce((SELECT max(size) FROM ledger.heads"
            "              WHERE fleet = $1 AND tree = 'events'), 0) AS size,"
            "   coalesce((SELECT max(size) FROM ledger.heads"
            "              WHERE fleet = $1 AND tree = 'decisions'), 0) AS grown)"
            " SELECT ends.size, ends.grown,"
            "       (SELECT min(position) FROM ledger.events"
            "         WHERE fleet = $1 AND position >= ends.size) AS event,"
            "       (SELECT max(position) + 1 FROM ledger.events WHERE fleet = $1) AS events,"
            "       (SELECT min(number) FROM ledger.decisions"
            "         WHERE fleet = $1 AND number >= ends.grown) AS decision,"
            "       (SELECT max(number) + 1 FROM ledger.decisions WHERE fleet = $1) AS made,"
            "       (SELECT max(decisions) FROM ledger.decided WHERE fleet = $1) AS counted,"
            "       (SELECT decisions FROM ledger.decided WHERE fleet = $1"
            "         ORDER BY through DESC LIMIT 1) AS last,"
            "       (SELECT max(through) FROM ledger.decided WHERE fleet = $1) AS through,"
            "       (SELECT format('heads %s %s', tree, size) FROM ledger.heads"
            "         WHERE fleet = $1 AND tree <> ALL($2::text[]) LIMIT 1) AS head,"
            "       (SELECT format('tile_hashes %s %s %s', tree, level, number)"
            "          FROM ledger.tile_hashes"
            "         WHERE fleet = $1 AND (tree <> ALL($2::text[]) OR number < 0) LIMIT 1) AS tile,"
            "       (SELECT format('checkpoints %s %s %s', incarnation, tree, size)"
            "          FROM ledger.checkpoints WHERE fleet = $1 AND (size < 0 OR incarnation < 1 OR"
            "            tree <> 'both' AND tree <> ALL($2::text[])) LIMIT 1) AS signed,"
            "       (SELECT format('decided %s', through) FROM ledger.decided"
            "         WHERE fleet = $1 AND through < 0 LIMIT 1) AS batch"
            "  FROM ends",
            fleet.number,
            list(TREES),
        )
    assert row is not None, "maxima are always one row"
    size, grown = row["size"], row["grown"]
    if row["event"] is not None:
        return Divergence(
            "event_root_mismatch",
            row["event"],
            recorded=f"{size}",
            recomputed=f"{row['events']} events",
        )
    if (row["through"] or 0) >= max(size, 1):
        return Divergence(
            "cursor_mismatch", size, recorded=str(row["through"]), recomputed=f"{size} events"
        )
    for stray in (row["head"], row["tile"], row["signed"], row["batch"]):
        if stray is not None:
            table, _, key = stray.partition(" ")
            return Divergence(
                "row_unexpected",
                None,
                subject=key,
                path=table,
                recorded="of a tree or a place that there is not",
            )
    for found in (row["made"], row["counted"], row["last"]):
        if (found or 0) != grown:
            return Divergence(
                "decision_root_mismatch",
                None,
                decision=row["decision"] or min(found or 0, grown),
                recorded=f"{grown}",
                recomputed=f"{found or 0} decisions",
            )
    return None


def _first(beyond: Divergence | None, trouble: Divergence | None) -> Divergence | None:
    """Of what lies behind an end and what does not fit before it, that which comes first in the log.

    A row that was moved behind the end shows as both: it is missing where it was.
    """
    if beyond is None or trouble is None:
        return beyond or trouble
    place: int | None
    end: int | None
    if trouble.decision is not None:
        place, end = trouble.decision, beyond.decision
    elif beyond.decision is not None:
        return trouble
    else:
        place, end = trouble.position, beyond.position
    return trouble if place is not None and end is not None and place < end else beyond


async def _cursors(
    connection: Connection, fleet: Fleet, reached: int, page: list[StoredDecision]
) -> Divergence | None:
    """Whether each cursor in reach of a page counts the decisions that were made by then.

    ``reached``: the position of the last decision before the page.
    """
    first, last = page[0], page[-1]
    with refusals_named():
        rows = await connection.fetch(
            "SELECT through, decisions FROM ledger.decided"
            " WHERE fleet = $1 AND through >= $2 AND through < $3 ORDER BY through",
            fleet.number,
            reached,
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


async def _batches(connection: Connection, fleet: Fleet, count: int) -> Divergence | None:
    """Whether a batch ended wherever the tree of the decisions has a head, and the other way round.

    One transaction writes both, so that neither can be without the other.
    """
    with refusals_named():
        row = await connection.fetchrow(
            "WITH heads AS (SELECT size FROM ledger.heads"
            "                WHERE fleet = $1 AND tree = 'decisions' AND size <= $2),"
            "     ends AS (SELECT decisions FROM ledger.decided"
            "               WHERE fleet = $1 AND decisions > 0 AND decisions <= $2)"
            " SELECT (SELECT min(decisions) FROM (SELECT decisions FROM ends"
            "                                     EXCEPT SELECT size FROM heads) AS h) AS head,"
            "        (SELECT min(size) FROM (SELECT size FROM heads"
            "                                EXCEPT SELECT decisions FROM ends) AS e) AS batch",
            fleet.number,
            count,
        )
    assert row is not None, "minima are always one row"
    if row["head"] is not None:
        return Divergence(
            "decision_root_mismatch",
            None,
            decision=row["head"],
            recorded="a batch that ended there, and no head",
        )
    if row["batch"] is not None:
        return Divergence(
            "cursor_mismatch",
            None,
            decision=row["batch"],
            recorded="a head, and no batch that ended there",
        )
    return None


async def _turns(connection: Connection, fleet: Fleet, through: Position) -> Divergence | None:
    """Whether those who decided came one after the other, and none after who has the lease now."""
    with refusals_named():
        row = await connection.fetchrow(
            "SELECT * FROM ("
            "  SELECT through, epoch, lag(through) OVER turn AS place, lag(epoch) OVER turn AS before,"
            "         (SELECT epoch FROM ledger.leases WHERE fleet = $1 AND duty = 'decide') AS newest"
            "    FROM ledger.decided WHERE fleet = $1 AND through <= $2"
            "  WINDOW turn AS (ORDER BY through)) AS d"
            " WHERE epoch < coalesce(before, 1) OR epoch > newest ORDER BY through LIMIT 1",
            fleet.number,
            through,
        )
    if row is None:
        return None
    wanted = f"{row['before'] or 1} or later"
    if row["place"] is not None:
        wanted += f", as at {row['place']}"
    if row["newest"] is not None:
        wanted += f" and not after {row['newest']}"
    return Divergence(
        "cursor_mismatch", row["through"], recorded=f"epoch {row['epoch']}", recomputed=wanted
    )
