"""Reads that many want at once are shared, and none is older than who asked."""

import asyncio

import pytest

from ledger.api.sharing import Shared


class Slow:
    """What is read, at the reader's pace: the number of the read."""

    def __init__(self) -> None:
        self.begun = asyncio.Semaphore(0)
        self.numbers = 0
        self.goes_on = asyncio.Event()

    async def read(self, _: str) -> int:
        self.numbers += 1
        number = self.numbers
        self.begun.release()
        await self.goes_on.wait()
        if number == 3:
            raise OSError("nobody is there")
        return number


@pytest.mark.asyncio
async def test_who_comes_while_one_is_under_way_shares_the_next() -> None:
    slow = Slow()
    shared = Shared(slow.read)
    first = [asyncio.create_task(shared.get("a")) for _ in range(3)]
    await slow.begun.acquire()
    later = [asyncio.create_task(shared.get("a")) for _ in range(3)]
    await asyncio.sleep(0)
    slow.goes_on.set()

    assert await asyncio.gather(*first, *later) == [1, 1, 1, 2, 2, 2]
    with pytest.raises(OSError, match="nobody is there"):
        await shared.get("a")
    assert await shared.get("a") == 4


@pytest.mark.asyncio
async def test_each_thing_is_read_by_itself_and_who_leaves_leaves_the_others() -> None:
    slow = Slow()
    shared = Shared(slow.read)
    gone, stays, other = [asyncio.create_task(shared.get(key)) for key in ("a", "a", "b")]
    for _ in range(2):
        await slow.begun.acquire()
    gone.cancel()
    slow.goes_on.set()

    assert sorted(await asyncio.gather(stays, other)) == [1, 2]


@pytest.mark.asyncio
async def test_who_waits_at_the_end_is_told() -> None:
    slow = Slow()
    shared = Shared(slow.read)
    waits = asyncio.create_task(shared.get("a"))
    await slow.begun.acquire()

    await shared.close()

    with pytest.raises(asyncio.CancelledError):
        await waits


@pytest.mark.asyncio
async def test_who_waits_at_the_end_is_told_also_where_nothing_was_begun() -> None:
    shared = Shared(Slow().read)
    waits = asyncio.create_task(shared.get("a"))
    await asyncio.sleep(0)

    await shared.close()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(waits, 5.0)


@pytest.mark.asyncio
async def test_a_read_that_is_given_up_by_itself_gives_up_who_waits() -> None:
    async def read(_: str) -> int:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await Shared(read).get("a")
