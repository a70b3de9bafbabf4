"""Python's search for cyclic garbage, made rare while events stream through.

What a batch is made of are tuples, strings and bytes: no cycles, gone by themselves when the batch
is. Searching them again and again as they pile up found nothing and took a fifth of the time.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

OBJECTS: Final = 100_000
"""New objects between two searches of the youngest: more than two batches hold."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Search rarely for the length of the block."""
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)
