"""How a fleet decides: every setting, its default, and how a change is merged.

A fleet's first policy is part of its genesis, in full, so a default that changes later never
reaches it; from then on only a recorded change does. ``merge`` goes field by field: what a change
does not name stays, what it names with None goes back to the fleet's own default. A section that may be
off, as the history is, is on once anything of it is named, and forgets all of it with None.

What the settings mean is said where they are used: docs/events.md lists them for people.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, Final, Literal, cast

from ledger.facts.canonical import Plain
from ledger.facts.workload import GlobalPolicy
from ledger.units import Milliseconds

Inertia = Literal["minimal", "seed"]
DiskScope = Literal["node", "candidates"]
AutoBalance = Literal["disabled", "least-effort", "best-effort"]
JobKey = Literal["priority", "gang", "drf"]
Voter = Literal["conformance", "gang", "drf", "priority", "proportion"]
NamespaceScope = Literal["per_queue", "global"]
Strictness = Literal["clamp", "strict", "literal"]

_AT_ONCE: Final = Milliseconds(0)
_ONE_SECOND: Final = Milliseconds(1_000)
_ONE_MINUTE: Final = Milliseconds(60_000)
_TEN_MINUTES: Final = Milliseconds(600_000)


@dataclass(frozen=True, slots=True)
class DivisionPolicy:
    """Replicas over clusters."""

    inertia: Inertia = "minimal"
    kappa: Fraction | None = None
    """How much weight counts against what is available in a draw; None: weight alone, room is not asked."""


@dataclass(frozen=True, slots=True)
class PlacementPolicy:
    """Instances over nodes."""

    global_policy: GlobalPolicy = "nearest_level"
    max_deploy: int = 1000


@dataclass(frozen=True, slots=True)
class DiskPolicy:
    """Volume replicas over disks."""

    alpha: Fraction = Fraction(1)
    """1 balances bytes, 0 balances percentages."""
    scope: DiskScope = "node"
    replenish_wait: Milliseconds = _TEN_MINUTES
    node_soft: bool = False
    zone_soft: bool = True
    disk_soft: bool = True
    over_provisioning_pct: int = 100
    min_available_pct: int = 25
    default_reserved_pct: int = 30
    auto_balance: AutoBalance = "disabled"
    disk_pressure_pct: int = 90
    allow_empty_node_selector: bool = True
    allow_empty_disk_selector: bool = True
    degraded_creation: bool = True
    rebuild_limit: int = 5


@dataclass(frozen=True, slots=True)
class Voters:
    """Who may veto a victim."""

    preempt: tuple[Voter, ...] = ("conformance", "gang", "drf")
    reclaim: tuple[Voter, ...] = ("conformance", "gang", "proportion")


@dataclass(frozen=True, slots=True)
class History:
    """Past usage counts: resource-seconds per queue and namespace, fading bucket by bucket."""

    bucket_ms: Milliseconds = _ONE_MINUTE
    decay: Fraction = Fraction(345, 346)
    """What is left of a bucket when the next one begins; the default halves it in four hours."""
    past_weight: Fraction = Fraction(1)
    """How much past usage counts against present usage."""
    entry_penalty: bool = True
    """Whether an admission counts before its first bucket closes."""


@dataclass(frozen=True, slots=True)
class FairsharePolicy:
    """Queues, namespaces and jobs."""

    job_order: tuple[JobKey, ...] = ("priority", "gang", "drf")
    voters: Voters = field(default_factory=Voters)
    preempt: bool = False
    reclaim: bool = False
    scope: NamespaceScope = "per_queue"
    history: History | None = None
    """None is off."""


@dataclass(frozen=True, slots=True)
class Toleration:
    """A Kubernetes toleration, added to pods that may go to spot nodes."""

    key: str = ""
    operator: Literal["Exists", "Equal"] = "Equal"
    value: str = ""
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = ""
    seconds: int | None = None


@dataclass(frozen=True, slots=True)
class SpotPolicy:
    """On-demand and spot nodes."""

    label: str = "node.kubernetes.io/capacity"
    on_demand: str = "on-demand"
    spot: str = "spot"
    weight: int = 100
    """Of the preference for spot nodes, 1 to 100."""
    tolerations: tuple[Toleration, ...] = ()
    default_min_available: str | None = None
    """For workloads without the annotation; None leaves their pods as they are."""
    strictness: Strictness = "clamp"
    reservation_ms: Milliseconds = _ONE_MINUTE


@dataclass(frozen=True, slots=True)
class RoundPolicy:
    """When a round of jobs closes, and how much one event may place."""

    max_events: int = 100
    max_milliseconds: Milliseconds = _ONE_SECOND
    """0 is off: rounds close by count alone."""
    max_tasks: int = 500


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How many refused subjects one event may ask again."""

    max_subjects: int = 64


@dataclass(frozen=True, slots=True)
class GracePolicy:
    """How long what became not ready still counts as there."""

    cluster_ms: Milliseconds = _AT_ONCE
    node_ms: Milliseconds = _AT_ONCE


@dataclass(frozen=True, slots=True)
class Algorithms:
    """Which version of each system a fleet runs; ``engine`` is evolve, triggers and record layout."""

    division: int = 1
    placement: int = 1
    disk: int = 1
    fairshare: int = 1
    spot: int = 1
    engine: int = 1


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything a fleet can be told about how to decide."""

    division: DivisionPolicy = field(default_factory=DivisionPolicy)
    placement: PlacementPolicy = field(default_factory=PlacementPolicy)
    disk: DiskPolicy = field(default_factory=DiskPolicy)
    fairshare: FairsharePolicy = field(default_factory=FairsharePolicy)
    spot: SpotPolicy = field(default_factory=SpotPolicy)
    round: RoundPolicy = field(default_factory=RoundPolicy)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    grace: GracePolicy = field(default_factory=GracePolicy)
    algorithms: Algorithms = field(default_factory=Algorithms)
    hold: bool = False
    """True: events are folded, nothing but admission is asked."""


PolicyValue = bool | int | str | Fraction | tuple[str, ...] | tuple[Toleration, ...] | None
PolicyChange = tuple[tuple[str, PolicyValue], ...]
"""Settings by dotted path (``division.inertia``, ``hold``), sorted; a path names a whole section
only to take it back to its defaults, ``("grace", None)``, or, of one that may be off, to say that
it is on, ``("fairshare.history", True)``."""

_MAY_BE_OFF: Final[Mapping[str, object]] = {"history": History()}
"""By its name, a section that is None while it is off, and what it begins with."""


def merge(policy: Policy, change: PolicyChange, *, default: Policy) -> Policy:
    """``policy`` with ``change`` made to it; None takes a setting back to ``default``.

    ``default`` is the policy of the fleet's genesis, not of the program that happens to run.
    """
    for path, value in change:
        section, _, setting = path.partition(".")
        policy = _put(policy, section, setting, value, default)
    return policy


def as_plain(policy: Policy) -> dict[str, Plain]:
    """Every setting as plain values; a ratio is the list of its two whole numbers."""
    return _plain_section(policy)


def from_plain(plain: Mapping[str, Any]) -> Policy:
    """The policy that ``as_plain`` wrote; a setting it did not know has its default."""
    return cast(Policy, _read_section(Policy(), plain))


def _put(whole: Any, name: str, rest: str, value: PolicyValue, default: Any) -> Any:
    before, usual = getattr(whole, name), getattr(default, name)
    after: Any
    if name in _MAY_BE_OFF and (rest or value is not None):
        usual = _MAY_BE_OFF[name] if usual is None else usual
        before = usual if before is None else before
    if rest:
        inner, _, deeper = rest.partition(".")
        after = _put(before, inner, deeper, value, usual)
    elif value is None:
        after = usual
    else:
        after = before if name in _MAY_BE_OFF else value
    return replace(whole, **{name: after})


def _plain(value: Any) -> Plain:
    match value:
        case Fraction():
            return [value.numerator, value.denominator]
        case tuple():
            return [_plain(entry) for entry in value]
        case None | bool() | int() | str():
            return value
        case _:
            return _plain_section(value)


def _plain_section(section: Any) -> dict[str, Plain]:
    return {setting.name: _plain(getattr(section, setting.name)) for setting in fields(section)}


def _read_section(default: Any, plain: Mapping[str, Any]) -> Any:
    """``default`` with what ``plain`` says; the default's own values tell the shape of each."""
    told = {
        setting.name: _read(setting.name, getattr(default, setting.name), plain[setting.name])
        for setting in fields(default)
        if setting.name in plain
    }
    return replace(default, **told)


def _read(name: str, default: Any, plain: Any) -> Any:
    if plain is None:
        return None
    if name in {"alpha", "kappa", "decay", "past_weight"}:
        return Fraction(plain[0], plain[1])
    if name in _MAY_BE_OFF:
        return _read_section(_MAY_BE_OFF[name], plain)
    if name == "tolerations":
        return tuple(Toleration(**toleration) for toleration in plain)
    if is_dataclass(default):
        return _read_section(default, plain)
    return tuple(plain) if isinstance(plain, list) else plain
