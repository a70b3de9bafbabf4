"""Which of many signed ends are enough to keep: the newer, the denser.

A log that was restored ends somewhere between two ends that were signed. The nearest one below says how much
of it is what was signed, so some have to be kept; all of them would be too many to write down with every
signature. A log is mostly restored to a moment not long ago. So between two ends that are kept there lies at
most as much as behind them, up to the newest: there are at most about two for each doubling of the log.
"""

from collections.abc import Sequence


def thinned(sizes: Sequence[int]) -> list[int]:
    """Some of these sizes, which rise: the first, the last, and few between them.

    What is left of sizes that were thinned before and grew since is as good as what is left of all.
    """
    kept: list[int] = []
    for size in sizes:
        while len(kept) > 1 and size - kept[-2] <= sizes[-1] - size:
            kept.pop()
        kept.append(size)
    return kept
