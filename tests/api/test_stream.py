"""Decisions as they are made: after a restore, among many listeners, and to whom they are told."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from ledger.api.access import Access
from ledger.api.guard import STREAMS_AT_ONCE, Gate, Guard, Limits
from ledger.api.stream import LOOK_SECONDS
from ledger.cli.http_service import READERS
from tests.api.calling import Exchange, access, ask, scope, standing
from tests.feeding import until
from tests.postgres import Postgres
from tests.restored_logs import by_the_signer, grow, recovered, restored
from tests.restoring import Restorable, restorable

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.postgres]

PATH = "/v1/fleets/test/decisions-stream"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def log(postgres: Postgres) -> AsyncIterator[Restorable]:
    """Two clusters and four workloads, decided."""
    async with restorable(postgres) as database:
        await grow(database, 1, 4)
        yield database


class Listening:
    """Who listens to a stream."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self._text = ""

    async def ids(self, count: int) -> list[str]:
        """Of the next events, which have to say which decision they tell."""
        return [one["id"] for one in await self.events(count)]

    async def events(self, count: int) -> list[dict[str, Any]]:
        """The next of them."""
        found: list[dict[str, Any]] = []
        async with asyncio.timeout(30):
            while len(found) < count:
                one, behind, rest = self._text.partition("\n\n")
                if not behind:
                    self._text += (await self.exchange.answer.get())["body"].decode()
                    continue
                self._text = rest
                said = dict(line.split(": ", 1) for line in one.splitlines())
                if said.get("event") == "decision":
                    data = json.loads(said["data"])
                    assert data["decision"] == f"test/{said['id']}"
                    found.append({"id": said["id"], "data": data})
        return found


@asynccontextmanager
async def listening(
    app: Guard, last: str | None = None, *, after: int | None = None
) -> AsyncIterator[Listening]:
    """A stream as long as the block runs."""
    headers = {} if last is None else {"Last-Event-ID": last}
    query = "" if after is None else f"?after={after}"
    exchange = Exchange(app, scope("GET", PATH + query, headers))
    running = asyncio.create_task(exchange.run())
    try:
        status, _ = await exchange.begun()
        assert status == 200
        yield Listening(exchange)
    finally:
        exchange.leave()
        await running


def reading(*, streams_at_once: int = STREAMS_AT_ONCE) -> Gate:
    return Gate(access("read"), Limits(streams_at_once=streams_at_once))


async def test_what_was_decided_in_another_life_is_told_to_whoever_saw_numbers_above_it(
    postgres: Postgres, tmp_path: Path
) -> None:
    async with restorable(postgres) as log:
        await grow(log, 1, 4)
        async with standing(log.url, reading()) as (app, _), listening(app, after=-1) as first:
            before = await first.ids(4)
        await restored(log, tmp_path)
        async with standing(log.url, reading()) as (app, _):
            async with listening(app, "1/6") as early:
                ahead = await early.ids(4)
                await recovered(log, by_the_signer(tmp_path))
                async with listening(app, "1/6") as waiting:
                    await grow(log, 5, 2)
                    told = await waiting.ids(2)
                early_too = await early.ids(2)
            async with listening(app, "1/6") as late:
                again = await late.ids(2)
            async with listening(app, "1/2") as kept:
                from_kept = await kept.ids(3)
            async with listening(app, "2/4") as within:
                from_within = await within.ids(1)
            async with listening(app, "9/2") as unknown:
                from_the_first_of_a_life = await unknown.ids(6)

    assert before == ["1/0", "1/1", "1/2", "1/3"]
    assert ahead == before
    assert told == again == early_too == ["2/4", "2/5"]
    assert from_kept == ["1/3", "2/4", "2/5"]
    assert from_within == ["2/5"]
    assert from_the_first_of_a_life == [*before, "2/4", "2/5"]


async def test_a_stream_begins_behind_what_there_is(log: Restorable) -> None:
    async with standing(log.url, reading()) as (app, _), AsyncExitStack() as open_:
        now = await open_.enter_async_context(listening(app))
        far = await open_.enter_async_context(listening(app, after=999))
        near = await open_.enter_async_context(listening(app, after=2))
        assert await near.ids(1) == ["1/3"]
        await grow(log, 5, 1)

        assert await now.ids(1) == await far.ids(1) == await near.ids(1) == ["1/4"]
        bare = await ask(app, "GET", PATH, headers={"Last-Event-ID": "3"})
    assert (bare.status, bare.code) == (422, "invalid_parameter")


async def test_there_is_room_for_so_many_streams_and_again_when_one_has_ended(
    log: Restorable,
) -> None:
    async with standing(log.url, reading(streams_at_once=2)) as (app, _):
        async with listening(app), listening(app):
            refused = await ask(app, "GET", PATH)
        async with listening(app, after=-1) as another:
            assert await another.ids(1) == ["1/0"]

    assert (refused.status, refused.code) == (503, "busy")
    assert int(refused.headers["retry-after"]) >= 1


async def test_one_caller_leaves_room_for_streams_of_others(log: Restorable) -> None:
    gate = Gate(
        Access((*access("read").tokens, *access("read", token="another").tokens)),
        Limits(streams_at_once=3, streams_of_one_caller=2),
    )
    async with standing(log.url, gate) as (app, _):
        async with listening(app), listening(app):
            refused = await ask(app, "GET", PATH)
            other = Exchange(app, scope("GET", PATH, token="another"))
            running = asyncio.create_task(other.run())
            assert (await other.begun())[0] == 200
            other.leave()
            await running
        async with listening(app, after=-1) as again:
            assert await again.ids(1) == ["1/0"]

    assert (refused.status, refused.code) == (503, "busy")
    assert b"of this caller" in refused.body


async def test_a_stream_outlives_that_all_readers_are_in_use(
    log: Restorable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ledger.api.connections.PATIENCE_SECONDS", 0.05)
    async with standing(log.url, reading()) as (app, behind), listening(app) as stream:
        async with AsyncExitStack() as others:
            for _ in range(READERS):
                await others.enter_async_context(behind.readers.one())
            refused = await ask(app, "GET", "/v1/fleets")
            assert (refused.status, refused.code) == (503, "busy")
        await grow(log, 6, 1)

        assert await stream.ids(1) == ["1/5"]


async def test_a_stream_ends_when_its_token_is_known_no_more(log: Restorable) -> None:
    gate = reading()
    async with standing(log.url, gate) as (app, _):
        kept = Exchange(app, scope("GET", PATH))
        running = asyncio.create_task(kept.run())
        assert (await kept.begun())[0] == 200
        gate.access = access("read", fleets=["test"])
        await asyncio.sleep(2 * LOOK_SECONDS)
        assert not running.done()
        gate.access = Access(())

        async def ended() -> bool:
            return running.done()

        await until(ended)
