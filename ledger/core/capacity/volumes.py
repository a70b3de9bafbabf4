"""How many instances fit on a node's devices, and on which device each of their volumes lies.

An instance with several volumes is a bin-packing problem, so what follows is a heuristic, and it is
the rule as it stands:

- *Normal* volumes go on the devices in use, one instance after the other, its smallest volume first,
  each on the device with least room that still holds it (of equals the one whose name comes first).
  An instance whose volumes do not all find a place takes nothing.
- A *monopoly* takes an unused device whole. The monopolies of an instance share it in proportion to
  their sizes, rounded down; the smallest gets what that leaves over.
- While the unused devices hold more instances than those in use, the smallest unused device that
  holds a normal volume is put to use. Without normal volumes none is.
- *Unlimited* volumes go on the one device with most room once all of that has been worked out.
- ``max_deploy`` stands for the kind, normal or monopoly, that an instance does not have.

Where read and write quotas are asked for, they have to be free on the disk under the device, and are
taken instance by instance: first by the normal volumes, then by mounts, then by the monopolies.

As long as the same devices are chosen, the next instance differs from the last by a fixed amount on
each of them. So how often a choice repeats is a division, and the work depends on how many devices
and volumes there are, not on how large they are.

Rule, worked examples and the differences from eru's storage plugin: docs/core/capacity.md
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ledger.core.capacity.amounts import INFINITE, Device
from ledger.core.capacity.disks import Disk, Quotas
from ledger.core.capacity.runs import Run, count, unrolled
from ledger.core.capacity.volume_requests import NO_QUOTA, Quota, VolumeKind, VolumeRequest
from ledger.core.shares import require_count, require_counts

Devices = tuple[Device, ...]


@dataclass(frozen=True, slots=True)
class VolumeNode:
    """The devices of a node: how large they are and how much of each is used; and its disks."""

    capacity: Mapping[Device, int]
    used: Mapping[Device, int] = field(default_factory=dict)
    disks: tuple[Disk, ...] = ()


@dataclass(frozen=True, slots=True)
class Placed:
    """Where one volume lies and how much of the device it has."""

    request: VolumeRequest
    device: Device
    size: int


VolumePlan = tuple[Placed, ...]
"""The volumes of one instance but for its mounts."""


@dataclass(frozen=True, slots=True)
class VolumeCapacity:
    """How many instances fit, and why.

    ``by_normal`` and ``by_monopoly`` count what the devices in use and the unused ones hold, the
    first only as far as the second or ``max_deploy`` makes it of use, unless the room that is left
    has to be known; None where there is no such volume. ``put_to_use`` lists the unused devices
    that were made to hold normal volumes, in that order. ``normal_runs`` says which devices the
    normal volumes of each instance are on, smallest volume first, ``monopolized`` which devices are
    taken whole, with their sizes, and ``unlimited_on`` where everything else lies.
    """

    capacity: int
    by_normal: int | None
    by_monopoly: int | None
    put_to_use: Devices
    normal: tuple[VolumeRequest, ...]
    normal_runs: tuple[Run[Devices], ...]
    monopoly: tuple[VolumeRequest, ...]
    monopolized: tuple[tuple[Device, int], ...]
    unlimited: tuple[VolumeRequest, ...]
    unlimited_on: Device | None

    def plans(self, wanted: int) -> Iterator[VolumePlan]:
        """The places of the first ``wanted`` instances; none where nothing needs a place."""
        if not (self.normal or self.monopoly or self.unlimited):
            return
        on_devices = unrolled(self.normal_runs)
        whole_devices = iter(self.monopolized)
        for _ in range(min(wanted, self.capacity)):
            plan: list[Placed] = []
            if self.normal:
                chosen = zip(self.normal, next(on_devices), strict=True)
                plan += [Placed(request, device, request.size) for request, device in chosen]
            if self.monopoly:
                plan += shared_out(self.monopoly, *next(whole_devices))
            if self.unlimited_on is not None:
                plan += [Placed(request, self.unlimited_on, 0) for request in self.unlimited]
            yield tuple(plan)


def volume_capacity(
    node: VolumeNode, requests: Sequence[VolumeRequest], *, max_deploy: int
) -> VolumeCapacity:
    """Count the instances whose volumes fit on the node."""
    require_counts("size of device", node.capacity)
    require_counts("used of device", node.used)
    require_count("max_deploy", max_deploy)
    wish = _Wish.of(node, requests)
    if not (wish.normal or wish.monopoly or wish.unlimited or wish.mounts):
        return _answer(wish, INFINITE, _Placement((), max_deploy, (), max_deploy, {}), (), None)

    in_use = [device for device in node.capacity if node.used.get(device, 0)]
    unused = sorted((node.capacity[d], d) for d in node.capacity if not node.used.get(d, 0))
    put_to_use: list[Device] = []
    while True:
        placement = None
        if not _surely_short(node, wish, in_use, unused, max_deploy):
            placement = _place(node, wish, in_use, unused, max_deploy)
            if not wish.normal or placement.by_monopoly <= placement.by_normal:
                break
        smallest = min(request.size for request in wish.normal)
        fitting = next((place for place, (size, _) in enumerate(unused) if size >= smallest), None)
        if fitting is None:
            break
        _, device = unused.pop(fitting)
        in_use.append(device)
        put_to_use.append(device)
    if placement is None:
        placement = _place(node, wish, in_use, unused, max_deploy)

    capacity = min(placement.by_normal, placement.by_monopoly)
    unlimited_on = None
    if wish.unlimited:
        room = placement.room
        unlimited_on = min(room, key=lambda device: (-max(0, room[device]), device), default=None)
        if unlimited_on is None:
            capacity = 0
    return _answer(wish, capacity, placement, tuple(put_to_use), unlimited_on)


def shared_out(monopoly: Sequence[VolumeRequest], device: Device, size: int) -> VolumePlan:
    """The whole device for the monopolies of one instance, the smallest of which come first."""
    total = sum(request.size for request in monopoly)
    first, *others = (Placed(request, device, request.size * size // total) for request in monopoly)
    left = size - first.size - sum(placed.size for placed in others)
    return (replace(first, size=first.size + left), *others)


def of_kind(requests: Sequence[VolumeRequest], kind: VolumeKind) -> tuple[VolumeRequest, ...]:
    """The volumes of one kind, the smallest first."""
    return tuple(sorted((one for one in requests if one.kind == kind), key=lambda one: one.size))


def total_quota(requests: Sequence[VolumeRequest]) -> Quota:
    """What the volumes ask of one disk together."""
    return Quota(
        *(sum(each) for each in zip(NO_QUOTA, *(one.quota for one in requests), strict=True))
    )


@dataclass(frozen=True, slots=True)
class _Wish:
    """The volumes of one instance by kind. Of mounts only those whose disk the node knows count."""

    normal: tuple[VolumeRequest, ...]
    mounts: tuple[VolumeRequest, ...]
    monopoly: tuple[VolumeRequest, ...]
    monopoly_size: int
    monopoly_quota: Quota
    unlimited: tuple[VolumeRequest, ...]

    @classmethod
    def of(cls, node: VolumeNode, requests: Sequence[VolumeRequest]) -> "_Wish":
        quotas = Quotas(node.disks)
        monopoly = of_kind(requests, "monopoly")
        return cls(
            normal=of_kind(requests, "normal"),
            mounts=tuple(
                mount
                for mount in of_kind(requests, "mount")
                if mount.quota != NO_QUOTA and quotas.disk_of(mount.source) is not None
            ),
            monopoly=monopoly,
            monopoly_size=sum(one.size for one in monopoly),
            monopoly_quota=total_quota(monopoly),
            unlimited=tuple(one for one in requests if one.kind == "unlimited"),
        )

    def most_monopolies(self, unused: Sequence[tuple[int, Device]], max_deploy: int) -> int:
        """How many instances the unused devices are large enough for."""
        if not self.monopoly:
            return max_deploy
        return sum(size >= self.monopoly_size for size, _ in unused)


@dataclass(frozen=True, slots=True)
class _Placement:
    """What the devices hold if these are in use and those are not, and the room that then is left."""

    normal_runs: tuple[Run[Devices], ...]
    by_normal: int
    monopolized: tuple[tuple[Device, int], ...]
    by_monopoly: int
    room: Mapping[Device, int]


def _answer(
    wish: _Wish,
    capacity: int,
    placement: _Placement,
    put_to_use: Devices,
    unlimited_on: Device | None,
) -> VolumeCapacity:
    return VolumeCapacity(
        capacity=capacity,
        by_normal=placement.by_normal if wish.normal or wish.mounts else None,
        by_monopoly=placement.by_monopoly if wish.monopoly else None,
        put_to_use=put_to_use,
        normal=wish.normal,
        normal_runs=placement.normal_runs,
        monopoly=wish.monopoly,
        monopolized=placement.monopolized,
        unlimited=wish.unlimited,
        unlimited_on=unlimited_on,
    )


def _surely_short(
    node: VolumeNode,
    wish: _Wish,
    in_use: Sequence[Device],
    unused: Sequence[tuple[int, Device]],
    max_deploy: int,
) -> bool:
    """Whether the devices in use are too small altogether, however the volumes were placed."""
    size = sum(request.size for request in wish.normal)
    if size == 0 or wish.monopoly_quota != NO_QUOTA:
        return False
    room = sum(max(0, node.capacity[one] - node.used.get(one, 0)) for one in in_use)
    return room // size < wish.most_monopolies(unused, max_deploy)


def _place(
    node: VolumeNode,
    wish: _Wish,
    in_use: Sequence[Device],
    unused: Sequence[tuple[int, Device]],
    max_deploy: int,
) -> _Placement:
    room = {device: node.capacity[device] - node.used.get(device, 0) for device in in_use}
    quotas = Quotas(node.disks)
    most_monopolies = wish.most_monopolies(unused, max_deploy)

    by_normal = max_deploy
    runs: tuple[Run[Devices], ...] = ()
    if wish.normal or wish.mounts:
        # Unlimited volumes look at the room that is left when no normal volume fits any more.
        # Quotas of monopolies must not be eaten up by instances that get none.
        to_the_end = bool(wish.unlimited) and wish.monopoly_quota == NO_QUOTA
        runs = _normal_runs(room, quotas, wish, None if to_the_end else most_monopolies)
        by_normal = count(runs)

    by_monopoly = max_deploy
    monopolized: list[tuple[Device, int]] = []
    room |= {device: size for size, device in unused}
    if wish.monopoly:
        for size, device in unused:
            if size >= wish.monopoly_size and quotas.fit(device, wish.monopoly_quota):
                quotas.take(device, wish.monopoly_quota)
                monopolized.append((device, size))
                room[device] = 0
        by_monopoly = len(monopolized)
    return _Placement(runs, by_normal, tuple(monopolized), by_monopoly, room)


def _normal_runs(
    room: dict[Device, int], quotas: Quotas, wish: _Wish, most: int | None
) -> tuple[Run[Devices], ...]:
    """Place the normal volumes of instances until one finds no place, or there are ``most``.

    What they take is taken from ``room`` and ``quotas``.
    """
    if len(wish.normal) == 1 and wish.normal[0].quota == NO_QUOTA and not wish.mounts:
        return _used_up_in_turn(room, wish.normal[0].size, most)
    runs: list[Run[Devices]] = []
    left = most
    while left is None or left > 0:
        chosen = _best_fit(room, quotas, wish)
        if chosen is None:
            break
        times = _repeats(room, quotas, wish, chosen)
        if left is not None:
            times = min(times, left)
            left -= times
        runs.append(Run((chosen,), times))
        for request, device in zip(wish.normal, chosen, strict=True):
            room[device] -= times * request.size
            quotas.take(device, request.quota, times)
        for mount in wish.mounts:
            quotas.take(mount.source, mount.quota, times)
    return tuple(runs)


def _used_up_in_turn(
    room: dict[Device, int], size: int, most: int | None
) -> tuple[Run[Devices], ...]:
    """A single volume to an instance uses up one device after the other, the fullest first."""
    runs: list[Run[Devices]] = []
    left = most
    for free, device in sorted((free, device) for device, free in room.items() if free >= size):
        times = free // size
        if left is not None:
            times = min(times, left)
            left -= times
        runs.append(Run(((device,),), times))
        room[device] -= times * size
    return tuple(runs)


def _best_fit(room: Mapping[Device, int], quotas: Quotas, wish: _Wish) -> Devices | None:
    """The devices for the normal volumes of the next instance; None if one finds no place."""
    room, quotas = dict(room), quotas.copy()
    chosen: list[Device] = []
    for request in wish.normal:
        best = min(
            (
                (free, device)
                for device, free in room.items()
                if free >= request.size and quotas.fit(device, request.quota)
            ),
            default=None,
        )
        if best is None:
            return None
        _, device = best
        chosen.append(device)
        room[device] -= request.size
        quotas.take(device, request.quota)
    for mount in wish.mounts:
        if not quotas.fit(mount.source, mount.quota):
            return None
        quotas.take(mount.source, mount.quota)
    return tuple(chosen)


def _repeats(room: Mapping[Device, int], quotas: Quotas, wish: _Wish, chosen: Devices) -> int:
    """How many instances in a row choose these devices, at least.

    A device stays chosen as long as it holds the volume, and no other that holds it too comes to
    have less room. One that is not chosen at all keeps its room, and so stays where it is.
    """
    room, quotas = dict(room), quotas.copy()
    taken: dict[Device, int] = {}
    asking: dict[str | None, list[VolumeRequest]] = {}
    for request, device in zip(wish.normal, chosen, strict=True):
        taken[device] = taken.get(device, 0) + request.size
        asking.setdefault(quotas.disk_of(device), []).append(request)
    for mount in wish.mounts:
        asking.setdefault(quotas.disk_of(mount.source), []).append(mount)
    lost = {disk: total_quota(requests) for disk, requests in asking.items()}

    most: list[int] = []
    for request, device in zip(wish.normal, chosen, strict=True):
        if request.size:
            most.append(1 + (room[device] - request.size) // taken[device])
        if request.quota != NO_QUOTA:
            loss = lost[quotas.disk_of(device)]
            most.append(quotas.times(device, request.quota, lost=loss))
        for other, falling in taken.items():
            closing = falling - taken[device]
            if closing > 0 and room[other] >= request.size:
                # Of two with the same room the one whose name comes first would be chosen.
                apart = room[other] - room[device] - (other < device)
                if apart >= 0:
                    most.append(1 + apart // closing)
        room[device] -= request.size
        quotas.take(device, request.quota)
    for mount in wish.mounts:
        most.append(
            quotas.times(mount.source, mount.quota, lost=lost[quotas.disk_of(mount.source)])
        )
        quotas.take(mount.source, mount.quota)
    return min(most)
