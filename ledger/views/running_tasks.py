"""Which tasks run now, a task a row.

A round puts a task there and another one takes it off; what ends by itself, with its job or with its
node is taken off by the event. Whose decision a task runs by tells what it holds.
"""

from collections.abc import Iterator, Sequence

from ledger.facts.allocation import Allocation
from ledger.facts.decision import Decision
from ledger.facts.eviction import Eviction
from ledger.views.past import Change
from ledger.views.released import Released


def task_changes(decisions: Sequence[Decision], released: Sequence[Released]) -> list[Change]:
    """What became of each task that they touched, in order."""
    # By number; what an event took away it took after that decision and before the next one.
    changes: list[tuple[int, int, Decision | Released]] = [
        (one.number, 1, one) for one in released if one.tasks
    ]
    changes += [
        (one.number, 0, one) for one in decisions if isinstance(one.outcome, Allocation | Eviction)
    ]
    return [
        one
        for _, _, change in sorted(changes, key=lambda change: change[:2])
        for one in _of(change)
    ]


def _of(change: Decision | Released) -> Iterator[Change]:
    """What becomes of each task."""
    at = change.position
    match change:
        case Released(subject=subject, tasks=tasks):
            namespace, _, job = subject.partition("/")
            for task in tasks:
                yield Change(at, (namespace, job, task), None)
        case Decision(outcome=Allocation() as made, number=number):
            held = (made.request.cpu, made.request.memory, made.request.storage)
            for placed in made.tasks:
                key = (made.namespace, made.job, placed.task)
                yield Change(at, key, (placed.cluster, placed.node, number, *held))
        case Decision(outcome=Eviction() as made):
            for evicted in made.tasks:
                yield Change(at, (made.namespace, made.job, evicted.task), None)
        case other:
            raise AssertionError(f"a {other.kind} is about no task")
