"""A service with more to do than it can: who is told to wait, and who is served all the same."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from ledger.api.guard import Gate, Guard
from ledger.api.readiness import READY_SECONDS
from ledger.cli.http_service import DESKS
from tests.api.calling import access, ask, standing
from tests.api.serving import BATCH, Answered
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line
from tests.postgres import Postgres

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.postgres]

LIMIT = 10


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(postgres: Postgres) -> AsyncIterator[str]:
    async with postgres.database() as own:
        yield own


async def send(app: Guard, fleet: str, first: int, count: int) -> Answered:
    lines = [cluster_line(number, fleet=fleet) for number in range(first, first + count)]
    body = b"[" + b",".join(lines) + b"]"
    return await ask(app, "POST", "/v1/events", body, {"content-type": BATCH})


async def test_a_service_whose_desks_are_all_in_use_is_ready(url: str) -> None:
    async with standing(url, Gate(access("ingest"))) as (app, behind), AsyncExitStack() as others:
        for _ in range(DESKS):
            await others.enter_async_context(behind.desks.one())

        async with asyncio.timeout(READY_SECONDS / 2):
            answers = await asyncio.gather(
                *(ask(app, "GET", "/readyz", token=None) for _ in range(20))
            )

    assert {(one.status, one.body) for one in answers} == {(200, b'{"status":"ok"}')}


async def test_a_batch_is_taken_if_there_is_room_for_all_of_it(url: str) -> None:
    async with standing(url, Gate(access("ingest")), most_undecided=LIMIT) as (app, _):
        first = await send(app, "full", 0, LIMIT - 1)
        refused = await send(app, "full", LIMIT - 1, 2)
        last = await send(app, "full", LIMIT - 1, 1)
        none = await send(app, "full", LIMIT, 1)
        beside = await send(app, "empty", 0, 1)

    assert [one.status for one in (first, last, beside)] == [200, 200, 200]
    assert [(one.status, one.code) for one in (refused, none)] == [(429, "backlog")] * 2
    assert refused.json["detail"] == (
        f"fleet full: {LIMIT - 1} events wait to be decided, and 2 more are above {LIMIT}"
    )


async def test_a_batch_larger_than_the_limit_is_taken_when_nothing_waits(url: str) -> None:
    async with standing(url, Gate(access("ingest")), most_undecided=LIMIT) as (app, _):
        first = await send(app, "large", 0, 3 * LIMIT)
        refused = await send(app, "large", 100, 3 * LIMIT)
        await decide_all(url)
        again = await send(app, "large", 100, 3 * LIMIT)

    assert [one.status for one in (first, again)] == [200, 200]
    assert (refused.status, refused.code) == (429, "backlog")


async def test_batches_that_come_together_find_room_one_after_the_other(url: str) -> None:
    async with standing(url, Gate(access("ingest")), most_undecided=LIMIT) as (app, _):
        answers = await asyncio.gather(
            *(send(app, "together", 100 * place, LIMIT - 1) for place in range(DESKS))
        )

    taken = [json.loads(one.body)["items"] for one in answers if one.status == 200]
    assert sum(map(len, taken)) == LIMIT - 1
    assert sorted(one.status for one in answers) == [200, *[429] * (DESKS - 1)]
