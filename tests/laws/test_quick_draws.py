"""The long run asks what it says: false laws are caught, and what is drawn is what the strategies say."""

from collections import Counter
from contextlib import suppress
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.errors import UnsatisfiedAssumption

from tests.laws.long_run import Asked, QuickLaw, TooFewWanted, ask
from tests.laws.quick_draws import GLOBAL_INTEGERS, NotUnderstood, QuickDraws


def drawn(strategy: st.SearchStrategy[Any], times: int = 400) -> list[Any]:
    draws, values = QuickDraws(), []
    for _ in range(times):
        with suppress(UnsatisfiedAssumption):  # a filter gives up after three in vain
            values.append(draws.draw(strategy))
    return values


def test_a_law_that_is_false_once_in_a_thousand_is_caught_and_its_example_told() -> None:
    @given(st.integers(0, 999), st.data())
    def law(number: int, data: st.DataObject) -> None:
        again = data.draw(st.sampled_from("ab"))
        assert number != 500 or again != "b"

    with pytest.raises(AssertionError) as caught:
        QuickLaw(law).ask(100_000, seed=1)

    told = caught.value.__notes__[0]
    assert "of seed 1:\nnumber = 500\n" in told
    assert "drew 'b'\nand again: AssertionError" in told


def test_what_fails_quickly_is_shrunk_by_hypothesis() -> None:
    refused: list[int] = []

    @given(st.integers(0, 99))
    def law(number: int) -> None:
        # The ordinary hundred examples pass; the first that fails comes with the quick ones.
        asked.append(number)
        if number >= 7 and len(asked) > 300:
            refused.append(number)
            raise AssertionError

    asked: list[int] = []

    with pytest.raises(AssertionError):
        ask(law, {}, examples=1_000)

    assert refused[-1] == 7


def test_an_example_that_was_not_wanted_is_not_counted() -> None:
    wanted = []

    @given(st.integers(0, 9))
    def law(number: int) -> None:
        assume(number < 3)
        wanted.append(number)

    answer = QuickLaw(law).ask(1_000, seed=1)

    assert len(wanted) == answer.examples == 1_000
    assert 2_000 < answer.rejected < 2_700


def test_a_law_that_wants_hardly_anything_has_not_been_asked() -> None:
    @given(st.integers(0, 10**6))
    def law(number: int) -> None:
        assume(number == 123_456)

    with pytest.raises(TooFewWanted):
        QuickLaw(law).ask(10, seed=1)


def test_arguments_of_pytest_are_handed_on_and_the_seed_is_told() -> None:
    seen: set[tuple[str, int]] = set()

    @given(number=st.integers(0, 1))
    def law(policy: str, number: int) -> None:
        seen.add((policy, number))

    answer = ask(law, {"policy": "a"}, examples=50)

    assert seen == {("a", 0), ("a", 1)}
    assert answer == Asked(50, rejected=0, seed=answer.seed)
    assert answer.seed is not None


def test_what_draws_in_a_way_that_is_not_understood_is_asked_by_hypothesis() -> None:
    seen: list[float] = []

    @given(st.floats(0, 1))
    def law(number: float) -> None:
        seen.append(number)

    with pytest.raises(NotUnderstood):
        QuickLaw(law).ask(1, seed=1)
    assert ask(law, {}, examples=300) == Asked(300)
    assert len(seen) >= 400


def test_an_example_is_its_seed_and_its_number() -> None:
    first, second = QuickDraws(), QuickDraws()
    strategy = st.lists(st.tuples(st.integers(), st.text()))
    others = [first.draw(strategy) for _ in range(3)]

    first.seed(7, 11)
    second.seed(7, 11)

    assert (again := first.draw(strategy)) == second.draw(strategy)
    assert again not in others


def test_integers_lie_between_their_bounds_and_reach_both() -> None:
    assert set(drawn(st.integers(-2, 3))) == {-2, -1, 0, 1, 2, 3}
    wide = drawn(st.integers(-5, 2**63 - 1), 4_000)
    assert {-5, -4, 2**63 - 2, 2**63 - 1} <= set(wide)
    assert all(-5 <= number < 2**63 for number in wide)
    assert sum(abs(number) <= 256 for number in wide) > 400
    assert sum(number in GLOBAL_INTEGERS for number in wide) > 40
    assert sum(number > 2**16 for number in wide) > 400
    assert all(number >= 10 for number in drawn(st.integers(min_value=10)))
    assert all(number <= 10 for number in drawn(st.integers(max_value=10)))


def test_collections_are_as_long_as_they_may_be() -> None:
    assert {len(one) for one in drawn(st.lists(st.booleans(), min_size=1, max_size=4))} == {
        1,
        2,
        3,
        4,
    }
    assert {len(one) for one in drawn(st.lists(st.booleans(), min_size=2, max_size=2))} == {2}
    for unique in (
        st.lists(st.sampled_from("abc"), unique=True),
        st.lists(st.text("abc", min_size=1, max_size=1), max_size=3, unique=True),
        st.lists(st.integers(0, 2).map(str), max_size=3, unique=True),
    ):
        lists = drawn(unique)
        assert {len(one) for one in lists} == {0, 1, 2, 3}
        assert all(len(set(one)) == len(one) for one in lists)
    pairs = drawn(st.dictionaries(st.sampled_from("ab"), st.integers(0, 1), min_size=1))
    assert {tuple(sorted(one.items())) for one in pairs} == {
        *((("a", i),) for i in (0, 1)),
        *((("b", i),) for i in (0, 1)),
        *((("a", i), ("b", j)) for i in (0, 1) for j in (0, 1)),
    }
    objects = drawn(st.fixed_dictionaries({"a": st.just(1)}, optional={"b": st.just(2)}))
    assert {tuple(sorted(one)) for one in objects} == {("a",), ("a", "b")}
    assert {frozenset(one) for one in drawn(st.sets(st.integers(0, 1)))} == {
        frozenset(one) for one in ([], [0], [1], [0, 1])
    }


def test_what_is_made_of_strategies_is_made_of_what_they_draw() -> None:
    @st.composite
    def spans(draw: st.DrawFn, most: int) -> tuple[int, int]:
        first = draw(st.integers(0, most))
        return first, draw(st.integers(first, most))

    assert set(drawn(spans(2))) == {(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)}
    assert set(drawn(st.integers(0, 2).flatmap(lambda most: st.integers(most, 2)))) == {0, 1, 2}
    assert set(drawn(st.integers(0, 9).filter(lambda number: number % 2))) == {1, 3, 5, 7, 9}
    assert set(drawn(st.sampled_from(range(50)).filter(lambda number: number == 7))) == {7}
    assert set(drawn(st.sampled_from("ab").map(str.upper))) == {"A", "B"}
    assert set(drawn(st.builds(complex, st.integers(0, 1), imag=st.just(1)))) == {1j, 1 + 1j}
    assert set(drawn(st.fractions(0, 1, max_denominator=2))) == {0, 1, Fraction(1, 2)}
    assert all(0 <= number <= 9 for number in drawn(st.fractions(0, 9)))
    assert {tuple(one) for one in drawn(st.permutations("abc"))} == {
        tuple(one) for one in ("abc", "acb", "bac", "bca", "cab", "cba")
    }
    assert all(isinstance(one, Random) for one in drawn(st.randoms(use_true_random=False), 3))
    # One of three alike, not one of two of which the second is one of two again.
    shares = Counter(drawn(st.one_of(st.none(), st.one_of(st.none(), st.booleans())), 3_000))
    assert 1_850 < shares[None] < 2_150
    assert 400 < shares[True] < 600


def test_text_is_of_its_letters() -> None:
    assert set("".join(drawn(st.text("ab", max_size=3)))) == {"a", "b"}
    words = drawn(st.text(st.characters(codec="utf-8"), max_size=6), 2_000)
    assert all(len(word) <= 6 and word.encode() is not None for word in words)
    assert any(ord(letter) > 2**16 for word in words for letter in word)
