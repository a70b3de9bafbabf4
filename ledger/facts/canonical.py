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


def digest(value: Plain) -> bytes:
    """SHA-256 over the one spelling of ``value``."""
    return hashlib.sha256(canonical(value)).digest()


def digest_beside(name: str, spelled: bytes, rest: Mapping[str, Plain]) -> bytes:
    """The digest of an object of which one value is spelled already, the one whose name is first."""
    assert rest, "an object of one value is spelled at once"
    assert all(name < other for other in rest), f"{name} is not the first"
    whole = hashlib.sha256(b"".join([b"{", canonical(name), b":", spelled, b","]))
    whole.update(canonical(rest)[1:])
    return whole.digest()
