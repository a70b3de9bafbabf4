"""One spelling for each value: the bytes that digests are taken of.

Canonical JSON here is JSON without white space, keys sorted by code point, every character that
need not be escaped written as itself, in UTF-8. Values are objects, arrays, strings, whole
numbers, booleans and null; there are no floats, so there is no question of how to spell one.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Final

Plain = Mapping[str, "Plain"] | Sequence["Plain"] | str | int | bool | None


_SPELLING: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


def canonical(value: Plain) -> bytes:
    """The one spelling of ``value``."""
    return _SPELLING.encode(value).encode()


def together(members: Mapping[str, bytes]) -> bytes:
    """The one spelling of an object whose members are spelled already."""
    spelled = [canonical(name) + b":" + members[name] for name in sorted(members)]
    return b"{" + b",".join(spelled) + b"}"


def digest(value: Plain) -> bytes:
    """SHA-256 over the one spelling of ``value``."""
    return digest_of(canonical(value))


def digest_of(spelling: bytes) -> bytes:
    """SHA-256 over a spelling."""
    return hashlib.sha256(spelling).digest()
