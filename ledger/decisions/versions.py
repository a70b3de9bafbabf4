"""Which function answers for which version of a system.

A policy names the versions that a fleet runs. An old one stays here for as long as a log may hold
its decisions, so that they can be made again; a change that alters one byte of one of them is a
new version beside it.
"""

from collections.abc import Callable, Mapping
from typing import Final

from ledger.core import division as division_1
from ledger.core.lot import Lot
from ledger.errors import AlgorithmMissing

Divide = Callable[
    [division_1.Request, division_1.Last | None, Lot], division_1.Division | division_1.Shortage
]


def division(version: int) -> Divide:
    """How replicas are divided; ``AlgorithmMissing`` if this program has no such version."""
    try:
        return _DIVISION[version]
    except KeyError:
        raise AlgorithmMissing("division", version) from None


def _divide_1(
    request: division_1.Request, last: division_1.Last | None, lot: Lot
) -> division_1.Division | division_1.Shortage:
    return division_1.divide(request, last=last, lot=lot)


_DIVISION: Final[Mapping[int, Divide]] = {1: _divide_1}
