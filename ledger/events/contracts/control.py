"""What people ask of a fleet: another policy, a proposal, its approval.

In a policy a null means something: it takes the setting back to the fleet's default.
"""

# ruff: noqa: D102 - what fact is for is said once, in EventData

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar, cast

from pydantic import AfterValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from ledger.events.contract import (
    Contract,
    Family,
    Shape,
)
from ledger.events.contract_values import (
    AnyRatio,
    Count,
    Quantity,
    Ratio,
    Text,
    Whole,
    Word,
)
from ledger.facts import control as facts
from ledger.facts import policy
from ledger.facts.workload import GlobalPolicy
from ledger.units import LARGEST_WHOLE_NUMBER, DecisionNumber, EventType, Milliseconds

Span = Annotated[Milliseconds, Field(ge=0, le=LARGEST_WHOLE_NUMBER)]
AtLeastOne = Annotated[int, Field(ge=1, le=LARGEST_WHOLE_NUMBER)]
Percent = Annotated[int, Field(ge=0, le=100)]
Version = Annotated[int, Field(ge=1, le=2**31 - 1)]


def _not_gone_at_once(decay: Fraction) -> Fraction:
    if decay == 0:
        raise PydanticCustomError("out_of_range", "nothing would be left of the past")
    return decay


FadingRatio = Annotated[Ratio, AfterValidator(_not_gone_at_once)]

Named = TypeVar("Named", bound=str)


def _each_once(named: list[Named]) -> list[Named]:
    twice = [name for place, name in enumerate(named) if name in named[:place]]
    if twice:
        raise PydanticCustomError("wrong_field", "{name} is named twice", {"name": twice[0]})
    return named


_EACH_ONCE: Final = AfterValidator(_each_once)
_UNIQUE: Final = Field(json_schema_extra={"uniqueItems": True})

_PODS: Final = r"(0|[1-9][0-9]{0,8}|(0|[1-9][0-9]?|100)%)"
"""Less than a billion pods, or that much of them: the core reads this without the workload that it is for."""


def _counts_pods(text: str) -> str:
    if not re.fullmatch(_PODS, text):
        raise PydanticCustomError(
            "wrong_field", "{text} is no count of pods and no whole percentage", {"text": text[:60]}
        )
    return text


PodsOrPercent = Annotated[
    Text,
    AfterValidator(_counts_pods),
    WithJsonSchema({"type": "string", "pattern": f"^{_PODS}$"}),
]


class Section(Shape):
    """Settings that are changed one by one: what is not told stays, null is the default."""


class DivisionSection(Section):
    """Replicas over clusters."""

    inertia: policy.Inertia | None = None
    """How much of the last result is kept when the shares change: `minimal` moves the least."""
    kappa: Ratio | None = None
    """How much weight counts against what is available in a draw of `static`; null, the default, is
    weight alone."""


class PlacementSection(Section):
    """Instances over nodes."""

    global_policy: GlobalPolicy | None = None
    """How GLOBAL chooses where a workload does not say."""
    max_deploy: AtLeastOne | None = None
    """The most instances that the devices of a node are counted for, unless their volumes are of both
    kinds, with a size and with a device of their own."""


class DiskSection(Section):
    """Volume replicas over disks."""

    alpha: Ratio | None = None
    """1 balances bytes, 0 balances percentages."""
    scope: policy.DiskScope | None = None
    """Among which disks a disk is compared: those of its `node`, or all `candidates`."""
    replenish_wait: Span | None = None
    """Milliseconds that a reusable failed replica may take to come back."""
    node_soft: bool | None = None
    """Whether two replicas of a volume may share a node."""
    zone_soft: bool | None = None
    """Whether two replicas of a volume may share a zone."""
    disk_soft: bool | None = None
    """Whether two replicas of a volume may share a disk."""
    over_provisioning_pct: Whole | None = None
    """How much of a disk may be promised, in percent."""
    min_available_pct: Percent | None = None
    """How much of a disk stays unwritten, in percent."""
    default_reserved_pct: Percent | None = None
    """How much of a new disk that says `default` and no `reserved` is kept for others, in percent."""
    auto_balance: policy.AutoBalance | None = None
    """Whether disks under pressure open their nodes (`best-effort`); nothing moves by itself."""
    disk_pressure_pct: Percent | None = None
    """From which use on a disk is under pressure, in percent."""
    allow_empty_node_selector: bool | None = None
    """Whether a volume without a node selector may use tagged nodes."""
    allow_empty_disk_selector: bool | None = None
    """Whether a volume without a disk selector may use tagged disks."""
    degraded_creation: bool | None = None
    """Whether a volume is created while some of its replicas cannot be placed."""
    rebuild_limit: Whole | None = None
    """How many replicas a node rebuilds at once: while so many of it are broken and may come back, it takes
    none that would be built from others."""


Voters = Annotated[list[policy.Voter], Field(max_length=16), _EACH_ONCE, _UNIQUE]


class VotersSection(Section):
    """Who may veto the eviction of a task."""

    preempt: Voters | None = None
    """For another task of the same queue."""
    reclaim: Voters | None = None
    """For another queue."""


class History(Section):
    """Past usage counts beside present usage, fading bucket by bucket."""

    bucket_ms: Annotated[Milliseconds, Field(ge=1, le=LARGEST_WHOLE_NUMBER)] | None = None
    """How long a bucket is, in milliseconds; by default a minute."""
    decay: FadingRatio | None = None
    """What is left of it when the next one begins; by default half is left after four hours."""
    past_weight: AnyRatio | None = None
    """How much past usage counts; by default as much as present usage."""
    entry_penalty: bool | None = None
    """Whether an admission counts at once; by default it does."""


class FairshareSection(Section):
    """Queues, namespaces and jobs."""

    job_order: (
        Annotated[list[policy.JobKey], Field(min_length=1, max_length=3), _EACH_ONCE, _UNIQUE]
        | None
    ) = None
    """What orders the jobs of a namespace, the first difference decides."""
    voters: VotersSection | None = None
    """Who may veto the eviction of a task."""
    preempt: bool | None = None
    """Whether tasks are evicted for others of their queue."""
    reclaim: bool | None = None
    """Whether tasks are evicted for another queue."""
    scope: policy.NamespaceScope | None = None
    """Whether a namespace's usage counts per queue or over all queues."""
    history: History | None = None
    """Whether past usage counts: told anything, or `{}`, it is on; null, the default, is off."""


class Toleration(Shape):
    """A Kubernetes toleration."""

    key: Text | None = None
    """The taint's key; absent is any."""
    operator: Literal["Exists", "Equal"] | None = None
    """How it is compared; absent is Equal."""
    value: Text | None = None
    """The taint's value."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """The taint's effect; absent is any."""
    seconds: Whole | None = None
    """How long it is tolerated; absent, for ever."""

    def setting(self) -> policy.Toleration:
        """The setting as the policy holds it."""
        return policy.Toleration(
            key=self.key or "",
            operator=self.operator or "Equal",
            value=self.value or "",
            effect=self.effect or "",
            seconds=self.seconds,
        )


class SpotSection(Section):
    """On-demand and spot nodes."""

    label: Word | None = None
    """The node label that tells them apart."""
    on_demand: Word | None = None
    """Its value on on-demand nodes."""
    spot: Word | None = None
    """Its value on spot nodes."""
    weight: Annotated[int, Field(ge=1, le=100)] | None = None
    """Of the preference for spot nodes."""
    tolerations: Annotated[list[Toleration], Field(max_length=100)] | None = None
    """What pods that prefer spot nodes tolerate."""
    default_min_available: PodsOrPercent | None = None
    """The annotation of workloads that have none, `"3"` or `"40%"`; null, the default, leaves their pods
    alone."""
    strictness: policy.Strictness | None = None
    """What becomes of an annotation that asks for less than the rule wants."""
    reservation_ms: Span | None = None
    """Milliseconds that an admitted pod may take to be seen."""


class RoundSection(Section):
    """When a round of jobs closes, and how much one event may place."""

    max_events: AtLeastOne | None = None
    """After how many events at the latest."""
    max_milliseconds: Span | None = None
    """After how many milliseconds of fleet time at the latest; 0 is off."""
    max_tasks: AtLeastOne | None = None
    """The most tasks placed in one event; a gang that is larger has a round for itself."""


class RetrySection(Section):
    """How many refused subjects one event may ask again."""

    max_subjects: AtLeastOne | None = None
    """The most of them."""


class GraceSection(Section):
    """How long what became not ready still counts as there."""

    cluster_ms: Span | None = None
    """Clusters, in milliseconds of fleet time."""
    node_ms: Span | None = None
    """Nodes, in milliseconds of fleet time."""


class AlgorithmsSection(Section):
    """Which version of each system the fleet runs."""

    division: Version | None = None
    """Replicas over clusters."""
    placement: Version | None = None
    """Instances over nodes."""
    disk: Version | None = None
    """Volume replicas over disks."""
    fairshare: Version | None = None
    """Jobs."""
    spot: Version | None = None
    """On-demand and spot."""
    engine: Version | None = None
    """What events trigger, and how decisions are recorded."""


class PolicyChanged(Contract):
    """Some settings of a fleet have new values from here on."""

    event_type: ClassVar = EventType("ledger.policy.policy.changed.v1")
    family: ClassVar[Family] = "control"
    key_fields: ClassVar[tuple[str, ...]] = ()
    null_resets: ClassVar[bool] = True
    only_known: ClassVar[bool] = True

    division: DivisionSection | None = None
    """Replicas over clusters."""
    placement: PlacementSection | None = None
    """Instances over nodes."""
    disk: DiskSection | None = None
    """Volume replicas over disks."""
    fairshare: FairshareSection | None = None
    """Queues, namespaces and jobs."""
    spot: SpotSection | None = None
    """On-demand and spot nodes."""
    round: RoundSection | None = None
    """When a round of jobs closes."""
    retry: RetrySection | None = None
    """How many refused subjects one event asks again."""
    hold: bool | None = None
    """True: events are recorded and nothing but admissions is decided."""
    grace: GraceSection | None = None
    """How long what became not ready still counts as there."""
    algorithms: AlgorithmsSection | None = None
    """Which version of each system the fleet runs."""
    salt: Word | None = None
    """The salt of the fleet's lots; only in its first event."""

    def fact(self) -> facts.PolicyChanged:
        told = dict(_settings("", self))
        salt = told.pop("salt", None)
        assert salt is None or isinstance(salt, str)
        return facts.PolicyChanged(change=tuple(sorted(told.items())), salt=salt)


class ProposalRequested(Contract):
    """Somebody wants to see what rebalancing would do."""

    event_type: ClassVar = EventType("ledger.proposal.proposal.requested.v1")
    family: ClassVar[Family] = "control"
    key_fields: ClassVar[tuple[str, ...]] = ()

    kind: facts.ProposalKind
    """What would be moved."""
    subject: Text | None = None
    """What is to be rebalanced; absent, everything of that kind."""
    max_moves: Count | None = None
    """The most moves it may have."""
    max_bytes: Quantity | None = None
    """The most bytes it may move."""

    def fact(self) -> facts.ProposalRequested:
        return facts.ProposalRequested(self.kind, self.subject, self.max_moves, self.max_bytes)


class ProposalApproved(Contract):
    """A proposal may be carried out."""

    event_type: ClassVar = EventType("ledger.proposal.proposal.approved.v1")
    family: ClassVar[Family] = "control"
    key_fields: ClassVar[tuple[str, ...]] = ("proposal",)

    proposal: Annotated[DecisionNumber, Field(ge=0, le=LARGEST_WHOLE_NUMBER)]
    """The number of the decision that proposed it."""

    def fact(self) -> facts.ProposalApproved:
        return facts.ProposalApproved(self.proposal)


def _settings(prefix: str, section: Shape) -> Iterator[tuple[str, policy.PolicyValue]]:
    """Each setting that was told, by its path."""
    for name in section.model_fields_set:
        value = getattr(section, name)
        if isinstance(value, History) and not value.model_fields_set:
            yield prefix + name, True
        elif isinstance(value, Section):
            yield from _settings(f"{prefix}{name}.", value)
        else:
            yield prefix + name, _value(value)


def _value(told: Any) -> policy.PolicyValue:
    match told:
        case [Toleration(), *_]:
            return tuple(toleration.setting() for toleration in told)
        case list():
            return tuple(told)
        case _:
            return cast(policy.PolicyValue, told)
