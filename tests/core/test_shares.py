"""Exact ratios at their borders."""

from fractions import Fraction
from typing import Any

import pytest

from ledger.core.shares import (
    in_order_of_ratio,
    lowest_terms,
    proportion,
    ratio_keys,
    require_distinct,
    whole_parts,
)
from ledger.errors import InvalidRequest


def test_whole_parts_and_remainders_add_up() -> None:
    parts = whole_parts(5, [170, 110, 60, 0])

    assert parts == [(2, 170), (1, 210), (0, 300), (0, 0)]
    assert sum(whole for whole, _ in parts) + sum(rest for _, rest in parts) // 340 == 5


def test_lowest_terms_keep_zeros_and_proportions() -> None:
    assert lowest_terms([0, 6, 4 * 10**30]) == [0, 3, 2 * 10**30]
    assert lowest_terms([0, 7]) == [0, 1]


def test_ratios_are_ordered_from_the_smallest_and_equal_ones_stay_in_place() -> None:
    ratios = [(2, 3), (1, 2), (0, 7), (4, 6), (3, 6)]

    assert in_order_of_ratio(ratios) == [2, 1, 4, 0, 3]
    assert in_order_of_ratio([]) == []


def test_ratios_beyond_the_reach_of_floats_are_told_apart() -> None:
    big = 2**53

    low, high, same = ratio_keys([(big, big + 1), (big + 1, big + 2), (2 * big, 2 * big + 2)])

    assert low == same < high


def test_a_name_that_comes_twice_is_refused() -> None:
    require_distinct("names", ["a", "b", ""])

    with pytest.raises(InvalidRequest, match="names: 'a' is named twice"):
        require_distinct("names", ["a", "b", "a"])


def test_a_proportion_is_in_lowest_terms() -> None:
    assert proportion(3, 6) == Fraction(1, 2)
    assert proportion(0, 5) == 0
    assert proportion(5, 5) == 1


@pytest.mark.parametrize("parts", [(3, 2), (0, 0), (1, 0), (-1, 2), (-1, -2), (0.5, 1), (True, 1)])
def test_what_is_no_part_of_a_whole_is_refused(parts: tuple[Any, Any]) -> None:
    with pytest.raises(InvalidRequest):
        proportion(*parts)
