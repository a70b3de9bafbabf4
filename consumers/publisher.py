"""Hand on to Kafka: decisions in the order of their numbers, and what could not be accepted.

One process publishes for a fleet at a time, by lease. It reads the decisions behind the fleet's
cursor, sends them, waits until every one is acknowledged, and moves the cursor: each goes out at
least once. A reader keeps the last number it has seen of a subject and ignores one that is not
above it.

A decision goes out as a CloudEvent whose data is the record itself, so that whoever receives it
can recompute its leaf: SHA-256 over a zero byte and the canonical JSON of ``data``. A record too
large for a topic is announced instead, by its digest and by where to read it.

Quarantined messages go out the same way, under the lease and the cursor of the ledger's own fleet:
key, value and headers as they were received, and why they were refused in headers of ours.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import Any, Final

import orjson
import structlog

from consumers import clients
from consumers.settings import Settings
from ledger.errors import KafkaUnavailable, LogUnavailable, WrongPosition
from ledger.facts.decision import Decision, from_record
from ledger.log import decisions, fleets, leases, outbox, quarantine
from ledger.log.database import Connection, connected
from ledger.log.decisions import StoredDecision
from ledger.log.fleets import Fleet
from ledger.log.leases import Lease
from ledger.log.messages import Headers
from ledger.log.quarantine import SetAside
from ledger.log.read import Bell
from ledger.units import LEDGER_FLEET, Position

LARGEST_RECORD: Final = 512 * 1024
"""Half of what a broker takes in one message unless told otherwise."""

LARGEST_LETTER: Final = 900 * 1024
"""A quarantined message came by a topic as a rule, so nearly all of what a broker takes is let be;
the rest is room for our headers."""

PAGE_BYTES: Final = 4 * 1024 * 1024
"""What is under way to the brokers at a time: with the largest records, a page is a few of them."""

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


def within(page: Sequence[StoredDecision]) -> Sequence[StoredDecision]:
    """The beginning of a page that is not larger than PAGE_BYTES, or its first decision alone."""
    size = 0
    for place, stored in enumerate(page):
        size += len(stored.record)
        if place and size > PAGE_BYTES:
            return page[:place]
    return page


@dataclass(frozen=True, slots=True)
class Letter:
    """A quarantined message on its way to Kafka."""

    key: bytes | None
    value: bytes | None
    headers: Headers


def letter(found: SetAside) -> Letter:
    """The message as received, with our headers behind its own; too large a one, those alone."""
    said: Headers = (
        ("ledger-reason", found.reason.encode()),
        ("ledger-address", found.address.encode()),
        ("ledger-detail", found.detail.encode()),
    )
    parts = [found.key, found.value]
    for name, content in found.headers:
        parts += [name.encode(), content]
    size = sum(len(part) for part in parts if part is not None)
    if size > LARGEST_LETTER:
        return Letter(None, b"", (*said, ("ledger-bytes", str(size).encode())))
    # Kafka could hold a record with neither key nor value, but its client will not send one.
    value = b"" if found.key is None and found.value is None else found.value
    return Letter(found.key, value, (*found.headers, *said))


_HandOn = Callable[[Fleet, int], Awaitable[int]]
"""Send what stands behind a cursor, and say where the cursor belongs then."""


class _Publisher:
    """Publishes for every fleet in turn, as long as both sides are there."""

    def __init__(self, producer: Any, connection: Connection, prefix: str, holder: str) -> None:
        self._producer = producer
        self._connection = connection
        self._decisions_topic = f"{prefix}decisions"
        self._letters_topic = f"{prefix}deadletter"
        self._holder = holder
        self._held: dict[str, tuple[Lease, float]] = {}

    async def turn(self) -> bool:
        """One page of each fleet; False where there was nothing to hand on."""
        busy = [
            await self._publish(fleet, self._decisions)
            for fleet in await fleets.every(self._connection)
        ]
        own = await fleets.find(self._connection, LEDGER_FLEET)
        if own is not None:
            busy.append(await self._publish(own, self._letters))
        return any(busy)

    async def let_go(self) -> None:
        """Give every lease back."""
        for lease, _ in self._held.values():
            await leases.let_go(self._connection, lease)
        self._held.clear()

    async def _publish(self, fleet: Fleet, hand_on: _HandOn) -> bool:
        try:
            lease = await self._lease(fleet)
            if lease is None:
                return False
            first = await outbox.next_number(self._connection, fleet)
            after = await hand_on(fleet, first)
            if after == first:
                return False
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

    async def _decisions(self, fleet: Fleet, first: int) -> int:
        empty: list[StoredDecision] = []
        page = within(await anext(decisions.pages(self._connection, fleet, first=first), empty))
        waiting = []
        with clients.denials_named():
            for stored in page:
                decision = from_record(stored.record)
                waiting.append(
                    await self._producer.send(
                        self._decisions_topic,
                        key=key(decision),
                        value=message(stored, decision),
                        headers=[("content-type", CONTENT_TYPE)],
                    )
                )
            await asyncio.gather(*waiting)
        return first + len(page)

    async def _letters(self, _fleet: Fleet, first: int) -> int:
        page = await quarantine.page(self._connection, first=Position(first))
        waiting = []
        with clients.denials_named():
            for found in page:
                sent = letter(found)
                waiting.append(
                    await self._producer.send(
                        self._letters_topic,
                        key=sent.key,
                        value=sent.value,
                        headers=list(sent.headers),
                    )
                )
            await asyncio.gather(*waiting)
        return page[-1].position + 1 if page else first


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
    async with AsyncExitStack() as open_:
        connection = await open_.enter_async_context(connected(database_url, "ledger_publisher"))
        listening = await open_.enter_async_context(connected(database_url, "ledger_publisher"))
        bell = Bell(listening, "ledger_decisions")
        await bell.listen()
        producer = clients.producer(settings)
        await open_.enter_async_context(clients.running(producer))
        publisher = _Publisher(producer, connection, settings.kafka_topic_prefix, holder)
        while not stop.is_set():
            if not await publisher.turn():
                await bell.wait(at_most=POLL_SECONDS)
        await publisher.let_go()


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()
