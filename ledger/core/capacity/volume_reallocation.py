"""Where the volumes of an instance lie when what it asks for changes while it stays on its node.

What it holds is given back first. A volume with the same source, destination and flags stays on its
device, whatever its size now is, and has to fit there: data does not move. Monopolies stay together:
if one of them was held before, all of them share its device. What is new is placed as for any new
instance (``ledger.core.capacity.volumes``) in the room that then is left.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ledger.core.capacity.amounts import Device
from ledger.core.capacity.disks import Quotas
from ledger.core.capacity.volume_requests import VolumeRequest
from ledger.core.capacity.volumes import (
    Placed,
    VolumeNode,
    VolumePlan,
    of_kind,
    shared_out,
    total_quota,
    volume_capacity,
)


@dataclass(frozen=True, slots=True)
class NoDevice:
    """These volumes find no room: on the device where they lie, or, where it is None, anywhere."""

    volumes: tuple[VolumeRequest, ...]
    device: Device | None
    code: Literal["insufficient_resource"] = "insufficient_resource"


def reallocate_volumes(
    node: VolumeNode,
    *,
    asked: Sequence[VolumeRequest],
    held: VolumePlan,
    requests: Sequence[VolumeRequest],
) -> VolumePlan | NoDevice:
    """Place ``requests`` for an instance that ``asked`` for other volumes and holds ``held``.

    The node's used amounts and free quotas are those while it runs.
    """
    used = dict(node.used)
    quotas = Quotas(node.disks)
    stays_on = _stays_on(held, requests)
    for placed in held:
        used[placed.device] = max(0, used.get(placed.device, 0) - placed.size)
        quotas.take(placed.device, placed.request.quota, -1)
    for mount in of_kind(asked, "mount"):
        quotas.take(mount.source, mount.quota, -1)

    plan: list[Placed] = []
    new: list[VolumeRequest] = list(of_kind(requests, "mount"))
    for request in (*of_kind(requests, "normal"), *of_kind(requests, "unlimited")):
        device = stays_on.get(request.text)
        if device is None:
            new.append(request)
            continue
        free = max(0, node.capacity.get(device, 0) - used.get(device, 0))
        if free < request.size or not quotas.fit(device, request.quota):
            return NoDevice((request,), device)
        used[device] = used.get(device, 0) + request.size
        quotas.take(device, request.quota)
        plan.append(Placed(request, device, request.size))

    monopoly = of_kind(requests, "monopoly")
    together = next((stays_on[one.text] for one in monopoly if one.text in stays_on), None)
    if together is None:
        new.extend(monopoly)
    else:
        size = node.capacity.get(together, 0)
        fits = used.get(together, 0) == 0 and size >= sum(one.size for one in monopoly)
        if not fits or not quotas.fit(together, total_quota(monopoly)):
            return NoDevice(monopoly, together)
        used[together] = size
        quotas.take(together, total_quota(monopoly))
        plan.extend(shared_out(monopoly, together, size))

    left = VolumeNode(node.capacity, used, quotas.disks)
    capacity = volume_capacity(left, new, max_deploy=1)
    if capacity.capacity == 0:
        return NoDevice(tuple(new), None)
    plan.extend(placed for one in capacity.plans(1) for placed in one)
    return tuple(plan)


def _stays_on(held: VolumePlan, requests: Sequence[VolumeRequest]) -> dict[str, Device]:
    """The device of each volume that was held before: first of those that did not change at all."""
    left = list(held)
    device_of: dict[str, Device] = {}
    for unchanged in (True, False):
        for request in requests:
            if request.text in device_of:
                continue
            for place, placed in enumerate(left):
                alike = placed.request.binding == request.binding
                if alike and (not unchanged or placed.request.text == request.text):
                    device_of[request.text] = left.pop(place).device
                    break
    return device_of
