"""Topics made, unmade and shortened on any cluster one may do that to.

Each function takes the address of the cluster, not a ``Cluster``: a test or a benchmark may run
against brokers that somebody else started. What a function promises holds when it returns: a
created topic has a leader for every partition, a deleted one is unknown. Kafka itself answers
earlier than that, and who relies on its answer meets errors that pass by themselves.

The ledger's consumers never come here. They take topics as they find them; that one vanished or
lost its beginning is an incident there, and these functions are how a test stages it.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any, Final

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic, RecordsToDelete
from aiokafka.errors import for_code

from ledger.errors import SetupProblem
from ledger.units import Offset

_SETTLED_SECONDS: Final = 60


async def create_topic(
    bootstrap: str,
    name: str,
    *,
    partitions: int = 1,
    replication: int = 1,
    config: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Create a topic and wait until it can be written to; a topic of that name is an error."""
    async with _admin(bootstrap) as admin:
        topic = NewTopic(name, partitions, replication, topic_configs=dict(config))
        answer = await admin.create_topics([topic])
        for _, code, message in answer.topic_errors:
            if code:
                raise SetupProblem(f"{name}: the topic was not created: {message}")

        def writable(known: Mapping[str, Any]) -> bool:
            leaders = [partition["leader"] for partition in known["partitions"]]
            return len(leaders) == partitions and min(leaders) >= 0

        await _until(admin, name, writable)


async def delete_topic(bootstrap: str, name: str) -> None:
    """Delete a topic and wait until nobody knows it; its name may then be used again."""
    async with _admin(bootstrap) as admin:
        answer = await admin.delete_topics([name])
        for _, code in answer.topic_error_codes:
            if code:
                raise SetupProblem(f"{name}: the topic was not deleted: {for_code(code).__name__}")
        await _until(admin, name, lambda known: not known["partitions"])


async def delete_records(bootstrap: str, name: str, *, partition: int, before: Offset) -> None:
    """Let a partition begin at ``before``, as retention does when it overtakes a reader."""
    async with _admin(bootstrap) as admin:
        await admin.delete_records({TopicPartition(name, partition): RecordsToDelete(before)})


@asynccontextmanager
async def _admin(bootstrap: str) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        await admin.start()
        yield admin
    finally:
        await admin.close()


async def _until(
    admin: AIOKafkaAdminClient, name: str, settled: Callable[[Mapping[str, Any]], bool]
) -> None:
    deadline = time.monotonic() + _SETTLED_SECONDS
    while not settled((await admin.describe_topics([name]))[0]):
        if time.monotonic() > deadline:
            raise SetupProblem(f"{name}: the cluster did not settle within {_SETTLED_SECONDS} s")
        await asyncio.sleep(0.02)
