"""Taking partitions over while some of them cannot be asked where they begin and end."""

import asyncio
from itertools import pairwise

import pytest

from consumers import reach
from ledger.log.messages import digest_of
from ledger.log.receipts import Receipt
from ledger.units import Offset
from tests.consumers.fakes import Books, Broker, consuming


async def test_a_partition_without_a_leader_keeps_none_of_its_topic_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, books = Broker(2), Books()
    broker[0].led = False
    broker[1].endless = True

    async with consuming(monkeypatch, broker, books) as running:
        await running.until(lambda _totals: books.through(1) > 0, seconds=3)
        await asyncio.sleep(7)
        await running.end()

    times = [batch.at for batch in books.taken]
    # Who waited for a lookup would have waited for all of its patience.
    longest = max(later - sooner for sooner, later in pairwise(times))
    assert longest < reach.LOOKUP_SECONDS / 2


async def test_no_epoch_is_opened_for_a_partition_that_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, books = Broker(2), Books()
    broker[0].led = False
    broker[0].write(10)
    broker[1].write(10)

    async with consuming(monkeypatch, broker, books) as running:
        await asyncio.sleep(6)
        assert books.epochs == {1: 1}
        broker[0].led = True
        await running.until(lambda _totals: books.through(0) == 10)

    assert books.epochs == {0: 1, 1: 1}
    assert books.through(1) == 10


async def test_what_another_took_while_we_were_asking_is_no_loss(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, books = Broker(1), Books()
    broker[0].write(5)

    def took_more(_partition: int) -> None:
        """Between our question and our epoch, ten more records are written and taken."""
        if not books.epochs:
            broker[0].write(10)
            last = broker[0].records[-1]
            digest = digest_of(last.key, last.value, last.headers)
            books.receipts[0] = Receipt(0, Offset(15), last.timestamp, digest)

    books.before_adopting = took_more

    async with consuming(monkeypatch, broker, books) as running:
        await running.until(lambda totals: totals.proven == 1)
        broker[0].write(5)
        await running.until(lambda _totals: books.through(0) == 20)

    assert books.halts == []
    assert [(batch.first, batch.last) for batch in books.taken] == [(15, 19)]


async def test_an_end_before_what_was_taken_halts_after_it_was_asked_for_under_our_epoch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, books = Broker(1), Books()
    broker[0].write(5)
    books.receipts[0] = Receipt(0, Offset(15), 1, b"")

    async with consuming(monkeypatch, broker, books) as running:
        await running.until(lambda totals: totals.halted == 1)

    assert [(number, reason) for number, reason, _ in books.halts] == [(0, "offset_regression")]
    assert books.epochs == {0: 1}
    assert books.taken == []
