"""Drawing lots for an invented fleet: one generator, asked in one order, so that a seed is enough."""

from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate
from random import Random
from typing import Generic, TypeVar

Thing = TypeVar("Thing")


class Choice(Generic[Thing]):
    """Things to choose from, each as often as its weight says."""

    def __init__(self, *weighed: tuple[int, Thing]) -> None:
        assert all(weight >= 0 for weight, _ in weighed)
        self._things = [thing for _, thing in weighed]
        self._sums = list(accumulate(weight for weight, _ in weighed))
        assert self._sums[-1] > 0, "one of them has to be possible"

    def draw(self, chance: Random) -> Thing:
        """One of them."""
        return self._things[bisect(self._sums, int(chance.random() * self._sums[-1]))]


def some(chance: Random, things: Sequence[Thing]) -> Thing:
    """Any of them, each as likely."""
    # Quicker than choice(), which draws bits until they fit.
    return things[int(chance.random() * len(things))]


def happens(chance: Random, percent: int) -> bool:
    """Whether something does that does so many times in a hundred."""
    return chance.random() * 100 < percent


def uid(chance: Random) -> str:
    """A UUID as Kubernetes hands them out."""
    digits = f"{chance.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def template_hash(chance: Random) -> str:
    """What tells one version of a workload's template from another."""
    return f"{chance.getrandbits(40):010x}"
