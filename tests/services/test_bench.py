"""Every benchmark runs, out of the box, and says what it promises to say. How fast is not asked."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from ledger.cli.bench.main import app
from tests.kafka import Kafka
from tests.postgres import Postgres

SAID_BY_ALL = {
    "bench",
    "events",
    "seconds",
    "per_second",
    "floor_per_second",
    "ratio",
    "rounds",
    "python",
    "postgres",
    "cores",
}


def line_of(arguments: list[str], server: Postgres) -> dict[str, Any]:
    """What a benchmark prints: exactly one line of JSON."""
    ran = CliRunner().invoke(app, [*arguments, "--quick", "--database-url", server.url])
    assert ran.exit_code == 0, ran.output
    (line,) = ran.stdout.splitlines()
    said: dict[str, Any] = json.loads(line)
    return said
