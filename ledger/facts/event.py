"""An event of the log, and the union of everything that can have happened."""

from dataclasses import dataclass

from ledger.facts.cluster import (
    ClusterRemoved,
    ClusterUpserted,
    InventoryListed,
    NodeReclaiming,
    NodeRemoved,
    NodeUpserted,
)
from ledger.facts.control import PolicyChanged, ProposalApproved, ProposalRequested
from ledger.facts.disk import (
    DiskRemoved,
    DiskUpserted,
    ReplicaFailed,
    ReplicaRecovered,
    VolumeRemoved,
    VolumeUpserted,
)
from ledger.facts.own import (
    AdmissionBypassed,
    AdmissionRequested,
    IncidentRecorded,
    LogRecovered,
    MessageQuarantined,
    PodsListed,
    TimePassed,
)
from ledger.facts.quota import QueueRemoved, QueueUpserted, QuotaRemoved, QuotaUpserted
from ledger.facts.workload import (
    JobFinished,
    PodDeleted,
    PodObserved,
    ReplicaSetUpserted,
    WorkloadRemoved,
    WorkloadRescheduled,
    WorkloadUpserted,
)
from ledger.units import EventType, Microseconds, Position, Subject

ClusterFact = (
    ClusterUpserted | ClusterRemoved | NodeUpserted | NodeRemoved | NodeReclaiming | InventoryListed
)
WorkloadFact = (
    WorkloadUpserted
    | WorkloadRemoved
    | WorkloadRescheduled
    | JobFinished
    | PodObserved
    | PodDeleted
    | ReplicaSetUpserted
)
QuotaFact = QueueUpserted | QueueRemoved | QuotaUpserted | QuotaRemoved
DiskFact = (
    DiskUpserted | DiskRemoved | VolumeUpserted | VolumeRemoved | ReplicaFailed | ReplicaRecovered
)
ControlFact = PolicyChanged | ProposalRequested | ProposalApproved
ProducerFact = ClusterFact | WorkloadFact | QuotaFact | DiskFact | ControlFact
"""What can come from outside."""


@dataclass(frozen=True, slots=True)
class MessageReleased:
    """A quarantined message was let in after all: what it said happens here and now."""

    address: str
    """Where the message was quarantined."""
    source: str
    id: str
    type: EventType
    subject: Subject
    fact: ProducerFact


OwnFact = (
    TimePassed
    | AdmissionRequested
    | AdmissionBypassed
    | PodsListed
    | MessageReleased
    | MessageQuarantined
    | IncidentRecorded
    | LogRecovered
)
Fact = ProducerFact | OwnFact


@dataclass(frozen=True, slots=True)
class Event:
    """A fact with its place in a fleet's log."""

    position: Position
    recorded_at: Microseconds
    """Fleet time: never runs backwards with position."""
    source: str
    id: str
    type: EventType
    subject: Subject
    fact: Fact
