"""Where partitions begin and end, asked of Kafka beside the loop and of each by itself.

A client answers for all partitions it was asked about or for none, and as long as one of them has
no leader it tries again. So each is asked about alone, as a task that keeps nobody waiting, and
one that gets no answer is asked about again after a while, longer each time.

An answer ages: somebody else may take records, and Kafka delete some, while it lies here. An old
one is thrown away. A young one may still be behind the log, so nobody halts a partition for an
answer that was asked for before the epoch it is compared under.
"""

import asyncio
from dataclasses import dataclass
from typing import Final, NamedTuple

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from ledger.units import Offset

log = structlog.get_logger()

LOOKUP_SECONDS: Final = 5.0
"""How long Kafka may take to say where a partition begins and ends."""

FRESH_SECONDS: Final = 5.0
"""How long an answer is of use."""

RETRY_SECONDS: Final = 0.5
"""How long a partition without an answer is left alone at first."""

LONGEST_RETRY_SECONDS: Final = 15.0
"""How long it is at most."""


class Ends(NamedTuple):
    """The first offset of a partition that can be read, and the one behind its last."""

    first: Offset
    end: Offset
    told: Offset | None = None
    """Up to where the group was told that it was taken; None where it was not, or was not asked."""


async def ends_of(client: AIOKafkaConsumer, at: TopicPartition) -> Ends | None:
    """Where a partition begins and ends, or None where Kafka does not say just now."""
    try:
        async with asyncio.timeout(LOOKUP_SECONDS):
            first = await client.beginning_offsets([at])
            end = await client.end_offsets([at])
    except (KafkaError, TimeoutError) as error:
        log.warning("offsets_unknown", topic=at.topic, partition=at.partition, why=repr(error))
        return None
    return Ends(first[at], end[at])


async def known_of(client: AIOKafkaConsumer, at: TopicPartition) -> Ends | None:
    """The same with what the group was told: no log has taken less, unless it was restored."""
    try:
        async with asyncio.timeout(LOOKUP_SECONDS):
            told = await client.committed(at)
    except (KafkaError, TimeoutError) as error:
        log.warning("offsets_unknown", topic=at.topic, partition=at.partition, why=repr(error))
        return None
    ends = await ends_of(client, at)
    return None if ends is None else ends._replace(told=told)


@dataclass(slots=True)
class _Question:
    """What is known about a partition, and what is being done to know it."""

    since: float
    """Since when no answer has come."""
    asking: asyncio.Task[Ends | None] | None = None
    asked_at: float = 0
    answer: Ends | None = None
    not_before: float = 0
    patience: float = RETRY_SECONDS


class Reach:
    """What one client says of where partitions begin and end."""

    def __init__(self, client: AIOKafkaConsumer) -> None:
        """Nothing was asked yet."""
        self._client = client
        self._loop = asyncio.get_running_loop()
        self._questions: dict[TopicPartition, _Question] = {}

    def ask(self, at: TopicPartition) -> None:
        """See to it that there will be an answer, unless there is one or it is too early for it."""
        if self.answered(at):
            return
        now = self._loop.time()
        question = self._questions.setdefault(at, _Question(since=now))
        if question.asking is None and question.not_before <= now:
            question.asked_at = now
            question.asking = asyncio.create_task(known_of(self._client, at))

    def answered(self, at: TopicPartition) -> bool:
        """Whether there is an answer that is of use."""
        question = self._questions.get(at)
        if question is None:
            return False
        now = self._loop.time()
        if question.asking is not None and question.asking.done():
            question.answer, question.asking = question.asking.result(), None
            if question.answer is None:
                question.not_before = now + question.patience
                question.patience = min(2 * question.patience, LONGEST_RETRY_SECONDS)
        if question.answer is not None and question.asked_at < now - FRESH_SECONDS:
            del self._questions[at]
            return False
        return question.answer is not None

    def take(self, at: TopicPartition) -> Ends | None:
        """The answer, once."""
        return self._questions.pop(at).answer if self.answered(at) else None

    def under_way(self) -> set[asyncio.Task[Ends | None]]:
        """What to wait for."""
        return {
            question.asking
            for question in self._questions.values()
            if question.asking is not None and not question.asking.done()
        }

    def unanswered_for(self, at: TopicPartition) -> float:
        """For how many seconds a partition has been asked about in vain."""
        question = self._questions.get(at)
        if question is None or self.answered(at):
            return 0
        return self._loop.time() - question.since

    def excuse(self, at: TopicPartition) -> None:
        """Count the time without an answer from now on."""
        question = self._questions.get(at)
        if question is not None:
            question.since = self._loop.time()

    def forget(self) -> None:
        """Drop what is known, and what is being asked."""
        for task in self.under_way():
            task.cancel()
        self._questions.clear()
