"""A second verifier of proof files, written from the C2SP texts and RFC 6962 alone.

It imports nothing of the ledger and shares no idea with it: the path is followed bit by bit, as
RFC 9162 2.1.3.2 does, where ours divides ranges. One log key, any number of witnesses of which some
are required.
"""

import hashlib
import re
from base64 import b64decode

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def shows(file: bytes, entry: bytes, log_vkey: str, witness_vkeys: list[str], quorum: int) -> bool:
    """Whether the file proves the entry under this key with so many of the witnesses."""
    try:
        return _shows(file.decode(), entry, log_vkey, witness_vkeys, quorum)
    except (ValueError, IndexError):
        return False


def _shows(file: str, entry: bytes, log: str, witnesses: list[str], quorum: int) -> bool:
    head, note = file.split("\n\n", 1)
    lines = head.split("\n")
    if lines[0] != "c2sp.org/tlog-proof@v1":
        return False
    rest = lines[1:]
    if rest[0].startswith("extra "):
        b64decode(rest[0][6:], validate=True)
        rest = rest[1:]
    if not rest[0].startswith("index "):
        return False
    index = _number(rest[0][6:])
    path = [b64decode(line, validate=True) for line in rest[1:]]
    if any(len(node) != 32 for node in path):
        return False

    if not note.endswith("\n") or re.search(r"[\x00-\x09\x0b-\x1f]", note):
        return False
    cut = note.rindex("\n\n")
    body, signatures = note[: cut + 1], note[cut + 2 :].splitlines()
    good: set[str] = set()
    for line in signatures:
        dash, name, encoded = line.split(" ")
        if dash != "\u2014":
            return False
        raw = b64decode(encoded, validate=True)
        for vkey in [log, *witnesses]:
            vname, vid, vraw = vkey.split("+", 2)
            if (name, raw[:4].hex()) != (vname, vid):
                continue
            material = b64decode(vraw, validate=True)
            expected = hashlib.sha256(f"{vname}\n".encode() + material).hexdigest()[:8]
            message = body.encode()
            made = raw[4:]
            if material[0] == 4:
                moment = int.from_bytes(made[:8], "big")
                if moment >= 1 << 63:
                    return False
                message = f"cosignature/v1\ntime {moment}\n".encode() + message
                made = made[8:]
            try:
                Ed25519PublicKey.from_public_bytes(material[1:]).verify(made, message)
            except InvalidSignature:
                return False
            if expected != vid:
                return False
            good.add(vkey)
    origin, size_line, root_line, *_ = body.split("\n")
    if log not in good or origin != log.split("+", 1)[0] or len(good - {log}) < quorum:
        return False
    size, root = _number(size_line), b64decode(root_line, validate=True)

    if index >= size:
        return False
    first, second = index, size - 1
    node = hashlib.sha256(b"\0" + entry).digest()
    for sibling in path:
        if second == 0:
            return False
        if first & 1 or first == second:
            node = hashlib.sha256(b"\1" + sibling + node).digest()
            while not first & 1 and first:
                first >>= 1
                second >>= 1
        else:
            node = hashlib.sha256(b"\1" + node + sibling).digest()
        first >>= 1
        second >>= 1
    return second == 0 and node == root


def _number(text: str) -> int:
    if not re.fullmatch(r"0|[1-9][0-9]*", text, re.ASCII):
        raise ValueError(text)
    return int(text)
