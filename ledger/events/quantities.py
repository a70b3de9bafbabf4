"""Kubernetes quantities, read into whole numbers without a float on the way.

A quantity is text (``500m``, ``2Gi``, ``1e3``) or a whole JSON number that already counts the
unit the ledger stores: milli-cores for cpu, one for everything else. What does not come out whole
in that unit is refused, never rounded: a request that was rounded is a request nobody made.
"""

import re
from functools import lru_cache
from typing import Final

from ledger.errors import InvalidEvent
from ledger.units import LARGEST_WHOLE_NUMBER

PATTERN: Final = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?"
LONGEST_TEXT: Final = 64

_QUANTITY: Final = re.compile(
    r"([+-]?)([0-9]+)?(?:\.([0-9]*))?(?:([numkMGTPE])|([KMGTPE])i|[eE]([+-]?[0-9]+))?"
)
_TENS: Final = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_TWOS: Final = {"K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}
_MILLI: Final = 3
# Beyond this a number that is not zero is out of range or not whole for sure, and computing it
# could take for ever.
_LARGEST_EXPONENT: Final = 3 * LONGEST_TEXT


def cpu_milli(value: object) -> int:
    """Milli-cores: ``"500m"`` and 500 are half a core, ``"2"`` is two."""
    if type(value) is str:
        return _read(value, _MILLI)
    return whole_number(value)


def base_units(value: object) -> int:
    """Bytes, or whatever one of the resource is: ``"2Gi"``, 2147483648."""
    if type(value) is str:
        return _read(value, 0)
    return whole_number(value)


def amount(resource: str, value: object) -> int:
    """As much of a named resource as ``value`` says, in the unit that the ledger stores of it."""
    if resource in {"cpu", "requests.cpu", "limits.cpu"}:
        return cpu_milli(value)
    return base_units(value)


def whole_number(value: object) -> int:
    """A whole number as JSON writes one, and nothing that is only like one."""
    if type(value) is float:
        raise InvalidEvent("not_whole", f"{value!r} is not a whole number")
    if type(value) is not int:
        raise InvalidEvent("wrong_field", "a number belongs here")
    if value < 0:
        raise InvalidEvent("negative_quantity", f"{value} is below zero")
    if value > LARGEST_WHOLE_NUMBER:
        raise InvalidEvent("out_of_range", f"{value} is above {LARGEST_WHOLE_NUMBER}")
    return value


# The same few requests come again and again in a fleet.
@lru_cache(maxsize=8192)
def _read(text: str, tens: int) -> int:
    found = _QUANTITY.fullmatch(text) if len(text) <= LONGEST_TEXT else None
    if found is None or (not found[2] and not found[3]):
        raise InvalidEvent("wrong_field", f"{text[:LONGEST_TEXT]!a} is not a quantity")
    sign, whole, decimals, ten, two, exponent = found.groups()
    decimals = decimals or ""
    digits = int((whole or "") + decimals)
    if digits == 0:
        return 0
    if sign == "-":
        raise InvalidEvent("negative_quantity", f"{text} is below zero")
    tens += _TENS[ten] if ten else int(exponent or 0)
    tens -= len(decimals)
    digits <<= _TWOS[two] if two else 0
    if tens > _LARGEST_EXPONENT:
        raise InvalidEvent("out_of_range", f"{text} is above {LARGEST_WHOLE_NUMBER}")
    if tens < -_LARGEST_EXPONENT:
        raise InvalidEvent("not_whole", f"{text} does not come out whole")
    scale: int = 10 ** abs(tens)
    if tens < 0:
        digits, rest = divmod(digits, scale)
        if rest:
            raise InvalidEvent("not_whole", f"{text} does not come out whole")
    else:
        digits *= scale
    if digits > LARGEST_WHOLE_NUMBER:
        raise InvalidEvent("out_of_range", f"{text} is above {LARGEST_WHOLE_NUMBER}")
    return digits
