"""What answers look like: the models the OpenAPI document is made from, and requests are held to."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel
from pydantic.alias_generators import to_camel

JobState = Literal["waiting", "running", "done", "failed", "cancelled"]

LARGEST_POSITION: Final = 2**63 - 2

Position = Annotated[int, Field(ge=0, le=LARGEST_POSITION)]
Word = Annotated[str, Field(min_length=1, max_length=1024, pattern=r"^[^\x00]*$")]


class Document(BaseModel):
    """An answer, or a part of one."""

    model_config = ConfigDict(extra="forbid")


class ProblemDocument(Document):
    """Why there is no other answer (RFC 9457); `code` is for programs and does not change."""

    type: str
    title: str
    status: int
    code: str
    detail: str


class Standing(Document):
    """How the service is."""

    status: Literal["ok", "draining", "log_unavailable"]


class Item(Document):
    """What became of one event."""

    outcome: Literal["appended", "duplicate", "conflict", "quarantined"]
    fleet: str | None = Field(None, description="Absent where it named none.")
    position: int | None = Field(None, description="Its place in the log of its fleet.")
    reason: str | None = Field(None, description="Why it is in quarantine (docs/errors.md).")
    detail: str | None = None


class Items(Document):
    """What became of each event of a request, in the order in which they came."""

    items: list[Item]


class FleetDocument(Document):
    """How far a fleet has come."""

    fleet: str
    clock: Literal["wall", "event"]
    opened_at: datetime
    incarnation: int
    events: int
    decisions: int
    decided_through: int | None
    undecided: int
    lag_seconds: float | None
    event_root: str | None
    decision_root: str | None
    decider: str | None
    open_refusals: int
    quarantined: int


class FleetsDocument(Document):
    """The fleets that the caller may see."""

    fleets: list[FleetDocument]


class Placement(Document):
    """What is in force now."""

    kind: str
    subject: str
    cluster: str | None
    node: str | None
    disk: str | None
    count: int
    number: int = Field(description="The decision that says so.")
    since_position: int


class Placements(Document):
    """A page."""

    items: list[Placement]
    next: str | None = Field(description="The cursor of the page behind it, if there is one.")


class Decision(Document):
    """A decision as it was recorded."""

    number: int
    position: int
    kind: str
    subject: str
    algorithm: str
    version: int
    branch: str
    moved: int
    previous_number: int | None
    result: dict[str, Any]
    reasons: dict[str, Any]
    digest: str
    decision: str


class Decisions(Document):
    """A page."""

    items: list[Decision]
    next: str | None


class Candidate(Document):
    """Somebody who was weighed."""

    stage: str
    candidate: str
    rank: int | None
    score: str | None
    chosen: bool
    why_not: str | None


class DecisionWithCandidates(Decision):
    """A decision, and who was weighed for it."""

    candidates: list[Candidate]


class FairShare(Document):
    """What a namespace has of a queue, of one resource; amounts are whole numbers as texts."""

    queue: str
    namespace: str
    resource: str
    number: int
    weight: str | None
    requested: str | None
    deserved: str | None
    deserved_exact: str | None
    allocated: str | None
    weighted_share: str | None


class FairShares(Document):
    """A page."""

    items: list[FairShare]
    next: str | None


class SetAside(Document):
    """A message in quarantine."""

    position: int
    address: str
    fleet: str | None
    reason: str
    detail: str
    source: str | None
    id: str | None
    type: str | None
    subject: str | None
    outcome: Literal["released", "discarded"] | None
    released_position: int | None
    quarantined_at: datetime
    settled_by: str | None
    settled_why: str | None
    settled_at: datetime | None
    """Who released or discarded it, why and when; null while it waits."""


class Quarantine(Document):
    """A page, the newest first."""

    items: list[SetAside]
    next: str | None


class Incident(Document):
    """A contradiction of the book, or something that stopped."""

    fleet: str
    position: int
    number: int | None
    recorded_at: datetime
    address: str
    kind: str | None
    detail: str | None


class Incidents(Document):
    """A page."""

    items: list[Incident]
    next: str | None


class ReleaseRequest(Document):
    """Let a message in, as it is or corrected."""

    why: str = Field(min_length=1, max_length=1000, pattern=r"^[^\x00]*$")
    corrected: dict[str, Any] | None = Field(None, description="The CloudEvent to let in instead.")


class ReleasedDocument(Document):
    """Where it stands now."""

    address: str
    fleet: str
    position: int


class DiscardRequest(Document):
    """Close a message without letting it in."""

    why: str = Field(min_length=1, max_length=1000, pattern=r"^[^\x00]*$")


class ReplayRequest(Document):
    """Recompute every decision of a range, or those about one subject, and compare."""

    kind: Literal["replay"]
    first: Position | None = Field(None, alias="from", description="Compare from this event on.")
    last: Position | None = Field(None, alias="to", description="Compare up to this event.")
    subject: Word | None = None


class WhatIfRequest(Document):
    """Fold the log again with something otherwise; nothing is written to it."""

    kind: Literal["what-if"]
    settings: dict[str, Any] | None = Field(
        None, description="Other settings, as a policy event has them (docs/events.md)."
    )
    weights: list[Word] = Field(
        default_factory=list, max_length=100, description="Such as shop/cart:eu=3,us=1."
    )
    without: list[Word] = Field(
        default_factory=list, max_length=1000, description="Events that never happen."
    )
    first: Word = Field(
        "0", alias="from", description="The first event that finds it otherwise, or `now`."
    )
    last: Position | None = Field(None, alias="to")
    ask_again: bool = False


class JobRequest(RootModel[Annotated[ReplayRequest | WhatIfRequest, Field(discriminator="kind")]]):
    """What is to be worked out."""


class Progress(Document):
    """How far a part of a job is."""

    phase: str
    done: int
    of: int | None


class JobInList(Document):
    """A job, without its result."""

    id: str
    kind: Literal["replay", "what-if"]
    fleet: str
    by: str
    asked: dict[str, Any]
    state: JobState
    queued_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    progress: list[Progress]
    exit_code: int | None = Field(description="That of the command; 0 is: the same.")
    problem: str | None = Field(description="Why there is no result.")


class JobsDocument(Document):
    """The jobs of the fleets that the caller may see."""

    jobs: list[JobInList]


class JobDocument(JobInList):
    """A job. Its result is what the command prints with --json (docs/replay.md, docs/what-if.md)."""

    result: dict[str, Any] | None


class KubernetesDocument(Document):
    """One whose fields have the names that Kubernetes gives them."""

    model_config = ConfigDict(alias_generator=to_camel)


class ReviewStatus(KubernetesDocument):
    """Why an object is refused."""

    code: int
    message: str


class ReviewResponse(KubernetesDocument):
    """What is said of the object."""

    uid: str = Field(description="Of the request.")
    allowed: bool
    patch_type: Literal["JSONPatch"] | None = None
    patch: str | None = Field(None, description="A JSON patch, in base64.")
    warnings: list[str] | None = None
    audit_annotations: dict[str, str] | None = None
    status: ReviewStatus | None = None


class AdmissionReview(KubernetesDocument):
    """What an API server is told."""

    api_version: Literal["admission.k8s.io/v1"]
    kind: Literal["AdmissionReview"]
    response: ReviewResponse
