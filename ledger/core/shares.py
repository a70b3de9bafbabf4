"""Exact ratios: what a share of something is, in whole numbers.

Every system of the core divides things among names, and every one of them must come to the same
answer on any machine for as long as a log is kept. So nothing here is ever rounded: a share is a
whole part and what remains of it over a common divisor, and a ratio is a fraction in lowest terms.

Who receives what remains is the business of the system that asks.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import gcd
from typing import TypeVar

from ledger.errors import InvalidRequest

Name = TypeVar("Name", bound=str)


def whole_parts(amount: int, weights: Sequence[int]) -> list[tuple[int, int]]:
    """For each weight the whole part of its share of ``amount``, and the remainder.

    The remainder is counted in units of one over the sum of the weights. The product is divided,
    not the amount: the whole parts then miss ``amount`` by less than there are weights above zero.
    """
    total = sum(weights)
    return [divmod(amount * weight, total) for weight in weights]


def lowest_terms(numbers: Sequence[int]) -> list[int]:
    """The smallest whole numbers in the same proportion; one of ``numbers`` is above zero."""
    divisor = gcd(*numbers)
    assert divisor > 0, "a proportion needs a number above zero"
    return [number // divisor for number in numbers]


def in_order_of_ratio(ratios: Sequence[tuple[int, int]]) -> list[int]:
    """The places of the ratios from the smallest up; equal ones stay in the order of their places.

    Each ratio is of a count to a divisor above zero.
    """
    keys = ratio_keys(ratios)
    return sorted(range(len(keys)), key=keys.__getitem__)


def ratio_keys(ratios: Sequence[tuple[int, int]]) -> list[int]:
    """Whole numbers that compare as the ratios do: equal for equal ones, less for smaller ones.

    Two ratios that differ do so by at least one over the product of their divisors. Stretched by
    more than that product they are more than one apart, and their whole parts still differ.
    """
    spread = 2 * max((divisor for _, divisor in ratios), default=1).bit_length()
    return [(count << spread) // divisor for count, divisor in ratios]


def proportion(numerator: int, denominator: int) -> Fraction:
    """The part that ``numerator`` is of ``denominator``: a fraction from nothing to the whole."""
    require_count("numerator", numerator)
    require_count("denominator", denominator)
    if denominator == 0 or numerator > denominator:
        raise InvalidRequest(
            "invalid_request", f"{numerator} of {denominator} is not a part of a whole"
        )
    return Fraction(numerator, denominator)


def require_count(what: str, count: int) -> None:
    """Refuse ``count`` unless it is a whole number from zero up; true and false are not numbers."""
    # The exact type: to isinstance a bool is an int, and a weight of True would pass for 1.
    if type(count) is not int or count < 0:
        raise InvalidRequest("invalid_request", f"{what}: {count!r} is not a count")


def require_counts(what: str, counts: Mapping[Name, int]) -> None:
    """Refuse the first of the ``counts`` that is not one, by its name."""
    for name, count in counts.items():
        # Asked of every number of every question, so without a call of its own.
        if type(count) is not int or count < 0:
            require_count(f"{what} of {name}", count)


def require_distinct(what: str, names: Iterable[str]) -> None:
    """Refuse the first name that comes twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InvalidRequest("invalid_request", f"{what}: {name!r} is named twice")
        seen.add(name)
