"""Disks under the devices: what they can read and write in a second is shared by all that lies on them.

A path lies on the disk with the longest mount that the path is or begins with, name by name, so that
``/data1`` is not on ``/data``. A path under no mount lies on no disk: there nobody can be promised
anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ledger.core.capacity.volume_requests import NO_QUOTA, Quota


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk with its mounts and with what of its quotas is free; below zero is as good as none."""

    name: str
    mounts: tuple[str, ...]
    free: Quota


class Quotas:
    """What the disks of a node have left while plans are made."""

    def __init__(self, disks: Sequence[Disk]) -> None:
        """Begin with what the disks have free; a mount that two of them name is the first's."""
        self._disks = {disk.name: disk for disk in sorted(disks, key=lambda disk: disk.name)}
        self._mounts: dict[tuple[str, ...], str] = {}
        for disk in self._disks.values():
            for mount in disk.mounts:
                self._mounts.setdefault(_names(mount), disk.name)

    @property
    def disks(self) -> tuple[Disk, ...]:
        """The disks with what is left."""
        return tuple(self._disks.values())

    def copy(self) -> "Quotas":
        """The same state, to try something on."""
        return Quotas(self.disks)

    def disk_of(self, path: str) -> str | None:
        """The disk that the path lies on."""
        names = _names(path)
        for length in range(len(names), -1, -1):
            disk = self._mounts.get(names[:length])
            if disk is not None:
                return disk
        return None

    def fit(self, path: str, quota: Quota) -> bool:
        """Whether all four of the quota are free on the disk under the path."""
        return quota == NO_QUOTA or self.times(path, quota, lost=quota) > 0

    def times(self, path: str, quota: Quota, *, lost: Quota) -> int:
        """How often in a row the quota fits, if the disk loses ``lost``, which is no less, each time."""
        disk = self.disk_of(path)
        if disk is None:
            return 0
        return min(
            1 + (free - each) // loss if free >= each else 0
            for free, each, loss in zip(self._disks[disk].free, quota, lost, strict=True)
            if each
        )

    def take(self, path: str, quota: Quota, times: int = 1) -> None:
        """Take the quota so many times; a path on no disk has none to take."""
        name = self.disk_of(path)
        if name is not None and quota != NO_QUOTA:
            disk = self._disks[name]
            left = (free - times * each for free, each in zip(disk.free, quota, strict=True))
            self._disks[name] = replace(disk, free=Quota(*left))


def _names(path: str) -> tuple[str, ...]:
    return tuple(name for name in path.split("/") if name)
