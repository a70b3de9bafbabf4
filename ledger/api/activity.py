"""What a service has done, in plain numbers; nobody reads them to decide anything."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, get_args

Part = Literal["read", "wait", "lock", "append", "decide", "reply"]
"""Of an admission: until its controller was read, in the line, at the fleet's lock, until the commit, until the answer was there, and
until it was ready to be sent."""

PARTS: Final[tuple[Part, ...]] = get_args(Part)

BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Seconds by which times are counted: those of Kubernetes for its webhooks, and some between."""


class Timed(Protocol):
    """Seconds that each part took."""

    read: float
    wait: float
    lock: float
    append: float
    decide: float
    reply: float


@dataclass(slots=True)
class Spell:
    """How long something took, again and again."""

    seconds: float = 0.0
    within: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    """How often longer than the bound before and at most this one; the last: longer than all."""

    def add(self, seconds: float) -> None:
        """Once more."""
        self.seconds += seconds
        self.within[sum(seconds > bound for bound in BOUNDS)] += 1


@dataclass(slots=True)
class Served:
    """Counts since the process began."""

    requests: Counter[str] = field(default_factory=Counter)
    """By the class of their status: 2xx, 3xx, 4xx, 5xx."""
    problems: Counter[str] = field(default_factory=Counter)
    """By their code."""
    busy_seconds: float = 0.0
    """Spent on requests, from their last byte to their answer; several at a time count each."""
    open_requests: int = 0
    events: Counter[str] = field(default_factory=Counter)
    """By what became of them."""
    certificates_read: int = 0
    admissions: Counter[str] = field(default_factory=Counter)
    """By what they were answered with."""
    admission_parts: dict[Part, Spell] = field(
        default_factory=lambda: {part: Spell() for part in PARTS}
    )
    owners_read: Counter[str] = field(default_factory=Counter)
    """Whom pods are made by, by whether an API server said how it stands with them: read, late, failed;
    skipped, where it was late or failed just before."""
    admission_spell: Spell = field(default_factory=Spell)
    """From the last byte of the question to the answer."""

    def count_admission(self, outcome: str, times: Timed, seconds: float) -> None:
        """Add one."""
        self.admissions[outcome] += 1
        self.admission_spell.add(seconds)
        if outcome == "answered":
            for part in PARTS:
                self.admission_parts[part].add(getattr(times, part))
