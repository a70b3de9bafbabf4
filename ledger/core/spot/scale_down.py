"""Whom a ReplicaSet deletes first when it scales down.

The criteria are those of Kubernetes, the first difference decides: not yet on a node, phase, not
ready, deletion cost, how many pods share the node, ready for a shorter time, more restarts, more
restarts of sidecars, younger. Times are compared by the logarithm to base two of their length, so
that among pods of about the same age none is always the victim.

In Kubernetes two pods whose times differ but have the same logarithm are ordered by uid at once,
while two with equal times go on to the next criterion. That order has cycles, and what a sort makes
of it depends on how the pods happened to lie. Here equal logarithms are a tie and the uid comes
last, which is an order.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, get_args

Phase = Literal["Pending", "Unknown", "Running"]
"""Of a pod that is still active; pods that have finished are not scaled down."""

_PHASES: Final[dict[Phase, int]] = {"Pending": 0, "Unknown": 1, "Running": 2}

Criterion = Literal[
    "assigned",
    "phase",
    "ready",
    "deletion_cost",
    "same_node_rank",
    "ready_for",
    "restarts",
    "sidecar_restarts",
    "created",
    "uid",
]
"""In the order in which they decide."""

CRITERIA: Final[tuple[Criterion, ...]] = get_args(Criterion)


@dataclass(frozen=True, slots=True)
class ActivePod:
    """What a ReplicaSet looks at. Spans of time are in nanoseconds, None is an unknown one."""

    assigned: bool
    phase: Phase
    ready: bool
    deletion_cost: int = 0
    same_node_rank: int = 0
    """How many pods of the same owner are active on its node."""
    ready_for: int | None = None
    restarts: int = 0
    sidecar_restarts: int = 0
    age: int | None = None
    uid: str = ""


Turn = tuple[int, int, int, int, int, int, int, int, int, bytes]


def turn(pod: ActivePod) -> Turn:
    """The sort key of ``pod``, criterion by criterion: the lowest is deleted first."""
    return (
        int(pod.assigned),
        _PHASES[pod.phase],
        int(pod.ready),
        pod.deletion_cost,
        -pod.same_node_rank,
        _rank(pod.ready_for) if pod.ready else 0,
        -pod.restarts,
        -pod.sidecar_restarts,
        _rank(pod.age),
        pod.uid.encode(),
    )


def deletion_order(pods: Iterable[ActivePod]) -> list[ActivePod]:
    """The pods, the one to be deleted first in front."""
    return sorted(pods, key=turn)


def first_difference(one: ActivePod, other: ActivePod) -> Criterion | None:
    """The criterion that decides between two pods; None if no criterion does."""
    pairs = zip(CRITERIA, turn(one), turn(other), strict=True)
    return next((criterion for criterion, mine, theirs in pairs if mine != theirs), None)


def _rank(span: int | None) -> int:
    """The whole part of the logarithm to base two; an unknown span goes before none at all."""
    return -2 if span is None else span.bit_length() - 1
