"""What readers of JSON understand differently. Who reads it says what is to be said of it."""

import re
from collections.abc import Iterable
from typing import Final

BRACKET_OUTSIDE_TEXT: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|([\[{])|([\]}])', re.DOTALL)
"""A text, passed over whole, or a bracket: the first group if it opens, the second if it closes. The
closing quote is optional so that a text which never ends is passed over in one step: the scan stays
linear whatever it is given."""


def repeated_key(pairs: Iterable[tuple[str, object]]) -> str:
    """Of an object in which a key stands twice: the first that comes again."""
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return key
        seen.add(key)
    raise ValueError("every key is there once")


def text_with_half_a_character(value: object) -> str | None:
    """The first text, key or value, that holds one: JSON can escape it, and UTF-8 cannot spell it."""
    ahead = [value]
    while ahead:
        match ahead.pop():
            case str() as text:
                try:
                    text.encode()
                except UnicodeEncodeError:
                    return text
            case dict() as entries:
                ahead += (part for entry in reversed(entries.items()) for part in reversed(entry))
            case list() as entries:
                ahead += reversed(entries)
            case _:
                pass
    return None
