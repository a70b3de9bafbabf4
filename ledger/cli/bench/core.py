"""``ledger bench core``: how long the core thinks, question by question, in one thread.

There is no floor here: what a question may cost is a promise, and each case carries its own. Every
reading is a cold one: the question is made anew and asked once, with the garbage of its making
collected. A reading is processor time: pure code waits for nothing, so on a core of its own that is
what the clock on the wall says, and with neighbours it still is what the question costs. What is
reported is the median.

How cost grows is told by an exponent: the slope of the straight line through four sizes, both on
logarithmic scales, beside the slope that n log n has over the same sizes.
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import log
from statistics import linear_regression, median
from time import perf_counter_ns, thread_time_ns
from typing import Any, Final

from ledger.cli.bench.core_case import Asking, Case, Growth
from ledger.cli.bench.figures import surroundings

FEWEST_READINGS: Final = 5
MOST_READINGS: Final = 2_000

TURNS: Final = 3
"""How often each size has its turn: a machine that changes its pace in between does so for all of them."""

TOLERANCE: Final = 0.15
"""How far a fitted exponent may lie above that of n log n before it counts as more. Large questions
leave the processor's caches as well, which costs some of it; n² lies almost a whole one above."""

NANOSECONDS_IN_A_MS: Final = 1_000_000

Finding = Mapping[str, Any]
"""What is printed. ``kept`` says whether the limit is."""


def measured(
    cases: Iterable[Case], growths: Iterable[Growth], *, seconds: float
) -> Iterator[Finding]:
    """One finding after the other; ``seconds`` is what each may take, if it is not too few."""
    for case in cases:
        yield of_case(case, seconds=seconds)
    for growth in growths:
        yield of_growth(growth, seconds=seconds)


def of_case(case: Case, *, seconds: float) -> Finding:
    """What a question takes, against what it may take."""
    taken = [ms / case.units for ms in _readings(case.prepare, seconds=seconds)]
    return {
        "bench": "core",
        "case": case.name,
        "about": case.about,
        "median_ms": _shown(median(taken)),
        "lowest_ms": _shown(min(taken)),
        "highest_ms": _shown(max(taken)),
        "readings": len(taken),
        "at_most_ms": _shown(float(case.at_most_ms)),
        "kept": median(taken) <= case.at_most_ms,
    } | surroundings(postgres="none")


def of_growth(growth: Growth, *, seconds: float) -> Finding:
    """How the cost of a question grows with its size, against n log n."""

    def prepared(size: int) -> Callable[[], Asking]:
        return lambda: growth.prepare(size)

    share = seconds / len(growth.sizes) / TURNS
    readings: dict[int, list[float]] = {size: [] for size in growth.sizes}
    for _ in range(TURNS):
        for size in growth.sizes:
            readings[size] += _readings(prepared(size), seconds=share)
    taken = [median(those) for those in readings.values()]
    exponent = fitted_exponent(growth.sizes, taken)
    of_n_log_n = fitted_exponent(growth.sizes, [size * log(size) for size in growth.sizes])
    return {
        "bench": "core",
        "growth": growth.name,
        "about": growth.about,
        "sizes": growth.sizes,
        "median_ms": [_shown(ms) for ms in taken],
        "exponent": _shown(exponent),
        "exponent_of_n_log_n": _shown(of_n_log_n),
        "kept": exponent <= of_n_log_n + TOLERANCE,
    } | surroundings(postgres="none")


def fitted_exponent(sizes: Iterable[int], costs: Iterable[float]) -> float:
    """The k for which cost is most nearly a constant times size to the k (least squares)."""
    return linear_regression([log(size) for size in sizes], [log(cost) for cost in costs]).slope


def _readings(prepare: Callable[[], Asking], *, seconds: float) -> list[float]:
    """Milliseconds, one for each cold asking."""
    prepare()()  # What is loaded and made once for all is not what is asked about.
    taken: list[float] = []
    gc.collect()
    gc.freeze()  # From here on a collection looks only at the question.
    try:
        until = perf_counter_ns() + seconds * 1_000 * NANOSECONDS_IN_A_MS
        while len(taken) < FEWEST_READINGS or (
            len(taken) < MOST_READINGS and perf_counter_ns() < until
        ):
            ask = prepare()
            gc.collect()
            began = thread_time_ns()
            ask()
            taken.append((thread_time_ns() - began) / NANOSECONDS_IN_A_MS)
    finally:
        gc.unfreeze()
    return taken


def _shown(number: float) -> float:
    """Four digits; what follows is noise."""
    return float(f"{number:.4g}")
