"""Place volume after volume of one size on the disks of one node, and see where they go.

A what-if, to compare rules: ``balance`` is the choice that placement makes, ``old_most_available``
what Longhorn did before it knew scores: the disk with the most available bytes, wherever it fits.
Each placement promises its size; the part of it that is written comes off the available bytes as
well, so that written bytes are counted twice, as they are in a disk's report.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal

from ledger.core.disk.choice import NoDisk, Scope, choose
from ledger.core.disk.space import Disk, DiskName
from ledger.core.shares import require_count, require_counts
from ledger.errors import InvalidRequest
from ledger.units import NodeName

Policy = Literal["balance", "old_most_available"]

ONE_NODE: Final = NodeName("node")


@dataclass(frozen=True, slots=True)
class Succession:
    """Where the volumes went, which of them overcommitted their disk, and what is usable then."""

    picks: tuple[DiskName, ...]
    overcommitted: tuple[bool, ...]
    usable_after: Mapping[DiskName, Fraction]


def place_in_sequence(
    sizes: Mapping[DiskName, int],
    *,
    size: int,
    volumes: int,
    written: Fraction = Fraction(0),
    policy: Policy = "balance",
    alpha: Fraction = Fraction(1),
    scope: Scope = "node",
) -> Succession | NoDisk:
    """Place ``volumes`` of ``size`` on empty disks of the given sizes; ``written`` is a part of each."""
    require_counts("size of disk", sizes)
    require_count("size", size)
    require_count("volumes", volumes)
    if not 0 <= written <= 1:
        raise InvalidRequest("invalid_request", f"written: {written} is not a part of a whole")

    # In parts of a byte, so that a written third of a volume stays a whole number. Scores are
    # ratios and do not mind.
    parts = written.denominator
    disks = {
        name: Disk(node=ONE_NODE, name=name, maximum=total * parts, available=total * parts)
        for name, total in sorted(sizes.items())
    }
    picks, overcommitted = [], []
    for _ in range(volumes):
        candidates = list(disks.values())
        if policy == "balance" or not candidates:
            choice = choose(candidates, size=size * parts, alpha=alpha, scope=scope)
            if isinstance(choice, NoDisk):
                return choice
            disk = choice.disk
        else:
            disk = min(candidates, key=lambda disk: (-disk.available, disk.name))
        picks.append(disk.name)
        overcommitted.append(disk.usable < size * parts)
        disks[disk.name] = replace(
            disk,
            scheduled=disk.scheduled + size * parts,
            available=disk.available - size * written.numerator,
        )
    return Succession(
        picks=tuple(picks),
        overcommitted=tuple(overcommitted),
        usable_after={name: Fraction(disk.usable, parts) for name, disk in disks.items()},
    )
