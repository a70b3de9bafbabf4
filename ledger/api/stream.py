"""Decisions as they are made, to whoever keeps a connection open: server-sent events.

An event's id is the life and the number of its decision. Numbers have no gaps within a life, so whoever
was cut off says the last one it saw and misses nothing, even where the log was restored meanwhile; there
is nothing to remember of anybody here. What many look for at the same time is read once.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from ledger.api.access import Caller
from ledger.api.asked import FleetPath, problems, reader_of, unknown_fleet
from ledger.api.connections import Connections
from ledger.api.documents import LARGEST_POSITION
from ledger.api.guard import CALLER, Gate, Receive, Scope, Send, recognised
from ledger.api.problems import Problem, again_after
from ledger.api.readers import Reader
from ledger.errors import LogUnavailable
from ledger.views import pages, resuming
from ledger.views.resuming import Seen

LOOK_SECONDS: Final = 0.25
"""Between two looks of a stream at a fleet of which nothing new is decided."""

SHARED_SECONDS: Final = 0.1
"""How old a look of another stream may be that is taken for one's own."""

ALIVE_SECONDS: Final = 15.0
"""Silence that proxies bear."""

PAGE: Final = 200

MEDIA_TYPE: Final = "text/event-stream"

STREAM: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Events of type `decision`, whose id is the life and the number of the decision.",
        "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
    }
}


def routes(readers: Connections[Reader], gate: Gate) -> APIRouter:
    """The one of them."""
    router = APIRouter()
    streams = Streams(readers, gate)

    @router.get(
        "/v1/fleets/{fleet}/decisions-stream",
        response_class=StreamingResponse,
        responses=STREAM | problems(HTTPStatus.NOT_FOUND),
        tags=["read"],
    )
    async def decisions_stream(
        request: Request,
        fleet: FleetPath,
        after: Annotated[
            int | None,
            Query(
                ge=-1,
                le=LARGEST_POSITION,
                description="Begin behind this number, or behind the newest if it is less; -1 is all.",
            ),
        ] = None,
        last_event_id: Annotated[
            str | None,
            Header(
                pattern="^[0-9]{1,9}/[0-9]{1,18}$",
                description="The id of the last event that was seen. Wins over `after`.",
            ),
        ] = None,
    ) -> StreamingResponse:
        """What was decided behind a decision, and then whatever is; from now on without one."""
        reader_of(request, fleet)
        streams.refuse_too_many(request)
        async with readers.one() as reader, reader.snapshot():
            if await pages.mark(reader.connection, fleet) is None:
                raise unknown_fleet(fleet)
            if last_event_id is not None:
                last = resuming.seen(last_event_id)
            else:
                last = await resuming.newest(reader.connection, fleet)
                if after is not None and after < last.number:
                    last = await resuming.at(reader.connection, fleet, after)
        return streams.stream(request, fleet, last)

    return router


@dataclass(frozen=True, slots=True)
class Look:
    """What was found behind a decision."""

    told: bytes
    last: Seen
    more: bool


class Streams:
    """All that are open, and what they have found."""

    def __init__(self, readers: Connections[Reader], gate: Gate) -> None:
        self._readers = readers
        self._gate = gate
        self._open: Counter[str] = Counter()
        """By the name of the caller."""
        self._looks: dict[tuple[str, Seen], tuple[float, asyncio.Task[Look]]] = {}

    def refuse_too_many(self, request: Request) -> None:
        """A problem where there is room for no other, or for no other of this caller."""
        limits = self._gate.limits
        of_all, of_one = self._open.total(), self._open[_name(request)]
        if of_one >= limits.streams_of_one_caller:
            busy = f"{of_one} streams of this caller are open already"
        elif of_all >= limits.streams_at_once:
            busy = f"{of_all} streams are open already"
        else:
            return
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, "busy", busy, again_after(10))

    def stream(self, request: Request, fleet: str, last: Seen) -> StreamingResponse:
        """Another one, from ``last`` on."""
        self.refuse_too_many(request)
        name = _name(request)
        self._open[name] += 1

        def ended() -> None:
            self._open[name] -= 1
            if not self._open[name]:
                del self._open[name]

        return _Response(self._told(request, fleet, last), ended)

    async def _told(self, request: Request, fleet: str, last: Seen) -> AsyncIterator[bytes]:
        gate, access = self._gate, self._gate.access
        silent, began = 0.0, time.monotonic()
        yield b": decisions\n\n"
        while not gate.draining:
            if gate.access is not access:
                access = gate.access
                if not _still_may(request, fleet, gate):
                    return
            try:
                found = await self._look(fleet, last, since=began)
            except LogUnavailable:
                return  # Whoever listens comes again and says where it was.
            except Problem:
                found = Look(b"", last, more=False)  # All readers are in use: it looks again.
            last = found.last
            if found.told:
                yield found.told
                silent = 0.0
            if not found.more:
                silent += LOOK_SECONDS
                await asyncio.sleep(LOOK_SECONDS)
            if silent >= ALIVE_SECONDS:
                yield b": still here\n\n"
                silent = 0.0

    async def _look(self, fleet: str, last: Seen, *, since: float) -> Look:
        """What is behind ``last``; whoever looks for the same at the same time shares it.

        Not what was found before ``since``, when a stream began: whoever opens it may know better.
        """
        now = time.monotonic()
        for key, (began, task) in list(self._looks.items()):
            if task.done() and now - began >= SHARED_SECONDS:
                del self._looks[key]
        found = self._looks.get((fleet, last))
        if found is None or found[0] < since:
            task = asyncio.create_task(self._read(fleet, last))
            # Everybody who waits for it may have gone away.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            found = self._looks[fleet, last] = now, task
        return await asyncio.shield(found[1])

    async def _read(self, fleet: str, last: Seen) -> Look:
        async with self._readers.one() as reader, reader.snapshot():
            behind = await resuming.going_on(reader.connection, fleet, last)
            page = await pages.decisions(
                reader.connection, fleet, kind=None, subject=None, after=behind, limit=PAGE
            )
        if not page.rows:
            return Look(b"", last, more=False)
        told = [(resuming.seen(row["decision"]), json.dumps(row)) for row in page.rows]
        text = "".join(f"id: {one.name}\nevent: decision\ndata: {data}\n\n" for one, data in told)
        return Look(text.encode(), told[-1][0], page.more)


def _name(request: Request) -> str:
    caller: Caller = request.scope[CALLER]
    return caller.name


def _still_may(request: Request, fleet: str, gate: Gate) -> bool:
    """Whether a caller may read what it could when its stream began."""
    caller = recognised(gate.access, request.scope)
    if caller is None:
        return False
    request.scope[CALLER] = caller
    try:
        reader_of(request, fleet)
    except Problem:
        return False
    return True


class _Response(StreamingResponse):
    """A stream that says when it has ended, however it did."""

    def __init__(self, told: AsyncIterator[bytes], ended: Callable[[], None]) -> None:
        super().__init__(told, media_type=MEDIA_TYPE, headers={"Cache-Control": "no-store"})
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # type: ignore[explicit-override]  # Python 3.11 has no such decorator
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._ended()
