"""The rows of rounds of jobs: a task placed or evicted, and how namespaces stand in their queues.

Tasks are written once; how a namespace stands is replaced by the next round that says so. All are derived
from those decisions.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Final

from ledger.facts.allocation import Allocation
from ledger.facts.decision import Decision
from ledger.facts.eviction import Eviction
from ledger.views.past import Change
from ledger.views.table import Row, Table

TASK_MOVES: Final = Table(
    "task_moves",
    (
        "fleet",
        "number",
        "task",
        "kind",
        "round",
        "queue",
        "namespace",
        "job",
        "cluster",
        "node",
        "share",
        "reason",
    ),
    key=3,
)


def task_rows(fleet: int, decisions: Sequence[Decision]) -> list[Row]:
    """A row a task that one of these decisions placed or evicted."""
    return [(fleet, decision.number, *row) for decision in decisions for row in _tasks(decision)]


def share_changes(decisions: Sequence[Decision]) -> list[Change]:
    """What rounds said of how namespaces stand."""
    return [one for decision in decisions for one in _shares(decision)]


def _tasks(decision: Decision) -> Iterator[tuple[Any, ...]]:
    match decision.outcome:
        case Allocation() as made:
            for placed in made.tasks:
                share = None if placed.share is None else _ratio(placed.share)
                yield (
                    *(placed.task, "allocation", made.round.number),
                    *(made.queue, made.namespace, made.job),
                    *(placed.cluster, placed.node, share, placed.way),
                )
        case Eviction() as made:
            for evicted in made.tasks:
                yield (
                    *(evicted.task, "eviction", made.round.number),
                    *(made.queue, made.namespace, made.job),
                    *(evicted.cluster, evicted.node, None, evicted.way),
                )
        case _:
            return


def _shares(decision: Decision) -> Iterator[Change]:
    if not isinstance(decision.outcome, Allocation | Eviction):
        return
    for share in decision.outcome.round.shares:
        says = (
            decision.number,
            share.weight,
            share.requested,
            share.deserved.numerator // share.deserved.denominator,
            _ratio(share.deserved),
            share.allocated,
            _ratio(share.weighted_share),
        )
        counts = share.requested or share.allocated
        key = (share.queue, share.namespace, share.resource)
        yield Change(decision.position, key, says if counts else None)


def _ratio(ratio: Fraction) -> str:
    return f"{ratio.numerator}/{ratio.denominator}"
