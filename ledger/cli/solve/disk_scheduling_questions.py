"""A fleet of nodes with their disks: whole placements there, and what it reports as free."""

from fractions import Fraction
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BeforeValidator, Field

from ledger.cli.solve.asking import Count, Op, Question, Ratio, Written
from ledger.cli.solve.disk_choice_questions import (
    ONE,
    Accounting,
    DiskBytes,
    choice_told,
    choice_written,
)
from ledger.cli.solve.disk_filter_questions import (
    DiskTraits,
    Percentages,
    ReplicaEntry,
    TopologyTerm,
    VolumeDemands,
)
from ledger.cli.solve.telling import table
from ledger.core.disk import scheduling, space
from ledger.core.disk.choice import Scope
from ledger.core.disk.scheduling import Placed, Rung, Unplaced
from ledger.core.disk.space import Space
from ledger.units import NodeName

Chosen = TypeVar("Chosen")


def _ignored(given: object) -> object:
    return None if given in ("", "ignored") else given


OwnChoice = Annotated[Chosen | None, BeforeValidator(_ignored)]
"""What a volume may choose for itself; Longhorn writes "ignored" where it follows the fleet."""


class NodeDisk(DiskTraits, DiskBytes):
    """A disk of a node."""

    schedulable: bool = True
    scheduled_replicas: list[str] = Field(default=[])

    def drive(self, node: str, accounting: Accounting) -> scheduling.Drive:
        """The disk as the scheduler finds it."""
        return scheduling.Drive(
            disk=self.disk(node, accounting),
            traits=self.traits(),
            schedulable=self.schedulable,
            scheduled_replicas=frozenset(self.scheduled_replicas),
        )


class NodeEntry(Question):
    """A node with its disks."""

    name: str
    zone: str = ""
    region: str = ""
    tags: list[str] = Field(default=[])
    allow: bool = True
    ready: bool = True
    schedulable: bool = True
    deleting: bool = False
    image_ready: bool = True
    manager_ready: bool = True
    disks: list[NodeDisk] = Field(default=[])

    def node(self, accounting: Accounting) -> scheduling.Node:
        """The node as the core knows it."""
        return scheduling.Node(
            name=NodeName(self.name),
            zone=self.zone,
            region=self.region,
            tags=self.tags,
            allow=self.allow,
            ready=self.ready,
            schedulable=self.schedulable,
            deleting=self.deleting,
            image_ready=self.image_ready,
            manager_ready=self.manager_ready,
            drives=[disk.drive(self.name, accounting) for disk in self.disks],
        )


class VolumeEntry(VolumeDemands):
    """A volume; what it says of softness, balance and ``alpha`` goes before the settings."""

    name: str = ""
    size: Count
    actual_size: Count = 0
    node_selector: list[str] = Field(default=[])
    image_node_selector: list[str] = Field(default=[])
    topology: list[TopologyTerm] = Field(default=[])
    hard_node_affinity: str = ""
    data_locality: Literal["disabled", "best-effort"] = "disabled"
    attached_node: str = ""
    node_soft: OwnChoice[bool] = None
    zone_soft: OwnChoice[bool] = None
    disk_soft: OwnChoice[bool] = None
    auto_balance: OwnChoice[scheduling.AutoBalance] = None
    alpha: Ratio | None = None

    def volume(self) -> scheduling.Volume:
        """The volume as the core knows it."""
        near = self.attached_node if self.data_locality == "best-effort" else ""
        return scheduling.Volume(
            size=self.size,
            actual_size=self.actual_size,
            demands=self.demands(),
            node_selector=self.node_selector,
            image_node_selector=self.image_node_selector,
            topology=[one.term() for one in self.topology],
            only_node=NodeName(self.hard_node_affinity),
            near_node=NodeName(near),
        )


class Settings(Percentages):
    """What holds for the fleet."""

    node_soft: bool = False
    zone_soft: bool = True
    disk_soft: bool = True
    auto_balance: scheduling.AutoBalance = "disabled"
    allow_empty_node_selector: bool = True
    allow_empty_disk_selector: bool = True
    alpha: Ratio = ONE
    scope: Scope = "node"
    accounting: Accounting = "plain"


class InFleet(Question):
    """What every question about a fleet's nodes has; its own ``alpha`` and ``scope`` come first."""

    settings: Settings = Field(default=Settings())
    nodes: list[NodeEntry]
    alpha: Ratio | None = None
    scope: Scope | None = None

    def rules(self, volume: VolumeEntry) -> scheduling.Rules:
        """What holds for the volume."""
        settings = self.settings
        alphas = (self.alpha, volume.alpha, settings.alpha)
        return scheduling.Rules(
            node_soft=_softness(volume.node_soft, settings.node_soft),
            zone_soft=_softness(volume.zone_soft, settings.zone_soft),
            disk_soft=_softness(volume.disk_soft, settings.disk_soft),
            limits=settings.limits(),
            auto_balance=volume.auto_balance or settings.auto_balance,
            allow_empty_node_selector=settings.allow_empty_node_selector,
            allow_empty_disk_selector=settings.allow_empty_disk_selector,
            alpha=next(alpha for alpha in alphas if alpha is not None),
            scope=self.scope or settings.scope,
        )

    def fleet(self) -> list[scheduling.Node]:
        """The nodes as the core knows them."""
        return [node.node(self.settings.accounting) for node in self.nodes]


class Scheduling(InFleet):
    """``disk.schedule``."""

    volume: VolumeEntry
    existing_replicas: list[ReplicaEntry] = Field(default=[])
    schedule: list[str]
    replenishing: bool = False


class Advertising(InFleet):
    """``disk.capacity``."""


def answer_schedule(asked: Scheduling) -> Written:
    """Each step with the rungs that were tried."""
    return {"steps": [_step_written(step) for step in _scheduled(asked)]}


def explain_schedule(asked: Scheduling) -> str:
    """Each step: the rungs, who was in the way, what was passed over, and the scores."""
    size, alpha = asked.volume.size, asked.rules(asked.volume).alpha
    lines: list[str] = []
    for step in _scheduled(asked):
        lines += [*([""] if lines else []), *_step_told(step, size=size, alpha=alpha)]
    return "\n".join(lines) or "Nothing was to be scheduled."


def answer_capacity(asked: Advertising) -> Written:
    """What a storage driver would report, for each node and each zone."""
    nodes = asked.fleet()
    zones: dict[str, list[Space]] = {}
    for node in nodes:
        zones.setdefault(node.zone, []).extend(drive.disk for drive in node.drives)
    limits = asked.settings.limits()
    return {
        "nodes": {
            node.name: _promise(space.advertised([one.disk for one in node.drives], limits))
            for node in nodes
        },
        "zones": {zone: _promise(space.advertised(disks, limits)) for zone, disks in zones.items()},
    }


def explain_capacity(asked: Advertising) -> str:
    """Disk by disk: the limit less what is promised."""
    limits = asked.settings.limits()
    rows = [["disk", "limit", "promised", "may be promised"]]
    for node in asked.fleet():
        for drive in node.drives:
            disk = drive.disk
            limit = space.percent_of(disk.maximum - disk.reserved, limits.over_provisioning_pct)
            room = space.advertised([disk], limits).available
            rows.append([f"{node.name}/{disk.name}", str(limit), str(disk.scheduled), str(room)])
    return "\n".join(
        [
            (
                f"The limit is {limits.over_provisioning_pct} % of what is not reserved. What is "
                "available, and the minimum, are not looked at."
            ),
            "",
            *table(rows),
        ]
    )


def _softness(of_volume: bool | None, of_fleet: bool) -> bool:
    return of_fleet if of_volume is None else of_volume


def _scheduled(asked: Scheduling) -> tuple[Placed | Unplaced, ...]:
    situation = scheduling.Situation(
        volume=asked.volume.volume(),
        nodes=asked.fleet(),
        rules=asked.rules(asked.volume),
        replenishing=asked.replenishing,
    )
    replicas = [entry.replica() for entry in asked.existing_replicas]
    return scheduling.schedule(situation, replicas, asked.schedule)


def _promise(promise: space.Promise) -> Written:
    return {"largest": promise.largest, "available": promise.available}


def _step_written(step: Placed | Unplaced) -> Written:
    rungs = [_rung_written(rung) for rung in step.rungs]
    blocked = [
        {
            "rung": rung.name,
            "replicas": sorted({name for kept in rung.kept for name in kept.by}),
            "kept": [
                {"node": kept.node, "disk": kept.disk, "by": list(kept.by)} for kept in rung.kept
            ],
        }
        for rung in step.rungs
    ]
    if isinstance(step, Unplaced):
        return {
            "replica": step.replica,
            "placed": False,
            "code": step.code,
            "reasons": list(step.reasons),
            "blocked": blocked,
            "rungs": rungs,
        }
    return {
        "replica": step.replica,
        "placed": True,
        **choice_written(step.choice),
        "rung": step.rungs[-1].name,
        "reasons": [],
        "blocked": blocked,
        "rungs": rungs,
    }


def _rung_written(rung: Rung) -> Written:
    return {
        "rung": rung.name,
        "candidates": [{"node": disk.node, "disk": disk.name} for disk in rung.candidates],
        "passed_over": [
            {
                "node": one.node,
                "disk": one.disk,
                "code": one.code,
                "reason": one.reason,
                "value": one.value,
                "bound": one.bound,
            }
            for one in rung.passed_over
        ],
    }


def _step_told(step: Placed | Unplaced, *, size: int, alpha: Fraction) -> list[str]:
    lines = []
    for rung in step.rungs:
        found = ", ".join(f"{disk.node}/{disk.name}" for disk in rung.candidates)
        lines.append(f"  {rung.name}: {found or 'no disk'}")
        for kept in rung.kept:
            what = f"disk {kept.node}/{kept.disk}" if kept.disk else f"node {kept.node}"
            lines.append(f"    {what} is kept free of them by {', '.join(kept.by)}")
        for one in rung.passed_over:
            what = f"{one.node}/{one.disk}" if one.disk else f"node {one.node}"
            numbers = "" if one.value is None else f" ({one.value} against {one.bound})"
            lines.append(f"    {what} is passed over: {one.code}{numbers}")
    if isinstance(step, Unplaced):
        reasons = "; ".join(step.reasons) or "Longhorn gives no reason"
        return [f"{step.replica} is not placed, {step.code}: {reasons}.", *lines]
    disk = step.choice.disk
    return [
        f"{step.replica} is placed on disk {disk.name} of node {disk.node}.",
        *lines,
        *(f"  {line}" for line in choice_told(step.choice, size=size, alpha=alpha)),
    ]


OPS: Final[tuple[Op[Any], ...]] = (
    Op(
        "disk.schedule",
        "whole placements of a volume's replicas, with all reasons",
        Scheduling,
        answer_schedule,
        explain_schedule,
    ),
    Op(
        "disk.capacity",
        "what a storage driver would report as free",
        Advertising,
        answer_capacity,
        explain_capacity,
    ),
)
