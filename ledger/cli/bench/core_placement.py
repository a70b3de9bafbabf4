"""How long placement takes: ten thousand nodes and millions of instances.

The nodes are those of eru's own benchmarks: capacities of 1,024 and counts spread below that. Every
asking goes through the whole door of the core, checks included, with nodes in no order.
"""

from fractions import Fraction
from random import Random
from typing import Final

from ledger.cli.bench.core_case import Asking, Case, Growth
from ledger.core.placement.place import place
from ledger.core.placement.question import Node, Policy, Request, Strategy
from ledger.units import NodeName

CAPACITY: Final = 1024

SIZES: Final = (2_500, 5_000, 10_000, 20_000)


def _nodes(number: int) -> list[Node]:
    """The same ones each time; luck only keeps them from being in a helpful order."""
    luck = Random(number)
    nodes = [
        Node(
            name=NodeName(f"node-{place:06d}"),
            capacity=CAPACITY,
            count=luck.randrange(CAPACITY),
            usage=Fraction(luck.randrange(1000), 1000),
            rate=Fraction(luck.randrange(1, 100), 100_000),
        )
        for place in range(number)
    ]
    luck.shuffle(nodes)
    return nodes


def _asking(
    strategy: Strategy, nodes: list[Node], count: int, policy: Policy = "after_usage"
) -> Asking:
    request = Request(strategy, count, nodes, policy=policy)
    return lambda: place(request)


def _auto(number: int) -> Asking:
    return _asking("AUTO", _nodes(number), number * CAPACITY - 1)


def _auto_by_half(number: int) -> Asking:
    return _asking("AUTO", _nodes(number), number * CAPACITY // 2)


def _after_usage(number: int) -> Asking:
    return _asking("GLOBAL", _nodes(number), 500 * number)


def _nearest_level(number: int) -> Asking:
    return _asking("GLOBAL", _nodes(number), 5 * number, "nearest_level")


CASES: Final[tuple[Case, ...]] = (
    Case(
        name="placement-auto",
        about="AUTO: 10,239,999 instances on 10,000 nodes",
        prepare=lambda: _auto(10_000),
        at_most_ms=Fraction(25),
    ),
    Case(
        name="placement-auto-half",
        about="AUTO: 5,120,000 instances on 10,000 nodes, half of what they take",
        prepare=lambda: _auto_by_half(10_000),
        at_most_ms=Fraction(25),
    ),
    Case(
        name="placement-after-usage",
        about="GLOBAL by after_usage: 5,000,000 instances on 10,000 nodes",
        prepare=lambda: _after_usage(10_000),
        at_most_ms=Fraction(150),
    ),
)

GROWTHS: Final[tuple[Growth, ...]] = (
    Growth(
        name="placement-auto",
        about="AUTO: 512 instances a node",
        prepare=_auto_by_half,
        sizes=SIZES,
    ),
    Growth(
        name="placement-after-usage",
        about="GLOBAL by after_usage: 500 instances a node",
        prepare=_after_usage,
        sizes=SIZES,
    ),
    Growth(
        name="placement-nearest-level",
        about="GLOBAL by nearest_level: 5 instances a node, one by one",
        prepare=_nearest_level,
        sizes=(1_000, 2_000, 4_000, 8_000),
    ),
)
