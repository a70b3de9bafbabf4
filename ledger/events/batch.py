"""A JSON list of events is cut into the bytes of its items.

A request may carry many events as one list. Each of them is then judged alone, by the bytes it came
as: a list that was read and written again would have lost the key that stood there twice. So the
list is only cut. What is no list, or no JSON at all, has no items; ``InvalidEvent`` says so.
"""

import json
import re
from typing import Final

from ledger.errors import InvalidEvent
from ledger.events.ambiguity import BRACKET_OUTSIDE_TEXT
from ledger.events.strict_json import DEEPEST_NESTING

_SPACE: Final = re.compile(r"[ \t\n\r]*+")

_scan: Final = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode
"""Finds where a value ends. Numbers stay texts: here they need not mean anything."""


def items(raw: bytes) -> list[bytes]:
    """The items of the list that ``raw`` spells, each as it stands there."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise InvalidEvent("not_utf8", f"byte {error.start}: {error.reason}") from None
    at = _after_space(text, 0)
    if text[at : at + 1] != "[":
        raise InvalidEvent("not_json", f"character {at}: a batch is a list")
    at = _after_space(text, at + 1)
    found: list[bytes] = []
    closed = text[at : at + 1] == "]"
    while not closed:
        try:
            _, end = _scan(text, at)
        except RecursionError:
            raise _too_deep(at) from None
        except json.JSONDecodeError as error:
            raise InvalidEvent("not_json", f"character {error.pos}: {error.msg}") from None
        item = text[at:end]
        _refuse_depth(item, at)
        found.append(item.encode())
        at = _after_space(text, end)
        closed = text[at : at + 1] == "]"
        if not closed:
            if text[at : at + 1] != ",":
                raise InvalidEvent("not_json", f"character {at}: a comma belongs here")
            at = _after_space(text, at + 1)
    rest = _after_space(text, at + 1)
    if rest != len(text):
        raise InvalidEvent("not_json", f"character {rest}: the list has ended before it")
    return found


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None, "no space at all is space enough"
    return found.end()


def _refuse_depth(item: str, at: int) -> None:
    """Refuse an item that is nested too deep; most have too few brackets for that."""
    if item.count("[") + item.count("{") <= DEEPEST_NESTING:
        return
    depth = 0
    for bracket in BRACKET_OUTSIDE_TEXT.finditer(item):
        if bracket[1]:
            depth += 1
            if depth > DEEPEST_NESTING:
                raise _too_deep(at + bracket.start())
        elif bracket[2]:
            depth -= 1


def _too_deep(at: int) -> InvalidEvent:
    return InvalidEvent("too_deep", f"character {at}: nested over {DEEPEST_NESTING + 1} deep")
