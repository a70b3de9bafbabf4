"""Python's search for cyclic garbage, made rare while events stream through.

What a batch is made of are tuples, strings and bytes: no cycles, gone by themselves when the batch
is. Searching them again and again as they pile up found nothing and took a fifth of the time. A
World is much larger and changes all the time; its parts are persistent, so they make no cycles
either, and searching it took a sixth of the time that folding takes. Whoever waits for an answer waits
for a search too: one of all that a service has loaded took 30 ms, so that is not searched at all.
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
