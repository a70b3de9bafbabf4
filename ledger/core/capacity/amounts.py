"""What a capacity is: a number of instances, or infinite.

A resource that a request does not consume fits any number of instances. That is written as one
number, the largest that a log can hold, so that the smallest of several capacities and the order
of nodes by capacity need no case of their own. Sums stop there.

The words of the package are here too: names that must not be mistaken for each other.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Final, NewType

from ledger.errors import InvalidRequest
from ledger.units import LARGEST_WHOLE_NUMBER

Core = NewType("Core", str)
"""A core of a node. Names compare as text: "10" comes before "2"."""
NumaGroup = NewType("NumaGroup", str)
"""Cores and memory that are near each other."""
Device = NewType("Device", str)
"""A disk or partition that volumes are placed on."""

Pieces = Mapping[Core, int]
"""How many pieces of each core: what is free, or what a binding holds."""

INFINITE: Final = LARGEST_WHOLE_NUMBER
"""The capacity for a request that consumes nothing; any larger number means the same."""


def instances_within(free: int, each: int) -> int:
    """How many times ``each`` fits into what is free; less than nothing free is nothing."""
    if each == 0:
        return INFINITE
    return min(max(0, free) // each, INFINITE)


def require_not_negative(code: str, what: str, amount: int | Fraction) -> None:
    """Refuse an amount below zero with the code of its resource."""
    if amount < 0:
        raise InvalidRequest(code, f"{what}: {amount} is below zero")
