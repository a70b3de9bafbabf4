"""How the disks and volumes of an invented fleet fill up, break and are given up.

Disks fill slowly and are cleaned when they are nearly full; some fail and some are emptied for
good, and both come back or are replaced. Volumes are made, grow, and go; their replicas fail, and
those that are reusable mostly recover.
"""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Final

from ledger.cli.simulator.later import Later
from ledger.cli.simulator.luck import happens, some
from ledger.cli.simulator.members import Node
from ledger.cli.simulator.spelling import Happening
from ledger.cli.simulator.storage import LARGEST_VOLUME, SMALLEST_VOLUME, Disk, Volume

_NEARLY_FULL: Final = 8
"""Percent of a disk that are free when somebody cleans it."""
_CLEANED: Final = 60


class Wear:
    """Disks and volumes in motion; ``node`` gives some node that may have disks."""

    def __init__(
        self, chance: Random, later: Later, volumes: list[Volume], node: Callable[[], Node]
    ) -> None:
        self._chance = chance
        self._later = later
        self._volumes = volumes
        self._node = node

    def fill(self) -> Happening:
        """A disk reports that it is a little fuller, or was cleaned."""
        disk = self._some_disk()
        if disk is None:
            return self._node().upserted()
        percent = disk.size // 100
        disk.free -= int(self._chance.random() * 4) * percent
        if disk.free < _NEARLY_FULL * percent:
            disk.free = _CLEANED * percent
        return disk.upserted()

    def fail(self) -> Happening:
        """A disk is in trouble: it is not to be used, it has to be emptied, or it is gone."""
        disk = self._some_disk()
        if disk is None or not disk.present or disk.evicting or not disk.schedulable:
            return self.fill()
        if happens(self._chance, 20):
            return self._lost(disk)
        if happens(self._chance, 50):
            disk.schedulable = False
        else:
            disk.evicting = True
        self._later.after(120, partial(self._mended, disk))
        return disk.upserted()

    def lose(self) -> Happening:
        """A disk is gone from one moment to the next."""
        disk = self._some_disk()
        return self.fill() if disk is None or not disk.present else self._lost(disk)

    def volume(self) -> Happening:
        """A volume is made, grows, wants another number of replicas, or goes."""
        if not self._volumes:
            return self.fill()
        volume = some(self._chance, self._volumes)
        if not volume.present:
            return volume.upserted()
        draw = self._chance.random()
        if draw < 0.15 or (draw < 0.7 and volume.size >= LARGEST_VOLUME):
            volume.size = SMALLEST_VOLUME
            return volume.removed()
        if draw < 0.7:
            volume.grow()
        else:
            volume.replicas = 5 - volume.replicas
        return volume.upserted()

    def replica(self) -> Happening:
        """A replica of a volume fails; half of them may come back, and mostly do."""
        if not self._volumes:
            return self.fill()
        volume = some(self._chance, self._volumes)
        if not volume.present:
            return volume.upserted()
        number = some(self._chance, volume.numbers)
        reusable = happens(self._chance, 50)
        if reusable and happens(self._chance, 80):
            self._later.after(40, partial(volume.replica_recovered, number))
        return volume.replica_failed(number, reusable=reusable)

    def _lost(self, disk: Disk) -> Happening:
        self._later.after(60, partial(self._replaced, disk))
        return disk.removed()

    def _mended(self, disk: Disk) -> Happening:
        disk.schedulable, disk.evicting = True, False
        return self._if_there(disk)

    def _replaced(self, disk: Disk) -> Happening:
        disk.free = disk.size
        disk.present = True
        return self._if_there(disk)

    def _if_there(self, disk: Disk) -> Happening:
        return disk.upserted() if disk.present else self.fill()

    def _some_disk(self) -> Disk | None:
        node = self._node()
        return some(self._chance, node.disks) if node.present and node.disks else None
