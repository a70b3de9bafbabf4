"""Check a proof file, with Python, ``cryptography`` and nothing else: ``python -m ledger.log.verify_proof``.

For whoever was handed a file and wants to install as little as can be: of this package the modules that
``ledger.log.proofs`` is made of are enough. `ledger verify-proof` is the same, for who has all of it.

    python -m ledger.log.verify_proof FILE --key VKEY [--key VKEY ...] [--json]
    python -m ledger.log.verify_proof FILE --policy POLICY [--json]

Exit code 0: the entry it prints is in the log that the key signs for; 2: it shows nothing, and why;
64: it was typed wrongly, or a file cannot be read.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from ledger.errors import InvalidRequest
from ledger.log.notes import parse_key
from ledger.log.proofs import Shown, parse_proof, verify
from ledger.log.trust import Trust, only, parse_policy

SHOWN: Final = 0
SHOWS_NOTHING: Final = 2
MISUSED: Final = 64


def checked(
    proof: bytes,
    keys: Sequence[str],
    policy: bytes | None,
    *,
    as_json: bool,
    say: Callable[[str], Any],
) -> int:
    """Say what a proof shows to somebody who trusts these keys, or this policy; the exit code."""
    try:
        found = parse_proof(proof)
        shown = verify(found, found.extra, _trust(keys, policy))
        entry = _read(found.extra)
    except InvalidRequest as refusal:
        if as_json:
            say(json.dumps({"shown": False, "why": refusal.code, "detail": refusal.message}))
        else:
            say(f"shows nothing: {refusal}")
        return SHOWS_NOTHING
    if as_json:
        say(json.dumps({"shown": True, **_plain(shown), "entry": entry}))
        return SHOWN
    say(f"entry {shown.index} of {shown.checkpoint.origin}, which had {shown.checkpoint.size}")
    say(f"signed by {shown.log.name}")
    for key, seconds in shown.witnesses:
        say(f"seen by {key.name} at {seconds} seconds of Unix time")
    say(json.dumps(entry, indent=2))
    return SHOWN


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and check the file; the exit code."""
    parser = _Parser(
        prog="python -m ledger.log.verify_proof",
        description="Check a c2sp.org/tlog-proof@v1 offline, with nothing but the file and whom you trust.",
        epilog="Exit code 0: the entry it prints is in the log that the key signs for; 2: it shows"
        " nothing, and why.",
    )
    parser.add_argument("file", type=Path, help="the proof")
    parser.add_argument("--key", action="append", default=[], help="the log's key; may be repeated")
    parser.add_argument("--policy", type=Path, help="whom you trust: a c2sp.org/tlog-policy")
    parser.add_argument("--json", action="store_true", help="one line for machines")
    told = parser.parse_args(arguments)
    try:
        proof = told.file.read_bytes()
        policy = None if told.policy is None else told.policy.read_bytes()
    except OSError as error:
        parser.error(f"{error.filename}: {error.strerror}")
    return checked(
        proof, told.key, policy, as_json=told.json, say=lambda line: sys.stdout.write(f"{line}\n")
    )


class _Parser(argparse.ArgumentParser):
    """One whose complaints are not taken for what a proof shows."""

    def error(self, message: str) -> NoReturn:  # type: ignore[explicit-override]  # Python 3.11 has no such decorator
        self.print_usage(sys.stderr)
        self.exit(MISUSED, f"{self.prog}: {message}\n")


def _trust(keys: Sequence[str], policy: bytes | None) -> Trust:
    if bool(keys) == (policy is not None):
        raise InvalidRequest("no_trust", "say whom you trust: --key or --policy, one of them")
    return only(*map(parse_key, keys)) if policy is None else parse_policy(policy)


def _read(entry: bytes) -> object:
    """An entry of ours is JSON; of another log, whose key was told, it is shown in hex."""
    try:
        return json.loads(entry)
    except ValueError:
        return entry.hex()


def _plain(shown: Shown) -> dict[str, object]:
    return {
        "origin": shown.checkpoint.origin,
        "index": shown.index,
        "size": shown.checkpoint.size,
        "root": shown.checkpoint.root.hex(),
        "log": shown.log.name,
        "witnesses": [[key.name, seconds] for key, seconds in shown.witnesses],
    }


if __name__ == "__main__":
    sys.exit(main())
