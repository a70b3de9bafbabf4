"""What becomes of a command that cannot write: standard output or standard error is full, or its reader went.

``ledger explain 409 | head -1`` ends as a program in C would, without a word and with 141. Neither Python's
end of it, with 1 or 120, nor a traceback will do: 1 says of an audit that something differs.

Where the writing fails is where it is known to be writing, so both streams are watched there. The error is
none that says of itself that it has to do with the system: libraries take such a one for their own.
"""

import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, Final, TextIO, cast

CANNOT_WRITE: Final = 74
READER_WENT: Final = 141
"""Exit codes: the first as sysexits.h numbers it, the other as a shell says it of SIGPIPE."""


class CannotWrite(Exception):
    """A standard stream takes nothing more."""


class _Watched:
    """The file of a stream, and what kept it from being written."""

    def __init__(self, number: int) -> None:
        self._file = io.FileIO(number, "w", closefd=False)
        self.trouble: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, data: bytes) -> int | None:
        try:
            return self._file.write(data)
        except OSError as error:
            self.trouble = error
            raise CannotWrite from error

    def writelines(self, lines: Iterable[bytes]) -> None:
        # The file's own would not come by here: where nothing is buffered this is what a command writes to.
        for line in lines:
            self.write(line)


@contextmanager
def watched() -> Iterator[None]:
    """Run a command; where it cannot write, SystemExit with a code of its own is all that comes of it."""
    files: list[_Watched] = []
    for name in ("stdout", "stderr"):
        usual = getattr(sys, name)
        # A stream that was closed before we came is None, and takes everything.
        if isinstance(usual, io.TextIOWrapper):
            file = _Watched(usual.fileno())
            files.append(file)
            setattr(sys, name, _again(usual, file))
    try:
        try:
            yield
        finally:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
    except BaseException:
        trouble = next((file.trouble for file in files if file.trouble is not None), None)
        if trouble is None:
            raise
        # The rest goes to nobody, so that Python has nothing to complain of at its end.
        for file in files:
            if file.trouble is not None:
                os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())
        if isinstance(trouble, BrokenPipeError):
            sys.exit(READER_WENT)
        with suppress(CannotWrite):
            print(f"ledger: writing: {trouble.strerror}", file=sys.stderr)
        sys.exit(CANNOT_WRITE)


def _again(usual: io.TextIOWrapper, file: _Watched) -> TextIO:
    """The stream as it was, on a file that is watched."""
    raw = cast("io.RawIOBase", file)
    return io.TextIOWrapper(
        cast("BinaryIO", raw) if usual.write_through else io.BufferedWriter(raw),
        encoding=usual.encoding,
        errors=usual.errors,
        newline="\n",
        line_buffering=usual.line_buffering,
        write_through=usual.write_through,
    )
