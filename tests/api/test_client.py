"""A client before a service that does not answer as it should: what is asked again, and what is not."""

import json
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from threading import Thread
from typing import Final

import pytest

from ledger import client
from ledger.api.guard import EVENTS
from ledger.api.intake import LONGEST_BATCH
from ledger.client import Client, Refused
from ledger.errors import LogUnavailable

OK: Final[dict[str, object]] = {"items": [], "next": None, "id": "1", "ended_at": "now"}


def answer(status: str, body: object = OK, *headers: str) -> bytes:
    """One answer, whose connection stays open."""
    said = json.dumps(body).encode()
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(said)}", *headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + said


BUSY = {"code": "busy", "detail": "come again"}


@contextmanager
def answering(answers: Sequence[bytes]) -> Iterator[tuple[str, list[bytes]]]:
    """A service that gives these, one after the other; it hangs up where one is empty."""
    asked: list[bytes] = []

    def serve(listening: socket.socket) -> None:
        connection = None
        for said in answers:
            while True:
                if connection is None:
                    connection, _ = listening.accept()
                came = connection.recv(65536)
                if came:
                    break
                connection.close()
                connection = None
            if came.startswith(b"POST") and came.endswith(b"\r\n\r\n"):
                connection.recv(65536)
            asked.append(came.partition(b" HTTP")[0])
            if said:
                connection.sendall(said)
            else:
                connection.close()
                connection = None
        if connection is not None:
            connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(10)
        thread = Thread(target=serve, args=(listening,))
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", asked
        thread.join()


def test_a_question_and_events_are_sent_again_into_another_connection() -> None:
    answers = [b"", answer("200 OK"), b"", answer("200 OK")]
    with answering(answers) as (url, asked), Client(url, pause=lambda _: None) as ledger:
        assert list(ledger.incidents()) == []
        assert ledger.send([{}]) == []

    assert asked == [b"GET /v1/incidents"] * 2 + [b"POST /v1/events"] * 2


def test_what_a_service_says_before_it_hangs_up_on_a_body_is_heard() -> None:
    too_large = {"code": "too_large", "detail": "a body has at most 8 bytes here"}
    said = answer("413 Content Too Large", too_large, "Connection: close")

    def refuse(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(1024)
            connection.sendall(said)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(10)
        thread = Thread(target=refuse, args=(listening,))
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with Client(url, pause=lambda _: None) as ledger, pytest.raises(Refused) as refused:
            ledger.send([{"id": "x" * 40 * 1024 * 1024}])
        thread.join()

    assert (refused.value.status, refused.value.code) == (413, "too_large")


def test_events_go_in_as_few_requests_as_the_service_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[bytes] = []

    def noted(_: Client, method: str, path: str, body: bytes, *_more: object) -> object:
        assert (method, path) == ("POST", "/v1/events")
        asked.append(body)
        return {"items": [{"outcome": event["id"]} for event in json.loads(body)]}

    monkeypatch.setattr(Client, "_ask", noted)
    assert (LONGEST_BATCH, EVENTS.largest) == (client.LONGEST_BATCH, client.LARGEST_BODY)
    exact = json.dumps([{"id": "a"}, {"id": "b"}, {"id": "c"}], separators=(",", ":"))
    spelled = exact.replace(":", ": ").encode()
    monkeypatch.setattr(client, "LARGEST_BODY", len(spelled))

    with Client("http://nowhere") as ledger:
        told = ledger.send([{"id": name} for name in "abcdefg"])
        large = ledger.send([{"id": "a"}, {"id": "x" * 100}, {"id": "b"}])
        none = ledger.send([])
        many = ledger.send([{"id": str(n % 10)} for n in range(5)])

    assert [one.outcome for one in told] == list("abcdefg")
    assert [one.outcome for one in large] == ["a", "x" * 100, "b"]
    assert (none, len(many)) == ([], 5)
    assert asked[0] == spelled, "a body may be exactly so large"
    assert [len(json.loads(body)) for body in asked] == [3, 3, 1, 1, 1, 1, 0, 3, 2]


def test_no_request_has_more_events_than_the_service_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LONGEST_BATCH", 2)
    answers = [answer("200 OK")] * 3
    with answering(answers) as (url, asked), Client(url) as ledger:
        assert ledger.send([{}] * 5) == []

    assert asked == [b"POST /v1/events"] * 3


def test_what_may_have_been_done_is_not_sent_again() -> None:
    with answering([b"", b""]) as (url, asked), Client(url, pause=lambda _: None) as ledger:
        with pytest.raises(LogUnavailable, match="it may have been done"):
            ledger.replay("shop")
        with pytest.raises(LogUnavailable, match="it may have been done"):
            ledger.release(1, why="fixed")

    assert asked == [b"POST /v1/fleets/shop/jobs", b"POST /v1/quarantine/1/release"]


def test_a_connection_that_was_closed_while_it_was_idle_costs_no_job() -> None:
    answers = [answer("200 OK"), answer("202 Accepted")]
    with answering(answers) as (url, asked), Client(url, pause=lambda _: None) as ledger:
        assert list(ledger.incidents()) == []
        assert ledger.replay("shop") == OK

    assert len(asked) == 2


def test_where_nobody_listens_everything_is_tried_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    pauses: list[float] = []

    with Client(url, pause=pauses.append) as ledger, pytest.raises(LogUnavailable):
        ledger.replay("shop")

    assert len(pauses) == 5


@pytest.mark.parametrize(
    ("told", "least", "most"),
    [
        ("7", 7, 7),
        (format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True), 30, 30),
        (format_datetime(datetime.now(UTC) - timedelta(seconds=20), usegmt=True), 0, 0),
        ("soon", 1, 1),
        ("-3", 1, 1),
        ("nan", 1, 1),
    ],
)
def test_how_long_to_wait_is_told_in_seconds_or_as_a_date(
    told: str, least: float, most: float
) -> None:
    pauses: list[float] = []
    busy = answer("503 Service Unavailable", BUSY, f"Retry-After: {told}")
    with (
        answering([busy, answer("200 OK")]) as (url, _),
        Client(url, pause=pauses.append) as ledger,
    ):
        ledger.replay("shop")

    (pause,) = pauses
    assert least <= pause <= most
