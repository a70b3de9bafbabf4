"""A client is replaced when it is silent and another is not, and for nothing else."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from aiokafka import TopicPartition

from consumers import reach
from ledger.errors import LogUnavailable
from tests.consumers.fakes import Books, Broker, consuming, part

STALL: dict[str, Any] = {"kafka_stall_seconds": 1}


async def test_a_client_that_cannot_say_where_its_partitions_begin_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, books = Broker(2), Books()
    broker[0].write(10)
    broker[1].write(10)
    broker.stuck = lambda client, _at: client == 1

    async with consuming(monkeypatch, broker, books, **STALL) as running:
        await running.until(lambda totals: totals.stalled == 1)
        await running.until(lambda totals: totals.records == 20)

    assert broker.clients == 2


async def test_a_partition_without_a_leader_is_not_the_clients_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, books = Broker(2), Books()
    broker[0].led = False
    broker[1].write(10)

    async with consuming(monkeypatch, broker, books, **STALL) as running:
        await running.until(lambda totals: totals.records == 10)
        await asyncio.sleep(8)
        broker[0].write(10)
        broker[0].led = True
        await running.until(lambda totals: totals.records == 20)
        totals = await running.end()

    assert totals.stalled == 0
    assert broker.clients == 1


async def test_a_log_that_is_away_is_not_the_clients_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, books = Broker(1), Books()
    broker[0].write(10)

    async def away() -> None:
        raise LogUnavailable("it is away")

    books.opening = away

    async with consuming(monkeypatch, broker, books, **STALL) as running:
        await running.until(lambda totals: totals.log_lost >= 6)
        totals = await running.end()

    assert totals.stalled == 0


async def test_one_silent_partition_without_a_leader_does_not_hide_another_that_is_stuck(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, books = Broker(3), Books()
    for number in range(3):
        broker[number].write(5)
    broker[2].endless = True

    async with consuming(monkeypatch, broker, books, **STALL) as running:
        await running.until(lambda totals: totals.adopted == 3 and totals.records > 15)
        broker[0].led = False
        broker.stuck = lambda client, at: client == 1 and at == part(1)
        broker[1].write(5)
        await running.until(lambda totals: totals.stalled == 1, seconds=20)
        await running.until(lambda _totals: books.through(1) == 10)
        await running.end()

    times = [batch.at for batch in books.taken if batch.partition == 2]
    # The question to another client keeps nobody waiting; only the new client begins anew.
    gaps = sorted(later - sooner for sooner, later in pairwise(times))
    assert gaps[-2] < reach.LOOKUP_SECONDS / 2


async def test_a_slow_log_is_not_the_clients_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    broker, books = Broker(2), Books()
    broker[0].write(1)
    books.slow = lambda claim: 3 if claim.partition == 1 else 0

    async with consuming(monkeypatch, broker, books, kafka_batch=1, **STALL) as running:
        await running.until(lambda totals: totals.records == 1)
        broker[0].write(2)
        broker[1].write(3)
        await running.until(lambda totals: totals.records == 6)
        totals = await running.end()

    assert totals.stalled == 0


async def test_what_comes_while_another_client_is_asked_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, books = Broker(2), Books()
    books.slow = lambda claim: 3 if claim.partition == 1 else 0

    async def busy_meanwhile(client: int, at: TopicPartition) -> None:
        """The log is kept busy by the other partition when this one gets its first record."""
        if client == 0 and at == part(0) and not broker[1].records:
            broker[1].write(3)
            await asyncio.sleep(0.5)
            broker[0].write(1)

    broker.on_asking = busy_meanwhile
    async with consuming(monkeypatch, broker, books, kafka_batch=1, **STALL) as running:
        await running.until(lambda totals: totals.records == 4)
        totals = await running.end()

    assert totals.stalled == 0
