"""Cyclic garbage is looked for seldom inside, and as before once everybody has left."""

import gc

from ledger.log.garbage import OBJECTS, seldom_collected


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
