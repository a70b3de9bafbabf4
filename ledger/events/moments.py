"""Moments as producers write them (RFC 3339) and as the ledger counts them (microseconds)."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from ledger.errors import InvalidEvent
from ledger.units import Microseconds

USUAL: Final = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
    r"(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
)
"""The spellings that Python reads as RFC 3339 means them, as a regular expression."""

_RFC3339: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\.[0-9]+)?"
    r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_SECOND: Final = 1_000_000
_SECOND_AT: Final = len("2016-12-31T23:59:")
_MICROSECOND_DIGITS: Final = len(".123456")


def microseconds(text: str) -> Microseconds:
    """The moment ``text`` names; anything finer than a microsecond is cut off.

    A leap second is the first moment of the next minute: the ledger's seconds are POSIX seconds.
    """
    found = _RFC3339.fullmatch(text)
    if found is None:
        raise InvalidEvent("invalid_attribute", f"{text[:40]!a} is not an RFC 3339 time")
    second, fraction = found[1], found[2]
    leap = second == "60"
    plain = text.upper()
    if leap:
        plain = f"{plain[:_SECOND_AT]}59{plain[_SECOND_AT + 2 :]}"
    if fraction is not None and len(fraction) > _MICROSECOND_DIGITS:
        plain = plain.replace(fraction, fraction[:_MICROSECOND_DIGITS], 1)
    whole = usual(plain)
    return Microseconds(whole - whole % _SECOND + _SECOND if leap else whole)


def usual(text: str) -> Microseconds:
    """The same for a text that is spelled as ``USUAL`` says."""
    try:
        return Microseconds((datetime.fromisoformat(text) - _EPOCH) // _MICROSECOND)
    except ValueError as error:
        raise InvalidEvent("invalid_attribute", f"{text[:40]!a} is no moment: {error}") from None


def spelled(moment: Microseconds) -> str:
    """The moment in RFC 3339, in UTC, to the microsecond."""
    return (
        (_EPOCH + moment * _MICROSECOND).isoformat(timespec="microseconds").replace("+00:00", "Z")
    )
