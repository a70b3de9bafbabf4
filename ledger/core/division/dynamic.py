"""Divide replicas by what is available: over all that have room, or over as few as it takes.

Both strategies weigh clusters by a number of replicas and divide by ``webster``; they differ in who
takes part. ``dynamic`` takes everybody. ``aggregated`` puts the clusters in a row, those that hold
replicas already first, then by size, and takes the shortest beginning of it that is large enough.

What is divided, and by which weights, follows from the last result. What a cluster held that is no
candidate any more is gone before anything is compared:

``keep``        the last result adds up to what is wanted: it stands, whatever is available now
``scale_up``    only what is missing is divided, by availability, and added; nobody loses
``scale_down``  what is wanted is divided by what each one holds; availability does not matter
``fresh``       asked to forget: all of it is divided, and what a cluster holds counts as available

A first division is a ``scale_up`` from nothing. If all that may take part have room for fewer
replicas than are to be divided, nothing is placed. Nobody ever gets more new replicas than it has
room for: while they are no more than the weights add up to, a weight of w never claims a seat
after its w-th before somebody else's w-th is served.

How much is available on a cluster is the business of whoever asks.

Rule, worked examples and the differences from Karmada: docs/core/dynamic.md
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from ledger.core.division.shortage import Shortage
from ledger.core.division.webster import Apportionment, apportion
from ledger.core.shares import require_count, require_counts
from ledger.errors import InvalidRequest
from ledger.units import ClusterName, Replicas, Weight

Strategy = Literal["dynamic", "aggregated"]
"""Over everybody in proportion, or over as few clusters as have the room."""

Course = Literal["keep", "scale_up", "scale_down", "fresh"]
"""Which rule said what is divided by which weights. The names are public."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be divided over whom. The names in ``available`` are the candidates."""

    replicas: Replicas
    available: Mapping[ClusterName, Replicas]
    last: Mapping[ClusterName, Replicas] | None = None
    strategy: Strategy = "dynamic"
    fresh: bool = False
    workload: str = ""


@dataclass(frozen=True, slots=True)
class Share:
    """What one candidate held, had room for, counted for, and holds now.

    ``weight`` is None for a candidate that took no part: the ones before it in the row had room
    enough, or nothing was divided at all.
    """

    cluster: ClusterName
    available: Replicas
    held: Replicas
    weight: Weight | None
    replicas: Replicas


@dataclass(frozen=True, slots=True)
class Division:
    """Who gets how many: ``target`` replicas were divided, as ``apportionment`` has it.

    ``row`` are the candidates in the order in which ``aggregated`` would take them; those that took
    part are its beginning. Both are empty where the last result was kept.
    """

    course: Course
    replicas: Replicas
    target: Replicas
    shares: tuple[Share, ...]
    row: tuple[ClusterName, ...]
    apportionment: Apportionment

    @property
    def allocation(self) -> dict[ClusterName, Replicas]:
        """The answer: every candidate, also those that get nothing, in the order of the names."""
        return {share.cluster: share.replicas for share in self.shares}


def divide(request: Request) -> Division | Shortage:
    """Divide the replicas by what is available, leaving a last result in place where that goes.

    Raises ``InvalidRequest`` for a request that means nothing, ``invalid_strategy`` among its codes.
    """
    _require_valid(request)
    # Code points sort as their UTF-8 bytes do, so this is the order of the bytes.
    candidates = sorted(request.available)
    last = request.last or {}
    held = {cluster: last.get(cluster, Replicas(0)) for cluster in candidates}
    course = _course(request, sum(held.values()))
    target, weights, kept = _terms(course, request, held)

    room = sum(weights.values())
    if room < target:
        return Shortage(wanted=target, room=Replicas(room))

    first = held if course == "scale_up" else {}
    row = sorted(weights, key=lambda one: (not first.get(one), -weights[one], one))
    part = _shortest(row, weights, target) if request.strategy == "aggregated" else row
    apportionment = apportion(
        target, {one: weights[one] for one in part}, workload=request.workload
    )
    new = apportionment.allocation
    shares = tuple(
        Share(
            cluster=cluster,
            available=request.available[cluster],
            held=held[cluster],
            weight=weights[cluster] if cluster in new else None,
            replicas=Replicas(kept.get(cluster, 0) + new.get(cluster, 0)),
        )
        for cluster in candidates
    )
    assert sum(share.replicas for share in shares) == request.replicas, "no replica is lost"
    return Division(course, request.replicas, target, shares, tuple(row), apportionment)


def _course(request: Request, held: int) -> Course:
    if request.fresh:
        return "fresh"
    if held == request.replicas:
        return "keep"
    return "scale_up" if held < request.replicas else "scale_down"


def _terms(
    course: Course, request: Request, held: Mapping[ClusterName, Replicas]
) -> tuple[Replicas, dict[ClusterName, Weight], Mapping[ClusterName, Replicas]]:
    """What is divided, by which weights, and what everybody keeps besides."""
    match course:
        case "keep":
            return Replicas(0), {}, held
        case "scale_up":
            missing = Replicas(request.replicas - sum(held.values()))
            return missing, _weights(request.available, held), held
        case "scale_down":
            return request.replicas, _weights(held, held), {}
        case "fresh":
            own = {
                cluster: Replicas(request.available[cluster] + count)
                for cluster, count in held.items()
            }
            return request.replicas, _weights(own, held), {}


def _weights(
    amounts: Mapping[ClusterName, Replicas], clusters: Iterable[ClusterName]
) -> dict[ClusterName, Weight]:
    return {cluster: Weight(amounts[cluster]) for cluster in clusters}


def _shortest(
    row: list[ClusterName], weights: Mapping[ClusterName, Weight], target: int
) -> list[ClusterName]:
    """The shortest beginning of the row that has room for the target."""
    room = 0
    for place, cluster in enumerate(row):
        room += weights[cluster]
        if room >= target:
            return row[: place + 1]
    return row


def _require_valid(request: Request) -> None:
    require_count("replicas", request.replicas)
    require_counts("available", request.available)
    require_counts("last", request.last or {})
    if request.strategy not in get_args(Strategy):
        raise InvalidRequest("invalid_strategy", f"strategy: there is no {request.strategy!r}")
