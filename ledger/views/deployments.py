"""The rows of deployment decisions: one a node, and one an instance that is bound to anything.

They are written once, in the transaction that records the decisions, and derived from those.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import asyncpg
import orjson

from ledger.facts.decision import Decision
from ledger.facts.deployment import Deployment


async def write_deployments(
    connection: asyncpg.Connection, fleet: int, decisions: Sequence[Decision]
) -> None:
    """Write the rows of these decisions, of those among them that deploy."""
    deployed = [
        (decision.number, decision.outcome)
        for decision in decisions
        if isinstance(decision.outcome, Deployment)
    ]
    nodes = [(fleet, number, *row) for number, made in deployed for row in _nodes(made)]
    if nodes:
        await connection.copy_records_to_table(
            "deployments",
            schema_name="ledger",
            columns=(
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
            records=nodes,
        )
    bindings = [(fleet, number, *row) for number, made in deployed for row in _bindings(made)]
    if bindings:
        await connection.copy_records_to_table(
            "bindings",
            schema_name="ledger",
            columns=(
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
            records=bindings,
        )


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
