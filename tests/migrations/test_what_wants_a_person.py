"""Of incidents that were recorded before their ends were, nobody says that they are open or over."""

from ledger.log import database, schema
from tests.migrations.databases import at_schema
from tests.postgres import Postgres

BEFORE = "0023"


async def test_what_was_recorded_before_is_neither_open_nor_over(postgres: Postgres) -> None:
    async with at_schema(postgres, BEFORE) as url:
        connection = await database.connect(url, None)
        try:
            await connection.execute(
                "INSERT INTO ledger.fleets (number, name, clock) VALUES (1, 'a', 'wall'), (2, 'b', 'wall');"
                "INSERT INTO ledger.decisions (fleet, number, incarnation, position, kind, subject,"
                "    algorithm, version, branch, moved, result, reasons, record, digest)"
                " SELECT fleet, 0, 1, 3, 'incident', 'm1/n1', 'engine', 1, 'over_committed', 0,"
                """    '{"what": "over_committed", "node": "m1/n1"}', '{"numbers": {"memory": 1}}', '', sha256('')"""
                "   FROM generate_series(1, 2) fleet;"
                "INSERT INTO ledger.decided (fleet, through, decisions, epoch)"
                " VALUES (1, 2, 0, 1), (1, 4, 1, 1)"
            )
            await schema.migrate(url)

            told = await connection.fetch(
                "SELECT fleet, open, ended_position FROM ledger_api.incidents ORDER BY fleet"
            )
            waits = await connection.fetch(
                "SELECT decided_through, next_deadline, overdue_seconds FROM ledger_api.fleets"
                " WHERE fleet = 'a'"
            )
            older = await connection.fetch("SELECT * FROM ledger.decided_by_older")
        finally:
            await connection.close()

    assert [tuple(row) for row in told] == [("a", None, None), ("b", False, None)]
    assert [tuple(row) for row in waits] == [(4, None, 0)]
    assert [tuple(row) for row in older] == [(1, 4, 1)]
