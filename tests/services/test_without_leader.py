"""A partition whose only broker is down keeps nobody waiting who has nothing to do with it."""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError
from aiokafka.partitioner import DefaultPartitioner

from consumers import publisher
from consumers.local_kafka import topics
from consumers.local_kafka.brokers import BrokerId, Cluster
from ledger.errors import KafkaUnavailable
from tests.feeding import Stream, feeding, looking, nodes, until

LOST = BrokerId(2)
"""Of two brokers the first decides who leads what, so it is the second that goes."""


async def lose(cluster: Cluster, topic: str) -> tuple[int, int]:
    """End the second broker; the partition of two that is left then, and the one that is lost."""
    led_by = {leader: partition for partition, leader in (await leaders(cluster, topic)).items()}
    left, lost = led_by[BrokerId(1)], led_by[LOST]
    await cluster.kill(LOST)

    async def noticed() -> bool:
        with suppress(KafkaError):  # It may be the lost one that is asked.
            return (await leaders(cluster, topic))[lost] == -1
        return False

    await until(noticed, seconds=60, every=0.2)
    return left, lost


async def leaders(cluster: Cluster, topic: str) -> dict[int, int]:
    """Who leads each partition; -1 where nobody does."""
    admin = AIOKafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    await admin.start()
    try:
        (known,) = await admin.describe_topics([topic])
        return {one["partition"]: one["leader"] for one in known["partitions"]}
    finally:
        await admin.close()


async def test_a_consumer_takes_what_it_can_and_the_rest_when_its_leader_is_back(
    start_kafka: Callable[..., Awaitable[Cluster]], database_url: str
) -> None:
    cluster = await start_kafka(count=2)
    stream = await Stream.create(cluster.bootstrap, partitions=2)
    topic = stream.topic("cluster")
    fleets = "alpha", "beta"
    for partition, fleet in enumerate(fleets):
        await stream.send(nodes(0, 30, fleet=fleet), partition=partition, key=fleet.encode())
    left, lost = await lose(cluster, topic)

    async with feeding(stream.settings(), database_url) as running, looking(database_url) as log:
        await running.until(lambda totals: totals.records == 30, seconds=60)
        fleet = fleets[left]
        await stream.send(nodes(30, 10, fleet=fleet), partition=left, key=fleet.encode())
        await running.until(lambda totals: totals.records == 40, seconds=20)
        assert await log.size(fleet) == 40
        assert await log.rows(
            "SELECT DISTINCT partition FROM ledger.partition_epochs WHERE topic = $1", topic
        ) == [(left,)]

        await cluster.start(LOST)
        await running.until(lambda totals: totals.records == 70, seconds=60)
        assert await log.size(fleets[lost]) == 30
        totals = await running.end()

    assert (totals.stalled, totals.halted) == (0, 0)


async def test_a_publisher_is_patient_with_it_once_and_tries_again_later(
    start_kafka: Callable[..., Awaitable[Cluster]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "SILENT_SECONDS", 10.0)
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, complaint: complaints.append(complaint["message"])
    )
    cluster = await start_kafka(count=2)
    stream = await Stream.create(cluster.bootstrap, partitions=2)
    topic = stream.topic("decisions")
    await topics.create_topic(cluster.bootstrap, topic, partitions=2)
    post = publisher.Post(stream.settings())
    await post.ready()
    left, lost = await lose(cluster, topic)
    page = [parcel(lost, 0), parcel(left, 1)]

    assert await post.hand_on(topic, [parcel(left, 0), *page]) == 1
    for sent in (page, page):
        began = time.monotonic()
        with pytest.raises(KafkaUnavailable, match="acknowledges nothing"):
            await post.hand_on(topic, sent)
        assert time.monotonic() - began < publisher.PATIENCE_SECONDS
    assert await post.hand_on(topic, page[1:]) == 1

    await cluster.start(LOST)
    taken: list[int] = []

    async def tried_again() -> bool:
        with suppress(KafkaUnavailable):
            taken.append(await post.hand_on(topic, page))
        return bool(taken)

    await until(tried_again, seconds=60, every=0.2)
    # The first one alone shows that the partition takes something again.
    assert [*taken, await post.hand_on(topic, page)] == [1, 2]
    await post.close()
    gc.collect()
    assert complaints == [], "nothing was left behind at which nobody looked"


def parcel(partition: int, number: int) -> publisher.Parcel:
    """One that belongs in a partition of two."""
    key = next(
        key
        for key in (f"{number}/{tried}".encode() for tried in range(100))
        if DefaultPartitioner()(key, [0, 1], []) == partition
    )
    message = publisher.Outgoing(key, b"value", ())
    return publisher.Parcel(key.decode(), message, message)
