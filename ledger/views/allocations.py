"""The rows of rounds of jobs: a task placed or evicted, and how namespaces stand in their queues.

Tasks are written once, in the transaction that records the decisions; how a namespace stands is
replaced by the next round that says so. All are derived from those decisions.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import asyncpg

from ledger.facts.allocation import Allocation
from ledger.facts.decision import Decision
from ledger.facts.eviction import Eviction
from ledger.facts.fair_share import NamespaceShare


async def write_allocations(
    connection: asyncpg.Connection, fleet: int, decisions: Sequence[Decision]
) -> None:
    """Write the rows of these decisions, of those among them that rounds made."""
    tasks = [(fleet, decision.number, *row) for decision in decisions for row in _tasks(decision)]
    if tasks:
        await connection.copy_records_to_table(
            "task_moves",
            schema_name="ledger",
            columns=(
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
            records=tasks,
        )
    told: dict[tuple[str, str, str], tuple[int, NamespaceShare]] = {}
    for decision in decisions:
        if isinstance(decision.outcome, Allocation | Eviction):
            for share in decision.outcome.round.shares:
                told[share.queue, share.namespace, share.resource] = decision.number, share
    if told:
        await _put_shares(connection, fleet, told)


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


async def _put_shares(
    connection: asyncpg.Connection,
    fleet: int,
    told: dict[tuple[str, str, str], tuple[int, NamespaceShare]],
) -> None:
    keys = sorted(told)
    await connection.execute(
        "DELETE FROM ledger.fair_shares s"
        " USING unnest($2::text[], $3::text[], $4::text[]) AS t(queue, namespace, resource)"
        " WHERE s.fleet = $1 AND s.queue = t.queue AND s.namespace = t.namespace"
        " AND s.resource = t.resource",
        fleet,
        *([key[place] for key in keys] for place in range(3)),
    )
    await connection.copy_records_to_table(
        "fair_shares",
        schema_name="ledger",
        columns=(
            "fleet",
            "queue",
            "namespace",
            "resource",
            "number",
            "weight",
            "requested",
            "deserved",
            "deserved_exact",
            "allocated",
            "weighted_share",
        ),
        records=[
            (
                fleet,
                *key,
                number,
                share.weight,
                share.requested,
                share.deserved.numerator // share.deserved.denominator,
                _ratio(share.deserved),
                share.allocated,
                _ratio(share.weighted_share),
            )
            for key in keys
            for number, share in [told[key]]
            if share.requested or share.allocated
        ],
    )


def _ratio(ratio: Fraction) -> str:
    return f"{ratio.numerator}/{ratio.denominator}"
