"""What was used before, the slow way: from a diary of all that ever happened, read anew for every round.

Each page says from which moment on who held how much, who got a place then, or that the policy has another
history. A reader walks from page to page and from bucket to bucket, writing down what is spent; at
the end of a bucket the mean becomes a mixture of itself and of what was held on average.

Where the page says little:

* Parts are rounded down, each time that one is made: the factor of 2**32 parts, an average and a mixture of 2**20
  parts of a unit, the charge of a task that enters, what it all counts for.
* A bucket that another length of buckets cuts short ends there, and has held nothing in the rest of it.
* What is turned off is forgotten, and what turns it on knows of nobody's entry.
* Tasks that come into a queue with their job bring nothing with them, and are not charged for it.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ledger.core.fairshare.decay import LARGEST_FACTOR
from ledger.facts.policy import History

Amounts = dict[str, int]
Place = tuple[str, str]
"""A queue, and a namespace in it."""


@dataclass(slots=True)
class Page:
    """From when on something is so."""

    at: int
    held: dict[Place, Amounts] | None = None
    enters: tuple[Place, Amounts] | None = None
    history: History | None = None
    turns: bool = False
    """Whether it is the history that is another one."""


@dataclass(slots=True)
class Diary:
    """All that happened, in order."""

    pages: list[Page] = field(default_factory=list)
    history: History | None = None
    held: dict[Place, Amounts] = field(default_factory=dict)

    def told(self, at: int, history: History | None, held: dict[Place, Amounts]) -> None:
        """This is how things stand; a page is written where they stood otherwise."""
        if history != self.history:
            self.history = history
            self.pages.append(Page(at, history=history, turns=True))
        if held != self.held:
            self.held = held
            self.pages.append(Page(at, held=held))

    def entered(self, at: int, place: Place, amounts: Amounts) -> None:
        """A task got a place."""
        self.pages.append(Page(at, enters=(place, amounts)))

    def charges(self, now: int) -> dict[Place, Amounts]:
        """What all that counts for now."""
        reader = Reader()
        for page in self.pages:
            reader.read(page)
        reader.walk(now)
        return reader.charges()


def history_of(settings: Mapping[str, Any]) -> History | None:
    """The history that these settings make."""
    if settings.get("fairshare.history") is None:
        return None
    told = {
        path.rpartition(".")[2]: value
        for path, value in settings.items()
        if path.startswith("fairshare.history.") and value is not None
    }
    return History(**told)


def parts(ratio: Fraction) -> int:
    """How many of 2**32 parts stay."""
    return max(1, min(LARGEST_FACTOR, int(ratio * 2**32)))


class Reader:
    """Somebody who reads a diary from the beginning."""

    def __init__(self) -> None:
        self.at = 0
        self.history: History | None = None
        self.held: dict[Place, Amounts] = {}
        self.means: dict[tuple[Place, str], int] = defaultdict(int)
        self.spent: dict[tuple[Place, str], int] = defaultdict(int)
        self.entries: dict[tuple[Place, str], int] = defaultdict(int)

    def read(self, page: Page) -> None:
        self.walk(page.at)
        if page.turns:
            if self.history is None or page.history is None:
                self.means.clear()
                self.spent.clear()
                self.entries.clear()
            elif self.history.bucket_ms != page.history.bucket_ms:
                self.close()
            self.history = page.history
        if page.held is not None:
            self.held = page.held
        if page.enters is not None and self.history is not None and self.history.entry_penalty:
            place, amounts = page.enters
            for name, amount in amounts.items():
                goes = 2**32 - parts(self.history.decay)
                self.entries[place, name] += 2**20 * amount * goes // 2**32

    def walk(self, until: int) -> None:
        """Go on to a moment, bucket by bucket."""
        while self.history is not None and self.at < until:
            bucket = self.history.bucket_ms * 1000
            end = self.at - self.at % bucket + bucket
            there = min(end, until)
            for place, amounts in self.held.items():
                for name, amount in amounts.items():
                    self.spent[place, name] += amount * (there - self.at)
            self.at = there
            if there == end:
                self.close()
        self.at = until

    def close(self) -> None:
        """The bucket is over."""
        assert self.history is not None
        stays, bucket = parts(self.history.decay), self.history.bucket_ms * 1000
        for key in {*self.means, *self.spent}:
            average = 2**20 * self.spent[key] // bucket
            self.means[key] = (self.means[key] * stays + average * (2**32 - stays)) // 2**32
        self.spent.clear()
        self.entries.clear()

    def charges(self) -> dict[Place, Amounts]:
        """Whole units of what the policy lets count."""
        if self.history is None:
            return {}
        found: dict[Place, Amounts] = {}
        for place, name in {*self.means, *self.entries}:
            fine = self.means[place, name] + self.entries[place, name]
            found.setdefault(place, {})[name] = int(fine * self.history.past_weight / 2**20)
        return found
