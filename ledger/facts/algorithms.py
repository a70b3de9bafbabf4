"""Which versions of each system mean something: the numbers that a policy may name.

A log keeps a policy for ever, and no program can fold what follows one that names rules which nobody
ever wrote: not even the policy that takes it back. So a number is only said to a fleet if a release
has or had rules of that number. Whether the program at hand has them is another matter: what was
retired from it still means what it meant (``ledger.reducers.registry``).
"""

from typing import Final

_KNOWN: Final[dict[str, set[int]]] = {
    "division": {1},
    "placement": {1},
    "disk": {1},
    "fairshare": {1},
    "spot": {1},
    "engine": {1},
}
"""By the names that ``Algorithms`` has for the systems."""


def means_something(system: str, version: int) -> bool:
    """Whether there are or were rules of that number."""
    return version in _KNOWN[system]


def bring(system: str, version: int) -> None:
    """There are rules of that number, as it turns out: from here on it means something for good."""
    _KNOWN[system].add(version)


def numbers(system: str) -> tuple[int, ...]:
    """All that mean something, in order."""
    return tuple(sorted(_KNOWN[system]))
