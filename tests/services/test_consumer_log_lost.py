"""The log goes away while records are on their way, or takes none: nothing is lost, nothing halts."""

from functools import partial

import asyncpg

from consumers.totals import Totals
from ledger.log.database import connect
from tests.feeding import Log, Stream, feeding, nodes
from tests.kafka import Kafka

RECORDS = 3_000
TIMES = 6


def at_least(wanted: int, totals: Totals) -> bool:
    return totals.records >= wanted


async def cut_off(connection: asyncpg.Connection) -> None:
    await connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )


async def test_a_log_that_goes_away_under_a_pending_request_halts_nothing(
    kafka: Kafka, database_url: str
) -> None:
    stream = await Stream.create(kafka.bootstrap)
    await stream.send(nodes(0, RECORDS))
    connection = await connect(database_url, None)

    async with feeding(stream.settings(kafka_batch=20), database_url) as running:
        for time in range(1, TIMES + 1):
            wanted = time * RECORDS // (TIMES + 2)
            await running.until(partial(at_least, wanted), seconds=60)
            await cut_off(connection)

        async def all_of_them(_totals: Totals) -> bool:
            return await Log(connection).size() == RECORDS

        await running.until(all_of_them, seconds=60)
        totals = await running.end()

    assert totals.log_lost >= 1
    assert set(await Log(connection).incidents()) <= {"partition_adopted"}
    await connection.close()


async def test_a_log_that_may_only_be_read_for_a_while_is_waited_for(
    kafka: Kafka, database_url: str
) -> None:
    """As after a failover, when the address leads to a server that is not the primary yet."""
    stream = await Stream.create(kafka.bootstrap)
    await stream.send(nodes(0, 30))
    connection = await connect(database_url, None)
    alter = f'ALTER DATABASE "{await connection.fetchval("SELECT current_database()")}"'

    async with feeding(stream.settings(), database_url) as running:
        await running.until(lambda totals: totals.records == 30)
        await connection.execute(f"{alter} SET default_transaction_read_only = on")
        await cut_off(connection)
        await stream.send(nodes(30, 30))
        await running.until(lambda totals: totals.log_lost >= 4)
        assert await Log(connection).size() == 30
        await connection.execute(f"{alter} RESET default_transaction_read_only")
        await cut_off(connection)
        await running.until(lambda totals: totals.records == 60)
        await running.end()

    assert await Log(connection).size() == 60
    await connection.close()
