"""A client of ``ledger serve``: events in, decisions out, over HTTP with nothing but the standard library.

One connection, used by one thread at a time. It asks again by itself where the service says that
asking again does no harm (429, 503), and where the connection broke behind a question or behind events:
these have an identity, so those that were taken are duplicates then. Whatever else was sent into a
connection that broke may have been done, so it is not sent again. Everything else that is no answer is
raised as ``Refused`` with the service's own code.
"""

import http.client
import json
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import quote, urlencode, urlsplit

from ledger.errors import LedgerError, LogUnavailable, SetupProblem

ATTEMPTS: Final = 6
LONGEST_PAUSE: Final = 30.0
TIMEOUT_SECONDS: Final = 60.0

JOB_PAUSE: Final = 0.5
"""Between two looks at a job."""

BATCH: Final = "application/cloudevents-batch+json"

LONGEST_BATCH: Final = 5000
LARGEST_BODY: Final = 8 * 1024 * 1024
"""Events and bytes that a service takes at once, as docs/http.md has them."""

_AGAIN: Final = frozenset({429, 503})


class Refused(LedgerError):
    """The service said no; ``code`` is what it said, and does not change."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.status = status
        self.code = code
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Told:
    """What became of an event."""

    outcome: str
    fleet: str | None = None
    position: int | None = None
    reason: str | None = None
    detail: str | None = None


class Client:
    """Speaks to one service."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        context: ssl.SSLContext | None = None,
        attempts: int = ATTEMPTS,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """``context`` is how its certificate is checked, and ours shown."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or parts.hostname is None:
            raise SetupProblem(f"{url}: it begins with http:// or https:// and names a host")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._attempts = attempts
        self._pause = pause
        self._connection = (
            http.client.HTTPSConnection(
                parts.hostname, parts.port, timeout=TIMEOUT_SECONDS, context=context
            )
            if parts.scheme == "https"
            else http.client.HTTPConnection(parts.hostname, parts.port, timeout=TIMEOUT_SECONDS)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def send(self, events: Sequence[Mapping[str, Any]]) -> list[Told]:
        """Send CloudEvents; what came back is on disk, or in quarantine.

        More than a service takes at once goes in several requests. Where a later one fails, the events of those
        before are on disk: sent again, they are duplicates.
        """
        told: list[Told] = []
        for body in _bodies(events):
            said = self._ask("POST", "/v1/events", body, {"Content-Type": BATCH})
            told += [Told(**item) for item in said["items"]]
        return told

    def fleets(self) -> list[dict[str, Any]]:
        """The fleets that we may see."""
        found: list[dict[str, Any]] = self._ask("GET", "/v1/fleets")["fleets"]
        return found

    def placements(
        self,
        fleet: str,
        *,
        kind: str | None = None,
        subject: str | None = None,
        as_of: int | str | None = None,
    ) -> Iterator[dict[str, Any]]:
        """What is in force now, or was at a position or a time, page by page."""
        then = None if as_of is None else str(as_of)
        return self._pages(_of(fleet, "placements"), kind=kind, subject=subject, as_of=then)

    def decisions(
        self, fleet: str, *, kind: str | None = None, subject: str | None = None
    ) -> Iterator[dict[str, Any]]:
        """What was decided, in order, page by page."""
        return self._pages(_of(fleet, "decisions"), kind=kind, subject=subject)

    def decision(self, fleet: str, number: int) -> dict[str, Any]:
        """One decision with its reasons, and who was weighed for it."""
        found: dict[str, Any] = self._ask("GET", _of(fleet, f"decisions/{number}"))
        return found

    def explain(
        self,
        fleet: str,
        what: str,
        *,
        kind: str | None = None,
        at: int | str | None = None,
        why_not: str | None = None,
        check: bool = False,
    ) -> dict[str, Any]:
        """How a decision came about; what `ledger explain --json` prints."""
        asked = {"what": what, "kind": kind, "at": at, "why_not": why_not}
        told = {name: str(value) for name, value in asked.items() if value is not None}
        if check:
            told["check"] = "true"
        found: dict[str, Any] = self._ask("GET", f"{_of(fleet, 'explain')}?{urlencode(told)}")
        return found

    def diff(self, fleet: str, first: int | str, last: int | str) -> dict[str, Any]:
        """What is placed differently at one position or time than at another."""
        asked = urlencode({"from": first, "to": last})
        found: dict[str, Any] = self._ask("GET", f"{_of(fleet, 'diff')}?{asked}")
        return found

    def replay(self, fleet: str, **asked: Any) -> dict[str, Any]:
        """Have decisions recomputed, as a job; ``asked`` is what docs/http.md says of it."""
        return self._start(fleet, {"kind": "replay", **asked})

    def what_if(self, fleet: str, **asked: Any) -> dict[str, Any]:
        """Have the log folded with something otherwise, as a job."""
        return self._start(fleet, {"kind": "what-if", **asked})

    def job(self, named: str) -> dict[str, Any]:
        """How far a job is, and what came out of it."""
        found: dict[str, Any] = self._ask("GET", f"/v1/jobs/{quote(named, safe='')}")
        return found

    def answered(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """A job once it has ended, however."""
        told = dict(job)
        while told["ended_at"] is None:
            self._pause(JOB_PAUSE)
            told = self.job(told["id"])
        return told

    def cancel(self, named: str) -> None:
        """End a job."""
        self._ask("DELETE", f"/v1/jobs/{quote(named, safe='')}")

    def fair_shares(self, fleet: str) -> Iterator[dict[str, Any]]:
        """Who has what of each queue."""
        return self._pages(_of(fleet, "fair-shares"))

    def quarantine(self, *, everything: bool = False) -> Iterator[dict[str, Any]]:
        """Messages that were set aside, the newest first."""
        return self._pages("/v1/quarantine", everything="true" if everything else None)

    def incidents(self) -> Iterator[dict[str, Any]]:
        """What contradicted the book, and what stopped."""
        return self._pages("/v1/incidents")

    def release(
        self, position: int, *, why: str, corrected: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Let a message in, as it is or corrected."""
        body = json.dumps({"why": why, "corrected": corrected}).encode()
        found: dict[str, Any] = self._ask("POST", f"/v1/quarantine/{position}/release", body)
        return found

    def discard(self, position: int, *, why: str) -> None:
        """Close a message without letting it in."""
        self._ask("POST", f"/v1/quarantine/{position}/discard", json.dumps({"why": why}).encode())

    def _start(self, fleet: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        body = json.dumps(asked).encode()
        found: dict[str, Any] = self._ask("POST", _of(fleet, "jobs"), body)
        return found

    def _pages(self, path: str, **wanted: str | None) -> Iterator[dict[str, Any]]:
        cursor: str | None = None
        while True:
            asked = {name: value for name, value in wanted.items() if value is not None}
            if cursor is not None:
                asked["cursor"] = cursor
            page = self._ask("GET", f"{path}?{urlencode(asked)}" if asked else path)
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        why, wait = "", 1.0
        harmless = method == "GET" or path == "/v1/events"
        if not harmless:
            # One that was idle may have been closed meanwhile, which is seen only behind the request.
            self._connection.close()
        for attempt in range(self._attempts):
            if attempt:
                self._pause(min(LONGEST_PAUSE, wait))
            wait = float(2**attempt)
            is_sent = False
            try:
                if self._connection.sock is None:
                    self._connection.connect()
                is_sent = True
                response, said = self._answer(method, path, body, headers or {})
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                why = str(error) or type(error).__name__
                if is_sent and not harmless:
                    raise LogUnavailable(
                        f"{method} {path}: it may have been done: {why}"
                    ) from error
                continue
            if response.status < 400:
                return json.loads(said) if said else None
            refused = _refused(response.status, said)
            if response.status not in _AGAIN:
                raise refused
            why = str(refused)
            wait = _told(response.headers.get("Retry-After"), wait)
        raise LogUnavailable(f"{method} {path}: {why}")

    def _answer(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[http.client.HTTPResponse, bytes]:
        connection = self._connection
        try:
            connection.request(method, path, body, {**self._headers, **headers})
        except (ConnectionError, ssl.SSLError):
            # Whoever refuses a body need not read it to its end: why, is said already.
            response = connection.getresponse()
            said = response.read()
            connection.close()
            return response, said
        response = connection.getresponse()
        return response, response.read()


def _bodies(events: Sequence[Mapping[str, Any]]) -> Iterator[bytes]:
    """The events as batches that a service takes; one that is too large alone is for it to refuse."""
    batch: list[bytes] = []
    size = 0
    for event in events:
        spelled = json.dumps(event).encode()
        if batch and (len(batch) == LONGEST_BATCH or size + len(spelled) + 2 > LARGEST_BODY):
            yield _listed(batch)
            batch, size = [], 0
        batch.append(spelled)
        size += len(spelled) + 1  # And what stands before it: a comma, or the bracket.
    # Of no events, too, the service is to say what it thinks.
    yield _listed(batch)


def _listed(spelled: Sequence[bytes]) -> bytes:
    return b"[" + b",".join(spelled) + b"]"


def _told(again: str | None, usual: float) -> float:
    """How many seconds to wait, told as such or as a date; the usual ones where neither can be read."""
    if again is None:
        return usual
    if again.isascii() and again.isdigit():
        return float(again)
    try:
        return max(0.0, parsedate_to_datetime(again).timestamp() - time.time())
    except ValueError:
        return usual


def _of(fleet: str, what: str) -> str:
    return f"/v1/fleets/{quote(fleet, safe='')}/{what}"


def _refused(status: int, said: bytes) -> Refused:
    try:
        problem = json.loads(said)
        return Refused(status, problem["code"], problem["detail"])
    except (ValueError, KeyError, TypeError):
        return Refused(status, "unreadable", "the answer is not one of the ledger's")
