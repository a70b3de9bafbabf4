"""What a benchmark of the core consists of: a question that is asked again and again in one thread."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

Asking = Callable[[], object]
"""Asks the prepared question once. Only this is timed."""


@dataclass(frozen=True, slots=True)
class Case:
    """One question with the median it must not exceed.

    ``prepare`` makes the question and throws away whatever an earlier asking may have remembered,
    so that each timing is a cold one; ``units`` is by what a reading is divided, as in "a node".
    """

    name: str
    about: str
    prepare: Callable[[], Asking]
    at_most_ms: Fraction
    units: int = 1


@dataclass(frozen=True, slots=True)
class Growth:
    """The same question at four sizes; the cost must grow no faster than n log n."""

    name: str
    about: str
    prepare: Callable[[int], Asking]
    sizes: tuple[int, int, int, int]
