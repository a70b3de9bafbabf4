"""Decisions as they are made, to whoever keeps a connection open: server-sent events.

A decision's number is its event's id. Numbers have no gaps, so whoever was cut off says the last one
it saw and misses nothing and sees nothing twice; there is nothing to remember of anybody here.
"""

import asyncio
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Annotated, Any, Final

import orjson
from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from ledger.api.asked import FleetPath, problems, reader_of, unknown_fleet
from ledger.api.connections import Connections
from ledger.api.documents import LARGEST_POSITION
from ledger.api.guard import Gate
from ledger.api.readers import Reader
from ledger.errors import LogUnavailable
from ledger.views import pages

LOOK_SECONDS: Final = 0.25
"""How long a decision that was made while nobody looked waits at most."""

ALIVE_SECONDS: Final = 15.0
"""Silence that proxies bear."""

MEDIA_TYPE: Final = "text/event-stream"

STREAM: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Events of type `decision`, whose id is the number of the decision.",
        "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
    }
}


def routes(readers: Connections[Reader], gate: Gate) -> APIRouter:
    """The one of them."""
    router = APIRouter()

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
            Query(ge=-1, le=LARGEST_POSITION, description="Begin behind this number; -1 is all."),
        ] = None,
        last_event_id: Annotated[
            str | None, Header(pattern="^[0-9]{1,18}$", description="Wins over `after`.")
        ] = None,
    ) -> StreamingResponse:
        """What was decided behind a number, and then whatever is; from now on without one."""
        reader_of(request, fleet)
        async with readers.one() as reader, reader.snapshot():
            mark = await pages.mark(reader.connection, fleet)
        if mark is None:
            raise unknown_fleet(fleet)
        begin = mark.decisions - 1
        if last_event_id is not None:
            begin = int(last_event_id)
        elif after is not None:
            begin = after
        return StreamingResponse(
            _told(readers, gate, fleet, begin),
            media_type=MEDIA_TYPE,
            headers={"Cache-Control": "no-store"},
        )

    return router


async def _told(
    readers: Connections[Reader], gate: Gate, fleet: str, last: int
) -> AsyncIterator[bytes]:
    silent = 0.0
    yield b": decisions\n\n"
    while not gate.draining:
        try:
            async with readers.one() as reader, reader.snapshot():
                page = await pages.decisions(
                    reader.connection, fleet, kind=None, subject=None, after=last, limit=200
                )
        except LogUnavailable:
            return  # Whoever listens comes again and says where it was.
        if page.rows:
            yield b"".join(
                b"id: %d\nevent: decision\ndata: %b\n\n" % (row["number"], orjson.dumps(row))
                for row in page.rows
            )
            last = page.rows[-1]["number"]
            silent = 0.0
        if not page.more:
            silent += LOOK_SECONDS
            await asyncio.sleep(LOOK_SECONDS)
        if silent >= ALIVE_SECONDS:
            yield b": still here\n\n"
            silent = 0.0
