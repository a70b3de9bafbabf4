"""An approved repair of pods: who is to be evicted, so that what comes instead is admitted anew.

The ledger evicts nobody itself. Whoever carries this out deletes these pods; their replacements are
on-demand, as long as too few are.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ledger.facts.canonical import Plain
from ledger.facts.reason import Cause
from ledger.units import ClusterName, DecisionNumber


class ToEvict(NamedTuple):
    """A pod, and where it is."""

    namespace: str
    pod: str
    node: str
    """With its cluster."""


@dataclass(frozen=True, slots=True)
class Repair:
    """Pods of a workload in a cluster that are to go."""

    cluster: ClusterName
    evict: tuple[ToEvict, ...]
    proposal: DecisionNumber
    because: tuple[Cause, ...]

    kind: Literal["repair"] = "repair"


def result(repair: Repair) -> Plain:
    """The answer."""
    return {"cluster": repair.cluster, "evict": [one._asdict() for one in repair.evict]}


def reasons(repair: Repair) -> Plain:
    """Why."""
    return {"because": repair.because, "proposal": repair.proposal}


def read(answer: dict[str, Any], why: dict[str, Any]) -> Repair:
    """What ``result`` and ``reasons`` spelled."""
    return Repair(
        cluster=answer["cluster"],
        evict=tuple(ToEvict(**one) for one in answer["evict"]),
        proposal=why["proposal"],
        because=tuple(why["because"]),
    )
