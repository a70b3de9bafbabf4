"""One digest of many things, put right with those of them that change.

Of each thing its digest is drawn out to a number of as many bits as make it hopeless to look for other
things with the same sum; the digest of all is that of the sum, reduced to so many bits (AdHash, of Bellare and
Micciancio). So it says which things there are, each as often as it is there, whatever the order in
which they came and went. A hash over all of them in order would cost a pass over all for each that changes.
"""

from hashlib import shake_256
from typing import Final

from ledger.facts.canonical import digest_of

_BYTES: Final = 512
"""Finding other things with the same sum takes some 2 to the power of 128 trials: that is twice the
square root of the bits."""
_MASK: Final = (1 << 8 * _BYTES) - 1


class GatheredDigest:
    """Of things that come and go, each known by its own digest."""

    __slots__ = ("_sum",)

    def __init__(self) -> None:
        self._sum = 0

    def add(self, thing: bytes) -> None:
        """One more."""
        self._sum = (self._sum + _drawn_out(thing)) & _MASK

    def drop(self, thing: bytes) -> None:
        """One of those that were added."""
        self._sum = (self._sum - _drawn_out(thing)) & _MASK

    def digest(self) -> bytes:
        """SHA-256 over the sum of all."""
        return digest_of(self._sum.to_bytes(_BYTES, "big"))


def _drawn_out(thing: bytes) -> int:
    return int.from_bytes(shake_256(thing).digest(_BYTES), "big")
