"""What a queue is, and when its description means nothing.

A queue takes its part of the total by ``weight``. ``guarantee`` is what it deserves at least and
``capability`` what it may hold at most: a resource without a capability has no limit, one with a
capability of 0 is closed to the queue. What a queue deserves is ``ledger.core.fairshare.deserved``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ledger.core.fairshare.resources import Amounts, QueueName
from ledger.core.shares import require_counts, require_distinct
from ledger.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue. ``seq`` is the place in the log of the event that created it.

    A queue that is not open starts nothing; one that is not reclaimable loses nothing to others.
    """

    name: QueueName
    weight: int = 1
    priority: int = 0
    seq: int = 0
    capability: Amounts = field(default_factory=dict)
    guarantee: Amounts = field(default_factory=dict)
    is_open: bool = True
    reclaimable: bool = True


def require_queues(queues: Sequence[Queue]) -> None:
    """Refuse queues of which one could never be served, or two cannot be told apart."""
    require_distinct("queue", (queue.name for queue in queues))
    for queue in queues:
        require_weight(f"queue {queue.name}", queue.weight)
        require_counts(f"queue {queue.name}: capability", queue.capability)
        require_counts(f"queue {queue.name}: guarantee", queue.guarantee)
        for resource in sorted(queue.guarantee):
            limit = queue.capability.get(resource)
            if limit is not None and queue.guarantee[resource] > limit:
                raise InvalidRequest(
                    "invalid_request",
                    f"queue {queue.name}: {queue.guarantee[resource]} of {resource} are guaranteed"
                    f" where it may hold {limit}",
                )


def require_weight(what: str, weight: int) -> None:
    """Refuse a weight below one: whoever has none is never served."""
    if type(weight) is not int or weight < 1:
        raise InvalidRequest("invalid_request", f"{what}: {weight!r} is no weight")
