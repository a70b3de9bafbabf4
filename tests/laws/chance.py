"""How surprising a table of counts is, for laws that speak of distributions.

The laws draw with fixed salts, so a verdict never changes between runs: the bound only says how
unlucky the stream would have to be for a fair lot to fail.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

UNLIKELY = 1e-6


def surprise(squared: float, freedom: int) -> float:
    """The chance that a chi-squared variable with so many degrees of freedom exceeds ``squared``."""
    half = squared / 2
    # Both sums are the series of the incomplete gamma function, in whole and in half steps.
    if freedom % 2 == 0:
        steps, tail = [float(k) for k in range(freedom // 2)], 0.0
    else:
        steps, tail = [k - 0.5 for k in range(1, (freedom + 1) // 2)], math.erfc(math.sqrt(half))
    return tail + math.exp(-half) * sum(math.pow(half, k) / math.gamma(k + 1) for k in steps)


def one_of_each(counts: Sequence[int], chances: Sequence[Fraction]) -> float:
    """The surprise of counts of which each trial raised exactly one, with these chances."""
    trials = sum(counts)
    possible = [(count, chance) for count, chance in zip(counts, chances, strict=True) if chance]
    squared = sum(
        float((count - trials * chance) ** 2 / (trials * chance)) for count, chance in possible
    )
    return surprise(squared, len(possible) - 1)


def some_of_each(counts: Sequence[int], trials: int) -> float:
    """The surprise of counts of which each trial raised equally many different ones, all alike.

    Counts of one trial then hinder each other more than independent ones would; the factor takes
    that out, which leaves chi-squared with one degree less than there are counts.
    """
    names, taken = len(counts), Fraction(sum(counts), trials)
    mean = Fraction(sum(counts), names)
    squared = sum((count - mean) ** 2 / mean for count in counts)
    return surprise(float(squared * Fraction(names - 1) / (names - taken)), names - 1)
