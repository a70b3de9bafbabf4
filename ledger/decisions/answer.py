"""What somebody who answers a question says: all of a decision that depends on the question.

The rest - whose fleet, which number and position, because of which deadline, under which policy,
after which decision about the same subject - is the same for every kind and added by
``ledger.decisions.decide``.
"""

from dataclasses import dataclass
from typing import Final

from ledger.facts.decision import LotUse, Outcome
from ledger.reducers.world import World
from ledger.units import Subject

REFUSED: Final = "refused"
"""The branch of every refusal."""


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer, not yet a decision."""

    subject: Subject
    algorithm: str
    version: int
    inputs: str
    """Digest of everything the rule was given, in hex."""
    branch: str
    outcome: Outcome
    moved: int
    lot: LotUse | None = None


@dataclass(frozen=True, slots=True)
class GivenUp:
    """What became of a subject that gave up what it does not want any more."""

    world: World
    """For asking: without what was given up."""
    answered: tuple[Answered, ...] = ()
    """The decision that says so, if the subject wants nothing else; then its turn is over."""
