"""How many instances fit by memory and by storage: the amounts that are not bound to anything.

An instance without bound cores shares all cores of its node with its neighbours. Its cpu is only
looked at once: a request for more cores than the node has fits nowhere. Memory and storage are
amounts, so that what fits is a division. Bound cores are ``ledger.core.capacity.cpu``, volumes
``ledger.core.capacity.volumes``.

Rule and worked examples: docs/core/capacity.md
"""

from fractions import Fraction

from ledger.core.capacity.amounts import instances_within, require_not_negative
from ledger.core.shares import require_count
from ledger.units import Bytes


def memory_capacity(*, cores: int, cpu: Fraction, free: Bytes, request: Bytes) -> int:
    """How many unbound instances the node's memory holds; ``free`` may be below zero."""
    require_count("cores", cores)
    require_not_negative("invalid_cpu", "cpu", cpu)
    require_not_negative("invalid_memory", "memory", request)
    if cpu > cores:
        return 0
    return instances_within(free, request)


def storage_capacity(*, free: Bytes, request: Bytes, volumes: Bytes) -> int:
    """How many instances the node's storage holds when each also brings volumes of that size."""
    require_not_negative("invalid_storage", "storage", request)
    require_count("volumes", volumes)
    return instances_within(free, request + volumes)
