"""Which cores the instances without a binding may use, now that others have been bound.

Bound instances keep their cores for themselves. All the others share what is left: every core that
still has a whole share free, or, where there is none, all cores, for they have to run somewhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ledger.core.capacity.amounts import Core, Pieces
from ledger.core.capacity.cpu import SHARE_BASE
from ledger.core.shares import require_count


@dataclass(frozen=True, slots=True)
class Remap:
    """The shared cores, and the workloads that are moved to them; both sorted as text."""

    share_cores: tuple[Core, ...]
    remapped: tuple[str, ...]


def remap(free: Pieces, workloads: Mapping[str, Pieces], *, share_base: int = SHARE_BASE) -> Remap:
    """Share out the cores of a node; ``workloads`` holds the binding of each, empty for none."""
    require_count("share_base", share_base)
    whole = sorted(core for core, pieces in free.items() if pieces >= share_base)
    return Remap(
        share_cores=tuple(whole or sorted(free)),
        remapped=tuple(sorted(name for name, binding in workloads.items() if not binding)),
    )
