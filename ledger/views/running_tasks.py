"""Which tasks run now, a task a row, brought up to date in the transaction that records decisions.

A round puts a task there and another one takes it off; what ends by itself, with its job or with its
node is taken off by the event. Whose decision a task runs by tells what it holds.
"""

from collections.abc import Sequence
from typing import NamedTuple

import asyncpg

from ledger.facts.allocation import Allocation
from ledger.facts.decision import Decision
from ledger.facts.eviction import Eviction
from ledger.views.released import Released


class Task(NamedTuple):
    """A task of a job."""

    namespace: str
    job: str
    task: int


class Running(NamedTuple):
    """Where it runs, and by which decision."""

    cluster: str
    node: str
    number: int


async def keep_running(
    connection: asyncpg.Connection,
    fleet: int,
    decisions: Sequence[Decision],
    released: Sequence[Released],
) -> None:
    """Write down what these decisions and events made of the tasks that they touched."""
    # By number; what an event took away it took after that decision and before the next one.
    changes: list[tuple[int, int, Decision | Released]] = [
        (one.number, 1, one) for one in released if one.tasks
    ]
    changes += [
        (one.number, 0, one) for one in decisions if isinstance(one.outcome, Allocation | Eviction)
    ]
    touched: dict[Task, Running | None] = {}
    for number, _, change in sorted(changes, key=lambda change: change[:2]):
        match change:
            case Released(subject=subject, tasks=tasks):
                namespace, _, job = subject.partition("/")
                touched |= dict.fromkeys(Task(namespace, job, task) for task in tasks)
            case Decision(outcome=Allocation() as made):
                touched |= {
                    Task(made.namespace, made.job, placed.task): Running(
                        placed.cluster, placed.node, number
                    )
                    for placed in made.tasks
                }
            case Decision(outcome=Eviction() as made):
                touched |= dict.fromkeys(
                    Task(made.namespace, made.job, evicted.task) for evicted in made.tasks
                )
            case other:
                raise AssertionError(f"a {other.kind} is about no task")
    if touched:
        await _put(connection, fleet, touched)


async def _put(
    connection: asyncpg.Connection, fleet: int, touched: dict[Task, Running | None]
) -> None:
    tasks = sorted(touched)
    await connection.execute(
        "DELETE FROM ledger.running_tasks r"
        " USING unnest($2::text[], $3::text[], $4::bigint[]) AS t(namespace, job, task)"
        " WHERE r.fleet = $1 AND r.namespace = t.namespace AND r.job = t.job AND r.task = t.task",
        fleet,
        *(list(column) for column in zip(*tasks, strict=True)),
    )
    await connection.copy_records_to_table(
        "running_tasks",
        schema_name="ledger",
        columns=("fleet", "namespace", "job", "task", "cluster", "node", "number"),
        records=[
            (fleet, *task, *running) for task in tasks if (running := touched[task]) is not None
        ],
    )
