"""What people read of decisions and of the book, brought up to date in the transaction that records them.

Rows of two kinds: those of a decision, which are written once, and how things stand now, where a row
gives way to another one. All are derived: they could be emptied and made again from the recorded
decisions and the events.

What stands of that which changes is asked in one question.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import asyncpg

from ledger.facts.decision import Decision
from ledger.views.allocations import (
    TASK_MOVES,
    share_changes,
    task_rows,
    total_changes,
    weight_changes,
)
from ledger.views.books import (
    DiskPage,
    JobPage,
    QueuePage,
    disk_changes,
    job_changes,
    queue_changes,
)
from ledger.views.deployments import BINDINGS, DEPLOYMENTS, binding_rows, deployment_rows
from ledger.views.disk_placements import DISK_PLACEMENTS, disk_placement_rows
from ledger.views.incidents import open_incidents
from ledger.views.node_books import Page, put_pages
from ledger.views.past import (
    DISK_BOOKS,
    FAIR_SHARES,
    JOB_BOOKS,
    NAMESPACE_WEIGHTS,
    QUEUE_BOOKS,
    RUNNING_TASKS,
    SHARED_TOTALS,
    bring_up_to_date,
    turning,
)
from ledger.views.projection import DIVISIONS, division_rows, placements
from ledger.views.proposals import ENDED_PROPOSALS, ended_proposals
from ledger.views.refusals import open_refusals
from ledger.views.released import Ended, Released, Righted
from ledger.views.running_tasks import task_changes
from ledger.views.table import write_all


@dataclass(frozen=True, slots=True)
class Told:
    """What a batch of events came to."""

    decisions: Sequence[Decision]
    ended: Sequence[Ended]
    released: Sequence[Released]
    righted: Sequence[Righted]
    nodes: Sequence[Page]
    """Those of which the book says something else, as it is at the end of the batch."""
    disks: Sequence[tuple[int, DiskPage]]
    """The pages of disks, jobs and queues as they were after each event."""
    jobs: Sequence[tuple[int, JobPage]]
    queues: Sequence[tuple[int, QueuePage]]


async def show(connection: asyncpg.Connection, fleet: int, told: Told) -> None:
    """Write the rows of these decisions, and bring up to date how things stand."""
    decisions, ended, released = told.decisions, told.ended, told.released
    once = [
        DIVISIONS.gets(division_rows(fleet, decisions)),
        DEPLOYMENTS.gets(deployment_rows(fleet, decisions)),
        BINDINGS.gets(binding_rows(fleet, decisions)),
        DISK_PLACEMENTS.gets(disk_placement_rows(fleet, decisions)),
        TASK_MOVES.gets(task_rows(fleet, decisions)),
        ENDED_PROPOSALS.gets(ended_proposals(fleet, decisions, ended)),
    ]
    states = [
        *placements(decisions, ended, released),
        open_refusals(fleet, decisions, ended),
        open_incidents(fleet, decisions, told.righted),
        turning(RUNNING_TASKS, task_changes(decisions, released)),
        turning(FAIR_SHARES, share_changes(decisions)),
        turning(NAMESPACE_WEIGHTS, weight_changes(decisions)),
        turning(SHARED_TOTALS, total_changes(decisions)),
        turning(DISK_BOOKS, disk_changes(told.disks)),
        turning(JOB_BOOKS, job_changes(told.jobs)),
        turning(QUEUE_BOOKS, queue_changes(told.queues)),
    ]
    await write_all(connection, once)
    await write_all(connection, put_pages(fleet, told.nodes))
    await bring_up_to_date(connection, fleet, states)
