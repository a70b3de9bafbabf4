"""What disks, jobs and queues hold.

A row each, as the decider's book has it; ``ledger_api.conservation`` holds these sums against what
the decisions record. Nodes have pages of their own kind (``ledger.views.node_books``).
"""

from collections.abc import Iterable
from typing import Protocol

from ledger.views.past import Change


class DiskPage(Protocol):
    """What is shown of a disk."""

    @property
    def cluster(self) -> str:
        """Where it is; empty where the fleet does not name it."""

    @property
    def node(self) -> str:
        """The node that it is in."""

    @property
    def disk(self) -> str:
        """What it is called there."""

    @property
    def declared(self) -> tuple[int, int, int] | None:
        """Bytes: of the disk, free on it, kept for others; None where it is gone."""

    @property
    def scheduled(self) -> int:
        """Bytes of the replicas in force on it."""


Used = tuple[int, int, int, int]
"""By tasks: how many they are, their cpu, memory and storage."""


class JobPage(Protocol):
    """What is shown of a job."""

    @property
    def namespace(self) -> str:
        """Its namespace."""

    @property
    def job(self) -> str:
        """Its name."""

    @property
    def queue(self) -> str:
        """The queue that it counts in."""

    @property
    def used(self) -> Used:
        """What its tasks hold."""


class QueuePage(Protocol):
    """What is shown of a namespace in a queue."""

    @property
    def queue(self) -> str:
        """The queue."""

    @property
    def namespace(self) -> str:
        """The namespace."""

    @property
    def used(self) -> Used:
        """What the tasks of its jobs hold there."""


def disk_changes(turned: Iterable[tuple[int, DiskPage]]) -> list[Change]:
    """What the rows of these pages say from then on."""
    return [
        Change(
            at,
            (page.cluster, page.node, page.disk),
            None if page.declared is None else (*page.declared, page.scheduled),
        )
        for at, page in turned
    ]


def job_changes(turned: Iterable[tuple[int, JobPage]]) -> list[Change]:
    """What the rows of these pages say from then on."""
    return [
        Change(
            at,
            (page.namespace, page.job),
            (page.queue, *page.used) if any(page.used) else None,
        )
        for at, page in turned
    ]


def queue_changes(turned: Iterable[tuple[int, QueuePage]]) -> list[Change]:
    """What the rows of these pages say from then on."""
    return [
        Change(at, (page.queue, page.namespace), tuple(page.used) if any(page.used) else None)
        for at, page in turned
    ]
