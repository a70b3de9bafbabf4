"""The queue of what runs out."""

from itertools import permutations
from random import Random

import pytest

from ledger.facts.reason import Deadline
from ledger.reducers.deadlines import (
    NO_DEADLINES,
    due,
    first,
    in_order,
    is_set,
    put,
    take_back,
)
from ledger.units import Microseconds, Subject


def grace(at: int, subject: str) -> Deadline:
    return Deadline(Microseconds(at), "grace", Subject(subject))


def test_deadlines_fire_by_moment_and_then_by_name_however_they_were_set() -> None:
    wanted = (grace(1, "z"), grace(2, "a"), grace(2, "b"))

    for order in permutations(wanted):
        queue = NO_DEADLINES
        for deadline in order:
            queue = put(queue, deadline)

        assert in_order(queue) == wanted
        assert first(queue) == wanted[0]


def test_a_deadline_has_passed_at_its_own_moment_and_not_before() -> None:
    queue = put(NO_DEADLINES, grace(5, "c"))

    assert due(queue, Microseconds(4)) is None
    assert due(queue, Microseconds(5)) == grace(5, "c")


def test_only_the_deadline_meant_is_taken_back() -> None:
    queue = put(put(NO_DEADLINES, grace(5, "a")), grace(5, "b"))

    assert in_order(take_back(queue, grace(5, "a"))) == (grace(5, "b"),)


def test_what_was_never_set_cannot_be_taken_back() -> None:
    with pytest.raises(AssertionError, match="never set"):
        take_back(put(NO_DEADLINES, grace(5, "a")), grace(6, "a"))


def test_thousands_are_kept_alike_whatever_became_of_others_meanwhile() -> None:
    random = Random(1)
    wanted = [grace(random.randrange(900), f"n{number}") for number in range(3_000)]
    others = [grace(random.randrange(900), f"m{number}") for number in range(3_000)]
    one = NO_DEADLINES
    for deadline in wanted:
        one = put(one, deadline)
    other = NO_DEADLINES
    both = [*wanted, *others]
    random.shuffle(both)
    for deadline in both:
        other = put(other, deadline)
    random.shuffle(others)
    for deadline in others:
        assert is_set(other, deadline)
        other = take_back(other, deadline)
        assert not is_set(other, deadline)

    assert other == one
    assert in_order(one) == tuple(sorted(wanted))
    assert len(one) > 5, "and not all in one run"
    for deadline in sorted(wanted):
        assert due(other, deadline.at) == first(other) == deadline
        other = take_back(other, deadline)
    assert other == NO_DEADLINES


def test_setting_one_of_many_copies_few_of_them() -> None:
    queue = NO_DEADLINES
    for number in range(20_000):
        queue = put(queue, grace(number, "n"))

    after = put(queue, grace(9_999, "another"))

    same = {id(run) for run in queue} & {id(run) for run in after}
    copied = [run for run in after if id(run) not in same]
    assert sum(map(len, copied)) < 5_000
