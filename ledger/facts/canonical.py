"""One spelling for each value: the bytes that digests are taken of.

Canonical JSON here is JSON without white space, keys sorted by code point, every character that
need not be escaped written as itself, in UTF-8. Values are objects, arrays, strings, whole
numbers, booleans and null; there are no floats, so there is no question of how to spell one.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence

Plain = Mapping[str, "Plain"] | Sequence["Plain"] | str | int | bool | None


def canonical(value: Plain) -> bytes:
    """The one spelling of ``value``."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def digest(value: Plain) -> bytes:
    """SHA-256 over the one spelling of ``value``."""
    return hashlib.sha256(canonical(value)).digest()
