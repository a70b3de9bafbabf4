"""How many pods must stay on on-demand nodes, as written in an annotation of the workload.

The annotation holds a count (``3``) or a percentage of the replicas (``40%``), with nothing around
it but ASCII space. A percentage is rounded up, as Kubernetes rounds wherever less would break a
promise. Anything else is invalid; that is an answer here and not an error, because what follows
from it (the last valid text, or leaving the pods alone) is the business of ``target``.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from ledger.core.shares import require_count

Kind = Literal["int", "percent", "invalid", "absent"]
"""What was written. ``absent`` is no annotation at all; an empty one is invalid."""

LARGEST: Final = 2**31 - 1
"""The largest count of replicas that Kubernetes can write."""

_SPACE: Final = " \t\n\v\f\r"
_COUNT: Final = re.compile(r"0|[1-9][0-9]{0,9}")
_PERCENT: Final = re.compile(r"(0|[1-9][0-9]?|100)%")


@dataclass(frozen=True, slots=True)
class MinAvailable:
    """What an annotation asks for; ``pods`` is None where it asks for nothing that can be read."""

    kind: Kind
    pods: int | None


def read_min_available(annotation: str | None, *, replicas: int) -> MinAvailable:
    """Read ``annotation`` for a workload of so many replicas."""
    require_count("replicas", replicas)
    if annotation is None:
        return MinAvailable("absent", None)
    text = annotation.strip(_SPACE)
    if _COUNT.fullmatch(text) and (pods := int(text)) <= LARGEST:
        return MinAvailable("int", pods)
    if percent := _PERCENT.fullmatch(text):
        return MinAvailable("percent", -(-int(percent[1]) * replicas // 100))
    return MinAvailable("invalid", None)
