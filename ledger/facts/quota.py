"""What happened to queues and namespace quotas.

Amounts are whole: cpu in milli-cores, everything else in its base unit. Maps are tuples of pairs
sorted by key. What follows from them (deserved shares, overuse) is ``ledger.core.fairshare``'s.
"""

from dataclasses import dataclass

from ledger.units import Uid, Weight

Amounts = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class QueueUpserted:
    """A queue as it now is. A resource that ``capability`` does not name has no limit."""

    name: str
    uid: Uid
    revision: int | None
    weight: Weight
    capability: Amounts
    guarantee: Amounts
    open: bool
    reclaimable: bool
    priority: int


@dataclass(frozen=True, slots=True)
class QueueRemoved:
    """A queue is gone."""

    name: str
    uid: Uid | None
    revision: int | None


@dataclass(frozen=True, slots=True)
class QuotaUpserted:
    """A ResourceQuota as it now is."""

    namespace: str
    name: str
    uid: Uid
    revision: int | None
    hard: Amounts
    """The limits, without the namespace weight."""
    weight: Weight | None
    """What it says of the namespace's weight; None if nothing valid, which counts as 1."""
    invalid_weight: str | None
    """A weight that was told and is not one, as written."""


@dataclass(frozen=True, slots=True)
class QuotaRemoved:
    """A ResourceQuota is gone."""

    namespace: str
    name: str
    uid: Uid | None
    revision: int | None
