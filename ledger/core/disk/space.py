"""How much room a disk has, and whether a replica fits into it.

*Usable* bytes are what is available less what is reserved and what is already promised to
replicas. They may be below zero: then more was promised than there is. *Total* bytes are what is
not reserved; never below zero.

A replica fits when two limits hold. Writing what the volume already contains must leave more than
the minimum that has to stay available (equality fails). What is promised, with this replica, must
not exceed the over-provisioning limit (equality passes). Percentages are cut off towards zero.

Where the bytes of a replica are known to be written, the plain formula counts them twice: they
lower what is available, and the replica is promised its whole size besides. A space that is told
``written`` counts them once (``net`` accounting).

Which disks are asked at all is left to ``ledger.core.disk.scheduling``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from ledger.core.shares import require_count
from ledger.errors import InvalidRequest
from ledger.units import NodeName

ShortOf = Literal[
    "maximum_not_positive",
    "available_not_positive",
    "actual_space",
    "scheduling_space",
    "disk_pressure",
    "physical_minimum",
    "physical_limit",
]
"""Which limit a replica would break. The names are public."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """What is known of a disk's bytes; all but ``available`` are never below zero.

    ``available`` may be below zero in a what-if that writes more than there is. ``written`` is what
    replicas are known to have written; None is the plain accounting.
    """

    maximum: int
    available: int
    reserved: int = 0
    scheduled: int = 0
    written: int | None = None
    # Worked out once, because a choice reads them of ten thousand disks.
    usable: int = field(init=False, repr=False, compare=False)
    room: int = field(init=False, repr=False, compare=False)
    """The usable bytes, none where they are below zero: what scores and fits go by."""
    total: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_count("maximum", self.maximum)
        require_count("reserved", self.reserved)
        require_count("scheduled", self.scheduled)
        if type(self.available) is not int:
            raise InvalidRequest(
                "invalid_request", f"available: {self.available!r} is no whole number"
            )
        usable = self.plainly_usable
        if self.written is not None:
            require_count("written", self.written)
            promised = max(self.scheduled, self.written)
            usable = min(self.available, self.maximum - self.reserved - promised)
        object.__setattr__(self, "usable", usable)
        object.__setattr__(self, "room", max(0, usable))
        object.__setattr__(self, "total", max(0, self.maximum - self.reserved))

    @property
    def plainly_usable(self) -> int:
        """Usable bytes by the plain accounting, whatever is known of written bytes."""
        return self.available - self.reserved - self.scheduled


DiskName = str
"""The name of a disk on its node: two nodes may both have a ``ssd0``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk(Space):
    """A space with an address. The order of disks is that of their node names, then their own."""

    node: NodeName
    name: DiskName


@dataclass(frozen=True, slots=True)
class Limits:
    """The percentages that bound what may be put on a disk."""

    over_provisioning_pct: int = 100
    min_available_pct: int = 25
    disk_pressure_pct: int = 90

    def __post_init__(self) -> None:
        require_count("over_provisioning_pct", self.over_provisioning_pct)
        require_count("min_available_pct", self.min_available_pct)
        require_count("disk_pressure_pct", self.disk_pressure_pct)


@dataclass(frozen=True, slots=True)
class Shortfall:
    """The limit that does not hold, with the two numbers that were compared."""

    code: ShortOf
    value: int
    bound: int

    @property
    def bytes_short(self) -> int | None:
        """How many bytes more would keep this limit; None where it is no limit of bytes."""
        return bytes_short(self.code, self.value, self.bound)


def headroom(space: Space, limits: Limits, *, actual: int) -> int | Shortfall:
    """The largest size that fits, below zero where none does; or a limit that no size can keep to.

    ``actual`` is what the volume contains: that much is written as soon as the replica is built.
    """
    if space.maximum <= 0:
        return Shortfall("maximum_not_positive", space.maximum, 0)
    if space.available <= 0:
        return Shortfall("available_not_positive", space.available, 0)
    left = space.available - actual
    minimum = percent_of(space.maximum, limits.min_available_pct)
    if left <= minimum:
        return Shortfall("actual_space", left, minimum)
    limit = percent_of(space.maximum - space.reserved, limits.over_provisioning_pct)
    return limit - space.scheduled


def fits(space: Space, limits: Limits, *, size: int, actual: int) -> Shortfall | None:
    """The first limit that a replica of ``size`` breaks; None if it fits."""
    _require_amounts(size=size, actual=actual)
    most = headroom(space, limits, actual=actual)
    if isinstance(most, Shortfall):
        return most
    return over_limit(space, most, size=size) if size > most else None


def over_limit(space: Space, most: int, *, size: int) -> Shortfall:
    """What is said of a replica that is larger than the ``most`` that fits."""
    return Shortfall("scheduling_space", size + space.scheduled, most + space.scheduled)


def bytes_short(code: str, value: int, bound: int) -> int | None:
    """How far a number is from its limit in bytes; None where it is no limit of bytes."""
    match code:
        case "maximum_not_positive" | "available_not_positive" | "actual_space":
            # Equality fails too.
            return bound - value + 1
        case "physical_minimum":
            return bound - value
        case "scheduling_space" | "physical_limit":
            return value - bound
        case _:
            return None


def fits_under_pressure(
    space: Space, limits: Limits, *, size: int, actual: int
) -> Shortfall | None:
    """The same, and the disk must not come under pressure by what the volume contains."""
    shortfall = fits(space, limits, size=size, actual=actual)
    if shortfall is not None:
        return shortfall
    used_pct = (actual + space.scheduled + space.reserved) * 100 // space.maximum
    if used_pct >= limits.disk_pressure_pct:
        return Shortfall("disk_pressure", used_pct, limits.disk_pressure_pct)
    return None


def unused_pct(space: Space) -> int:
    """The part of the disk that is available and not reserved, in whole percent."""
    unused = space.available - space.reserved
    return unused * 100 // space.maximum if unused > 0 and space.maximum > 0 else 0


def under_pressure(space: Space, limits: Limits) -> bool:
    """Whether less of the disk is unused than the pressure threshold leaves."""
    return unused_pct(space) < 100 - limits.disk_pressure_pct


def expansion(space: Space, limits: Limits, *, required: int) -> Shortfall | None:
    """The first limit broken when the replicas on a disk grow by ``required`` bytes together.

    Growing may use up the minimum to the byte, which placing may not.
    """
    _require_amounts(size=required, actual=0)
    used = space.maximum - space.available - space.reserved
    left = space.maximum - used - required
    minimum = percent_of(space.maximum, limits.min_available_pct)
    if left < minimum:
        return Shortfall("physical_minimum", left, minimum)
    limit = percent_of(space.maximum - space.reserved, limits.over_provisioning_pct)
    if used + required > limit:
        return Shortfall("physical_limit", used + required, limit)
    return fits(space, limits, size=required, actual=0)


@dataclass(frozen=True, slots=True)
class Promise:
    """What a group of disks advertises: the largest volume that one disk takes, and the sum."""

    largest: int
    available: int


def advertised(spaces: Iterable[Space], limits: Limits) -> Promise:
    """The capacity that a storage driver reports for a node or a zone.

    It looks at promises alone and not at what is available, so it can be more than ``fits`` allows.
    """
    rooms = [
        max(
            0,
            percent_of(space.maximum - space.reserved, limits.over_provisioning_pct)
            - space.scheduled,
        )
        for space in spaces
    ]
    return Promise(largest=max(rooms, default=0), available=sum(rooms))


def percent_of(amount: int, percent: int) -> int:
    """So many percent of an amount, cut off towards zero also where the amount is negative."""
    part = abs(amount) * percent // 100
    return part if amount >= 0 else -part


def _require_amounts(*, size: int, actual: int) -> None:
    require_count("size", size)
    require_count("actual size", actual)
