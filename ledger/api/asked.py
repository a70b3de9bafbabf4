"""What routes have in common: who asks, for which fleet, for which page, and who may."""

import base64
import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from json import JSONEncoder
from typing import Annotated, Any, Final, TypeVar

import orjson
from fastapi import Path, Query, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError

from ledger.api.access import Caller, Role
from ledger.api.documents import LARGEST_POSITION, ProblemDocument
from ledger.api.guard import CALLER, Scope
from ledger.api.problems import MEDIA_TYPE, Problem
from ledger.units import Position
from ledger.views.pages import Mark

FLEET_PATTERN: Final = "^(_ledger|[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)$"
FleetPath = Annotated[str, Path(pattern=FLEET_PATTERN, description="Name of the fleet.")]
Number = Annotated[int, Path(ge=0, le=LARGEST_POSITION)]
Limit = Annotated[int, Query(ge=1, le=500, description="The most rows of a page.")]
Cursor = Annotated[
    str | None,
    # So that an address with it stays below what servers take, whatever it is spelled with.
    Query(max_length=4096, description="`next` of the page before."),
]
Words = Annotated[str | None, Query(max_length=1024, pattern=r"^[^\x00]*$")]

Moment = Annotated[
    str,
    Query(
        min_length=1,
        max_length=64,
        pattern=r"^[^\x00]*$",
        description="A position of the log, or a time (RFC 3339).",
    ),
]

PAGE: Final = 100

_SPELLING: Final = JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), default=datetime.isoformat
)

_FINITE: Final = JSONEncoder(allow_nan=False, default=str)
"""Refuses what JSON has no number for."""

Model = TypeVar("Model", bound=BaseModel)


def caller_of(request: Request, *roles: Role) -> Caller:
    """Who asks; a problem unless they have one of these roles."""
    return allowed(request.scope, *roles)


def allowed(scope: Scope, *roles: Role) -> Caller:
    """The same, of a request that the framework has not seen."""
    caller: Caller = scope[CALLER]
    if caller.roles.isdisjoint(roles):
        raise Problem(
            HTTPStatus.FORBIDDEN, "wrong_role", f"it takes the role {' or '.join(sorted(roles))}"
        )
    return caller


def reader_of(request: Request, fleet: str | None = None) -> Caller:
    """Who asks, and may read, and may read of this fleet."""
    caller = caller_of(request, "read", "operate")
    if fleet is not None and not caller.may_see(fleet):
        raise Problem(HTTPStatus.FORBIDDEN, "wrong_fleet", f"not for {caller.name} to read")
    return caller


async def refuse_unknown_parameters(request: Request) -> None:
    """A problem where a query asks for something that nobody here would look at.

    ``as-of`` for ``as_of`` would be answered with the present, and nobody would notice. The queries of webhooks and
    of probes are written by programs that add what they like, and nothing is asked for by them. (It waits for nothing: as a
    plain function it would be handed to a thread.)
    """
    path: str = request.scope["path"]
    if not path.startswith("/v1/") or not request.query_params:
        return
    route = request.scope["route"]
    assert isinstance(route, APIRoute), "it is what depends on this"
    known = sorted(field.alias for field in route.dependant.query_params)
    said = Counter(name for name, _ in request.query_params.multi_items())
    for name, times in said.items():
        if name not in known:
            may = f"it takes {', '.join(known)}" if known else "it takes none"
            raise _unknown(f"query.{name[:63]}: nobody knows it here; {may}")
        if times > 1:
            raise _unknown(f"query.{name}: it is there {times} times")


def _unknown(detail: str) -> Problem:
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_parameter", detail)


def unknown_fleet(fleet: str) -> Problem:
    """What is said where there is no such fleet."""
    return Problem(HTTPStatus.NOT_FOUND, "unknown_fleet", f"fleet {fleet} is not open here")


def cursor(key: Sequence[object]) -> str:
    """A key as a text that goes into an address; what is in it is nobody's business."""
    return base64.urlsafe_b64encode(orjson.dumps(key)).rstrip(b"=").decode()


def read_cursor(text: str | None, *kinds: type) -> list[Any] | None:
    """The key behind which a page begins; a problem where we never gave out such a cursor."""
    if text is None:
        return None
    try:
        key = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except ValueError:
        key = None
    if (
        not isinstance(key, list)
        or [type(part) for part in key] != list(kinds)
        or any("\x00" in part for part in key if isinstance(part, str))
        or any(abs(part) > LARGEST_POSITION for part in key if isinstance(part, int))
    ):
        raise Problem(HTTPStatus.BAD_REQUEST, "invalid_cursor", "it was not given out here")
    return key


def json(value: object, headers: dict[str, str] | None = None) -> Response:
    """An answer, whose whole numbers may be wider than what the quicker speller takes."""
    spelled_out = _SPELLING.encode(value).encode()
    return Response(spelled_out, media_type="application/json", headers=headers)


def etag(fleet: str, mark: Mark) -> str:
    """What stays as long as nothing of the fleet was decided."""
    return f'"{fleet}.{mark.incarnation}.{mark.decided_through}.{mark.decisions}"'


def unchanged(request: Request, tag: str) -> Response | None:
    """The answer to somebody who has this already."""
    wanted = request.headers.get("if-none-match", "")
    had = {one.strip().removeprefix("W/") for one in wanted.split(",")}
    if tag in had or "*" in had:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers={"ETag": tag})
    return None


async def body_as(request: Request, model: type[Model]) -> Model:
    """What a request says; a problem where it says something else, or a number that JSON does not have."""
    try:
        said = model.model_validate_json(await request.body())
        _FINITE.encode(said.model_dump())
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "body"
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_parameter", f"{place}: {first['msg']}"
        ) from None
    except ValueError:
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY, "out_of_range", "body: a number is beyond all bounds"
        ) from None
    return said


def spelled(value: object) -> bytes:
    """As bytes what a request said; a problem where a number in it is wider than any of ours."""
    try:
        return orjson.dumps(value)
    except TypeError as error:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "out_of_range", str(error)) from None


def problems(*statuses: HTTPStatus) -> dict[int | str, dict[str, Any]]:
    """The problems that a route may end in, for the OpenAPI document."""
    every = {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.UNPROCESSABLE_ENTITY,
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
        HTTPStatus.SERVICE_UNAVAILABLE,
        *statuses,
    }
    return {
        int(status): {
            "description": status.phrase,
            "content": {
                MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{ProblemDocument.__name__}"}}
            },
        }
        for status in sorted(every)
    }


def body_of(model: type[BaseModel]) -> dict[str, Any]:
    """How a request body is told of in the OpenAPI document; it is read by ``body_as``."""
    schema = model.model_json_schema()
    parts = schema.pop("$defs", {})
    # A reference is one into the whole document there, where the parts of this one do not stand.
    schema.pop("discriminator", None)
    if "oneOf" in schema:
        schema["oneOf"] = [parts[one["$ref"].rpartition("/")[2]] for one in schema["oneOf"]]
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def moment(text: str) -> Position | datetime:
    """What is meant by a position or a time; a problem where it is neither."""
    if re.fullmatch("[0-9]{1,18}", text):
        return Position(int(text))
    try:
        told = datetime.fromisoformat(text)
        # Of its hours the first and the last year have some that are in no year elsewhere.
        return told.replace(tzinfo=UTC) if told.tzinfo is None else told.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_parameter", f"{text}: no position and no time"
        ) from None
