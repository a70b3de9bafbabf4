"""Python's search for cyclic garbage, made rare while events stream through.

What a batch is made of are tuples, strings and bytes: no cycles, gone by themselves when the batch
is. Searching them again and again as they pile up found nothing and took a fifth of the time. A
World is much larger and changes all the time; its parts are persistent, so they make no cycles
either, and searching it took a sixth of the time that folding takes. Whoever waits for an answer waits
for a search too: one of all that a service has loaded took 30 ms, so that is not searched at all. What a
World gained in twenty thousand events took 140 ms, so what folding leaves is not searched a second time.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

OBJECTS: Final = 100_000
"""New objects between two searches of the youngest: more than two batches hold."""

_before: Final[list[tuple[int, int, int]]] = []
"""What those who are inside found, the first one first. They may leave in any order."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Search rarely, and not what is there already, for the length of the block.

    The last to leave restores what the first found.
    """
    if not _before:
        gc.freeze()
    _before.append(gc.get_threshold())
    gc.set_threshold(OBJECTS, 20, 20)
    try:
        yield
    finally:
        first, *_ = _before
        _before.pop()
        if not _before:
            gc.set_threshold(*first)
            gc.unfreeze()


def searched_no_more() -> None:
    """Leave out of every search what there is by now, as long as somebody is ``seldom_collected``.

    For the end of a batch, when little else is under way: a cycle that is garbage later, and was there
    already, is only found once the last has left. What is garbage without a cycle goes as ever.
    """
    if _before:
        gc.freeze()


@contextmanager
def none_collected() -> Iterator[None]:
    """Make millions of values that all stay, without looking through them again and again.

    That would take four times as long as making them. They need not be looked through later either.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
            gc.freeze()
