"""What every request passes on its way in, before anything looks at what it wants.

Who comes is asked first, so that a stranger is not listened to for long; then the body is read whole,
as far as it is small enough and comes in time. Behind this a request is at hand: nothing further in
waits for whoever sent it. On the way out, a service that is about to end tells each connection so.

What is answered before its body was read closes its connection, and not at once: a connection that is closed
while its other end still sends is reset, and an answer that lies unread there is lost with it. So the rest is read
and thrown away for a while, as nginx does.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

import structlog

from ledger.api.access import Access, Caller
from ledger.api.activity import Served
from ledger.api.problems import MEDIA_TYPE, Problem, again_after
from ledger.errors import FleetStopped, InvalidRequest, LedgerStopped, LogUnavailable

Scope = MutableMapping[str, Any]
Sent = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Sent]]
Send = Callable[[Sent], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

BODY_SECONDS: Final = 10.0
"""How long the body of a request may take to come."""

MIB: Final = 1024 * 1024

STREAMS_AT_ONCE: Final = 64
"""How many may be open: each looks at the log again and again."""

STREAMS_OF_ONE_CALLER: Final = 32
"""Half of them: whoever forgets to close what it opened leaves the others theirs."""

ADMISSION: Final = "/admission/"

OPEN_TO_ALL: Final = frozenset({"/livez", "/readyz", "/openapi.json"})
"""What tells nothing of any fleet."""

PEER: Final = "ledger.peer"
CALLER: Final = "ledger.caller"
"""Where a connection's certificate, and who was recognised by it or by a token, stand in a scope."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Room:
    """For bodies in memory; whoever comes beyond that is asked to come again."""

    at_once: int
    largest: int
    total: int
    """Bytes of all of them together."""


EVENTS: Final = Room(at_once=32, largest=8 * MIB, total=256 * MIB)
"""Each has room for eight of the largest events, or for some thousands of usual ones."""

REVIEWS: Final = Room(at_once=1_000, largest=3 * MIB, total=64 * MIB)
"""A burst of admissions must not be turned away. Their bodies are small: an API server takes no object
above 3 MiB, and a usual pod has some kilobytes."""


LARGEST_HEAD: Final = 32 * 1024
"""Bytes of a request's address and headers."""


@dataclass(frozen=True, slots=True)
class Patience:
    """With whoever is answered already and still sends."""

    seconds: float
    silent_seconds: float
    """Between two parts of what they send: most go by themselves once they have read the answer."""
    size: int


LINGER: Final = Patience(seconds=10.0, silent_seconds=1.0, size=64 * MIB)
"""As long as a body may take to come, and eight times what may be in one: enough for whoever misjudged it."""


@dataclass(slots=True)
class Limits:
    """What a request may take."""

    body_seconds: float = BODY_SECONDS
    events: Room = EVENTS
    """And of whatever else is no review."""
    reviews: Room = REVIEWS
    streams_at_once: int = STREAMS_AT_ONCE
    streams_of_one_caller: int = STREAMS_OF_ONE_CALLER
    linger: Patience = LINGER


@dataclass(slots=True)
class Gate:
    """What the guard goes by; a service changes it while it runs."""

    access: Access
    limits: Limits = field(default_factory=Limits)
    draining: bool = False
    served: Served = field(default_factory=Served)


class Guard:
    """The outermost layer of the application."""

    def __init__(self, app: Application, gate: Gate) -> None:
        self._app = app
        self._gate = gate
        self._events = _Taken()
        self._reviews = _Taken()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        served = self._gate.served
        answer = _Answer(send, receive, self._gate)
        served.open_requests += 1
        began = time.perf_counter()
        try:
            await self._answer(scope, receive, answer)
        finally:
            seconds = (answer.given or time.perf_counter()) - began
            served.open_requests -= 1
            served.busy_seconds += seconds
            if answer.status is not None:
                served.requests[f"{answer.status // 100}xx"] += 1
            caller = scope.get(CALLER)
            log.debug(
                "answered",
                method=scope["method"],
                path=scope["path"],
                status=answer.status,
                caller=caller.name if caller else None,
                milliseconds=round(seconds * 1000, 1),
            )

    async def _answer(self, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        answer.unread = _has_body(scope)
        try:
            _refuse_large_head(scope)
            if scope["path"] in OPEN_TO_ALL:
                # Nobody knows who sends it: a body is not read, and takes no room.
                unread = _replayed(b"", receive) if answer.unread else receive
                await self._app(scope, unread, answer.send)
                return
            scope[CALLER] = self._recognised(scope)
            if not answer.unread:
                await self._app(scope, receive, answer.send)
                return
            with self._room(scope) as held:
                body = await self._body(scope, receive, held)
                answer.unread = False
                if body is not None:
                    await self._app(scope, _replayed(body, receive), answer.send)
        except Problem as problem:
            if answer.status is None:
                await answer.refuse(problem, self._gate.served)
        except Exception as error:  # noqa: BLE001 - the outermost place a request has: whatever happened, it is answered
            unforeseen = named(error)
            if answer.status is None:
                await answer.refuse(unforeseen, self._gate.served)

    @contextmanager
    def _room(self, scope: Scope) -> Iterator["_Held"]:
        """For one body in memory, as long as it is answered."""
        limits = self._gate.limits
        review = _is_admission(scope)
        room, taken = (limits.reviews, self._reviews) if review else (limits.events, self._events)
        if taken.bodies >= room.at_once:
            raise _busy()
        held = _Held(room, taken)
        taken.bodies += 1
        try:
            yield held
        finally:
            taken.bodies -= 1
            taken.size -= held.size

    def _recognised(self, scope: Scope) -> Caller:
        caller = recognised(self._gate.access, scope)
        if caller is None:
            raise Problem(
                HTTPStatus.UNAUTHORIZED,
                "unauthenticated",
                "a bearer token, or a client certificate, that is known here",
                {"WWW-Authenticate": "Bearer"},
            )
        return caller

    async def _body(self, scope: Scope, receive: Receive, held: "_Held") -> bytes | None:
        """All of it; None where whoever sent it went away before its end."""
        limits = self._gate.limits
        length = _header(scope, b"content-length")
        if length.isdigit() and int(length) > held.room.largest:
            raise _too_large(held.room)
        parts: list[bytes] = []
        try:
            async with asyncio.timeout(limits.body_seconds):
                more = True
                while more:
                    came = await receive()
                    if came["type"] == "http.disconnect":
                        return None
                    part = came.get("body", b"")
                    held.add(len(part))
                    parts.append(part)
                    more = came.get("more_body", False)
            return b"".join(parts)
        except TimeoutError:
            raise Problem(
                HTTPStatus.REQUEST_TIMEOUT,
                "too_slow",
                f"the body did not come within {limits.body_seconds:g} s",
            ) from None
        finally:
            # What is raised holds them up, and their room is given back now.
            parts.clear()


@dataclass(slots=True)
class _Taken:
    """Of a room."""

    bodies: int = 0
    size: int = 0


@dataclass(slots=True)
class _Held:
    """What one body takes of a room."""

    room: Room
    taken: _Taken
    size: int = 0

    def add(self, size: int) -> None:
        """So much more of it has come; a problem where there is no room for that."""
        self.size += size
        self.taken.size += size
        if self.size > self.room.largest:
            raise _too_large(self.room)
        if self.taken.size > self.room.total:
            raise _busy()


def recognised(access: Access, scope: Scope) -> Caller | None:
    """Who sends a request; None where nobody knows them."""
    scheme, _, token = _header(scope, b"authorization").partition(b" ")
    if scheme.lower() == b"bearer":
        return access.by_token(token.strip())
    if names := scope.get(PEER):
        return access.by_certificate(names)
    return access.anybody if not scheme and _is_admission(scope) else None


def named(error: Exception) -> Problem:
    """What is said of an error that nobody further in has answered for."""
    match error:
        case LogUnavailable():
            log.warning("log_unavailable", why=str(error))
            return Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "log_unavailable",
                "the log cannot be reached; asking again does no harm",
                again_after(1),
            )
        case FleetStopped():
            log.error("fleet_stopped", why=str(error))
            return Problem(
                HTTPStatus.SERVICE_UNAVAILABLE, "fleet_stopped", str(error), again_after(30)
            )
        case LedgerStopped():
            return Problem(HTTPStatus.CONFLICT, "not_settled", str(error))
        case InvalidRequest():
            return Problem(HTTPStatus.BAD_REQUEST, "invalid_parameter", error.message)
        case _:
            log.error("failed", exc_info=error)
            return UNFORESEEN


UNFORESEEN: Final = Problem(
    HTTPStatus.INTERNAL_SERVER_ERROR, "internal", "the service's log says what happened"
)


class _Answer:
    """What is sent, as it goes by."""

    def __init__(self, send: Send, receive: Receive, gate: Gate) -> None:
        self._send = send
        self._receive = receive
        self._gate = gate
        self._draining = gate.draining
        self.status: int | None = None
        self.unread = False
        self.given: float | None = None
        """When all of it was."""

    async def send(self, sent: Sent) -> None:
        if sent["type"] == "http.response.start":
            self.status = sent["status"]
            if self._draining or self.unread:
                # What was not read of a request would be taken for the next one.
                sent["headers"] = [*sent.get("headers", ()), (b"connection", b"close")]
            await self._send(sent)
        elif self.unread and not sent.get("more_body", False):
            # With its length in front it is whole now; what ends it closes the connection.
            await self._send({**sent, "more_body": True})
            self.given = time.perf_counter()
            await self._discard()
            await self._send({"type": "http.response.body", "body": b""})
        else:
            await self._send(sent)

    async def refuse(self, problem: Problem, served: Served) -> None:
        served.problems[problem.code] += 1
        await send_problem(problem, self.send)

    async def _discard(self) -> None:
        """Read what still comes of the request, for as long as that may take."""
        linger, size = self._gate.limits.linger, 0
        with suppress(TimeoutError):
            async with asyncio.timeout(linger.seconds):
                while size < linger.size:
                    async with asyncio.timeout(linger.silent_seconds):
                        came = await self._receive()
                    size += len(came.get("body", b""))
                    if not came.get("more_body", False):
                        return


async def send_problem(problem: Problem, send: Send) -> None:
    """Send a problem as the whole answer."""
    body = problem.body()
    headers: Mapping[str, str] = {
        "content-type": MEDIA_TYPE,
        "content-length": str(len(body)),
        **{name.lower(): value for name, value in problem.headers.items()},
    }
    await send(
        {
            "type": "http.response.start",
            "status": int(problem.status),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
    )
    await send({"type": "http.response.body", "body": body})


def _replayed(body: bytes, receive: Receive) -> Receive:
    given = False

    async def once() -> Sent:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return once


def _is_admission(scope: Scope) -> bool:
    path: str = scope["path"]
    return path.startswith(ADMISSION)


def _has_body(scope: Scope) -> bool:
    return bool(_header(scope, b"transfer-encoding")) or _header(scope, b"content-length") not in (
        b"",
        b"0",
    )


def _refuse_large_head(scope: Scope) -> None:
    """Refuse an address and headers that are too large together; each header has a colon, a space and an end."""
    address = len(scope["raw_path"]) + len(scope["query_string"])
    if address + sum(len(name) + len(value) + 4 for name, value in scope["headers"]) > LARGEST_HEAD:
        raise Problem(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            "too_large",
            f"a request's address and headers have {LARGEST_HEAD} bytes",
        )


def _header(scope: Scope, wanted: bytes) -> bytes:
    for name, value in scope["headers"]:
        if name == wanted:
            found: bytes = value
            return found
    return b""


def _too_large(room: Room) -> Problem:
    return Problem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "too_large",
        f"a body has at most {room.largest} bytes here",
    )


def _busy() -> Problem:
    return Problem(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "busy",
        "too many requests are being read already",
        again_after(1),
    )
