"""Where a witness answers and where it is asked: an address that cannot be one is refused at once."""

import asyncio
import socket
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from typer.testing import CliRunner

from ledger.cli.commands import as_asked
from ledger.log import signing_keys
from ledger.log.checkpoints import Checkpoint
from ledger.log.notes import COSIGNATURE, Key, Note, parse_key
from ledger.log.witnesses import NotVouched, Witness, vouched

_SIGNER: Final = signing_keys.signing(bytes(32), "unknown.example/log")
_TEXT: Final = Checkpoint("unknown.example/log", 1, bytes(32)).text
NOTE: Final = Note(_TEXT, (_SIGNER.sign(_TEXT),))
LOG: Final[Key] = signing_keys.signing(bytes(32), "ledger.example/shop/1/events").key


@pytest.mark.parametrize(
    "listen",
    [
        "99999",
        "8801",
        "127.0.0.1:",
        "127.0.0.1:99999",
        "127.0.0.1:-1",
        "127.0.0.1:²",
        "h:" + "9" * 5000,
        "::1",
        "::1:8801",
        "[::1:8801",
        "[::1]",
        "[localhost]:8801",
    ],
)
def test_a_witness_listens_at_a_host_and_a_port(tmp_path: Path, listen: str) -> None:
    words = ["witness", "--key", str(tmp_path / "key"), "--name", "witness.example/w1"]
    words += ["--log", "none", "--state", str(tmp_path / "state"), "--listen", listen]

    answer = CliRunner().invoke(as_asked(words), words)

    assert answer.exit_code == 64, answer.exception
    assert "HOST:PORT" in answer.output


def test_a_witness_answers_at_an_ipv6_address(tmp_path: Path) -> None:
    """In brackets, as it is told; where the machine has no IPv6 that is said in one line."""
    secret = tmp_path / "key"
    signing_keys.make(secret)
    words = ["witness", "--key", str(secret), "--name", "witness.example/w1", "--listen", "[::1]:0"]
    words += ["--log", LOG.spelled, "--state", str(tmp_path / "state")]
    command = [sys.executable, "-m", "ledger.cli.main", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        try:
            assert running.stderr is not None
            said = running.stderr.readline().strip()
            if not has_ipv6():
                assert said.startswith("ledger: ::1:0: ")
                return
            spelled, _, url = said.partition(" answers at ")
            assert url.startswith("http://[::1]:")
            asked = Witness(url, parse_key(spelled))

            refused = asyncio.run(vouched(asked, "unknown.example/log", 1, NOTE, _nothing))

            assert isinstance(refused, NotVouched)
            assert refused.why.startswith(f"{url}: 404 "), "it was asked and answered"
        finally:
            running.terminate()


async def _nothing(_old: int) -> tuple[bytes, ...]:
    return ()


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def test_a_port_that_is_none_is_not_cut_to_another_one(tmp_path: Path) -> None:
    secret = tmp_path / "key"
    signing_keys.make(secret)
    witness = signing_keys.signing(
        signing_keys.read(secret), "witness.example/w1", type_=COSIGNATURE
    ).key.spelled
    words = ["seal", "--once", "--key", str(secret), "--site", "ledger.example"]
    words += [
        "--memory",
        str(tmp_path / "memory"),
        "--witness",
        f"{witness}=http://127.0.0.1:99999",
    ]

    answer = CliRunner().invoke(as_asked(words), words)

    assert answer.exit_code == 78, answer.exception
    assert "http://127.0.0.1:99999: Port out of range" in answer.stderr
