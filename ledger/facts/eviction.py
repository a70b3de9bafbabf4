"""Tasks of a job that had to go: for whom, and what each voter said of them."""

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
from ledger.units import ClusterName, NodeName, Subject

Way = Literal["preempt", "reclaim"]
"""For another job of its queue, or for another queue."""


class Ballot(NamedTuple):
    """What one voter said, by which of its rules, and the numbers it compared."""

    voter: str
    rule: str
    left: Fraction
    right: Fraction
    before: Fraction | None


class Evicted(NamedTuple):
    """A task that had to go; it waits again."""

    task: int
    cluster: ClusterName
    node: NodeName
    way: Way
    taker: Subject
    """The job for which it went, and which task of it."""
    taker_task: int
    ballots: tuple[Ballot, ...]


@dataclass(frozen=True, slots=True)
class Eviction:
    """What a round evicted of one job, in the order of the tasks."""

    namespace: str
    job: str
    uid: str
    queue: str
    tasks: tuple[Evicted, ...]
    round: RoundTold
    because: tuple[Cause, ...] = ("round",)

    kind: Literal["eviction"] = "eviction"


def result(eviction: Eviction) -> Plain:
    """The answer."""
    return {
        "namespace": eviction.namespace,
        "job": eviction.job,
        "uid": eviction.uid,
        "queue": eviction.queue,
        "places": [[evicted.task, evicted.cluster, evicted.node] for evicted in eviction.tasks],
    }


def reasons(eviction: Eviction) -> Plain:
    """The numbers behind it."""
    return {
        "because": eviction.because,
        "round": round_plain(eviction.round),
        "takers": [
            {
                "way": evicted.way,
                "job": evicted.taker,
                "task": evicted.taker_task,
                "ballots": [_ballot_plain(ballot) for ballot in evicted.ballots],
            }
            for evicted in eviction.tasks
        ],
    }


def read(answer: dict[str, Any], why: dict[str, Any]) -> Eviction:
    """What ``result`` and ``reasons`` spelled."""
    return Eviction(
        namespace=answer["namespace"],
        job=answer["job"],
        uid=answer["uid"],
        queue=answer["queue"],
        tasks=tuple(
            Evicted(
                task=task,
                cluster=cluster,
                node=node,
                way=taker["way"],
                taker=taker["job"],
                taker_task=taker["task"],
                ballots=tuple(_ballot(ballot) for ballot in taker["ballots"]),
            )
            for (task, cluster, node), taker in zip(answer["places"], why["takers"], strict=True)
        ),
        round=round_read(why["round"]),
        because=tuple(why["because"]),
    )


def _ballot_plain(ballot: Ballot) -> Plain:
    return {
        "voter": ballot.voter,
        "rule": ballot.rule,
        "left": ratio_plain(ballot.left),
        "right": ratio_plain(ballot.right),
        "before": ratio_plain(ballot.before),
    }


def _ballot(plain: dict[str, Any]) -> Ballot:
    return Ballot(
        voter=plain["voter"],
        rule=plain["rule"],
        left=Fraction(*plain["left"]),
        right=Fraction(*plain["right"]),
        before=ratio_read(plain["before"]),
    )
