"""A witness that anybody can run: its mind is ``ledger.log.witness``, its memory a file.

One process, one file of state, one checkpoint at a time: looking up what was seen, judging and
remembering happen under one lock, and what is remembered is on disk before the answer leaves. It
speaks plain HTTP and belongs behind something that speaks TLS. For two parties who do not trust each
other it is enough that each runs one; a public witness does the same for more logs.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET6
from threading import Lock, Thread
from typing import ClassVar, Final, Self

import structlog

from ledger.errors import SetupProblem
from ledger.log.notes import Key, Signer
from ledger.log.signed import Memory, Signed
from ledger.log.witness import NOTHING_SEEN, Answer, Seen, judge

LARGEST_REQUEST: Final = 256 * 1024
READ_SECONDS: Final = 10

log = structlog.get_logger()


class WitnessServer:
    """Answers ``POST /add-checkpoint`` until it is closed."""

    def __init__(
        self,
        address: tuple[str, int],
        *,
        signer: Signer,
        logs: Sequence[Key],
        memory: Memory,
        clock: Callable[[], float] = time.time,
    ) -> None:
        by_origin: dict[str, list[Key]] = {}
        for key in logs:
            by_origin.setdefault(key.name, []).append(key)
        handler = _handler(_Mind(signer, by_origin, memory, clock))
        try:
            self._server = (_OnIPv6 if ":" in address[0] else ThreadingHTTPServer)(address, handler)
        except OSError as error:
            raise SetupProblem(f"{address[0]}:{address[1]}: {error.strerror}") from error
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, name="witness")

    @property
    def url(self) -> str:
        """Where it answers."""
        host, port = self._server.server_address[:2]
        shown = host.decode() if isinstance(host, bytes) else host
        return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _OnIPv6(ThreadingHTTPServer):
    address_family: int = AF_INET6


class _Mind:
    def __init__(
        self,
        signer: Signer,
        logs: Mapping[str, Sequence[Key]],
        memory: Memory,
        clock: Callable[[], float],
    ) -> None:
        self._signer = signer
        self._logs = logs
        self._memory = memory
        self._clock = clock
        self._one_at_a_time = Lock()

    def answer(self, data: bytes) -> Answer:
        with self._one_at_a_time:
            seen = {origin: self._seen(origin) for origin in self._logs}
            answer = judge(
                data,
                logs=self._logs,
                seen=seen,
                signer=self._signer,
                seconds=int(self._clock()),
            )
            if answer.remember is not None:
                origin, tree = answer.remember
                self._memory.remember({origin: Signed(tree.size, tree.root)})
                log.info("vouched", origin=origin, size=tree.size)
            else:
                log.warning("refused", status=answer.status, why=answer.body.strip())
            return answer

    def _seen(self, origin: str) -> Seen:
        last = self._memory.last(origin)
        return NOTHING_SEEN if last is None else Seen(last.size, last.root)


def _handler(mind: _Mind) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout: ClassVar[float | None] = READ_SECONDS

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if self.path != "/add-checkpoint":
                self._say(Answer(HTTPStatus.NOT_FOUND, "there is only /add-checkpoint\n"))
            elif not length.isdecimal() or int(length) > LARGEST_REQUEST:
                self.close_connection = True
                self._say(Answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too long\n"))
            else:
                self._say(mind.answer(self.rfile.read(int(length))))

        def _say(self, answer: Answer) -> None:
            body = answer.body.encode()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:  # type: ignore[explicit-override]  # Python 3.11 has no such decorator
            """What matters is logged where it is judged."""

    return Handler
