"""A batch, and what is asked for at once, are bounded by bytes and not by records alone."""

from typing import Any

import pytest

from consumers import portions
from tests.consumers.fakes import HEADERS, Books, Broker, Client, Record, consuming, part

LARGE = 64 * 1024


def record(offset: int, size: int) -> Record:
    return Record(offset, 1, None, b"x" * size, HEADERS)


async def test_no_batch_of_large_events_is_larger_than_its_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, books = Broker(2), Books()
    broker[0].write(300, padding=LARGE)
    broker[1].write(300)

    async with consuming(monkeypatch, broker, books) as running:
        await running.until(lambda totals: totals.records == 600)

    assert max(batch.size for batch in books.taken) <= portions.BATCH_BYTES
    assert [batch.first for batch in books.taken if batch.partition == 0] != [0]
    assert books.halts == []


async def test_not_much_more_than_a_batch_is_in_hand_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, books = Broker(1), Books()
    broker[0].write(1000, padding=LARGE)
    handed = 0
    getmany = Client.getmany

    async def counting(client: Client, *partitions: Any, **wishes: Any) -> Any:
        nonlocal handed
        answer = await getmany(client, *partitions, **wishes)
        handed += sum(len(r.value or b"") for records in answer.values() for r in records)
        taken = sum(batch.size for batch in books.taken)
        in_hand.append(handed - taken)
        return answer

    in_hand: list[int] = []
    monkeypatch.setattr(Client, "getmany", counting)
    books.slow = lambda _claim: 0.05

    async with consuming(monkeypatch, broker, books) as running:
        await running.until(lambda totals: totals.records == 1000)

    # One batch is written, one is judged, and one is on its way from the client.
    assert max(in_hand) <= 4 * portions.BATCH_BYTES


async def test_small_events_fill_a_batch_by_their_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, books = Broker(1), Books()
    broker[0].write(1000)

    async with consuming(monkeypatch, broker, books, kafka_batch=400) as running:
        await running.until(lambda totals: totals.records == 1000)

    assert [batch.last + 1 - batch.first for batch in books.taken] == [400, 400, 200]


async def test_an_error_in_a_later_bite_loses_nothing_of_the_earlier_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, books = Broker(1), Books()
    broker[0].write(5 * portions.BITE)
    broker[0].broken[3 * portions.BITE + 1] = ValueError("it is spoiled")

    async with consuming(monkeypatch, broker, books) as running:
        await running.until(lambda totals: totals.halted == 1)

    assert books.through(0) == 3 * portions.BITE + 1
    assert [batch.first for batch in books.taken] == [
        0,
        *(batch.last + 1 for batch in books.taken[:-1]),
    ]


def test_records_are_cut_where_the_next_would_be_too_much() -> None:
    records = [record(offset, 3) for offset in range(5)]
    weight = portions.weight(records[0])

    cut = list(portions.cut(records, at=2 * weight))

    assert [[r.offset for r in portion] for portion in cut] == [[0, 1], [2, 3], [4]]


def test_a_record_larger_than_a_batch_is_a_batch_of_its_own() -> None:
    records = [record(0, 1), record(1, 1000), record(2, 1)]

    cut = list(portions.cut(records, at=100))

    assert [[r.offset for r in portion] for portion in cut] == [[0], [1], [2]]


async def test_a_bite_is_no_larger_than_what_is_left_of_the_wish() -> None:
    broker = Broker(1)
    broker[0].write(portions.BITE + 10)
    client = broker.client(None)
    client.seek(part(0), 0)

    found = await portions.gathered(client, [part(0)], most=portions.BITE + 3, wait_ms=10)

    assert len(found.records[part(0)]) == portions.BITE + 3
    assert found.weight == sum(map(portions.weight, broker[0].records[: portions.BITE + 3]))
