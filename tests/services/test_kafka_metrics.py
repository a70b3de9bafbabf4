"""``ledger consume`` and ``ledger publish`` tell what they did, with a real broker behind them."""

import asyncio
import os
import signal
import sys

from consumers.local_kafka import topics
from tests.cli.test_metrics import fetched
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line
from tests.feeding import Stream, until
from tests.kafka import Kafka


async def told(command: str, stream: Stream, database_url: str, name: str, wanted: int) -> None:
    """Run a command until it tells this number, and let it leave."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ledger.cli.main", command, "--metrics-port", "0"),
        env=os.environ
        | {
            "LEDGER_DATABASE_URL": database_url,
            "LEDGER_KAFKA_BOOTSTRAP": stream.bootstrap,
            "LEDGER_KAFKA_GROUP": f"{stream.prefix}group",
            "LEDGER_KAFKA_TOPIC_PREFIX": stream.prefix,
            "LEDGER_FLEET_CREATE": "auto",
        },
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(60):
            said = b""
            while not said.startswith(b"metrics: "):
                said = await process.stderr.readline()
                assert said, "it ended without an address"
            address = said.decode().split()[1]
            draining = asyncio.create_task(process.stderr.read())

            async def reached() -> bool:
                return (await asyncio.to_thread(fetched, address)).get(name) == wanted

            await until(reached, seconds=45)
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 0
            await draining
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_what_comes_in_and_goes_out_is_counted(kafka: Kafka, database_url: str) -> None:
    stream = await Stream.create(kafka.bootstrap)
    for name in ("decisions", "deadletter"):
        await topics.create_topic(kafka.bootstrap, stream.topic(name), partitions=1)
    await stream.send([cluster_line(1), cluster_line(1), b"{"], key=b"test")
    await stream.send(
        [workload_line(1, replicas=2, weights={"c1": 1})], family="workload", key=b"test"
    )

    await told("consume", stream, database_url, "ledger_consume_records_total", 4)
    decided = await decide_all(database_url)
    assert decided.decisions
    await told("publish", stream, database_url, "ledger_publish_decisions_total", decided.decisions)
