"""Whether a text about availability can be read: the newest that can counts while a later one cannot.

What such a text says is read by ``ledger.core.spot``, which answers for it that it is the same that
can be read here and there; all that is remembered of a text is the text.
"""

import re
from typing import Final

LARGEST: Final = 2**31 - 1
"""The largest count of replicas that Kubernetes can write."""

_SPACE: Final = " \t\n\v\f\r"
_COUNT: Final = re.compile(r"0|[1-9][0-9]{0,9}")
_PERCENT: Final = re.compile(r"(0|[1-9][0-9]?|100)%")


def readable(text: str | None) -> bool:
    """Whether it says how many: a count or a percentage."""
    if text is None:
        return False
    stripped = text.strip(_SPACE)
    if _COUNT.fullmatch(stripped):
        return int(stripped) <= LARGEST
    return _PERCENT.fullmatch(stripped) is not None
