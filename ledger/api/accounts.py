"""How a decision came about, and what is placed differently at two positions.

It is told in the words of ``ledger explain --json`` and ``ledger diff --json``, by what is handed in:
nothing here knows how to tell it.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request, Response

from ledger.api.asked import FleetPath, Moment, Words, problems, reader_of, unknown_fleet
from ledger.api.connections import Connections
from ledger.api.problems import Code, Problem
from ledger.api.readers import Reader
from ledger.errors import InvalidRequest
from ledger.log.database import Connection
from ledger.views import pages

Account = dict[str, Any]


class Asked(NamedTuple):
    """What somebody wants to have explained."""

    what: str
    kind: str | None
    at: str | None
    place: str | None
    checks: bool


@dataclass(frozen=True, slots=True)
class Accounts:
    """Who tells it."""

    explain: Callable[[Connection, str, Asked], Awaitable[Account]]
    diff: Callable[[Connection, str, str, str], Awaitable[Account]]


def routes(readers: Connections[Reader], accounts: Accounts) -> APIRouter:
    """Both of them."""
    router = APIRouter()

    async def told(
        request: Request, fleet: str, tell: Callable[[Connection], Awaitable[Account]]
    ) -> Response:
        reader_of(request, fleet)
        async with readers.one() as reader, reader.snapshot():
            if await pages.mark(reader.connection, fleet) is None:
                raise unknown_fleet(fleet)
            try:
                account = await tell(reader.connection)
            except InvalidRequest as refused:
                raise _refused(refused) from None
        # Sums of bytes and exact ratios are wider than what the quicker speller takes.
        return Response(json.dumps(account), media_type="application/json")

    @router.get(
        "/v1/fleets/{fleet}/explain",
        response_model=dict[str, Any],
        responses=problems(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT),
        tags=["read"],
    )
    async def explain(  # a route's parameters are always passed by name
        request: Request,
        *,
        fleet: FleetPath,
        what: Annotated[
            str,
            Query(
                min_length=1,
                max_length=1024,
                pattern=r"^[^\x00]*$",
                description="A number, namespace/name, namespace/name@cluster,"
                " cluster/namespace/pod, or a name.",
            ),
        ],
        kind: Annotated[Words, Query(description="What the name is, if it may be several.")] = None,
        at: Annotated[Moment | None, Query()] = None,
        why_not: Annotated[
            Words, Query(description="Why it is not there: a cluster, a node or a disk.")
        ] = None,
        check: Annotated[
            bool, Query(description="Hold the record against its digests and its steps, too.")
        ] = False,
    ) -> Response:
        """How a decision came about: what was asked and known, each step, who lost, what changed."""
        asked = Asked(what, kind, at, why_not, check)
        return await told(request, fleet, lambda reader: accounts.explain(reader, fleet, asked))

    @router.get(
        "/v1/fleets/{fleet}/diff",
        response_model=dict[str, Any],
        responses=problems(HTTPStatus.NOT_FOUND),
        tags=["read"],
    )
    async def diff(
        request: Request,
        fleet: FleetPath,
        first: Annotated[Moment, Query(alias="from")],
        last: Annotated[Moment, Query(alias="to")],
    ) -> Response:
        """What is placed differently at one moment than at another, and which decisions did it."""
        return await told(request, fleet, lambda reader: accounts.diff(reader, fleet, first, last))

    return router


def _refused(refused: InvalidRequest) -> Problem:
    """What is said where a question means nothing here, or too much."""
    named: dict[str, tuple[HTTPStatus, Code]] = {
        "unknown_fleet": (HTTPStatus.NOT_FOUND, "unknown_fleet"),
        "unknown_subject": (HTTPStatus.NOT_FOUND, "unknown_subject"),
        "unknown_decision": (HTTPStatus.NOT_FOUND, "unknown_decision"),
        "ambiguous": (HTTPStatus.CONFLICT, "ambiguous"),
    }
    usual: tuple[HTTPStatus, Code] = (HTTPStatus.BAD_REQUEST, "invalid_parameter")
    status, code = named.get(refused.code, usual)
    return Problem(status, code, refused.message)
