"""What holds of every lot: it is replayable, it is fair, and it is the published stream."""

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.core.lot import Lot, block_bytes, fold
from tests.laws.chance import UNLIKELY, one_of_each, some_of_each
from tests.laws.model import sample, scan
from tests.laws.strategies import lots, words

UIDS = [4_000, pytest.param(20_000, marks=pytest.mark.long)]

chances = st.one_of(st.integers(0, 6), st.integers(0, 2**80), st.sampled_from([2**8, 2**63, 2**64]))
odds_of_names = st.dictionaries(words, chances, max_size=40)


@given(lots, odds_of_names, st.data())
def test_the_tree_draws_whom_a_walk_along_the_names_draws(
    lot: Lot, odds: dict[str, int], data: st.DataObject
) -> None:
    count = data.draw(st.integers(0, len(odds)))

    draw = lot.draw(odds, count)

    assert (list(draw.order), draw.blocks) == scan(lot, odds, count)


@st.composite
def lines(draw: st.DrawFn) -> tuple[dict[str, int], int]:
    """Odds with a step that suits them."""
    step = draw(st.integers(1, 12))
    odds = draw(st.dictionaries(words, st.integers(0, step), min_size=1, max_size=8))
    odds["last"] = odds.get("last", 0)
    odds["last"] = (odds["last"] - sum(odds.values())) % step
    return odds, step


@given(lots, lines())
def test_a_sample_is_taken_from_a_line_as_wide_as_the_odds(
    lot: Lot, line: tuple[dict[str, int], int]
) -> None:
    odds, step = line

    taken = lot.sample(odds, step=step)

    assert (list(taken.order), taken.blocks) == sample(lot, odds, step)
    assert sorted(taken.line) == sorted(odds)
    # Over all points that could have been drawn, everybody is taken as often as its odds are wide.
    units = [name for name in taken.line for _ in range(odds[name])]
    every = Counter(name for point in range(step) for name in units[point::step])
    assert +every == +Counter(odds)
    assert tuple(units[taken.point :: step]) == taken.order


@given(lots, odds_of_names, st.data())
def test_one_draw_more_only_appends(lot: Lot, odds: dict[str, int], data: st.DataObject) -> None:
    whole = lot.draw(odds, len(odds))
    count = data.draw(st.integers(0, len(odds)))

    part = lot.draw(odds, count)

    assert part.order == whole.order[:count]
    assert count <= part.blocks <= whole.blocks


@given(lots, odds_of_names, st.randoms(use_true_random=False))
def test_the_order_in_which_the_names_are_given_changes_nothing(
    lot: Lot, odds: dict[str, int], shuffler: Random
) -> None:
    names = list(odds)
    shuffler.shuffle(names)

    shuffled = lot.draw({name: odds[name] for name in names}, len(names))

    assert shuffled == lot.draw(odds, len(names))


@given(lots, odds_of_names)
def test_everybody_is_drawn_once_and_those_without_odds_last(
    lot: Lot, odds: dict[str, int]
) -> None:
    order = lot.draw(odds, len(odds)).order

    assert sorted(order) == sorted(odds)
    with_odds = sum(chance > 0 for chance in odds.values())
    assert all(odds[name] > 0 for name in order[:with_odds])


@given(st.integers(1, 300), st.integers(1, 10))
def test_folding_gives_every_point_equally_many_numbers(total: int, bits: int) -> None:
    points = Counter(fold(number, bits, total) for number in range(2**bits))

    refused = points.pop(None, 0)
    assert refused < total
    assert set(points.values()) <= {2**bits // total}
    assert set(points) == (set(range(total)) if 2**bits >= total else set())


@given(st.integers(1, 2**200))
def test_a_block_is_refused_less_than_once_in_two_to_the_64(total: int) -> None:
    bits = 8 * block_bytes(total)

    assert (2**bits % total) * 2**64 < 2**bits


@pytest.mark.parametrize("uids", UIDS)
@pytest.mark.parametrize("names", range(2, 11))
def test_equal_odds_are_equal_chances(names: int, uids: int) -> None:
    odds = {f"member{number}": 1 for number in range(1, names + 1)}

    orders = [Lot("fairness", f"workload-{uid}", 0).draw(odds, names).order for uid in range(uids)]

    # One draw more only appends, so the beginnings of these orders are the draws for fewer.
    for taken in range(1, names):
        included = Counter(name for order in orders for name in order[:taken])
        surprise = some_of_each([included[name] for name in odds], uids)
        assert surprise > UNLIKELY, (taken, included)


@pytest.mark.parametrize("uids", UIDS)
@pytest.mark.parametrize("labels", list(permutations("abcd"))[::5])
def test_what_a_name_is_called_does_not_change_its_chances(
    labels: tuple[str, ...], uids: int
) -> None:
    odds = dict(zip(labels, (5, 3, 1, 1), strict=True))

    pairs = Counter(Lot("names", f"workload-{uid}", 0).draw(odds, 2).order for uid in range(uids))

    expected = chances_of_pairs(odds)
    surprise = one_of_each([pairs[pair] for pair in expected], list(expected.values()))
    assert surprise > UNLIKELY, pairs


def chances_of_pairs(odds: Mapping[str, int]) -> dict[tuple[str, str], Fraction]:
    """Two draws in proportion to the odds of those still in, multiplied out."""
    total = sum(odds.values())
    return {
        (first, second): Fraction(odds[first], total) * Fraction(odds[second], total - odds[first])
        for first, second in permutations(odds, 2)
    }


def test_the_epoch_the_workload_and_the_salt_each_make_another_lot() -> None:
    odds = {f"member{number}": 1 for number in range(20)}
    lots_seen = [Lot("s", "w", 0), Lot("s", "w", 1), Lot("s", "v", 0), Lot("t", "w", 0)]

    orders = {lot.draw(odds, 20).order for lot in lots_seen}

    assert len(orders) == len(lots_seen)
