"""What a witness answers to a log's new checkpoint: C2SP tlog-witness, as rules without a server.

A witness remembers for each log the last tree it has vouched for, and vouches for another only if
that one begins with all of it. Its word is what keeps a log from telling two stories. ``judge``
is its whole mind: from what it remembers and what is asked, the answer and what to remember. Who
runs it must make looking and remembering one step, and remember before answering.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from ledger.errors import InvalidRequest
from ledger.log.checkpoints import Checkpoint, parse_checkpoint, whole_number
from ledger.log.merkle import EMPTY_ROOT, HASH_LENGTH, verify_consistency
from ledger.log.notes import Key, Signer, open_note, parse_note, strict_base64

MOST_HASHES: Final = 63
"""No tree that anybody can count is deeper."""

SIZE_TYPE: Final = "text/x.tlog.size"


@dataclass(frozen=True, slots=True)
class Seen:
    """The tree of a log that was vouched for last."""

    size: int
    root: bytes


NOTHING_SEEN: Final = Seen(0, EMPTY_ROOT)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to vouch for a checkpoint."""

    old_size: int
    hashes: tuple[bytes, ...]
    checkpoint: bytes

    @property
    def spelled(self) -> bytes:
        """The body of the request."""
        hashes = "".join(f"{b64encode(step).decode()}\n" for step in self.hashes)
        return f"old {self.old_size}\n{hashes}\n".encode() + self.checkpoint


@dataclass(frozen=True, slots=True)
class Answer:
    """What is answered, and what is to be remembered first."""

    status: HTTPStatus
    body: str = ""
    content_type: str = "text/plain; charset=utf-8"
    remember: tuple[str, Seen] | None = None
    """Of which origin; None where nothing new was vouched for."""


def parse_asked(data: bytes) -> Asked:
    """Take a request apart; ``InvalidRequest`` where it is none."""
    head, blank, checkpoint = data.partition(b"\n\n")
    if not blank:
        raise InvalidRequest("malformed_request", "no checkpoint after an empty line")
    first, *lines = head.decode("ascii", "replace").split("\n")
    old = whole_number(first.removeprefix("old ")) if first.startswith("old ") else None
    if old is None:
        raise InvalidRequest("malformed_request", f"{first[:40]!r} tells no old size")
    if len(lines) > MOST_HASHES:
        raise InvalidRequest("malformed_request", f"more than {MOST_HASHES} hashes")
    hashes = tuple(strict_base64(line, "malformed_request") for line in lines)
    if any(len(step) != HASH_LENGTH for step in hashes):
        raise InvalidRequest("malformed_request", f"a hash has {HASH_LENGTH} bytes")
    return Asked(old, hashes, checkpoint)


def judge(
    data: bytes,
    *,
    logs: Mapping[str, Sequence[Key]],
    seen: Mapping[str, Seen],
    signer: Signer,
    seconds: int,
) -> Answer:
    """Answer a request: ``logs`` are those known by origin, with the keys they sign with."""
    try:
        asked = parse_asked(data)
        note = parse_note(asked.checkpoint)
    except InvalidRequest as error:
        return _refused(HTTPStatus.BAD_REQUEST, error)
    origin = note.text.partition("\n")[0]
    if origin not in logs:
        return Answer(HTTPStatus.NOT_FOUND, f"{origin[:80]} is not known here\n")
    try:
        opened = open_note(asked.checkpoint, logs[origin])
    except InvalidRequest as error:
        return _refused(HTTPStatus.FORBIDDEN, error)
    try:
        checkpoint = parse_checkpoint(opened.text)
    except InvalidRequest as error:
        wrong_root = error.code == "wrong_empty_root"
        return _refused(
            HTTPStatus.UNPROCESSABLE_ENTITY if wrong_root else HTTPStatus.BAD_REQUEST, error
        )
    if asked.old_size > checkpoint.size:
        return Answer(HTTPStatus.BAD_REQUEST, "the old tree is larger than the new one\n")
    last = seen.get(origin, NOTHING_SEEN)
    if asked.old_size != last.size:
        return Answer(HTTPStatus.CONFLICT, f"{last.size}\n", SIZE_TYPE)
    if not _continues(last, checkpoint, asked.hashes):
        return Answer(HTTPStatus.UNPROCESSABLE_ENTITY, "it does not begin with what was seen\n")
    return Answer(
        HTTPStatus.OK,
        signer.cosign(opened.text, seconds=seconds).line,
        remember=(origin, Seen(checkpoint.size, checkpoint.root)),
    )


def _continues(last: Seen, checkpoint: Checkpoint, hashes: tuple[bytes, ...]) -> bool:
    if last.size == 0:
        return not hashes
    return verify_consistency(
        hashes,
        old_size=last.size,
        old_root=last.root,
        new_size=checkpoint.size,
        new_root=checkpoint.root,
    )


def _refused(status: HTTPStatus, error: InvalidRequest) -> Answer:
    return Answer(status, f"{error.code}: {error.message}\n")
