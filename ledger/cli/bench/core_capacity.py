"""How long it takes to count what fits on nodes, and to make the bindings of the chosen ones."""

from fractions import Fraction
from typing import Final

from ledger.cli.bench.core_case import Asking, Case, Growth
from ledger.core.capacity.amounts import Core, Device
from ledger.core.capacity.cpu import (
    CpuNode,
    CpuRequest,
    cpu_capacities,
    cpu_capacity,
    cpu_plans,
)
from ledger.core.capacity.volume_requests import volume_requests
from ledger.core.capacity.volumes import VolumeNode, volume_capacity
from ledger.units import NodeName

CORES: Final = 24
SHARE_BASE: Final = 10
MEMORY: Final = 128 * 2**30
REQUEST: Final = CpuRequest(Fraction(13, 10), memory=128 * 2**20, share_base=SHARE_BASE)
"""The shape that eru-core's own benchmarks have: 24 cores of 10 pieces, 1.3 cores to an instance."""

DIFFERENT_NODES: Final = 200
FRESH_NODES: Final = 10_000


def _worn(number: int, cores: int = CORES) -> CpuNode:
    """A node that is in use; two numbers make two different nodes."""
    pieces = {
        Core(str(core)): (core * core * 7 + number * (core + 3)) % (SHARE_BASE + 1)
        if core % 3 == number % 3
        else SHARE_BASE
        for core in range(cores)
    }
    return CpuNode(pieces, MEMORY - number)


def _count_cold() -> Asking:
    nodes = [_worn(number) for number in range(DIFFERENT_NODES)]

    def ask() -> object:
        return [cpu_capacity(node, REQUEST) for node in nodes]

    return ask


def _fresh(count: int) -> Asking:
    nodes = {
        NodeName(f"node{number}"): CpuNode(
            {Core(str(core)): SHARE_BASE for core in range(CORES)}, MEMORY
        )
        for number in range(count)
    }

    def ask() -> object:
        return cpu_capacities(nodes, REQUEST)

    return ask


def _bindings() -> Asking:
    node = _worn(1)

    def ask() -> object:
        return cpu_plans(node, REQUEST, wanted=1000)

    return ask


def _count_of(cores: int) -> Asking:
    node = _worn(5, cores)

    def ask() -> object:
        return cpu_capacity(node, REQUEST)

    return ask


def _volumes_of(devices: int) -> Asking:
    node = VolumeNode(
        {Device(f"/data{number}"): 2**40 + number * 2**20 for number in range(devices)},
        {Device(f"/data{number}"): number * 2**15 + 1 for number in range(devices)},
    )
    requests = volume_requests(["AUTO:/data:rw:1M", "AUTO:/logs"])

    def ask() -> object:
        return volume_capacity(node, requests, max_deploy=1000)

    return ask


CASES: Final[tuple[Case, ...]] = (
    Case(
        "capacity-cpu-count",
        "count 1.3 cores on nodes of 24 that all differ, a node",
        _count_cold,
        Fraction(15, 100),
        units=DIFFERENT_NODES,
    ),
    Case(
        "capacity-cpu-fresh",
        "count 1.3 cores on 10,000 fresh equal nodes of 24, all together",
        lambda: _fresh(FRESH_NODES),
        Fraction(20),
    ),
    Case(
        "capacity-cpu-bindings",
        "all bindings of 1.3 cores on a node of 24",
        _bindings,
        Fraction(1),
    ),
)

GROWTHS: Final[tuple[Growth, ...]] = (
    Growth(
        "capacity-cpu-cores",
        "count 1.3 cores on a node, by its cores",
        _count_of,
        (24, 96, 384, 1536),
    ),
    Growth(
        "capacity-cpu-nodes",
        "count 1.3 cores on fresh equal nodes, by their number",
        _fresh,
        (400, 800, 1600, 3200),
    ),
    Growth(
        "capacity-volume-devices",
        "count a volume of one size and an unlimited one on a node, by its devices",
        _volumes_of,
        (16, 64, 256, 1024),
    ),
)
