"""Show that every decision follows from the log.

The log is verified first (``ledger.replay.verify``); a replay over rows that do not fit their tree
would prove nothing and is not started. Then every event is folded from position 0 through the one
pure step that decided live, and each decision it yields must be, byte for byte, the one that was
recorded. The first difference ends the replay. In the end the World that came out of it is added up
again from nothing (``ledger.reducers.conservation``): a sum that is not what it is the sum of is our
own mistake, and would be made again by every replay.

Events behind the decider's cursor are verified but not compared: they are not decided yet.
"""

from dataclasses import dataclass, field, replace
from itertools import zip_longest

from ledger.decisions.step import advance
from ledger.errors import AlgorithmMissing
from ledger.facts.decision import record
from ledger.log import fleets, merkle
from ledger.log.database import Connection
from ledger.log.decisions import StoredDecision
from ledger.log.fleets import Fleet
from ledger.log.folding import event
from ledger.log.garbage import seldom_collected
from ledger.log.history import decided_pages
from ledger.log.read import StoredEvent
from ledger.reducers.conservation import differences
from ledger.reducers.world import World, begin
from ledger.replay.report import Divergence, Report, first_difference
from ledger.replay.verify import OnProgress, Verified, reported, verify


async def replay(
    connection: Connection, fleet: Fleet, *, on_progress: OnProgress | None = None
) -> Report:
    """Verify the log of a fleet, then recompute and compare every decision."""
    with seldom_collected():
        verified = await verify(connection, fleet, on_progress=on_progress)
        if verified.trouble is None:
            trouble = await _recompute(connection, fleet, verified, on_progress)
            verified = replace(verified, trouble=trouble)
    return reported(fleet, verified)


@dataclass(slots=True)
class _Recomputed:
    """How far a replay has come: the World, and the decisions it has made so far."""

    world: World
    decisions: merkle.Frontier = merkle.EMPTY
    leaves: list[bytes] = field(default_factory=list)

    def fold_leaves(self) -> None:
        self.decisions = merkle.extend(self.decisions, self.leaves).frontier
        self.leaves = []


async def _recompute(
    connection: Connection,
    fleet: Fleet,
    verified: Verified,
    on_progress: OnProgress | None,
) -> Divergence | None:
    genesis = await fleets.read_genesis(connection, fleet)
    if genesis is None:
        return None
    recomputed = _Recomputed(
        begin(genesis, incarnation=await fleets.incarnation(connection, fleet))
    )
    async for page in decided_pages(connection, fleet, through=verified.through):
        for one in page:
            try:
                trouble = _compare(recomputed, *one)
            except AlgorithmMissing as missing:
                return Divergence("version_missing", one[0].position, recorded=str(missing))
            if trouble is not None:
                return trouble
        recomputed.fold_leaves()
        if on_progress is not None:
            on_progress(page[-1][0].position + 1)
    assert recomputed.decisions == verified.decisions, "equal leaves, one by one, have one root"
    return _added_up(recomputed.world)


def _added_up(world: World) -> Divergence | None:
    for where, what, kept, counted in differences(world):
        return Divergence(
            "book_differs",
            world.position - 1,
            subject=where,
            path=what,
            recorded=str(kept),
            recomputed=str(counted),
        )
    return None


def _compare(
    recomputed: _Recomputed, stored: StoredEvent, decided: list[StoredDecision]
) -> Divergence | None:
    """Fold one event and hold what follows from it against what was recorded for it."""
    step = advance(recomputed.world, event(stored))
    recomputed.world = step.world
    for made, found in zip_longest(step.decisions, decided):
        if made is None:
            assert found is not None
            return Divergence(
                "decision_unexpected",
                stored.position,
                decision=found.number,
                recorded=found.digest.hex(),
            )
        spelled = record(made)
        leaf = merkle.leaf_hash(spelled)
        if found is None:
            return Divergence(
                "decision_missing",
                stored.position,
                decision=made.number,
                subject=made.subject,
                recomputed=leaf.hex(),
            )
        if spelled != found.record:
            path, was, is_ = first_difference(found.record, spelled)
            return Divergence(
                "decision_differs",
                stored.position,
                decision=found.number,
                subject=made.subject,
                path=path,
                recorded=was,
                recomputed=is_,
            )
        recomputed.leaves.append(leaf)
    return None
