"""What people read of decisions, brought up to date in the transaction that records them.

Two projections: the rows of each division, written once, and what is in force now, a place a row.
Both are derived: they could be emptied and made again from the recorded decisions.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import asyncpg

from ledger.facts.decision import Decision
from ledger.facts.division import Division
from ledger.facts.refusal import Refusal


class Place(NamedTuple):
    """What is in force for a subject at one place."""

    held: int
    number: int
    since_position: int


Where = tuple[str, str, str]
"""Cluster, node, disk; empty where that was not decided."""

Ended = tuple[str, str, int]
"""Kind, subject and number of a decision that an event by itself put out of force."""


async def project(
    connection: asyncpg.Connection,
    fleet: int,
    decisions: Sequence[Decision],
    ended: Sequence[Ended],
) -> None:
    """Write the rows of these decisions, and bring what is in force up to date."""
    await _write_divisions(connection, fleet, decisions)
    await _put_in_force(connection, fleet, decisions, ended)


async def _write_divisions(
    connection: asyncpg.Connection, fleet: int, decisions: Sequence[Decision]
) -> None:
    rows = [
        (
            fleet,
            decision.number,
            share.cluster,
            decision.outcome.namespace,
            decision.outcome.workload,
            share.weight,
            share.replicas,
            share.floor,
            share.residual,
            share.previous,
            share.available,
        )
        for decision in decisions
        if isinstance(decision.outcome, Division)
        for share in decision.outcome.shares
    ]
    if not rows:
        return
    await connection.copy_records_to_table(
        "divisions",
        schema_name="ledger",
        columns=(
            "fleet",
            "number",
            "cluster",
            "namespace",
            "workload",
            "weight",
            "replicas",
            "floor",
            "residual",
            "previous_replicas",
            "available",
        ),
        records=rows,
    )


async def _put_in_force(
    connection: asyncpg.Connection,
    fleet: int,
    decisions: Sequence[Decision],
    ended: Sequence[Ended],
) -> None:
    """Read the subjects touched, apply their changes in order, write them back."""
    # By number; what ended a decision comes after it and before the next one of its subject.
    changes: list[tuple[int, bool, str, str, Decision | None]] = [
        (number, True, kind, subject, None) for kind, subject, number in ended if kind != "refusal"
    ]
    changes += [
        (decision.number, False, decision.kind, decision.subject, decision)
        for decision in decisions
        if not isinstance(decision.outcome, Refusal)
    ]
    if not changes:
        return
    touched = sorted({(kind, subject) for _, _, kind, subject, _ in changes})
    rows = await connection.fetch(
        "DELETE FROM ledger.placements p"
        " USING unnest($2::text[], $3::text[]) AS t(kind, subject)"
        " WHERE p.fleet = $1 AND p.kind = t.kind AND p.subject = t.subject"
        " RETURNING p.kind, p.subject, p.cluster, p.node, p.disk, p.count, p.number,"
        " p.since_position",
        fleet,
        [kind for kind, _ in touched],
        [subject for _, subject in touched],
    )
    force: dict[tuple[str, str], dict[Where, Place]] = {key: {} for key in touched}
    for kind, subject, cluster, node, disk, *place in rows:
        force[kind, subject][cluster, node, disk] = Place(*place)
    for _, _, kind, subject, decision in sorted(changes, key=lambda change: change[:2]):
        before = force[kind, subject]
        force[kind, subject] = {} if decision is None else _places(decision, before)
    await connection.copy_records_to_table(
        "placements",
        schema_name="ledger",
        columns=(
            "fleet",
            "kind",
            "subject",
            "cluster",
            "node",
            "disk",
            "count",
            "number",
            "since_position",
        ),
        records=[
            (fleet, *key, *where, *force[key][where])
            for key in touched
            for where in sorted(force[key])
        ],
    )


def _places(decision: Decision, before: Mapping[Where, Place]) -> dict[Where, Place]:
    assert isinstance(decision.outcome, Division), "the only kind that places anything so far"
    places: dict[Where, Place] = {}
    for share in decision.outcome.shares:
        if share.replicas == 0:
            continue
        where = (share.cluster, "", "")
        was = before.get(where)
        if was is not None and was.held == share.replicas:
            since = was.since_position
        else:
            since = decision.position
        places[where] = Place(share.replicas, decision.number, since)
    return places
