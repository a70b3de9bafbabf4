"""Whether the client is stuck: silent about a partition where another client is not.

aiokafka can fall silent for ever while it looks well and stays a member of the group. What shows
is time that passes: a partition it is asked for gives no records, or it does not even say where
one begins that was assigned to it. Silence alone proves nothing, for there may be nothing to read,
no leader, or no Kafka. So another client, outside the group, is asked the same, about each
partition by itself and while the loop goes on. Only what it can say and ours cannot is held
against ours.

Time counts only while somebody waited for the client. A loop that was kept elsewhere, by a slow
Postgres for one, has asked for nothing and was refused nothing. And what the other one saw may have
come just then: so a client is waited for a little longer, and must be found wanting once more.
"""

import asyncio
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Final

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from consumers import clients
from consumers.custody import Custody
from consumers.reach import LOOKUP_SECONDS, Reach, ends_of
from consumers.settings import Settings
from ledger.errors import KafkaUnavailable

log = structlog.get_logger()

INQUIRY_SECONDS: Final = 4 * LOOKUP_SECONDS
"""How long asking another client may take: it has to start, to ask, and to ask ours once more."""


PROBATION_SECONDS: Final = 2.0
"""How much longer a partition is waited for after it was found wanting, until it is asked about
again: ten times as long as one request for records waits."""


class ClientStuckError(Exception):
    """The client makes no progress although there is something to read."""


class Watchdog:
    """Looks after one client."""

    def __init__(self, settings: Settings, client: AIOKafkaConsumer, reach: Reach) -> None:
        """Nothing was asked of it yet."""
        self._settings = settings
        self._client = client
        self._reach = reach
        self._loop = asyncio.get_running_loop()
        self._waited: dict[TopicPartition, float] = {}
        """How long each partition has been waited for since it last gave a record."""
        self._waiting: dict[TopicPartition, float] = {}
        """Since when those are waited for that are asked for now."""
        self._found_wanting: dict[TopicPartition, float] = {}
        """How long those had been waited for of which another client saw more than ours gave."""
        self._inquiry: asyncio.Task[dict[TopicPartition, str | None]] | None = None

    def asks(self, partitions: Collection[TopicPartition]) -> None:
        """From now on these are waited for."""
        self._waiting = dict.fromkeys(partitions, self._loop.time())

    def answered(self) -> None:
        """From now on nothing is waited for."""
        now = self._loop.time()
        for at, since in self._waiting.items():
            self._waited[at] = self._waited.get(at, 0) + now - since
        self._waiting.clear()

    def heard(self, at: TopicPartition) -> None:
        """A partition gave a record, or its time begins anew for another reason."""
        self._waited.pop(at, None)
        self._found_wanting.pop(at, None)
        if at in self._waiting:
            self._waiting[at] = self._loop.time()

    def look(
        self, custody: Mapping[TopicPartition, Custody], unadopted: Collection[TopicPartition]
    ) -> None:
        """Ask another client about partitions that are silent; raise what it said last time."""
        silent = self._silent(custody, unadopted)
        if self._inquiry is None:
            if silent:
                self._inquiry = asyncio.create_task(self._inquire(silent))
            return
        if not self._inquiry.done():
            return
        inquiry, self._inquiry = self._inquiry, None
        for at, charge in inquiry.result().items():
            if charge is None or at not in silent:
                self.heard(at)
                self._reach.excuse(at)
            elif silent[at] is None or at in self._found_wanting:
                raise ClientStuckError(charge)
            else:
                self._found_wanting[at] = self._waited_for(at)

    async def close(self) -> None:
        """Ask no more."""
        inquiry, self._inquiry = self._inquiry, None
        if inquiry is not None:
            inquiry.cancel()
            await asyncio.wait([inquiry])

    def _silent(
        self, custody: Mapping[TopicPartition, Custody], unadopted: Collection[TopicPartition]
    ) -> dict[TopicPartition, Custody | None]:
        """The partitions that are waited for too long, with our custody where they are read."""
        longest = self._settings.kafka_stall_seconds
        wanting = {at: had + PROBATION_SECONDS for at, had in self._found_wanting.items()}
        silent: dict[TopicPartition, Custody | None] = {
            at: None for at in unadopted if self._reach.unanswered_for(at) > longest
        }
        for at, held in custody.items():
            if held.able and self._waited_for(at) > wanting.get(at, longest):
                silent[at] = held
            elif held.state == "doubted" and self._reach.unanswered_for(at) > longest:
                silent[at] = None
        return silent

    def _waited_for(self, at: TopicPartition) -> float:
        waited = self._waited.get(at, 0)
        since = self._waiting.get(at)
        return waited if since is None else waited + self._loop.time() - since

    async def _inquire(
        self, silent: Mapping[TopicPartition, Custody | None]
    ) -> dict[TopicPartition, str | None]:
        """What speaks against our client, partition by partition; None where nothing does."""
        other = clients.witness(self._settings)
        try:
            async with asyncio.timeout(INQUIRY_SECONDS), clients.running(other):
                charges = await asyncio.gather(
                    *(self._charge(other, at, held) for at, held in silent.items())
                )
        except (KafkaError, KafkaUnavailable, TimeoutError) as error:
            log.warning("kafka_does_not_answer", why=repr(error))
            return dict.fromkeys(silent)
        return dict(zip(silent, charges, strict=True))

    async def _charge(
        self, other: AIOKafkaConsumer, at: TopicPartition, custody: Custody | None
    ) -> str | None:
        seen = await ends_of(other, at)
        if seen is None:
            return None
        place = f"{at.topic}/{at.partition}"
        if custody is None:
            # It may just have got a leader: what the other one knows now ours can know too.
            if await ends_of(self._client, at) is not None:
                return None
            return f"{place}: assigned, but silent on where it begins, which is at {seen.first}"
        if seen.end <= await self._reached(custody):
            return None
        return f"{place}: silent at {custody.wanted}, although it reaches to {seen.end}"

    async def _reached(self, custody: Custody) -> int:
        """How far the client has read, transaction markers and the like included."""
        with suppress(KafkaError, TimeoutError):
            async with asyncio.timeout(LOOKUP_SECONDS):
                reached: int = await self._client.position(custody.at)
                return max(custody.wanted, reached)
        return custody.wanted
