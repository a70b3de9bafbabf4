"""Where a witness answers and where it is asked: an address that cannot be one is refused at once."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from ledger.cli.commands import as_asked
from ledger.log import signing_keys
from ledger.log.notes import COSIGNATURE


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
    ],
)
def test_a_witness_listens_at_a_host_and_a_port(tmp_path: Path, listen: str) -> None:
    words = ["witness", "--key", str(tmp_path / "key"), "--name", "witness.example/w1"]
    words += ["--log", "none", "--state", str(tmp_path / "state"), "--listen", listen]

    answer = CliRunner().invoke(as_asked(words), words)

    assert answer.exit_code == 64, answer.exception
    assert "HOST:PORT" in answer.output


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
