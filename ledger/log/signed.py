"""What a signer remembers of its own: the last tree it signed for each origin, and as whom, in a file.

It is kept outside the database on purpose: whoever rewinds the database cannot rewind it, and a
signer that finds the log behind its own memory stops. It is written, and on disk, before a signature
leaves the process, so that a signer that dies in between has at worst remembered a tree that nobody
has seen signed, and signs the same one again.

The file is small JSON, replaced as a whole, and held by one process at a time.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from ledger.errors import SetupProblem

LAYOUT: Final = 1


class Signed(NamedTuple):
    """A tree that was signed."""

    size: int
    root: bytes


class SignsAs(NamedTuple):
    """Who signs: a site, and its public keys in hexadecimal."""

    site: str
    keys: tuple[str, ...]


class Memory:
    """The last tree signed for each origin, and as whom."""

    def __init__(self, path: Path, last: Mapping[str, Signed], signs_as: SignsAs | None) -> None:
        self._path = path
        self._last = dict(last)
        self._signs_as = signs_as

    @property
    def signs_as(self) -> SignsAs | None:
        """None where nobody said so, as in the memory of a witness."""
        return self._signs_as

    @property
    def name(self) -> str:
        """For messages."""
        return str(self._path)

    def last(self, origin: str) -> Signed | None:
        """The tree that was signed last for an origin."""
        return self._last.get(origin)

    def origins(self) -> list[str]:
        """Everything that was ever signed for."""
        return sorted(self._last)

    def remember(self, trees: Mapping[str, Signed]) -> None:
        """Note these trees, on disk, before anybody may see them signed."""
        self._last.update(trees)
        self._write()

    def sign_as(self, who: SignsAs) -> None:
        """Note who signs from now on."""
        if who != self._signs_as:
            self._signs_as = who
            self._write()

    def _write(self) -> None:
        plain: dict[str, Any] = {
            "layout": LAYOUT,
            "signed": {
                origin: {"size": signed.size, "root": signed.root.hex()}
                for origin, signed in sorted(self._last.items())
            },
        }
        if self._signs_as is not None:
            plain["signs_as"] = {"site": self._signs_as.site, "keys": list(self._signs_as.keys)}
        beside = self._path.with_name(f"{self._path.name}.new")
        with beside.open("w", encoding="utf-8") as file:
            json.dump(plain, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def memory(path: Path) -> Iterator[Memory]:
    """The memory in a file, held for as long as the block runs; a missing file is an empty one."""
    lock = path.with_name(f"{path.name}.lock")
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        held = lock.open("w", encoding="ascii")
    except OSError as error:
        raise SetupProblem(f"{lock}: {error.strerror}") from error
    with held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SetupProblem(f"{path}: another process signs with this memory") from None
        yield Memory(path, *_read(path))


def recalled(path: Path) -> Mapping[str, Signed]:
    """What is in a memory, or in a copy of one, without holding it."""
    return _read(path)[0]


def _read(path: Path) -> tuple[dict[str, Signed], SignsAs | None]:
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}, None
    except (OSError, ValueError) as error:
        raise SetupProblem(f"{path}: not what a signer wrote: {error}") from error
    if not isinstance(plain, dict) or plain.get("layout") != LAYOUT:
        raise SetupProblem(f"{path}: not what a signer wrote")
    try:
        last = {
            origin: Signed(_size(signed["size"]), bytes.fromhex(signed["root"]))
            for origin, signed in plain["signed"].items()
        }
        signs_as = _signs_as(plain["signs_as"]) if "signs_as" in plain else None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise SetupProblem(f"{path}: not what a signer wrote: {error!r}") from error
    return last, signs_as


def _signs_as(plain: Any) -> SignsAs:
    site, keys = plain["site"], plain["keys"]
    if not isinstance(site, str) or not isinstance(keys, list) or not keys:
        raise TypeError(f"{site!r} with {keys!r} is nobody")
    for key in keys:
        bytes.fromhex(key)
    return SignsAs(site, tuple(keys))


def _size(plain: Any) -> int:
    if type(plain) is not int:
        raise TypeError(f"{plain!r} is no size")
    return plain
