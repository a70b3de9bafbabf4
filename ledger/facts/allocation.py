"""Tasks of a job that a round placed on nodes, and the shares by which it was their turn."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from ledger.facts.canonical import Plain
from ledger.facts.fair_share import (
    RoundTold,
    ratio_plain,
    ratio_read,
    round_plain,
    round_read,
)
from ledger.facts.reason import Cause
from ledger.units import ClusterName, NodeName

Way = Literal["allocate", "preempt", "reclaim", "backfill"]
"""By which step of a round a task came to its place, in the order of the steps: in turn, by
evictions in its queue or in others, or because it asks for nothing but a slot."""


class TaskRequest(NamedTuple):
    """What each task takes and keeps, whatever becomes of the wish."""

    cpu: int
    memory: int
    storage: int


class Placed(NamedTuple):
    """A task and its place."""

    task: int
    cluster: ClusterName
    node: NodeName
    way: Way
    share: Fraction | None
    """The weighted share of its namespace before the turn; None where there was no turn."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """What a round placed of one job, in the order of the tasks; what ran before runs on."""

    namespace: str
    job: str
    uid: str
    queue: str
    request: TaskRequest
    tasks: tuple[Placed, ...]
    waiting: int
    """How many of its tasks wait after the round."""
    full: bool
    """Whether the round ended because it had placed as many as one may: it goes on at once."""
    round: RoundTold
    because: tuple[Cause, ...] = ("round",)

    kind: Literal["allocation"] = "allocation"


def result(allocation: Allocation) -> Plain:
    """The answer."""
    return {
        "namespace": allocation.namespace,
        "job": allocation.job,
        "uid": allocation.uid,
        "queue": allocation.queue,
        "request": allocation.request._asdict(),
        "places": [[placed.task, placed.cluster, placed.node] for placed in allocation.tasks],
        "waiting": allocation.waiting,
        "full": allocation.full,
    }


def reasons(allocation: Allocation) -> Plain:
    """The numbers behind it."""
    return {
        "because": allocation.because,
        "round": round_plain(allocation.round),
        "turns": [[placed.way, ratio_plain(placed.share)] for placed in allocation.tasks],
    }


def read(answer: dict[str, Any], why: dict[str, Any]) -> Allocation:
    """What ``result`` and ``reasons`` spelled."""
    return Allocation(
        namespace=answer["namespace"],
        job=answer["job"],
        uid=answer["uid"],
        queue=answer["queue"],
        request=TaskRequest(**answer["request"]),
        tasks=tuple(
            Placed(task, cluster, node, way, ratio_read(share))
            for (task, cluster, node), (way, share) in zip(
                answer["places"], why["turns"], strict=True
            )
        ),
        waiting=answer["waiting"],
        full=answer["full"],
        round=round_read(why["round"]),
        because=tuple(why["because"]),
    )
