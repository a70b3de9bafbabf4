"""Every benchmark runs as it comes, and says what it promises to say. How fast is not asked here."""

import asyncio
import json
import os
import sys
from typing import Any

import pytest

from tests.kafka import Kafka
from tests.postgres import Postgres

SAID_BY_ALL = {
    *("bench", "events", "seconds", "per_second", "floor_per_second", "ratio", "rounds"),
    *("python", "python_optimized", "postgres", "cores", "load_before"),
}


async def bench(*arguments: str, **environment: str) -> dict[str, Any]:
    """What a benchmark prints: exactly one line of JSON."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ledger.cli.main", "bench", *arguments, "--quick"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | environment,
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    (line,) = out.splitlines()
    said: dict[str, Any] = json.loads(line)
    return said


@pytest.mark.parametrize("name", ["ingest-file", "ingest-http", "read", "fold", "idle-transaction"])
async def test_a_benchmark_prints_one_line_with_the_ratio_to_its_floor(
    name: str, postgres: Postgres
) -> None:
    said = await bench(name, "--database-url", postgres.url)

    assert said.keys() >= SAID_BY_ALL
    assert said["bench"] == name
    assert said["ratio"] > 0
    assert said["events"] > 0


@pytest.mark.parametrize("part", ["durable", "latency"])
async def test_the_engine_is_measured_on_a_real_server(part: str, postgres: Postgres) -> None:
    said = await bench("engine", "--json", "--part", part, "--database-url", postgres.url)

    assert (said["bench"], said["part"]) == ("engine", part)
    assert said["events"] > 0
    assert said["bars"]
    if part == "latency":
        assert 0 < said["p50_ms"] <= said["p99_ms"] <= said["max_ms"]
        assert sum(said["happened_percent"].values()) == pytest.approx(100, abs=0.1)


@pytest.mark.parametrize("fleets", [1, 2])
async def test_a_consumer_is_measured_on_a_real_broker(
    fleets: int, postgres: Postgres, kafka: Kafka
) -> None:
    said = await bench(
        *("ingest-kafka", "--fleets", str(fleets), "--database-url", postgres.url),
        LEDGER_KAFKA_BOOTSTRAP=kafka.bootstrap,
    )

    assert said.keys() >= SAID_BY_ALL | {"consumer_mb_max", "consumer_mb_at_each_tenth"}
    assert said["fleets"] == fleets
    assert said["ratio"] > 0
    assert said["consumer_mb_max"] >= max(said["consumer_mb_at_each_tenth"]) > 0


async def test_a_benchmark_starts_a_server_of_its_own_where_none_is_named(
    postgres: Postgres,
) -> None:
    said = await bench("ingest-file")

    assert said["postgres"].startswith("18")
    assert said["server_cpu_us_per_event"] > 0
