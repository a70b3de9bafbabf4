"""Usages and rates as whole numbers: how many of a common unit they are.

The usages of a cluster are mostly parts of few different wholes, or were written with a few decimal
places. Then one unit goes into all of them, and comparing two is comparing two whole numbers. But
nothing keeps a request from naming thousands of fractions that have nothing in common; the unit
would then be larger than the request itself, and whoever asks has to do without.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import lcm

from ledger.core.placement.question import Node


def common_unit(nodes: Iterable[Node], *, most_bits: int) -> int | None:
    """How many units make one, such that every usage and rate is whole.

    None if that is a number of more than ``most_bits``.
    """
    denominators = {node.usage.denominator for node in nodes}
    denominators |= {node.rate.denominator for node in nodes}
    unit = 1
    for denominator in sorted(denominators):
        unit = lcm(unit, denominator)
        if unit.bit_length() > most_bits:
            return None
    return unit


def in_units(amounts: Sequence[Fraction], unit: int) -> list[int]:
    """Each amount as that many units; all of them are whole."""
    return [amount.numerator * (unit // amount.denominator) for amount in amounts]
