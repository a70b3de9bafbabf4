"""Tell events to Kafka as an agent does: structured mode, one key a fleet, acknowledged, in order.

For histories that are invented. What the ledger itself has to say goes out by ``publisher``.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

from consumers import clients
from consumers.settings import Settings

_HEADERS: Final = [("content-type", b"application/cloudevents+json; charset=UTF-8")]
_OUR_PREFIX: Final = "ledger."
"""What topics begin with in the contract; an installation may have another."""

Tell = Callable[[Sequence[tuple[str, bytes, bytes]]], Awaitable[None]]
"""Sends messages, each a topic as the contract names it, a key and a value; returns when all of
them are acknowledged."""


@asynccontextmanager
async def telling(settings: Settings) -> AsyncIterator[Tell]:
    """A way to Kafka for as long as this lasts."""
    producer = clients.producer(settings)

    async def tell(messages: Sequence[tuple[str, bytes, bytes]]) -> None:
        with clients.denials_named():
            under_way = [
                await producer.send(
                    settings.kafka_topic_prefix + topic.removeprefix(_OUR_PREFIX),
                    value,
                    key=key,
                    headers=_HEADERS,
                )
                for topic, key, value in messages
            ]
            for acknowledged in under_way:
                await acknowledged

    async with clients.running(producer):
        yield tell
