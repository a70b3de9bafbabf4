"""Lines out of bytes: where they are cut, and what is kept of one that is too long."""

import asyncio
import io
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.events.strict_json import LARGEST_DOCUMENT
from ledger.log import lines
from ledger.log.lines import LONGEST_LINE, Arriving, AtHand, Line, TooLong

MIB = 1024 * 1024


async def all_of(source: Arriving | AtHand, most: int = 1000) -> AsyncIterator[Line]:
    while not source.ended:
        for line in await source.take(most):
            yield line


async def from_file(content: bytes) -> list[Line]:
    return [line async for line in all_of(AtHand(io.BytesIO(content)))]


async def from_pipe(content: bytes) -> list[Line]:
    reading, writing = os.pipe()

    def pour() -> None:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(content)

    pouring = asyncio.create_task(asyncio.to_thread(pour))
    found = [line async for line in all_of(Arriving(reading))]
    await pouring
    os.close(reading)
    return found


Read = Callable[[bytes], Awaitable[list[Line]]]
WAYS = pytest.mark.parametrize("read", [from_file, from_pipe])


@given(content=st.binary(max_size=40), sizes=st.lists(st.integers(1, 5)))
def test_it_does_not_show_how_the_bytes_arrived(content: bytes, sizes: list[int]) -> None:
    cut = lines.Cutter()
    found: list[Line] = []
    rest = content

    for size in sizes:
        found += cut.add(rest[:size])
        rest = rest[size:]
    found += cut.add(rest)
    found += cut.end()

    assert found == list(io.BytesIO(content))


@WAYS
async def test_a_line_that_is_too_long_leaves_its_head_its_length_and_its_digest(
    read: Read,
) -> None:
    long = os.urandom(LONGEST_LINE + 3 * MIB).replace(b"\n", b" ")

    found = await read(b"first\n" + long + b"\nlast")

    assert found == [
        b"first\n",
        TooLong(long[:LONGEST_LINE], len(long), sha256(long).hexdigest()),
        b"last",
    ]


@WAYS
async def test_the_longest_line_is_kept_whole(
    read: Read,
) -> None:
    longest = b"x" * LONGEST_LINE

    assert await read(longest + b"\n" + longest) == [longest + b"\n", longest]
    assert await read(longest + b"yz") == [
        TooLong(longest, len(longest) + 2, sha256(longest + b"yz").hexdigest())
    ]


def test_the_head_of_a_line_can_never_pass_for_a_whole_one() -> None:
    assert LONGEST_LINE > LARGEST_DOCUMENT


async def test_a_batch_of_large_lines_has_few() -> None:
    source = AtHand(io.BytesIO((b"x" * MIB + b"\n") * 20))

    first = await source.take(1000)

    assert 0 < len(first) <= lines.BATCH_BYTES // MIB
    assert len([line async for line in all_of(source)]) == 20 - len(first)


POURED = 256 * MIB

READING = """
import asyncio, resource, sys
from ledger.log.lines import Arriving, AtHand

async def main():
    source = Arriving(0) if sys.argv[1] == "pipe" else AtHand(open(0, "rb"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    turns = 0

    async def others():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(others())
    found = []
    while not source.ended:
        found += await source.take(1000)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(len(found), found[0].length, found[1].decode(), grown, turns)

asyncio.run(main())
"""


@pytest.mark.parametrize("way", ["pipe", "file"])
def test_a_line_that_does_not_end_takes_neither_memory_nor_the_others_turns(
    way: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", READING, way]
    if way == "file":
        sparse = tmp_path / "zeros"
        with sparse.open("wb") as file:
            file.truncate(POURED)
            file.seek(POURED)
            file.write(b"\nend")
        with sparse.open("rb") as file:
            answer = subprocess.run(command, stdin=file, capture_output=True, check=True).stdout
    else:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reading:
            assert reading.stdin is not None
            for _ in range(POURED // MIB):
                reading.stdin.write(bytes(MIB))
            answer = reading.communicate(b"\nend")[0]

    lines_, length, last, grown_kib, turns = answer.split()
    assert (int(lines_), int(length), last) == (2, POURED, b"end")
    assert int(grown_kib) < 32 * 1024
    assert int(turns) > POURED // MIB
