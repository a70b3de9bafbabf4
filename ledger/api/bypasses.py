"""Answers without a decision: many recorded in one commit, each before it is given if there is time.

Where no decision came in time a pod is left as it is, and the log is told so in the transaction in which
that becomes the answer. Whoever is late is rarely alone, so all of a fleet's that wait are told at once,
over connections that nobody else uses: what made them late may have all the others.

What stands in the log is what is given, be it a decision that came meanwhile. Only where an API server would
give up before that is known it gets the answer that leaves the pod, and so does whoever cannot use what
stands. Then the log is told afterwards, whatever stands there by then, so that nothing stays reserved
for a pod that does not carry it. A log that cannot be told is told later, as long as that is of any use.
"""

import asyncio
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

import structlog

from ledger.admission import answering, asking
from ledger.api.connections import Connections
from ledger.api.problems import Problem
from ledger.errors import InvalidEvent, LedgerError
from ledger.events.codec import Accepted
from ledger.log.admissions import AdmissionDesk, Bypass
from ledger.log.fleets import Fleet
from ledger.units import FleetName

MOST_AT_ONCE: Final = 500
"""In one transaction: the fleet's lock is soon free again."""

AGAIN_SECONDS: Final = 0.05
"""How soon a log that could not be told is told again; then after twice as long, again and again."""

SELDOM_SECONDS: Final = 1.0
"""And after no longer than this."""

USEFUL_SECONDS: Final = 60.0
"""For how long it is tried: a reservation runs out by itself after a minute."""

MOST_KEPT: Final = 20_000

LAST_SECONDS: Final = 1.0
"""How long the log is told what it does not know yet, once the service ends."""

log = structlog.get_logger()


@dataclass(slots=True, eq=False)
class _Late:
    """Somebody to whom nothing was decided in time."""

    uid: str
    event: Accepted
    answer: bytes
    until: float
    """When nobody needs to know any more."""
    sent: bool
    """Whether the pod is left as it is, whatever stands."""
    stands: asyncio.Future[bytes]


@dataclass(slots=True, eq=False)
class _Line:
    """Of one fleet: who is to be told of."""

    late: list[_Late] = field(default_factory=list)
    fleet: Fleet | None = None
    task: asyncio.Task[None] | None = None


class Bypasses:
    """Leaves pods as they are, and tells the log so."""

    def __init__(self, desks: Connections[AdmissionDesk]) -> None:
        """Nobody else should use ``desks``."""
        self._desks = desks
        self._lines: dict[FleetName, _Line] = {}

    async def answer(
        self,
        fleet: FleetName,
        cluster: str,
        uid: str,
        reason: str,
        *,
        seconds: float,
        firm: bool = False,
    ) -> bytes:
        """What is given, after so many seconds at the latest: what stands, unless it is ``firm``."""
        left = answering.bypassed(fleet, uid, reason)
        try:
            event = asking.bypassed(uid, reason, fleet=fleet, cluster=cluster)
        except InvalidEvent as error:
            # Under such a uid nothing can be asked, so nothing is reserved either.
            log.warning("bypass_not_recorded", why=str(error), uid=uid)
            return left
        late = _Late(
            uid=uid,
            event=event,
            answer=left,
            until=perf_counter() + USEFUL_SECONDS,
            sent=firm,
            stands=asyncio.get_running_loop().create_future(),
        )
        if not self._keep(fleet, late):
            return left
        try:
            await asyncio.wait({late.stands}, timeout=max(0.0, seconds))
        finally:
            # Also where nobody waits for it any more: then the pod got nothing from here.
            late.sent = late.sent or not late.stands.done()
        return late.answer if late.sent else late.stands.result()

    async def close(self) -> None:
        """Tell the log what it does not know yet, if it can be told soon, and end."""
        tasks = {line.task for line in self._lines.values() if line.task is not None}
        if tasks:
            _, pending = await asyncio.wait(tasks, timeout=LAST_SECONDS)
            for task in pending:
                task.cancel()
            if pending:
                await asyncio.wait(pending)
        await self._desks.close()

    def _keep(self, name: FleetName, late: _Late) -> bool:
        line = self._lines.setdefault(name, _Line())
        if len(line.late) >= MOST_KEPT:
            log.warning("bypass_not_recorded", why="too many wait to be recorded", uid=late.uid)
            return False
        line.late.append(late)
        if line.task is None or line.task.done():
            line.task = asyncio.create_task(self._tell_all(name, line))
        return True

    async def _tell_all(self, name: FleetName, line: _Line) -> None:
        """Tell the log of all who wait, and of who comes meanwhile."""
        pause = AGAIN_SECONDS
        while line.late:
            try:
                async with self._desks.one() as desk:
                    if line.fleet is None:
                        line.fleet = await desk.find(name)
                    await _tell(desk, line)
            except (LedgerError, Problem) as error:
                log.warning("bypass_not_recorded", why=str(error), waiting=len(line.late))
                now = perf_counter()
                line.late = [late for late in line.late if late.until > now]
                await asyncio.sleep(pause)
                pause = min(2 * pause, SELDOM_SECONDS)
            else:
                pause = AGAIN_SECONDS


async def _tell(desk: AdmissionDesk, line: _Line) -> None:
    """Tell the log of some; a fleet that is not there is told nothing."""
    batch = line.late[:MOST_AT_ONCE]
    told = [Bypass(late.uid, late.event, late.answer, late.sent) for late in batch]
    stands = {} if line.fleet is None else await desk.bypass(line.fleet, told)
    again = []
    for late, as_told in zip(batch, told, strict=True):
        found = stands.get(late.uid, late.answer)
        if late.sent and not as_told.sent and found != late.answer:
            # Its time was up while the log was told, and there another answer stood already.
            again.append(late)
        elif not late.stands.done():
            late.stands.set_result(found)
    line.late = again + line.late[len(batch) :]
