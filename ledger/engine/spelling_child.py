"""A child of this process that spells a World, while its parent goes on deciding.

It is forked, so it shares the memory in which the World is; a World is a value, so it does not
change meanwhile. It writes the snapshot to a file that has no name, piece by piece, and what the
pieces are together behind them, and ends. It decides nothing and touches no connection. What its
parent waits for is the fork, some milliseconds for each gigabyte.

A large World is spelled by two: the child forks another, and each takes one part of the World after
the other, those with most entries first, until none waits. Which of them spelled what shows nowhere:
what they wrote is put together in the order of the parts.
"""

import gc
import json
import os
import signal
import sys
import tempfile
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, NoReturn

import orjson

from ledger.log.snapshots import compressed, decompressed
from ledger.reducers import snapshot
from ledger.reducers.world import World

PIECE_BYTES: Final = 1_000_000
"""Before compression: one is read or written in some hundredths of a second."""

LENGTH: Final = 4
"""Bytes that tell how long a piece is, in a file."""

NICENESS: Final = 15
"""A snapshot may come later, and takes what decisions leave. On a core that is always busy that is a
thirtieth of it, or a fifteenth for two that spell."""

LARGE: Final = 100_000
"""So many entries of maps are worth a second fork."""

CONTAINER: Final = Path("/sys/fs/cgroup/cpu.max")
"""Where a container says how much processor time it has for each period, both in microseconds."""


def fork(world: World, file: int, *, spellers: int | None = None) -> int:
    """Start the child that spells a World into a file; its number.

    Where nobody says by how many it is spelled, the World and the machine do.
    """
    parent = os.getpid()
    if spellers is None:
        is_large = sum(snapshot.entries(world)) >= LARGE
        spellers = 2 if is_large and processors() >= 2 else 1
    child = _forked()
    if child == 0:
        _do_and_exit(partial(_spell_alone, world, file, parent, spellers), file)
    with suppress(OSError):
        os.setpgid(child, child)  # As it does itself, whichever comes first.
    return child


def end(child: int) -> None:
    """End the child, and whoever helps it."""
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


def processors() -> float:
    """How many this process may use: those of its machine, or what its container has of them."""
    if sys.platform != "linux":
        return os.cpu_count() or 1
    own = float(len(os.sched_getaffinity(0)))
    try:
        quota, period = CONTAINER.read_text().split()
        return min(own, int(quota) / int(period))
    except (OSError, ValueError):
        return own  # Nothing says so, or that there is no limit.


def _forked() -> int:
    with warnings.catch_warnings():
        # Newer Pythons warn of threads that are not there in the child: it waits for none of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _do_and_exit(work: Callable[[], None], file: int) -> NoReturn:
    """End with 0, or with 1 and a word in the file that says why."""
    code = 1
    try:
        work()
        code = 0
    except Exception as error:
        os.ftruncate(file, 0)
        os.lseek(file, 0, os.SEEK_SET)
        _put(file, json.dumps({"failed": str(error) or repr(error)}).encode())
        raise
    finally:
        os._exit(code)


def _spell_alone(world: World, file: int, parent: int, spellers: int) -> None:
    """Leave everything of the parent's alone but the World and the file."""
    os.setpgid(0, 0)
    signal.set_wakeup_fd(-1)
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.SIG_DFL)
    # A connection that is open here would outlive its process, with whatever it has locked.
    os.closerange(3, file)
    os.closerange(file + 1, os.sysconf("SC_OPEN_MAX"))
    gc.disable()
    os.nice(NICENESS)
    _spell(world, file, parent, spellers)


def _spell(world: World, file: int, parent: int, spellers: int) -> None:
    """Share the parts out, and put together what comes of them."""
    entries = snapshot.entries(world)
    waiting, filling = os.pipe()
    # Each byte is a part that nobody has begun with: whoever reads it has taken the part.
    os.write(filling, bytes(sorted(range(len(entries)), key=lambda part: (-entries[part], part))))
    os.close(filling)
    own = os.getpid()
    with ExitStack() as opened:
        files = [opened.enter_context(tempfile.TemporaryFile(buffering=0)) for _ in range(spellers)]
        helpers = {}
        for helped in files[1:]:
            helper = _forked()
            if helper == 0:
                work = partial(_spell_waiting, world, waiting, helped.fileno(), own)
                _do_and_exit(work, helped.fileno())
            helpers[helper] = helped
        try:
            _spell_waiting(world, waiting, files[0].fileno(), parent)
        except BaseException:
            for helper in helpers:
                os.kill(helper, signal.SIGKILL)
                os.waitpid(helper, 0)
            raise
        for helper, helped in helpers.items():
            _, status = os.waitpid(helper, 0)
            if status != 0:
                raise OSError(f"a process that helped {why_not(helped, status)}")
        _put_together(files, file, parent)


def _spell_waiting(world: World, waiting: int, file: int, parent: int) -> None:
    """Spell parts until none waits; each piece begins with the number of its part."""
    while part := os.read(waiting, 1):
        for piece in _pieces(snapshot.plain_part(world, part[0])):
            _require_read_by(parent)
            _put(file, part + compressed(piece))


def _put_together(files: Sequence[IO[bytes]], file: int, parent: int) -> None:
    first = _line(snapshot.heading())
    whole, size = sha256(first), len(first)
    small = [first]
    for content, plain in _unpacked(_in_order(files), at_once=2 * len(files)):
        _require_read_by(parent)
        whole.update(plain)
        size += len(plain)
        is_small = len(plain) < PIECE_BYTES
        if is_small:
            small.append(plain)
        if small and (not is_small or sum(map(len, small)) >= PIECE_BYTES):
            _put(file, compressed(b"".join(small)))
            small = []
        if not is_small:
            _put(file, content)
    if small:
        _put(file, compressed(b"".join(small)))
    _put(file, json.dumps({"digest": whole.hexdigest(), "size": size}).encode())


def _in_order(files: Iterable[IO[bytes]]) -> Iterator[bytes]:
    """All pieces, in the order of the parts: whoever took a part wrote all of it, in its order."""
    written = [(one.part, source, one) for source in files for one in _numbered(source)]
    for _, source, one in sorted(written, key=lambda each: each[0]):
        source.seek(one.place)
        yield source.read(one.length)


def _unpacked(contents: Iterable[bytes], *, at_once: int) -> Iterator[tuple[bytes, bytes]]:
    """Each of them as it is and as it was, so many ahead of whoever asks: now others have no work."""
    ahead: deque[tuple[bytes, Future[bytes]]] = deque()
    with ThreadPoolExecutor(at_once) as threads:
        for content in contents:
            ahead.append((content, threads.submit(decompressed, content)))
            if len(ahead) > at_once:
                first, unpacking = ahead.popleft()
                yield first, unpacking.result()
        for first, unpacking in ahead:
            yield first, unpacking.result()


def _require_read_by(parent: int) -> None:
    if os.getppid() != parent:
        raise OSError("nobody is left to read it")


class _Piece(NamedTuple):
    """Where in a file a piece is, without what stands before it."""

    part: int
    place: int
    length: int


def _numbered(file: IO[bytes]) -> Iterator[_Piece]:
    for place, length in _lengths(file):
        file.seek(place)
        yield _Piece(file.read(1)[0], place + 1, length - 1)


def _lengths(file: IO[bytes]) -> list[tuple[int, int]]:
    """Where what was put into a file is, and how long."""
    end = file.seek(0, os.SEEK_END)
    place, found = 0, []
    while place < end:
        file.seek(place)
        length = int.from_bytes(file.read(LENGTH), "big")
        found.append((place + LENGTH, length))
        place += LENGTH + length
    if place != end:
        raise OSError("the process that spelled it did not come to its end")
    return found


def _pieces(lines: Iterable[Any]) -> Iterator[bytes]:
    gathered: list[bytes] = []
    size = 0
    for plain in lines:
        line = _line(plain)
        gathered.append(line)
        size += len(line)
        if size >= PIECE_BYTES:
            yield b"".join(gathered)
            gathered, size = [], 0
    if gathered:
        yield b"".join(gathered)


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


def why_not(file: IO[bytes], status: int) -> str:
    """What became of a process that ended with such a status, in its own words where it left some."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    try:
        (place, length), *_ = _lengths(file)
        file.seek(place)
        return f"failed: {json.loads(file.read(length))['failed']}"
    except (OSError, LookupError, ValueError):
        return f"ended with {code}"


@dataclass(frozen=True, slots=True)
class Written:
    """What the child left in its file: the pieces, and behind them what they are together."""

    found: tuple[tuple[int, int], ...]
    """Where in the file each piece is, and how long."""
    digest: bytes
    size: int
    """Of all pieces, before they were compressed."""

    @classmethod
    def read(cls, file: IO[bytes]) -> "Written":
        """Find the pieces; the last thing in the file says what they are."""
        found = _lengths(file)
        if not found:
            raise OSError("the process that spelled it wrote nothing")
        place, length = found.pop()
        file.seek(place)
        said = json.loads(file.read(length))
        return cls(tuple(found), bytes.fromhex(said["digest"]), said["size"])

    @property
    def stored_bytes(self) -> int:
        """As they are kept."""
        return sum(length for _, length in self.found)

    def parts(self, file: IO[bytes]) -> Iterator[bytes]:
        """One after the other; never more than one is in memory."""
        for place, length in self.found:
            file.seek(place)
            yield file.read(length)
