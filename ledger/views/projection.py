"""Where decisions divide to, written once, and what is in force now, a place a row.

What gives way in force to something else is left behind (``ledger.views.past``).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ledger.facts.allocation import Allocation
from ledger.facts.decision import Decision
from ledger.facts.deployment import Deployment
from ledger.facts.disk_placement import DiskPlacement
from ledger.facts.division import Division
from ledger.facts.eviction import Eviction
from ledger.views.past import PLACEMENTS, Span, Turned, Turning
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

Move = tuple[int, int, str, str, int, Decision | Released | None]
"""Number, and its place among those of that number; kind and subject; position, and what it was. None:
it ended."""


_PLACED_BY: Final = {"eviction": "allocation"}
"""Which kind of decision placed what one of another kind takes away."""


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


def placements(
    decisions: Sequence[Decision], ended: Sequence[Ended], released: Sequence[Released]
) -> Turning:
    """What is in force of the subjects touched, after these decisions and events."""
    changes = placements_turned(decisions, ended, released)

    def turn(found: dict[Row, tuple[Row, int]]) -> Turned:
        force: dict[Placed, dict[Where, Standing]] = {}
        for (kind, subject, cluster, node, disk), (says, begin) in found.items():
            places = force.setdefault((kind, subject), {})
            places[cluster, node, disk] = Standing(Place(*says), begin)
        past = turn_places(force, changes)
        standing = {
            (*key, *where): one for key, places in force.items() for where, one in places.items()
        }
        return Turned(standing, past)

    touched = sorted({(kind, subject) for _, _, kind, subject, _, _ in changes})
    return Turning(PLACEMENTS, 2, touched, turn)


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


def turn_places(force: dict[Placed, dict[Where, Standing]], changes: Sequence[Move]) -> list[Span]:
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
