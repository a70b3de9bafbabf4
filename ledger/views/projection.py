"""What people read of decisions, brought up to date in the transaction that records them.

Two projections: the rows of each decision, written once, and what is in force now, a place a row and
a task a row, which leaves behind what was in force before (``ledger.views.past``). All are derived: they
could be emptied and made again from the recorded decisions and the events.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import asyncpg

from ledger.facts.allocation import Allocation
from ledger.facts.decision import Decision
from ledger.facts.deployment import Deployment
from ledger.facts.disk_placement import DiskPlacement
from ledger.facts.division import Division
from ledger.facts.eviction import Eviction
from ledger.views.allocations import write_allocations
from ledger.views.deployments import write_deployments
from ledger.views.disk_placements import write_disk_placements
from ledger.views.past import PLACEMENTS, Span, write_now, write_past
from ledger.views.released import Released
from ledger.views.running_tasks import keep_running
from ledger.views.table import Row, Table, put

DIVISIONS: Final = Table(
    "divisions",
    (
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
    key=3,
)


class Place(NamedTuple):
    """What is in force for a subject at one place."""

    held: int
    number: int
    since_position: int


class Standing(NamedTuple):
    """What a row of placements says, and since which position all of it holds."""

    place: Place
    begin: int


Where = tuple[str, str, str]
"""Cluster, node, disk; empty where that was not decided."""

Placed = tuple[str, str]
"""Kind and subject of what is placed."""

Turned = tuple[int, int, str, str, int, Decision | Released | None]
"""Number, and its place among those of that number; kind and subject; position, and what it was. None:
it ended."""

Ended = tuple[str, str, int, int]
"""Kind, subject and number of a decision that an event by itself put out of force, and the
position of the event."""


_PLACED_BY: Final = {"eviction": "allocation"}
"""Which kind of decision placed what one of another kind takes away."""


async def project(
    connection: asyncpg.Connection,
    fleet: int,
    decisions: Sequence[Decision],
    ended: Sequence[Ended],
    released: Sequence[Released],
) -> None:
    """Write the rows of these decisions, and bring what is in force up to date."""
    await put(connection, DIVISIONS, division_rows(fleet, decisions))
    await write_deployments(connection, fleet, decisions)
    await write_disk_placements(connection, fleet, decisions)
    await write_allocations(connection, fleet, decisions)
    await keep_running(connection, fleet, decisions, released)
    await _put_in_force(connection, fleet, decisions, ended, released)


def division_rows(fleet: int, decisions: Sequence[Decision]) -> list[Row]:
    """A row a cluster, of each decision that divides."""
    return [
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


async def _put_in_force(
    connection: asyncpg.Connection,
    fleet: int,
    decisions: Sequence[Decision],
    ended: Sequence[Ended],
    released: Sequence[Released],
) -> None:
    """Read the subjects touched, apply their changes in order, write them back."""
    changes = placements_turned(decisions, ended, released)
    if not changes:
        return
    touched = sorted({(kind, subject) for _, _, kind, subject, _, _ in changes})
    rows = await connection.fetch(
        "DELETE FROM ledger.placements p"
        " USING unnest($2::text[], $3::text[]) AS t(kind, subject)"
        " WHERE p.fleet = $1 AND p.kind = t.kind AND p.subject = t.subject"
        " RETURNING p.kind, p.subject, p.cluster, p.node, p.disk, p.count, p.number,"
        " p.since_position, p.from_position",
        fleet,
        [kind for kind, _ in touched],
        [subject for _, subject in touched],
    )
    force: dict[tuple[str, str], dict[Where, Standing]] = {key: {} for key in touched}
    for kind, subject, cluster, node, disk, *place, begin in rows:
        force[kind, subject][cluster, node, disk] = Standing(Place(*place), begin)
    past = turn_places(force, changes)
    now = [
        (fleet, *key, *where, *one.place, one.begin)
        for key in touched
        for where, one in sorted(force.get(key, {}).items())
    ]
    await write_now(connection, PLACEMENTS, now)
    await write_past(connection, fleet, PLACEMENTS, past)


def placements_turned(
    decisions: Sequence[Decision], ended: Sequence[Ended], released: Sequence[Released]
) -> list[Turned]:
    """What these decisions and events change of what is in force, in order."""
    # By number; what ended a decision comes after it and before the next one of its subject.
    changes: list[Turned] = [
        (number, 2, kind, subject, position, None)
        for kind, subject, number, position in ended
        if kind not in {"refusal", "proposal"}
    ]
    changes += [(one.number, 1, one.kind, one.subject, one.position, one) for one in released]
    changes += [
        (
            decision.number,
            0,
            _PLACED_BY.get(decision.kind, decision.kind),
            decision.subject,
            decision.position,
            decision,
        )
        for decision in decisions
        if isinstance(
            decision.outcome, Division | Deployment | Allocation | Eviction | DiskPlacement
        )
    ]
    return sorted(changes, key=lambda change: change[:2])


def turn_places(
    force: dict[Placed, dict[Where, Standing]], changes: Sequence[Turned]
) -> list[Span]:
    """Change what is in force, where nothing left is not listed; what held until one of them."""
    past: list[Span] = []
    for _, _, kind, subject, position, change in changes:
        standing = force.pop((kind, subject), {})
        before = {where: one.place for where, one in standing.items()}
        after: Mapping[Where, Place]
        match change:
            case None:
                after = {}
            case Decision():
                after = _places(change, before)
            case _:
                after = _left(change, before)
        past += [
            Span((kind, subject, *where, *one.place), one.begin, position)
            for where, one in standing.items()
            if one.begin < position and after.get(where) != one.place
        ]
        if after:
            force[kind, subject] = {
                where: standing[where] if before.get(where) == place else Standing(place, position)
                for where, place in after.items()
            }
    return past


def _places(decision: Decision, before: Mapping[Where, Place]) -> dict[Where, Place]:
    counts: Mapping[Where, int]
    match decision.outcome:
        case Division() as division:
            counts = {
                (share.cluster, "", ""): share.replicas
                for share in division.shares
                if share.replicas
            }
        case Deployment() as deployment:
            counts = Counter(
                (deployment.cluster, instance.node, "") for instance in deployment.instances
            )
        case DiskPlacement() as placement:
            counts = Counter((one.cluster, one.node, one.disk) for one in placement.replicas)
        case Allocation() as allocation:
            counts = _held(before)
            counts.update((placed.cluster, placed.node, "") for placed in allocation.tasks)
            return _put(decision, counts, before)
        case Eviction() as eviction:
            counts = _held(before)
            counts.subtract((evicted.cluster, evicted.node, "") for evicted in eviction.tasks)
            return _put(decision, counts, before)
        case other:
            raise AssertionError(f"a {other.kind} places nothing")
    return _put(decision, counts, before)


def _held(before: Mapping[Where, Place]) -> Counter[Where]:
    return Counter({where: place.held for where, place in before.items()})


def _put(
    decision: Decision, counts: Mapping[Where, int], before: Mapping[Where, Place]
) -> dict[Where, Place]:
    """What is in force after a decision that leaves so many in each place."""
    places: dict[Where, Place] = {}
    for where, count in counts.items():
        was = before.get(where)
        if was is not None and was.held == count:
            places[where] = Place(count, decision.number, was.since_position)
        elif count:
            places[where] = Place(count, decision.number, decision.position)
    return places


def _left(released: Released, before: Mapping[Where, Place]) -> dict[Where, Place]:
    where = (released.cluster, released.node, released.disk)
    was = before[where]
    left = dict(before)
    del left[where]
    if was.held > released.places:
        left[where] = Place(was.held - released.places, was.number, released.position)
    return left
