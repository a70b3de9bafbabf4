"""The annotation by which a ReplicaSet chooses whom to delete: what it says, and how to raise it.

Pods with a lower cost go first. An on-demand pod costs one more than its template says, so the
spot pods of the same template go before it while the order that the template meant is kept. Cost
ranks below readiness (``scale_down``): it decides among pods that are equally well off, no more.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from ledger.core.spot.numerals import whole_number

HIGHEST: Final = 2**31 - 1
_WRITTEN: Final = re.compile(r"0|[1-9][0-9]*|-[0-9]+")
"""Kubernetes refuses a plus sign and a leading zero, but not behind a minus sign."""

Flag = Literal["cost_bumped", "cost_saturated", "cost_invalid_left"]


@dataclass(frozen=True, slots=True)
class DeletionCost:
    """What is written; Kubernetes counts 0 where nothing is, and refuses the pod if not valid."""

    valid: bool
    cost: int


@dataclass(frozen=True, slots=True)
class Raised:
    """The cost of an on-demand pod: the text to write, or None to leave what stands there."""

    text: str | None
    flag: Flag | None


def read_deletion_cost(value: str | None) -> DeletionCost:
    """Read the annotation's ``value``."""
    if value is None:
        return DeletionCost(valid=True, cost=0)
    cost = whole_number(value, bits=32) if _WRITTEN.fullmatch(value) else None
    return DeletionCost(valid=False, cost=0) if cost is None else DeletionCost(True, cost)


def raised(value: str | None) -> Raised:
    """One more than the template's ``value``."""
    if value is None:
        return Raised("1", None)
    written = read_deletion_cost(value)
    if not written.valid:
        return Raised(None, "cost_invalid_left")
    if written.cost == HIGHEST:
        return Raised(None, "cost_saturated")
    return Raised(str(written.cost + 1), "cost_bumped")
