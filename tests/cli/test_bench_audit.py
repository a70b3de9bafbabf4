"""``ledger bench audit`` measures what it says. How fast auditing is, is asked by running it."""

import json

import pytest
from typer.testing import CliRunner

from ledger.cli.bench.audit_parts import PARTS
from ledger.cli.bench.main import app


@pytest.mark.postgres
def test_a_history_is_decided_and_replayed() -> None:
    answer = CliRunner().invoke(app, ["audit", "--part", "replay", "--quick", "--json"])

    assert answer.exit_code == 0, answer.output
    (line,) = answer.stdout.splitlines()
    said = json.loads(line)
    assert (said["bench"], said["part"]) == ("audit", "replay")
    assert said["events"] >= 3_000, "ticks come on top"
    assert said["segments"] == 2
    assert {bar["figure"] for bar in said["bars"]} == {
        "events a second of a core",
        "speedup of two workers",
        "MiB a worker",
    }


@pytest.mark.postgres
@pytest.mark.parametrize("part", ["verify", "deep"])
def test_a_history_is_verified(part: str) -> None:
    answer = CliRunner().invoke(app, ["audit", "--part", part, "--quick", "--json"])

    assert answer.exit_code == 0, answer.output
    (line,) = answer.stdout.splitlines()
    said = json.loads(line)
    assert (said["bench"], said["part"]) == ("audit", part)
    assert said["events"] >= 3_000, "ticks come on top"


def test_an_unknown_part_is_refused_with_those_that_there_are() -> None:
    answer = CliRunner().invoke(app, ["audit", "--part", "nothing"])

    assert answer.exit_code == 2
    assert all(part in answer.output for part in PARTS)
