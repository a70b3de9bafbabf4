"""Which function answers for which version of a system.

A policy names the versions that a fleet runs. An old one stays here for as long as a log may hold
its decisions, so that they can be made again; a change that alters one byte of one of them is a
new version beside it.
"""

from collections.abc import Callable, Mapping
from typing import Final

from ledger.core.division.shortage import Shortage
from ledger.core.division.static_weight import Division, Last, Request, divide
from ledger.core.lot import Lot
from ledger.errors import AlgorithmMissing

Divide = Callable[[Request, Last | None, Lot], Division | Shortage]


def division(version: int) -> Divide:
    """How replicas are divided; ``AlgorithmMissing`` if this program has no such version."""
    try:
        return _DIVISION[version]
    except KeyError:
        raise AlgorithmMissing("division", version) from None


def _divide_1(request: Request, last: Last | None, lot: Lot) -> Division | Shortage:
    return divide(request, last=last, lot=lot)


_DIVISION: Final[Mapping[int, Divide]] = {1: _divide_1}
