"""For which fleets a partition waits: those that come by it, and not those that once did."""

import asyncio
from typing import Any

import pytest
from aiokafka import TopicPartition

from consumers import custody
from consumers.custody import Custody
from consumers.topic import Topic
from ledger.log.messages import Claim
from ledger.units import FleetName, Offset
from tests.consumers.fakes import Books, Broker, consuming

ALPHA, BETA = FleetName("alpha"), FleetName("beta")


def in_custody(**fields: Any) -> Custody:
    at = TopicPartition("t", 0)
    return Custody(
        at=at,
        topic=Topic("t", frozenset()),
        claim=Claim("t", 0, 1),
        receipt=None,
        taken_to=None,
        recovered=False,
        proof=None,
        wanted=Offset(0),
        state="reading",
        gulp=1,
        heard=0,
        **fields,
    )


async def test_a_fleet_that_went_elsewhere_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(custody, "REMEMBERED_SECONDS", 1.0)
    broker, books = Broker(2), Books()
    broker[0].write(5)
    limit = {"undecided_limit": 20}

    async with consuming(monkeypatch, broker, books, **limit) as running:
        await running.until(lambda _totals: books.through(0) == 5)
        await asyncio.sleep(1.2)
        # From here on all of it comes by the other partition, and nobody decides it.
        books.behind = {ALPHA: 100}
        broker[1].write(100)
        await running.until(lambda totals: totals.held == 1)
        broker[0].write(100, fleet="beta")
        await running.until(lambda _totals: books.through(0) == 105, seconds=10)
        totals = await running.end()

    assert totals.held == 1


async def test_once_a_partition_goes_on_it_waits_only_for_those_that_still_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, books = Broker(2), Books()
    broker[0].write(30)
    books.behind = {ALPHA: 100}

    async with consuming(monkeypatch, broker, books, undecided_limit=20) as running:
        await running.until(lambda totals: totals.held == 1)
        books.behind = {}
        broker[0].write(30, fleet="beta")
        await running.until(lambda _totals: books.through(0) == 60)
        # Behind again, but by another partition: nothing of it has come by this one since.
        books.behind = {ALPHA: 100}
        broker[1].write(30)
        await running.until(lambda totals: totals.held == 2)
        broker[0].write(30, fleet="beta")
        await running.until(lambda _totals: books.through(0) == 90, seconds=10)
        totals = await running.end()

    assert totals.held == 2


def test_a_partition_that_waits_forgets_nobody() -> None:
    waiting = in_custody()
    waiting.saw({ALPHA}, now=0)
    waiting.saw({BETA}, now=500)

    waiting.held = True
    assert waiting.feeds(now=custody.REMEMBERED_SECONDS + 400) == {ALPHA, BETA}
    waiting.held = False
    assert waiting.feeds(now=custody.REMEMBERED_SECONDS + 400) == {BETA}


def test_what_is_remembered_of_fleets_is_bounded_by_those_that_still_come() -> None:
    busy = in_custody()
    for now in range(10_000):
        busy.saw({ALPHA, FleetName(f"fleet-{now}")}, now=now)

    assert len(busy.fleets) == custody.REMEMBERED_SECONDS + 2
    assert ALPHA in busy.fleets
    assert FleetName("fleet-0") not in busy.fleets
