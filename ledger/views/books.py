"""What disks, jobs and queues hold, brought up to date in the transaction that records decisions.

A row each, as the decider's book has it; ``ledger_api.conservation`` holds these sums against what
the decisions record. Nodes have pages of their own kind (``ledger.views.node_books``).
"""

from collections.abc import Sequence
from typing import Protocol

import asyncpg


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


async def put_disks(connection: asyncpg.Connection, fleet: int, pages: Sequence[DiskPage]) -> None:
    """Write these pages in the place of what was said of their disks before."""
    if not pages:
        return
    await connection.execute(
        "DELETE FROM ledger.disk_books b"
        " USING unnest($2::text[], $3::text[], $4::text[]) AS t(cluster, node, disk)"
        " WHERE b.fleet = $1 AND b.cluster = t.cluster AND b.node = t.node AND b.disk = t.disk",
        fleet,
        [page.cluster for page in pages],
        [page.node for page in pages],
        [page.disk for page in pages],
    )
    await connection.copy_records_to_table(
        "disk_books",
        schema_name="ledger",
        columns=(
            "fleet",
            "cluster",
            "node",
            "disk",
            "maximum",
            "available",
            "reserved",
            "scheduled",
        ),
        records=[
            (fleet, page.cluster, page.node, page.disk, *page.declared, page.scheduled)
            for page in pages
            if page.declared is not None
        ],
    )


async def put_jobs(connection: asyncpg.Connection, fleet: int, pages: Sequence[JobPage]) -> None:
    """Write these pages in the place of what was said of their jobs before."""
    if not pages:
        return
    await connection.execute(
        "DELETE FROM ledger.job_books b"
        " USING unnest($2::text[], $3::text[]) AS t(namespace, job)"
        " WHERE b.fleet = $1 AND b.namespace = t.namespace AND b.job = t.job",
        fleet,
        [page.namespace for page in pages],
        [page.job for page in pages],
    )
    await connection.copy_records_to_table(
        "job_books",
        schema_name="ledger",
        columns=("fleet", "namespace", "job", "queue", "tasks", "cpu", "memory", "storage"),
        records=[
            (fleet, page.namespace, page.job, page.queue, *page.used)
            for page in pages
            if any(page.used)
        ],
    )


async def put_queues(
    connection: asyncpg.Connection, fleet: int, pages: Sequence[QueuePage]
) -> None:
    """Write these pages in the place of what was said of their queues before."""
    if not pages:
        return
    await connection.execute(
        "DELETE FROM ledger.queue_books b"
        " USING unnest($2::text[], $3::text[]) AS t(queue, namespace)"
        " WHERE b.fleet = $1 AND b.queue = t.queue AND b.namespace = t.namespace",
        fleet,
        [page.queue for page in pages],
        [page.namespace for page in pages],
    )
    await connection.copy_records_to_table(
        "queue_books",
        schema_name="ledger",
        columns=("fleet", "queue", "namespace", "tasks", "cpu", "memory", "storage"),
        records=[
            (fleet, page.queue, page.namespace, *page.used) for page in pages if any(page.used)
        ],
    )
