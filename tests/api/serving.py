"""A service as its callers meet it: a process of its own, a socket, and TLS where it is asked for."""

import asyncio
import http.client
import json
import os
import signal
import ssl
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

BATCH: Final = "application/cloudevents-batch+json"
SINGLE: Final = "application/cloudevents+json"

TOKENS: Final[Mapping[str, Mapping[str, Any]]] = {
    "ingest-token": {"name": "agent", "roles": ["ingest"]},
    "scoped-token": {"name": "scoped", "roles": ["ingest", "read", "operate"], "fleets": ["mine"]},
    "read-token": {"name": "dashboard", "roles": ["read"]},
    "operate-token": {"name": "person", "roles": ["operate"]},
}


@dataclass(frozen=True, slots=True)
class Answered:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """Of a problem."""
        assert self.headers["content-type"] == "application/problem+json", self.body
        said = self.json
        assert said["status"] == self.status
        code: str = said["code"]
        return code


@dataclass(slots=True)
class Service:
    """A running service."""

    process: asyncio.subprocess.Process
    host: str
    port: int
    context: ssl.SSLContext | None
    log: Path

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        token: str | None = "operate-token",
        headers: Mapping[str, str] | None = None,
        context: ssl.SSLContext | None = None,
    ) -> Answered:
        """One request over a connection of its own."""
        sent = dict(headers or {})
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        return await asyncio.to_thread(self._ask, method, path, body, sent, context or self.context)

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        context: ssl.SSLContext | None,
    ) -> Answered:
        connection = (
            http.client.HTTPConnection(self.host, self.port, timeout=60)
            if context is None
            else http.client.HTTPSConnection(self.host, self.port, timeout=60, context=context)
        )
        try:
            connection.request(method, path, body, dict(headers))
            response = connection.getresponse()
            named = {name.lower(): value for name, value in response.getheaders()}
            return Answered(response.status, named, response.read())
        finally:
            connection.close()

    async def send(self, events: Sequence[bytes], *, token: str = "ingest-token") -> Answered:
        """A batch."""
        return await self.ask(
            "POST",
            "/v1/events",
            b"[" + b",".join(events) + b"]",
            token=token,
            headers={"Content-Type": BATCH},
        )

    def end(self) -> None:
        """Ask it to stop."""
        self.process.send_signal(signal.SIGTERM)


def write_access(path: Path, tokens: Mapping[str, Mapping[str, Any]] = TOKENS) -> Path:
    """A file of these tokens."""
    entries = [
        {**entry, "sha256": sha256(token.encode()).hexdigest()} for token, entry in tokens.items()
    ]
    path.write_text(json.dumps(entries))
    return path


@asynccontextmanager
async def serving(
    url: str, directory: Path, *options: str, context: ssl.SSLContext | None = None
) -> AsyncIterator[Service]:
    """A service of the database at ``url``, ended with the block."""
    log = directory / "serve.log"
    access = directory / "access.json"
    if not access.exists():
        write_access(access)
    with log.open("wb") as said:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ledger.cli.main", "serve", "--port", "0"),
            *("--access", str(access), "--create-fleets", "auto", "--drain-seconds", "0"),
            *options,
            env=os.environ | {"LEDGER_DATABASE_URL": url},
            stderr=said,
        )
    try:
        host, port = await _where(process, log)
        yield Service(process, host, port, context, log)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _where(process: asyncio.subprocess.Process, log: Path) -> tuple[str, int]:
    async with asyncio.timeout(120):
        while True:
            said = await asyncio.to_thread(log.read_text)
            for line in said.splitlines():
                if line.startswith("listening: "):
                    host, _, port = line.rpartition("://")[2].rpartition(":")
                    return host, int(port)
            if process.returncode is not None:
                raise AssertionError(said)
            await asyncio.sleep(0.05)
