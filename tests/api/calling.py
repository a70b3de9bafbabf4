"""The application called without a socket: one request, and what is sent back as it is sent."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from ledger.api.access import Access, Caller, Role
from ledger.api.guard import Application, Gate, Guard, Scope, Sent
from ledger.api.service import Behind, application
from ledger.cli import http_service
from tests.api.serving import Answered

TOKEN: Final = "token"


def access(
    *roles: Role,
    token: str = TOKEN,
    fleets: Sequence[str] | None = None,
    cluster: str | None = None,
) -> Access:
    """One who is known by a token."""
    allowed = None if fleets is None else frozenset(fleets)
    caller = Caller(token, frozenset(roles), allowed, cluster)
    return Access(((sha256(token.encode()).digest(), caller),))


@asynccontextmanager
async def standing(
    url: str, gate: Gate, *, most_undecided: int = 1_000_000
) -> AsyncIterator[tuple[Guard, Behind]]:
    """The application over a database, and what it stands on."""
    behind = http_service.behind(url, gate, create_fleets=True, most_undecided=most_undecided)
    try:
        yield application(behind), behind
    finally:
        await http_service.closed(behind)


def scope(
    method: str, path: str, headers: Mapping[str, str] | None = None, *, token: str | None = TOKEN
) -> Scope:
    """A request as a server hands it on."""
    path, _, query = path.partition("?")
    told = dict(headers or {})
    if token is not None:
        told["authorization"] = f"Bearer {token}"
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in told.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }


@dataclass(slots=True)
class Exchange:
    """One request under way: parts of its body go in, parts of the answer come out."""

    app: Application
    scope: Scope
    parts: "asyncio.Queue[Sent]" = field(default_factory=asyncio.Queue)
    answer: "asyncio.Queue[Sent]" = field(default_factory=asyncio.Queue)

    async def run(self) -> None:
        await self.app(self.scope, self.parts.get, self.answer.put)

    def give(self, body: bytes, *, more: bool = False) -> None:
        """A part of the body."""
        self.parts.put_nowait({"type": "http.request", "body": body, "more_body": more})

    def leave(self) -> None:
        """Whoever asked goes away."""
        self.parts.put_nowait({"type": "http.disconnect"})

    async def begun(self) -> tuple[int, dict[str, str]]:
        """Status and headers."""
        start = await self.answer.get()
        assert start["type"] == "http.response.start"
        named = {name.decode().lower(): value.decode() for name, value in start["headers"]}
        return start["status"], named

    async def rest(self) -> bytes:
        """All of the body of the answer."""
        found: bytes = b""
        while True:
            part = await self.answer.get()
            found += part.get("body", b"")
            if not part.get("more_body", False):
                return found


async def ask(
    app: Application,
    method: str,
    path: str,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    *,
    token: str | None = TOKEN,
) -> Answered:
    """One request, whole."""
    told = {**(headers or {}), **({"content-length": str(len(body))} if body else {})}
    exchange = Exchange(app, scope(method, path, told, token=token))
    exchange.give(body)
    await exchange.run()
    status, named = await exchange.begun()
    return Answered(status, named, await exchange.rest())
