"""Where decisions divide to, written once, and what is in force now, a place a row.

What gives way in force to something else is left behind (``ledger.views.past``).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ledger.facts.allocation import Allocation
from ledger.facts.decision import Decision
from ledger.facts.deployment import Deployment
from ledger.facts.disk_placement import DiskPlacement
from ledger.facts.division import Division
from ledger.facts.eviction import Eviction
from ledger.views.past import (
    PLACED_BY,
    PLACEMENTS,
    Change,
    Span,
    Standing,
    Turned,
    Turning,
    changed,
)
from ledger.views.released import Ended, Released
from ledger.views.table import Row, Table

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
        "left_out",
    ),
    key=3,
)


class Held(NamedTuple):
    """How many are at one place, and since which position."""

    many: int
    begin: int


Where = tuple[str, str, str]
"""Cluster, node, disk; empty where that was not decided."""

Placed = tuple[str, str]
"""Kind and subject of what is placed."""

Move = tuple[int, int, str, str, int, Decision | Released | None]
"""Number, and its place among those of that number; kind and subject; position, and what it was. None:
it ended."""


_AS_KIND: Final = {"eviction": "allocation"}
"""Which kind of decision placed what one of another kind takes away."""


def division_rows(fleet: int, decisions: Sequence[Decision]) -> list[Row]:
    """A row a cluster, of each decision that divides; also of those that lost what they had by it."""
    return [
        (fleet, decision.number, *row)
        for decision in decisions
        if isinstance(decision.outcome, Division)
        for row in _clusters(decision.outcome)
    ]


def _clusters(division: Division) -> Iterator[tuple[Any, ...]]:
    for share in division.shares:
        yield (
            share.cluster,
            division.namespace,
            division.workload,
            share.weight,
            share.replicas,
            share.floor,
            share.residual,
            share.previous,
            share.available,
            False,
        )
    for cluster, previous in division.left:
        # It takes no part, and nothing was asked of it: there is only what it had.
        yield (
            cluster,
            division.namespace,
            division.workload,
            None,
            0,
            None,
            None,
            previous,
            None,
            True,
        )


def placements(
    decisions: Sequence[Decision], ended: Sequence[Ended], released: Sequence[Released]
) -> tuple[Turning, Turning]:
    """What is in force of the subjects touched, after these decisions and events, and by which decision.

    The second follows from the first, so it is turned behind it.
    """
    moves = placements_turned(decisions, ended, released)
    by: list[Change] = []

    def turn(found: dict[Row, Standing]) -> Turned:
        force: dict[Placed, dict[Where, Held]] = {}
        for (kind, subject, cluster, node, disk), ((many,), begin) in found.items():
            force.setdefault((kind, subject), {})[cluster, node, disk] = Held(many, begin)
        past, by[:] = turn_places(force, moves)
        standing = {
            (*key, *where): ((held.many,), held.begin)
            for key, places in force.items()
            for where, held in places.items()
        }
        return Turned(standing, past)

    def turn_by(found: dict[Row, Standing]) -> Turned:
        past = changed(found, by)
        return Turned(found, past)

    touched = sorted({(kind, subject) for _, _, kind, subject, _, _ in moves})
    return Turning(PLACEMENTS, 2, touched, turn), Turning(PLACED_BY, 2, touched, turn_by)


def placements_turned(
    decisions: Sequence[Decision], ended: Sequence[Ended], released: Sequence[Released]
) -> list[Move]:
    """What these decisions and events change of what is in force, in order."""
    # By number; what ended a decision comes after it and before the next one of its subject.
    changes: list[Move] = [
        (number, 2, kind, subject, position, None)
        for kind, subject, number, position in ended
        if kind not in {"refusal", "proposal"}
    ]
    changes += [(one.number, 1, one.kind, one.subject, one.position, one) for one in released]
    changes += [
        (
            decision.number,
            0,
            _AS_KIND.get(decision.kind, decision.kind),
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
    force: dict[Placed, dict[Where, Held]], moves: Sequence[Move]
) -> tuple[list[Span], list[Change]]:
    """Change what is in force, where nothing left is not listed.

    Told are what held until one of them, and by which decision a subject is placed from then on, as long as
    it has a place.
    """
    past: list[Span] = []
    by: list[Change] = []
    for _, _, kind, subject, position, move in moves:
        standing = force.pop((kind, subject), {})
        after = {
            where: held
            if (held := standing.get(where)) is not None and held.many == many
            else Held(many, position)
            for where, many in _counts(move, standing).items()
            if many
        }
        past += [
            Span((kind, subject, *where, held.many), held.begin, position)
            for where, held in standing.items()
            if held.begin < position and after.get(where) != held
        ]
        if not after:
            by.append(Change(position, (kind, subject), None))
            continue
        force[kind, subject] = after
        if isinstance(move, Decision):
            by.append(Change(position, (kind, subject), (move.number,)))
    return past, by


def _counts(
    move: Decision | Released | None, standing: Mapping[Where, Held]
) -> Mapping[Where, int]:
    """How many are in each place after it."""
    match move:
        case None:
            return {}
        case Decision():
            return _decided(move, standing)
        case released:
            counts = _held(standing)
            counts[released.cluster, released.node, released.disk] -= released.places
            return counts


def _decided(decision: Decision, standing: Mapping[Where, Held]) -> Mapping[Where, int]:
    match decision.outcome:
        case Division() as division:
            return {(share.cluster, "", ""): share.replicas for share in division.shares}
        case Deployment() as deployment:
            return Counter(
                (deployment.cluster, instance.node, "") for instance in deployment.instances
            )
        case DiskPlacement() as placement:
            return Counter((one.cluster, one.node, one.disk) for one in placement.replicas)
        case Allocation() as allocation:
            counts = _held(standing)
            counts.update((placed.cluster, placed.node, "") for placed in allocation.tasks)
            return counts
        case Eviction() as eviction:
            counts = _held(standing)
            counts.subtract((evicted.cluster, evicted.node, "") for evicted in eviction.tasks)
            return counts
        case other:
            raise AssertionError(f"a {other.kind} places nothing")


def _held(standing: Mapping[Where, Held]) -> Counter[Where]:
    return Counter({where: held.many for where, held in standing.items()})
