"""Commands whose reader went away, or whose disk is full: a code of their own, and never an audit's."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ledger.cli.sql import CAUTION
from ledger.log import lines
from ledger.log.database import connect
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line

FULL = b"ledger: writing: No space left on device\n"

WITHOUT_A_LOG: Sequence[tuple[str, ...]] = [
    ("--help",),
    ("--version",),
    ("verify", "--help"),
    ("solve", "--list"),
    ("solve", "--schema", "lot.draw"),
    ("simulate", "-", "--json"),
]
OF_A_LOG: Sequence[tuple[str, ...]] = [
    ("replay", "--fleet", "test"),
    ("verify",),
    ("verify", "--json"),
    ("explain", "shop/cart"),
    ("diff", "0", "1"),
    ("what-if", "--set", "disk.alpha=1/2"),
    ("status",),
    ("sql", "SELECT * FROM events"),
    ("sql", "SELECT * FROM events", "--csv"),
    ("watch", "--from", "0"),
    ("watch", "--from", "0", "--json"),
]


def command(words: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "ledger.cli.main", *words]


def with_no_reader(words: Sequence[str], url: str = "") -> subprocess.CompletedProcess[bytes]:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return subprocess.run(
            command(words),
            stdout=writing,
            stderr=subprocess.PIPE,
            env=os.environ | {"LEDGER_DATABASE_URL": url},
            check=False,
            timeout=60,
        )
    finally:
        os.close(writing)


def on_a_full_disk(words: Sequence[str], url: str = "") -> subprocess.CompletedProcess[bytes]:
    with Path("/dev/full").open("wb") as full:
        return subprocess.run(
            command(words),
            stdout=full,
            stderr=subprocess.PIPE,
            env=os.environ | {"LEDGER_DATABASE_URL": url},
            check=False,
            timeout=60,
        )


def complaint(done: subprocess.CompletedProcess[bytes]) -> bytes:
    """What is said but for what is said of the login, which is an administrator's here."""
    said: bytes = done.stderr
    return b"".join(one for one in said.splitlines(True) if CAUTION.encode() not in one)


@pytest.mark.parametrize("words", WITHOUT_A_LOG, ids=" ".join)
def test_who_has_read_enough_hears_no_complaint(words: tuple[str, ...]) -> None:
    done = with_no_reader(words)

    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("words", WITHOUT_A_LOG, ids=" ".join)
def test_a_full_disk_is_said_in_one_line(words: tuple[str, ...]) -> None:
    done = on_a_full_disk(words)

    assert (done.returncode, done.stderr) == (74, FULL)


async def test_an_audit_that_nobody_reads_is_not_said_to_have_diverged(database_url: str) -> None:
    connection = await connect(database_url, None)
    await lines.ingest(
        connection, [cluster_line(1), workload_line(2, replicas=2, weights={"c1": 1})]
    )
    await connection.close()
    await decide_all(database_url)

    for words in OF_A_LOG:
        done = with_no_reader(words, database_url)
        assert (done.returncode, complaint(done)) == (141, b""), words
        done = on_a_full_disk(words, database_url)
        assert (done.returncode, complaint(done)) == (74, FULL), words


def test_complaints_that_nobody_reads_are_no_finding_either() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    nowhere = ("status", "--database-url", "postgresql://nobody@127.0.0.1:1/none")

    done = subprocess.run(
        command(nowhere), stdout=subprocess.PIPE, stderr=writing, check=False, timeout=60
    )

    os.close(writing)
    assert (done.returncode, done.stdout) == (141, b"")


def test_without_standard_output_there_is_nothing_to_complain_of() -> None:
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *command(["--version"])], capture_output=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, b"")
