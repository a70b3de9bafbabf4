"""Which functions answer for which version of a system; the engine has its own beside its parts.

A policy names the versions that a fleet runs. An old one stays here for as long as a log may hold
its decisions, so that they can be made again; a change that alters one byte of one of them is a
new version beside it (``ledger.reducers.registry``).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Protocol

from ledger.core.capacity.cpu import CpuNode, CpuPlan, CpuRequest, cpu_plans
from ledger.core.capacity.reallocation import (
    Change,
    Holding,
    NoRoom,
    Reallocated,
    reallocate,
)
from ledger.core.capacity.volume_reallocation import NoDevice, reallocate_volumes
from ledger.core.capacity.volume_requests import VolumeRequest
from ledger.core.capacity.volumes import (
    VolumeCapacity,
    VolumeNode,
    VolumePlan,
    volume_capacity,
)
from ledger.core.disk import ground, rebalance, scheduling, space
from ledger.core.disk.affinity import Replica
from ledger.core.division import dynamic, static_weight
from ledger.core.division.duplicated import duplicate
from ledger.core.division.regions import Bounds, Region, TooFew
from ledger.core.division.selection import Candidate, Selection, select, select_by_region
from ledger.core.division.shortage import Shortage
from ledger.core.division.webster import Apportionment, apportion
from ledger.core.fairshare.decay import DecayPolicy, PastUse, charges
from ledger.core.fairshare.deserved import Claim, Fill, fill
from ledger.core.fairshare.eviction import Evictions, preempt, reclaim
from ledger.core.fairshare.resources import NamespaceName, QueueName
from ledger.core.fairshare.room import Ground, PoolName, Room
from ledger.core.fairshare.round import Charges, Round, RoundQuestion, allocate
from ledger.core.fairshare.stage import Scene
from ledger.core.lot import Lot
from ledger.core.placement.answer import Placement
from ledger.core.placement.answer import Shortage as NoPlace
from ledger.core.placement.nearest_level import stays_below
from ledger.core.placement.place import place
from ledger.core.placement.question import Node, Request
from ledger.core.placement.reasons import Reason, least_room, left_out, passed_by
from ledger.core.spot.labels import CapacityClass
from ledger.core.spot.ordinal import Place, Pod
from ledger.core.spot.ordinal import place as by_ordinal
from ledger.core.spot.repair import Repair, ordinals_to_recreate, proposed_repair
from ledger.core.spot.slots import Admission, Admitted, Slots, Template, admit, must_list
from ledger.core.spot.target import Strictness, Target, Workload, target
from ledger.reducers.registry import Versions
from ledger.units import ClusterName, Microseconds, NodeName, Replicas, Weight


@dataclass(frozen=True, slots=True)
class DivisionRules:
    """One version of how replicas are divided: a function for each strategy, and two that select."""

    static: Callable[
        [static_weight.Request, static_weight.Last | None, Lot], static_weight.Division | Shortage
    ]
    webster: Callable[[Replicas, Mapping[ClusterName, Weight], str], Apportionment]
    by_room: Callable[[dynamic.Request], dynamic.Division | Shortage]
    duplicated: Callable[[Replicas, Sequence[ClusterName]], Mapping[ClusterName, Replicas]]
    select: Callable[[Sequence[Candidate], Bounds, Replicas | None], Selection | TooFew | Shortage]
    select_by_region: Callable[[Sequence[Region[Candidate]], Bounds, Bounds], Selection | TooFew]


class PlansCores(Protocol):
    """The bindings of the first so many instances on a node."""

    def __call__(self, node: CpuNode, request: CpuRequest, *, wanted: int) -> tuple[CpuPlan, ...]:
        """Plan for so many, or for all that fit."""
        ...


class MeasuresVolumes(Protocol):
    """How many instances' volumes a node holds, and where each would lie."""

    def __call__(
        self, node: VolumeNode, requests: Sequence[VolumeRequest], *, max_deploy: int
    ) -> VolumeCapacity:
        """Measure a node's devices."""
        ...


class Reallocates(Protocol):
    """What an instance holds when its request changes where it is."""

    def __call__(
        self, node: CpuNode, held: Holding, change: Change, *, share_base: int, max_share: int
    ) -> Reallocated | NoRoom:
        """Change one, or say that there is no room."""
        ...


class ReallocatesVolumes(Protocol):
    """Where its volumes lie then."""

    def __call__(
        self,
        node: VolumeNode,
        *,
        asked: Sequence[VolumeRequest],
        held: VolumePlan,
        requests: Sequence[VolumeRequest],
    ) -> VolumePlan | NoDevice:
        """Place them again, or say which find no device."""
        ...


@dataclass(frozen=True, slots=True)
class PlacementRules:
    """One version of how instances are placed on nodes."""

    place: Callable[[Request], Placement | NoPlace]
    left_out: Callable[[Request, Placement], Sequence[tuple[NodeName, Reason]]]
    passed_by: Callable[[int, int, Request, Placement], Reason]
    least_room: Callable[[Request], int]
    stays_below: Callable[[Sequence[Node], int], bool]
    cpu_plans: PlansCores
    volume_capacity: MeasuresVolumes
    reallocate: Reallocates
    reallocate_volumes: ReallocatesVolumes


class SetsTarget(Protocol):
    """How many instances belong on on-demand nodes."""

    def __call__(
        self, workload: Workload, *, default: str | None, strictness: Strictness
    ) -> Target:
        """Set it for one workload."""
        ...


@dataclass(frozen=True, slots=True)
class SpotRules:
    """One version of how instances and pods are told apart for on-demand and spot nodes."""

    target: SetsTarget
    repair: Callable[[Template, Target], Repair | None]
    recreate: Callable[[Mapping[int, CapacityClass | None], Target], tuple[int, ...]]
    place: Callable[[Pod, Target], Place]
    admit: Callable[[Slots, Admission, Target], Admitted]
    must_list: Callable[[Slots, str], bool]


def placement(version: int) -> PlacementRules:
    """How instances are placed; ``AlgorithmMissing`` if this program has no such version."""
    return PLACEMENT.of(version)


def spot(version: int) -> SpotRules:
    """How targets are set; ``AlgorithmMissing`` if this program has no such version."""
    return SPOT.of(version)


@dataclass(frozen=True, slots=True)
class FairshareRules:
    """One version of how jobs share: a function for each step of a round, and how parts are told."""

    allocate: Callable[[RoundQuestion], Round]
    preempt: Callable[[Scene], Evictions]
    reclaim: Callable[[Scene], Evictions]
    room: Callable[[Ground, Sequence[PoolName]], Room]
    """For tasks that ask for nothing but a slot."""
    fill: Callable[[Fraction, Sequence[Claim]], Fill]
    charges: Callable[
        [Mapping[tuple[QueueName, NamespaceName], PastUse], Microseconds, DecayPolicy], Charges
    ]
    """What past use counts for."""


def fairshare(version: int) -> FairshareRules:
    """How jobs share; ``AlgorithmMissing`` if this program has no such version."""
    return FAIRSHARE.of(version)


def division(version: int) -> DivisionRules:
    """How replicas are divided; ``AlgorithmMissing`` if this program has no such version."""
    return DIVISION.of(version)


class PlacesReplica(Protocol):
    """Which disk takes a new replica: of the nodes of a situation, or of the ground."""

    def __call__(
        self,
        ground: ground.Ground,
        situation: scheduling.Situation,
        replicas: Sequence[Replica],
        name: str,
        *,
        first: int,
    ) -> ground.Step:
        """Find it, or say why there is none."""


class Expansion(Protocol):
    """Whether replicas on a disk may grow together by so many bytes."""

    def __call__(
        self, space: space.Space, limits: space.Limits, *, required: int
    ) -> space.Shortfall | None:
        """The first limit that this breaks; None if it breaks none."""


class PlansMoves(Protocol):
    """Which moves make disks more even."""

    def __call__(
        self,
        stock: rebalance.Stock,
        *,
        max_moves: int,
        max_bytes: int | None,
        measure: rebalance.Measure,
    ) -> rebalance.Plan:
        """Plan within both bounds."""
        ...


@dataclass(frozen=True, slots=True)
class DiskRules:
    """One version of how disks are found for replicas, and of how replicas may grow and move."""

    place_on: PlacesReplica
    expansion: Expansion
    plan: PlansMoves
    first_hindered: Callable[
        [rebalance.Stock, Sequence[tuple[str, str, rebalance.Address]]], rebalance.Hindered | None
    ]


def disk(version: int) -> DiskRules:
    """How disks are found; ``AlgorithmMissing`` if this program has no such version."""
    return DISK.of(version)


def _static_1(
    request: static_weight.Request, last: static_weight.Last | None, lot: Lot
) -> static_weight.Division | Shortage:
    return static_weight.divide(request, last=last, lot=lot)


def _webster_1(
    replicas: Replicas, weights: Mapping[ClusterName, Weight], workload: str
) -> Apportionment:
    return apportion(replicas, weights, workload=workload)


def _select_1(
    candidates: Sequence[Candidate], clusters: Bounds, need: Replicas | None
) -> Selection | TooFew | Shortage:
    return select(candidates, clusters=clusters, need=need)


def _select_by_region_1(
    regions: Sequence[Region[Candidate]], spread: Bounds, clusters: Bounds
) -> Selection | TooFew:
    return select_by_region(regions, spread=spread, clusters=clusters)


DIVISION: Final = Versions(
    "division",
    {
        1: DivisionRules(
            static=_static_1,
            webster=_webster_1,
            by_room=dynamic.divide,
            duplicated=duplicate,
            select=_select_1,
            select_by_region=_select_by_region_1,
        )
    },
)

PLACEMENT: Final = Versions(
    "placement",
    {
        1: PlacementRules(
            place=place,
            left_out=left_out,
            passed_by=passed_by,
            least_room=least_room,
            stays_below=stays_below,
            cpu_plans=cpu_plans,
            volume_capacity=volume_capacity,
            reallocate=reallocate,
            reallocate_volumes=reallocate_volumes,
        )
    },
)

SPOT: Final = Versions(
    "spot",
    {
        1: SpotRules(
            target=target,
            repair=proposed_repair,
            recreate=ordinals_to_recreate,
            place=by_ordinal,
            admit=admit,
            must_list=must_list,
        )
    },
)
DISK: Final = Versions(
    "disk",
    {
        1: DiskRules(
            place_on=ground.place_on,
            expansion=space.expansion,
            plan=rebalance.plan,
            first_hindered=rebalance.first_hindered,
        )
    },
)


def _slots_1(nodes: Ground, pools: Sequence[PoolName]) -> Room:
    return Room(nodes, (), pools=pools)


FAIRSHARE: Final = Versions(
    "fairshare",
    {
        1: FairshareRules(
            allocate=allocate,
            preempt=preempt,
            reclaim=reclaim,
            room=_slots_1,
            fill=fill,
            charges=charges,
        )
    },
)
