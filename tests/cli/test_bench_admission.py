"""``ledger bench admission`` measures what it says. How fast the webhook is, is asked by running it."""

import json

from typer.testing import CliRunner

from ledger.cli.bench.main import app

PARTS = {"wait", "lock", "append", "decide", "reply"}


def test_the_webhook_is_asked_and_every_split_is_counted() -> None:
    words = ("admission", "--quick", "--json", "--part", "batches", "--part", "burst")

    answer = CliRunner().invoke(app, words)

    assert answer.exit_code == 0, answer.output
    batches, burst = (json.loads(line) for line in answer.stdout.splitlines())
    assert (batches["part"], batches["reviews"], batches["unpatched"]) == ("batches", 20, 0)
    assert (burst["part"], burst["reviews"], burst["unpatched"]) == ("burst", 20, 0)
    for found in (batches, burst):
        assert set(found["p99_ms_of"]) == PARTS
        (off,) = [bar for bar in found["bars"] if bar["figure"] == "off"]
        assert off["measured"] == 0
    assert batches["reports"] >= 500
