"""Listening: sockets, TLS, patience with slow callers, and how it ends.

A certificate that was replaced on disk is read by the running process: new connections get the new
one. Where it ends, it first says so (readiness fails, every answer closes its connection), waits until
whoever sends requests has noticed, answers what is under way, and goes.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import structlog
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from ledger.api.access import names_in
from ledger.api.guard import LARGEST_HEAD, PEER, Application, Gate, Receive, Scope, Send
from ledger.errors import SetupProblem
from ledger.log import libraries
from ledger.log.garbage import seldom_collected

HEADER_SECONDS: Final = 10.0
"""How long a request line and its headers may take to come, and a connection to say anything."""

IDLE_SECONDS: Final = 75
"""How long a connection may stay open between two requests: longer than the pools of most clients."""

ENDING_SECONDS: Final = 10
"""How long requests under way may take once it ends."""

TLS_LOOK_SECONDS: Final = 2.0

_TIMED_OUT: Final = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Tls:
    """The files of a server's certificate, and of who signs those of its clients."""

    certificate: Path
    key: Path
    client_ca: Path | None = None


class Certificate:
    """A TLS context whose certificate is what the files say now."""

    def __init__(self, files: Tls) -> None:
        self._files = files
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        if files.client_ca is not None:
            # Asked for and not insisted on: whoever has a token needs none.
            self.context.verify_mode = ssl.CERT_OPTIONAL
        self._seen = self._stamp()
        try:
            self._read(self.context)
        except OSError as error:
            raise SetupProblem(f"{files.certificate}: {error}") from error

    def renewed(self) -> bool:
        """Whether the files are others than before; then new connections get what they hold.

        Who signs for clients is known for as long as this runs: a context takes signers, and gives none back.
        """
        stamp = self._stamp()
        if stamp == self._seen:
            return False
        # Certificate and key are written one after the other: as long as they do not belong
        # together the old ones stay, and the next look finds both.
        try:
            self._read(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
            self._read(self.context)
        except OSError as error:
            log.warning("certificate_not_read", why=str(error))
            return False
        self._seen = stamp
        return True

    def _stamp(self) -> tuple[int, ...]:
        try:
            files = (self._files.certificate, self._files.key, self._files.client_ca)
            found = [path.stat() for path in files if path is not None]
        except OSError:
            return ()
        return tuple(part for one in found for part in (one.st_ino, one.st_mtime_ns, one.st_size))

    def _read(self, context: ssl.SSLContext) -> None:
        if self._files.client_ca is not None:
            context.load_verify_locations(cafile=self._files.client_ca)
        context.load_cert_chain(self._files.certificate, self._files.key)


class Server(uvicorn.Server):
    """uvicorn's, without its way with signals: the command has one of its own."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listens = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:  # type: ignore[explicit-override]  # Python 3.11 has no such decorator
        """Begin to listen, and say so."""
        await super().startup(sockets)
        self.listens.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:  # type: ignore[explicit-override]  # Python 3.11 has no such decorator
        """Leave them to the command."""
        yield


@dataclass(frozen=True, slots=True)
class Listening:
    """Where and how."""

    address: str
    port: int
    certificate: Certificate | None = None
    header_seconds: float = HEADER_SECONDS
    drain_seconds: float = 10.0


async def serve(
    app: Application,
    gate: Gate,
    at: Listening,
    stop: asyncio.Event,
    *,
    listens: Callable[[str], None],
) -> None:
    """Answer until asked to stop, then drain; ``listens`` is told the address."""
    config = uvicorn.Config(
        app,
        host=at.address,
        port=at.port,
        http=_protocol(at.header_seconds),
        ws="none",
        lifespan="off",
        loop="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=ENDING_SECONDS,
        h11_max_incomplete_event_size=LARGEST_HEAD,
    )
    config.load()
    # Of requests that are none, above all.
    libraries.tell("uvicorn.error")
    config.ssl = None if at.certificate is None else at.certificate.context
    try:
        bound = config.bind_socket()
    except SystemExit as error:
        raise SetupProblem(f"{at.address}:{at.port}: nobody can listen there") from error
    port = bound.getsockname()[1]
    shown = f"[{at.address}]" if ":" in at.address else at.address
    scheme = "http" if at.certificate is None else "https"
    server = Server(config)
    with seldom_collected():
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(server.serve(sockets=[bound]))
            watching = tasks.create_task(_renew(at.certificate, gate))
            tasks.create_task(_drain(server, gate, stop, at.drain_seconds, running))
            await server.listens.wait()
            listens(f"{scheme}://{shown}:{port}")
            await running
            stop.set()
            watching.cancel()


async def _drain(
    server: uvicorn.Server,
    gate: Gate,
    stop: asyncio.Event,
    seconds: float,
    running: asyncio.Task[None],
) -> None:
    await stop.wait()
    if running.done():
        return
    gate.draining = True
    log.info("draining", seconds=seconds)
    await asyncio.wait({running}, timeout=seconds)
    server.should_exit = True


async def _renew(certificate: Certificate | None, gate: Gate) -> None:
    while certificate is not None:
        await asyncio.sleep(TLS_LOOK_SECONDS)
        if certificate.renewed():
            gate.served.certificates_read += 1
            log.info("certificate_read")


def _protocol(header_seconds: float) -> type[H11Protocol]:
    class Protocol(H11Protocol):
        """uvicorn's, which knows who it speaks to, and does not wait for ever to be spoken to."""

        _overdue: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:  # type: ignore[explicit-override]  # Python 3.11 has no such decorator
            super().connection_made(transport)
            tls = transport.get_extra_info("ssl_object")
            names = frozenset() if tls is None else names_in(tls.getpeercert())
            if names:
                self.app = _introduced(self.app, names)
            self._await_headers()

        def data_received(self, data: bytes) -> None:  # type: ignore[explicit-override]  # Python 3.11 has no such decorator
            super().data_received(data)
            if not self._between_requests:
                self._be_patient()
            elif self.conn.trailing_data[0]:
                self._await_headers()

        def connection_lost(self, exc: Exception | None) -> None:  # type: ignore[explicit-override]  # Python 3.11 has no such decorator
            self._be_patient()
            super().connection_lost(exc)

        def send_400_response(self, msg: str) -> None:  # type: ignore[explicit-override]  # Python 3.11 has no such decorator
            # Of a request that is answered already nothing more is said.
            if self._between_requests or not self.cycle.response_started:
                super().send_400_response(msg)
            else:
                self.transport.close()

        @property
        def _between_requests(self) -> bool:
            # uvicorn declares no None here, and begins with it.
            cycle: RequestResponseCycle | None = self.cycle
            return cycle is None or cycle.response_complete

        def _await_headers(self) -> None:
            if self._overdue is None:
                self._overdue = self.loop.call_later(header_seconds, self._give_up)

        def _be_patient(self) -> None:
            if self._overdue is not None:
                self._overdue.cancel()
                self._overdue = None

        def _give_up(self) -> None:
            if not self.transport.is_closing():
                self.transport.write(_TIMED_OUT)
                self.transport.close()

    return Protocol


def _introduced(app: Any, names: frozenset[str]) -> Any:
    async def introduced(scope: Scope, receive: Receive, send: Send) -> None:
        scope[PEER] = names
        await app(scope, receive, send)

    return introduced
