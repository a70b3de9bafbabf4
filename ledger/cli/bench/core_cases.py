"""Every question that ``ledger bench core`` asks."""

from typing import Final

from ledger.cli.bench import (
    core_capacity,
    core_disk,
    core_division,
    core_fairshare,
    core_placement,
    core_spot,
)

SYSTEMS: Final = (
    core_division,
    core_capacity,
    core_placement,
    core_fairshare,
    core_disk,
    core_spot,
)

CASES: Final = tuple(case for system in SYSTEMS for case in system.CASES)
GROWTHS: Final = tuple(growth for system in SYSTEMS for growth in system.GROWTHS)
