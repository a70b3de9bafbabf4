"""The queue of what runs out."""

from itertools import permutations

import pytest

from ledger.facts.reason import Deadline
from ledger.reducers.deadlines import due, put, take_back
from ledger.units import Microseconds, Subject


def grace(at: int, subject: str) -> Deadline:
    return Deadline(Microseconds(at), "grace", Subject(subject))


def test_deadlines_fire_by_moment_and_then_by_name_however_they_were_set() -> None:
    wanted = (grace(1, "z"), grace(2, "a"), grace(2, "b"))

    for order in permutations(wanted):
        queue: tuple[Deadline, ...] = ()
        for deadline in order:
            queue = put(queue, deadline)

        assert queue == wanted


def test_a_deadline_has_passed_at_its_own_moment_and_not_before() -> None:
    queue = put((), grace(5, "c"))

    assert due(queue, Microseconds(4)) is None
    assert due(queue, Microseconds(5)) == grace(5, "c")


def test_only_the_deadline_meant_is_taken_back() -> None:
    queue = put(put((), grace(5, "a")), grace(5, "b"))

    assert take_back(queue, grace(5, "a")) == (grace(5, "b"),)


def test_what_was_never_set_cannot_be_taken_back() -> None:
    with pytest.raises(AssertionError, match="never set"):
        take_back((grace(5, "a"),), grace(6, "a"))
