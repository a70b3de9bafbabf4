"""What an instance gets when its request changes while it stays on its node.

What it holds is given back first, so that it can keep all of it. If nothing changes in what it asks
for and its binding still fits, it keeps that binding. Otherwise the new binding is the first plan of
``ledger.core.capacity.cpu`` with the old one in mind: cores that it held come first.

Volumes and storage are not touched here (``ledger.core.capacity.volume_reallocation``).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal

from ledger.core.capacity.amounts import NumaGroup, Pieces, instances_within
from ledger.core.capacity.cpu import (
    ACROSS,
    NO_MAX_SHARE,
    SHARE_BASE,
    CpuNode,
    CpuRequest,
    cpu_plans,
)
from ledger.core.capacity.memory import memory_capacity
from ledger.core.capacity.request import InstanceRequest, normalized
from ledger.core.shares import require_counts
from ledger.units import Bytes

_NO_PIECES: Final[Pieces] = {}


@dataclass(frozen=True, slots=True)
class Holding:
    """What an instance asks for and what it is bound to; unbound, it has no cores."""

    request: InstanceRequest
    cores: Pieces
    group: NumaGroup = ACROSS


@dataclass(frozen=True, slots=True)
class Change:
    """What is added to a request; amounts may be below zero.

    With ``keep_cpu_bind`` the instance is bound exactly if it was, else if ``cpu_bind``.
    """

    cpu_request: Fraction = Fraction(0)
    cpu_limit: Fraction = Fraction(0)
    memory_request: int = 0
    memory_limit: int = 0
    cpu_bind: bool = False
    keep_cpu_bind: bool = False


@dataclass(frozen=True, slots=True)
class Reallocated:
    """What the instance holds from now on, and whether its binding is the old one."""

    holding: Holding
    kept: bool


@dataclass(frozen=True, slots=True)
class NoRoom:
    """The node cannot hold the changed instance: no binding is left, or no memory."""

    request: InstanceRequest
    memory: int
    code: Literal["insufficient_resource", "insufficient_capacity"]


def reallocate(
    node: CpuNode,
    held: Holding,
    change: Change,
    *,
    share_base: int = SHARE_BASE,
    max_share: int = NO_MAX_SHARE,
) -> Reallocated | NoRoom:
    """Change the request of an instance on its node, whose free amounts are those beside it.

    A core that the node does not name any more is not given back and holds no binding.
    """
    require_counts("held core", held.cores)
    bind = bool(held.cores) if change.keep_cpu_bind else change.cpu_bind
    old = replace(held.request, cpu_bind=bool(held.cores))
    request = normalized(
        replace(
            old,
            cpu_request=old.cpu_request + change.cpu_request,
            cpu_limit=old.cpu_limit + change.cpu_limit,
            memory_request=old.memory_request + change.memory_request,
            memory_limit=old.memory_limit + change.memory_limit,
            cpu_bind=bind,
        )
    )
    free = _given_back(node, held)
    if not bind:
        fitting = memory_capacity(
            cores=len(node.cores),
            cpu=request.cpu_request,
            free=Bytes(free.memory),
            request=Bytes(request.memory_request),
        )
        if fitting == 0:
            return NoRoom(request, free.memory, "insufficient_capacity")
        return Reallocated(Holding(request, _NO_PIECES), kept=request == old)
    if request == old and _still_fits(free, held):
        return Reallocated(Holding(request, held.cores, held.group), kept=True)
    plans = cpu_plans(
        free,
        CpuRequest(request.cpu_request, request.memory_request, share_base, max_share),
        wanted=1,
        origin=held.cores,
    )
    if not plans:
        return NoRoom(request, free.memory, "insufficient_resource")
    return Reallocated(Holding(request, plans[0].cores, plans[0].group), kept=False)


def _given_back(node: CpuNode, held: Holding) -> CpuNode:
    memory = held.request.memory_request
    numa_memory: Mapping[NumaGroup, int] = node.numa_memory
    if held.group != ACROSS:
        numa_memory = {**numa_memory, held.group: numa_memory.get(held.group, 0) + memory}
    return replace(
        node,
        cores={core: free + held.cores.get(core, 0) for core, free in node.cores.items()},
        memory=node.memory + memory,
        numa_memory=numa_memory,
    )


def _still_fits(free: CpuNode, held: Holding) -> bool:
    memory = free.memory
    if held.group != ACROSS:
        memory = min(memory, free.numa_memory[held.group])
    return instances_within(memory, held.request.memory_request) > 0 and all(
        free.cores.get(core, -1) >= pieces for core, pieces in held.cores.items()
    )
