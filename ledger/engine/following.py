"""The World of a fleet as of what is decided, for whoever decides for it or would take over.

It begins with a snapshot, or with nothing, and folds each event with the decisions that were
recorded for it. Nothing is decided here. A standby does it page by page as decisions come, so that
taking over is a matter of the last page; a decider does it until it is at the cursor, and goes on by
itself from there.

A fold that takes long tells now and then how far it is (``folding``).
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

import structlog

from ledger.engine.activity import Activity
from ledger.engine.restoring import Meanwhile, restore
from ledger.errors import LedgerStopped, UndecidedEvent, WrongPosition
from ledger.facts.decision import from_record
from ledger.log import decisions as recorded
from ledger.log import fleets
from ledger.log.database import Connection
from ledger.log.fleets import Fleet
from ledger.log.folding import event
from ledger.log.garbage import searched_no_more
from ledger.log.history import Decided, decided_pages
from ledger.log.read import StoredEvent
from ledger.reducers import lives
from ledger.reducers.evolve import follow
from ledger.reducers.world import World, begin
from ledger.units import Position

TOLD_EVERY_SECONDS: Final = 5.0
"""Soon enough for somebody who watches a restart, and nothing at all where it is quick."""

log = structlog.get_logger()


@dataclass(slots=True)
class _Fold:
    """A stretch of history that is being folded."""

    pages: AsyncIterator[list[Decided]]
    through: Position
    first: Position
    began_at: float
    told_at: float


def undecided(stored: StoredEvent, failed: Exception) -> UndecidedEvent:
    """That a step of the pure rooms could not be taken: which event it was, and what went wrong."""
    return UndecidedEvent(
        f"position {stored.position} ({stored.source} {stored.id}, {stored.type} of {stored.subject}):"
        f" this program fails at it: {type(failed).__name__}: {failed}"
    )


class Following:
    """A fleet's World, kept at what the log says was decided."""

    def __init__(
        self,
        connection: Connection,
        fleet: Fleet,
        *,
        from_snapshots: bool,
        meanwhile: Meanwhile,
        activity: Activity,
    ) -> None:
        """``meanwhile`` is called now and then while a snapshot is read."""
        self.world: World | None = None
        """None before its first event, and before the first step."""
        self._connection = connection
        self._fleet = fleet
        self._from_snapshots = from_snapshots
        self._began_with_snapshot = False
        self._meanwhile = meanwhile
        self._activity = activity
        self._fold: _Fold | None = None

    @property
    def through(self) -> int | None:
        """Position of the last event in memory; None where there is no World."""
        return None if self.world is None else self.world.position - 1

    def forget(self) -> None:
        """What is in memory may not be what the log says: begin again."""
        self.world = None
        self._fold = None
        self._activity.unfolded.pop(self._fleet.name, None)

    async def step(self) -> bool:
        """Fold a page of what is decided; False where it is all folded."""
        if self.world is None:
            self.world = await self._begin()
        if self.world is None:
            return False
        if self._fold is None and not await self._find_more(self.world):
            return False
        assert self._fold is not None, "there is more"
        page = await anext(self._fold.pages, None)
        if page is None or page[0][0].position != self.world.position:
            raise LedgerStopped(
                f"{self._fleet.name}: event {self.world.position} is not there, although decisions"
                f" reach to {self._fold.through}; see `ledger verify`"
            )
        world = self.world
        for stored, decided in page:
            try:
                made = [from_record(decision.record) for decision in decided]
                world = follow(world, event(stored), made)
            except LedgerStopped:
                raise
            except Exception as failed:
                raise undecided(stored, failed) from failed
        searched_no_more()
        self.world = world
        self._tell(self._fold, world.position)
        return True

    async def _begin(self) -> World | None:
        genesis = await fleets.read_genesis(self._connection, self._fleet)
        if genesis is None:
            return None
        incarnation = await fleets.incarnation(self._connection, self._fleet)
        restored = None
        if self._from_snapshots:
            through, decisions = await recorded.cursor(self._connection, self._fleet)
            restored = await restore(
                self._connection,
                self._fleet,
                genesis,
                incarnation,
                through=through,
                decisions=decisions,
                meanwhile=self._meanwhile,
                activity=self._activity,
            )
        self._began_with_snapshot = restored is not None
        return restored or begin(genesis, incarnation=lives.FIRST)

    async def _find_more(self, world: World) -> bool:
        """Look whether more is decided than is folded."""
        through, decisions = await recorded.cursor(self._connection, self._fleet)
        if through < world.position:
            self._require(world, through, decisions)
            return False
        now = asyncio.get_running_loop().time()
        pages = decided_pages(
            self._connection,
            self._fleet,
            first=world.position,
            number=world.decisions,
            through=through,
        )
        self._fold = _Fold(pages, through, world.position, now, now)
        return True

    def _require(self, world: World, through: Position, decisions: int) -> None:
        """At the cursor the World has counted the decisions that are recorded."""
        if (world.position, world.decisions) == (through + 1, decisions):
            return
        differs = (
            f"{self._fleet.name}: {world.decisions} decisions through {world.position - 1} are in"
            f" memory, {decisions} through {through} in the log"
        )
        if not self._began_with_snapshot:
            raise LedgerStopped(f"{differs}; see `ledger verify`")
        self._from_snapshots = False
        raise WrongPosition(f"{differs}; it is folded again from its beginning")

    def _tell(self, fold: _Fold, position: Position) -> None:
        left = fold.through + 1 - position
        if not left:
            self._fold = None
            self._activity.unfolded.pop(self._fleet.name, None)
            return
        self._activity.unfolded[self._fleet.name] = left
        now = asyncio.get_running_loop().time()
        if now - fold.told_at < TOLD_EVERY_SECONDS:
            return
        fold.told_at = now
        rate = (position - fold.first) / (now - fold.began_at)
        log.info(
            "folding",
            fleet=self._fleet.name,
            position=position - 1,
            through=fold.through,
            events_per_second=round(rate),
            seconds_left=round(left / rate),
        )
