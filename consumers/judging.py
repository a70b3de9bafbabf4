"""Kafka records to messages at the door of the log, without keeping the heartbeats waiting."""

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from consumers.custody import Record
from consumers.topic import Topic
from ledger.events.codec import accept
from ledger.log.messages import Coordinates, Message
from ledger.units import FleetName

SLICE: Final = 32
"""Records judged between two turns of the event loop: under a millisecond. No heartbeat is late, and
the batch before, which is being written meanwhile, waits little for each of its some thirty turns."""


async def judge(topic: Topic, partition: int, records: Sequence[Record]) -> list[Message]:
    """What the contract says of each record, in their order."""
    messages: list[Message] = []
    name, families = topic.name, topic.families
    for start in range(0, len(records), SLICE):
        for record in records[start : start + SLICE]:
            headers = record.headers
            verdict = accept(
                record.value, headers=headers, families=families, fleet=told(record.key)
            )
            at = Coordinates("kafka", name, partition, record.offset)
            messages.append(Message(at, verdict, record.key, record.value, headers))
        await asyncio.sleep(0)
    return messages


@lru_cache(maxsize=4096)
def told(key: bytes | None) -> FleetName | None:
    """The fleet that a message's key names; one that is not text names none that could exist."""
    return None if key is None else FleetName(key.decode("utf-8", "backslashreplace"))
