"""What can be asked about how many instances fit on a node, and what they would be bound to."""

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BeforeValidator, Field, WithJsonSchema

from ledger.cli.counting import count
from ledger.cli.solve.asking import Count, Op, Question, Refused, Written
from ledger.core.capacity.amounts import INFINITE, Core, Device, NumaGroup
from ledger.core.capacity.cpu import (
    ACROSS,
    NO_MAX_SHARE,
    SHARE_BASE,
    CpuCapacity,
    CpuNode,
    CpuPass,
    CpuPlan,
    CpuRequest,
    cpu_capacity,
    cpu_plans,
)
from ledger.core.capacity.memory import memory_capacity, storage_capacity
from ledger.core.capacity.merge import Merged, merge
from ledger.core.capacity.reallocation import (
    Change,
    Holding,
    NoRoom,
    Reallocated,
    reallocate,
)
from ledger.core.capacity.remap import Remap, remap
from ledger.core.capacity.request import InstanceRequest, Volumes, normalized
from ledger.core.capacity.volume_requests import NO_QUOTA, volume_requests
from ledger.core.capacity.volumes import (
    VolumeCapacity,
    VolumeNode,
    VolumePlan,
    volume_capacity,
)
from ledger.errors import InvalidRequest
from ledger.units import Bytes, NodeName

MOST_PLANS: Final = 10_000
"""Plans in one answer. A line of a hundred bytes can ask about more instances than there is paper."""

PLANS_TOLD: Final = 10
"""Plans that a person wants to see."""

Name = TypeVar("Name", bound=str)


def _decimal_amount(given: object) -> Fraction:
    """Whole numbers and decimals, as numbers or as text."""
    match given:
        case int() if not isinstance(given, bool):
            return Fraction(given)
        # As many digits before and after the point as the text may have.
        case Decimal() if given.is_finite() and _is_short(given):
            return Fraction(given)
        case str() if _WRITTEN_DECIMAL.fullmatch(given):
            return Fraction(given)
    raise ValueError('must be a decimal (2, 0.5 or "0.5")')


_WRITTEN_DECIMAL: Final = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?")


def _is_short(number: Decimal) -> bool:
    exponent = number.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= -40 and number.adjusted() < 40


Cpu = Annotated[
    Fraction,
    BeforeValidator(_decimal_amount),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number"},
                {"type": "string", "pattern": f"^{_WRITTEN_DECIMAL.pattern}$"},
            ]
        }
    ),
]
"""Cores, exact: 2, "0.5", 1.25. Whether it may be below zero is for the core to say."""

Infinite = Literal["infinite"]


class Memory(Question):
    """``capacity.memory``."""

    cores: Count
    cpu_request: Cpu = Fraction(0)
    memory_available: int
    memory_request: int = 0


class Storage(Question):
    """``capacity.storage``."""

    storage_available: int
    storage_request: int = 0
    volume_request_total: Count = 0


class CpuQuestion(Question):
    """``capacity.cpu``."""

    cpu_map: dict[Core, int | None]
    cpu: Cpu
    memory: int = 0
    mem_request: int = 0
    share_base: Annotated[int, Field(ge=1)] = SHARE_BASE
    max_share: Annotated[int, Field(ge=NO_MAX_SHARE)] = NO_MAX_SHARE
    used: dict[Core, Count | None] = Field(default={})
    numa: dict[Core, NumaGroup | None] = Field(default={})
    numa_memory: dict[NumaGroup, int | None] = Field(default={})
    origin: dict[Core, Count | None] = Field(default={})


class VolumeQuestion(Question):
    """``capacity.volume``."""

    vol_capacity: dict[Device, Count | None]
    vol_used: dict[Device, Count | None] = Field(default={})
    requests: list[str]
    max_deploy: Count


class Merge(Question):
    """``capacity.merge``."""

    resources: list[dict[NodeName, int | Infinite | None]]


class Workload(Question):
    """Somebody on the node; without a binding it has no cores of its own."""

    cpu_map: dict[Core, Count | None] = Field(default={})


class RemapQuestion(Question):
    """``capacity.remap``."""

    capacity: dict[Core, Count | None]
    used: dict[Core, Count | None] = Field(default={})
    workloads: dict[str, Workload | None] = Field(default={})
    share_base: Annotated[int, Field(ge=1)] = SHARE_BASE


class Room(Question):
    """What a node has free while the instance runs."""

    cpu_map: dict[Core, int | None]
    memory: int = 0
    numa: dict[Core, NumaGroup | None] = Field(default={})
    numa_memory: dict[NumaGroup, int | None] = Field(default={})


class Origin(Question):
    """What the instance asked for and holds."""

    cpu_request: Cpu = Fraction(0)
    cpu_limit: Cpu = Fraction(0)
    memory_request: int = 0
    memory_limit: int = 0
    cpu_map: dict[Core, Count | None] = Field(default={})
    numa_node: NumaGroup = ACROSS


class Delta(Question):
    """What is added to the request of the instance."""

    cpu_request: Cpu = Fraction(0)
    cpu_limit: Cpu = Fraction(0)
    memory_request: int = 0
    memory_limit: int = 0
    cpu_bind: bool = False
    keep_cpu_bind: bool = False


class Realloc(Question):
    """``capacity.realloc``."""

    node: Room
    origin: Origin
    delta: Delta = Delta()
    share_base: Annotated[int, Field(ge=1)] = SHARE_BASE
    max_share: Annotated[int, Field(ge=NO_MAX_SHARE)] = NO_MAX_SHARE


class Normalize(Question):
    """``request.normalize``."""

    cpu_request: Cpu = Fraction(0)
    cpu_limit: Cpu = Fraction(0)
    cpu_bind: bool = False
    memory_request: int = 0
    memory_limit: int = 0
    storage_request: int = 0
    storage_limit: int = 0
    volumes_request: list[str] | None = None
    volumes_limit: list[str] | None = None
    volume_request_total: Count = 0


def answer_memory(asked: Memory) -> Written:
    """How many unbound instances the memory holds."""
    return {"capacity": _written(_by_memory(asked))}


def explain_memory(asked: Memory) -> str:
    """The division, or the cores that are missing."""
    capacity = _by_memory(asked)
    if asked.cpu_request > asked.cores:
        return f"None: {_decimal(asked.cpu_request)} cpu is more than the {count(asked.cores, 'core')}."
    return _division_told("memory", asked.memory_available, asked.memory_request, capacity)


def answer_storage(asked: Storage) -> Written:
    """How many instances the storage holds with their volumes."""
    return {"capacity": _written(_by_storage(asked))}


def explain_storage(asked: Storage) -> str:
    """The division, and what an instance needs altogether."""
    capacity = _by_storage(asked)
    each = asked.storage_request + asked.volume_request_total
    told = _division_told("storage", asked.storage_available, each, capacity)
    return (
        f"An instance needs {asked.storage_request} and {asked.volume_request_total} for its "
        f"volumes, {each} together.\n{told}"
    )


def answer_cpu(asked: CpuQuestion) -> Written:
    """How many bound instances fit, the binding of each, and what each pass came to."""
    counted, plans = _by_cpu(asked, MOST_PLANS)
    return {
        "capacity": counted.capacity,
        "plans": [{"numa": plan.group, "cores": dict(plan.cores)} for plan in plans],
        "plans_left_out": counted.capacity - len(plans),
        "passes": [
            {
                "numa": one.group,
                "capacity": one.capacity,
                "whole": one.whole,
                "fragment": one.fragment,
                "full_cores": one.full,
                "fragment_cores": one.fragments,
                "divisible": one.divisible,
                "divided": one.divided,
                "by_whole": one.by_whole,
                "by_fragment": one.by_fragment,
                "by_memory": one.by_memory,
            }
            for one in counted.passes
        ],
    }


def explain_cpu(asked: CpuQuestion) -> str:
    """Each pass with its counts, and the first bindings."""
    counted, plans = _by_cpu(asked, PLANS_TOLD)
    pieces = (asked.cpu * asked.share_base).numerator
    whole, fragment = divmod(pieces, asked.share_base)
    parts = f"whole cores {whole}, fragment {fragment}"
    lines = [
        f"{counted.capacity} fit.",
        f"An instance takes {count(pieces, 'piece')}, {asked.share_base} to a core: {parts}.",
    ]
    for one in counted.passes:
        lines += ["", *_pass_told(one)]
    return "\n".join([*lines, *_plans_told(map(_binding_told, plans), counted.capacity)])


def answer_volume(asked: VolumeQuestion) -> Written:
    """How many instances fit by their volumes, where each lies, and which kind was scarce."""
    counted = _by_volumes(asked)
    plans = _volume_plans(counted, MOST_PLANS)
    placed = bool(counted.normal or counted.monopoly or counted.unlimited)
    return {
        "capacity": _written(counted.capacity) if not placed else counted.capacity,
        "plans": [
            {placed.request.text: {placed.device: placed.size} for placed in plan} for plan in plans
        ],
        "plans_left_out": counted.capacity - len(plans) if placed else 0,
        "by_normal": counted.by_normal,
        "by_monopoly": counted.by_monopoly,
        "put_to_use": list(counted.put_to_use),
        "unlimited_on": counted.unlimited_on,
    }


def explain_volume(asked: VolumeQuestion) -> str:
    """What the devices hold of each kind, and the first places."""
    counted = _by_volumes(asked)
    if not (counted.normal or counted.monopoly or counted.unlimited):
        return "Any number fits: no volume has to be placed."
    lines = [f"{counted.capacity} fit."]
    if counted.by_normal is not None:
        enough = " or more" if counted.by_normal == counted.capacity else ""
        lines.append(f"The devices in use hold the normal volumes of {counted.by_normal}{enough}.")
    if counted.put_to_use:
        lines.append(f"For them these were put to use: {', '.join(counted.put_to_use)}.")
    if counted.by_monopoly is not None:
        lines.append(f"The unused devices hold the monopolies of {counted.by_monopoly}.")
    if counted.by_normal is None or counted.by_monopoly is None:
        lines.append(f"At most {asked.max_deploy} are counted.")
    if counted.unlimited:
        most = counted.unlimited_on
        lines.append(
            "There is no device for what is unlimited."
            if most is None
            else f"What is unlimited lies on {most}, which then has most room."
        )
    places = (
        ", ".join(f"{one.request.text} {one.size} on {one.device}" for one in plan)
        for plan in _volume_plans(counted, PLANS_TOLD)
    )
    return "\n".join([*lines, *_plans_told(places, counted.capacity)])


def answer_merge(asked: Merge) -> Written:
    """The capacity of each node that can serve, the sum, and what the others lack."""
    merged = _merged(asked)
    return {
        "capacity": {name: _written(amount) for name, amount in merged.capacity.items()},
        "total": _written(merged.total),
        "lacking": dict(merged.lacking),
    }


def explain_merge(asked: Merge) -> str:
    """The scarcest resource of each node."""
    merged = _merged(asked)
    resources = _resources(asked)
    lines = [f"{_written(merged.total)} fit on {count(len(merged.capacity), 'node')}.", ""]
    for name, amount in merged.capacity.items():
        amounts = (str(_written(resource[name])) for resource in resources)
        lines.append(f"{name}: {_written(amount)}, the least of {', '.join(amounts)}")
    lines += [
        f"{name}: left out, it has nothing of resource {place + 1}"
        for name, place in merged.lacking.items()
    ]
    return "\n".join(lines)


def answer_remap(asked: RemapQuestion) -> Written:
    """The cores to share, and who shares them."""
    shared = _remapped(asked)
    return {"share_cores": list(shared.share_cores), "remapped": list(shared.remapped)}


def explain_remap(asked: RemapQuestion) -> str:
    """The cores to share and why these."""
    shared = _remapped(asked)
    free = _free(asked.capacity, asked.used)
    whole = any(free[core] >= asked.share_base for core in shared.share_cores)
    why = (
        f"they have {count(asked.share_base, 'piece')} free or more"
        if whole
        else f"no core has {count(asked.share_base, 'piece')} free, so all are shared"
    )
    return (
        f"Shared: {', '.join(shared.share_cores) or 'no core'}; {why}.\n"
        f"Moved there: {', '.join(shared.remapped) or 'nobody'}."
    )


def answer_realloc(asked: Realloc) -> Written:
    """What the instance holds from now on."""
    given = _reallocated(asked)
    request = given.holding.request
    return {
        "ok": True,
        "kept": given.kept,
        "cpu_request": _decimal(request.cpu_request),
        "cpu_limit": _decimal(request.cpu_limit),
        "memory_request": request.memory_request,
        "memory_limit": request.memory_limit,
        "cpu_map": dict(given.holding.cores),
        "numa_node": given.holding.group,
    }


def explain_realloc(asked: Realloc) -> str:
    """The request as it now is, and its binding beside the old one."""
    given = _reallocated(asked)
    request = given.holding.request
    lines = [
        f"The request is {_decimal(request.cpu_request)} cpu and {request.memory_request} memory."
    ]
    if given.holding.cores:
        old, new = _pieces_told(_stated(asked.origin.cpu_map)), _pieces_told(given.holding.cores)
        lines.append(f"Bound to {new} {'as before' if given.kept else f'and before to {old}'}.")
    else:
        lines.append("It is not bound; the node has memory for it.")
    return "\n".join(lines)


def answer_normalize(asked: Normalize) -> Written:
    """The amounts that count."""
    request = _normalized(asked)
    return {
        "cpu_request": _decimal(request.cpu_request),
        "cpu_limit": _decimal(request.cpu_limit),
        "cpu_bind": request.cpu_bind,
        "memory_request": request.memory_request,
        "memory_limit": request.memory_limit,
        "storage_request": request.storage_request,
        "storage_limit": request.storage_limit,
    }


def explain_normalize(asked: Normalize) -> str:
    """Each amount as it was given and as it counts."""
    request = _normalized(asked)
    lines = []
    for resource in ("cpu", "memory", "storage"):
        for name in (f"{resource}_request", f"{resource}_limit"):
            given, counts = Fraction(getattr(asked, name)), Fraction(getattr(request, name))
            lines.append(_change_told(name, given, counts))
    return "\n".join(lines)


def _by_memory(asked: Memory) -> int:
    return memory_capacity(
        cores=asked.cores,
        cpu=asked.cpu_request,
        free=Bytes(asked.memory_available),
        request=Bytes(asked.memory_request),
    )


def _by_storage(asked: Storage) -> int:
    return storage_capacity(
        free=Bytes(asked.storage_available),
        request=Bytes(asked.storage_request),
        volumes=Bytes(asked.volume_request_total),
    )


def _by_cpu(asked: CpuQuestion, most: int) -> tuple[CpuCapacity, Sequence[CpuPlan]]:
    node = CpuNode(
        cores=_free(asked.cpu_map, asked.used),
        memory=asked.memory,
        numa=_stated(asked.numa),
        numa_memory=_stated(asked.numa_memory),
    )
    request = CpuRequest(asked.cpu, asked.mem_request, asked.share_base, asked.max_share)
    origin = _stated(asked.origin)
    counted = cpu_capacity(node, request, origin=origin)
    return counted, cpu_plans(node, request, wanted=most, origin=origin)


def _by_volumes(asked: VolumeQuestion) -> VolumeCapacity:
    requests = volume_requests(asked.requests)
    for request in requests:
        if request.kind != "mount" and request.quota != NO_QUOTA:
            raise InvalidRequest(
                "invalid_request", f"volume {request.text!r}: nothing is known of quotas here"
            )
    node = VolumeNode(_stated(asked.vol_capacity), _stated(asked.vol_used))
    return volume_capacity(node, requests, max_deploy=asked.max_deploy)


def _volume_plans(counted: VolumeCapacity, most: int) -> list[VolumePlan]:
    return list(counted.plans(most))


def _resources(asked: Merge) -> list[dict[NodeName, int]]:
    return [
        {
            name: INFINITE if amount == "infinite" else amount
            for name, amount in resource.items()
            if amount is not None
        }
        for resource in asked.resources
    ]


def _merged(asked: Merge) -> Merged:
    return merge(_resources(asked))


def _remapped(asked: RemapQuestion) -> Remap:
    bindings = {
        name: _stated(workload.cpu_map)
        for name, workload in asked.workloads.items()
        if workload is not None
    }
    return remap(_free(asked.capacity, asked.used), bindings, share_base=asked.share_base)


def _reallocated(asked: Realloc) -> Reallocated:
    origin, delta = asked.origin, asked.delta
    given = reallocate(
        CpuNode(
            cores=_stated(asked.node.cpu_map),
            memory=asked.node.memory,
            numa=_stated(asked.node.numa),
            numa_memory=_stated(asked.node.numa_memory),
        ),
        Holding(
            InstanceRequest(
                cpu_request=origin.cpu_request,
                cpu_limit=origin.cpu_limit,
                memory_request=origin.memory_request,
                memory_limit=origin.memory_limit,
            ),
            _stated(origin.cpu_map),
            origin.numa_node,
        ),
        Change(
            cpu_request=delta.cpu_request,
            cpu_limit=delta.cpu_limit,
            memory_request=delta.memory_request,
            memory_limit=delta.memory_limit,
            cpu_bind=delta.cpu_bind,
            keep_cpu_bind=delta.keep_cpu_bind,
        ),
        share_base=asked.share_base,
        max_share=asked.max_share,
    )
    if isinstance(given, NoRoom):
        wanted = f"{_decimal(given.request.cpu_request)} cpu"
        if given.request.cpu_bind:
            wanted = f"a binding for {wanted}"
        raise Refused(
            given.code,
            f"no room for {wanted} with {given.request.memory_request} memory "
            f"of which {given.memory} is free",
        )
    return given


def _normalized(asked: Normalize) -> InstanceRequest:
    return normalized(
        InstanceRequest(
            cpu_request=asked.cpu_request,
            cpu_limit=asked.cpu_limit,
            cpu_bind=asked.cpu_bind,
            memory_request=asked.memory_request,
            memory_limit=asked.memory_limit,
            storage_request=asked.storage_request,
            storage_limit=asked.storage_limit,
        ),
        Volumes(asked.volumes_request, asked.volumes_limit, asked.volume_request_total),
    )


def _stated(amounts: Mapping[Any, Any]) -> dict[Any, Any]:
    """The entries that are given: one that is null is as good as absent."""
    return {name: amount for name, amount in amounts.items() if amount is not None}


def _free(capacity: Mapping[Core, int | None], used: Mapping[Core, int | None]) -> dict[Core, int]:
    taken: dict[Core, int] = _stated(used)
    return {core: pieces - taken.get(core, 0) for core, pieces in _stated(capacity).items()}


def _written(capacity: int) -> int | str:
    return "infinite" if capacity >= INFINITE else capacity


def _decimal(amount: Fraction) -> str:
    """Sums of decimals are decimals; nothing else gets here."""
    places = 0
    while (amount * 10**places).denominator > 1:
        places += 1
    digits = f"{abs((amount * 10**places).numerator):0{places + 1}d}"
    sign = "-" if amount < 0 else ""
    whole, rest = digits[: len(digits) - places], digits[len(digits) - places :]
    return f"{sign}{whole}.{rest}" if rest else f"{sign}{whole}"


def _division_told(what: str, free: int, each: int, capacity: int) -> str:
    if each == 0:
        return f"Any number: none of the {what} is consumed."
    return f"{capacity}: {max(0, free)} {what} free / {each} each, rounded down."


def _pass_told(one: CpuPass) -> list[str]:
    where = f"NUMA group {one.group}" if one.group != ACROSS else "All cores that are left"
    lines = [
        f"{where}: {one.capacity}.",
        f"  Full cores {one.full}, fragment cores {one.fragments}.",
    ]
    if one.fragment:
        lines += [
            f"  At most {one.divisible} may be divided.",
            f"  Full cores given up for that, the busiest first: {one.divided}.",
        ]
    if one.by_whole is not None:
        lines.append(f"  Whole cores serve {one.by_whole}.")
    if one.by_fragment is not None:
        lines.append(f"  Fragments of {one.fragment} serve {one.by_fragment}.")
    if one.by_memory is not None:
        lines.append(f"  Memory serves {one.by_memory}.")
    return lines


def _plans_told(plans: Iterable[str], capacity: int) -> list[str]:
    """The first plans, equal ones in a row as one line; nothing if there are none."""
    told = [(plan, len(list(alike))) for plan, alike in groupby(plans)]
    if not told:
        return []
    shown = sum(times for _, times in told)
    heading = f"The first {shown}:" if shown < capacity else "In order:"
    return ["", heading, *(f"  {times} x {plan}" for plan, times in told)]


def _binding_told(plan: CpuPlan) -> str:
    where = f"  (group {plan.group})" if plan.group != ACROSS else ""
    return f"{_pieces_told(plan.cores)}{where}"


def _pieces_told(cores: Mapping[Core, int]) -> str:
    return ", ".join(f"{pieces} of core {core}" for core, pieces in cores.items()) or "nothing"


def _change_told(name: str, given: Fraction, counts: Fraction) -> str:
    was = "" if counts == given else f" (given as {_decimal(given)})"
    return f"{name}: {_decimal(counts)}{was}"


OPS: Final[tuple[Op[Any], ...]] = (
    Op(
        "capacity.memory",
        "how many instances without bound cores a node's memory holds",
        Memory,
        answer_memory,
        explain_memory,
    ),
    Op(
        "capacity.storage",
        "how many instances a node's storage holds, volumes included",
        Storage,
        answer_storage,
        explain_storage,
    ),
    Op(
        "capacity.cpu",
        "how many instances with bound cores fit on a node, and which cores each gets",
        CpuQuestion,
        answer_cpu,
        explain_cpu,
    ),
    Op(
        "capacity.volume",
        "how many instances fit by their volumes, and on which devices those lie",
        VolumeQuestion,
        answer_volume,
        explain_volume,
    ),
    Op(
        "capacity.merge",
        "what the capacities by single resources amount to",
        Merge,
        answer_merge,
        explain_merge,
    ),
    Op(
        "capacity.remap",
        "which cores the instances without a binding share",
        RemapQuestion,
        answer_remap,
        explain_remap,
    ),
    Op(
        "capacity.realloc",
        "what an instance gets when its request changes on its node",
        Realloc,
        answer_realloc,
        explain_realloc,
    ),
    Op(
        "request.normalize",
        "the amounts that count once what was left unsaid is filled in",
        Normalize,
        answer_normalize,
        explain_normalize,
    ),
)
