"""Admissions: many in one commit, each durable before its answer, each answered once.

Whoever asks stands in a line, one for each fleet. What stands there goes into the log in one
transaction, and while that is written the next ones gather; so a commit costs a burst no more than it
costs one. The fleet's decider, in whatever process, writes each answer beside its decision, and rings;
here the answers of all who wait are read by one query (docs/adr/0020).

Where no answer comes in time, or one that does not fit, the pod is left as it is, and the log is told so
(``ledger.api.bypasses``): whatever was or will be reserved for the pod is free again.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import orjson
import structlog

from ledger.admission import answering, asking, checking, json_patch
from ledger.admission.review import TEMPLATE_HASH, Controller, Json, Review, of, word
from ledger.api.activity import PARTS, Served
from ledger.api.braking import Brake, Named
from ledger.api.bypasses import Bypasses
from ledger.api.connections import Connections
from ledger.api.problems import Problem
from ledger.api.sharing import Shared
from ledger.errors import InvalidEvent, InvalidRequest, LedgerError, LogUnavailable
from ledger.events.codec import Accepted
from ledger.facts.admission import Admission
from ledger.facts.decision import from_record
from ledger.facts.policy import SpotPolicy
from ledger.log.admissions import NO_POLICIES, AdmissionDesk, Policies
from ledger.log.fleets import Fleet
from ledger.log.read import Ear
from ledger.units import FleetName, Position

MOST_AT_ONCE: Final = 500
"""Questions in one transaction: no more than are decided in one, and the lock is soon free again."""

LOOK_SECONDS: Final = 0.1
"""How long a decision that was made without a ring waits at most."""

OWNER_SECONDS: Final = 0.2
"""How long a pod waits for its ReplicaSet and its workload to be heard of."""

OWNER_LOOK_SECONDS: Final = 0.02

READING_SECONDS: Final = 0.3
"""How long a pod waits for its ReplicaSet or StatefulSet to be read; after that what was told of it counts."""

OWNER_AGAIN_SECONDS: Final = 60.0
"""For how long nobody waits again for a ReplicaSet, or a workload, that was waited for in vain."""

WORKLOAD_SECONDS: Final = 1.0
"""For how long a workload that was told is not looked for again: it may be removed meanwhile."""

READ_SECONDS: Final = 5.0
"""For how long what a workload says of itself counts, where nobody tells of it: it may be scaled meanwhile."""

OWNERS_KNOWN: Final = 20_000

log = structlog.get_logger()

Listen = Callable[[], Awaitable[Ear]]


class Patience(NamedTuple):
    """How long somebody who asks waits."""

    decided: float
    """Seconds for a decision."""
    told: float
    """And for telling the log that there is none."""


class Lists(Protocol):
    """What can be read of a cluster's API server: lists, and nothing else."""

    async def pods(self, namespace: str, template_hash: str) -> Sequence[Json]:
        """The pods of a template, as they are after this was asked."""
        ...

    async def replicaset(self, namespace: str, name: str) -> Json | None:
        """A ReplicaSet; None where there is none."""
        ...

    async def statefulset(self, namespace: str, name: str) -> Json | None:
        """A StatefulSet; None where there is none."""
        ...

    def close(self) -> None:
        """Nobody reads anything any more."""
        ...


@dataclass(slots=True)
class Times:
    """Of one admission, in seconds, part by part."""

    read: float = 0.0
    """Until it stood in the line: its ReplicaSet or StatefulSet was read."""
    wait: float = 0.0
    """In the line."""
    lock: float = 0.0
    append: float = 0.0
    decide: float = 0.0
    """From the commit until the answer was read."""
    reply: float = 0.0

    def header(self) -> str:
        """As a Server-Timing header tells it: milliseconds."""
        return ", ".join(f"{part};dur={getattr(self, part) * 1000:.2f}" for part in PARTS)


@dataclass(slots=True, eq=False)
class _Ask:
    """Somebody who waits."""

    review: Review
    by: Controller
    cluster: str
    can_list: bool
    came: float
    answer: asyncio.Future[bytes]
    times: Times = field(default_factory=Times)
    before: list[Accepted] = field(default_factory=list)
    """What was listed for it, to be told first."""
    ordinals_start: int | None = None
    above: Json | None = None
    """Its ReplicaSet or StatefulSet, as it was read for this one."""
    owner: "_Owner | None" = None
    """What that says of whose it is, where nobody told."""
    read: asking.Wanted | None = None
    """What its workload wants, as its ReplicaSet says or it says itself."""
    is_split: bool = True
    """Whether it is about a pod of somebody whose pods are told apart."""
    given_up: bool = False
    position: Position | None = None
    committed: float = 0.0
    listing: bool = False


class _Pods(NamedTuple):
    """What is listed: the pods of a template, by whom they are made."""

    fleet: FleetName
    cluster: str
    namespace: str
    by: Controller
    template: str


@dataclass(slots=True, eq=False)
class _Listing:
    """The pods of a template, and whom they are made by, for all who share it."""

    pods: Sequence[Json]
    above: Json | None
    """Their ReplicaSet, as it is behind the list."""
    told: Accepted | None = None
    """What says so, once somebody tells of it: once is enough."""


@dataclass(slots=True, eq=False)
class _Line:
    """Of one fleet: who waits to be written, and who waits to be answered."""

    fleet: Fleet
    asks: list[_Ask] = field(default_factory=list)
    listed: list[tuple[_Ask, Sequence[Accepted]]] = field(default_factory=list)
    """Who wanted a list, and what is to be told of it."""
    waiting: dict[str, list[_Ask]] = field(default_factory=dict)
    policies: Policies = NO_POLICIES
    came: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class _Owner(NamedTuple):
    """What is known of a ReplicaSet."""

    until: float
    """When that is looked at again."""
    is_split: bool
    """Whether it is a Deployment's."""
    workload: str | None
    """That one's name."""


class _Home(NamedTuple):
    """A workload, as somebody is looked for who told of it."""

    fleet: str
    cluster: str
    """Where it is waited for: what is read of it there holds nowhere else."""
    subject: str
    kind: str


class _Known(NamedTuple):
    """What is known of a workload."""

    until: float
    """When it is looked for again."""
    waited: float = 0.0
    """Until when nobody waits for it again."""
    read: asking.Wanted | None = None
    """What it wants, as it was read because nobody had told."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """What is sent, and how long it took."""

    body: bytes
    times: Times


_UNHEARD: Final = _Known(0.0)


K = TypeVar("K")
V = TypeVar("V")


class Admissions:
    """Answers reviews of pods that are about to be created."""

    def __init__(
        self,
        desks: Connections[AdmissionDesk],
        bypasses: Bypasses,
        listen: Listen,
        served: Served,
        lists: Mapping[str, Lists] | None = None,
    ) -> None:
        """``lists`` are the clusters whose API servers may be asked."""
        self._desks = desks
        self._bypasses = bypasses
        self._listen = listen
        self._served = served
        self._lists = lists or {}
        self._lines: dict[str, _Line] = {}
        self._hearing: asyncio.Task[None] | None = None
        self._look = asyncio.Event()
        self._looked = 0.0
        """When answers were looked for last."""
        self._owners: OrderedDict[tuple[str, str, str | None], _Owner] = OrderedDict()
        self._workloads: OrderedDict[_Home, _Known] = OrderedDict()
        self._reading: set[_Home] = set()
        """Workloads that are being read."""
        self._owned = Shared(self._owning)
        self._listings = Shared(self._listing)
        self._starts: OrderedDict[Named, int] = OrderedDict()
        """Where the ordinals of StatefulSets began when they were read last."""
        self._late = Brake()
        """What was waited for in vain."""
        self._failed = Brake()
        """What was answered, or refused, and not to be had."""
        self._aside: set[asyncio.Task[Any]] = set()

    async def answer(
        self,
        fleet: FleetName,
        cluster: str,
        review: Review,
        by: Controller,
        *,
        patience: Patience,
    ) -> Admitted | None:
        """The answer to a review, while somebody waits for it; None without such a fleet."""
        loop = asyncio.get_running_loop()
        ask = _Ask(
            review=review,
            by=by,
            cluster=cluster,
            can_list=cluster in self._lists,
            came=perf_counter(),
            answer=loop.create_future(),
        )
        outcome, body = "answered", None
        try:
            async with asyncio.timeout(patience.decided):
                line = await self._line(fleet)
                if line is None:
                    return None
                if cluster in self._lists and by.kind == "StatefulSet":
                    await self._read_set(ask)
                elif cluster in self._lists and self._may_be_split(line, ask):
                    await self._read_above(ask)
                ask.times.read = perf_counter() - ask.came
                line.asks.append(ask)
                line.came.set()
                body = await ask.answer
        except (TimeoutError, LedgerError, Problem) as error:
            outcome = _reason(error)
            if outcome != "deadline":
                log.warning("admission_without_decision", reason=outcome, why=str(error))
        finally:
            self._leave(fleet, ask)
        if not ask.is_split:
            return Admitted(answering.unpatched(review.uid), ask.times)
        if body is None:
            body = await self._left(fleet, ask, outcome, patience)
        began = perf_counter()
        if not _applies(review, body):
            log.error("patch_inapplicable", fleet=fleet, uid=review.uid)
            outcome = "patch_inapplicable"
            body = await self._left(fleet, ask, outcome, patience, firm=True)
        ask.times.reply = perf_counter() - began
        self._served.count_admission(outcome, ask.times, perf_counter() - ask.came)
        return Admitted(body, ask.times)

    async def _left(
        self, fleet: FleetName, ask: _Ask, reason: str, patience: Patience, *, firm: bool = False
    ) -> bytes:
        """The answer without a decision, or the decision's if it came just now."""
        left = ask.came + patience.decided + patience.told - perf_counter()
        return await self._bypasses.answer(
            fleet,
            ask.cluster,
            ask.review.uid,
            reason,
            seconds=min(left, patience.told),
            firm=firm,
        )

    async def close(self) -> None:
        """Answer nobody any more."""
        tasks = {line.task for line in self._lines.values() if line.task} | self._aside
        if self._hearing is not None:
            tasks.add(self._hearing)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self._owned.close()
        await self._listings.close()
        for lists in self._lists.values():
            lists.close()
        await self._bypasses.close()

    async def given(self, fleet: FleetName, number: int) -> checking.Given | None:
        """What was decided and answered of an admission, by the number of its decision."""
        line = await self._line(fleet)
        if line is None:
            return None
        async with self._desks.one() as desk:
            record = await desk.record(line.fleet, number)
            decided = None if record is None else from_record(record).outcome
            if not isinstance(decided, Admission):
                return None
            answers = await desk.given(line.fleet, [decided.admission_uid])
        return checking.Given(decided, answers.get(decided.admission_uid))

    async def statefulset(self, fleet: FleetName, subject: str) -> Json | None:
        """A StatefulSet as it was told last, if it is there."""
        line = await self._line(fleet)
        if line is None:
            return None
        async with self._desks.one() as desk:
            payload = (await desk.workloads(line.fleet, [subject])).get(subject)
        if payload is None:
            return None
        told: Json = orjson.loads(payload)["data"]
        return told if told.get("kind") == "StatefulSet" else None

    async def policies(self, fleet: FleetName) -> Policies | None:
        """What a fleet's policy is now; None without such a fleet."""
        line = await self._line(fleet)
        if line is None:
            return None
        async with self._desks.one() as desk:
            line.policies = await desk.policies(line.fleet, line.policies)
        return line.policies

    async def _line(self, name: FleetName) -> _Line | None:
        known = self._lines.get(name)
        if known is None:
            async with self._desks.one() as desk:
                fleet = await desk.find(name)
            if fleet is None:
                return None
            known = self._lines.setdefault(name, _Line(fleet))
        if known.task is None or known.task.done():
            known.task = asyncio.create_task(self._write(known))
        if self._hearing is None or self._hearing.done():
            self._hearing = asyncio.create_task(self._hear())
        return known

    def _leave(self, name: FleetName, ask: _Ask) -> None:
        ask.given_up = True
        line = self._lines.get(name)
        waiting = None if line is None else line.waiting.get(ask.review.uid)
        if line is not None and waiting is not None and ask in waiting:
            waiting.remove(ask)
            if not waiting:
                del line.waiting[ask.review.uid]

    async def _write(self, line: _Line) -> None:
        """Write down who stands in a line, again and again."""
        while True:
            await line.came.wait()
            line.came.clear()
            asks = [one for one in line.asks[:MOST_AT_ONCE] if not one.given_up]
            line.asks = line.asks[MOST_AT_ONCE:]
            listed, line.listed = line.listed, []
            more = [one for ask, told in listed if not ask.given_up for one in told]
            if line.asks:
                line.came.set()
            if not asks and not more:
                continue
            try:
                async with self._desks.one() as desk:
                    await self._append(desk, line, asks, more)
            except (LedgerError, Problem) as error:
                for ask in asks:
                    _fail(ask, error)
                if listed:
                    # Who waits for these is not asked again whether it wants one.
                    line.listed = listed + line.listed
                    asyncio.get_running_loop().call_later(LOOK_SECONDS, line.came.set)

    async def _append(
        self, desk: AdmissionDesk, line: _Line, asks: Sequence[_Ask], more: Sequence[Accepted]
    ) -> None:
        asks = await self._with_owners(desk, line, asks)
        if not asks and not more:
            return

        def build(spot: SpotPolicy) -> list[Accepted]:
            return _events(line.fleet.name, asks, more, spot)

        began = perf_counter()
        done = await desk.ask(line.fleet, line.policies, build, perf_counter)
        line.policies = done.policies
        now = perf_counter()
        for ask in asks:
            ask.position = done.positions.get(ask.review.uid)
            ask.committed = now
            ask.times.wait = began - ask.came - ask.times.read
            ask.times.lock, ask.times.append = done.lock_seconds, done.append_seconds
            if not ask.given_up and not ask.answer.done():
                line.waiting.setdefault(ask.review.uid, []).append(ask)
        again = any(ask.position is not None and ask.position < done.first for ask in asks)
        if again or self._looked >= done.sent:
            # Of whoever asks again the answer may be there already, and nobody rings for it; and the
            # bell for these may have been rung before it was known here that they are written.
            self._look.set()

    async def _with_owners(
        self, desk: AdmissionDesk, line: _Line, asks: Sequence[_Ask]
    ) -> list[_Ask]:
        """Those whose ReplicaSet and workload are known; the others come again, soon or with what was read.

        Whoever is of a ReplicaSet that is no Deployment's is answered here: its pod is left as it is.
        """
        now = perf_counter()
        wanted = {
            subject
            for ask in asks
            if (subject := _replicaset(ask)) and self._owner(line, ask, now) is None
        }
        if wanted:
            for subject, payload in (await desk.replicasets(line.fleet, wanted)).items():
                self._settle(line, subject, orjson.loads(payload)["data"], now)
        found: list[tuple[_Ask, _Home | None]] = []
        for ask in asks:
            owner = self._owner(line, ask, now) or self._as_read(line, ask, now)
            if owner is not None:
                if owner.is_split:
                    found.append((ask, _home(line, ask, owner)))
                else:
                    _leave_alone(ask)
            elif now - ask.came < OWNER_SECONDS:
                asyncio.get_running_loop().call_later(OWNER_LOOK_SECONDS, _again, line, ask)
            else:
                subject = _replicaset(ask)
                assert subject is not None, "who has none is settled"
                owner = _unknown(ask, now)
                self._know((line.fleet.name, subject, ask.by.uid), owner)
                found.append((ask, _home(line, ask, owner)))
        return await self._with_workloads(desk, line, found, now)

    async def _with_workloads(
        self,
        desk: AdmissionDesk,
        line: _Line,
        asks: Sequence[tuple[_Ask, _Home | None]],
        now: float,
    ) -> list[_Ask]:
        """Those whose workload was told, or was waited for; where it can be read, it is read then."""
        wanted = {home for _, home in asks if home and not self._knows(home, now)}
        if wanted:
            told = await desk.workloads(line.fleet, {home.subject for home in wanted})
            for one in wanted:
                payload = told.get(one.subject)
                if payload is not None and orjson.loads(payload)["data"].get("kind") == one.kind:
                    self._know_workload(one, _Known(now + WORKLOAD_SECONDS))
        ready: list[_Ask] = []
        for ask, home in asks:
            if home is None:
                ready.append(ask)
                continue
            known = self._workloads.get(home, _UNHEARD)
            if known.until > now:
                ask.read = ask.read or known.read
                ready.append(ask)
            elif home in self._reading or (known.waited <= now and now - ask.came < OWNER_SECONDS):
                asyncio.get_running_loop().call_later(OWNER_LOOK_SECONDS, _again, line, ask)
            elif ask.cluster in self._lists and ask.above is None:
                self._reading.add(home)
                self._do_aside(self._read(line, ask, home))
            else:
                again = now + OWNER_AGAIN_SECONDS
                until = now + READ_SECONDS if ask.read else again
                self._know_workload(home, _Known(until, again, ask.read))
                ready.append(ask)
        return ready

    def _knows(self, home: _Home, now: float) -> bool:
        return self._workloads.get(home, _UNHEARD).until > now

    def _know_workload(self, home: _Home, known: _Known) -> None:
        _remember(self._workloads, home, known)

    async def _read(self, line: _Line, ask: _Ask, home: _Home) -> None:
        """Read what a workload wants that nobody told of, and let its pod go on, whatever comes of it.

        That takes as long as it takes: a pod of a workload that nobody knows would be left as it is.
        Where a read has failed just now nothing is to be had by another one.
        """
        key, read = _named(ask), None
        try:
            found = None if self._failed.holds(key, perf_counter()) else await self._owning(key)
            read = None if found is None else _wanted(found, ask)
        except TimeoutError as error:
            log.warning("workload_not_listed", why=repr(error), name=ask.by.name)
        except OSError as error:
            if self._failed.pull(key, error, perf_counter()):
                log.warning("workload_not_listed", why=repr(error), name=ask.by.name)
        finally:
            self._reading.discard(home)
        now = perf_counter()
        self._know_workload(home, _Known(now + READ_SECONDS, now + OWNER_AGAIN_SECONDS, read))
        _again(line, ask)

    def _owner(self, line: _Line, ask: _Ask, now: float) -> "_Owner | None":
        """What is known of who is behind a pod; None where it is not."""
        subject = _replicaset(ask)
        if subject is None:
            return _Owner(float("inf"), is_split=True, workload=ask.by.name)
        if ask.owner is not None:
            return ask.owner
        known = self._owners.get((line.fleet.name, subject, ask.by.uid))
        return known if known is not None and known.until > now else None

    def _settle(self, line: _Line, subject: str, told: Json, now: float) -> None:
        """Know a ReplicaSet as it was told."""
        known = _as_told(told, now)
        for uid in (told.get("uid"), None):
            self._know((line.fleet.name, subject, uid), known)

    def _know(self, key: tuple[str, str, str | None], owner: "_Owner") -> None:
        _remember(self._owners, key, owner)

    def _may_be_split(self, line: _Line, ask: _Ask) -> bool:
        """Whether a pod's ReplicaSet is a Deployment's, as far as is known."""
        owner = self._owner(line, ask, perf_counter())
        return owner is None or owner.is_split

    async def _read_above(self, ask: _Ask) -> None:
        """Read a pod's ReplicaSet: how many pods that is to have may have been told long ago."""
        found = await self._read_in_time(_named(ask))
        if found is not None and ask.by.uid in (None, of(found, "metadata").get("uid")):
            ask.above, ask.read = found, _wanted(found, ask)

    async def _read_set(self, ask: _Ask) -> None:
        """Read a pod's StatefulSet: how many pods that wants, and where their ordinals begin.

        Where they begin hardly ever changes: what was read once counts where it cannot be read.
        """
        key = _named(ask)
        found = await self._read_in_time(key)
        if found is not None and ask.by.uid in (None, of(found, "metadata").get("uid")):
            ask.above, ask.read = found, _wanted(found, ask)
            _remember(self._starts, key, asking.ordinals_start(found))
        ask.ordinals_start = self._starts.get(key)

    async def _read_in_time(self, key: Named) -> Json | None:
        """What is there now; None also where the API server does not say so in time, or lately did not.

        Of all who shared a read that gave nothing, and of those who come just after, one tells.
        """
        now, done = perf_counter(), self._served.owners_read
        if self._late.holds(key, now) or self._failed.holds(key, now):
            done["skipped"] += 1
            return None
        try:
            async with asyncio.timeout(READING_SECONDS):
                found = await self._owned.get(key)
        except OSError as error:
            is_late = isinstance(error, TimeoutError)
            done["late" if is_late else "failed"] += 1
            brake = self._late if is_late else self._failed
            if brake.pull(key, error, perf_counter()):
                log.warning("owner_not_listed", why=repr(error), cluster=key.cluster, name=key.name)
            return None
        done["read"] += 1
        return found

    async def _owning(self, key: Named) -> Json | None:
        """Who has pods made, as the API server has it."""
        lists = self._lists[key.cluster]
        if key.kind == "ReplicaSet":
            return await lists.replicaset(key.namespace, key.name)
        return await lists.statefulset(key.namespace, key.name)

    def _as_read(self, line: _Line, ask: _Ask, now: float) -> "_Owner | None":
        """Whose a ReplicaSet is that nobody told of, as it was read: so it is told first."""
        if ask.above is None:
            return None
        uid, fleet = ask.review.uid, line.fleet.name
        try:
            told = asking.replicaset(ask.above, asked=uid, fleet=fleet, cluster=ask.cluster)
        except LedgerError as error:
            log.warning("replicaset_unreadable", why=str(error), name=ask.by.name)
            ask.above = None
            return None
        data = orjson.loads(told.stored)["data"]
        ask.owner = _as_told(data, now)
        if ask.owner.is_split:
            ask.before.append(told)
        else:
            # Nothing of it will be in the log.
            self._settle(line, told.subject, data, now)
        return ask.owner

    async def _hear(self) -> None:
        """Hear of decisions, and hand out the answers that come with them."""
        while True:
            try:
                async with self._heard() as ear:
                    while True:
                        await self._hand_out()
                        await self._rung(ear)
            except (LedgerError, Problem, OSError) as error:
                log.warning("log_unavailable", why=str(error))
                await asyncio.sleep(LOOK_SECONDS)

    @asynccontextmanager
    async def _heard(self) -> AsyncIterator[Ear]:
        listening = await self._listen()
        try:
            yield listening
        finally:
            with suppress(LedgerError, OSError):
                await listening.close()

    async def _rung(self, ear: Ear) -> None:
        ringing = asyncio.ensure_future(ear.bell.wait(at_most=LOOK_SECONDS))
        looking = asyncio.ensure_future(self._look.wait())
        try:
            await asyncio.wait({ringing, looking}, return_when=asyncio.FIRST_COMPLETED)
            if ear.closed:
                raise LogUnavailable("nothing is heard of decisions any more")
        finally:
            ringing.cancel()
            looking.cancel()
        self._look.clear()

    async def _hand_out(self) -> None:
        self._looked = perf_counter()
        for line in list(self._lines.values()):
            if not line.waiting:
                continue
            async with self._desks.one() as desk:
                given = await desk.given(line.fleet, line.waiting.keys())
                now = perf_counter()
                for uid, body in given.items():
                    for ask in line.waiting.pop(uid, ()):
                        ask.times.decide = now - ask.committed
                        if not ask.answer.done():
                            ask.answer.set_result(body)
                await self._list_where_wanted(desk, line)

    async def _list_where_wanted(self, desk: AdmissionDesk, line: _Line) -> None:
        """Of those who can list pods and have no answer, find whose decision wants that first."""
        able = {
            ask.position: ask
            for asks in line.waiting.values()
            for ask in asks[:1]
            if ask.can_list and not ask.listing and ask.position is not None
        }
        if not able:
            return
        for position in await desk.decided(line.fleet, able.keys()):
            ask = able[position]
            # The answer and its decision came together, between the two looks.
            if ask.review.uid in await desk.given(line.fleet, [ask.review.uid]):
                self._look.set()
                continue
            ask.listing = True
            self._do_aside(self._list(line, ask))

    async def _list(self, line: _Line, ask: _Ask) -> None:
        """Have the pods of a template listed, and let the log be told of it."""
        labels = of(of(ask.review.object or {}, "metadata"), "labels")
        template, fleet = word(labels.get(TEMPLATE_HASH)) or "", line.fleet.name
        key = _Pods(fleet, ask.cluster, ask.review.namespace, ask.by, template)
        try:
            listing = await self._listings.get(key)
            above = _told_above(listing, ask, fleet)
            told = asking.pods_listed(
                ask.review.uid, template, listing.pods, fleet=fleet, cluster=ask.cluster
            )
        except LedgerError as error:
            _fail(ask, _ListFailed(str(error)))
            return
        line.listed.append((ask, (*above, told)))
        line.came.set()

    async def _listing(self, key: _Pods) -> _Listing:
        """Read the pods of a template, and then how many there are to be: told last, that may be old."""
        lists = self._lists[key.cluster]
        try:
            pods = await lists.pods(key.namespace, key.template)
            if key.by.kind != "ReplicaSet":
                return _Listing(pods, None)
            return _Listing(pods, await lists.replicaset(key.namespace, key.by.name))
        except (OSError, TimeoutError) as error:
            log.warning("pods_not_listed", why=repr(error))
            raise _ListFailed(repr(error)) from error

    def _do_aside(self, work: Coroutine[Any, Any, object]) -> None:
        """Do something beside answering; nobody else has to hold on to it."""
        task = asyncio.create_task(work)
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)


class _ListFailed(LedgerError):
    """The pods could not be listed, so nothing more can be said."""


def _reason(error: Exception) -> str:
    """Why nothing is decided, in the word that the log and the pod's owner are told."""
    match error:
        case TimeoutError():
            return "deadline"
        case Problem():
            return "busy"
        case InvalidRequest() | InvalidEvent():
            return "pod_unreadable"
        case _ListFailed():
            return "list_failed"
        case _:
            return "log_unavailable"


def _applies(review: Review, body: bytes) -> bool:
    """Try the patch of an answer on the very object that was sent."""
    operations = answering.operations(body)
    if not operations:
        return True
    try:
        json_patch.apply(review.object, operations)
    except json_patch.Inapplicable as error:
        why = str(error)
    else:
        return True
    log.error("patch_inapplicable", why=why)
    return False


def _events(
    fleet: FleetName, asks: Sequence[_Ask], more: Sequence[Accepted], spot: SpotPolicy
) -> list[Accepted]:
    """What is told for these, each once; whoever has a pod that cannot be told of hears of it."""
    events = {one.id: one for one in more}
    for ask in asks:
        try:
            event = asking.requested(
                ask.review,
                ask.by,
                spot,
                fleet=fleet,
                cluster=ask.cluster,
                ordinals_start=ask.ordinals_start,
                can_list=ask.can_list,
                read=ask.read,
                above=ask.above if ask.by.kind == "ReplicaSet" else None,
            )
        except (InvalidRequest, InvalidEvent) as error:
            _fail(ask, error)
            continue
        events |= {one.id: one for one in ask.before}
        events.setdefault(event.id, event)
    return list(events.values())


def _told_above(listing: _Listing, ask: _Ask, fleet: FleetName) -> Sequence[Accepted]:
    """The ReplicaSet that was read behind a list, told for the first of those who share it."""
    if listing.above is None:
        return ()
    if listing.told is None:
        asked = f"{ask.review.uid}/listed"
        listing.told = asking.replicaset(
            listing.above, asked=asked, fleet=fleet, cluster=ask.cluster
        )
    return (listing.told,)


def _named(ask: _Ask) -> Named:
    """Who has its pod made, as that is read."""
    return Named(ask.cluster, ask.by.kind, ask.review.namespace, ask.by.name)


def _wanted(found: Json, ask: _Ask) -> asking.Wanted | None:
    """What the workload of a pod wants, as who has the pod made says."""
    return asking.wanted_behind(found) if ask.by.kind == "ReplicaSet" else asking.wanted_by(found)


def _remember(known: OrderedDict[K, V], key: K, found: V) -> None:
    """Know something, and forget what was found longest ago where that is too much."""
    known[key] = found
    known.move_to_end(key)
    while len(known) > OWNERS_KNOWN:
        known.popitem(last=False)


def _replicaset(ask: _Ask) -> str | None:
    """The subject of a pod's ReplicaSet; None where it has none."""
    if ask.by.kind != "ReplicaSet":
        return None
    return f"{ask.cluster}/{ask.review.namespace}/{ask.by.name}"


def _as_told(told: Json, now: float) -> _Owner:
    """A ReplicaSet as it was told; that of a Deployment stays one for ever."""
    if not asking.is_split(told):
        return _Owner(now + OWNER_AGAIN_SECONDS, is_split=False, workload=None)
    return _Owner(float("inf"), is_split=True, workload=of(told, "owner")["name"])


def _unknown(ask: _Ask, now: float) -> _Owner:
    """A ReplicaSet that nobody told of: its Deployment's name stands before the hash of the template."""
    labels = of(of(ask.review.object or {}, "metadata"), "labels")
    name, dash, template = ask.by.name.rpartition("-")
    is_named = dash and template and template == labels.get(TEMPLATE_HASH)
    return _Owner(now + OWNER_AGAIN_SECONDS, is_split=True, workload=name if is_named else None)


def _home(line: _Line, ask: _Ask, owner: _Owner) -> _Home | None:
    """The workload of a pod; None where nobody can say."""
    if owner.workload is None:
        return None
    kind = "Deployment" if ask.by.kind == "ReplicaSet" else ask.by.kind
    return _Home(line.fleet.name, ask.cluster, f"{ask.review.namespace}/{owner.workload}", kind)


def _leave_alone(ask: _Ask) -> None:
    """Its pod is none that is told apart."""
    ask.is_split = False
    if not ask.answer.done():
        ask.answer.set_result(answering.unpatched(ask.review.uid))


def _again(line: _Line, ask: _Ask) -> None:
    line.asks.append(ask)
    line.came.set()


def _fail(ask: _Ask, error: Exception) -> None:
    if not ask.answer.done():
        ask.answer.set_exception(error)
