"""A partition that was silent for a while shows its last record before more is taken from it."""

import asyncio
import time

import pytest

from ledger.units import FleetName
from tests.consumers.fakes import Books, Broker, Partition, consuming
from tests.feeding import FLEET

STALL: dict[str, float] = {"kafka_stall_seconds": 2}
"""A quarter of it is how long a partition may be silent and be believed."""

QUIET = 0.5


async def test_a_quiet_partition_that_is_made_anew_stops_however_busy_the_others_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, books = Broker(2), Books()
    broker[0].write(5)
    broker[1].endless = True
    books.slow = lambda _claim: 0.01

    async with consuming(monkeypatch, broker, books, **STALL) as running:
        await running.until(lambda _totals: books.through(0) == 5)
        await _make_anew(broker[0])
        await running.until(lambda _totals: bool(books.halts), seconds=10)

    assert [(number, reason) for number, reason, _ in books.halts] == [(0, "topic_recreated")]
    assert books.through(0) == 5
    assert books.through(1) > 5


async def test_a_quiet_partition_shows_its_last_record_however_busy_the_others_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, books = Broker(2), Books()
    broker[0].write(5)
    broker[1].endless = True
    books.slow = lambda _claim: 0.01

    async with consuming(monkeypatch, broker, books, **STALL) as running:
        await running.until(lambda totals: totals.proven == 3, seconds=10)

    assert books.halts == []


async def test_what_waits_behind_a_frozen_process_is_not_taken_on_trust(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, books = Broker(1), Books()
    broker[0].write(5)

    def freeze() -> None:
        """Nothing of the process moves, with the answer in its hands."""
        broker.on_reading = lambda: None
        time.sleep(2 * QUIET)

    async with consuming(monkeypatch, broker, books, **STALL) as running:
        await running.until(lambda _totals: books.through(0) == 5)
        broker[0].make_anew(20)
        broker.on_reading = freeze
        await running.until(lambda _totals: bool(books.halts), seconds=10)

    assert [(number, reason) for number, reason, _ in books.halts] == [(0, "topic_recreated")]
    assert books.through(0) == 5


async def test_a_topic_made_anew_behind_a_slow_batch_stops_behind_that_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, books = Broker(1), Books()
    broker[0].write(5)
    books.slow = lambda _claim: 6 * QUIET

    async with consuming(monkeypatch, broker, books, **STALL) as running:
        await running.until(lambda totals: totals.adopted == 1)
        await asyncio.sleep(QUIET)
        await _make_anew(broker[0])
        await running.until(lambda _totals: bool(books.halts), seconds=10)

    assert [(number, reason) for number, reason, _ in books.halts] == [(0, "topic_recreated")]
    # What was read before is in the log all the same: it is nowhere else any more.
    assert [(batch.first, batch.last) for batch in books.taken] == [(0, 4)]


async def test_records_that_follow_a_silence_are_taken_once_the_one_before_is_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, books = Broker(2), Books()
    broker[0].write(5)
    broker[1].endless = True

    async with consuming(monkeypatch, broker, books, **STALL) as running:
        await running.until(lambda _totals: books.through(0) == 5)
        await asyncio.sleep(3 * QUIET)
        broker[0].write(20)
        await running.until(lambda _totals: books.through(0) == 25, seconds=10)
        totals = await running.end()

    assert totals.proven >= 1
    assert totals.redelivered == 0
    assert books.halts == []


async def test_a_partition_that_waited_for_a_decider_shows_its_last_record_when_it_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, books = Broker(1), Books()
    broker[0].write(5)
    books.behind = {FleetName(FLEET): 1000}

    async with consuming(monkeypatch, broker, books, undecided_limit=4, **STALL) as running:
        await running.until(lambda totals: totals.held == 1)
        await asyncio.sleep(2 * QUIET)
        broker[0].make_anew(20)
        books.behind = {}
        await running.until(lambda _totals: bool(books.halts), seconds=10)

    assert [(number, reason) for number, reason, _ in books.halts] == [(0, "topic_recreated")]
    assert books.through(0) == 5


async def _make_anew(partition: Partition) -> None:
    """As it goes with a real broker: for a while there is nothing to read, not even an end."""
    partition.led = False
    await asyncio.sleep(2 * QUIET)
    partition.make_anew(20)
    partition.led = True
