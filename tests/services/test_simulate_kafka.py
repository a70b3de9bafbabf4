"""``ledger simulate --kafka`` on a real broker: every event in its topic, in order, under its key."""

import asyncio
import json
import os
import sys
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from consumers import subscription
from consumers.local_kafka.topics import create_topic
from ledger.cli.simulator.history import Simulation
from tests.kafka import Kafka, fresh_name

EVENTS = 800


async def simulate(*words: str, **environment: str) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ledger.cli.main", "simulate", *words, "--json"),
        env=os.environ | environment,
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0
    told: dict[str, Any] = json.loads(said)
    return told


def read(bootstrap: str, topic: str, count: int) -> list[tuple[bytes | None, bytes | None]]:
    """So many messages of a topic, each key and value."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": fresh_name("reader")})
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        found = consumer.consume(count, timeout=30)
        assert all(message.error() is None for message in found)
        return [(message.key(), message.value()) for message in found]
    finally:
        consumer.close()


async def test_every_event_is_in_its_topic_in_order(kafka: Kafka) -> None:
    prefix = f"{fresh_name('simulated')}."
    for topic in subscription.topics(prefix):
        await create_topic(kafka.bootstrap, topic.name, partitions=1)

    told = await simulate(
        *("--kafka", "--events", str(EVENTS), "--fleet", "north"),
        LEDGER_KAFKA_BOOTSTRAP=kafka.bootstrap,
        LEDGER_KAFKA_TOPIC_PREFIX=prefix,
    )

    expected: dict[str, list[tuple[bytes | None, bytes | None]]] = {}
    for message in Simulation(1, fleet="north").messages(EVENTS):
        name = prefix + message.topic.removeprefix("ledger.")
        expected.setdefault(name, []).append((message.key, message.value))
    assert told["events"] == EVENTS
    for name, messages in expected.items():
        found = await asyncio.to_thread(read, kafka.bootstrap, name, len(messages))
        assert found == messages


async def test_a_kafka_that_is_not_there_is_named() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ledger.cli.main", "simulate", "--kafka"),
        env=os.environ | {"LEDGER_KAFKA_BOOTSTRAP": "127.0.0.1:1"},
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()

    assert process.returncode == 75
    assert b"ledger: Kafka:" in said
