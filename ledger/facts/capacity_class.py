"""How many instances of a workload belong on on-demand nodes of one cluster, and how that is kept."""

from dataclasses import dataclass
from typing import Any, Literal

from ledger.facts.canonical import Plain
from ledger.facts.reason import Cause
from ledger.units import ClusterName, Uid


@dataclass(frozen=True, slots=True)
class CapacityClass:
    """A target; recorded where the workload says how many it needs, when what follows changes."""

    namespace: str
    workload: str
    uid: Uid
    cluster: ClusterName
    share: int
    """Of how many instances."""
    target: int | None
    """So many, those with the lowest numbers; None leaves all of them as they are."""
    previous: int | None
    mode: str
    flags: tuple[str, ...]
    read: str | None
    """The text that counted: the workload's, the last one that could be read, or the policy's."""
    min_available: int | None
    """What it says of so many instances."""
    majority: int | None
    """The least that a StatefulSet of this size may have."""
    because: tuple[Cause, ...]

    kind: Literal["capacity_class"] = "capacity_class"


def result(decided: CapacityClass) -> Plain:
    """The answer."""
    return {
        "namespace": decided.namespace,
        "workload": decided.workload,
        "uid": decided.uid,
        "cluster": decided.cluster,
        "target": decided.target,
        "mode": decided.mode,
        "flags": decided.flags,
    }


def reasons(decided: CapacityClass) -> Plain:
    """The numbers behind it."""
    return {
        "because": decided.because,
        "share": decided.share,
        "previous": decided.previous,
        "read": decided.read,
        "min_available": decided.min_available,
        "majority": decided.majority,
    }


def read(answer: dict[str, Any], why: dict[str, Any]) -> CapacityClass:
    """What ``result`` and ``reasons`` spelled."""
    plain = answer | why
    return CapacityClass(
        **plain | {"flags": tuple(plain["flags"]), "because": tuple(plain["because"])}
    )
