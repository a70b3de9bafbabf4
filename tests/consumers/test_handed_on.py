"""What Kafka has of the decisions that were handed on is read to its end, or not waited for without end."""

import asyncio
from typing import Any, Final

import pytest

from consumers import handed_on
from consumers.handed_on import Looked, Told, read_up_to
from consumers.settings import Settings
from ledger.errors import KafkaUnavailable
from ledger.units import DecisionNumber, FleetName, Incarnation, Offset
from tests.consumers.fakes import Broker, part

SHOP: Final = FleetName("shop")
NO_LOG: Any = None
"""Nothing in the topic is a decision, so nothing is looked up."""


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    """Ten messages, of which a client gets four at a time and waits for more for longer than one answer takes."""
    made = Broker(1)
    made[0].write(10)
    monkeypatch.setattr(handed_on, "LOOKUP_SECONDS", 2.5)
    monkeypatch.setattr(handed_on, "PAGE", 4)
    return made


async def read(broker: Broker, stop: asyncio.Event) -> int:
    """Where a client is that has read as far as it is to."""
    client: Any = broker.witness(Settings())
    client.seek(part(0), 0)
    await read_up_to(client, part(0), Offset(10), NO_LOG, Looked(), stop)
    reached: int = await client.position(part(0))
    return reached


async def test_what_is_there_is_read_to_its_end(broker: Broker) -> None:
    assert await read(broker, asyncio.Event()) == 10


async def test_a_partition_that_gives_nothing_more_is_not_waited_for_without_end(
    broker: Broker,
) -> None:
    """Asked for more it answers each time, and says that there is nothing."""

    def silent() -> None:
        broker[0].led = False

    broker.on_reading = silent
    async with asyncio.timeout(30):
        with pytest.raises(KafkaUnavailable, match="gives nothing more"):
            await read(broker, asyncio.Event())


async def test_who_is_to_end_does_not_read_on(broker: Broker) -> None:
    stop = asyncio.Event()
    broker.on_reading = stop.set

    assert await read(broker, stop) == 4


def test_what_was_lost_of_several_lives_is_counted_once_each() -> None:
    """The log was restored to decision 50 of its first life; its second one began at 60."""
    looked = Looked()
    handed = [(1, number) for number in range(40, 80)] + [(2, number) for number in range(60, 100)]
    for life, number in [*handed, *handed[-30:]]:
        told = Told(SHOP, Incarnation(life), DecisionNumber(number), "digest")
        recorded = (1, "digest") if number < 50 else None
        looked.add(told, recorded, Incarnation(1))

    found = looked.of(SHOP)

    assert found is not None
    assert (found.newest, found.first_lost, found.lost) == ((2, 99), (1, 50), 30 + 40)
