"""Which instances of a subject are meant, where a share may be far larger than whatever the nodes hold."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Numbers:
    """Which instances, lowest first.

    Those that follow all others are not made one by one before they have a place: a share may be
    far larger than whatever the nodes hold.
    """

    named: tuple[int, ...] = ()
    tail: range = range(0)
    """Above all that are named."""

    def __len__(self) -> int:
        return len(self.named) + len(self.tail)

    def __iter__(self) -> Iterator[int]:
        yield from self.named
        yield from self.tail

    def below(self, end: int) -> "Numbers":
        """Those that come before a number."""
        tail = range(self.tail.start, max(self.tail.start, min(self.tail.stop, end)))
        return Numbers(tuple(one for one in self.named if one < end), tail)

    def beyond(self, end: int) -> "Numbers":
        """The others."""
        tail = range(max(self.tail.start, min(self.tail.stop, end)), self.tail.stop)
        return Numbers(tuple(one for one in self.named if one >= end), tail)
