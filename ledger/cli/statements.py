r"""Where one SQL statement ends and the next begins: at a semicolon that is no part of something else.

A semicolon may stand in a string (``'a;b'``, with a backslash that escapes in ``E'a\';b'``), in a name
(``"a;b"``), between dollars (``$x$a;b$x$``) or in a comment (``-- a;b`` or ``/* a; /* b */ c */``). Strings
are taken as Postgres takes them with ``standard_conforming_strings`` on. Whether a statement means anything
is for Postgres to say.
"""

import re
from typing import Final, NamedTuple

# What has a beginning and an end is taken whole, however it goes on (++ and *+ give nothing back).
_WORD: Final = r"[A-Za-z0-9_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*+"
_TAG: Final = r"(?:[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*+)?"

_CLOSED: Final = re.compile(
    rf"""
      [eE]'(?:[^'\\]|\\.|''|'[ \t\f\v]*+[\n\r]\s*+')*+'   # escapes hold where a string goes on below
    | {_WORD}
    | '(?:[^']|'')*+'
    | "(?:[^"]|"")*+"
    | \$(?P<tag>{_TAG})\$.*?\$(?P=tag)\$
    """,
    re.VERBOSE | re.DOTALL,
)
_OPENED: Final = re.compile(rf"""[eE]?'|"|\${_TAG}\$""")
_LINE_COMMENT: Final = re.compile(r"--[^\n\r]*+")
_BLOCK_EDGE: Final = re.compile(r"/\*|\*/")


class Parted(NamedTuple):
    """Statements that are whole, and what was said of the next one."""

    statements: tuple[str, ...]
    """Without semicolons and comments before them; one that says nothing is left out."""
    rest: str
    """Empty where nothing is begun: blanks and comments that are closed begin nothing."""


def parted(text: str) -> Parted:
    """The statements of a text."""
    found: list[str] = []
    begins: int | None = None
    at = 0
    while at < len(text):
        if text[at] == ";":
            if begins is not None:
                found.append(text[begins:at].strip())
            begins = None
            at += 1
        elif text[at].isspace():
            at += 1
        elif (end := _behind_comment(text, at)) is not None:
            # One that is open may go on in the next line.
            begins = at if begins is None and end > len(text) else begins
            at = end
        else:
            begins = at if begins is None else begins
            at = _behind_piece(text, at)
    return Parted(tuple(found), "" if begins is None else text[begins:])


def _behind_comment(text: str, at: int) -> int | None:
    """Where a comment ends; behind the text where it does not, None where none begins."""
    if (line := _LINE_COMMENT.match(text, at)) is not None:
        return line.end()
    if not text.startswith("/*", at):
        return None
    depth = 0
    for edge in _BLOCK_EDGE.finditer(text, at):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    return len(text) + 1


def _behind_piece(text: str, at: int) -> int:
    """Where a word, a string, a name or a single sign ends; at the end of the text where it does not."""
    # The word e before a quote is no word, and an opened string is no sign.
    opened = _OPENED.match(text, at)
    whole = _CLOSED.match(text, at)
    if whole is not None and (opened is None or whole.end() >= opened.end()):
        return whole.end()
    return len(text) if opened is not None else at + 1
