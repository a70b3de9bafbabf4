"""What a namespace weighs: the largest weight that one of its quotas gives it.

A quota may carry a weight, a whole number above zero, written as a number or as the text of its
digits. Anything else counts as 1, and so does a quota without one and a namespace without quotas.
An unusable value never hides a usable one of another quota; it is kept, so that whoever wrote
it can be told.

The values are kept quota by quota and the largest is looked up anew after each change. A weight
belongs to the namespace and is the same in all queues; what it does is settled queue by queue.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

_DIGITS: Final = re.compile(r"[0-9]{1,4000}")
"""ASCII digits and nothing else. More of them than Python itself reads back are no weight."""


@dataclass(frozen=True, slots=True)
class NamespaceQuotas:
    """The weights as the quotas of one namespace state them, usable or not."""

    stated: Mapping[str, object] = field(default_factory=dict)

    def upsert(self, quota: str, weight: object) -> "NamespaceQuotas":
        """With this quota as it is now; ``weight`` is None if it carries none."""
        return NamespaceQuotas({**self.stated, quota: weight})

    def delete(self, quota: str) -> "NamespaceQuotas":
        """Without this quota, whether it was known or not."""
        return NamespaceQuotas({name: w for name, w in self.stated.items() if name != quota})

    @property
    def weight(self) -> int:
        """What the namespace weighs."""
        return max((weight_of(value) for value in self.stated.values()), default=1)

    @property
    def invalid(self) -> tuple[str, ...]:
        """The quotas whose value cannot be used (``weight_invalid``), by name."""
        return tuple(
            name
            for name in sorted(self.stated)
            if self.stated[name] is not None and not _is_weight(self.stated[name])
        )


def weight_of(value: object) -> int:
    """The weight that a stated value stands for; 1 unless it is a whole number above zero."""
    return int(value) if _is_weight(value) and isinstance(value, int | str) else 1


def _is_weight(value: object) -> bool:
    if isinstance(value, str):
        return _DIGITS.fullmatch(value) is not None and int(value) > 0
    # The exact type: true is an int to isinstance, and no weight.
    return type(value) is int and value > 0
