"""What a fleet begins with, fixed at its first append so that later defaults never reach it."""

import hashlib
import json
from dataclasses import dataclass
from typing import Final

from ledger.facts.canonical import Plain, canonical, digest
from ledger.facts.policy import Policy, as_plain, from_plain
from ledger.units import FleetName

GENESIS_LAYOUT: Final = 1


@dataclass(frozen=True, slots=True)
class Genesis:
    """The salt of a fleet's lots, the policy it started from, and the contract it was born under."""

    fleet: FleetName
    salt: str
    policy: Policy
    revision: int


def born(fleet: FleetName, *, salt: str | None, revision: int) -> Genesis:
    """The genesis of a fleet opened now: its own name is its salt unless its first event says other."""
    return Genesis(fleet, fleet if salt is None else salt, Policy(), revision)


def document(genesis: Genesis) -> bytes:
    """The one spelling of a genesis: what the log stores."""
    plain: Plain = {
        "genesis": GENESIS_LAYOUT,
        "fleet": genesis.fleet,
        "salt": genesis.salt,
        "policy": as_plain(genesis.policy),
        "revision": genesis.revision,
    }
    return canonical(plain)


def from_document(stored: bytes) -> Genesis:
    """Read a stored genesis back."""
    plain = json.loads(stored)
    assert plain["genesis"] == GENESIS_LAYOUT, (
        f"genesis layout {plain['genesis']} is not known here"
    )
    return Genesis(
        FleetName(plain["fleet"]), plain["salt"], from_plain(plain["policy"]), plain["revision"]
    )


def genesis_digest(genesis: Genesis) -> str:
    """Digest of a genesis, in hex: part of every policy digest."""
    return hashlib.sha256(document(genesis)).hexdigest()


def policy_digest(genesis: Genesis, policy: Policy) -> str:
    """Digest of what a fleet began with and the policy in force now, in hex: every decision has it."""
    return digest({"genesis": genesis_digest(genesis), "policy": as_plain(policy)}).hex()
