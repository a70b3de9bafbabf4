"""Cyclic garbage is looked for seldom inside, not at all in what stays, and as before once all have left."""

import gc

from ledger.log.garbage import OBJECTS, searched_no_more, seldom_collected


def test_the_last_to_leave_restores_what_the_first_found() -> None:
    before = gc.get_threshold()
    first, second = seldom_collected(), seldom_collected()

    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold()[0] == OBJECTS
    assert gc.get_freeze_count() > 0
    second.__exit__(None, None, None)

    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_what_stays_is_searched_no_more_until_the_last_has_left() -> None:
    with seldom_collected():
        stays: list[list[int]] = [[] for _ in range(1000)]
        before = gc.get_freeze_count()
        searched_no_more()

        assert gc.get_freeze_count() >= before + len(stays)
        assert not any(one is stays for one in gc.get_objects())

    assert any(one is stays for one in gc.get_objects())


def test_outside_everything_is_searched() -> None:
    before = gc.get_freeze_count()

    searched_no_more()

    assert gc.get_freeze_count() == before
