"""Decide for one fleet: fold its log, ask what each event raises, write the answers down.

The loop holds a lease, reads events behind its cursor, hands each to the one pure step that
replay uses too, and writes decisions, cursor and projections in one transaction. A batch is only
a transaction: where it ends shows in no decision. When somebody else was faster, or the lease was
taken over, the World in memory is thrown away and folded again from what the log says.

Until it holds the lease a decider stands by.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

import structlog

from ledger.decisions.step import advance
from ledger.errors import LogUnavailable, WrongPosition
from ledger.events.codec import own_event
from ledger.facts.decision import Decision, from_record
from ledger.log import decisions as recorded
from ledger.log import fleets, leases, read
from ledger.log.append import append
from ledger.log.database import Connection, connect, refusals_named
from ledger.log.decisions import Effect
from ledger.log.fleets import Fleet
from ledger.log.folding import event
from ledger.log.history import decided_pages
from ledger.log.leases import Lease
from ledger.log.messages import Coordinates, Message
from ledger.reducers.evolve import follow
from ledger.reducers.world import World, begin, next_deadline
from ledger.units import EventType, Incarnation, Microseconds, Position, Subject
from ledger.views.projection import Ended, project

EVENTS_PER_TRANSACTION: Final = 500
"""Enough that a commit is cheap per event, few enough that its decisions are seen soon."""

POLL_SECONDS: Final = 0.5
"""How long a missed notification can go unnoticed."""

RECONNECT_SECONDS: Final = 1.0

log = structlog.get_logger()


@dataclass(slots=True)
class Progress:
    """What a decider has done since it started."""

    events: int = 0
    decisions: int = 0


OnDecisions = Callable[[tuple[Decision, ...]], None]


class Decider:
    """Decides for one fleet over one connection."""

    def __init__(
        self,
        connection: Connection,
        fleet: Fleet,
        *,
        holder: str,
        on_decisions: OnDecisions | None = None,
    ) -> None:
        self.progress = Progress()
        self._connection = connection
        self._fleet = fleet
        self._holder = holder
        self._on_decisions = on_decisions
        self._lease: Lease | None = None
        self._renewed_at = 0.0
        self._world: World | None = None

    async def turn(self, *, ticks: bool) -> bool:
        """Decide one batch; False where there is nothing to do now.

        With ``ticks`` a deadline that nothing else reaches is reached at once, instead of by the
        clock: what ``decide --until-idle`` promises.
        """
        try:
            if not await self._holds_lease():
                return False
            if self._world is None:
                self._world = await self._fold_history()
            if self._world is None:
                return False
            return await self._decide(self._world) or await self._tick(self._world, at_once=ticks)
        except WrongPosition as moved:
            log.warning("lease_lost", fleet=self._fleet.name, why=str(moved))
            self._lease = None
            self._world = None
            return False

    async def let_go(self) -> None:
        """Stop deciding and let somebody else begin at once."""
        if self._lease is not None:
            await leases.let_go(self._connection, self._lease)
            self._lease = None

    @property
    def leads(self) -> bool:
        """Whether this process decides for the fleet now."""
        return self._lease is not None

    async def _holds_lease(self) -> bool:
        now = asyncio.get_running_loop().time()
        if self._lease is None:
            self._lease = await leases.acquire(
                self._connection, self._fleet, "decide", holder=self._holder
            )
            self._renewed_at = now
            if self._lease is not None:
                log.info("lease_taken", fleet=self._fleet.name, epoch=self._lease.epoch)
        elif now - self._renewed_at > leases.RENEW_SECONDS:
            await leases.renew(self._connection, self._lease)
            self._renewed_at = now
        return self._lease is not None

    async def _fold_history(self) -> World | None:
        """The World as of the cursor: events and the decisions that were recorded for them."""
        genesis = await fleets.read_genesis(self._connection, self._fleet)
        if genesis is None:
            return None
        world = begin(genesis, incarnation=Incarnation(1))
        through, _ = await recorded.cursor(self._connection, self._fleet)
        async for page in decided_pages(self._connection, self._fleet, through=through):
            for stored, decided in page:
                made = [from_record(decision.record) for decision in decided]
                world = follow(world, event(stored), made)
            await self._keep_lease()
        return world

    async def _keep_lease(self) -> None:
        await asyncio.sleep(0)
        await self._holds_lease()

    async def _decide(self, world: World) -> bool:
        page = await read.page(
            self._connection,
            self._fleet,
            first=world.position,
            limit=EVENTS_PER_TRANSACTION,
        )
        if not page:
            return False
        made: list[Decision] = []
        ended: list[Ended] = []
        effects: dict[Position, Effect] = {}
        after = Position(world.position - 1)
        for stored in page:
            step = advance(world, event(stored))
            world = step.world
            made += step.decisions
            ended += step.ended
            if step.effect != "applied":
                effects[Position(stored.position)] = step.effect
        assert self._lease is not None
        await recorded.write(
            self._connection,
            self._lease,
            after=after,
            through=Position(page[-1].position),
            decisions=made,
            effects=effects,
            project=partial(project, fleet=self._fleet.number, decisions=made, ended=ended),
        )
        self._world = world
        self.progress.events += len(page)
        self.progress.decisions += len(made)
        if made and self._on_decisions is not None:
            self._on_decisions(tuple(made))
        return True

    async def _tick(self, world: World, *, at_once: bool) -> bool:
        """Append the passing of time where a deadline is due and nothing else reaches it."""
        deadline = next_deadline(world)
        if deadline is None:
            return False
        assert self._lease is not None
        with refusals_named():
            async with self._connection.transaction():
                await leases.check(self._connection, self._lease)
                clock = await self._connection.fetchval("SELECT ledger.micros(clock_timestamp())")
                if clock < deadline and not at_once:
                    return False
                now = deadline if at_once else max(Microseconds(clock), deadline)
                passed = own_event(
                    fleet=self._fleet.name,
                    source="ledger/time",
                    id=f"{world.incarnation}/{deadline}",
                    type=EventType("ledger.time.time.passed.v1"),
                    subject=Subject(self._fleet.name),
                    data={"now": now},
                    time=now,
                )
                at = Coordinates("ledger", None, None, None)
                done = await append(
                    self._connection,
                    self._fleet,
                    [(Message(at, passed, None, None), passed)],
                    ask_first=True,
                )
        return done.count == 1


class Deciders:
    """All fleets of a log, decided in turn over one connection."""

    def __init__(
        self,
        connection: Connection,
        *,
        holder: str,
        only: frozenset[str] | None,
        on_decisions: OnDecisions | None,
    ) -> None:
        self._connection = connection
        self._holder = holder
        self._only = only
        self._on_decisions = on_decisions
        self._by_name: dict[str, Decider] = {}

    @property
    def progress(self) -> Progress:
        """What all of them have done."""
        each = [decider.progress for decider in self._by_name.values()]
        return Progress(sum(one.events for one in each), sum(one.decisions for one in each))

    async def turn(self, *, ticks: bool) -> bool:
        """One batch for each fleet; False where no fleet had anything to do."""
        for fleet in await fleets.every(self._connection):
            if fleet.name in self._by_name or (self._only and fleet.name not in self._only):
                continue
            self._by_name[fleet.name] = Decider(
                self._connection, fleet, holder=self._holder, on_decisions=self._on_decisions
            )
        busy = [await decider.turn(ticks=ticks) for decider in self._by_name.values()]
        return any(busy)

    async def let_go(self) -> None:
        """Give every lease back."""
        for decider in self._by_name.values():
            await decider.let_go()

    def standing_by(self) -> list[str]:
        """Fleets that somebody else decides for."""
        return sorted(name for name, decider in self._by_name.items() if not decider.leads)


async def decide(
    url: str,
    *,
    holder: str,
    until_idle: bool,
    stop: asyncio.Event,
    only: frozenset[str] | None = None,
    on_decisions: OnDecisions | None = None,
) -> Progress:
    """Decide for every fleet of a log until told to stop, or until nothing is left to do.

    A database that goes away is waited for; ``until_idle`` gives up instead and says why.
    """
    total = Progress()
    while True:
        try:
            done = await _while_connected(
                url,
                holder=holder,
                until_idle=until_idle,
                stop=stop,
                only=only,
                on_decisions=on_decisions,
            )
        except LogUnavailable as error:
            if until_idle:
                raise
            log.warning("log_unavailable", why=str(error))
            await _pause(stop, RECONNECT_SECONDS)
        else:
            total = Progress(total.events + done.events, total.decisions + done.decisions)
            if until_idle or stop.is_set():
                return total
        if stop.is_set():
            return total


async def _while_connected(
    url: str,
    *,
    holder: str,
    until_idle: bool,
    stop: asyncio.Event,
    only: frozenset[str] | None,
    on_decisions: OnDecisions | None,
) -> Progress:
    connection = await connect(url, "ledger_decider")
    listening = await connect(url, "ledger_decider")
    bell = read.Bell(listening)
    deciders = Deciders(connection, holder=holder, only=only, on_decisions=on_decisions)
    try:
        await bell.listen()
        while not stop.is_set():
            if await deciders.turn(ticks=until_idle):
                continue
            if until_idle and not deciders.standing_by():
                break
            await bell.wait(at_most=POLL_SECONDS)
        await deciders.let_go()
    finally:
        await connection.close()
        await listening.close()
    return deciders.progress


async def _pause(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()
