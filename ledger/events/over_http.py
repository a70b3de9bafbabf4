"""How an HTTP request carries CloudEvents: one in its body, many in its body, one in its headers.

The binding differs from Kafka's in its names (``ce-id``, not ``ce_id``) and in that values are
percent-encoded, and may stand in quotes. Once those are put right a request is judged as any other message is.
"""

import re
from collections.abc import Iterable
from typing import Final, Literal
from urllib.parse import unquote_to_bytes

from ledger.events.envelope import Headers

Form = Literal["single", "batch", "binary"]

SINGLE: Final = "application/cloudevents+json"
BATCH: Final = "application/cloudevents-batch+json"
PREFIX: Final = "ce-"

_QUOTED: Final = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_ESCAPED: Final = re.compile(rb"\\(.)")

_CHARSET: Final = re.compile(r';\s*charset\s*=\s*"?([^";\s]*)', re.IGNORECASE)

_UTF_8: Final = frozenset({"utf-8", "utf8", "us-ascii"})
"""The only one that JSON has (RFC 8259), and what is a part of it."""

_ATTRIBUTE: Final = re.compile(rf"{PREFIX}[a-z0-9]+")


def form(content_type: str, names: Iterable[str]) -> Form | None:
    """How a request with this content type and these headers does it; None where it does not."""
    charset = _CHARSET.search(content_type)
    if charset is not None and charset[1].lower() not in _UTF_8:
        return None
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type == SINGLE:
        return "single"
    if media_type == BATCH:
        return "batch"
    if media_type.startswith("application/cloudevents"):
        return None
    return "binary" if any(name.lower().startswith(PREFIX) for name in names) else None


def attributes(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The headers that carry an event, named and spelled as those of a Kafka message."""
    kept: list[tuple[str, bytes | None]] = []
    for raw_name, value in headers:
        name = raw_name.decode("latin-1").lower()
        if name == "content-type":
            kept.append((name, value))
        elif _ATTRIBUTE.fullmatch(name):
            kept.append((f"ce_{name.removeprefix(PREFIX)}", _plain(value)))
    return tuple(kept)


def _plain(value: bytes) -> bytes:
    """What a header's value says: a string in quotes is taken out of them first."""
    if quoted := _QUOTED.fullmatch(value):
        value = _ESCAPED.sub(rb"\1", quoted[1])
    return unquote_to_bytes(value)
