"""What people asked of a fleet: another policy, a proposal, its approval."""

from dataclasses import dataclass
from typing import Literal

from ledger.facts.policy import PolicyChange
from ledger.units import DecisionNumber

ProposalKind = Literal["deployments", "disks"]


@dataclass(frozen=True, slots=True)
class PolicyChanged:
    """Some fields of the fleet's policy have new values from here on."""

    change: PolicyChange
    salt: str | None
    """Counts only in a fleet's first event."""


@dataclass(frozen=True, slots=True)
class ProposalRequested:
    """Somebody wants to see what rebalancing would do; nothing moves before an approval."""

    kind: ProposalKind
    subject: str | None
    """What is to be rebalanced; None is everything of that kind."""
    max_moves: int | None
    max_bytes: int | None


@dataclass(frozen=True, slots=True)
class ProposalApproved:
    """A proposal, named by the number of its decision, may be carried out."""

    proposal: DecisionNumber
