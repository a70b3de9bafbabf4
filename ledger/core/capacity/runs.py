"""A long sequence of plans, written down by what repeats in it.

A core or a device can hold more instances than anybody would want to write down. Where the same
plans come again and again, a run says how often, so that counting them, and adding up what the
first of them take, does not depend on how many there are. They are unrolled only as far as
somebody asks.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

Plan = TypeVar("Plan")


@dataclass(frozen=True, slots=True)
class Run(Generic[Plan]):
    """These plans one after the other, and that so many times."""

    plans: tuple[Plan, ...]
    times: int


def count(runs: Iterable[Run[Plan]]) -> int:
    """How many plans there are."""
    return sum(len(run.plans) * run.times for run in runs)


def unrolled(runs: Iterable[Run[Plan]]) -> Iterator[Plan]:
    """The plans one by one."""
    for run in runs:
        # A range, unlike itertools.repeat, may be longer than a machine word can count.
        for _ in range(run.times):
            yield from run.plans


def first(runs: Iterable[Run[Plan]], wanted: int) -> Iterator[tuple[Plan, int]]:
    """Each different plan among the first ``wanted``, with how often it comes."""
    for run in runs:
        rounds, rest = divmod(min(wanted, len(run.plans) * run.times), len(run.plans))
        for place, plan in enumerate(run.plans):
            times = rounds + (place < rest)
            if times:
                yield plan, times
        wanted -= len(run.plans) * rounds + rest
        if wanted == 0:
            return
