"""Every operation that can be asked, loaded system by system when the first of its questions comes.

Whoever asks one thing should not wait until the models of all five systems are built.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from ledger.cli.solve.asking import Op

System = tuple[Op[Any], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Catalogue:
    """Ops by name. ``systems`` says who answers, by the first word of an op."""

    systems: Mapping[str, Callable[[], System]]

    def find(self, name: str) -> Op[Any] | None:
        """The op of that name; only its own system is loaded."""
        first_word = name.partition(".")[0]
        load = self.systems.get(first_word)
        return None if load is None else _by_name(load).get(name)

    def ops(self) -> System:
        """All ops, system by system, in the order in which each system lists its own."""
        loads = dict.fromkeys(self.systems.values())
        return tuple(op for load in loads for op in load())


@cache
def _by_name(load: Callable[[], System]) -> Mapping[str, Op[Any]]:
    return {op.name: op for op in load()}


def _division() -> System:
    from ledger.cli.solve.division_questions import OPS

    return OPS


def _capacity() -> System:
    from ledger.cli.solve.capacity_questions import OPS

    return OPS


def _placement() -> System:
    from ledger.cli.solve.placement_questions import OPS

    return OPS


def _fairshare() -> System:
    from ledger.cli.solve.fairshare_questions import OPS

    return OPS


def _disk() -> System:
    from ledger.cli.solve.disk_questions import OPS

    return OPS


def _spot() -> System:
    from ledger.cli.solve.spot_questions import OPS

    return OPS


CATALOGUE: Final = Catalogue(
    {
        "division": _division,
        "lot": _division,
        "capacity": _capacity,
        "request": _capacity,
        "placement": _placement,
        "fairshare": _fairshare,
        "disk": _disk,
        "spot": _spot,
    }
)
