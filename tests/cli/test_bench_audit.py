"""``ledger bench audit`` measures what it says. How fast auditing is, is asked by running it."""

import json

import pytest
from typer.testing import CliRunner

from ledger.cli.bench.audit_parts import PARTS
from ledger.cli.bench.main import app
from ledger.cli.commands import MISUSED

BARS = {
    "verify": ["events a second of a core, without their decisions"],
    "deep": ["events a second of a core"],
    "replay": ["events a second of a core", "speedup of two workers", "MiB a worker"],
    "explain": ["milliseconds of the command"],
    "sql": [
        "milliseconds as of a position",
        "milliseconds of one workload",
        "milliseconds of one node",
    ],
}


@pytest.mark.postgres
def test_a_history_is_decided_once_and_audited_in_every_way() -> None:
    answer = CliRunner().invoke(app, ["audit", "--quick", "--json"])

    assert answer.exit_code == 0, answer.output
    said = {one["part"]: one for one in map(json.loads, answer.stdout.splitlines())}
    assert {part: [bar["figure"] for bar in one["bars"]] for part, one in said.items()} == BARS
    assert said["sql"]["as_of_counted_ms"] > 0, "beside carrying all rows, counting them"
    assert all(one["bench"] == "audit" for one in said.values())
    assert all(bar["measured"] > 0 for one in said.values() for bar in one["bars"])
    assert said["verify"]["events"] >= 3_000, "ticks come on top"
    assert said["replay"]["segments"] == 2
    assert said["explain"]["kinds"] > 3
    assert said["sql"]["places_at_most"] > 10


def test_an_unknown_part_is_refused_with_those_that_there_are() -> None:
    answer = CliRunner().invoke(app, ["audit", "--part", "nothing"])

    assert answer.exit_code == MISUSED
    assert all(part in answer.output for part in PARTS)


def test_the_help_tells_of_every_part() -> None:
    answer = CliRunner().invoke(app, ["audit", "--help"])

    assert all(f"{part}:" in answer.output for part in PARTS)
