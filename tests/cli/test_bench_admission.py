"""``ledger bench admission`` measures what it says. How fast the webhook is, is asked by running it."""

import json

import pytest
from typer.testing import CliRunner

from ledger.cli.bench.main import app

PARTS = {"read", "wait", "lock", "append", "decide", "reply"}


@pytest.mark.postgres
def test_the_webhook_is_asked_and_every_split_is_counted() -> None:
    parts = ("batches", "burst-reading")

    words = ("admission", "--quick", "--json", *(word for one in parts for word in ("--part", one)))
    answer = CliRunner().invoke(app, words)

    assert answer.exit_code == 0, answer.output
    found = [json.loads(line) for line in answer.stdout.splitlines()]
    batches, burst = found
    assert [one["part"] for one in found] == list(parts)
    assert (batches["reviews"], batches["unpatched"]) == (20, 0)
    assert (burst["reviews"], burst["unpatched"]) == (20, 0)
    for one in found:
        assert set(one["p99_ms_of"]) == PARTS
        (off,) = [bar for bar in one["bars"] if bar["figure"] == "off"]
        assert off["measured"] == 0
    assert batches["reports"] >= 500
