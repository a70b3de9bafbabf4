"""How long it takes to choose one disk among many, from their bytes to the name."""

from fractions import Fraction
from functools import partial
from random import Random
from typing import Final

from ledger.cli.bench.core_case import Asking, Case, Growth
from ledger.core.disk.choice import Scope, choose
from ledger.core.disk.space import Disk
from ledger.units import NodeName

DISKS: Final = 10_000
DISTINCT_TOTALS: Final = 20
BY_BYTES_MS: Final = Fraction(5)
BY_BOTH_MS: Final = Fraction(200)

GIB: Final = 1 << 30
SIZE: Final = 10 * GIB

BYTES: Final = Fraction(1)
BOTH: Final = Fraction(1, 2)


def _disks(count: int, *, a_node: int, totals: int) -> list[Disk]:
    """Disks of so many sizes, filled at random."""
    seeded = Random(5)
    sizes = [seeded.randrange(100 * GIB, 2_000 * GIB) for _ in range(totals)]
    disks = []
    for number in range(count):
        maximum = seeded.choice(sizes)
        available = seeded.randrange(maximum)
        disks.append(
            Disk(
                node=NodeName(f"node-{number // a_node:05}"),
                name=f"disk-{number:05}",
                maximum=maximum,
                available=available,
                reserved=GIB,
                scheduled=seeded.randrange(available + 1) // 2,
            )
        )
    return disks


def _choosing(
    count: int,
    *,
    alpha: Fraction,
    a_node: int = 1,
    totals: int = DISTINCT_TOTALS,
    scope: Scope = "node",
) -> Asking:
    return partial(
        choose,
        _disks(count, a_node=a_node, totals=totals),
        size=SIZE,
        alpha=alpha,
        scope=scope,
    )


CASES: Final[tuple[Case, ...]] = (
    Case(
        "disk-by-bytes",
        "10,000 disks, each on a node of its own, alpha 1",
        partial(_choosing, DISKS, alpha=BYTES),
        BY_BYTES_MS,
    ),
    Case(
        "disk-by-bytes-one-node",
        "10,000 disks of one node, alpha 1",
        partial(_choosing, DISKS, alpha=BYTES, a_node=DISKS),
        BY_BYTES_MS,
    ),
    Case(
        "disk-by-bytes-candidates",
        "10,000 disks, three a node, scored among all of them, alpha 1",
        partial(_choosing, DISKS, alpha=BYTES, a_node=3, scope="candidates"),
        BY_BYTES_MS,
    ),
    Case(
        "disk-by-both",
        "10,000 disks of 20 distinct totals, exact, alpha 1/2",
        partial(_choosing, DISKS, alpha=BOTH),
        BY_BOTH_MS,
    ),
    Case(
        "disk-by-both-candidates",
        "10,000 disks of 20 distinct totals, three a node, so a thousand node totals, alpha 1/2",
        partial(_choosing, DISKS, alpha=BOTH, a_node=3, scope="candidates"),
        BY_BOTH_MS,
    ),
)

GROWTHS: Final[tuple[Growth, ...]] = (
    Growth(
        "disk-by-bytes",
        "disks, alpha 1",
        partial(_choosing, alpha=BYTES),
        (2_500, 5_000, 10_000, 20_000),
    ),
    Growth(
        "disk-by-both",
        "disks of 20 distinct totals, alpha 1/2",
        partial(_choosing, alpha=BOTH),
        (2_500, 5_000, 10_000, 20_000),
    ),
)
