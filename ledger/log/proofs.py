"""Whether an entry is in a log, shown by one file and the reader's own trust: no database, no clock.

A C2SP tlog-proof holds the entry's index, the hashes from its leaf up to the root, and the signed
checkpoint of a tree that has that root. It shows that the entry stood there when the checkpoint was
signed. It does not show that the log has told everybody the same: for that the reader's policy asks
for the word of witnesses (``ledger.log.trust``).

An outsider runs ``ledger.log.verify_proof``, over the standard library and ``cryptography``.
"""

from base64 import b64encode
from dataclasses import dataclass
from typing import Final

from ledger.errors import InvalidRequest
from ledger.log.checkpoints import Checkpoint, parse_checkpoint, whole_number
from ledger.log.merkle import HASH_LENGTH, leaf_hash, verify_inclusion
from ledger.log.notes import COSIGNATURE, Key, cosigned_at, open_note, strict_base64
from ledger.log.trust import Trust

HEADER: Final = "c2sp.org/tlog-proof@v1"

LONGEST_LINE: Final = 64 * 1024
"""Of hashes and signatures; the entry beside them is as long as it is, for which C2SP sets no limit."""


@dataclass(frozen=True, slots=True)
class Proof:
    """A proof file, taken apart and not yet believed."""

    index: int
    hashes: tuple[bytes, ...]
    """From the leaf's sibling to the child of the root."""
    checkpoint: bytes
    """The signed note, as it was made."""
    extra: bytes = b""
    """For the application; vouched for by nobody."""

    @property
    def spelled(self) -> bytes:
        """The file."""
        lines = [HEADER]
        if self.extra:
            lines.append(f"extra {b64encode(self.extra).decode()}")
        lines.append(f"index {self.index}")
        lines += [b64encode(step).decode() for step in self.hashes]
        return "".join(f"{line}\n" for line in lines).encode() + b"\n" + self.checkpoint


@dataclass(frozen=True, slots=True)
class Shown:
    """What a proof has shown."""

    checkpoint: Checkpoint
    index: int
    log: Key
    """Who signed the checkpoint."""
    witnesses: tuple[tuple[Key, int], ...]
    """Who cosigned it, and when in seconds."""


def parse_proof(data: bytes) -> Proof:
    """Take a proof file apart; ``InvalidRequest`` says which part is none."""
    head, blank, checkpoint = data.partition(b"\n\n")
    try:
        lines = head.decode().split("\n")
    except UnicodeDecodeError as error:
        raise InvalidRequest("malformed_proof", "not UTF-8") from error
    if lines.pop(0) != HEADER:
        raise InvalidRequest("missing_header", f"the first line is not {HEADER}")
    extra = b""
    if lines and lines[0].startswith("extra "):
        extra = strict_base64(lines.pop(0).removeprefix("extra "), "bad_extra")
    if any(len(line) > LONGEST_LINE for line in (*lines, *checkpoint.split(b"\n"))):
        raise InvalidRequest("too_long", f"a line of more than {LONGEST_LINE} bytes")
    if not lines or not lines[0].startswith("index "):
        raise InvalidRequest("missing_index", "no line says which entry is meant")
    index = whole_number(told := lines.pop(0).removeprefix("index "))
    if index is None:
        raise InvalidRequest("bad_index", f"{told[:40]!r} is no place in a log")
    hashes = tuple(strict_base64(line, "bad_hash") for line in lines)
    if any(len(step) != HASH_LENGTH for step in hashes):
        raise InvalidRequest("bad_hash_length", f"a hash has {HASH_LENGTH} bytes")
    if not blank:
        raise InvalidRequest("missing_checkpoint", "no checkpoint after an empty line")
    return Proof(index, hashes, checkpoint, extra)


def verify(proof: Proof, entry: bytes, trust: Trust) -> Shown:
    """What the proof shows of an entry; ``InvalidRequest`` names why it shows nothing."""
    opened = open_note(proof.checkpoint, trust.keys)
    checkpoint = parse_checkpoint(opened.text)
    own = [key for key in trust.logs if key.name == checkpoint.origin]
    signed = [key for key, _ in opened.verified if key in own]
    if not signed:
        raise InvalidRequest("untrusted_log", f"{checkpoint.origin} did not sign its checkpoint")
    witnesses = tuple(
        (key, cosigned_at(made.raw)) for key, made in opened.verified if key.type == COSIGNATURE
    )
    if not trust.suffices([key for key, _ in witnesses]):
        raise InvalidRequest("quorum_not_met", "too few of the witnesses cosigned it")
    if not verify_inclusion(
        leaf_hash(entry),
        proof.hashes,
        index=proof.index,
        size=checkpoint.size,
        root=checkpoint.root,
    ):
        raise InvalidRequest("not_included", "the hashes do not lead from the entry to the root")
    return Shown(checkpoint, proof.index, signed[0], witnesses)
