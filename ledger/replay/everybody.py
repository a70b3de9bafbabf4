"""A decision made again with all who lost: its record names the first of them and counts the rest.

The World before its event is folded from the nearest snapshot, and the event is taken once as it was
decided live. Only if that comes to what was recorded is it taken once more by a World that names
everybody: what differs between the two is how many are named.
"""

from typing import Final

from ledger.decisions.step import advance
from ledger.errors import InvalidRequest, LedgerStopped
from ledger.facts.decision import Decision, from_record
from ledger.facts.reason import EVERYBODY
from ledger.log.folding import event
from ledger.log.garbage import seldom_collected
from ledger.reducers.evolve import follow
from ledger.reducers.replacing import replace
from ledger.replay.comparing import compare
from ledger.replay.histories import History
from ledger.replay.recomputing import beginning
from ledger.replay.segments import cuts
from ledger.units import Position

NOT_THERE: Final = "position_missing"
"""The history does not reach from a snapshot to the decision."""


async def with_everybody(history: History, decided: Decision) -> Decision:
    """The same decision with nobody left out.

    Raises LedgerStopped where this program decides otherwise than was recorded.
    """
    genesis = await history.genesis()
    assert genesis is not None, "nothing is decided before the first event"
    at = decided.position
    fit, _ = await cuts(
        history,
        await history.incarnation(),
        through=Position(at - 1),
        count=await history.made_by(Position(at - 1)),
    )
    begins = fit[-1] if fit else None
    with seldom_collected():
        world = await beginning(history, begins, genesis)
        async for page in history.decided_pages(
            through=at, first=world.position, number=world.decisions
        ):
            for stored, made in page:
                happened = event(stored)
                recorded = [one.record for one in made]
                if happened.position < at:
                    world = follow(world, happened, [from_record(one) for one in recorded])
                    continue
                if compare(world, happened, recorded).trouble is not None:
                    raise LedgerStopped(
                        f"position {at}: this program decides otherwise than was recorded;"
                        f" `ledger replay` tells where the two part"
                    )
                step = advance(replace(world, losers_named=EVERYBODY), happened)
                return next(one for one in step.decisions if one.number == decided.number)
    raise InvalidRequest(NOT_THERE, f"position {at} is not in the log")
