"""What is asked wrongly ends with one code, which no failure of ours has: a script can tell the two apart."""

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ledger.cli.commands import MISUSED, as_asked
from ledger.cli.main import OUR_MISTAKE
from tests.events_for_tests import cluster_line, workload_line

ASKED_WRONGLY = (
    "diff 1 0",
    "diff 0 99",
    "explain nosuch/x",
    "explain 99",
    "explain shop/cart --at 99",
    "replay --fleet test --from 1 --to 0",
    "replay --fleet test --subject nosuch/x",
    "replay --slice no.slice.json",
    "sql 'SELECT nonsense'",
    "sql \"SELECT * FROM placements_as_of('test', 99)\"",
    "what-if",
    "what-if --set disk.alpha=abc",
    "what-if --without 99",
    "what-if --against no.branch",
)


def asked(database_url: str, words: str, stdin: bytes | None = None) -> Result:
    surroundings = {"LEDGER_DATABASE_URL": database_url, "LEDGER_FLEET_CREATE": "auto"}
    typed = shlex.split(words)
    return CliRunner().invoke(as_asked(typed), typed, input=stdin, env=surroundings)


@pytest.fixture
def history(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    told = [cluster_line(1), workload_line(1, replicas=2, weights={"c1": 1})]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "no.slice.json").write_text("{}")
    for words, stdin in (
        ("ingest -", b"\n".join(told)),
        ("decide --until-idle --quiet", None),
    ):
        assert asked(database_url, words, stdin).exit_code == 0
    return database_url


def test_what_is_asked_wrongly_ends_with_another_code_than_a_mistake_of_ours(history: str) -> None:
    """One history for all of them: nobody changes anything."""
    ends = {words: asked(history, words) for words in ASKED_WRONGLY}

    assert {words: end.exit_code for words, end in ends.items()} == dict.fromkeys(ends, MISUSED)
    assert OUR_MISTAKE not in {end.exit_code for end in ends.values()}
    for words, end in ends.items():
        assert end.stderr.startswith("ledger: "), words
        assert end.stdout == "", words
