"""Ask witnesses to vouch for a signed checkpoint: the client's side of C2SP tlog-witness.

A witness says which tree of the log it vouched for last (409), and is then shown that the new one
continues it. What it answers is checked with its key before it is believed. One that cannot be
reached, or refuses, is said and left out: whether enough have signed is for the reader of a proof
to judge (``ledger.log.trust``).
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Final
from urllib.parse import urlsplit

from ledger.errors import InvalidRequest
from ledger.log.checkpoints import whole_number
from ledger.log.notes import Key, Note, Signature, open_note
from ledger.log.witness import Asked

SECONDS: Final = 5
"""How long a witness may take: sealing waits for it, nothing else does."""

LARGEST_ANSWER: Final = 64 * 1024

Consistency = Callable[[int], Awaitable[tuple[bytes, ...]]]
"""The proof that the tree to be vouched for continues that of an older size."""


@dataclass(slots=True)
class Witness:
    """A witness that is asked, and what it is known to have vouched for, by origin."""

    url: str
    key: Key
    sizes: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NotVouched:
    """A witness did not vouch for a checkpoint."""

    why: str


async def vouched(
    witness: Witness, origin: str, size: int, note: Note, consistency: Consistency
) -> tuple[Signature, ...] | NotVouched:
    """The signatures a witness gives a checkpoint."""
    for _ in range(3):
        old = witness.sizes.get(origin, 0)
        hashes = await consistency(old) if 0 < old < size else ()
        asked = Asked(old, hashes, note.spelled)
        answered = await asyncio.to_thread(_post, witness.url, asked.spelled)
        if isinstance(answered, NotVouched):
            return answered
        status, body = answered
        if status == HTTPStatus.OK:
            witness.sizes[origin] = size
            return _checked(witness, note, body)
        told = whole_number(body.decode("ascii", "replace").removesuffix("\n"))
        if status != HTTPStatus.CONFLICT or told is None:
            why = body[:200].decode(errors="replace").strip()
            return NotVouched(f"{witness.url}: {status} {why}")
        if told > size:
            return NotVouched(f"{witness.url}: has seen {told} of {origin}, this is {size}")
        witness.sizes[origin] = told
    return NotVouched(f"{witness.url}: changes its mind about {origin}")


def _checked(witness: Witness, note: Note, body: bytes) -> tuple[Signature, ...] | NotVouched:
    try:
        opened = open_note(note.text.encode() + b"\n" + body, [witness.key])
    except InvalidRequest as error:
        return NotVouched(f"{witness.url}: its answer is not its own: {error}")
    return tuple(made for _, made in opened.verified)


def _post(url: str, body: bytes) -> tuple[int, bytes] | NotVouched:
    place = urlsplit(url)
    kind = HTTPSConnection if place.scheme == "https" else HTTPConnection
    try:
        with closing(kind(place.netloc, timeout=SECONDS)) as connection:
            connection.request("POST", f"{place.path.rstrip('/')}/add-checkpoint", body)
            answer = connection.getresponse()
            return answer.status, answer.read(LARGEST_ANSWER)
    except (OSError, HTTPException, ValueError) as error:
        return NotVouched(f"{url}: {error}")
