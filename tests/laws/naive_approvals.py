"""What is carried out before others are asked, in a naive fleet: only its turn is its own."""

from collections.abc import Callable
from dataclasses import dataclass

from ledger.facts.event import Fact
from tests.laws.naive_fleet import NaiveFleet
from tests.laws.naive_part import Moment, Said


@dataclass(slots=True)
class NaiveApprovals:
    """A part of its own, because it comes before those who see what follows; they hear of everything."""

    fleet: NaiveFleet
    carry_out: Callable[[Moment | None], list[Said]] | None = None
    """What was approved, the lowest number first."""

    def __post_init__(self) -> None:
        self.fleet.parts.append(self)

    def moments(self) -> list[Moment]:
        """Nothing runs out."""
        return []

    def fired(self, moment: Moment) -> None:
        """Nothing runs out."""

    def heard(self, fact: Fact, subject: str) -> None:
        """Told to others."""

    def folded(self) -> None:
        """What follows is seen by others."""

    def settled(self) -> None:
        """Nothing follows."""

    def decide(self, moment: Moment | None) -> list[Said]:
        """Carry out what was approved."""
        assert self.carry_out is not None, "somebody knows what was approved"
        return self.carry_out(moment)
