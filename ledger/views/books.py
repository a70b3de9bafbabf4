"""What disks, jobs and queues hold, brought up to date in the transaction that records decisions.

A row each, as the decider's book has it; ``ledger_api.conservation`` holds these sums against what
the decisions record. Nodes have pages of their own kind (``ledger.views.node_books``).
"""

from collections.abc import Iterable
from typing import Protocol

import asyncpg

from ledger.views.past import DISK_BOOKS, JOB_BOOKS, QUEUE_BOOKS, Change, bring_up_to_date


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


async def put_disks(
    connection: asyncpg.Connection, fleet: int, turned: Iterable[tuple[int, DiskPage]]
) -> None:
    """Write pages in the place of what was said of their disks before, each as of a position."""
    await bring_up_to_date(
        connection,
        fleet,
        DISK_BOOKS,
        disk_changes(turned),
    )


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


async def put_jobs(
    connection: asyncpg.Connection, fleet: int, turned: Iterable[tuple[int, JobPage]]
) -> None:
    """The same of jobs."""
    await bring_up_to_date(
        connection,
        fleet,
        JOB_BOOKS,
        job_changes(turned),
    )


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


async def put_queues(
    connection: asyncpg.Connection, fleet: int, turned: Iterable[tuple[int, QueuePage]]
) -> None:
    """The same of namespaces in queues."""
    await bring_up_to_date(
        connection,
        fleet,
        QUEUE_BOOKS,
        queue_changes(turned),
    )


def queue_changes(turned: Iterable[tuple[int, QueuePage]]) -> list[Change]:
    """What the rows of these pages say from then on."""
    return [
        Change(at, (page.queue, page.namespace), tuple(page.used) if any(page.used) else None)
        for at, page in turned
    ]
