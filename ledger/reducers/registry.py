"""The versions of one system that this program has, each by its number.

What a number means is said once and never changes: every decision that names it must come out
byte for byte the same for ever. A program that is to decide or read what an older one decided brings
the versions that were retired from here, before it begins (``bring``).
"""

from collections.abc import Mapping
from typing import Generic, TypeVar

from ledger.errors import AlgorithmMissing
from ledger.facts import algorithms

Rules = TypeVar("Rules")


class Versions(Generic[Rules]):
    """All versions of one system."""

    def __init__(self, system: str, own: Mapping[int, Rules]) -> None:
        assert all(algorithms.means_something(system, version) for version in own), (
            f"{system}: whoever judges policies is not told what its numbers are"
        )
        self._system = system
        self._known = dict(own)

    def of(self, version: int) -> Rules:
        """What answers for a version; ``AlgorithmMissing`` if this program has none."""
        try:
            return self._known[version]
        except KeyError:
            raise AlgorithmMissing(self._system, version) from None

    def bring(self, version: int, rules: Rules) -> None:
        """Have a version that was retired from here."""
        assert version not in self._known, f"{self._system} {version} means something already"
        self._known[version] = rules
        algorithms.bring(self._system, version)

    def retire(self, version: int) -> None:
        """Have a version no more."""
        del self._known[version]
