"""What the book says of disks, for whoever shows it."""

from collections.abc import Iterable
from typing import NamedTuple

from ledger.reducers.world import World
from ledger.units import NodeName, Subject


class DiskBook(NamedTuple):
    """A disk's page in the book."""

    cluster: str
    """Empty where the fleet does not name it."""
    node: str
    disk: str
    declared: tuple[int, int, int] | None
    """Bytes as its events tell them: of the disk, free on it, kept for others; None: it is gone."""
    scheduled: int
    """The sizes of the replicas in force on it, added up."""


def disk_books(world: World, disks: Iterable[Subject]) -> list[DiskBook]:
    """The pages of these disks, in order."""
    return [_page(world, disk) for disk in sorted(set(disks))]


def _page(world: World, subject: Subject) -> DiskBook:
    name, _, disk = subject.rpartition("/")
    cluster, _, node = name.rpartition("/")
    host = world.disks.hosts.get(NodeName(name))
    there = None if host is None else host.disk(disk)
    if there is None:
        return DiskBook(cluster, node, disk, None, 0)
    declared = (there.maximum, there.available, there.reserved)
    return DiskBook(cluster, node, disk, declared, there.scheduled)
