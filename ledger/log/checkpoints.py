"""What a log says of itself at one moment: its origin, how many leaves it has, and their root.

The text of a C2SP checkpoint, which is signed as a note (``ledger.log.notes``). It has one
spelling; anything else is refused, so that nobody can sign the same tree in two ways. Lines after
the third are for whoever put them there: they are carried, never read.
"""

from base64 import b64encode
from dataclasses import dataclass
from typing import Final

from ledger.errors import InvalidRequest
from ledger.log.merkle import EMPTY_ROOT, HASH_LENGTH
from ledger.log.notes import strict_base64

MOST_LEAVES: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A tree at one size."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What is signed."""
        lines = (self.origin, str(self.size), b64encode(self.root).decode(), *self.extensions)
        return "".join(f"{line}\n" for line in lines)


def parse_checkpoint(text: str) -> Checkpoint:
    """Read a checkpoint's text; ``InvalidRequest`` where it is none."""
    if not text.endswith("\n"):
        raise _not_one("its last line does not end")
    lines = text.removesuffix("\n").split("\n")
    if len(lines) < 3 or not all(lines):
        raise _not_one("three lines or more, none of them empty")
    origin, told, encoded, *extensions = lines
    size = whole_number(told)
    if size is None:
        raise _not_one(f"{told[:40]!r} is not how many leaves there are")
    root = strict_base64(encoded, "malformed_checkpoint")
    if len(root) != HASH_LENGTH:
        raise _not_one(f"a root of {len(root)} bytes")
    if size == 0 and root != EMPTY_ROOT:
        raise InvalidRequest("wrong_empty_root", "an empty tree has a root of its own")
    return Checkpoint(origin, size, root, tuple(extensions))


def whole_number(text: str) -> int | None:
    """A whole number in ASCII digits without leading zeros; None if it is none."""
    if not (text.isascii() and text.isdecimal()) or (text != "0" and text.startswith("0")):
        return None
    number = int(text) if len(text) <= len(str(MOST_LEAVES)) else MOST_LEAVES + 1
    return number if number <= MOST_LEAVES else None


def _not_one(why: str) -> InvalidRequest:
    return InvalidRequest("malformed_checkpoint", why)
