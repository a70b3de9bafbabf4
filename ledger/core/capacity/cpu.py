"""How many instances bound to cores fit on a node, and which cores each of them gets.

A core is divided into pieces, a share is what a whole core has of them. An instance takes whole
cores, each from a core that it shares with nobody, and at most one fragment, from a single core.

A core is *full* when its free pieces are whole shares, and a *fragment* core when anything else is
free; what has nothing free is neither. Both are used in the order (free pieces, name): busy ones
first, so that idle ones stay whole. Fragments come from fragment cores, and whole cores only from
full ones. When fragments run short, full cores are given up to be divided, the busiest first. The
more of them, the fewer instances find their whole cores and the more find their fragment; the best
number to give up, and the smallest of the best, lies where the two counts cross. ``max_share``
limits how many cores may be divided at all, the existing fragment cores included.

Counting needs no plan: both counts are sums (``ledger.core.capacity.whole_cores`` for the whole
cores), and the crossing is found by halving. Plans are made for as many instances as are asked for.

With NUMA groups each group is served on its own first, in the order of their names, with its own
memory; what all of them leave over is then served as one, across the groups.

An instance that moves brings its old binding: the cores it held come first, and are used up in turn.

Rule, worked examples and the differences from eru-core: docs/core/capacity.md
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import Final

from ledger.core.capacity.amounts import Core, NumaGroup, Pieces, instances_within
from ledger.core.capacity.runs import Run, first, unrolled
from ledger.core.capacity.whole_cores import WholeCores
from ledger.core.shares import require_count
from ledger.errors import InvalidRequest
from ledger.units import NodeName

SHARE_BASE: Final = 100
"""Pieces of a whole core where nothing else is said, as in eru-core."""

NO_MAX_SHARE: Final = -1
"""Any number of cores may be divided."""

ACROSS: Final = NumaGroup("")
"""The name that the pass over all cores has in a plan."""

_NO_PIECES: Final[Pieces] = {}


@dataclass(frozen=True, slots=True)
class CpuRequest:
    """What one instance takes, and under which rules of its cluster.

    ``cpu`` times ``share_base`` is a whole number of pieces, at least one.
    """

    cpu: Fraction
    memory: int = 0
    share_base: int = SHARE_BASE
    max_share: int = NO_MAX_SHARE


@dataclass(frozen=True, slots=True)
class CpuNode:
    """What a node has free. An amount below zero is as good as none.

    ``cores`` names every core of the node. A core without a group in ``numa`` belongs to none, and
    a group without memory in ``numa_memory`` has none.
    """

    cores: Pieces
    memory: int
    numa: Mapping[Core, NumaGroup] = field(default_factory=dict)
    numa_memory: Mapping[NumaGroup, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CpuPass:
    """What one pass over some cores came to, and why: the smallest of the numbers that apply.

    An instance takes ``whole`` cores and a ``fragment`` of so many pieces. There were ``full`` cores
    and ``fragments`` fragment cores, of which at most ``divisible`` may be divided, and the first
    ``divided`` of the full ones were given up for it. What the rest serves with whole cores, what
    the others serve with fragments and what memory serves is None where it plays no part.
    """

    group: NumaGroup
    whole: int
    fragment: int
    full: int
    fragments: int
    divisible: int
    divided: int
    by_whole: int | None
    by_fragment: int | None
    by_memory: int | None

    @property
    def capacity(self) -> int:
        """How many instances this pass serves."""
        return min(
            count
            for count in (self.by_whole, self.by_fragment, self.by_memory)
            if count is not None
        )


@dataclass(frozen=True, slots=True)
class CpuCapacity:
    """How many instances fit, and what each pass contributes."""

    capacity: int
    passes: tuple[CpuPass, ...]


@dataclass(frozen=True, slots=True)
class CpuPlan:
    """The binding of one instance: its pieces of each core, and the group if they are all of one."""

    group: NumaGroup
    cores: Pieces


def cpu_capacity(node: CpuNode, request: CpuRequest, *, origin: Pieces = _NO_PIECES) -> CpuCapacity:
    """Count the instances that fit, moving one with the binding ``origin`` first if it has one."""
    whole, fragment = _require_valid(node, request, origin)
    passes = tuple(one.counted for one in _passes(node, request, origin, whole, fragment))
    return CpuCapacity(sum(one.capacity for one in passes), passes)


def cpu_capacities(
    nodes: Mapping[NodeName, CpuNode], request: CpuRequest
) -> dict[NodeName, CpuCapacity]:
    """Count for many nodes, once for all those whose free amounts are the same."""
    known: dict[tuple[object, ...], CpuCapacity] = {}
    answer: dict[NodeName, CpuCapacity] = {}
    before: list[object] | None = None
    capacity: CpuCapacity | None = None
    for name in sorted(nodes):
        node = nodes[name]
        decisive = _decisive(node, request)
        # Nodes with neighbouring names are often alike, and comparing is cheaper than looking up.
        if capacity is None or decisive != before:
            before = decisive
            capacity = known.get(tuple(decisive))
            if capacity is None:
                capacity = known[tuple(decisive)] = cpu_capacity(node, request)
        answer[name] = capacity
    return answer


def _decisive(node: CpuNode, request: CpuRequest) -> list[object]:
    """What the count depends on: two nodes that are equal in this serve equally many."""
    if node.numa:
        near = tuple(node.numa.items())
        return [node.memory, tuple(node.cores.items()), near, tuple(node.numa_memory.items())]
    # Where every core is as near as any other, the names do not change the count, nor does memory
    # that is too little for another instance.
    return [node.memory // request.memory if request.memory else 0, *node.cores.values()]


def cpu_plans(
    node: CpuNode, request: CpuRequest, *, wanted: int, origin: Pieces = _NO_PIECES
) -> tuple[CpuPlan, ...]:
    """The bindings of the first ``wanted`` instances, or of all if fewer fit."""
    require_count("wanted", wanted)
    whole, fragment = _require_valid(node, request, origin)
    plans: list[CpuPlan] = []
    for one in _passes(node, request, origin, whole, fragment):
        plans.extend(one.plans(wanted - len(plans)))
        if len(plans) == wanted:
            break
    return tuple(plans)


@dataclass(frozen=True, slots=True)
class _Pass:
    """A pass that has been counted, with the cores that it divides up.

    ``whole_cores`` starts with the full cores that were given up; ``dividing`` ends with them.
    """

    counted: CpuPass
    share_base: int
    whole_cores: WholeCores
    dividing: Sequence[tuple[int, Core]]

    def plans(self, wanted: int) -> Iterator[CpuPlan]:
        bindings: list[Iterator[dict[Core, int]]] = []
        if self.counted.whole:
            wholes = unrolled(self._wholes())
            bindings.append(dict.fromkeys(cores, self.share_base) for cores in wholes)
        if self.counted.fragment:
            fragments = unrolled(self._fragments())
            bindings.append({core: self.counted.fragment} for core in fragments)
        for _, parts in zip(
            range(min(wanted, self.counted.capacity)), zip(*bindings, strict=False), strict=False
        ):
            cores = {core: pieces for part in parts for core, pieces in part.items()}
            yield CpuPlan(self.counted.group, cores)

    def taken(self) -> dict[Core, int]:
        """The pieces that all the plans of this pass take."""
        taken: dict[Core, int] = {}
        capacity = self.counted.capacity
        if self.counted.whole and capacity:
            for cores, times in first(self._wholes(), capacity):
                for core in cores:
                    taken[core] = taken.get(core, 0) + times * self.share_base
        if self.counted.fragment and capacity:
            for core, times in first(self._fragments(), capacity):
                taken[core] = times * self.counted.fragment
        return taken

    def _wholes(self) -> Iterator[Run[tuple[Core, ...]]]:
        return self.whole_cores.plans(self.counted.whole, skipped=self.counted.divided)

    def _fragments(self) -> Iterator[Run[Core]]:
        for pieces, core in self.dividing:
            yield Run((core,), pieces // self.counted.fragment)


def _passes(
    node: CpuNode, request: CpuRequest, origin: Pieces, whole: int, fragment: int
) -> Iterator[_Pass]:
    """Every group by itself, then all that is left as one."""
    cores = dict(node.cores)
    memory = node.memory
    groups: dict[NumaGroup, list[Core]] = {}
    for core, group in node.numa.items():
        if core in cores:
            groups.setdefault(group, []).append(core)
    for group in sorted(groups):
        near = {core: cores[core] for core in groups[group]}
        near_memory = min(node.numa_memory.get(group, 0), memory)
        one = _pass(group, near, near_memory, request, origin, whole, fragment)
        for core, pieces in one.taken().items():
            cores[core] -= pieces
        memory -= one.counted.capacity * request.memory
        yield one
    yield _pass(ACROSS, cores, memory, request, origin, whole, fragment)


def _pass(
    group: NumaGroup,
    cores: Pieces,
    memory: int,
    request: CpuRequest,
    origin: Pieces,
    whole: int,
    fragment: int,
) -> _Pass:
    full, fragments = _sorted_out(cores, request.share_base)
    if origin:
        full_before, fragments_before = _sorted_out(origin, request.share_base)
        full, fragments = _held_first(full, full_before), _held_first(fragments, fragments_before)
    divisible = max(0, len(full) + len(fragments) - whole)
    if request.max_share != NO_MAX_SHARE:
        divisible = min(divisible, request.max_share)
    most_divided = max(0, divisible - len(fragments))

    whole_cores = WholeCores.of(full, request.share_base, in_turn=bool(origin))
    by_whole = by_fragment = None
    if fragment == 0:
        divided = 0
        by_whole = whole_cores.count(whole)
    else:
        # What the first so many full cores, with all fragment cores, serve with fragments.
        served = list(
            accumulate(
                (pieces // fragment for pieces, _ in full[:most_divided]),
                initial=sum(pieces // fragment for pieces, _ in fragments),
            )
        )
        divided = most_divided if whole == 0 else _best_division(served, whole_cores, whole)
        by_fragment = served[divided]
        if whole:
            by_whole = whole_cores.count(whole, skipped=divided)
    counted = CpuPass(
        group=group,
        whole=whole,
        fragment=fragment,
        full=len(full),
        fragments=len(fragments),
        divisible=divisible,
        divided=divided,
        by_whole=by_whole,
        by_fragment=by_fragment,
        by_memory=instances_within(memory, request.memory) if request.memory else None,
    )
    return _Pass(counted, request.share_base, whole_cores, [*fragments, *full[:divided]])


def _best_division(served: Sequence[int], whole_cores: WholeCores, whole: int) -> int:
    """The fewest full cores to divide so that most instances find both their parts.

    ``served`` rises with the number of cores that are divided and the count of whole cores falls,
    so the best is where they cross or one before.
    """

    def enough(divided: int) -> bool:
        return served[divided] >= whole_cores.count(whole, skipped=divided)

    crossing = bisect_left(range(len(served)), True, key=enough)
    best = served[crossing - 1] if crossing else 0
    if crossing < len(served):
        best = max(best, whole_cores.count(whole, skipped=crossing))
    return bisect_left(served, best)


def _sorted_out(
    cores: Pieces, share_base: int
) -> tuple[list[tuple[int, Core]], list[tuple[int, Core]]]:
    """The full and the fragment cores, the busiest first."""
    full: list[tuple[int, Core]] = []
    fragments: list[tuple[int, Core]] = []
    for core, pieces in cores.items():
        if pieces > 0:
            (fragments if pieces % share_base else full).append((pieces, core))
    # Code points sort as their UTF-8 bytes do, so equals are in the order of the bytes.
    full.sort()
    fragments.sort()
    return full, fragments


def _held_first(
    cores: Sequence[tuple[int, Core]], before: Sequence[tuple[int, Core]]
) -> list[tuple[int, Core]]:
    """Those that were held of old, in their old order, and then the others as they are."""
    turn = {core: place for place, (_, core) in enumerate(before)}
    return sorted(cores, key=lambda one: turn.get(one[1], len(turn)))


def _require_valid(node: CpuNode, request: CpuRequest, origin: Pieces) -> tuple[int, int]:
    """The whole cores and the pieces of the fragment of one instance."""
    require_count("share_base", request.share_base)
    if request.share_base == 0:
        raise InvalidRequest("invalid_request", "share_base: a core without pieces")
    if request.max_share != NO_MAX_SHARE:
        require_count("max_share", request.max_share)
    pieces = request.cpu * request.share_base
    if pieces < 1 or pieces.denominator != 1:
        raise InvalidRequest(
            "invalid_cpu",
            f"cpu: {request.cpu} is {pieces} pieces of {request.share_base} to a core: "
            "not a whole number from 1 up",
        )
    if request.memory < 0:
        raise InvalidRequest("invalid_memory", f"memory: {request.memory} is below zero")
    for core, amount in node.cores.items():
        if type(amount) is not int:
            raise InvalidRequest("invalid_request", f"core {core}: {amount!r} is no whole number")
    for core, amount in origin.items():
        require_count(f"origin of core {core}", amount)
    return divmod(pieces.numerator, request.share_base)
