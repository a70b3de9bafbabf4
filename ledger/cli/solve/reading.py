"""What one line says: JSON read without repairing it, and the question that it holds.

Readers that are kinder than this one hide mistakes: they take the second of two equal keys, read
NaN, round a long decimal. Here such a line is refused, with its id as far as it has one, so that
whoever asked learns which question was meant. A number with a point or an exponent becomes a
``Decimal``, exact and never a float. Which ops there are and what they expect is not known here.
"""

import json
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Never

from ledger.events.ambiguity import (
    BRACKET_OUTSIDE_TEXT,
    repeated_key,
    text_with_half_a_character,
)

LONGEST_LINE: Final = 64 * 1024 * 1024
"""Bytes. A question about a hundred thousand disks needs a quarter of it."""

DEEPEST_NESTING: Final = 64
"""Objects and lists within one another. A pod with affinities needs 12."""

LONGEST_WHOLE_NUMBER: Final = 1000
"""Digits. A longer one is kept as a ``Decimal``, which no model takes for a count."""

WHITE: Final = b" \t\r\n"
"""What JSON calls white space; a line of nothing else is blank."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that asks something; whether there is such an op is not looked at yet."""

    id: object
    op: str
    input: dict[str, Any]


class Unreadable(Exception):
    """A line that asks nothing; ``id`` is None where none could be made out."""

    def __init__(self, code: str, message: str, given_id: object = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.id = given_id


def read(raw: bytes) -> Line:
    """The question on a line that is not blank; raises ``Unreadable``."""
    if len(raw) > LONGEST_LINE:
        raise Unreadable("invalid_request", f"the line is longer than {LONGEST_LINE} bytes")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        message = f"not UTF-8: {error.reason} (byte {error.start})"
        raise Unreadable("invalid_json", message) from None
    try:
        return _asked(_sound(text))
    except _Flaw as flaw:
        raise Unreadable("invalid_request", str(flaw), _id_of_flawed(text)) from None
    except RecursionError:
        message = f"nested over {DEEPEST_NESTING} deep"
        raise Unreadable("invalid_request", message, _id_of_flawed(text)) from None


def quoted(text: str) -> str:
    """A text from a line as a message may show it: not long, and nothing that a terminal obeys."""
    return json.dumps(text if len(text) <= 60 else f"{text[:57]}...")


def _asked(value: object) -> Line:
    if not isinstance(value, dict):
        raise Unreadable("invalid_request", "a question is an object with an op and an input")
    op, given = value.get("op"), value.get("input")
    if not isinstance(op, str):
        problem = "op is missing" if op is None else "op must be text"
    elif not isinstance(given, dict):
        problem = "input is missing" if given is None else "input must be an object"
    else:
        return Line(value.get("id"), op, given)
    raise Unreadable("invalid_request", problem, value.get("id"))


class _Flaw(Exception):
    """Something that readers of JSON understand differently."""


def _sound(text: str) -> object:
    """The value that the text spells, if it has one meaning only."""
    try:
        value: object = _STRICT.decode(text)
    except json.JSONDecodeError as error:
        raise _not_json(error) from None
    if text.count("{") + text.count("[") > DEEPEST_NESTING:
        _refuse_depth(value)
    if "\\u" in text:
        text_in_halves = text_with_half_a_character(value)
        if text_in_halves is not None:
            raise _Flaw(f"{quoted(text_in_halves)} holds half of a character")
    return value


def _not_json(error: json.JSONDecodeError) -> Unreadable:
    return Unreadable("invalid_json", f"not JSON: {error.msg} (character {error.pos})")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    known = dict(pairs)
    if len(known) < len(pairs):
        key = repeated_key(pairs)
        raise _Flaw(f"the key {quoted(key)} is there twice in one object")
    return known


def _whole(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= LONGEST_WHOLE_NUMBER else Decimal(digits)


def _exact(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise _Flaw(f"{quoted(text)} has an exponent that is out of reach") from None


def _no_number(word: str) -> Never:
    raise _Flaw(f"{word} is not a number")


_STRICT: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_whole, parse_float=_exact, parse_constant=_no_number
)


def _refuse_depth(value: object) -> None:
    level = [value]
    for _ in range(DEEPEST_NESTING + 1):
        containers = [one for one in level if isinstance(one, (dict, list))]
        if not containers:
            return
        level = [
            entry
            for one in containers
            for entry in (one.values() if isinstance(one, dict) else one)
        ]
    # What the decoder says of text that is too deep for it, too.
    raise RecursionError


def _id_of_flawed(text: str) -> object:
    """The id on a line that is JSON with a flaw; None if there is none, or more than one."""
    fields: list[tuple[str, object]] = []

    def remember(pairs: list[tuple[str, object]]) -> dict[str, object]:
        fields[:] = pairs  # The outermost object is the last to be complete.
        return dict(pairs)

    lenient = json.JSONDecoder(
        object_pairs_hook=remember, parse_int=_whole, parse_float=_near, parse_constant=_nothing
    )
    try:
        value = lenient.decode(_pruned(text))
    except json.JSONDecodeError as error:
        raise _not_json(error) from None
    ids = [entry for key, entry in fields if key == "id"]
    alone = isinstance(value, dict) and ids and all(one == ids[0] for one in ids)
    return ids[0] if alone else None


def _near(text: str) -> Decimal | None:
    try:
        return _exact(text)
    except _Flaw:
        return None


def _nothing(_word: str) -> None:
    return None


_CLOSED_BY: Final = {"[": "]", "{": "}"}


def _pruned(text: str) -> str:
    """The text with null in place of all that is nested too deep to be read."""
    kept, at = [], 0
    due: list[str] = []  # the closing brackets to come, innermost last
    for token in BRACKET_OUTSIDE_TEXT.finditer(text):
        if token[1]:
            if len(due) == DEEPEST_NESTING:
                kept.append(text[at : token.start()])
            due.append(_CLOSED_BY[token[1]])
        elif token[2]:
            if not due or due.pop() != token[2]:
                raise Unreadable(
                    "invalid_json",
                    f"not JSON: {token[2]} closes nothing (character {token.start()})",
                )
            if len(due) == DEEPEST_NESTING:
                kept.append("null")
                at = token.end()
    if due:
        raise Unreadable("invalid_json", f"not JSON: {len(due)} brackets are not closed")
    return "".join((*kept, text[at:]))
