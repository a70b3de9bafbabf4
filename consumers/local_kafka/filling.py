"""A partition filled as fast as Kafka takes it: what benchmarks read from.

The ledger itself never writes like this. Events go in whole batches that one broker acknowledges
and that nobody repeats, which is right for data that exists only to be measured, and wrong for any
other.
"""

from collections import deque
from collections.abc import Iterable
from typing import Any, Final, Self

from aiokafka import AIOKafkaProducer

_BATCH_BYTES: Final = 512 * 1024
"""Half of what a broker takes at once by default."""

_UNDER_WAY: Final = 8
"""Batches that wait for their acknowledgement at a time; more would only fill memory."""

_HEADERS: Final = [("content-type", b"application/cloudevents+json")]


class Filler:
    """Writes events in structured mode, each partition in the order given."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap, acks=1, max_batch_size=_BATCH_BYTES
        )

    async def __aenter__(self) -> Self:
        await self._producer.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._producer.stop()

    async def fill(
        self, topic: str, partition: int, *, key: bytes, events: Iterable[bytes]
    ) -> None:
        """Write ``events`` under one key; all of them are in the partition when this returns."""
        waiting: deque[Any] = deque()
        batch = self._producer.create_batch()
        for event in events:
            if _added(batch, key, event):
                continue
            waiting.append(await self._producer.send_batch(batch, topic, partition=partition))
            if len(waiting) > _UNDER_WAY:
                await waiting.popleft()
            batch = self._producer.create_batch()
            fits = _added(batch, key, event)
            assert fits, "an empty batch takes any event that Kafka takes"
        if batch.record_count():
            waiting.append(await self._producer.send_batch(batch, topic, partition=partition))
        while waiting:
            await waiting.popleft()


def _added(batch: Any, key: bytes, event: bytes) -> bool:
    """Whether the batch had room for one more."""
    return batch.append(key=key, value=event, timestamp=None, headers=_HEADERS) is not None
