"""What the naive models of the kinds of decisions have in common: how a fleet speaks with them.

A part hears of every event and deadline after the fleet has taken it in, says when something of its
own runs out, and decides in its turn, unless the fleet holds. What it decides it says in the same
few words, whatever the kind.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from ledger.facts.decision import Decision
from ledger.facts.event import Fact


class Moment(NamedTuple):
    """When something runs out; in the order in which they fire."""

    at: int
    kind: str
    subject: str


@dataclass(slots=True)
class Said:
    """One decision, as a naive model sees it."""

    number: int
    position: int
    moment: tuple[str, str] | None
    """Kind and subject of what ran out, where nothing happened but that."""
    kind: str
    subject: str
    previous: int | None
    rows: dict[str, str] = field(default_factory=dict)
    """What was placed or evicted, and where."""
    released: list[str] = field(default_factory=list)
    small: dict[str, list[str]] = field(default_factory=dict)
    """By replica that was placed, the disks that were candidates and had too little room for it."""
    reason: str = ""
    waits_for: str = ""
    moved: int = 0


def heading(made: Decision) -> Said:
    """What a naive model says of a decision before it says what was decided."""
    return Said(
        number=made.number,
        position=made.position,
        moment=None if made.deadline is None else (made.deadline.kind, made.deadline.subject),
        kind=made.kind,
        subject=made.subject,
        previous=made.previous,
        moved=made.moved,
    )


class Part(Protocol):
    """A naive model of one kind."""

    def moments(self) -> list[Moment]:
        """What will run out, and when."""

    def fired(self, moment: Moment) -> None:
        """Something ran out."""

    def heard(self, fact: Fact, subject: str) -> None:
        """An event was applied; what it says of objects has been taken in."""

    def folded(self) -> None:
        """Nothing more happens in this event: see what follows for what is held."""

    def decide(self, moment: Moment | None) -> list[Said]:
        """Ask what is due; ``moment`` is what ran out, if that was all."""

    def settled(self) -> None:
        """All kinds have decided."""
