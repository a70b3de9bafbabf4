"""What checks a proof can be read in one sitting and needs nothing that an outsider does not have."""

import json
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import pytest

from ledger.log.checkpoints import Checkpoint
from ledger.log.merkle import leaf_hash
from ledger.log.notes import Note, Signer, signer
from ledger.log.proofs import Proof

MOST_LINES = 1000

ASKED = """
import sys
before = set(sys.modules)
import {modules}
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(loaded - set(sys.stdlib_module_names) - {"ledger"}))
print(*sorted(name for name in sys.modules if name.startswith("ledger.")))
"""


def loaded(modules: str) -> tuple[set[str], set[str]]:
    """What checking a proof imports: of others, and of ours."""
    told = subprocess.run(
        [sys.executable, "-c", ASKED.replace("{modules}", modules)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    return set(told[0].split()), set(told[1].split())


def test_it_needs_the_standard_library_and_cryptography() -> None:
    others, _ = loaded("ledger.log.verify_proof")
    # The last two are parts of the first: its C library and how it is reached.
    assert others <= {"cryptography", "_cffi_backend", "_openssl"}


def test_it_is_short() -> None:
    """What has to be believed; the command around it reads its arguments and prints."""
    _, ours = loaded("ledger.log.proofs, ledger.log.trust")
    root = Path(__file__).parents[2]
    files = [root / f"{name.replace('.', '/')}.py" for name in ours]
    assert sum(len(file.read_text().splitlines()) for file in files if file.is_file()) <= MOST_LINES


ALONE = """
import runpy, sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in {"ledger", "cryptography", "_cffi_backend"}:
            raise ModuleNotFoundError(f"{name} is not installed here")
sys.meta_path.insert(0, Nothing())
runpy.run_module("ledger.log.verify_proof", run_name="__main__", alter_sys=True)
"""
"""The command in an environment with nothing but ``cryptography``."""

LOG = signer("ledger.example/shop/1/events", bytes(32))


def written(folder: Path, log: Signer = LOG) -> str:
    """The proof of the only entry of a log."""
    entry = b'{"replicas":3}'
    text = Checkpoint(log.key.name, 1, leaf_hash(entry)).text
    path = folder / "one.tlog-proof"
    path.write_bytes(Proof(0, (), Note(text, (log.sign(text),)).spelled, entry).spelled)
    return str(path)


def alone(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", ALONE, *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("how", ["key", "policy"])
def test_the_command_runs_where_nothing_else_is_installed(tmp_path: Path, how: str) -> None:
    policy = tmp_path / "policy"
    policy.write_text(f"log {LOG.key.spelled}\nquorum none\n")
    trust = f"--key={LOG.key.spelled}" if how == "key" else f"--policy={policy}"
    code, told = alone(written(tmp_path), trust)
    assert (code, told.splitlines()[:2]) == (
        0,
        [
            "entry 0 of ledger.example/shop/1/events, which had 1",
            "signed by ledger.example/shop/1/events",
        ],
    )
    code, told = alone(written(tmp_path), trust, "--json")
    assert (code, json.loads(told)["entry"]) == (0, {"replicas": 3})


def test_it_says_why_a_file_shows_nothing(tmp_path: Path) -> None:
    proof = written(tmp_path)
    other = signer(LOG.key.name, bytes([1]) * 32).key.spelled
    code, told = alone(proof, "--key", other)
    assert (code, told.split(":")[0]) == (2, "shows nothing")
    code, told = alone(proof, "--json")
    assert (code, json.loads(told)["why"]) == (2, "no_trust")
    changed = Path(proof).read_text().replace(b64encode(b'{"repl').decode()[:8], "eyJyZXBM")
    Path(proof).write_text(changed)
    code, told = alone(proof, "--key", LOG.key.spelled)
    assert (code, told) == (
        2,
        "shows nothing: not_included: the hashes do not lead from the entry to the root\n",
    )
    code, told = alone(str(tmp_path / "none"), "--key", LOG.key.spelled)
    assert (code, told.splitlines()[-1].endswith("No such file or directory")) == (64, True)
    assert alone()[0] == 64
