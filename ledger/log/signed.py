"""What a signer remembers of its own: the last tree it signed for each origin, and as whom, in a file.

It is kept outside the database on purpose: whoever rewinds the database cannot rewind it, and a
signer that finds the log behind its own memory stops. It is written, and on disk, before a signature
leaves the process, so that a signer that dies in between has at worst remembered a tree that nobody
has seen signed, and signs the same one again.

Of a tree it also keeps some of the ends that were signed before (``ledger.log.ladder``): a log that was
restored to an earlier point does not reach the last one, and is held against those.

The file is small JSON, replaced as a whole, and held by one process at a time.
"""

import fcntl
import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from ledger.errors import SetupProblem
from ledger.log.ladder import thinned
from ledger.log.merkle import HASH_LENGTH

LAYOUT: Final = 2

_READ: Final = (1, LAYOUT)
"""The first one had only the last end of each origin."""


class Signed(NamedTuple):
    """A tree that was signed."""

    size: int
    root: bytes


class SignsAs(NamedTuple):
    """Who signs: a site, and its public keys in hexadecimal."""

    site: str
    keys: tuple[str, ...]


Ladder = tuple[Signed, ...]
"""Ends of one tree, from the smallest to the largest."""


class Recalled(NamedTuple):
    """What is in a memory."""

    last: Mapping[str, Signed]
    before: Mapping[str, Ladder]
    """Ends that were signed before the last one, some of them."""
    signs_as: SignsAs | None


NOTHING_RECALLED: Final = Recalled({}, {}, None)


class Memory:
    """The last tree signed for each origin, some before it, and as whom."""

    def __init__(self, path: Path, recalled: Recalled) -> None:
        self._path = path
        self._last = dict(recalled.last)
        self._before = dict(recalled.before)
        self._signs_as = recalled.signs_as

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

    def ends(self, origin: str) -> Ladder:
        """That one, and those of before that are kept."""
        last = self._last.get(origin)
        return () if last is None else (*self._before.get(origin, ()), last)

    def origins(self) -> list[str]:
        """Everything that was ever signed for."""
        return sorted(self._last)

    def remember(self, trees: Mapping[str, Signed], *, with_before: Collection[str] = ()) -> None:
        """Note these trees, on disk, before anybody may see them signed.

        ``with_before``: the origins of which ends are kept that are the last ones no more.
        """
        for origin in with_before:
            self._before[origin] = _below(trees[origin], self.ends(origin))
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
            "before": {
                origin: ", ".join(f"{signed.size} {signed.root.hex()}" for signed in ends)
                for origin, ends in sorted(self._before.items())
                if ends
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
        yield Memory(path, recalled(path))


def recalled(path: Path) -> Recalled:
    """What is in a memory, or in a copy of one, without holding it."""
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return NOTHING_RECALLED
    except (OSError, ValueError) as error:
        raise SetupProblem(f"{path}: not what a signer wrote: {error}") from error
    if not isinstance(plain, dict) or plain.get("layout") not in _READ:
        raise SetupProblem(f"{path}: not what a signer wrote")
    try:
        last = {
            origin: Signed(_size(signed["size"]), bytes.fromhex(signed["root"]))
            for origin, signed in plain["signed"].items()
        }
        before = {
            origin: tuple(_rung(told) for told in ends.split(", "))
            for origin, ends in plain.get("before", {}).items()
        }
        signs_as = _signs_as(plain["signs_as"]) if "signs_as" in plain else None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise SetupProblem(f"{path}: not what a signer wrote: {error!r}") from error
    return Recalled(last, before, signs_as)


def _below(last: Signed, ends: Ladder) -> Ladder:
    """What is kept of ends, the last one of which is followed by another."""
    by_size = {signed.size: signed for signed in ends if 0 < signed.size < last.size}
    kept = thinned([*by_size, last.size])
    return tuple(by_size[size] for size in kept[:-1])


def _rung(told: str) -> Signed:
    size, _, told_root = told.partition(" ")
    root = bytes.fromhex(told_root)
    if len(root) != HASH_LENGTH:
        raise ValueError(f"{told!r} is no end of a tree")
    return Signed(int(size), root)


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
