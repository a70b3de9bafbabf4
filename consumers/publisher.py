"""Hand decisions to Kafka: each fleet's in the order of their numbers, each at least once.

One process publishes for a fleet at a time, by lease. It reads the decisions behind the fleet's
cursor, sends them, waits until every one is acknowledged, and moves the cursor. A reader keeps the
last number it has seen of a subject and ignores one that is not above it.

A decision goes out as a CloudEvent whose data is the record itself, so that whoever receives it
can recompute its leaf: SHA-256 over a zero byte and the canonical JSON of ``data``. A record too
large for a topic is announced instead, by its digest and by where to read it.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import orjson
import structlog

from consumers import clients
from consumers.settings import Settings
from ledger.errors import KafkaUnavailable, LogUnavailable, WrongPosition
from ledger.facts.decision import Decision, from_record
from ledger.log import decisions, fleets, leases, outbox
from ledger.log.database import Connection, connect
from ledger.log.decisions import StoredDecision
from ledger.log.fleets import Fleet
from ledger.log.leases import Lease
from ledger.log.read import Bell

LARGEST_RECORD: Final = 512 * 1024
"""Half of what a broker takes in one message unless told otherwise."""

POLL_SECONDS: Final = 0.5
RETRY_SECONDS: Final = 1.0

CONTENT_TYPE: Final = b"application/cloudevents+json; charset=UTF-8"

log = structlog.get_logger()


def key(decision: Decision) -> bytes:
    """The Kafka key: all decisions about a subject go to one partition, in order."""
    return f"{decision.fleet}/{decision.subject}".encode()


def message(stored: StoredDecision, decision: Decision) -> bytes:
    """The CloudEvent that announces a decision."""
    name = f"{decision.fleet}/{decision.incarnation}/{decision.number}"
    event: dict[str, Any] = {
        "specversion": "1.0",
        "id": name,
        "source": f"ledger/{decision.fleet}",
        "type": f"ledger.decision.{decision.kind}.recorded.v1",
        "subject": decision.subject,
        "fleet": decision.fleet,
        "digest": stored.digest.hex(),
    }
    if len(stored.record) > LARGEST_RECORD:
        return orjson.dumps(event | {"data": {"address": name, "bytes": len(stored.record)}})
    # The record is JSON already, and its bytes are what the digest is taken of.
    return orjson.dumps(event)[:-1] + b',"data":' + stored.record + b"}"


class _Publisher:
    """Publishes for every fleet in turn, as long as both sides are there."""

    def __init__(self, producer: Any, connection: Connection, topic: str, holder: str) -> None:
        self._producer = producer
        self._connection = connection
        self._topic = topic
        self._holder = holder
        self._held: dict[str, tuple[Lease, float]] = {}

    async def turn(self) -> bool:
        """One page of each fleet; False where there was nothing to hand on."""
        busy = [await self._publish(fleet) for fleet in await fleets.every(self._connection)]
        return any(busy)

    async def let_go(self) -> None:
        """Give every lease back."""
        for lease, _ in self._held.values():
            await leases.let_go(self._connection, lease)
        self._held.clear()

    async def _publish(self, fleet: Fleet) -> bool:
        try:
            lease = await self._lease(fleet)
            if lease is None:
                return False
            first = await outbox.next_number(self._connection, fleet)
            page = await anext(decisions.pages(self._connection, fleet, first=first), None)
            if page is None:
                return False
            await self._send(page)
            after = first + len(page)
            await outbox.move(self._connection, lease, before=first, after=after)
        except WrongPosition as error:
            log.warning("lease_lost", fleet=fleet.name, why=str(error))
            self._held.pop(fleet.name, None)
            return False
        log.info("published", fleet=fleet.name, first=first, next=after)
        return True

    async def _lease(self, fleet: Fleet) -> Lease | None:
        now = asyncio.get_running_loop().time()
        if fleet.name not in self._held:
            lease = await leases.acquire(self._connection, fleet, "publish", holder=self._holder)
            if lease is not None:
                self._held[fleet.name] = lease, now
            return lease
        lease, renewed = self._held[fleet.name]
        if now - renewed > leases.RENEW_SECONDS:
            await leases.renew(self._connection, lease)
            self._held[fleet.name] = lease, now
        return lease

    async def _send(self, page: Sequence[StoredDecision]) -> None:
        waiting = []
        with clients.denials_named():
            for stored in page:
                decision = from_record(stored.record)
                waiting.append(
                    await self._producer.send(
                        self._topic,
                        key=key(decision),
                        value=message(stored, decision),
                        headers=[("content-type", CONTENT_TYPE)],
                    )
                )
            await asyncio.gather(*waiting)


async def run(settings: Settings, database_url: str, *, holder: str, stop: asyncio.Event) -> None:
    """Publish until ``stop`` is set; a side that goes away is waited for."""
    while not stop.is_set():
        try:
            await _while_both_are_there(settings, database_url, holder, stop)
        except (KafkaUnavailable, LogUnavailable) as error:
            log.warning("cannot publish now", why=str(error))
            await _wait(stop, RETRY_SECONDS)


async def _while_both_are_there(
    settings: Settings, database_url: str, holder: str, stop: asyncio.Event
) -> None:
    connection = await connect(database_url, "ledger_publisher")
    listening = await connect(database_url, "ledger_publisher")
    try:
        bell = Bell(listening, "ledger_decisions")
        await bell.listen()
        producer = clients.producer(settings)
        async with clients.running(producer):
            topic = f"{settings.kafka_topic_prefix}decisions"
            publisher = _Publisher(producer, connection, topic, holder)
            while not stop.is_set():
                if not await publisher.turn():
                    await bell.wait(at_most=POLL_SECONDS)
            await publisher.let_go()
    finally:
        await connection.close()
        await listening.close()


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()
