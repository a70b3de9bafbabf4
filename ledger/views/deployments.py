"""The rows of deployment decisions: one a node, and one an instance that is bound to anything.

They are written once, and derived from those decisions.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import orjson

from ledger.facts.decision import Decision
from ledger.facts.deployment import Deployment
from ledger.views.table import Row, Table

DEPLOYMENTS: Final = Table(
    "deployments",
    (
        "fleet",
        "number",
        "node",
        "namespace",
        "workload",
        "cluster",
        "instances",
        "added",
        "removed",
    ),
    key=3,
)

BINDINGS: Final = Table(
    "bindings",
    (
        "fleet",
        "number",
        "instance",
        "namespace",
        "workload",
        "cluster",
        "node",
        "cores",
        "volumes",
    ),
    key=3,
)


def deployment_rows(fleet: int, decisions: Sequence[Decision]) -> list[Row]:
    """A row a node, of each decision that deploys."""
    return [
        (fleet, decision.number, *row)
        for decision in decisions
        if isinstance(decision.outcome, Deployment)
        for row in _nodes(decision.outcome)
    ]


def binding_rows(fleet: int, decisions: Sequence[Decision]) -> list[Row]:
    """A row an instance that is bound to anything."""
    return [
        (fleet, decision.number, *row)
        for decision in decisions
        if isinstance(decision.outcome, Deployment)
        for row in _bindings(decision.outcome)
    ]


def _nodes(made: Deployment) -> Iterator[tuple[Any, ...]]:
    there = Counter(instance.node for instance in made.instances)
    changed = {change.node: change for change in made.changes}
    for node in sorted(there.keys() | changed.keys()):
        change = changed.get(node)
        added, removed = (0, 0) if change is None else (change.added, change.removed)
        yield (
            node,
            made.namespace,
            made.workload,
            made.cluster,
            there[node],
            added,
            removed,
        )


def _bindings(made: Deployment) -> Iterator[tuple[Any, ...]]:
    for instance in made.instances:
        if instance.cores or instance.volumes:
            volumes = {
                volume.text: {"device": volume.device, "size": volume.size}
                for volume in instance.volumes
            }
            yield (
                instance.number,
                made.namespace,
                made.workload,
                made.cluster,
                instance.node,
                orjson.dumps(dict(instance.cores)).decode(),
                orjson.dumps(volumes).decode(),
            )
