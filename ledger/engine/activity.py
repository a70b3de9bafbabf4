"""What a deciding process has done and how it stands, as plain numbers for whoever measures it.

The counts only grow, across fleets and across connections that were lost meanwhile. Nothing reads
them to decide anything.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from ledger.facts.decision import Decision
from ledger.facts.refusal import Refusal

Stand = Literal["leads", "stands_by", "stopped"]
"""How a process stands to a fleet: it decides, it would take over, or a person has to look."""


@dataclass(slots=True)
class SnapshotActivity:
    """What has become of snapshots."""

    written: int = 0
    failed: int = 0
    bytes: int = 0
    """As they are kept."""
    seconds: float = 0.0
    """From reading the roots to the commit; deciding goes on meanwhile."""
    pause_seconds: float = 0.0
    """For which deciding stood still."""
    read: int = 0
    ignored: int = 0


@dataclass(slots=True)
class Activity:
    """Counts of one process, and its stand to each fleet."""

    events: int = 0
    batches: int = 0
    busy_seconds: float = 0.0
    """Spent on batches that were written: reading, deciding and writing them."""
    decisions: Counter[str] = field(default_factory=Counter)
    """By kind, refusals among them."""
    moved: Counter[str] = field(default_factory=Counter)
    """What changed its place, by the kind of decision that moved it."""
    refusals: Counter[str] = field(default_factory=Counter)
    """By reason."""
    ticks: int = 0
    """Times that the passing of time was appended."""
    leases_taken: int = 0
    leases_lost: int = 0
    """Somebody else decided meanwhile, or was ahead of what is in memory."""
    log_lost: int = 0
    snapshots: SnapshotActivity = field(default_factory=SnapshotActivity)
    unfolded: dict[str, int] = field(default_factory=dict)
    """By fleet, how many decided events are not in memory yet; none is not listed."""
    stands: dict[str, Stand] = field(default_factory=dict)
    """By fleet; one that is not listed has not been looked at yet."""

    def count(self, made: Sequence[Decision], *, events: int, seconds: float) -> None:
        """Add one batch."""
        self.events += events
        self.batches += 1
        self.busy_seconds += seconds
        for decision in made:
            self.decisions[decision.kind] += 1
            if decision.moved:
                self.moved[decision.kind] += decision.moved
            match decision.outcome:
                case Refusal(reason=reason):
                    self.refusals[reason] += 1
                case _:
                    pass

    def standing(self, stand: Stand) -> int:
        """For how many fleets the process stands so."""
        return sum(one == stand for one in tuple(self.stands.values()))
