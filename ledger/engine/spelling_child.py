"""A child of this process that spells a World, while its parent goes on deciding.

It is forked, so it shares the memory in which the World is; a World is a value, so it does not
change meanwhile. It writes the parts of the snapshot to a file that has no name, and what they are
together behind them, and ends. It decides nothing and touches no connection. What its parent waits
for is the fork, some milliseconds for each gigabyte.
"""

import gc
import json
import os
import signal
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import IO, Any, Final, NoReturn

import orjson

from ledger.log.snapshots import compressed
from ledger.reducers import snapshot
from ledger.reducers.world import World

PART_BYTES: Final = 1_000_000
"""Before compression: one is read or written in some hundredths of a second."""

LENGTH: Final = 4
"""Bytes that tell how long a part is, in the file."""

NICENESS: Final = 5
"""A snapshot may come a little later; decisions may not."""


def fork(world: World, file: int) -> int:
    """Start the child that spells a World into a file; its number."""
    parent = os.getpid()
    with warnings.catch_warnings():
        # Newer Pythons warn of threads that are not there in the child: it waits for none of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _spell_and_exit(world, file, parent)
    return child


def _spell_and_exit(world: World, file: int, parent: int) -> NoReturn:
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        for ending in (signal.SIGINT, signal.SIGTERM):
            signal.signal(ending, signal.SIG_DFL)
        # A connection that is open here would outlive its process, with whatever it has locked.
        os.closerange(3, file)
        os.closerange(file + 1, os.sysconf("SC_OPEN_MAX"))
        gc.disable()
        os.nice(NICENESS)
        _spell(world, file, parent)
        code = 0
    finally:
        os._exit(code)


def _spell(world: World, file: int, parent: int) -> None:
    whole, size = sha256(), 0
    for part in _parts(world):
        if os.getppid() != parent:
            return  # Nobody is left to read it.
        whole.update(part)
        size += len(part)
        _put(file, compressed(part))
    _put(file, json.dumps({"digest": whole.hexdigest(), "size": size}).encode())


def _parts(world: World) -> Iterator[bytes]:
    lines: list[bytes] = []
    size = 0
    for plain in snapshot.plain_lines(world):
        line = _line(plain)
        lines.append(line)
        size += len(line)
        if size >= PART_BYTES:
            yield b"".join(lines)
            lines, size = [], 0
    if lines:
        yield b"".join(lines)


def _line(plain: Any) -> bytes:
    """As a snapshot spells it; the quick writer knows no number of over 64 bits."""
    try:
        # Of what a spelling may hold, it has to be told only that named tuples are tuples.
        return orjson.dumps(plain, default=tuple, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:
        return snapshot.line(plain)


def _put(file: int, content: bytes) -> None:
    rest = memoryview(len(content).to_bytes(LENGTH, "big") + content)
    while rest:
        rest = rest[os.write(file, rest) :]


@dataclass(frozen=True, slots=True)
class Written:
    """What the child left in its file: the parts, and behind them what they are together."""

    lengths: tuple[int, ...]
    digest: bytes
    size: int
    """Of all parts, before they were compressed."""

    @classmethod
    def read(cls, file: IO[bytes]) -> "Written":
        """Find the parts; the last thing in the file says what they are."""
        end = file.seek(0, os.SEEK_END)
        place, lengths = 0, []
        while place < end:
            file.seek(place)
            lengths.append(int.from_bytes(file.read(LENGTH), "big"))
            place += LENGTH + lengths[-1]
        if place != end or not lengths:
            raise OSError("the process that spelled it did not come to its end")
        file.seek(end - lengths[-1])
        said = json.loads(file.read(lengths[-1]))
        return cls(tuple(lengths[:-1]), bytes.fromhex(said["digest"]), said["size"])

    @property
    def stored_bytes(self) -> int:
        """As they are kept."""
        return sum(self.lengths)

    def parts(self, file: IO[bytes]) -> Iterator[bytes]:
        """One after the other; never more than one is in memory."""
        file.seek(0)
        for length in self.lengths:
            file.read(LENGTH)
            yield file.read(length)
