"""Decide for one fleet: fold its log, ask what each event raises, write the answers down.

The loop holds a lease, reads events behind its cursor, hands each to the one pure step that
replay uses too, and writes decisions, cursor and projections in one transaction. A batch is only
a transaction: where it ends shows in no decision. When the log turns out to be elsewhere than it was
left, the World in memory is thrown away and made again from what the log says.

A batch ends after so many events or so much time, so that one costly event does not keep the others
around it waiting. Where nothing more waits it is written at once. Where more does, the next one is folded
while Postgres writes it; what is ahead of the log counts as nothing until it is written, and is dropped
where that fails. Folding has a thread of its own, and only one batch of a
fleet is folded at a time: a World is a value, but what it keeps beside it to be quick is not.

What it has seen of a log is remembered while the database is away. A log that comes back shorter was
restored to an earlier point: its fleet is stopped, for everybody, until it was recovered.

Until it holds the lease a decider stands by: it folds what another one decides
(``ledger.engine.following``) and writes the fleet's snapshots (``ledger.engine.snapshots``). Where others
stand by, too, it asks for the lease once it has folded all there is.

Its log tells each change of its stand to a fleet at info (``standby``, ``lease_taken``, ``lease_lost``,
``fenced``, ``stopped``, ``fleet_stopped``) and each batch at debug, with fleet and position.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import structlog

from ledger.admission import answering
from ledger.decisions.step import advance
from ledger.engine.activity import Activity
from ledger.engine.following import Following, undecided
from ledger.engine.restoring import Meanwhile
from ledger.engine.snapshots import Interval, Snapshots
from ledger.errors import (
    DatabaseMissing,
    FleetStopped,
    LedgerStopped,
    LogUnavailable,
    StaleEpoch,
    WrongPosition,
)
from ledger.events.codec import own_event
from ledger.facts.decision import Decision
from ledger.log import admissions, fleets, leases, read, stops, trees
from ledger.log import decisions as recorded
from ledger.log.admissions import Answer
from ledger.log.append import append
from ledger.log.database import Connection, connected, refusals_named
from ledger.log.decisions import Effect
from ledger.log.fleets import Fleet
from ledger.log.folding import event
from ledger.log.garbage import searched_no_more, seldom_collected
from ledger.log.leases import Lease
from ledger.log.messages import Coordinates, Message
from ledger.log.read import StoredEvent
from ledger.log.stops import Stop
from ledger.reducers.disk_books import DiskBook, disk_books
from ledger.reducers.job_books import JobBook, QueueBook, job_books, queue_books
from ledger.reducers.node_books import node_books
from ledger.reducers.owed import due_at, is_owed
from ledger.reducers.world import Account, World
from ledger.units import EventType, Incarnation, Microseconds, Position, Subject
from ledger.views.released import Ended, Released, Righted
from ledger.views.showing import Told, show

POLL_SECONDS: Final = 0.5
"""How long a missed notification can go unnoticed, or a log's clock that was set."""

LOOK_SECONDS: Final = 0.25
"""How long a fleet that was just opened can go unnoticed."""

RECONNECT_SECONDS: Final = 1.0

MEANWHILE_SECONDS: Final = 0.004
"""Who has folded for so long looks whether others came meanwhile before he writes: that takes a tenth of it."""

MICRO: Final = 1_000_000

log = structlog.get_logger()


@dataclass(slots=True)
class Progress:
    """What a decider has done since it started."""

    events: int = 0
    decisions: int = 0
    idle: bool = False
    """Whether nothing was left to do at its end; one that is asked to stop does not look."""


@dataclass(frozen=True, slots=True)
class Pace:
    """What a transaction takes and how long a turn lasts. No decision depends on it."""

    events: int = 500
    """Enough that a commit is cheap per event, few enough that its decisions are seen soon."""
    soon_seconds: float = 0.01
    """How long a batch is folded before what it came to is written, where decisions are seen at
    once: not much longer than writing takes."""
    behind_seconds: float = 0.25
    """And where so much waits that whoever reads is behind anyhow: a commit should be cheap there."""
    turn_seconds: float = 0.5
    """How long one fleet is decided for before the others of a process have their turn."""
    soon_turn_seconds: float = 0.03
    """And how long it goes on with what comes while it is decided for, where no more waits than that."""


USUAL_PACE: Final = Pace()


class Seen(NamedTuple):
    """How far a fleet's log was decided when it was looked at last."""

    incarnation: Incarnation
    through: int
    decisions: int


OnDecisions = Callable[[tuple[Decision, ...]], None]


class _Early(NamedTuple):
    """A deadline for which it was too early, and when to look at the log's clock again."""

    deadline: Microseconds
    until: float


@dataclass(slots=True)
class _Batch:
    """What is decided in one transaction, as far as it is folded."""

    world: World
    after: Position
    """Of the last event before it."""
    began_at: float
    events: int = 0
    decisions: list[Decision] = field(default_factory=list)
    ended: list[Ended] = field(default_factory=list)
    released: list[Released] = field(default_factory=list)
    righted: list[Righted] = field(default_factory=list)
    nodes: set[Subject] = field(default_factory=set)
    """Those of which the book says something else: their pages are written as they are at the end."""
    disks: list[tuple[Position, DiskBook]] = field(default_factory=list)
    """The pages of disks, jobs and queues are written as they were after each event too."""
    jobs: list[tuple[Position, JobBook]] = field(default_factory=list)
    queues: list[tuple[Position, QueueBook]] = field(default_factory=list)
    effects: dict[Position, Effect] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)
    """To admissions, as whoever asked is told."""

    def take(self, stored: StoredEvent) -> None:
        """Decide one more event."""
        happened = event(stored)
        step = advance(self.world, happened)
        spot = step.world.policy.spot
        given = answering.given(self.world, happened, step.decisions, spot)
        self.answers += [Answer(*one) for one in given]
        self.world = step.world
        self.events += 1
        self.decisions += step.decisions
        self.ended += [(*one, stored.position) for one in step.ended]
        self.released += [Released(*one, stored.position) for one in step.released]
        self.righted += [Righted(*one, stored.position) for one in step.righted]
        self._turn(Position(stored.position), step.turned)
        if step.effect != "applied":
            self.effects[Position(stored.position)] = step.effect

    def _turn(self, position: Position, turned: Iterable[Account]) -> None:
        """Note what the book says of these by now."""
        of: dict[str, list[Subject]] = {"node": [], "disk": [], "job": [], "queue": []}
        for account in turned:
            of[account.kind].append(account.name)
        self.nodes.update(of["node"])
        self.disks += [(position, page) for page in disk_books(self.world, of["disk"])]
        self.jobs += [(position, page) for page in job_books(self.world, of["job"])]
        self.queues += [(position, page) for page in queue_books(self.world, of["queue"])]


def _folded(
    world: World, page: Sequence[StoredEvent], seconds: float, clock: Callable[[], float]
) -> _Batch:
    """A batch: as many events as there is time for, the first at least, up to one at which this program fails.

    A mistake of ours must not take the other fleets of the process with it. What was decided before that
    event is written first; then it comes again, as the first of its batch.
    """
    batch = _Batch(world, after=Position(world.position - 1), began_at=clock())
    for number, stored in enumerate(page):
        try:
            batch.take(stored)
        except LedgerStopped:
            raise
        except Exception as failed:
            if not number:
                raise undecided(stored, failed) from failed
            # The batch may hold half of it.
            return _folded(world, page[:number], float("inf"), clock)
        if clock() - batch.began_at >= seconds:
            break
    return batch


class Decider:
    """Decides for one fleet over one connection."""

    def __init__(
        self,
        connection: Connection,
        fleet: Fleet,
        *,
        holder: str,
        on_decisions: OnDecisions | None = None,
        meanwhile: Meanwhile | None = None,
        activity: Activity | None = None,
        snapshots: Snapshots | None = None,
        pace: Pace = USUAL_PACE,
    ) -> None:
        """``meanwhile`` is called now and then during long work, to keep what else is held.

        ``activity`` is what is counted in besides; several deciders may share one. Without
        ``snapshots`` none is read or written.
        """
        self.progress = Progress()
        self._activity = Activity() if activity is None else activity
        self._snapshots = snapshots
        self._pace = pace
        self._connection = connection
        self._fleet = fleet
        self._holder = holder
        self._on_decisions = on_decisions
        self._lease: Lease | None = None
        self._renewed_at = 0.0
        self._written_at = float("-inf")
        self._early: _Early | None = None
        self._past = Following(
            connection,
            fleet,
            from_snapshots=snapshots is not None,
            meanwhile=self.keep_lease if meanwhile is None else meanwhile,
            activity=self._activity,
        )
        self._is_current = False
        """Whether everything that is decided is in memory, and nobody else decides."""
        self._term: leases.Term | None = None
        """Of somebody else's lease, as it was when this one wanted to end."""

    async def turn(self, *, ticks: bool) -> bool:
        """Decide some of what waits, or fold a page of what was decided; False where there is neither.

        With ``ticks`` a deadline that nothing else reaches is reached at once, instead of by the
        clock: what ``decide --until-idle`` promises.
        """
        try:
            if await self._folds_first():
                return True
            leads = await self._holds_lease()
            if not self._is_current and await self._past.step():
                self._offer(leads=leads)
                return True
            world = self._past.world
            if world is None or not leads:
                return False
            self._is_current = True
            return await self._decide(world) or await self._tick(world, at_once=ticks)
        except WrongPosition as moved:
            self.forget(moved)
            return False

    async def _folds_first(self) -> bool:
        """Fold without asking for the lease where somebody else stands by, who may have all of it folded.

        Under a lease nothing would be decided for as long as that takes. Nobody waits for the other one either:
        who is at the cursor asks, whether the other has asked by then, has not, or is dead.
        """
        if self._lease is not None or not await leases.somebody_stands_by(
            self._connection, self._fleet, "decide", beside=self._holder
        ):
            return False
        if not await self._past.step():
            return False
        await self._tell_stand()
        self._offer(leads=False)
        return True

    def forget(self, moved: WrongPosition) -> None:
        """Stand by. What is in memory stays if it is only behind: it was written under the lease."""
        log.info(
            "fenced" if isinstance(moved, StaleEpoch) else "lease_lost",
            fleet=self._fleet.name,
            position=self.through,
            why=str(moved),
        )
        self._activity.leases_lost += 1
        self._activity.stands.pop(self._fleet.name, None)
        self._lease = None
        self._early = None
        self._is_current = False
        if not isinstance(moved, StaleEpoch):
            self._past.forget()

    def begin_again(self) -> None:
        """Forget what is in memory: the log is in another life."""
        self._is_current = False
        self._past.forget()

    async def let_go(self) -> None:
        """Stop deciding and let somebody else begin at once."""
        if self._lease is not None:
            await leases.let_go(self._connection, self._lease)
            log.info("stopped", fleet=self._fleet.name, position=self.through)
            self._activity.stands.pop(self._fleet.name, None)
            self._lease = None
            self._early = None
            self._is_current = False

    @property
    def seen(self) -> Seen | None:
        """What is in memory of the log; None where nothing is."""
        world = self._past.world
        if world is None:
            return None
        return Seen(world.incarnation, world.position - 1, world.decisions)

    @property
    def leads(self) -> bool:
        """Whether this process decides for the fleet now."""
        return self._lease is not None

    async def is_idle(self) -> bool:
        """Whether everything is decided, by whomever, and no deadline waits for somebody who is gone."""
        size, _ = await trees.recorded_root(self._connection, self._fleet.number, "events")
        through, _ = await recorded.cursor(self._connection, self._fleet)
        if through < size - 1:
            return False
        world = self._past.world
        waits = world is not None and due_at(world) is not None
        return self.leads or not waits or await self._is_led()

    async def _is_led(self) -> bool:
        """Whether somebody lives who decides for the fleet: his lease was renewed while this one stood by.

        Else it runs out, is taken over, and the deadline is this one's to reach.
        """
        term = await leases.held(self._connection, self._fleet, "decide")
        if self._term is None:
            self._term = term
        return term is not None and term != self._term

    @property
    def patience(self) -> float:
        """How many seconds it may be left alone where nothing is appended."""
        if self._early is None:
            return POLL_SECONDS
        return max(0.0, self._early.until - asyncio.get_running_loop().time())

    @property
    def fleet(self) -> Fleet:
        """The fleet it decides for."""
        return self._fleet

    @property
    def through(self) -> int | None:
        """Position of the last event in memory; None where there is none."""
        return self._past.through

    async def _holds_lease(self) -> bool:
        if self._lease is None:
            self._lease = await leases.acquire(
                self._connection, self._fleet, "decide", holder=self._holder
            )
            self._renewed_at = asyncio.get_running_loop().time()
            await self._tell_stand()
        await self.keep_lease()
        return self._lease is not None

    async def _tell_stand(self) -> None:
        """Say what has become of asking for the lease, where that is news."""
        name = self._fleet.name
        before = self._activity.stands.get(name)
        if self._lease is None and before == "stands_by":
            return
        through, _ = await recorded.cursor(self._connection, self._fleet)
        if self._lease is None:
            self._activity.stands[name] = "stands_by"
            log.info("standby", fleet=name, position=through)
            return
        self._activity.stands[name] = "leads"
        self._activity.leases_taken += 1
        log.info("lease_taken", fleet=name, position=through, epoch=self._lease.epoch)
        if before == "stands_by":
            await leases.stand_by_no_more(
                self._connection, "decide", holder=self._holder, fleet=self._fleet
            )

    def _offer(self, *, leads: bool) -> None:
        if self._snapshots is not None and self._past.world is not None:
            self._snapshots.offer(self._fleet, self._past.world, leads=leads)

    async def keep_lease(self) -> None:
        """Renew the lease if it is held and has grown old."""
        now = asyncio.get_running_loop().time()
        if self._lease is not None and now - self._renewed_at > leases.RENEW_SECONDS:
            await leases.renew(self._connection, self._lease)
            self._renewed_at = now

    async def _decide(self, world: World) -> bool:
        """Decide what waits, up to a page, and more for a while; False where nothing does."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        page = await self._read(world.position)
        if not page:
            return False
        behind = len(page) == self._pace.events
        batch = await self._fold(world, page, behind=behind)
        while True:
            page = page[batch.events :]
            now = loop.time()
            turn = self._pace.turn_seconds if behind else self._pace.soon_turn_seconds
            more = behind or now - batch.began_at > MEANWHILE_SECONDS
            if not page and more and now - began < turn:
                page = await self._read(batch.world.position)
                behind = len(page) == self._pace.events
            if not page:
                await self._write(batch)
                return True
            await self.keep_lease()
            batch = await self._fold(batch.world, page, behind=behind, meanwhile=batch)

    async def _read(self, first: Position) -> list[StoredEvent]:
        return await read.page(self._connection, self._fleet, first=first, limit=self._pace.events)

    async def _fold(
        self,
        world: World,
        page: Sequence[StoredEvent],
        *,
        behind: bool,
        meanwhile: _Batch | None = None,
    ) -> _Batch:
        """Decide events, the first at least, for as long as a batch may take.

        It is done in a thread, because one event may raise thousands of questions: so long the
        transaction of the batch before it would stay open, and the lease would not be renewed.
        """
        loop, pace = asyncio.get_running_loop(), self._pace
        seconds = pace.behind_seconds if behind else pace.soon_seconds
        folding = loop.run_in_executor(None, _folded, world, page, seconds, loop.time)
        try:
            if meanwhile is not None:
                await self._write(meanwhile)
            while not folding.done():
                await asyncio.wait({folding}, timeout=leases.RENEW_SECONDS)
                await self.keep_lease()
        finally:
            # What is ahead of a batch that was not written is dropped once nobody is at it any more.
            await asyncio.wait({folding})
        return folding.result()

    async def _write(self, batch: _Batch) -> None:
        """Make a batch durable; only then it is what the log says."""

        async def project(connection: Connection) -> None:
            await show(connection, self._fleet.number, told)
            if batch.answers:
                await admissions.give(connection, self._fleet.number, batch.answers)

        told = Told(
            batch.decisions,
            batch.ended,
            batch.released,
            batch.righted,
            node_books(batch.world, batch.nodes),
            batch.disks,
            batch.jobs,
            batch.queues,
        )
        assert self._lease is not None
        through = Position(batch.world.position - 1)
        await recorded.write(
            self._connection,
            self._lease,
            after=batch.after,
            through=through,
            decisions=batch.decisions,
            effects=batch.effects,
            due_at=due_at(batch.world),
            project=project,
        )
        self._past.world = batch.world
        searched_no_more()
        self._offer(leads=True)
        # Folding the next one and writing this one are not counted twice.
        now = asyncio.get_running_loop().time()
        seconds = now - max(batch.began_at, self._written_at)
        self._written_at = now
        self._activity.count(batch.decisions, events=batch.events, seconds=seconds)
        log.debug(
            "batch",
            fleet=self._fleet.name,
            position=through,
            events=batch.events,
            decisions=len(batch.decisions),
            seconds=round(seconds, 6),
        )
        self.progress.events += batch.events
        self.progress.decisions += len(batch.decisions)
        if batch.decisions and self._on_decisions is not None:
            self._on_decisions(tuple(batch.decisions))

    async def _tick(self, world: World, *, at_once: bool) -> bool:
        """Append the passing of time where it has something to do and nothing else comes.

        A fleet on the clock of its events has no time of its own: there only ``at_once`` ticks, and what is
        owed is done at the moment of its last event.
        """
        by_events = self._fleet.clock == "event"
        owed = is_owed(world)
        deadline = due_at(world)
        if deadline is None or (by_events and not at_once):
            self._early = None
            return False
        if not (at_once or owed) and self._is_early(deadline):
            return False
        assert self._lease is not None
        with refusals_named():
            async with self._connection.transaction():
                head = await trees.lock(self._connection, self._fleet.number, "events")
                await leases.check(self._connection, self._lease)
                if head.frontier.size != world.position:
                    return True  # Something was appended meanwhile: that comes first.
                at_that_moment = by_events if owed else at_once
                now = deadline if at_that_moment else max(head.clock, deadline)
                if not (at_once or owed) and head.clock < deadline:
                    left = min((deadline - head.clock) / MICRO, POLL_SECONDS)
                    self._early = _Early(deadline, asyncio.get_running_loop().time() + left)
                    return False
                passed = own_event(
                    fleet=self._fleet.name,
                    source="ledger/time",
                    id=f"{world.incarnation}/{world.position}",
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
                    not_before=now,
                    may_leap=True,
                )
                assert done.count == 1, "its position is its identity, and it is the head's"
        self._activity.ticks += 1
        return True

    def _is_early(self, deadline: Microseconds) -> bool:
        """Whether the log's clock, seen a moment ago, cannot have come so far.

        Asking it takes the lock of those who append.
        """
        early = self._early
        if early is None or deadline < early.deadline:
            return False
        return asyncio.get_running_loop().time() < early.until


class Deciders:
    """All fleets of a log, decided in turn over one connection."""

    def __init__(
        self,
        connection: Connection,
        *,
        holder: str,
        only: frozenset[str] | None,
        on_decisions: OnDecisions | None,
        activity: Activity,
        snapshots: Snapshots | None = None,
        pace: Pace = USUAL_PACE,
        seen: dict[str, Seen] | None = None,
    ) -> None:
        """``seen`` is what deciders before these saw of each fleet; it is kept up."""
        self._connection = connection
        self._pace = pace
        self._holder = holder
        self._seen = {} if seen is None else seen
        self._only = only
        self._on_decisions = on_decisions
        self._activity = activity
        self._snapshots = snapshots
        self._by_name: dict[str, Decider] = {}
        self._standby_told_at = float("-inf")
        self._looked_at = float("-inf")
        self._look_again: dict[str, float] = {}
        self.stopped: dict[str, LedgerStopped] = {}
        """Fleets that a person has to look at, and why. They stop nobody else."""

    @property
    def progress(self) -> Progress:
        """What all of them have done."""
        each = [decider.progress for decider in self._by_name.values()]
        return Progress(sum(one.events for one in each), sum(one.decisions for one in each))

    async def turn(self, *, ticks: bool) -> bool:
        """One batch for each fleet; False where no fleet had anything to do."""
        now = asyncio.get_running_loop().time()
        # Whoever decides to the end must not miss a fleet; else a new one has a moment.
        found: Sequence[Fleet] = ()
        if ticks or now - self._looked_at > LOOK_SECONDS:
            found, self._looked_at = await fleets.every(self._connection), now
        for fleet in found:
            if self._only and fleet.name not in self._only:
                continue
            if fleet.name in self._by_name:
                await self._look_whether_it_goes_on(fleet)
                continue
            self._by_name[fleet.name] = Decider(
                self._connection,
                fleet,
                holder=self._holder,
                on_decisions=self._on_decisions,
                meanwhile=self._keep_leases,
                activity=self._activity,
                snapshots=self._snapshots,
                pace=self._pace,
            )
            await self._require_grown(fleet)
        busy = [await self._turn_of(name, ticks=ticks) for name in list(self._by_name)]
        await self._tell_standby()
        return any(busy)

    async def _require_grown(self, fleet: Fleet) -> None:
        """Stop a fleet whose log is shorter than it was before the database was away."""
        seen = self._seen.get(fleet.name)
        if seen is None:
            return
        incarnation = await fleets.incarnation(self._connection, fleet)
        through, decisions = await recorded.cursor(self._connection, fleet)
        if incarnation > seen.incarnation or (
            incarnation == seen.incarnation
            and through >= seen.through
            and decisions >= seen.decisions
        ):
            return
        why = Stop(
            "decider",
            "log_rewound",
            f"{seen.decisions} decisions through {seen.through} were there, {decisions} through"
            f" {through} are; the database was restored to an earlier point",
        )
        self._stop(fleet.name, await stops.stopped(self._connection, fleet, why))

    async def _look_whether_it_goes_on(self, fleet: Fleet) -> None:
        """Begin again with a fleet that was stopped and is in another life by now."""
        stopped = self.stopped.get(fleet.name)
        now = asyncio.get_running_loop().time()
        if not isinstance(stopped, FleetStopped) or now < self._look_again.get(fleet.name, now):
            return
        self._look_again[fleet.name] = now + POLL_SECONDS
        if await stops.standing(self._connection, fleet):
            return
        log.info("fleet_goes_on", fleet=fleet.name)
        del self.stopped[fleet.name]
        self._activity.stands.pop(fleet.name, None)
        self._by_name[fleet.name].begin_again()

    def _stop(self, name: str, why: LedgerStopped) -> None:
        # What the program stumbled over is told where it is a mistake of ours.
        log.error("fleet_stopped", fleet=name, why=str(why), exc_info=why.__cause__)
        self.stopped[name] = why
        self._activity.stands[name] = "stopped"

    async def _tell_standby(self) -> None:
        """Let people see for which fleets this process would take over."""
        now = asyncio.get_running_loop().time()
        waiting = [
            decider.fleet
            for name, decider in self._by_name.items()
            if not decider.leads and name not in self.stopped
        ]
        if waiting and now - self._standby_told_at > leases.RENEW_SECONDS:
            await leases.stand_by(self._connection, waiting, "decide", holder=self._holder)
            self._standby_told_at = now

    async def _turn_of(self, name: str, *, ticks: bool) -> bool:
        if name in self.stopped:
            return False
        decider = self._by_name[name]
        try:
            busy = await decider.turn(ticks=ticks)
        except LedgerStopped as stopped:
            await decider.let_go()
            self._stop(name, stopped)
            return False
        if decider.seen is not None:
            self._seen[name] = decider.seen
        return busy

    async def _keep_leases(self) -> None:
        for decider in self._by_name.values():
            try:
                await decider.keep_lease()
            except WrongPosition as moved:
                decider.forget(moved)

    async def let_go(self) -> None:
        """Give every lease back."""
        for decider in self._by_name.values():
            await decider.let_go()
        if self._standby_told_at > float("-inf"):
            await leases.stand_by_no_more(self._connection, "decide", holder=self._holder)

    @property
    def patience(self) -> float:
        """How many seconds all of them may be left alone where nothing is appended."""
        return min((one.patience for one in self._by_name.values()), default=POLL_SECONDS)

    async def idle(self) -> bool:
        """Whether nothing is left: also fleets that somebody else decides for are decided."""
        for name, decider in self._by_name.items():
            if name not in self.stopped and not await decider.is_idle():
                return False
        return True


async def decide(
    url: str,
    *,
    holder: str,
    until_idle: bool,
    stop: asyncio.Event,
    only: frozenset[str] | None = None,
    on_decisions: OnDecisions | None = None,
    activity: Activity | None = None,
    snapshots: Interval | None = None,
    pace: Pace = USUAL_PACE,
) -> Progress:
    """Decide for every fleet of a log until told to stop, or until nothing is left to do.

    A database that goes away is waited for; ``until_idle`` gives up instead and says why. What is
    done is counted in ``activity`` as it happens. Without ``snapshots`` none is read or written.
    """
    activity = Activity() if activity is None else activity
    total = Progress()
    seen: dict[str, Seen] = {}
    while True:
        try:
            with seldom_collected():
                done = await _while_connected(
                    url,
                    holder=holder,
                    until_idle=until_idle,
                    stop=stop,
                    only=only,
                    on_decisions=on_decisions,
                    activity=activity,
                    snapshots=snapshots,
                    pace=pace,
                    seen=seen,
                )
        except (LogUnavailable, DatabaseMissing) as error:
            # A database that was there and is not is being put back, or was renamed for a moment.
            if isinstance(error, DatabaseMissing) and not seen:
                raise
            activity.log_lost += 1
            activity.stands.clear()
            activity.unfolded.clear()
            if until_idle:
                raise
            log.warning("log_unavailable", why=str(error))
            await _pause(stop, RECONNECT_SECONDS)
        else:
            total = Progress(
                total.events + done.events, total.decisions + done.decisions, done.idle
            )
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
    activity: Activity,
    snapshots: Interval | None,
    pace: Pace,
    seen: dict[str, Seen],
) -> Progress:
    writing = None
    if snapshots is not None:
        writing = Snapshots(url, holder, snapshots, activity)
    async with (
        connected(url, "ledger_decider") as connection,
        connected(url, "ledger_decider") as listening,
    ):
        bell = read.Bell(listening)
        await bell.listen()
        deciders = Deciders(
            connection,
            holder=holder,
            only=only,
            on_decisions=on_decisions,
            activity=activity,
            snapshots=writing,
            pace=pace,
            seen=seen,
        )
        idle = False
        try:
            while not stop.is_set():
                if await deciders.turn(ticks=until_idle):
                    continue
                idle = until_idle and await deciders.idle()
                if idle:
                    break
                await bell.wait(at_most=deciders.patience)
            await deciders.let_go()
            if writing is not None and not stop.is_set():
                await writing.finish()
        finally:
            if writing is not None:
                await writing.stop()
    if until_idle and deciders.stopped:
        raise deciders.stopped[min(deciders.stopped)]
    return replace(deciders.progress, idle=idle)


async def _pause(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()
