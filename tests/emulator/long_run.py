"""The split of on-demand and spot pods over as many games as one has time for.

    python -m tests.emulator.long_run --games 20000 [--first 0]

Each line is one kind of weather: how many games, and how often the split was off by how many pods. With
a list of the pods to be had, and where nothing comes late, it must never be; without either what is short
is mended afterwards, and is counted before and after. Beside the ledger plays whoever counts the pods
that he sees.
"""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from typing import Final

from tests.emulator.doors import Engine
from tests.emulator.games import (
    Game,
    counting_error,
    drawn,
    engine_error,
    founded_error,
    grown,
    miscounted,
    repaired,
    resized_and_mended,
    resized_error,
    rolled_error,
)
from tests.emulator.kube import Weather

ROUGH: Final = Weather(rejects=30, duplicates=10, reinvocations=10, dry_runs=5)
LATE: Final = Weather(rejects=30, duplicates=10, reinvocations=10, dry_runs=5, lag=50)
ALL_LATE: Final = Weather(rejects=30, duplicates=10, lag=50, owners_lag=True)
BLIND: Final = Weather(rejects=30, bypasses=10, lag=50)

Play = Callable[[Game], int]


def mended(game: Game) -> int:
    """What is short, or too much, once everything was heard of and mended."""
    engine = Engine(reader=False)
    cluster = grown(game, engine, BLIND)
    repaired(cluster, engine)
    return miscounted(game, cluster)


EXACT: Final[dict[str, tuple[Play, int]]] = {
    "late, with a reader": (partial(engine_error, weather=LATE, reader=True), 5),
    "workloads and ReplicaSets late too, with a reader": (
        partial(engine_error, weather=ALL_LATE, reader=True),
        5,
    ),
    "sizes told late, with a reader": (partial(resized_error, weather=ALL_LATE), 5),
    "after mending, sizes that change before they are reached, told late, with a reader": (
        partial(resized_and_mended, weather=ALL_LATE),
        5,
    ),
    "rollouts told late, with a reader": (partial(rolled_error, weather=ALL_LATE), 5),
    "a StatefulSet told late": (partial(founded_error, weather=ALL_LATE), 5),
    "growing in calm weather, late": (
        partial(engine_error, weather=Weather(lag=50), reader=False),
        0,
    ),
    "nothing late, without a reader": (partial(engine_error, weather=ROUGH, reader=False), 5),
    "after mending, late and bypassed": (mended, 5),
}
BESIDE: Final[dict[str, tuple[Play, int]]] = {
    "late, without a reader": (partial(engine_error, weather=LATE, reader=False), 5),
    "counting, late": (partial(counting_error, weather=LATE), 5),
    "counting, growing in calm weather, late": (
        partial(counting_error, weather=Weather(lag=50)),
        0,
    ),
}


def main() -> int:
    """Play, and say how it went; 1 if what must be exact was not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", help="kinds of weather with these words")
    given = parser.parse_args()
    wrong = False
    for name, (play, kills) in (EXACT | BESIDE).items():
        if given.only is not None and given.only not in name:
            continue
        off: dict[int, int] = {}
        for seed in range(given.first, given.first + given.games):
            found = play(drawn(seed, kills=kills))
            off[found] = off.get(found, 0) + 1
            if found and name in EXACT:
                sys.stdout.write(f"{name}: game {seed} is off by {found}\n")
                wrong = True
        told = ", ".join(f"{by:+}: {off[by]}" if by else f"exact: {off[by]}" for by in sorted(off))
        sys.stdout.write(f"{name}: {given.games} games, {told}\n")
        sys.stdout.flush()
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
