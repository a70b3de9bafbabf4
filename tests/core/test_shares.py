"""Exact ratios at their borders."""

from fractions import Fraction
from typing import Any

import pytest

from ledger.core.shares import lowest_terms, proportion, whole_parts
from ledger.errors import InvalidRequest


def test_whole_parts_and_remainders_add_up() -> None:
    parts = whole_parts(5, [170, 110, 60, 0])

    assert parts == [(2, 170), (1, 210), (0, 300), (0, 0)]
    assert sum(whole for whole, _ in parts) + sum(rest for _, rest in parts) // 340 == 5


def test_lowest_terms_keep_zeros_and_proportions() -> None:
    assert lowest_terms([0, 6, 4 * 10**30]) == [0, 3, 2 * 10**30]
    assert lowest_terms([0, 7]) == [0, 1]


def test_a_proportion_is_in_lowest_terms() -> None:
    assert proportion(3, 6) == Fraction(1, 2)
    assert proportion(0, 5) == 0
    assert proportion(5, 5) == 1


@pytest.mark.parametrize("parts", [(3, 2), (0, 0), (1, 0), (-1, 2), (-1, -2), (0.5, 1), (True, 1)])
def test_what_is_no_part_of_a_whole_is_refused(parts: tuple[Any, Any]) -> None:
    with pytest.raises(InvalidRequest):
        proportion(*parts)
