"""Parts of a snapshot are unpacked beside their reading: in order, whole, and what is damaged is said."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from hashlib import sha256

import pytest

from ledger.errors import UnusableSnapshot
from ledger.log.snapshots import compressed, unpacked


async def one_by_one(parts: Sequence[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def lines(number: int) -> list[bytes]:
    """Of parts that differ much in size, so that a later one could be unpacked before an earlier one."""
    return [b"[%d,%d]\n" % (number, line) for line in range(1 if number % 2 else 50_000)]


async def test_what_was_packed_comes_out_in_order_and_a_digest_takes_in_all_of_it() -> None:
    told = [b"".join(lines(number)) for number in range(40)]
    whole = sha256()

    found = [some async for some in unpacked(one_by_one([*map(compressed, told)]), whole)]

    assert found == [lines(number) for number in range(40)]
    assert whole.digest() == sha256(b"".join(told)).digest()


async def test_a_line_may_be_in_two_parts_and_one_that_only_began_is_none() -> None:
    parts = [compressed(part) for part in (b"[1]\n[", b"2]", b"\n[3]\n[4")]

    found = [some async for some in unpacked(one_by_one(parts))]

    assert found == [[b"[1]\n"], [], [b"[2]\n", b"[3]\n"]]
    assert [some async for some in unpacked(one_by_one([]))] == []


@pytest.mark.parametrize("damaged", [0, 1, 2])
async def test_a_damaged_part_is_said_once_those_before_it_were_read(damaged: int) -> None:
    parts = [compressed(b"[%d]\n" % number) for number in range(3)]
    parts[damaged] = parts[damaged][:-3]
    found: list[bytes] = []

    async def read() -> None:
        async for some in unpacked(one_by_one(parts)):
            found.extend(some)

    with pytest.raises(UnusableSnapshot):
        await read()
    assert found == [b"[%d]\n" % number for number in range(damaged)]


async def test_whoever_stops_reading_leaves_nothing_behind(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Not even the complaint about a damaged part that he did not come to."""
    parts = [compressed(b"[1]\n"), b"damaged"]
    reading = unpacked(one_by_one(parts))

    assert await anext(reading) == [b"[1]\n"]
    await reading.aclose()
    await asyncio.sleep(0)

    assert not caplog.records
