"""What the ledger itself records: time, admissions, quarantine, incidents, recoveries.

Nobody else may say these. They are ``own`` also where their name puts them beside another family:
the webhook's admissions are about workloads, and still nobody's but the webhook's to report.
"""

# ruff: noqa: D102 - what fact is for is said once, in EventData

from typing import Annotated, Any, ClassVar

from pydantic import Field

from ledger.events.contract import (
    Contract,
    Family,
    Shape,
)
from ledger.events.contract_values import (
    LONGEST_DETAIL,
    MOST_ENTRIES,
    Cluster,
    Name,
    ReplicaCount,
    Text,
    Whole,
    Word,
)
from ledger.events.contracts.workload import Owner
from ledger.events.strict_json import canonical
from ledger.facts import event as log_event
from ledger.facts import own as facts
from ledger.units import LARGEST_WHOLE_NUMBER, EventType, Incarnation, Microseconds, Subject

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class TimePassed(Contract):
    """Time went by until a deadline was reached, and nothing else happened."""

    event_type: ClassVar = EventType("ledger.time.time.passed.v1")
    family: ClassVar[Family] = "own"
    key_fields: ClassVar[tuple[str, ...]] = ()

    now: Annotated[Microseconds, Field(ge=0, le=LARGEST_WHOLE_NUMBER)]
    """Microseconds since 1970."""

    def fact(self) -> facts.TimePassed:
        return facts.TimePassed(self.now)


class AdmissionRequested(Contract):
    """A cluster asks about a pod that is about to be created."""

    event_type: ClassVar = EventType("ledger.workload.admission.requested.v1")
    family: ClassVar[Family] = "own"
    key_fields: ClassVar[tuple[str, ...]] = ("namespace", "owner.name")

    uid: Word
    """The admission's own uid; a retried call carries it again."""
    cluster: Cluster
    """Who asks."""
    namespace: Name
    """Where the pod will be."""
    owner: Owner
    """Its controller."""
    template_hash: Text = ""
    """Which version of the template it is made from."""
    dry_run: bool = False
    """Whether nothing will really be created."""
    carried: Word | None = None
    """The reservation that the pod already names."""
    user_pin: facts.UserPin | None = None
    """The capacity class that its user insists on."""
    pod: dict[str, Any] = Field(default_factory=dict)
    """What the patch needs of the pod; no decision reads it."""
    name: Word | None = None
    """The pod's name, where it has one already: the pods of a StatefulSet have."""
    pod_index: Text | None = None
    """The pod's label `apps.kubernetes.io/pod-index`, as written."""
    ordinals_start: Whole | None = None
    """The ordinal at which its StatefulSet begins, as read while it was asked; absent, as told of the set."""
    can_list: bool = False
    """Whether whoever asks can list the template's pods, if the answer says so first."""
    replicas: ReplicaCount | None = None
    """How many pods its workload wants, as read while it was asked. Where it is not divided, that counts before what was told of it."""
    min_available: Text | None = None
    """The annotation of the workload that was read with it."""
    replicaset_replicas: ReplicaCount | None = None
    """How many pods its ReplicaSet is to have, as read while it was asked; it counts before what was told of it."""

    def fact(self) -> facts.AdmissionRequested:
        return facts.AdmissionRequested(
            uid=self.uid,
            cluster=self.cluster,
            namespace=self.namespace,
            owner=self.owner.fact(),
            template_hash=self.template_hash,
            dry_run=self.dry_run,
            carried=self.carried,
            user_pin=self.user_pin,
            pod=canonical(self.pod).decode(),
            name=self.name,
            pod_index=self.pod_index,
            ordinals_start=self.ordinals_start,
            can_list=self.can_list,
            replicas=self.replicas,
            min_available=self.min_available,
            replicaset_replicas=self.replicaset_replicas,
        )


class AdmissionBypassed(Contract):
    """An admission was answered "allowed, unpatched", because no better answer came in time."""

    event_type: ClassVar = EventType("ledger.workload.admission.bypassed.v1")
    family: ClassVar[Family] = "own"
    key_fields: ClassVar[tuple[str, ...]] = ("uid",)

    uid: Word
    """The admission's uid."""
    reason: Text
    """Why."""

    def fact(self) -> facts.AdmissionBypassed:
        return facts.AdmissionBypassed(self.uid, self.reason)


class PodsListed(Contract):
    """Which reservations a list of one template's pods found."""

    event_type: ClassVar = EventType("ledger.workload.pods.listed.v1")
    family: ClassVar[Family] = "own"
    key_fields: ClassVar[tuple[str, ...]] = ("admission_uid",)

    admission_uid: Word
    """The admission that made it necessary."""
    template_hash: Text
    """Which version of the template."""
    present: Annotated[list[Word], Field(max_length=MOST_ENTRIES)]
    """The reservations found."""
    others: Annotated[list[Word], Field(max_length=MOST_ENTRIES)] | None = None
    """The names of the pods found that carry no reservation; absent where nobody looked."""

    def fact(self) -> facts.PodsListed:
        return facts.PodsListed(
            self.admission_uid,
            self.template_hash,
            tuple(sorted(set(self.present))),
            None if self.others is None else tuple(sorted(set(self.others))),
        )


class MessageReleased(Contract):
    """A quarantined message was let in after all: what it says happens here and now."""

    event_type: ClassVar = EventType("ledger.quarantine.message.released.v1")
    family: ClassVar[Family] = "own"
    key_fields: ClassVar[tuple[str, ...]] = ("address",)

    address: Text
    """Where the message was quarantined."""
    event: dict[str, Any]
    """The event it holds, in structured form."""

    def holding(self, fact: log_event.Fact) -> log_event.MessageReleased:
        """The release of an event that says ``fact``."""
        assert not isinstance(fact, log_event.OwnFact), "only what came from outside is quarantined"
        return log_event.MessageReleased(
            address=self.address,
            source=self.event["source"],
            id=self.event["id"],
            type=EventType(self.event["type"]),
            subject=Subject(self.event["subject"]),
            fact=fact,
        )


class MessageQuarantined(Contract):
    """A message could not be accepted and is kept under its address."""

    event_type: ClassVar = EventType("ledger.quarantine.message.quarantined.v1")
    family: ClassVar[Family] = "own"
    key_fields: ClassVar[tuple[str, ...]] = ("address",)

    address: Text
    """Where it came from."""
    reason: Word
    """Why, as docs/errors.md lists it."""
    sha256: Sha256
    """The digest of the message."""

    def fact(self) -> facts.MessageQuarantined:
        return facts.MessageQuarantined(self.address, self.reason, self.sha256)


class IncidentRecorded(Contract):
    """Something happened that a person has to look at."""

    event_type: ClassVar = EventType("ledger.incident.incident.recorded.v1")
    family: ClassVar[Family] = "own"
    key_fields: ClassVar[tuple[str, ...]] = ("address",)

    kind: Word
    """What kind of thing."""
    address: Text
    """What it happened to."""
    detail: Annotated[str, Field(max_length=LONGEST_DETAIL)]
    """What is known about it."""

    def fact(self) -> facts.IncidentRecorded:
        return facts.IncidentRecorded(self.kind, self.address, self.detail)


class LastSigned(Shape):
    """Where a tree ended when it was signed for the last time in an earlier life of the log."""

    origin: Text
    """Whose checkpoint it was: site, fleet, incarnation, tree."""
    size: Whole
    """How many leaves it had."""
    root: Sha256
    """Their root."""


class LogRecovered(Contract):
    """The database was restored to an earlier point, and the log goes on from there in its next life."""

    event_type: ClassVar = EventType("ledger.recovery.log.recovered.v1")
    family: ClassVar[Family] = "own"
    key_fields: ClassVar[tuple[str, ...]] = ()

    incarnation: Annotated[int, Field(ge=2, le=2**31 - 1)]
    """Which life of the log begins with this event."""
    signed: Annotated[list[LastSigned], Field(max_length=MOST_ENTRIES)]
    """The last checkpoints that were signed in the life before; none where nothing was."""
    published: Word | None = None
    """The id of the last decision that was handed on to Kafka; absent where nobody looked."""
    why: Text
    """Why, as the person said who recovered it."""
    by: Word
    """Who did."""

    def fact(self) -> facts.LogRecovered:
        return facts.LogRecovered(
            Incarnation(self.incarnation),
            tuple(facts.LastSigned(one.origin, one.size, one.root) for one in self.signed),
            self.published,
            self.why,
            self.by,
        )
