"""What each namespace is entitled to: the total shared out among queues, then inside each queue.

The same weighted max-min fairness twice. A queue asks for what its namespaces ask for together;
what it is assigned is shared out among its namespaces, and none gets more than it asks for. The
same namespace in two queues is two claims: what it has in one does not count in the other.

This is the state that the allocate round strives for in small steps. It speaks of one resource.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ledger.core.fairshare.deserved import Claim, Fill, fill
from ledger.core.fairshare.queues import require_weight
from ledger.core.fairshare.resources import NamespaceName, QueueName
from ledger.core.shares import require_count, require_distinct


@dataclass(frozen=True, slots=True)
class NamespaceDemand:
    """How much one namespace asks for in a queue, and what it weighs."""

    name: NamespaceName
    weight: int
    requested: int


@dataclass(frozen=True, slots=True)
class QueueDemand:
    """A queue and the namespaces that ask in it."""

    name: QueueName
    weight: int
    namespaces: Sequence[NamespaceDemand]


@dataclass(frozen=True, slots=True)
class QueueEntitlement:
    """What a queue is assigned, and how it is shared out inside; ``level`` as in ``Fill``."""

    assigned: Fraction
    level: Fraction | None
    namespaces: Mapping[NamespaceName, Fraction]


@dataclass(frozen=True, slots=True)
class Entitlement:
    """What everybody is entitled to; queues and namespaces in the order of their names."""

    level: Fraction | None
    queues: Mapping[QueueName, QueueEntitlement]


def entitle(total: int, queues: Sequence[QueueDemand]) -> Entitlement:
    """Share ``total`` out among the queues, and what each is assigned among its namespaces."""
    require_count("total", total)
    require_distinct("queue", (queue.name for queue in queues))
    for queue in queues:
        require_weight(f"queue {queue.name}", queue.weight)
        require_distinct(f"queue {queue.name}: namespace", (ns.name for ns in queue.namespaces))
        for namespace in queue.namespaces:
            require_weight(f"namespace {namespace.name}", namespace.weight)
            require_count(f"namespace {namespace.name}: requested", namespace.requested)

    by_name = sorted(queues, key=lambda queue: queue.name)
    among_queues = fill(
        Fraction(total),
        [Claim(queue.weight, 0, sum(ns.requested for ns in queue.namespaces)) for queue in by_name],
    )
    return Entitlement(
        level=among_queues.level,
        queues={
            queue.name: _inside(queue, assigned)
            for queue, assigned in zip(by_name, among_queues.parts, strict=True)
        },
    )


def _inside(queue: QueueDemand, assigned: Fraction) -> QueueEntitlement:
    by_name = sorted(queue.namespaces, key=lambda namespace: namespace.name)
    inside: Fill = fill(assigned, [Claim(ns.weight, 0, ns.requested) for ns in by_name])
    return QueueEntitlement(
        assigned=assigned,
        level=inside.level,
        namespaces=dict(zip((ns.name for ns in by_name), inside.parts, strict=True)),
    )
