"""What the ledger itself recorded: time, admissions, incidents, quarantine, recoveries.

These are refused from outside. ``MessageReleased`` is in ``ledger.facts.event``, because it holds
one of the other facts.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from ledger.facts.workload import Owner
from ledger.units import ClusterName, Incarnation, Microseconds, Replicas

UserPin = Literal["spot", "od"]


@dataclass(frozen=True, slots=True)
class TimePassed:
    """The decider saw that a deadline had passed and nothing else had happened."""

    now: Microseconds


@dataclass(frozen=True, slots=True)
class AdmissionRequested:
    """A cluster's API server asked about a pod that is about to be created."""

    uid: str
    """The admission's own; a retry of the same call carries it again."""
    cluster: ClusterName
    namespace: str
    owner: Owner
    template_hash: str
    dry_run: bool
    carried: str | None
    """The reservation the pod already names."""
    user_pin: UserPin | None
    pod: str
    """What the patch needs of the pod, as canonical JSON text; no decision reads it."""
    name: str | None
    """The pod's, if it has one already: those of a StatefulSet have."""
    pod_index: str | None
    """Its label that says so, as written."""
    ordinals_start: int | None
    """Where the ordinals of its StatefulSet begin, if whoever asks has read that."""
    can_list: bool
    """Whether whoever asks can list the template's pods, if that is needed for the answer."""
    replicas: Replicas | None
    """How many pods its workload wants, if that was read for it."""
    min_available: str | None
    """The annotation that was read with that."""
    replicaset_replicas: Replicas | None
    """How many pods its ReplicaSet is to have, if that was read for it; what was told may be older."""


@dataclass(frozen=True, slots=True)
class AdmissionBypassed:
    """An admission was answered "allowed, unpatched"; its reservation is released."""

    uid: str
    reason: str


@dataclass(frozen=True, slots=True)
class PodsListed:
    """Which reservations a list of a template's pods found while an admission was waiting."""

    admission_uid: str
    template_hash: str
    present: tuple[str, ...]
    others: tuple[str, ...] | None
    """Pods found that name no reservation, by name; None where nobody looked."""


@dataclass(frozen=True, slots=True)
class MessageQuarantined:
    """A message could not be accepted; it is kept as it came, under its address."""

    address: str
    reason: str
    sha256: str


@dataclass(frozen=True, slots=True)
class IncidentRecorded:
    """Something stopped that a person has to look at."""

    kind: str
    address: str
    detail: str


class LastSigned(NamedTuple):
    """Where a tree ended when it was signed for the last time in an earlier life of the log."""

    origin: str
    size: int
    root: str
    """In hexadecimal digits."""


@dataclass(frozen=True, slots=True)
class LogRecovered:
    """The log goes on from an earlier point of itself: with this event its next life begins."""

    incarnation: Incarnation
    """Which life of the log begins here."""
    signed: tuple[LastSigned, ...]
    """What the life before had signed at its end, as far as anybody knows."""
    published: str | None
    """The id of the last decision that was handed on, as far as anybody knows."""
    why: str
    by: str
