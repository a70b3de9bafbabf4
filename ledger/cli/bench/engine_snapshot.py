"""How long a very large fleet's snapshot takes to be written and read, and for how long deciding waits.

The fleet is that of ``engine_size``, which was folded and decided in this process. Its snapshot is spelled by a
forked child, as a decider has it done, and read back; Postgres is not in it. What deciding waits for
is the fork.

Whatever else was measured in the same process would count too, so this part runs alone, or behind that
one.
"""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Iterable
from hashlib import sha256
from time import perf_counter
from typing import Final

from ledger.cli.bench.engine_finding import Bar, Finding, digits
from ledger.cli.bench.engine_size import Grown
from ledger.cli.bench.processes import memory_mb
from ledger.engine.spelling_child import Written, fork
from ledger.log.garbage import none_collected
from ledger.log.snapshots import Hash, unpacked
from ledger.reducers.snapshot import Reading
from ledger.reducers.world import World

WRITTEN_SECONDS: Final = 10.0
PAUSE_SECONDS: Final = 0.2
READ_SECONDS: Final = 15.0

_OBJECTS: Final = 100_000


def snapshot(fleet: Grown) -> Finding:
    """Write the fleet's snapshot, read it."""
    world = fleet.world
    objects = len(world.objects.known)
    before, _ = memory_mb(os.getpid())
    with tempfile.TemporaryFile(buffering=0) as file:
        began = perf_counter()
        child = fork(world, file.fileno())
        pause = perf_counter() - began
        _, status = os.waitpid(child, 0)
        writing = perf_counter() - began
        assert status == 0, f"the child ended with {status}"
        written = Written.read(file)
        began = perf_counter()
        again, digest = _read(list(written.parts(file)))
        reading = perf_counter() - began
    assert digest == written.digest.hex(), "what was read is what was written"
    assert again.position == world.position
    after, _ = memory_mb(os.getpid())
    share = _OBJECTS / max(objects, 1)
    figures = {
        "objects": objects,
        "replicas": fleet.sizes.replicas,
        "events": int(world.position),
        "decisions": int(world.decisions),
        "bytes": written.size,
        "stored_bytes": written.stored_bytes,
        "written_seconds": digits(writing),
        "pause_seconds": digits(pause),
        "read_seconds": digits(reading),
        "bytes_each_100000_objects": int(written.size * share),
        "written_seconds_each_100000_objects": digits(writing * share),
        "read_seconds_each_100000_objects": digits(reading * share),
        "mib_folded": before,
        "mib_read_besides": after - before,
    }
    return Finding(
        part="snapshot",
        about="a very large fleet written down and read again",
        figures=figures,
        bars=[
            Bar("seconds to write", digits(writing), at_most=WRITTEN_SECONDS),
            Bar("seconds of pause", digits(pause), at_most=PAUSE_SECONDS),
            Bar("seconds to read", digits(reading), at_most=READ_SECONDS),
        ],
    )


def _read(parts: Iterable[bytes]) -> tuple[World, str]:
    """As a decider reads it: without looking for garbage meanwhile."""
    reading, whole = Reading(), sha256()
    with none_collected():
        asyncio.run(_take(parts, reading, whole))
        return reading.world(), whole.hexdigest()


async def _take(parts: Iterable[bytes], reading: Reading, whole: Hash) -> None:
    async for lines in unpacked(_one_by_one(parts), whole):
        for line in lines:
            reading.take(line)


async def _one_by_one(parts: Iterable[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part
