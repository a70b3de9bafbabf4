"""How much is taken in at a time, in bytes as well as in records.

aiokafka bounds what it fetches by its compressed size, and what it hands over by the number of
records. Neither says how large they are: a batch of small events and one of large events differ a
hundredfold. So a client is asked in bites until there is enough for a batch, and what it gave is
cut where a transaction would be too large.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from consumers.custody import Record

BATCH_BYTES: Final = 8 * 1024 * 1024
"""What one transaction takes; a record that is larger goes in alone."""

BITE: Final = 64
"""Records asked for at first, as long as nobody knows their size: 4 MiB where they are of 64 KiB, the
most that everybody who speaks CloudEvents must take."""

LARGEST_BITE: Final = 8 * BITE
"""Records asked for at most. Twice as many each time, as long as they are small: a batch of five
thousand is some dozen bites, each of which costs a turn of the loop."""

SMALL_BYTES: Final = 512 * 1024
"""What a bite may weigh for the next one to be twice as many."""


class Haul(NamedTuple):
    """What a client gave, and how much it weighs altogether."""

    records: dict[TopicPartition, list[ConsumerRecord]]
    weight: int

    def portions(self, records: list[ConsumerRecord]) -> Iterable[Sequence[ConsumerRecord]]:
        """These of its records, as many at a time as a transaction takes."""
        if self.weight > BATCH_BYTES:
            return cut(records)
        # The rule, and there are many of them: nothing is weighed twice.
        return [records] if records else []


async def gathered(
    client: AIOKafkaConsumer, partitions: Sequence[TopicPartition], *, most: int, wait_ms: int
) -> Haul:
    """Records as long as there are some at hand and they are not enough; waits for the first alone.

    Whatever the client raises, what it gave before is forgotten with it: it may have dropped
    records of its own accord, so everything is read again from where reading was said to begin.
    """
    found: dict[TopicPartition, list[ConsumerRecord]] = {}
    count = size = 0
    bite = BITE
    while count < most and size < BATCH_BYTES:
        given: dict[TopicPartition, list[ConsumerRecord]] = await client.getmany(
            *partitions,
            timeout_ms=0 if found else wait_ms,
            max_records=min(bite, most - count),
        )
        if not given:
            break
        before = size
        for at, records in given.items():
            found.setdefault(at, []).extend(records)
            count += len(records)
            size += sum(map(weight, records))
        bite = min(2 * bite, LARGEST_BITE) if size - before < SMALL_BYTES else BITE
        await asyncio.sleep(0)
    return Haul(found, size)


def cut(records: Sequence[Record], *, at: int = BATCH_BYTES) -> Iterator[Sequence[Record]]:
    """The same records in portions of no more than ``at`` bytes each, or of one record."""
    begin = size = 0
    for place, record in enumerate(records):
        heavy = weight(record)
        if place > begin and size + heavy > at:
            yield records[begin:place]
            begin, size = place, 0
        size += heavy
    if records:
        yield records[begin:]


def weight(record: Record) -> int:
    """The bytes of a record that somebody chose."""
    size = len(record.value or b"") + len(record.key or b"")
    for _, value in record.headers:
        size += len(value or b"")
    return size
