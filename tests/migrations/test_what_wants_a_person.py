"""A log that an earlier release decided for does not tell when its incidents ended, and is refused in words."""

import pytest

from ledger.errors import SetupProblem
from ledger.log import database, schema
from tests.migrations.databases import at_schema
from tests.postgres import Postgres

BEFORE = "0023"


async def test_a_log_that_was_decided_for_is_refused_and_left_as_it_was(postgres: Postgres) -> None:
    async with at_schema(postgres, BEFORE) as url:
        connection = await database.connect(url, None)
        try:
            await connection.execute(
                "INSERT INTO ledger.fleets (number, name, clock) VALUES (1, 'a', 'wall'), (2, 'b', 'wall');"
                "INSERT INTO ledger.decided (fleet, through, decisions, epoch) VALUES (2, 2, 0, 1), (2, 4, 1, 1)"
            )
            with pytest.raises(SetupProblem, match=r"fleet b: .* through position 4, .*"):
                await schema.migrate(url)

            assert await database.schema_version(connection) == BEFORE
            await connection.execute(
                "SET session_replication_role = replica; DELETE FROM ledger.decided;"
                "SET session_replication_role = origin"
            )
            await schema.migrate(url)
            assert await database.schema_version(connection) == database.NEWEST_SCHEMA
        finally:
            await connection.close()
