"""Who signed a text: C2SP signed notes, and the keys they are signed and checked with.

A note is a text whose last line ends, an empty line, and a line for each signature: a dash, the
name of the key, and in base64 the key's id followed by the signature. Name and id together say
which key is meant; the text itself is worth nothing until a key that the reader trusts has signed
it. A signature by a trusted key that does not hold condemns the whole note; one by a stranger says
nothing.

A key is written ``name+id+base64(type, public key)``. The type says how a signature is made and
checked; a new one is a row of ``_CHECKS``. Two are known here: Ed25519 over the text, and the
Ed25519 cosignature of a witness, which also says when it was made.

What the text means is told elsewhere (``ledger.log.checkpoints``).
"""

import unicodedata
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from ledger.errors import InvalidRequest

ED25519: Final = 0x01
"""A signature of the note's text."""

COSIGNATURE: Final = 0x04
"""A witness's: eight bytes of time, then a signature of that time and the text."""

DASH: Final = "\N{EM DASH} "

MOST_SIGNATURES: Final = 100
"""C2SP asks that at least 16 are accepted; no honest note comes near this."""

KEY_ID_LENGTH: Final = 4
_TIME_LENGTH: Final = 8


@dataclass(frozen=True, slots=True)
class Key:
    """A key to check signatures with."""

    name: str
    type: int
    public: bytes

    @property
    def id(self) -> bytes:
        """What a signature names it by, beside its name."""
        return sha256(f"{self.name}\n".encode() + bytes([self.type]) + self.public).digest()[
            :KEY_ID_LENGTH
        ]

    @property
    def spelled(self) -> str:
        """As it is written down and handed out."""
        encoded = b64encode(bytes([self.type]) + self.public).decode()
        return f"{self.name}+{self.id.hex()}+{encoded}"


class Signature(NamedTuple):
    """One signature line."""

    name: str
    key_id: bytes
    raw: bytes

    @property
    def line(self) -> str:
        """As it stands in a note."""
        return f"{DASH}{self.name} {b64encode(self.key_id + self.raw).decode()}\n"


@dataclass(frozen=True, slots=True)
class Note:
    """A text and who is said to have signed it."""

    text: str
    signatures: tuple[Signature, ...]

    @property
    def spelled(self) -> bytes:
        """As it is handed out."""
        return (f"{self.text}\n" + "".join(made.line for made in self.signatures)).encode()


@dataclass(frozen=True, slots=True)
class Opened:
    """A note that at least one trusted key has signed."""

    text: str
    verified: tuple[tuple[Key, Signature], ...]
    """In the order of the note, each once."""
    strangers: tuple[Signature, ...]


@dataclass(frozen=True, slots=True)
class Signer:
    """A key to sign with."""

    key: Key
    private: Ed25519PrivateKey

    def sign(self, text: str) -> Signature:
        """Sign a note's text."""
        assert self.key.type == ED25519, f"{self.key.name} cosigns"
        return Signature(self.key.name, self.key.id, self.private.sign(text.encode()))

    def cosign(self, text: str, *, seconds: int) -> Signature:
        """Say as a witness that this text was seen, and when."""
        assert self.key.type == COSIGNATURE, f"{self.key.name} signs"
        made = self.private.sign(cosigned(text, seconds=seconds))
        raw = seconds.to_bytes(_TIME_LENGTH, "big") + made
        return Signature(self.key.name, self.key.id, raw)


def signer(name: str, seed: bytes, *, type_: int = ED25519) -> Signer:
    """The key that 32 secret bytes make."""
    require_key_name(name)
    private = Ed25519PrivateKey.from_private_bytes(seed)
    return Signer(Key(name, type_, private.public_key().public_bytes_raw()), private)


def parse_key(text: str) -> Key:
    """Read a key as it is written; ``InvalidRequest`` names what is wrong with it."""
    name, first, rest = text.partition("+")
    id_, second, encoded = rest.partition("+")
    if not (first and second):
        raise InvalidRequest("invalid_key", f"{text!r} is not name+id+key")
    require_key_name(name)
    material = strict_base64(encoded, "invalid_key")
    if not material or material[0] not in _CHECKS:
        raise InvalidRequest("unknown_key_type", f"{name}: no known kind of signature")
    key = Key(name, material[0], material[1:])
    if len(key.public) != _CHECKS[key.type].key_length:
        raise InvalidRequest("invalid_key", f"{name}: {len(key.public)} bytes of key")
    if key.id.hex() != id_:
        raise InvalidRequest("invalid_key", f"{name}: its id is {key.id.hex()}, not {id_}")
    return key


def parse_note(data: bytes) -> Note:
    """Take a note apart, without believing any of it."""
    try:
        whole = data.decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest("malformed_note", "not UTF-8") from error
    if any(character < " " and character != "\n" for character in whole):
        raise InvalidRequest("malformed_note", "a control character")
    text, blank, lines = whole.rpartition("\n\n")
    if not blank or not lines.endswith("\n"):
        raise InvalidRequest("malformed_note", "no signatures after an empty line")
    signed = lines.removesuffix("\n").split("\n")
    if len(signed) > MOST_SIGNATURES:
        raise InvalidRequest("malformed_note", f"more than {MOST_SIGNATURES} signatures")
    return Note(f"{text}\n", tuple(map(parse_signature, signed)))


def parse_signature(line: str) -> Signature:
    """Read one signature line, without its end."""
    name, space, encoded = line.removeprefix(DASH).partition(" ")
    if not (line.startswith(DASH) and space):
        raise InvalidRequest("malformed_note", f"{line[:80]!r} is no signature")
    require_key_name(name)
    made = strict_base64(encoded, "malformed_note")
    if len(made) <= KEY_ID_LENGTH:
        raise InvalidRequest("malformed_note", f"{name}: a signature without one")
    return Signature(name, made[:KEY_ID_LENGTH], made[KEY_ID_LENGTH:])


def open_note(data: bytes, keys: Iterable[Key]) -> Opened:
    """The text of a note, if a key that is trusted signed it; ``InvalidRequest`` if not."""
    note = parse_note(data)
    trusted: dict[tuple[str, bytes], list[Key]] = {}
    for key in keys:
        trusted.setdefault((key.name, key.id), []).append(key)
    verified: dict[Signature, Key] = {}
    strangers: list[Signature] = []
    checked: set[tuple[str, bytes]] = set()
    for signature in note.signatures:
        who = (signature.name, signature.key_id)
        found = trusted.get(who)
        if found is None:
            strangers.append(signature)
            continue
        if len(found) > 1:
            raise InvalidRequest("ambiguous_key", f"{signature.name} is told twice")
        # Repeated by somebody on the way: what was checked stands.
        if who in checked:
            continue
        checked.add(who)
        if not verifies(found[0], note.text, signature.raw):
            raise InvalidRequest("invalid_signature", f"{signature.name} did not sign this")
        verified[signature] = found[0]
    if not verified:
        raise InvalidRequest("no_trusted_signature", "nobody who is trusted signed this")
    return Opened(
        note.text,
        tuple((key, signature) for signature, key in verified.items()),
        tuple(strangers),
    )


def verifies(key: Key, text: str, raw: bytes) -> bool:
    """Whether a key made this signature of a text."""
    return _CHECKS[key.type].holds(key.public, text, raw)


def cosigned(text: str, *, seconds: int) -> bytes:
    """What a witness signs: that it saw a text, and when."""
    return f"cosignature/v1\ntime {seconds}\n{text}".encode()


def cosigned_at(raw: bytes) -> int:
    """When a witness says that it saw what it signed, in seconds."""
    return int.from_bytes(raw[:_TIME_LENGTH], "big")


def require_key_name(name: str) -> None:
    """A name is not empty and holds no white space, no plus and nothing that UTF-8 cannot spell."""
    categories = {unicodedata.category(character) for character in name}
    if not name or "+" in name or any(c[0] == "Z" or c in {"Cc", "Cs"} for c in categories):
        raise InvalidRequest("invalid_key_name", f"{name!r} cannot name a key")


def strict_base64(text: str, code: str) -> bytes:
    """Bytes in the one spelling they have."""
    try:
        data = b64decode(text, validate=True)
    except (NotBase64, ValueError) as error:
        raise InvalidRequest(code, f"{text[:80]!r} is not base64") from error
    if b64encode(data).decode() != text:
        raise InvalidRequest(code, f"{text[:80]!r} has another spelling")
    return data


@dataclass(frozen=True, slots=True)
class _Check:
    key_length: int
    holds: Callable[[bytes, str, bytes], bool]
    """Public key, text, signature."""


def _ed25519(public: bytes, message: bytes, made: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(made, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _signed_text(public: bytes, text: str, raw: bytes) -> bool:
    return _ed25519(public, text.encode(), raw)


def _cosigned_text(public: bytes, text: str, raw: bytes) -> bool:
    seconds = cosigned_at(raw)
    # A time with its highest bit set is beyond what a signed count of seconds can say.
    return (
        len(raw) > _TIME_LENGTH
        and seconds < 2**63
        and _ed25519(public, cosigned(text, seconds=seconds), raw[_TIME_LENGTH:])
    )


_CHECKS: Final[Mapping[int, _Check]] = {
    ED25519: _Check(32, _signed_text),
    COSIGNATURE: _Check(32, _cosigned_text),
}
