"""Amounts of several resources at once, and which of them weighs most.

An amount is a whole number of the resource's smallest unit: milli-cpu, bytes, pieces. A resource
that a vector does not name is there with 0. What a vector means (a request, a holding, a limit)
and which resources a question knows is left to whoever holds it.

The dominant share of some amounts is the largest part that any of them is of the total. A resource
of which there is nothing is passed over: nothing is no part of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NewType

from ledger.core.shares import require_counts

Resource = NewType("Resource", str)
QueueName = NewType("QueueName", str)
NamespaceName = NewType("NamespaceName", str)
JobName = NewType("JobName", str)
TaskName = NewType("TaskName", str)

Amounts = Mapping[Resource, int]
"""How much of each resource; one that is not named is 0."""

Vector = tuple[int, ...]
"""Amounts along resources that are listed elsewhere, once for many vectors."""

DEFAULT_NAMESPACE: Final = NamespaceName("default")
"""Where a job lives that names no namespace, as in Kubernetes."""


@dataclass(frozen=True, slots=True)
class DominantShare:
    """The largest part of the total, and of what it is a part; "" where nothing is used."""

    share: Fraction
    resource: Resource


def dominant_share(amounts: Amounts, total: Amounts) -> DominantShare:
    """The largest part that ``amounts`` are of ``total``; the first name on a tie."""
    require_counts("total", total)
    require_counts("amounts", amounts)
    best = DominantShare(Fraction(0), Resource(""))
    for resource in sorted(total):
        used = amounts.get(resource, 0)
        if total[resource] and Fraction(used, total[resource]) > best.share:
            best = DominantShare(Fraction(used, total[resource]), resource)
    return best


def added(vectors: Iterable[Amounts]) -> dict[Resource, int]:
    """The sum of the vectors, naming whatever one of them names."""
    total: dict[Resource, int] = {}
    for vector in vectors:
        for resource, amount in vector.items():
            total[resource] = total.get(resource, 0) + amount
    return total


def resources_of(vectors: Iterable[Amounts]) -> tuple[Resource, ...]:
    """Every resource that one of the vectors names, in the order of the names."""
    return tuple(sorted({resource for vector in vectors for resource in vector}))


def along(resources: Sequence[Resource], amounts: Amounts) -> Vector:
    """The amounts of just these resources, in their order."""
    return tuple(amounts.get(resource, 0) for resource in resources)


def named(resources: Sequence[Resource], vector: Sequence[int]) -> dict[Resource, int]:
    """The vector with the names of its resources."""
    return dict(zip(resources, vector, strict=True))
