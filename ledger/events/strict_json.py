"""JSON as the ledger reads it: what other readers silently repair is refused here, by name.

A key twice in one object, NaN and Infinity, unpaired surrogates, whole numbers wider than 64 bits:
two readers could each take such a document for something else, and then the log would not have
one meaning. ``parse`` refuses them, and bounds depth and size before anything is built.

``canonical`` writes the one spelling that digests are taken of. Floats are read here, because a
field that no contract knows may hold one; that a float is no quantity is for the contracts to say.
"""

import json
import math
from typing import Final, Never

import orjson

from ledger.errors import InvalidEvent
from ledger.events.ambiguity import (
    BRACKET_OUTSIDE_TEXT,
    repeated_key,
    text_with_half_a_character,
)

LARGEST_DOCUMENT: Final = 1024 * 1024
"""Bytes of one event. Kafka's own default limit for a message is the same mebibyte."""
DEEPEST_NESTING: Final = 32
"""Objects and lists within one another. The contracts need 6."""

_SMALLEST_NUMBER: Final = -(2**63)
_LARGEST_NUMBER: Final = 2**64 - 1
_MOST_DIGITS: Final = 20


def parse(raw: bytes, *, deepest: int = DEEPEST_NESTING) -> object:
    """The value that ``raw`` spells; ``InvalidEvent`` if it has none, or more than one."""
    if len(raw) > LARGEST_DOCUMENT:
        raise InvalidEvent("too_large", f"{len(raw)} bytes, at most {LARGEST_DOCUMENT} are read")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise InvalidEvent("not_utf8", f"byte {error.start}: {error.reason}") from None
    if raw.count(b"[") + raw.count(b"{") > deepest:
        _refuse_depth(text, deepest)
    try:
        value: object = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise InvalidEvent("not_json", f"character {error.pos}: {error.msg}") from None
    if "\\u" in text and text_with_half_a_character(value) is not None:
        raise InvalidEvent("not_utf8", "an unpaired surrogate in a text")
    return value


def is_plain_text(raw: bytes) -> bool:
    """Whether the texts in ``raw``, a JSON document, are printable ASCII written as they are."""
    # JSON itself allows no other control character to stand unescaped.
    return raw.isascii() and b"\\" not in raw and b"\x7f" not in raw


def glimpse(raw: bytes) -> dict[str, object]:
    """What can be made out of an object that ``parse`` refused: enough to say who sent it."""
    try:
        text = raw.decode()
        if len(raw) > LARGEST_DOCUMENT:
            return {}
        _refuse_depth(text, DEEPEST_NESTING)
        value = _LENIENT_DECODER.decode(text)
    except (ValueError, InvalidEvent):
        return {}
    return value if isinstance(value, dict) else {}


def canonical(value: object) -> bytes:
    """The one spelling of a parsed value: keys sorted, no white space."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _refuse_depth(text: str, deepest: int) -> None:
    depth = 0
    for bracket in BRACKET_OUTSIDE_TEXT.finditer(text):
        if bracket[1]:
            depth += 1
            if depth > deepest:
                raise InvalidEvent(
                    "too_deep", f"character {bracket.start()}: nested over {deepest} deep"
                )
        elif bracket[2]:
            depth -= 1


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    known = dict(pairs)
    if len(known) < len(pairs):
        key = repeated_key(pairs)
        raise InvalidEvent("duplicate_key", f"{key[:60]!a} is there twice in one object")
    return known


def _whole(text: str) -> int:
    # Python itself refuses to read thousands of digits; nobody needs more than these.
    number = int(text) if len(text) <= _MOST_DIGITS else _LARGEST_NUMBER + 1
    if not _SMALLEST_NUMBER <= number <= _LARGEST_NUMBER:
        raise InvalidEvent("out_of_range", f"{text[:24]} needs more than 64 bits")
    return number


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise InvalidEvent("out_of_range", f"{text[:24]} is beyond any float")
    return number


def _no_number(word: str) -> Never:
    raise InvalidEvent("not_a_number", f"{word} is not a number")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_whole, parse_float=_float, parse_constant=_no_number
)
_LENIENT_DECODER: Final = json.JSONDecoder(parse_int=lambda digits: int(digits[:_MOST_DIGITS]))
