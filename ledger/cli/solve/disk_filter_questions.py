"""Whether a disk may be used at all: its room, what it is, and who is there already."""

from typing import Any, Final

from pydantic import Field

from ledger.cli.solve.asking import Count, Op, Question, Written
from ledger.cli.solve.telling import table, yes
from ledger.core.disk import affinity, eligibility, space
from ledger.core.disk.space import Limits, Shortfall, Space
from ledger.units import NodeName


class Percentages(Question):
    """The limits; each has Longhorn's default."""

    over_provisioning_pct: Count = 100
    min_available_pct: Count = 25
    disk_pressure_pct: Count = 90

    def limits(self) -> Limits:
        """The percentages as the core knows them."""
        return Limits(self.over_provisioning_pct, self.min_available_pct, self.disk_pressure_pct)


class Bytes(Percentages):
    """A disk's bytes, with the limits that they are held against."""

    maximum: Count
    available: Count
    reserved: Count = 0
    scheduled: Count = 0

    def space(self) -> Space:
        """The bytes as the core knows them."""
        return Space(
            maximum=self.maximum,
            available=self.available,
            reserved=self.reserved,
            scheduled=self.scheduled,
        )


class Fitting(Bytes):
    """``disk.fits`` and ``disk.fits_under_pressure``; ``required`` is the actual size."""

    size: Count = 0
    required: Count = 0


class Growing(Bytes):
    """``disk.expansion``; ``required`` is the growth of all replicas on the disk together."""

    required: Count = 0


class Matching(Question):
    """``disk.tags_match``."""

    tags: list[str] = Field(default=[])
    selector: list[str] = Field(default=[])
    allow_empty_selector: bool = True


class TopologyTerm(Question):
    """One way to satisfy a topology requirement."""

    zone: str = ""
    region: str = ""

    def term(self) -> eligibility.Term:
        """The term as the core knows it."""
        return eligibility.Term(self.zone, self.region)


class Topology(Question):
    """``disk.topology_match``."""

    zone: str = ""
    region: str = ""
    terms: list[TopologyTerm] = Field(default=[])


class DiskTraits(Question):
    """What a disk is, apart from its bytes."""

    type: str = "filesystem"
    tags: list[str] = Field(default=[])
    allow: bool = True
    evicting: bool = False

    def traits(self) -> eligibility.Traits:
        """The traits as the core knows them."""
        return eligibility.Traits(
            type=self.type, tags=self.tags, allow=self.allow, evicting=self.evicting
        )


class VolumeDemands(Question):
    """What a volume asks of a disk."""

    engine: str = "v1"
    disk_selector: list[str] = Field(default=[])
    image: str = ""
    image_disk_selector: list[str] = Field(default=[])

    def demands(self) -> eligibility.Demands:
        """The demands as the core knows them."""
        return eligibility.Demands(
            engine=self.engine,
            disk_selector=self.disk_selector,
            image=self.image,
            image_disk_selector=self.image_disk_selector,
        )


class Eligibility(Question):
    """``disk.eligible``."""

    disk: DiskTraits = Field(default=DiskTraits())
    volume: VolumeDemands = Field(default=VolumeDemands())
    allow_empty_disk_selector: bool = True


class AntiAffinity(Question):
    """``disk.anti_affinity``."""

    disks: list[str]
    replicas_on: list[str] = Field(default=[])
    disk_soft: bool = True


class ReplicaEntry(Question):
    """A replica of the volume."""

    name: str
    node: str = ""
    disk: str = ""
    failed: bool = False
    evicting: bool = False
    deleting: bool = False
    rebuild_retries: Count = 0

    def replica(self) -> affinity.Replica:
        """The replica as the core knows it."""
        return affinity.Replica(
            name=self.name,
            node=NodeName(self.node),
            disk=self.disk,
            failed=self.failed,
            evicting=self.evicting,
            deleting=self.deleting,
            rebuild_retries=self.rebuild_retries,
        )


class ZonedNode(Question):
    """A node in its zone."""

    name: str
    zone: str = ""


class Occupied(Question):
    """``disk.used_nodes_zones``."""

    nodes: list[ZonedNode]
    replicas: list[ReplicaEntry] = Field(default=[])
    replenishing: bool = False


def answer_fits(asked: Fitting) -> Written:
    """Whether a replica fits, and if not, the two numbers that say so."""
    return _verdict(
        space.fits(asked.space(), asked.limits(), size=asked.size, actual=asked.required)
    )


def explain_fits(asked: Fitting) -> str:
    """The two limits with their arithmetic."""
    return "\n".join([*_told(answer_fits(asked)), *_room_told(asked, size=asked.size)])


def answer_fits_under_pressure(asked: Fitting) -> Written:
    """The same, and whether the disk would come under pressure."""
    return _verdict(
        space.fits_under_pressure(
            asked.space(), asked.limits(), size=asked.size, actual=asked.required
        )
    )


def explain_fits_under_pressure(asked: Fitting) -> str:
    """The limits, and how full the disk would be."""
    used = asked.required + asked.scheduled + asked.reserved
    return "\n".join(
        [
            *_told(answer_fits_under_pressure(asked)),
            *_room_told(asked, size=asked.size),
            (
                f"Full: ({asked.required} + {asked.scheduled} + {asked.reserved}) * 100 = {used * 100},"
                f" of {asked.maximum}; has to be below {asked.disk_pressure_pct} %."
            ),
        ]
    )


def answer_under_pressure(asked: Bytes) -> Written:
    """Whether the disk is under pressure, and how much of it is unused."""
    return {
        "under": space.under_pressure(asked.space(), asked.limits()),
        "unused_pct": space.unused_pct(asked.space()),
        "wanted_pct": 100 - asked.disk_pressure_pct,
    }


def explain_under_pressure(asked: Bytes) -> str:
    """The percentage and what it is compared with."""
    answer = answer_under_pressure(asked)
    return (
        f"{'Under' if answer['under'] else 'Not under'} pressure: "
        f"({asked.available} - {asked.reserved}) * 100 / {asked.maximum} is {answer['unused_pct']}"
        f" in whole percent, and less than {answer['wanted_pct']} would be pressure."
    )


def answer_expansion(asked: Growing) -> Written:
    """Whether the replicas on a disk may grow."""
    return _verdict(space.expansion(asked.space(), asked.limits(), required=asked.required))


def explain_expansion(asked: Growing) -> str:
    """What is used and left, and the limits of a placement besides."""
    used = asked.maximum - asked.available - asked.reserved
    return "\n".join(
        [
            *_told(answer_expansion(asked)),
            f"Used: {asked.maximum} - {asked.available} - {asked.reserved} = {used}.",
            (
                f"Left after growing: {asked.maximum} - {used} - {asked.required} = "
                f"{asked.maximum - used - asked.required}; may equal the minimum."
            ),
            *_room_told(asked, size=asked.required),
        ]
    )


def answer_tags_match(asked: Matching) -> Written:
    """Whether every selected tag is there, and which are not."""
    return {
        "ok": eligibility.tags_match(
            asked.tags, asked.selector, allow_empty=asked.allow_empty_selector
        ),
        "missing": eligibility.missing_tags(asked.tags, asked.selector),
    }


def explain_tags_match(asked: Matching) -> str:
    """What is missing, or what a selector without tags means."""
    answer = answer_tags_match(asked)
    if not asked.selector:
        allowed = "allowed" if asked.allow_empty_selector else "not allowed"
        tags = "has tags" if asked.tags else "has no tags"
        return (
            f"{yes(answer['ok'])}: nothing is selected, the target {tags}, "
            f"and selecting nothing where there are tags is {allowed}."
        )
    return f"{yes(answer['ok'])}: missing are {', '.join(answer['missing']) or 'none'}."


def answer_topology_match(asked: Topology) -> Written:
    """Whether one of the terms is met."""
    terms = [one.term() for one in asked.terms]
    return {"ok": eligibility.topology_match(asked.zone, asked.region, terms)}


def explain_topology_match(asked: Topology) -> str:
    """Each term, and whether it is met."""
    rows = [
        f"zone {term.zone or 'any'}, region {term.region or 'any'}: "
        + yes(eligibility.topology_match(asked.zone, asked.region, [term]))
        for term in (one.term() for one in asked.terms)
    ]
    ok = yes(answer_topology_match(asked)["ok"])
    return "\n".join([f"{ok}; one term has to be met, and no terms are met by all.", *rows])


def answer_eligible(asked: Eligibility) -> Written:
    """Whether a disk is what the volume asks for."""
    misfit = eligibility.eligible(
        asked.disk.traits(),
        asked.volume.demands(),
        allow_empty_disk_selector=asked.allow_empty_disk_selector,
    )
    if misfit is None:
        return {"ok": True, "reason": "", "code": ""}
    return {"ok": False, "reason": misfit.reason, "code": misfit.code}


def explain_eligible(asked: Eligibility) -> str:
    """The first demand that is not met."""
    answer = answer_eligible(asked)
    return "Eligible." if answer["ok"] else f"Not eligible, {answer['code']}: {answer['reason']}."


def answer_anti_affinity(asked: AntiAffinity) -> Written:
    """The disks that the disk rule leaves."""
    allowed = affinity.allowed_disks(asked.disks, asked.replicas_on, soft=asked.disk_soft)
    return {"allowed": allowed}


def explain_anti_affinity(asked: AntiAffinity) -> str:
    """The free disks, and what happens without any."""
    free = sorted(set(asked.disks) - set(asked.replicas_on))
    fallback = "all" if asked.disk_soft else "none"
    return (
        f"Without a replica: {', '.join(free) or 'none'}. If there were none, {fallback} would do.\n"
        f"Allowed: {', '.join(answer_anti_affinity(asked)['allowed']) or 'none'}."
    )


def answer_used_nodes_zones(asked: Occupied) -> Written:
    """What the replicas occupy."""
    found = _occupancy(asked)
    return {
        "used_nodes": list(found.nodes),
        "used_zones": list(found.zones),
        "evict_only_nodes": list(found.evict_only_nodes),
        "evict_only_zones": list(found.evict_only_zones),
    }


def explain_used_nodes_zones(asked: Occupied) -> str:
    """Every used node and zone with the replicas that count there."""
    found = _occupancy(asked)
    rows = [["used", "by", "evict-only"]]
    for kind, places, free_soon in (
        ("node", found.nodes, found.evict_only_nodes),
        ("zone", found.zones, found.evict_only_zones),
    ):
        for place, replicas in places.items():
            names = ", ".join(replica.name for replica in replicas)
            rows.append([f"{kind} {place or '(none)'}", names, yes(place in free_soon)])
    return "\n".join(table(rows))


def _verdict(short: Shortfall | None) -> Written:
    if short is None:
        return {"ok": True, "reason": ""}
    return {"ok": False, "reason": short.code, "value": short.value, "bound": short.bound}


def _told(verdict: Written) -> list[str]:
    if verdict["ok"]:
        return ["It fits."]
    compared = f"{verdict['value']} against {verdict['bound']}"
    return [f"It does not fit, {verdict['reason']}: {compared}."]


def _room_told(asked: Fitting | Growing, *, size: int) -> list[str]:
    minimum = space.percent_of(asked.maximum, asked.min_available_pct)
    limit = space.percent_of(asked.maximum - asked.reserved, asked.over_provisioning_pct)
    actual = asked.required if isinstance(asked, Fitting) else 0
    return [
        (
            f"Available: {asked.available} - {actual} = {asked.available - actual}; has to be more "
            f"than {minimum}, {asked.min_available_pct} % of {asked.maximum}."
        ),
        (
            f"Promised: {size} + {asked.scheduled} = {size + asked.scheduled}; may be up to {limit}, "
            f"{asked.over_provisioning_pct} % of {asked.maximum} - {asked.reserved}."
        ),
    ]


def _occupancy(asked: Occupied) -> affinity.Occupancy:
    return affinity.occupancy(
        {NodeName(node.name): node.zone for node in asked.nodes},
        [entry.replica() for entry in asked.replicas],
        replenishing=asked.replenishing,
    )


OPS: Final[tuple[Op[Any], ...]] = (
    Op("disk.fits", "whether a replica fits on a disk", Fitting, answer_fits, explain_fits),
    Op(
        "disk.fits_under_pressure",
        "the same, without bringing the disk under pressure",
        Fitting,
        answer_fits_under_pressure,
        explain_fits_under_pressure,
    ),
    Op(
        "disk.under_pressure",
        "whether a disk is under pressure",
        Bytes,
        answer_under_pressure,
        explain_under_pressure,
    ),
    Op(
        "disk.expansion",
        "whether the replicas on a disk may grow",
        Growing,
        answer_expansion,
        explain_expansion,
    ),
    Op(
        "disk.tags_match",
        "whether tags satisfy a selector",
        Matching,
        answer_tags_match,
        explain_tags_match,
    ),
    Op(
        "disk.topology_match",
        "whether a node satisfies a topology requirement",
        Topology,
        answer_topology_match,
        explain_topology_match,
    ),
    Op(
        "disk.eligible",
        "whether a disk is what a volume asks for",
        Eligibility,
        answer_eligible,
        explain_eligible,
    ),
    Op(
        "disk.anti_affinity",
        "which disks the disk rule leaves",
        AntiAffinity,
        answer_anti_affinity,
        explain_anti_affinity,
    ),
    Op(
        "disk.used_nodes_zones",
        "what a volume's replicas occupy",
        Occupied,
        answer_used_nodes_zones,
        explain_used_nodes_zones,
    ),
)
