"""What is let in: how many bodies, how large, and none where nobody is asked who they are."""

import asyncio
from contextlib import suppress
from dataclasses import replace

import pytest

from ledger.api.guard import (
    EVENTS,
    LARGEST_HEAD,
    LINGER,
    REVIEWS,
    Gate,
    Guard,
    Limits,
    Patience,
    Receive,
    Scope,
    Send,
)
from tests.api.calling import Exchange, access, ask, scope

ADMISSION = "/admission/v1/mutate"


async def echo(_: Scope, receive: Receive, send: Send) -> None:
    """An application that says how much it was handed."""
    body = (await receive())["body"]
    length = str(len(body)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(length))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": length})


def guard(limits: Limits | None = None) -> Guard:
    return Guard(echo, Gate(access("ingest", "admission"), limits or Limits()))


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/openapi.json"])
async def test_a_body_is_not_waited_for_where_nobody_is_asked_who_they_are(path: str) -> None:
    stranger = Exchange(guard(), scope("POST", path, {"content-length": "10"}, token=None))

    async with asyncio.timeout(5):
        await stranger.run()

    status, headers = await stranger.begun()
    assert (status, await stranger.rest()) == (200, b"0")
    assert headers["connection"] == "close"


@pytest.mark.parametrize("path", ["/livez", "/v1/fleets"])
async def test_an_address_and_headers_have_their_size_and_no_more(path: str) -> None:
    def sized(size: int) -> dict[str, str]:
        plain = scope("GET", path)["headers"]
        used = len(path) + sum(len(name) + len(value) + 4 for name, value in plain) + len("x") + 4
        return {"x": "y" * (size - used)}

    fits = await ask(guard(), "GET", path, headers=sized(LARGEST_HEAD))
    refused = await ask(guard(), "GET", path, headers=sized(LARGEST_HEAD + 1))

    assert fits.status == 200
    assert (refused.status, refused.code) == (431, "too_large")


async def test_strangers_take_no_room_from_events() -> None:
    app = guard(Limits(events=replace(EVENTS, at_once=1)))
    strangers = [
        Exchange(app, scope("POST", "/livez", {"content-length": "10"}, token=None))
        for _ in range(3)
    ]
    waiting = [asyncio.create_task(one.run()) for one in strangers]
    await asyncio.wait(waiting, timeout=5)

    sent = await ask(app, "POST", "/v1/events", b"[]")

    for one in waiting:
        one.cancel()
        with suppress(asyncio.CancelledError):
            await one
    assert (sent.status, sent.body) == (200, b"2")


@pytest.mark.parametrize(("path", "token"), [("/v1/events", "token"), ("/v1/events", "wrong")])
async def test_what_is_refused_unread_is_answered_first_and_then_read_to_its_end(
    path: str, token: str
) -> None:
    large = str(EVENTS.largest + 1)
    sender = Exchange(guard(), scope("POST", path, {"content-length": large}, token=token))
    running = asyncio.create_task(sender.run())

    status, headers = await sender.begun()
    said = await sender.answer.get()
    for more in (True, True, False):
        assert not running.done()
        sender.give(b" " * 1024, more=more)
        await asyncio.sleep(0)
    await running

    assert status == (413 if token == "token" else 401)
    assert headers["connection"] == "close"
    assert (len(said["body"]), said["more_body"]) == (int(headers["content-length"]), True)
    assert await sender.rest() == b""
    assert sender.parts.empty()


@pytest.mark.parametrize(
    "linger",
    [replace(LINGER, size=10), replace(LINGER, seconds=0.01), replace(LINGER, silent_seconds=0.01)],
)
async def test_who_is_answered_and_sends_on_for_ever_is_not_listened_to_for_ever(
    linger: Patience,
) -> None:
    large = {"content-length": str(EVENTS.largest + 1)}
    sender = Exchange(guard(Limits(linger=linger)), scope("POST", "/v1/events", large))
    for _ in range(10):
        sender.give(b" ", more=True)

    async with asyncio.timeout(5):
        await sender.run()

    assert (await sender.begun())[0] == 413
    assert await sender.rest() != b""


async def test_a_review_is_smaller_than_events_may_be() -> None:
    body = b" " * (REVIEWS.largest + 1)

    review = await ask(guard(), "POST", ADMISSION, body)
    events = await ask(guard(), "POST", "/v1/events", body)

    assert (review.status, review.code) == (413, "too_large")
    assert str(REVIEWS.largest) in review.json["detail"]
    assert events.status == 200


async def test_reviews_take_so_much_memory_together_and_no_more() -> None:
    app = guard(Limits(reviews=replace(REVIEWS, total=100)))
    unfinished = Exchange(app, scope("POST", ADMISSION, {"content-length": "80"}))
    unfinished.give(b" " * 70, more=True)
    first = asyncio.create_task(unfinished.run())
    await asyncio.sleep(0)

    refused = await ask(app, "POST", ADMISSION, b" " * 40)
    small = await ask(app, "POST", ADMISSION, b" " * 20)
    unfinished.give(b" " * 10)
    await first
    later = await ask(app, "POST", ADMISSION, b" " * 40)

    assert (refused.status, refused.code) == (503, "busy")
    assert (small.status, later.status) == (200, 200)
    assert (await unfinished.begun())[0] == 200


async def test_so_many_bodies_come_at_once_and_no_more() -> None:
    app = guard(Limits(reviews=replace(REVIEWS, at_once=1)))
    slow = Exchange(app, scope("POST", ADMISSION, {"content-length": "2"}))
    first = asyncio.create_task(slow.run())
    await asyncio.sleep(0)

    refused = await ask(app, "POST", ADMISSION, b"{}")
    other = await ask(app, "POST", "/v1/events", b"[]")
    slow.leave()
    await first
    later = await ask(app, "POST", ADMISSION, b"{}")

    assert (refused.status, refused.code) == (503, "busy")
    assert (other.status, later.status) == (200, 200)
