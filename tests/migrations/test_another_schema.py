"""A database that another release made is refused in words, and what the words advise can be done."""

import json
import re

import asyncpg
import pytest

from ledger.errors import SetupProblem
from ledger.log import database, lines, quarantine, schema
from ledger.units import FleetName, Position
from tests.events_for_tests import cluster_line, workload_line
from tests.postgres import Postgres

TOLD = (
    "SELECT convert_from(payload, 'UTF8') FROM ledger_api.events"
    " WHERE fleet = 'test' AND channel = 'file' ORDER BY position"
)


async def made_by(connection: asyncpg.Connection, version: str) -> None:
    """Let the database be one that has this schema, by its own word."""
    await connection.execute("UPDATE ledger.schema_version SET version_num = $1", version)


@pytest.mark.parametrize("version", ["0001", "0007", "0025"])
async def test_one_of_an_earlier_release_is_refused_and_left_as_it_was(
    database_url: str, version: str
) -> None:
    async with database.connected(database_url, None) as connection:
        await made_by(connection, version)

        with pytest.raises(SetupProblem) as refused:
            await schema.migrate(database_url)

        assert str(refused.value).startswith(
            f"{database.parse(database_url).shown}: schema {version} was made by a release before schema 0026"
        )
        assert await database.schema_version(connection) == version


async def test_its_events_can_be_taken_into_a_new_database_as_it_says(
    postgres: Postgres, database_url: str
) -> None:
    spread_out = json.dumps(json.loads(cluster_line(2)), indent=2).encode()
    told = [cluster_line(1), spread_out, workload_line(1, replicas=3, weights={"c1": 1, "c2": 2})]
    async with database.connected(database_url, None) as before, postgres.database() as other:
        await lines.ingest(before, [*told, cluster_line(3, subject="another")])
        await _release(before, cluster_line(3))
        await made_by(before, "0025")
        with pytest.raises(SetupProblem) as refused:
            await schema.migrate(database_url)

        asked = re.findall(r"`(SELECT .*?)`", str(refused.value))
        found = await before.fetch(asked[0].replace("NAME", "test"))
        given = b"".join(f"{line}\n".encode() for (line,) in found)
        async with database.connected(other, None) as after:
            taken = await lines.ingest(
                after, given.splitlines(keepends=True), fleet=FleetName("test")
            )
            kept = [await one.fetch(TOLD) for one in (before, after)]

    assert "`ledger ingest - --fleet NAME`" in str(refused.value)
    assert len(given.splitlines()) == taken.appended == len(told)
    assert spread_out.decode() in {row[0] for row in kept[0]}
    assert [json.loads(row[0]) for row in kept[1]] == [json.loads(row[0]) for row in kept[0]]


async def test_one_of_a_later_release_is_refused(database_url: str) -> None:
    async with database.connected(database_url, None) as connection:
        await made_by(connection, "9999")

        with pytest.raises(SetupProblem, match="schema 9999 was made by a later release"):
            await schema.migrate(database_url)


def test_one_that_a_migration_leads_on_from_is_to_be_migrated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(database, "NEWEST_SCHEMA", "0031")

    said = database.another_schema("here", database.OLDEST_SCHEMA, "ledger migrate --data there")

    assert str(said) == "here: schema 0026 is not 0031; run `ledger migrate --data there`"


async def _release(connection: asyncpg.Connection, corrected: bytes) -> None:
    """Let in what waits in quarantine: that is an event of the ledger's own."""
    waits = await connection.fetchval("SELECT position FROM ledger_api.quarantine")
    await quarantine.release(
        connection,
        Position(waits),
        families=lines.FAMILIES,
        by="tests",
        why="tests",
        corrected=corrected,
    )
