"""Nobody who reads a log forward ever misses an event, however many write to it at once.

Positions that are drawn before a transaction commits can be committed out of order, and a reader
who has gone past such a hole never comes back to it. That is how stores with a sequence lose
events. Here positions are drawn under a lock that is held until the commit, and this is the
stress that shows it: many writers, several appends in each transaction, some of which roll back,
and a reader who goes on from wherever the log seems to end.
"""

import asyncio
from random import Random

from ledger.events.codec import Accepted, accept_line
from ledger.log import fleets, lines, read
from ledger.log.append import append
from ledger.log.database import Connection, connect
from ledger.log.fleets import Fleet
from ledger.log.intake import Intake, open_fleet
from ledger.log.messages import Coordinates, Message
from ledger.log.trees import recorded_root
from ledger.units import FleetName, Position
from tests.events_for_tests import cluster_line

WRITERS = 4
TRANSACTIONS = 150
APPENDS = 8
COMMITTED = WRITERS * TRANSACTIONS * APPENDS
FLEET = FleetName("test")


class RolledBackError(Exception):
    """A writer changed its mind."""


def message(number: int, fleet: FleetName = FLEET) -> tuple[Message, Accepted]:
    line = cluster_line(number, fleet=fleet)
    verdict = accept_line(line, families=lines.FAMILIES)
    assert isinstance(verdict, Accepted)
    return Message(Coordinates("file", None, None, number), verdict, None, line), verdict


async def write(url: str, fleet: Fleet, writer: int) -> int:
    """All transactions of a writer, each tried again if it rolled back; says how often that was."""
    chance = Random(writer)
    connection = await connect(url, "ledger_writer")
    rolled_back = 0
    try:
        for transaction in range(TRANSACTIONS):
            first = (writer * TRANSACTIONS + transaction) * APPENDS
            while True:
                stop_after = chance.choice([None, None, None, *range(APPENDS + 1)])
                try:
                    await _transaction(connection, fleet, first, stop_after)
                except RolledBackError:
                    rolled_back += 1
                else:
                    break
    finally:
        await connection.close()
    return rolled_back


async def _transaction(
    connection: Connection, fleet: Fleet, first: int, stop_after: int | None
) -> None:
    async with connection.transaction():
        for number in range(APPENDS):
            if number == stop_after:
                raise RolledBackError
            await append(connection, fleet, [message(first + number)], ask_first=False)
        if stop_after == APPENDS:
            raise RolledBackError


async def tail(url: str, fleet: Fleet) -> list[tuple[int, str]]:
    """Position and id of all events, read while they are written; never looks back."""
    connection = await connect(url, "ledger_decider")
    seen: list[tuple[int, str]] = []
    try:
        while len(seen) < COMMITTED:
            first = Position(seen[-1][0] + 1 if seen else 0)
            seen += [
                (event.position, event.id)
                for event in await read.page(connection, fleet, first=first, limit=100)
            ]
            if seen and seen[-1][0] >= COMMITTED - 1:
                break
    finally:
        await connection.close()
    return seen


async def test_a_reader_who_follows_four_writers_misses_none_of_4800_events(
    database_url: str,
) -> None:
    connection = await connect(database_url, "ledger_writer")
    fleet = await open_fleet(connection, FLEET, clock="wall")

    async with asyncio.timeout(240):
        reading = asyncio.create_task(tail(database_url, fleet))
        rolled_back = await asyncio.gather(
            *(write(database_url, fleet, writer) for writer in range(WRITERS))
        )
        seen = await reading

    assert min(rolled_back) > 0, "the stress has to contain what it is about"
    assert [position for position, _ in seen] == list(range(COMMITTED))
    assert {id_ for _, id_ in seen} == {f"cluster-{number}" for number in range(COMMITTED)}
    size, _ = await recorded_root(connection, fleet.number, "events")
    assert size == COMMITTED
    await connection.close()


async def test_recorded_time_never_runs_backwards_with_position(database_url: str) -> None:
    connection = await connect(database_url, "ledger_writer")
    fleet = await open_fleet(connection, FLEET, clock="wall")

    async def some(writer: int) -> None:
        own = await connect(database_url, "ledger_writer")
        for number in range(writer * 50, writer * 50 + 50):
            async with own.transaction():
                await append(own, fleet, [message(number)], ask_first=False)
        await own.close()

    async with asyncio.timeout(120):
        await asyncio.gather(*(some(writer) for writer in range(WRITERS)))

    events = await read.page(connection, fleet, first=Position(0))
    times = [event.recorded_at_micros for event in events]
    assert len(times) == WRITERS * 50
    assert times == sorted(times)
    await connection.close()


async def test_batches_that_hold_several_fleets_do_not_lock_one_another_out(
    database_url: str,
) -> None:
    names = ("a", "b", "c")

    async def some(writer: int) -> None:
        chance = Random(writer)
        own = await connect(database_url, "ledger_writer")
        intake = Intake(own, create_fleets=True)
        for batch in range(40):
            numbers = range((writer * 40 + batch) * 6, (writer * 40 + batch) * 6 + 6)
            named = [FleetName(chance.choice(names)) for _ in numbers]
            await intake.take([message(n, name)[0] for n, name in zip(numbers, named, strict=True)])
        await own.close()

    async with asyncio.timeout(120):
        await asyncio.gather(*(some(writer) for writer in range(WRITERS)))

    connection = await connect(database_url, "ledger_writer")
    sizes = []
    for name in names:
        fleet = await fleets.find(connection, FleetName(name))
        assert fleet is not None
        pages = read.pages(connection, fleet, first=Position(0))
        positions = [event.position async for page in pages for event in page]
        assert positions == list(range(len(positions)))
        sizes.append(len(positions))
    assert sum(sizes) == WRITERS * 40 * 6
    await connection.close()
