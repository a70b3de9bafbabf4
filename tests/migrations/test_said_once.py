"""Places and the decision that placed them part: what was told of now and of any position is told the same.

``Before`` is a subject as the schema before kept it, each of its rows with the decision in it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import asyncpg

from ledger.log import database, schema
from ledger.views.past import fork
from tests.postgres import Postgres, fresh_name, named

# Of each decision its number and the position at which it was made.
MADE: Final = {1: 10, 2: 20, 3: 30, 4: 40}

# Node, count, number, since, from, until. Decision 2 leaves a as it is, an event takes one from b, decision 3
# takes b away and brings one back to c, decision 4 changes nothing.
WAS: Final = (
    ("a", 3, 1, 10, 10, 20),
    ("b", 2, 1, 10, 10, 20),
    ("a", 3, 2, 10, 20, 30),
    ("b", 4, 2, 20, 20, 25),
    ("b", 3, 2, 25, 25, 30),
    ("c", 1, 1, 10, 10, 20),
    ("a", 3, 3, 10, 30, 40),
    ("c", 1, 3, 30, 30, 40),
)
IS: Final = (("a", 3, 4, 10, 40), ("c", 1, 4, 30, 40))


@asynccontextmanager
async def before(postgres: Postgres) -> AsyncIterator[str]:
    """A database of the schema before."""
    operator = await asyncpg.connect(database.parse(postgres.url).dsn)
    name = fresh_name("before")
    try:
        await operator.execute(f'CREATE DATABASE "{name}"')
        await schema.migrate(named(postgres.url, name), to="0020")
        yield named(postgres.url, name)
    finally:
        await operator.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        await operator.close()


async def kept(connection: asyncpg.Connection) -> None:
    await connection.execute(
        "INSERT INTO ledger.fleets (number, name, clock) VALUES (1, 'shop', 'event')"
    )
    await connection.executemany(
        "INSERT INTO ledger.decisions (fleet, number, incarnation, position, kind, subject, algorithm,"
        "  version, branch, moved, result, reasons, record, digest)"
        " VALUES (1, $1, 1, $2, 'deployment', 'shop/web@m1', 'placement', 1, 'auto', 0, '{}', '{}', '',"
        "  decode(repeat('00', 32), 'hex'))",
        list(MADE.items()),
    )
    await connection.execute(
        "INSERT INTO ledger.decided (fleet, through, decisions, epoch) VALUES (1, 50, 5, 1)"
    )
    await connection.executemany(
        "INSERT INTO ledger.past_placements (fleet, kind, subject, cluster, node, count, number,"
        "  since_position, from_position, until_position, fork)"
        " VALUES (1, 'deployment', 'shop/web@m1', 'm1', $1, $2, $3, $4, $5, $6, $7)",
        [(*row, fork(row[4], row[5])) for row in WAS],
    )
    await connection.executemany(
        "INSERT INTO ledger.placements (fleet, kind, subject, cluster, node, count, number,"
        "  since_position, from_position)"
        " VALUES (1, 'deployment', 'shop/web@m1', 'm1', $1, $2, $3, $4, $5)",
        IS,
    )


async def told(connection: asyncpg.Connection) -> list[list[tuple[object, ...]]]:
    """What is in force now, and at each position."""
    asked = ["placements", *(f"placements_as_of('shop', {at})" for at in range(51))]
    return [
        [
            tuple(row)
            for row in await connection.fetch(
                f"SELECT * FROM ledger_api.{source} ORDER BY kind, subject, cluster, node"
            )
        ]
        for source in asked
    ]


async def test_what_was_told_is_told_the_same(postgres: Postgres) -> None:
    async with before(postgres) as url:
        connection = await database.connect(url, None)
        try:
            await kept(connection)
            wanted = await told(connection)
        finally:
            await connection.close()

        await schema.migrate(url)

        connection = await database.connect(url, None)
        try:
            assert await told(connection) == wanted
            rows = await connection.fetch(
                "SELECT node, count, from_position, until_position, fork FROM ledger.past_placements"
                " ORDER BY node, from_position"
            )
            by = await connection.fetch(
                "SELECT number, from_position, until_position, fork FROM ledger.past_placed_by"
                " ORDER BY number"
            )
        finally:
            await connection.close()

    assert [tuple(row) for row in wanted[0]] == [
        ("shop", "deployment", "shop/web@m1", "m1", node, None, count, number, since)
        for node, count, number, since, _ in IS
    ]
    spans = [("b", 2, 10, 20), ("b", 4, 20, 25), ("b", 3, 25, 30), ("c", 1, 10, 20)]
    assert [tuple(row) for row in rows] == [
        (*span, fork(span[2], span[3])) for span in sorted(spans, key=lambda s: (s[0], s[2], s[3]))
    ]
    assert [tuple(row) for row in by] == [
        (number, begin, begin + 10, fork(begin, begin + 10))
        for number, begin in ((1, 10), (2, 20), (3, 30))
    ]
