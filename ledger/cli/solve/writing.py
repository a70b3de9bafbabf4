"""An answer as one line of JSON: exact numbers stay exact, keys stay in the order they came in.

A fraction is written as text, "1/3", and "2" where it is whole, so that a field that holds
fractions always holds texts. Whole numbers have as many digits as they need.
"""

import json
import re
from collections.abc import Mapping
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, Inexact
from fractions import Fraction
from functools import cache
from typing import Any, Final


def line(answer: Mapping[str, object]) -> bytes:
    """The answer as one line of UTF-8."""
    text = spelled(answer)
    try:
        return f"{text}\n".encode()
    except UnicodeEncodeError:  # An id with half a character goes back as it came.
        return f"{_SURROGATE.sub(_escaped, text)}\n".encode()


def spelled(value: object) -> str:
    """The value as JSON."""
    try:
        return _ENCODER.encode(value)
    except (_NeedsCare, ValueError):  # ValueError: more digits than Python writes of its own accord
        return _with_care(value)


class _NeedsCare(Exception):
    """The answer holds a number that the encoder cannot write."""


def _plain(value: object) -> object:
    match value:
        case Fraction():
            return _ratio(value)
        case Mapping():
            return dict(value)
        case Decimal():
            raise _NeedsCare
        case _:
            raise TypeError(f"{type(value).__name__} is no part of an answer")


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, default=_plain)


def _with_care(value: Any) -> str:
    """What the encoder would write, part by part."""
    match value:
        case bool() | str() | None:
            return json.dumps(value, ensure_ascii=False)
        case int():
            return _digits(value)
        case Decimal():
            return str(value)
        case Mapping():
            entries = (
                f"{json.dumps(key, ensure_ascii=False)}: {_with_care(entry)}"
                for key, entry in value.items()
            )
            return f"{{{', '.join(entries)}}}"
        case list() | tuple():
            return f"[{', '.join(map(_with_care, value))}]"
        case _:
            return _with_care(_plain(value))


def _ratio(value: Fraction) -> str:
    whole = value.denominator == 1
    return (
        _digits(value.numerator)
        if whole
        else f"{_digits(value.numerator)}/{_digits(value.denominator)}"
    )


def _digits(number: int) -> str:
    # Python refuses to write more than some thousand digits of an int, and does not of a Decimal.
    return format(_decimal(number), "f")


def _decimal(number: int) -> Decimal:
    """The same number, in halves: to turn one of n digits as a whole takes time by the square of n."""
    bits = number.bit_length()
    if bits <= _TURNED_AS_A_WHOLE:
        return Decimal(number)
    low = 1 << (bits - 1).bit_length() - 1
    high_half, low_half = number >> low, number & ((1 << low) - 1)
    return _EXACT.fma(_decimal(high_half), _power_of_two(low), _decimal(low_half))


@cache
def _power_of_two(exponent: int) -> Decimal:
    if exponent <= _TURNED_AS_A_WHOLE:
        return Decimal(1 << exponent)
    root = _power_of_two(exponent // 2)
    return _EXACT.multiply(root, root)


_TURNED_AS_A_WHOLE: Final = 2048
"""Bits."""

_EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])


_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


def _escaped(half: re.Match[str]) -> str:
    return f"\\u{ord(half[0]):04x}"
