"""The rows of rounds of jobs: a task placed or evicted, and how namespaces stand in their queues.

Tasks are written once. How a namespace stands, what it weighs and how much there is to share out give way
to what the next round says of them; all are derived from those decisions. What a share comes to is worked
out by whoever asks.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Final

from ledger.facts.allocation import Allocation
from ledger.facts.decision import Decision
from ledger.facts.eviction import Eviction
from ledger.facts.fair_share import USUAL_WEIGHT, NamespaceShare, RoundTold
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
    return [
        Change(
            decision.position,
            (share.queue, share.namespace, share.resource),
            _says(decision, share) if share.requested or share.allocated else None,
        )
        for decision, told in _rounds(decisions)
        for share in told.shares
    ]


def weight_changes(decisions: Sequence[Decision]) -> list[Change]:
    """What rounds said of what namespaces weigh, where that is not what is usual."""
    return [
        Change(decision.position, (namespace,), None if weight == USUAL_WEIGHT else (weight,))
        for decision, told in _rounds(decisions)
        for namespace, weight in told.weights
    ]


def total_changes(decisions: Sequence[Decision]) -> list[Change]:
    """What rounds said of how much there was to share out."""
    return [
        Change(decision.position, (resource,), (amount,))
        for decision, told in _rounds(decisions)
        if told.total is not None
        for resource, amount in told.total._asdict().items()
    ]


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


def _rounds(decisions: Sequence[Decision]) -> Iterator[tuple[Decision, RoundTold]]:
    for decision in decisions:
        if isinstance(decision.outcome, Allocation | Eviction):
            yield decision, decision.outcome.round


def _says(decision: Decision, share: NamespaceShare) -> Row:
    return (
        decision.number,
        share.requested,
        share.deserved.numerator // share.deserved.denominator,
        _ratio(share.deserved),
        share.allocated,
    )


def _ratio(ratio: Fraction) -> str:
    return f"{ratio.numerator}/{ratio.denominator}"
