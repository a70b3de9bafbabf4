"""The log goes away again and again while records are on their way: nothing is lost, nothing halts."""

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
