"""Which pods of a StatefulSet are on-demand: those with the lowest ordinals.

A StatefulSet creates its pods from the lowest ordinal up, removes them from the highest down and
gives each replacement the ordinal of the pod it replaces. So the class of a pod follows from its
ordinal alone: nothing has to be counted or reserved, no two admissions can race, and scaling down
takes the spot pods first without any deletion cost.
"""

import re
from dataclasses import dataclass
from typing import Final

from ledger.core.shares import require_count
from ledger.core.spot.labels import CapacityClass
from ledger.core.spot.target import Target
from ledger.errors import InvalidRequest

LONGEST_NAME: Final = 253
"""Of a Kubernetes object. A longer name or label was not written by Kubernetes."""

_DIGITS: Final = re.compile(r"[0-9]+")
_NAME: Final = re.compile(r"(.*)-([0-9]+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Pod:
    """What is read of a StatefulSet's pod; ``start`` is the ordinal the set begins at."""

    name: str
    statefulset: str
    index_label: str | None = None
    """The label ``apps.kubernetes.io/pod-index``, which Kubernetes sets since 1.28."""
    start: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """The class of a pod and how it came about; no class leaves the pod as it is."""

    capacity_class: CapacityClass | None
    ordinal: int | None
    index: int | None


def place(pod: Pod, target: Target) -> Place:
    """The class that the ordinal of ``pod`` gives it under ``target``."""
    require_count("ordinals_start", pod.start)
    ordinal = _ordinal(pod)
    if ordinal is None:
        return Place(None, None, None)
    index = ordinal - pod.start
    if target.pods is None:
        return Place(None, ordinal, index)
    return Place("od" if 0 <= index < target.pods else "spot", ordinal, index)


def _ordinal(pod: Pod) -> int | None:
    """From the label if that is a number, else from the name, if it is a name of this set."""
    for text in (pod.name, pod.index_label or ""):
        if len(text) > LONGEST_NAME:
            raise InvalidRequest("invalid_request", f"longer than a name: {text[:20]}...")
    if pod.index_label is not None and _DIGITS.fullmatch(pod.index_label):
        return int(pod.index_label)
    named = _NAME.fullmatch(pod.name)
    return int(named[2]) if named is not None and named[1] == pod.statefulset else None
