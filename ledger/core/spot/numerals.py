"""Whole numbers in text, read as the Go code of Kubernetes reads them.

Go bounds a number by its bits; Python would bound it by its digits, and refuse in its own way what
is thousands of digits long. So leading zeros are dropped and the length is judged before anything
is converted.
"""

import re
from typing import Final

_SIGNED: Final = re.compile(r"([+-]?)0*([0-9]+)")


def whole_number(text: str, *, bits: int) -> int | None:
    """The number that ``text`` spells in base ten, if it fits a signed integer of so many bits."""
    spelled = _SIGNED.fullmatch(text)
    if spelled is None or len(spelled[2]) > bits:  # more digits than bits can never fit
        return None
    number = int(spelled[1] + spelled[2])
    limit = 1 << (bits - 1)
    return number if -limit <= number < limit else None
