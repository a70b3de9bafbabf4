"""Where reading a partition begins, by what the log took, what Kafka has and what it was told."""

import pytest

from consumers.custody import GoOn, Prove, Refuse, beginning
from ledger.log.receipts import Receipt
from ledger.units import Offset


def taken_to(offset: int) -> Receipt:
    return Receipt(0, Offset(offset), 1, bytes(32))


@pytest.mark.parametrize("told", [None, 0, 9, 10])
def test_what_was_told_is_never_more_than_what_was_taken(told: int | None) -> None:
    known = None if told is None else Offset(told)

    assert isinstance(beginning(taken_to(10), first=Offset(0), end=Offset(20), told=known), Prove)


def test_where_it_is_more_the_log_was_restored_and_the_partition_stops() -> None:
    found = beginning(taken_to(10), first=Offset(0), end=Offset(20), told=Offset(11))

    assert isinstance(found, Refuse)
    assert found.reason == "log_rewound"


def test_a_log_that_has_nothing_of_a_partition_reads_all_of_it_whatever_was_told() -> None:
    found = beginning(None, first=Offset(3), end=Offset(20), told=Offset(11))

    assert isinstance(found, GoOn)
    assert found.offset == 3


def test_what_was_told_of_a_topic_that_was_there_before_says_nothing() -> None:
    """It ends before that: whatever it was told of, it was not this one."""
    found = beginning(taken_to(4), first=Offset(0), end=Offset(5), told=Offset(11))

    assert isinstance(found, Prove)
