"""What a benchmark says: one line of JSON, with the ratio to a floor taken in the same run.

A figure of its own says little: it is as good as the machine and as bad as its neighbours. So each
benchmark does the same amount of the barest work that could be called the same (the *floor*), and
floor and subject take turns, round after round. A round's ratio compares two measurements that
stand side by side in time; what is reported is the median of the rounds, with the lowest and the
highest beside it.
"""

import json
import os
import platform
import shlex
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Final, Literal

DIGITS: Final = 3
"""Of a second and of a ratio; what follows is noise."""


@dataclass(frozen=True, slots=True)
class Round:
    """One turn of the subject and one of its floor."""

    events: int
    seconds: float
    floor_events: int
    floor_seconds: float

    @property
    def per_second(self) -> float:
        """What the subject did."""
        return self.events / self.seconds

    @property
    def floor_per_second(self) -> float:
        """What the floor did."""
        return self.floor_events / self.floor_seconds

    @property
    def ratio(self) -> float:
        """The subject's speed as a part of the floor's."""
        return self.per_second / self.floor_per_second


Told = Mapping[str, object]


def line(bench: str, rounds: list[Round], *, postgres: str, more: Told | None = None) -> str:
    """The one line of a benchmark."""
    assert rounds
    ratios = [one.ratio for one in rounds]
    said = {
        "bench": bench,
        "events": rounds[0].events,
        "seconds": round(median(one.seconds for one in rounds), DIGITS),
        "per_second": round(median(one.per_second for one in rounds)),
        "floor_per_second": round(median(one.floor_per_second for one in rounds)),
        "ratio": round(median(ratios), DIGITS),
        "ratio_lowest": round(min(ratios), DIGITS),
        "ratio_highest": round(max(ratios), DIGITS),
        "rounds": len(rounds),
    }
    return json.dumps(said | dict(more or {}) | surroundings(postgres))


def surroundings(postgres: str) -> dict[str, object]:
    """What a figure depends on besides the code."""
    return {
        "python": platform.python_version(),
        "python_optimized": optimized(sysconfig.get_config_var("CONFIG_ARGS")),
        "postgres": postgres,
        "cores": len(os.sched_getaffinity(0)),
        "load_before": _LOAD_BEFORE,
    }


def optimized(configured: str | None) -> Literal[True] | None:
    """Whether an interpreter was compiled after a profile of runs, as far as what it was configured with says so.

    None is no no: Debian has its interpreters profiled by a step of its own, of which nothing is kept.
    """
    try:
        words = shlex.split(configured or "")
    except ValueError:  # Whoever built it wrote something else there.
        return None
    return True if {"--enable-optimizations", "--enable-optimizations=yes"} & {*words} else None


_LOAD_BEFORE: Final = round(os.getloadavg()[0], 2)
"""How busy the machine was before we came: a figure taken on a busy machine is worth less."""
