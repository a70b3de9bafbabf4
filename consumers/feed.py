"""The poll loop: from Kafka into the log, each record once, whatever dies in between.

One process is one member of the consumer group, with one connection to the log. The group shares
partitions out; everything else is the database's word. Taking a partition over opens an epoch
there, the newest receipt says where to read on, and the last record that was taken must still be
in Kafka (``consumers.custody``). A batch goes in with its receipt in one transaction, and while
Postgres works on it the next one is fetched and judged.

What can go wrong, and what follows:

* Postgres is away: everything read and not committed is forgotten, the partitions are taken over
  anew when it is back. Kafka keeps what we forget.
* Somebody newer owns a partition: it is let go at once. Should the group still hold it to be ours
  a while later, it is taken back; the database never lets two write.
* Going on would hide a loss (``custody.beginning``, a fleet's events by another partition, a
  record that cannot be read): the partition halts, an incident is recorded, a person resumes it.
* Kafka was told of more than the log has: the database was restored to an earlier point. The
  partition halts, and every fleet that comes by it stops until it was recovered.
* The client is stuck (``consumers.watchdog``): it is replaced. A second time without a record in
  between ends the process, for a supervisor to start another.

Nothing that concerns one partition keeps the others waiting: where it begins and ends is asked
beside the loop (``consumers.reach``), and so is what another client thinks of a silent one.

Two habits of aiokafka shape the code. Whatever its ``getmany`` raises, it may by then have dropped
records it had already decoded, so after an exception every partition is told again where to read.
And it says nothing of topic ids or leader epochs, so a partition that has been quiet must show its
last record again before more is taken from it, whether it had nothing to give or was not asked. A
topic that is deleted, made again and filled past the old place within those seconds is not noticed.
"""

import asyncio
import os
import socket
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, assert_never

import structlog
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import (
    IllegalStateError,
    KafkaError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
)

from consumers import clients, subscription
from consumers.assignment import Assignment
from consumers.crowd import Crowd
from consumers.custody import Custody, GoOn, Prove, Refuse, beginning, disproved, proof_of
from consumers.judging import judge
from consumers.patience import Patience
from consumers.portions import Haul, gathered
from consumers.reach import Ends, Reach
from consumers.settings import Settings
from consumers.topic import Topic
from consumers.totals import Totals
from consumers.watchdog import ClientStuckError, Watchdog
from ledger.errors import (
    FleetStopped,
    KafkaUnavailable,
    LogUnavailable,
    StaleEpoch,
    WrongPosition,
)
from ledger.log.door import Door
from ledger.log.garbage import seldom_collected
from ledger.log.intake import Taken
from ledger.log.messages import Message
from ledger.log.receipts import Adopted, HaltReason, PartitionMoved
from ledger.units import Offset

log = structlog.get_logger()

OnBatch = Callable[[Taken], None]

POLL_MS: Final = 200
"""How long one request for records waits; it returns at once when there are some."""

TURN_SECONDS: Final = 0.25
"""The longest the loop sleeps: whatever is due is done about that much late."""

QUIET_SECONDS: Final = 15.0
"""After so long without a record a partition shows its last one again."""

HALTED_SECONDS: Final = 2.0
"""How often a halted partition looks whether a person has resumed it."""

RETAKE_SECONDS: Final = 5.0
"""A partition that somebody newer took is asked for again after that, if the group still says that
it is ours: the newer one may have been a process that did not know yet that it had lost it."""

DOUBT_SECONDS: Final = 1.0
"""Before a partition is halted for where it begins or ends, Kafka is asked once more after that: a
broker that has just become leader may not know yet how far its partition reaches, and what was
asked before our epoch was opened may be behind what somebody else took."""

COMMIT_SECONDS: Final = 5.0
"""How often Kafka is told how far we are. It is of use to those who watch the lag, not to us."""

CAREFUL_TURNS: Final = 40
"""How many times each partition is asked alone after a record could not be read."""

CAREFUL_MS: Final = 20
"""How long each of them is waited for then."""

_NOWHERE: Final = TopicPartition("", 0)
"""Asked for where nothing may be read: an empty list would ask for everything."""


async def run(
    settings: Settings,
    database_url: str,
    *,
    stop: asyncio.Event,
    topics: Sequence[Topic] | None = None,
    on_batch: OnBatch | None = None,
    totals: Totals | None = None,
) -> Totals:
    """Feed the log until ``stop`` is set, then finish the batch in work and leave the group."""
    if topics is None:
        topics = subscription.topics(settings.kafka_topic_prefix)
    totals = Totals() if totals is None else totals
    by_name = {topic.name: topic for topic in topics}
    with seldom_collected():
        feed = _Feed(settings, database_url, by_name, stop, totals, on_batch)
        try:
            await feed.run()
        finally:
            await feed.close()
    return totals


@dataclass(frozen=True, slots=True)
class _Batch:
    """Records of one partition on their way into the log."""

    custody: Custody
    judging: asyncio.Task[list[Message]]
    timestamp: int
    after: Offset | None
    next: Offset


class _Feed:
    """What the loop knows. Nothing of it is needed after a crash."""

    def __init__(
        self,
        settings: Settings,
        database_url: str,
        topics: dict[str, Topic],
        stop: asyncio.Event,
        totals: Totals,
        on_batch: OnBatch | None,
    ) -> None:
        self._settings = settings
        self._database_url = database_url
        self._topics = topics
        self._stop = stop
        self._totals = totals
        self._on_batch = on_batch
        self._owner = f"{socket.gethostname()}/{os.getpid()}"
        self._loop = asyncio.get_running_loop()
        self._quiet = min(QUIET_SECONDS, settings.kafka_stall_seconds / 4)
        self._patience = Patience()
        self._heard = 0
        """Records that Kafka gave us, proofs included."""

        self._door: Door | None = None
        self._judging: deque[_Batch] = deque()
        self._writing: tuple[_Batch, asyncio.Task[Taken]] | None = None
        self._crowd = Crowd(settings.undecided_limit)

        self._client: AIOKafkaConsumer = None
        self._assignment: Assignment = Assignment(None)
        self._reach: Reach = Reach(None)
        self._watchdog: Watchdog = Watchdog(settings, None, self._reach)
        self._generation = 0
        self._custody: dict[TopicPartition, Custody] = {}
        self._unadopted: dict[TopicPartition, float] = {}
        self._fetching: asyncio.Task[Haul] | None = None
        self._asked: dict[TopicPartition, int] = {}
        self._seeks = 0
        self._careful = 0
        self._committing: asyncio.Task[None] | None = None
        self._uncommitted: dict[TopicPartition, Offset] = {}
        self._due: dict[str, float] = {}

    async def run(self) -> None:
        """Read until told to stop, with one client after the other if need be."""
        patience = Patience()
        stuck_after: int | None = None
        while not self._stop.is_set():
            client = clients.group_consumer(self._settings)
            before = self._heard
            try:
                async with clients.running(client):
                    await self._consume(client)
            except ClientStuckError as error:
                self._totals.stalled += 1
                log.warning("client_stuck", why=str(error))
                if stuck_after == self._heard:
                    raise KafkaUnavailable(f"replaced in vain: {error}") from error
                stuck_after = self._heard
            except KafkaUnavailable as error:
                self._totals.kafka_lost += 1
                log.warning("kafka_unavailable", why=str(error))
                if self._heard > before:
                    patience.reset()
                await patience.wait(self._stop)

    async def _consume(self, client: AIOKafkaConsumer) -> None:
        """Read with this client until told to stop, or until it is of no use any more."""
        self._client = client
        self._assignment = Assignment(client)
        self._reach = Reach(client)
        self._watchdog = Watchdog(self._settings, client, self._reach)
        self._generation = 0
        client.subscribe(list(self._topics), listener=self._assignment)
        stopped = asyncio.create_task(self._stop.wait())
        try:
            while not self._stop.is_set():
                try:
                    await self._turn(stopped)
                except LogUnavailable as error:
                    await self._lose_log(error)
            with suppress(LogUnavailable):
                await self._settle()
            await self._tell_broker()
        finally:
            stopped.cancel()
            await self._lose_client()

    async def close(self) -> None:
        """Leave the log; what was not committed did not happen."""
        door, self._door = self._door, None
        if door is not None:
            await door.close()

    async def _turn(self, stopped: asyncio.Task[Any]) -> None:
        if self._generation != self._assignment.generation:
            self._reassign()
        await self._adopt()
        await self._look_around()
        if not self._judging:
            self._ask()
        await self._something(stopped)
        if self._writing is not None and self._writing[1].done():
            await self._settle()
        if self._fetching is not None and self._fetching.done():
            haul = await self._fetched()
            for at in haul.records:
                await self._receive(at, haul)
        if self._writing is None and self._judging and self._judging[0].judging.done():
            self._hand_in(self._judging.popleft())

    async def _something(self, stopped: asyncio.Task[Any]) -> None:
        """Wait until there is something to do."""
        waiting: set[asyncio.Task[Any]] = {stopped, *self._reach.under_way()}
        if self._fetching is not None:
            # During a rebalance it waits for its end, however long that takes.
            waiting.add(self._fetching)
        if self._writing is not None:
            waiting.add(self._writing[1])
        elif self._judging:
            waiting.add(self._judging[0].judging)
        await asyncio.wait(waiting, timeout=TURN_SECONDS, return_when=asyncio.FIRST_COMPLETED)

    def _reassign(self) -> None:
        """Forget what was ours, and note what is."""
        self._generation = self._assignment.generation
        self._custody.clear()
        self._reach.forget()
        self._drop_judging()
        self._unadopted = dict.fromkeys(self._assignment.partitions, 0.0)
        if self._unadopted:
            log.info("assigned", partitions=sorted(f"{t}/{p}" for t, p in self._unadopted))

    async def _adopt(self) -> None:
        """Take over what is assigned and not in our custody yet."""
        now = self._loop.time()
        due = sorted(at for at, when in self._unadopted.items() if when <= now)
        for at in due:
            self._reach.ask(at)
        for at in due:
            if not self._reach.answered(at):
                continue
            door = await self._ready_door()
            ends = self._reach.take(at)
            if ends is None:
                continue
            if self._generation != self._assignment.generation:
                return
            adopted = await door.adopt(*at)
            if self._generation != self._assignment.generation:
                return
            await self._take_into_custody(door, at, adopted, ends)

    async def _take_into_custody(
        self, door: Door, at: TopicPartition, adopted: Adopted, ends: Ends
    ) -> None:
        self._totals.adopted += 1
        custody = Custody(
            at=at,
            topic=self._topics[at.topic],
            claim=adopted.claim,
            receipt=adopted.receipt,
            taken_to=None if adopted.receipt is None else adopted.receipt.next,
            recovered=adopted.recovered,
            proof=None,
            wanted=Offset(0),
            state="halted",
            gulp=self._settings.kafka_batch,
            heard=self._loop.time(),
        )
        self._custody[at] = custody
        del self._unadopted[at]
        self._watchdog.heard(at)
        if adopted.halt is not None:
            custody.look_again = self._loop.time() + HALTED_SECONDS
            log.warning(
                "halted",
                topic=at.topic,
                partition=at.partition,
                reason=adopted.halt.reason,
                detail=adopted.halt.detail,
            )
            return
        await self._begin_or_let_go(door, custody, ends)

    async def _begin_or_let_go(self, door: Door, custody: Custody, ends: Ends) -> None:
        try:
            await self._begin(door, custody, ends)
        except StaleEpoch as error:
            self._fenced(custody, error)

    async def _begin(self, door: Door, custody: Custody, ends: Ends) -> None:
        """Compare what the log took with what Kafka has, and go on, prove, doubt or halt."""
        at, receipt = custody.at, custody.receipt
        begins = beginning(
            receipt,
            first=ends.first,
            end=ends.end,
            told=None if custody.recovered else ends.told,
        )
        if isinstance(begins, Refuse) and custody.state != "doubted":
            custody.state = "doubted"
            custody.look_again = self._loop.time() + DOUBT_SECONDS
            return
        match begins:
            case Refuse(reason, detail):
                await self._halt(door, custody, reason, detail)
                return
            case Prove(proof):
                custody.state, custody.proof, offset = "proving", proof, proof.offset
            case GoOn(offset, incident):
                custody.state = "reading"
                if incident is not None:
                    kind, detail = incident
                    number = -1 if receipt is None else receipt.number
                    told = f"{kind}/{at.topic}/{at.partition}/{number}"
                    if await door.report(custody.claim, kind, detail, id_=told):
                        log.warning(kind, topic=at.topic, partition=at.partition, detail=detail)
            case _:
                assert_never(begins)
        if custody.recovered and not await self._tell_less(custody, ends):
            return
        self._seek(custody, offset)
        self._pause_or_resume(custody)
        log.info(
            "adopted",
            topic=at.topic,
            partition=at.partition,
            offset=offset,
            epoch=custody.claim.epoch,
        )

    async def _tell_less(self, custody: Custody, ends: Ends) -> bool:
        """Have Kafka know what a recovered log has, before anything more is taken; whether it does."""
        taken = Offset(0) if custody.receipt is None else custody.receipt.next
        if ends.told is None or ends.told <= taken:
            return True
        try:
            async with asyncio.timeout(COMMIT_SECONDS):
                await self._client.commit({custody.at: taken})
        except (KafkaError, TimeoutError) as error:
            log.warning("broker_commit_refused", why=repr(error))
            self._release(custody.at, after=TURN_SECONDS)
            return False
        return True

    def _ask(self) -> None:
        """Ask Kafka for records, if nobody has."""
        if self._fetching is None:
            asked, gulp = self._whom_to_ask()
            self._asked = {custody.at: custody.seeks for custody in asked}
            self._fetching = asyncio.create_task(self._fetch(list(self._asked), gulp))

    async def _fetch(self, asked: Sequence[TopicPartition], gulp: int) -> Haul:
        """Ask for records, and have the time counted that they take."""
        self._watchdog.asks(asked)
        try:
            return await gathered(
                self._client,
                asked or [_NOWHERE],
                most=gulp,
                wait_ms=CAREFUL_MS if self._careful else POLL_MS,
            )
        finally:
            self._watchdog.answered()

    async def _fetched(self) -> Haul:
        """The records that were asked for."""
        assert self._fetching is not None
        fetching, self._fetching = self._fetching, None
        try:
            with clients.denials_named():
                try:
                    haul = fetching.result()
                except NoOffsetForPartitionError:
                    # It was assigned again before we said where to read; nothing is amiss.
                    self._seek_all()
                    return Haul({}, 0)
                except OffsetOutOfRangeError as error:
                    self._start_over(error.args[0])
                    return Haul({}, 0)
                except clients.UNREADABLE as error:
                    await self._distrust(error)
                    return Haul({}, 0)
        finally:
            if self._careful and not fetching.cancelled() and fetching.exception() is None:
                self._careful -= 1
        return haul

    def _whom_to_ask(self) -> tuple[list[Custody], int]:
        """Which partitions are asked for how many records."""
        able = [custody for custody in self._custody.values() if custody.able]
        if self._careful and able:
            alone = able[self._careful % len(able)]
            return [alone], alone.gulp
        for custody in able:
            custody.gulp, custody.failures = self._settings.kafka_batch, 0
        return able, self._settings.kafka_batch

    def _start_over(self, partitions: Sequence[TopicPartition]) -> None:
        """What we want is not there any more, or not yet: compare anew with what is."""
        for at in partitions:
            log.warning("offset_out_of_range", topic=at.topic, partition=at.partition)
            self._release(at, after=0)
        self._seek_all()

    async def _distrust(self, error: Exception) -> None:
        """Something could not be read: find out where, in smaller and smaller bites, and halt there."""
        self._totals.unreadable += 1
        log.warning("unreadable", why=repr(error), partitions=len(self._asked))
        asked = [self._custody[at] for at in self._asked if at in self._custody]
        self._seek_all()
        self._careful = CAREFUL_TURNS * max(len(self._custody), 1)
        if len(asked) != 1:
            return
        (custody,) = asked
        if custody.gulp > 1:
            custody.gulp = max(custody.gulp // 8, 1)
            return
        custody.failures += 1
        # Once may have been the network; the same three times is the record.
        if custody.failures < 3:
            return
        detail = f"nothing can be read at {custody.wanted}: {clients.told_of(error)}"
        await self._halt_behind_all(custody, "unreadable_record", detail)

    async def _receive(self, at: TopicPartition, haul: Haul) -> None:
        """Have records judged, after they have shown that the partition is still the same."""
        custody, records = self._custody.get(at), haul.records[at]
        if custody is None or custody.stands or not records:
            return
        if self._generation != self._assignment.generation:
            # What came after the group had agreed anew need not follow what came before.
            return
        self._watchdog.heard(at)
        self._heard += len(records)
        if self._asked[at] != custody.seeks:
            # Who told it meanwhile where to read cannot know whether these were read before.
            self._seek(custody, custody.wanted)
            return
        if custody.must_show(self._loop.time() - self._quiet):
            # Offsets that follow after a silence may be another topic's.
            self._prove(custody)
            return
        custody.heard = self._loop.time()
        if custody.state == "proving":
            assert custody.proof is not None
            contradiction = disproved(custody.proof, records[0])
            if contradiction is not None:
                await self._halt_behind_all(custody, "topic_recreated", contradiction)
                return
            self._totals.proven += 1
            custody.state = "reading"
            custody.wanted = Offset(records[0].offset + 1)
            records = records[1:]
        for portion in haul.portions(records):
            self._have_judged(custody, portion)

    def _have_judged(self, custody: Custody, records: Sequence[ConsumerRecord]) -> None:
        """Let a batch be judged, and remember where it ends."""
        last = records[-1]
        custody.failures = 0
        custody.proof, custody.wanted = proof_of(last), Offset(last.offset + 1)
        after, custody.taken_to = custody.taken_to, custody.wanted
        judging = asyncio.create_task(judge(custody.topic, custody.at.partition, records))
        self._judging.append(_Batch(custody, judging, last.timestamp, after, custody.wanted))

    def _hand_in(self, batch: _Batch) -> None:
        """Let Postgres work on a batch while we go on; what is not ours any more is forgotten."""
        custody = batch.custody
        if self._custody.get(custody.at) is not custody or custody.stands:
            return
        assert self._door is not None
        assert self._writing is None
        messages = batch.judging.result()
        taking = self._door.take(
            messages, custody.claim, timestamp=batch.timestamp, after=batch.after
        )
        self._writing = (batch, asyncio.create_task(taking))

    async def _hand_in_all(self) -> None:
        """Let everything go in that has been read."""
        while self._judging:
            await asyncio.wait([self._judging[0].judging])
            await self._settle()
            self._hand_in(self._judging.popleft())

    def _drop_judging(self) -> None:
        """Forget what is being judged."""
        for batch in self._judging:
            batch.judging.cancel()
        self._judging.clear()

    async def _settle(self) -> None:
        """Wait for the batch in work, and account for it."""
        if self._writing is None:
            return
        (batch, task), self._writing = self._writing, None
        custody = batch.custody
        try:
            taken = await task
        except PartitionMoved as moved:
            if self._custody.get(custody.at) is custody:
                await self._halt(await self._ready_door(), custody, "partition_moved", str(moved))
            return
        except FleetStopped as stopped:
            if self._custody.get(custody.at) is custody:
                await self._halt(await self._ready_door(), custody, "fleet_stopped", str(stopped))
            return
        except StaleEpoch as error:
            self._fenced(custody, error)
            return
        except WrongPosition as error:
            log.warning("out_of_step", why=str(error))
            if self._custody.get(custody.at) is custody:
                self._release(custody.at, after=0)
            return
        self._patience.reset()
        self._totals.count(taken, len(batch.judging.result()))
        log.debug(
            "taken",
            topic=custody.at.topic,
            partition=custody.at.partition,
            offset=batch.next,
            appended=taken.appended,
            duplicates=taken.duplicates,
            quarantined=taken.quarantined,
            sizes=taken.sizes,
        )
        self._uncommitted[custody.at] = batch.next
        if self._on_batch is not None:
            self._on_batch(taken)
        custody.saw(taken.sizes, now=self._loop.time())
        assert self._door is not None
        await self._crowd.grew(self._door, taken.sizes)
        self._hold_back()

    async def _ready_door(self) -> Door:
        """The way into the log, with nothing in work on it."""
        await self._settle()
        if self._door is None:
            self._door = await Door.open(
                self._database_url,
                owner=self._owner,
                create_fleets=self._settings.fleet_create == "auto",
            )
        return self._door

    async def _lose_log(self, error: LogUnavailable) -> None:
        """Forget everything that is not committed, and wait a little."""
        self._totals.log_lost += 1
        log.warning("log_unavailable", why=str(error))
        if self._writing is not None:
            (_, task), self._writing = self._writing, None
            task.cancel()
            await asyncio.wait([task])
        await self.close()
        self._unadopted |= dict.fromkeys(self._custody, 0.0)
        for custody in self._custody.values():
            self._tell(self._client.pause, custody.at)
        self._custody.clear()
        self._drop_judging()
        self._crowd.forget()
        await self._patience.wait(self._stop)

    async def _lose_client(self) -> None:
        """Forget what the client was asked for."""
        with suppress(LogUnavailable):
            await self._settle()
        await self._watchdog.close()
        self._reach.forget()
        for task in (self._fetching, self._committing):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        self._fetching = self._committing = None
        self._drop_judging()
        self._custody.clear()
        self._unadopted.clear()
        self._uncommitted.clear()

    async def _halt(self, door: Door, custody: Custody, reason: HaltReason, detail: str) -> None:
        """Stop a partition until a person has looked."""
        at = custody.at
        try:
            await door.halt(custody.claim, reason, detail)
        except StaleEpoch as error:
            self._fenced(custody, error)
            return
        self._totals.halted += 1
        custody.state = "halted"
        custody.look_again = self._loop.time() + HALTED_SECONDS
        self._pause_or_resume(custody)
        log.error("halted", topic=at.topic, partition=at.partition, reason=reason, detail=detail)

    async def _halt_behind_all(self, custody: Custody, reason: HaltReason, detail: str) -> None:
        """Stop a partition once everything that was read is in: it may be nowhere else any more."""
        await self._hand_in_all()
        door = await self._ready_door()
        if self._custody.get(custody.at) is custody and not custody.stands:
            await self._halt(door, custody, reason, detail)

    def _fenced(self, custody: Custody, error: StaleEpoch) -> None:
        """Somebody newer owns it: let go."""
        self._totals.fenced += 1
        log.warning("fenced", why=str(error))
        if self._custody.get(custody.at) is custody:
            self._release(custody.at, after=RETAKE_SECONDS)

    def _release(self, at: TopicPartition, *, after: float) -> None:
        """Let a partition go, and ask for it again ``after`` so many seconds if it is still ours."""
        if self._custody.pop(at, None) is not None:
            self._unadopted[at] = self._loop.time() + after
            self._tell(self._client.pause, at)

    def _seek(self, custody: Custody, offset: Offset) -> None:
        """Say what is read next; what was asked for before is void."""
        custody.wanted = offset
        # Counted over all partitions and never anew: a request outlives the custody it was made
        # under, and its answer must not pass for an answer to the next one's.
        self._seeks += 1
        custody.seeks = self._seeks
        self._tell(self._client.seek, custody.at, offset)

    def _seek_all(self) -> None:
        for custody in self._custody.values():
            if not custody.stands:
                self._seek(custody, custody.wanted)

    def _prove(self, custody: Custody) -> None:
        """Let a partition show its last record again before more is taken from it."""
        assert custody.proof is not None
        custody.state = "proving"
        self._seek(custody, custody.proof.offset)

    def _pause_or_resume(self, custody: Custody) -> None:
        self._tell(self._client.resume if custody.able else self._client.pause, custody.at)

    def _tell(self, command: Callable[..., None], *about: object) -> None:
        """Tell the client, unless the group has just taken away what it is about."""
        with suppress(IllegalStateError):
            command(*about)

    def _is_due(self, what: str, every: float) -> bool:
        now = self._loop.time()
        if self._due.get(what, 0) > now:
            return False
        self._due[what] = now + every
        return True

    async def _look_around(self) -> None:
        """Look after halted, doubted, held, quiet and silent partitions."""
        if self._is_due("look", TURN_SECONDS):
            await self._look_for_resumed()
            await self._look_at_doubted()
            await self._let_go_on()
            self._ask_the_quiet()
            self._watchdog.look(self._custody, self._unadopted)
        if (
            self._uncommitted
            and self._committing is None
            and self._is_due("commit", COMMIT_SECONDS)
        ):
            self._committing = asyncio.create_task(self._tell_broker())
            self._committing.add_done_callback(self._committed)

    async def _look_for_resumed(self) -> None:
        now = self._loop.time()
        for custody in list(self._custody.values()):
            if custody.state == "halted" and custody.look_again <= now:
                standing = await (await self._ready_door()).standing(*custody.at)
                if standing is not None and standing.halted:
                    custody.look_again = now + HALTED_SECONDS
                else:
                    log.info("resumed", topic=custody.at.topic, partition=custody.at.partition)
                    self._release(custody.at, after=0)

    async def _look_at_doubted(self) -> None:
        """Compare once more, under the same epoch, what did not fit."""
        now = self._loop.time()
        for custody in list(self._custody.values()):
            if custody.state == "doubted" and custody.look_again <= now:
                self._reach.ask(custody.at)
                if self._reach.answered(custody.at):
                    door = await self._ready_door()
                    ends = self._reach.take(custody.at)
                    if ends is not None:
                        await self._begin_or_let_go(door, custody, ends)

    async def _let_go_on(self) -> None:
        """Let partitions go on whose fleets are decided far enough."""
        if self._crowd and self._is_due("crowd", 2 * TURN_SECONDS):
            await self._crowd.look(await self._ready_door())
            self._hold_back()

    def _hold_back(self) -> None:
        """Let partitions wait that feed a crowded fleet, and the others go on."""
        now = self._loop.time()
        for custody in self._custody.values():
            crowded = self._crowd.among(custody.feeds(now=now)) if self._crowd else set()
            held = bool(crowded)
            if held != custody.held:
                custody.held = held
                self._totals.held += held
                self._pause_or_resume(custody)
                log.info(
                    "held" if held else "going_on",
                    topic=custody.at.topic,
                    partition=custody.at.partition,
                    fleets=sorted(crowded),
                )
                if not held:
                    custody.fleets.clear()
                    if custody.must_show(now - self._quiet):
                        self._prove(custody)

    def _ask_the_quiet(self) -> None:
        """Let partitions that have been quiet show their last record again."""
        oldest = self._loop.time() - self._quiet
        for custody in self._custody.values():
            if custody.able and custody.must_show(oldest):
                self._prove(custody)

    async def _tell_broker(self) -> None:
        """Tell Kafka how far the log is. Nobody relies on it, so a refusal is only counted out."""
        offsets, self._uncommitted = self._uncommitted, {}
        if not offsets:
            return
        try:
            async with asyncio.timeout(COMMIT_SECONDS):
                await self._client.commit(dict(offsets))
        except (KafkaError, TimeoutError) as error:
            log.debug("broker_commit_refused", why=repr(error))
        else:
            self._totals.broker_commits += len(offsets)

    def _committed(self, _: object) -> None:
        self._committing = None
