"""What checks a proof can be read in one sitting and needs nothing that an outsider does not have."""

import subprocess
import sys
from pathlib import Path

MOST_LINES = 1000

ASKED = """
import sys
before = set(sys.modules)
import ledger.log.proofs, ledger.log.trust
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(loaded - set(sys.stdlib_module_names) - {"ledger"}))
print(*sorted(name for name in sys.modules if name.startswith("ledger.")))
"""


def loaded() -> tuple[set[str], set[str]]:
    """What checking a proof imports: of others, and of ours."""
    told = subprocess.run(
        [sys.executable, "-c", ASKED], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    return set(told[0].split()), set(told[1].split())


def test_it_needs_the_standard_library_and_cryptography() -> None:
    others, _ = loaded()
    # The last two are parts of the first: its C library and how it is reached.
    assert others <= {"cryptography", "_cffi_backend", "_openssl"}


def test_it_is_short() -> None:
    _, ours = loaded()
    root = Path(__file__).parents[2]
    files = [root / f"{name.replace('.', '/')}.py" for name in ours]
    assert sum(len(file.read_text().splitlines()) for file in files if file.is_file()) <= MOST_LINES
