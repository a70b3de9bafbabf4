"""The secret a site signs with: one file, from which the key of every origin is made.

An origin is ``site/fleet/incarnation/tree``. A key's name is the origin it signs for and is part of
its id, so one secret makes as many keys as there are origins, and none of them can be taken for
another. To rotate, sign with the old and the new secret for a while: a note may carry both.
"""

import os
import secrets
from pathlib import Path
from typing import Final, Literal, NamedTuple, get_args

from ledger.errors import InvalidRequest, SetupProblem
from ledger.log.notes import ED25519, Signer, require_key_name, signer
from ledger.units import FleetName, Incarnation

Sealed = Literal["events", "decisions", "both"]
"""The two trees of a fleet, and the note that binds them."""

KIND: Final = "LEDGER-SIGNING-KEY-1"
SEED_LENGTH: Final = 32


def origin(site: str, fleet: FleetName, incarnation: Incarnation, tree: Sealed) -> str:
    """What a checkpoint of this tree says of whom it is."""
    return f"{site}/{fleet}/{incarnation}/{tree}"


class Origin(NamedTuple):
    """Of whom a checkpoint is."""

    site: str
    fleet: FleetName
    incarnation: Incarnation
    tree: Sealed


def read_origin(name: str) -> Origin | None:
    """What an origin is made of; None where it is none. A site may have slashes in it, nothing else."""
    parts = name.rsplit("/", 3)
    if len(parts) != 4 or not (parts[2].isascii() and parts[2].isdecimal()):
        return None
    site, fleet, life, told = parts
    tree = next((one for one in get_args(Sealed) if one == told), None)
    return None if tree is None else Origin(site, FleetName(fleet), Incarnation(int(life)), tree)


def life_of(name: str, fleet: FleetName, *, site: str | None = None) -> Incarnation | None:
    """Which life of a fleet's log an origin is of; None where it is none of it, or of this site."""
    said = read_origin(name)
    if said is None or said.fleet != fleet or (site is not None and said.site != site):
        return None
    return said.incarnation


def make(path: Path) -> None:
    """Write a new secret, which nobody but its owner can read; an existing file is left alone."""
    seed = secrets.token_bytes(SEED_LENGTH)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise SetupProblem(f"{path}: there is a file already; a secret is not replaced") from None
    except OSError as error:
        raise SetupProblem(f"{path}: {error.strerror}") from error
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"{KIND} {seed.hex()}\n")


def read(path: Path) -> bytes:
    """The seed in a secret file."""
    try:
        text = path.read_text(encoding="ascii")
        mode = path.stat().st_mode
    except (OSError, UnicodeDecodeError) as error:
        raise SetupProblem(f"{path}: {error}") from error
    kind, _, seed = text.strip().partition(" ")
    if kind != KIND or len(seed) != 2 * SEED_LENGTH or not set(seed) <= set("0123456789abcdef"):
        raise SetupProblem(f"{path}: no signing key; `ledger key new` makes one")
    if mode & 0o077:
        raise SetupProblem(f"{path}: others may read it; chmod 600 {path}")
    return bytes.fromhex(seed)


def signing(seed: bytes, name: str, *, type_: int = ED25519) -> Signer:
    """The signer of one name."""
    try:
        return signer(name, seed, type_=type_)
    except InvalidRequest as error:
        raise SetupProblem(error.message) from error


def require_site(site: str) -> str:
    """A site's name, if keys can be named by it."""
    try:
        require_key_name(site)
    except InvalidRequest as error:
        raise SetupProblem(error.message) from error
    if "\n" in site or site.endswith("/"):
        raise SetupProblem(f"{site!r} is no site")
    return site
