"""An approved repair of pods: who is to be evicted, or to be deleted as soon as any other.

The ledger touches no pod itself. Whoever carries this out deletes those that are to be evicted: what comes
instead is admitted anew, and on-demand as long as too few are. Of those that are to be lowered there are
more on-demand than are due: their pod-deletion-cost becomes 0, so that the next scale-down takes them like
any other, and nobody goes because of it.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ledger.facts.canonical import Plain
from ledger.facts.reason import Cause
from ledger.units import ClusterName, DecisionNumber


class Named(NamedTuple):
    """A pod, and where it is."""

    namespace: str
    pod: str
    node: str
    """With its cluster."""


@dataclass(frozen=True, slots=True)
class Repair:
    """Pods of a workload in a cluster that are to go, or may."""

    cluster: ClusterName
    evict: tuple[Named, ...]
    lower: tuple[Named, ...]
    proposal: DecisionNumber
    because: tuple[Cause, ...]

    kind: Literal["repair"] = "repair"


def result(repair: Repair) -> Plain:
    """The answer."""
    return {
        "cluster": repair.cluster,
        "evict": [one._asdict() for one in repair.evict],
        "lower": [one._asdict() for one in repair.lower],
    }


def reasons(repair: Repair) -> Plain:
    """Why."""
    return {"because": repair.because, "proposal": repair.proposal}


def read(answer: dict[str, Any], why: dict[str, Any]) -> Repair:
    """What ``result`` and ``reasons`` spelled."""
    return Repair(
        cluster=answer["cluster"],
        evict=tuple(Named(**one) for one in answer["evict"]),
        lower=tuple(Named(**one) for one in answer["lower"]),
        proposal=why["proposal"],
        because=tuple(why["because"]),
    )
