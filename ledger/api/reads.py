"""What is in the log and what was decided, as pages.

Everything is read as a reader of the database, over the documented views. A page of a fleet carries
an ETag that changes when the fleet was decided further, so that whoever looks every second is told
"nothing new" for next to nothing.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response

from ledger.api import documents
from ledger.api.asked import (
    PAGE,
    Cursor,
    FleetPath,
    Limit,
    Moment,
    Number,
    Words,
    body_as,
    body_of,
    caller_of,
    cursor,
    etag,
    json,
    moment,
    problems,
    read_cursor,
    reader_of,
    spelled,
    unchanged,
    unknown_fleet,
)
from ledger.api.connections import Connections
from ledger.api.problems import Problem
from ledger.api.readers import Reader
from ledger.errors import InvalidEvent
from ledger.log.desk import Desk
from ledger.units import FleetName, Position
from ledger.views import pages, reading
from ledger.views.pages import Page, Row

NOT_FOUND: Final = problems(HTTPStatus.NOT_FOUND)
UNCHANGED: Final[dict[int | str, dict[str, Any]]] = {304: {"description": "Nothing was decided."}}

Ask = Callable[[Reader], Awaitable[Page]]
Key = Callable[[Row], Sequence[object]]


def routes(readers: Connections[Reader], desks: Connections[Desk]) -> APIRouter:
    """All of them, over these connections."""
    router = APIRouter()

    async def page_of(request: Request, fleet: str, ask: Ask, key: Key) -> Response:
        reader_of(request, fleet)
        async with readers.one() as reader, reader.snapshot():
            mark = await pages.mark(reader.connection, fleet)
            if mark is None:
                raise unknown_fleet(fleet)
            tag = etag(fleet, mark)
            known = unchanged(request, tag)
            if known is not None:
                return known
            page = await ask(reader)
        return json(_page(page, key), {"ETag": tag})

    @router.get(
        "/v1/fleets", response_model=documents.FleetsDocument, responses=problems(), tags=["read"]
    )
    async def fleets(request: Request) -> Response:
        """The fleets that the caller may see, and how far each has come."""
        caller = reader_of(request)
        async with readers.one() as reader, reader.snapshot():
            found = await reading.fleets(reader.connection)
        names = tuple(documents.FleetDocument.model_fields)
        return json(
            {
                "fleets": [
                    {name: getattr(one, name) for name in names}
                    for one in found
                    if caller.may_see(one.fleet)
                ]
            }
        )

    @router.get(
        "/v1/fleets/{fleet}/placements",
        response_model=documents.Placements,
        responses=NOT_FOUND | UNCHANGED,
        tags=["read"],
    )
    async def placements(
        request: Request,
        fleet: FleetPath,
        kind: Words = None,
        subject: Words = None,
        as_of: Annotated[Moment | None, Query()] = None,
        limit: Limit = PAGE,
        after: Annotated[Cursor, Query(alias="cursor")] = None,
    ) -> Response:
        """What is in force now, or was at a position or a time."""
        key = read_cursor(after, str, str, str, str, str)
        wanted = None if as_of is None else moment(as_of)

        async def ask(reader: Reader) -> Page:
            then = wanted
            if isinstance(then, datetime):
                then = await pages.position_at(reader.connection, fleet, then)
                if then is None:
                    return Page([], more=False)
            return await pages.placements(
                reader.connection,
                fleet,
                as_of=then,
                kind=kind,
                subject=subject,
                after=key,
                limit=limit,
            )

        return await page_of(
            request,
            fleet,
            ask,
            lambda row: [
                row[name] or "" for name in ("kind", "subject", "cluster", "node", "disk")
            ],
        )

    @router.get(
        "/v1/fleets/{fleet}/decisions",
        response_model=documents.Decisions,
        responses=NOT_FOUND | UNCHANGED,
        tags=["read"],
    )
    async def decisions(
        request: Request,
        fleet: FleetPath,
        kind: Words = None,
        subject: Words = None,
        limit: Limit = PAGE,
        after: Annotated[Cursor, Query(alias="cursor")] = None,
    ) -> Response:
        """What was decided, in order."""
        key = read_cursor(after, int)

        def ask(reader: Reader) -> Awaitable[Page]:
            return pages.decisions(
                reader.connection,
                fleet,
                kind=kind,
                subject=subject,
                after=-1 if key is None else key[0],
                limit=limit,
            )

        return await page_of(request, fleet, ask, lambda row: [row["number"]])

    @router.get(
        "/v1/fleets/{fleet}/decisions/{number}",
        response_model=documents.DecisionWithCandidates,
        responses=NOT_FOUND,
        tags=["read"],
    )
    async def decision(request: Request, fleet: FleetPath, number: Number) -> Response:
        """One decision with its reasons, and who was weighed for it."""
        reader_of(request, fleet)
        async with readers.one() as reader, reader.snapshot():
            found = await pages.decision(reader.connection, fleet, number)
            if found is None:
                raise Problem(
                    HTTPStatus.NOT_FOUND, "unknown_decision", f"fleet {fleet} has no {number}"
                )
            weighed = await pages.candidates(reader.connection, fleet, number)
        return json({**found, "candidates": weighed})

    @router.get(
        "/v1/fleets/{fleet}/fair-shares",
        response_model=documents.FairShares,
        responses=NOT_FOUND | UNCHANGED,
        tags=["read"],
    )
    async def fair_shares(
        request: Request,
        fleet: FleetPath,
        limit: Limit = PAGE,
        after: Annotated[Cursor, Query(alias="cursor")] = None,
    ) -> Response:
        """Who has what of each queue, as of the last round."""
        key = read_cursor(after, str, str, str)

        def ask(reader: Reader) -> Awaitable[Page]:
            return pages.fair_shares(reader.connection, fleet, after=key, limit=limit)

        return await page_of(
            request,
            fleet,
            ask,
            lambda row: [row[name] for name in ("queue", "namespace", "resource")],
        )

    @router.get(
        "/v1/quarantine", response_model=documents.Quarantine, responses=problems(), tags=["read"]
    )
    async def quarantine(  # a route's parameters are always passed by name
        request: Request,
        *,
        everything: Annotated[
            bool, Query(description="Those that were released or discarded, too.")
        ] = False,
        limit: Limit = PAGE,
        after: Annotated[Cursor, Query(alias="cursor")] = None,
    ) -> Response:
        """Messages that were set aside, the newest first."""
        caller = reader_of(request)
        key = read_cursor(after, int)
        async with readers.one() as reader, reader.snapshot():
            page = await pages.quarantine(
                reader.connection,
                fleets=None if caller.fleets is None else sorted(caller.fleets),
                everything=everything,
                before=None if key is None else key[0],
                limit=limit,
            )
        return json(_page(page, lambda row: [row["position"]]))

    async def waiting(request: Request, position: int) -> tuple[str, str | None]:
        """Who asks to settle a message, and the only fleet it may be let into, if that is ruled."""
        caller = caller_of(request, "operate")
        async with readers.one() as reader, reader.snapshot():
            found = await pages.quarantined(reader.connection, position)
        if found is None:
            raise Problem(
                HTTPStatus.NOT_FOUND, "unknown_message", f"nothing was set aside at {position}"
            )
        if caller.fleets is None:
            return caller.name, None
        if found["fleet"] is None or not caller.may_see(found["fleet"]):
            raise Problem(HTTPStatus.FORBIDDEN, "wrong_fleet", f"not for {caller.name} to settle")
        return caller.name, found["fleet"]

    @router.post(
        "/v1/quarantine/{position}/release",
        response_model=documents.ReleasedDocument,
        responses=problems(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT),
        openapi_extra=body_of(documents.ReleaseRequest),
        tags=["operate"],
    )
    async def release(request: Request, position: Number) -> Response:
        """Let a message in, as it is or corrected, as a new event of its fleet."""
        name, fleet = await waiting(request, position)
        asked = await body_as(request, documents.ReleaseRequest)
        corrected = None if asked.corrected is None else spelled(asked.corrected)
        async with desks.one() as desk:
            try:
                released = await desk.release(
                    Position(position),
                    families=caller_of(request, "operate").families,
                    by=name,
                    why=asked.why,
                    corrected=corrected,
                    fleet=None if fleet is None else FleetName(fleet),
                )
            except InvalidEvent as refused:
                raise Problem(
                    HTTPStatus.UNPROCESSABLE_ENTITY, refused.reason, refused.detail
                ) from None
        return json(
            {"address": released.address, "fleet": released.fleet, "position": released.position}
        )

    @router.post(
        "/v1/quarantine/{position}/discard",
        status_code=HTTPStatus.NO_CONTENT,
        response_class=Response,
        responses=problems(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT),
        openapi_extra=body_of(documents.DiscardRequest),
        tags=["operate"],
    )
    async def discard(request: Request, position: Number) -> Response:
        """Close a message without letting it in; its bytes stay."""
        name, _ = await waiting(request, position)
        asked = await body_as(request, documents.DiscardRequest)
        async with desks.one() as desk:
            await desk.discard(Position(position), by=name, why=asked.why)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    @router.get(
        "/v1/incidents", response_model=documents.Incidents, responses=problems(), tags=["read"]
    )
    async def incidents(
        request: Request,
        limit: Limit = PAGE,
        after: Annotated[Cursor, Query(alias="cursor")] = None,
    ) -> Response:
        """What contradicted the book, and what stopped."""
        caller = reader_of(request)
        key = read_cursor(after, str, int, int)
        async with readers.one() as reader, reader.snapshot():
            page = await pages.incidents(
                reader.connection,
                fleets=None if caller.fleets is None else sorted(caller.fleets),
                after=None if key is None else (key[0], key[1], key[2]),
                limit=limit,
            )
        return json(
            _page(
                page,
                lambda row: [
                    row["fleet"],
                    row["position"],
                    -1 if row["number"] is None else row["number"],
                ],
            )
        )

    return router


def _page(page: Page, key: Key) -> dict[str, object]:
    return {"items": page.rows, "next": cursor(key(page.rows[-1])) if page.more else None}
