"""The rows of disk decisions: one a replica that was placed.

They are written once, and derived from those decisions.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ledger.facts.decision import Decision
from ledger.facts.disk_placement import DiskPlacement
from ledger.views.table import Row, Table

DISK_PLACEMENTS: Final = Table(
    "disk_placements",
    (
        "fleet",
        "number",
        "replica",
        "volume",
        "cluster",
        "node",
        "disk",
        "size",
        "why",
        "rung",
        "node_score",
        "disk_score",
        "overcommitted",
    ),
    key=3,
)


def disk_placement_rows(fleet: int, decisions: Sequence[Decision]) -> list[Row]:
    """A row a replica that one of these decisions placed."""
    return [
        (fleet, decision.number, *row)
        for decision in decisions
        if isinstance(decision.outcome, DiskPlacement)
        for row in _placed(decision.outcome)
    ]


def _placed(placement: DiskPlacement) -> Iterator[tuple[Any, ...]]:
    where = {one.replica: one for one in placement.replicas}
    for step in placement.steps:
        one = where[step.replica]
        yield (
            step.replica,
            placement.volume,
            one.cluster,
            one.node,
            one.disk,
            placement.size,
            step.why,
            step.rung,
            step.node_score,
            step.disk_score,
            step.overcommitted,
        )
