"""Place the replicas of a volume, one after another: whole steps with all their reasons.

A step filters nodes, climbs down the *ladder* of anti-affinity, filters disks on each rung, and lets
``ledger.core.disk.choice`` name a disk of the first rung that has one. Balance therefore never
outweighs spreading. The rungs, first to last:

``unused_zone``      nodes without a replica in zones without one: always first
``evict_only_zone``  (zones kept apart) nodes that will be free, in zones that will be free
``unused_node``      (zones may repeat) nodes without a replica
``evict_only_node``  (zones may repeat, nodes kept apart) nodes that will be free
``used_node``        (zones and nodes may repeat) nodes with a replica

On each rung the disk rule comes last, over all disks of the rung together. Under best-effort
auto-balance a used node with a disk under pressure counts as one that will be free, but a disk of
it must not come under pressure by the replica.

Whatever is placed counts in the next step, and so does every replica of the volume that a disk has
not booked yet: in the filters and in the scores. A step that fails does not stop the next one.

Which replicas are wanted, and when a failed one has been waited for long enough, is left to
``ledger.decisions``; moving what lies well is ``auto_balance`` and ``rebalance``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from ledger.core.disk.affinity import (
    NOWHERE,
    Occupancy,
    Replica,
    ReplicaName,
    ZoneName,
    allowed_disks,
    occupancy,
)
from ledger.core.disk.choice import Choice, NoDisk, Scope, choose, require_addresses
from ledger.core.disk.eligibility import (
    Demands,
    Misfit,
    Reason,
    Tag,
    Term,
    Traits,
    eligible,
    tags_match,
    topology_match,
)
from ledger.core.disk.space import (
    Disk,
    DiskName,
    Limits,
    Shortfall,
    ShortOf,
    fits,
    fits_under_pressure,
    under_pressure,
)
from ledger.core.shares import require_count
from ledger.errors import InvalidRequest
from ledger.units import NodeName

RungName = Literal["unused_zone", "evict_only_zone", "unused_node", "evict_only_node", "used_node"]
"""The names are public: they stand in every disk placement."""

OutOfService = Literal[
    "node_not_ready", "node_not_schedulable", "node_not_allowed", "node_deleting"
]
"""Why a node takes no replicas at all. The names are public."""

Obstacle = (
    Misfit
    | ShortOf
    | OutOfService
    | Literal["not_schedulable", "node_tags", "image_node_tags", "rebuild_limit", "infeasible"]
)
"""Why a node or a disk was passed over. The names are public; only a candidate is ``infeasible``."""

AutoBalance = Literal["disabled", "least-effort", "best-effort"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drive:
    """A disk as the scheduler finds it: bytes, traits, and which replicas its bytes account for."""

    disk: Disk
    traits: Traits = field(default_factory=Traits)
    schedulable: bool = True
    scheduled_replicas: frozenset[ReplicaName] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node with its disks."""

    name: NodeName
    zone: ZoneName = ""
    region: str = ""
    tags: Sequence[Tag] = ()
    allow: bool = True
    ready: bool = True
    schedulable: bool = True
    deleting: bool = False
    image_ready: bool = True
    manager_ready: bool = True
    busy: bool = False
    """Whether it takes nothing now because it rebuilds as many replicas as it may."""
    drives: Sequence[Drive] = ()

    @property
    def takes_replicas(self) -> bool:
        """Whether its switches are on."""
        return self.out_of_service is None

    @property
    def out_of_service(self) -> OutOfService | None:
        """The first switch that is not as it has to be."""
        if not self.ready:
            return "node_not_ready"
        if not self.schedulable:
            return "node_not_schedulable"
        if not self.allow:
            return "node_not_allowed"
        return "node_deleting" if self.deleting else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """What is to be placed.

    ``only_node`` admits one node; ``near_node`` is preferred as long as no sound replica is there.
    """

    size: int
    actual_size: int = 0
    demands: Demands = field(default_factory=Demands)
    node_selector: Sequence[Tag] = ()
    image_node_selector: Sequence[Tag] = ()
    topology: Sequence[Term] = ()
    only_node: NodeName = NOWHERE
    near_node: NodeName = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How far replicas are kept apart and how full disks may be, for this volume."""

    node_soft: bool = False
    zone_soft: bool = True
    disk_soft: bool = True
    limits: Limits = field(default_factory=Limits)
    auto_balance: AutoBalance = "disabled"
    allow_empty_node_selector: bool = True
    allow_empty_disk_selector: bool = True
    alpha: Fraction = Fraction(1)
    scope: Scope = "node"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Everything but the replicas: it stays the same from step to step.

    ``replenishing`` says that failed replicas have been waited for long enough. ``judged`` holds what
    was found on nodes without replicas of the volume, which is the same in every step; whoever changes
    some nodes between steps may hand it on, as long as the volume and the rules are the same.
    """

    volume: Volume
    nodes: Sequence[Node]
    rules: Rules = field(default_factory=Rules)
    replenishing: bool = False
    judged: dict[NodeName, "Judged"] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_count("size", self.volume.size)
        require_count("actual size", self.volume.actual_size)
        if len({node.name for node in self.nodes}) < len(self.nodes):
            raise InvalidRequest("invalid_request", "nodes: the same name twice")
        require_addresses([drive.disk for node in self.nodes for drive in node.drives])


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A node or a disk that was left out, and why.

    ``disk`` is empty where the whole node was left out. ``value`` and ``bound`` are the numbers
    that were compared, where it was numbers. Without a ``reason`` Longhorn says nothing about it.
    """

    node: NodeName
    disk: DiskName
    code: Obstacle | Literal["no_disk_allowed"]
    reason: Reason | None
    value: int | None = None
    bound: int | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """What was found on a node, disk by disk, and the node that it was found on."""

    node: Node
    found: tuple[Disk | PassedOver, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """What replicas of the volume keep others away from: a node or, if named, a disk of it."""

    node: NodeName
    disk: DiskName
    by: tuple[ReplicaName, ...]


@dataclass(frozen=True, slots=True)
class Rung:
    """One rung of the ladder: what was found there, who kept others away, what was passed over."""

    name: RungName
    candidates: tuple[Disk, ...]
    kept: tuple[Kept, ...]
    passed_over: tuple[PassedOver, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """A replica with its disk; the last of the ``rungs`` is the one that was used."""

    replica: ReplicaName
    choice: Choice
    rungs: tuple[Rung, ...]


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A replica that found no disk, with Longhorn's reasons and who was in the way."""

    replica: ReplicaName
    code: Literal[
        "already_scheduled",
        "unused_failed_replica",
        "no_eligible_node",
        "anti_affinity",
        "no_fitting_disk",
        "no_disk",
    ]
    reasons: tuple[Reason, ...]
    rungs: tuple[Rung, ...] = ()


def schedule(
    situation: Situation, replicas: Sequence[Replica], names: Iterable[ReplicaName]
) -> tuple[Placed | Unplaced, ...]:
    """Place the named replicas in order; each one placed counts for the next."""
    steps = []
    for name in names:
        step = place(situation, replicas, name)
        steps.append(step)
        if isinstance(step, Placed):
            disk = step.choice.disk
            others = [replica for replica in replicas if replica.name != name]
            replicas = [*others, Replica(name=name, node=disk.node, disk=disk.name)]
    return tuple(steps)


def place(
    situation: Situation, replicas: Sequence[Replica], name: ReplicaName
) -> Placed | Unplaced:
    """Find the disk for one replica, given all replicas that the volume has."""
    known = {replica.name: replica for replica in replicas}
    if len(known) < len(replicas):
        raise InvalidRequest("invalid_request", "replicas: the same name twice")
    own = known.get(name)
    if own is not None and own.node:
        return Unplaced(name, "already_scheduled", ("replica already scheduled",))
    if own is not None and own.failed:
        return Unplaced(name, "unused_failed_replica", ("unused failed replica is not supported",))
    nodes = candidate_nodes(situation)
    if not isinstance(nodes, list):
        return Unplaced(name, "no_eligible_node", (nodes,))

    rungs = []
    for rung in Ladder.of(situation, nodes, replicas).rungs():
        rungs.append(rung)
        if rung.candidates:
            choice = choose(
                _nearest(situation.volume, replicas, rung.candidates),
                size=situation.volume.size,
                alpha=situation.rules.alpha,
                scope=situation.rules.scope,
            )
            if isinstance(choice, NoDisk):
                return Unplaced(name, "no_disk", ("replica scheduling failed",), tuple(rungs))
            return Placed(name, choice, tuple(rungs))
    reasons = {one.reason for rung in rungs for one in rung.passed_over if one.reason}
    return Unplaced(
        name,
        "no_fitting_disk" if reasons else "anti_affinity",
        tuple(sorted(reasons)),
        tuple(rungs),
    )


def candidate_nodes(situation: Situation) -> list[Node] | Reason:
    """The nodes that pass every node filter, in order; or what the filter that left none says."""
    volume = situation.volume
    nodes = sorted(
        (node for node in situation.nodes if node.takes_replicas), key=lambda node: node.name
    )
    if not nodes:
        return "nodes are unavailable"
    if volume.only_node:
        nodes = [node for node in nodes if node.name == volume.only_node]
    if not nodes:
        return "hard affinity cannot be satisfied"
    nodes = [node for node in nodes if topology_match(node.zone, node.region, volume.topology)]
    if not nodes:
        return "topology requirement cannot be satisfied"
    nodes = [node for node in nodes if node.manager_ready and node.image_ready]
    if not nodes:
        return "none of the node candidates contains a ready engine image"
    return nodes


def node_tags_missing(node: Node, volume: Volume, rules: Rules) -> PassedOver | None:
    """Why the node has not the tags that the volume, or its image, selects; None if it has."""
    allow_empty = rules.allow_empty_node_selector
    if not tags_match(node.tags, volume.node_selector, allow_empty=allow_empty):
        return PassedOver(node.name, "", "node_tags", "tags not fulfilled")
    if volume.demands.image and not tags_match(
        node.tags, volume.image_node_selector, allow_empty=allow_empty
    ):
        return PassedOver(node.name, "", "image_node_tags", "tags not fulfilled")
    return None


def met_on(node: Node, volume: Volume, rules: Rules) -> Iterator[Drive | PassedOver]:
    """The node's disks by name: those that are what the volume asks for, and why the others are not.

    A disk that is switched off is passed over in silence, as Longhorn does; only a node that
    has no other says so.
    """
    if node.busy:
        yield PassedOver(node.name, "", "rebuild_limit", "disks are unavailable")
        return
    silent = True
    for drive in sorted(node.drives, key=lambda drive: drive.disk.name):
        switch = switched_off(drive)
        if switch is not None:
            yield PassedOver(node.name, drive.disk.name, switch, None)
            continue
        silent = False
        misfit = eligible(
            drive.traits,
            volume.demands,
            allow_empty_disk_selector=rules.allow_empty_disk_selector,
        )
        if misfit is None:
            yield drive
        else:
            yield PassedOver(node.name, drive.disk.name, misfit.code, misfit.reason)
    if silent:
        yield PassedOver(node.name, "", "no_disk_allowed", "disks are unavailable")


def passed_over(disk: Disk, short: Shortfall) -> PassedOver:
    """A disk without enough room, and which limit says so."""
    return PassedOver(
        disk.node, disk.name, short.code, "insufficient storage", short.value, short.bound
    )


def infeasible(disk: Disk, *, size: int) -> PassedOver | None:
    """Why a candidate cannot be picked: it has fewer usable bytes than a replica takes; None if it can.

    It counts in the scores of the others all the same.
    """
    if disk.room >= size:
        return None
    return PassedOver(disk.node, disk.name, "infeasible", None, disk.usable, size)


def booked(drive: Drive, replicas: Iterable[Replica], *, size: int) -> Disk:
    """The disk with all replicas of the volume on it booked, also those it does not know of yet."""
    disk = drive.disk
    missing = sum(
        replica.is_on(disk.node, disk.name) and replica.name not in drive.scheduled_replicas
        for replica in replicas
    )
    return replace(disk, scheduled=disk.scheduled + missing * size) if missing else disk


def _nearest(
    volume: Volume, replicas: Iterable[Replica], candidates: Sequence[Disk]
) -> Sequence[Disk]:
    """The candidates on the node that the volume wants to be near to, unless it has that already."""
    if any(replica.node == volume.near_node and not replica.failed for replica in replicas):
        return candidates
    near = [disk for disk in candidates if disk.node == volume.near_node]
    return near or candidates


@dataclass(frozen=True, slots=True)
class Ladder:
    """The rungs of one step, each looked at only when the one before has nothing."""

    situation: Situation
    nodes: Sequence[Node]
    replicas: Sequence[Replica]
    occupancy: Occupancy
    pressed: frozenset[NodeName]
    """Used nodes that best-effort auto-balance opens because a disk of theirs is under pressure."""
    own: frozenset[NodeName]
    """Where replicas of the volume are; one that names no node may be anywhere."""

    @staticmethod
    def of(situation: Situation, nodes: Sequence[Node], replicas: Sequence[Replica]) -> "Ladder":
        """The ladder of a step on these nodes."""
        occupied = occupancy(
            {node.name: node.zone for node in nodes}, replicas, replenishing=situation.replenishing
        )
        pressed = frozenset(
            node.name
            for node in nodes
            if situation.rules.auto_balance == "best-effort"
            and node.name in occupied.nodes
            and any(under_pressure(drive.disk, situation.rules.limits) for drive in node.drives)
        )
        own = frozenset(replica.node for replica in replicas if replica.node or replica.disk)
        return Ladder(situation, nodes, replicas, occupied, pressed, own)

    def rungs(self) -> Iterator[Rung]:
        """The rungs from the first on."""
        used, rules = self.occupancy.nodes, self.situation.rules
        free_soon = frozenset(self.occupancy.evict_only_nodes) | self.pressed
        zones_free_soon = frozenset(self.occupancy.evict_only_zones)

        yield self._rung(
            "unused_zone", [node for node in self.nodes if node.zone not in self.occupancy.zones]
        )
        if not rules.zone_soft:
            any_zone = rules.auto_balance == "best-effort"
            yield self._rung(
                "evict_only_zone",
                [
                    node
                    for node in self.nodes
                    if node.name in free_soon and (any_zone or node.zone in zones_free_soon)
                ],
            )
            return
        yield self._rung("unused_node", [node for node in self.nodes if node.name not in used])
        if rules.node_soft:
            yield self._rung("used_node", [node for node in self.nodes if node.name in used])
        else:
            yield self._rung(
                "evict_only_node", [node for node in self.nodes if node.name in free_soon]
            )

    def _rung(self, name: RungName, nodes: Sequence[Node]) -> Rung:
        left_out: list[PassedOver] = []
        fitting: dict[tuple[NodeName, DiskName], Disk] = {}
        for node in nodes:
            # Longhorn does not look at the selector again where it comes back to used nodes.
            mismatch = (
                None
                if name == "used_node"
                else node_tags_missing(node, self.situation.volume, self.situation.rules)
            )
            if mismatch is not None:
                left_out.append(mismatch)
                continue
            for found in self._found(node):
                if isinstance(found, PassedOver):
                    left_out.append(found)
                else:
                    fitting[found.node, found.name] = found

        holders = self._holders(fitting)
        allowed = allowed_disks(fitting, holders, soft=self.situation.rules.disk_soft)
        return Rung(
            name=name,
            candidates=tuple(fitting[address] for address in allowed),
            kept=(
                *self._kept_nodes(name, frozenset(node.name for node in nodes)),
                *(
                    Kept(*address, holders[address])
                    for address in sorted(holders)
                    if address not in allowed
                ),
            ),
            passed_over=tuple(left_out),
        )

    def _found(self, node: Node) -> Iterable[Disk | PassedOver]:
        """What ``_disks`` says, asked once of a node that no replica has a say in."""
        if node.name in self.own or NOWHERE in self.own:
            return self._disks(node)
        known = self.situation.judged.get(node.name)
        if known is None or known.node is not node:
            known = self.situation.judged[node.name] = Judged(node, tuple(self._disks(node)))
        return known.found

    def _disks(self, node: Node) -> Iterator[Disk | PassedOver]:
        """The node's disks by name: those that fit, and why the others do not."""
        volume, rules = self.situation.volume, self.situation.rules
        check = fits_under_pressure if node.name in self.pressed else fits
        for met in met_on(node, volume, rules):
            if isinstance(met, PassedOver):
                yield met
                continue
            disk = booked(met, self.replicas, size=volume.size)
            short = check(disk, rules.limits, size=volume.size, actual=volume.actual_size)
            yield disk if short is None else passed_over(disk, short)

    def _holders(
        self, disks: Mapping[tuple[NodeName, DiskName], Disk]
    ) -> dict[tuple[NodeName, DiskName], tuple[ReplicaName, ...]]:
        """The disks that hold replicas which count, with these."""
        counting = [replica for replicas in self.occupancy.nodes.values() for replica in replicas]
        held = {
            address: tuple(replica.name for replica in counting if replica.is_on(*address))
            for address in disks
        }
        return {address: names for address, names in held.items() if names}

    def _kept_nodes(self, name: RungName, on_the_rung: frozenset[NodeName]) -> Iterator[Kept]:
        """The nodes that replicas keep off this rung."""
        for node in self.nodes:
            if node.name in on_the_rung or name == "used_node":
                continue
            if name in ("unused_zone", "evict_only_zone"):
                blocking = self.occupancy.zones.get(node.zone, ())
            else:
                blocking = self.occupancy.nodes.get(node.name, ())
            if name in ("evict_only_zone", "evict_only_node"):
                blocking = tuple(replica for replica in blocking if not replica.evicting)
            if blocking:
                yield Kept(node.name, "", tuple(replica.name for replica in blocking))


def switched_off(drive: Drive) -> Literal["not_allowed", "evicting", "not_schedulable"] | None:
    """The switch that takes a disk out of every question; None if it is on."""
    if not drive.traits.allow:
        return "not_allowed"
    if drive.traits.evicting:
        return "evicting"
    return None if drive.schedulable else "not_schedulable"
