"""A contradiction of the book: what was found, where, and by how much.

``over_committed``         a node declares less than is held on it; each amount, and by how much
``pods_beyond_instances``  more pods of a workload are seen on a node than the ledger placed there
``share_base_kept``        a node wanted to be divided into other pieces while some were given out
``late_confirmation``      pods came whose reservations had been given up; they count again, so that there
                           may be more on-demand than are due, and never fewer
``weight_invalid``         a quota says a weight of its namespace that is none, and counts as 1
``guarantee_infeasible``   queues are guaranteed more than the last round that placed or evicted had to share
                           out; each resource, and by how much

An incident says what is so. It moves nothing, and nothing is to be answered: what the book does
about it is told in ``ledger.reducers.incidents``.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal

from ledger.facts.canonical import Plain
from ledger.facts.reason import Cause
from ledger.units import Subject

What = Literal[
    "over_committed",
    "pods_beyond_instances",
    "share_base_kept",
    "late_confirmation",
    "weight_invalid",
    "guarantee_infeasible",
]
"""The names are public: ``ledger_api.incidents.kind`` shows them."""

LASTING: Final[frozenset[What]] = frozenset(
    {"over_committed", "pods_beyond_instances", "weight_invalid", "guarantee_infeasible"}
)
"""What is so until it ends; the others are over once they are recorded."""


@dataclass(frozen=True, slots=True)
class Incident:
    """Something that was found and contradicts the book."""

    what: What
    node: Subject
    """Where: a node, the ReplicaSet of pods that came late, a quota, or the fleet."""
    numbers: tuple[tuple[str, int | str], ...]
    """By how much, sorted by name; text is what was told and is no number."""
    because: tuple[Cause, ...] = ()
    """Nobody asks for an incident."""

    kind: Literal["incident"] = "incident"


def result(incident: Incident) -> Plain:
    """What was found, and where."""
    return {"what": incident.what, "node": incident.node}


def reasons(incident: Incident) -> Plain:
    """By how much."""
    return {"numbers": dict(incident.numbers)}


def read(answer: dict[str, Any], why: dict[str, Any]) -> Incident:
    """What ``result`` and ``reasons`` spelled."""
    return Incident(answer["what"], answer["node"], tuple(sorted(why["numbers"].items())))
