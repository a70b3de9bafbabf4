"""Migrating up from empty gives the schema in docs/schema.sql, and migrating again changes nothing."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from ledger.log import database, schema
from ledger.log.embedded import binaries
from tests.postgres import Postgres, fresh_name, named

DOCUMENTED = Path(__file__).parent.parent.parent / "docs" / "schema.sql"

HEADER = """\
-- The schema as migrations make it, on one page. Generated: LEDGER_REWRITE=1 pytest tests/migrations
"""


async def test_the_schema_is_the_documented_one(database_url: str) -> None:
    if os.environ.get("LEDGER_TEST_DATABASE_URL"):
        pytest.skip("the page shows the schema as the embedded PostgreSQL spells it")

    made = HEADER + dumped(database_url)

    if os.environ.get("LEDGER_REWRITE") == "1":
        DOCUMENTED.write_text(made)
    assert made == DOCUMENTED.read_text()


async def test_migrating_again_changes_nothing(database_url: str) -> None:
    assert await schema.migrate(database_url) == schema.newest()

    connection = await database.connect(database_url, None)
    assert await database.schema_version(connection) == schema.newest()
    await connection.close()


async def test_an_empty_database_has_no_version(postgres: Postgres) -> None:
    connection = await database.connect(named(postgres.url, "template1"), None)
    assert await database.schema_version(connection) is None
    await connection.close()


def test_the_release_speaks_to_the_last_migration() -> None:
    assert schema.newest() == database.NEWEST_SCHEMA


async def test_every_object_belongs_to_the_owner(database_url: str) -> None:
    connection = await database.connect(database_url, None)
    try:
        strangers = await connection.fetch(
            "SELECT c.relname, pg_get_userbyid(c.relowner) AS owner FROM pg_class c"
            "  JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname IN ('ledger', 'ledger_api')"
            "   AND pg_get_userbyid(c.relowner) <> 'ledger_owner'"
        )
    finally:
        await connection.close()

    assert strangers == []


async def test_nobody_has_counted_the_rows_of_a_new_database(postgres: Postgres) -> None:
    """A table that was found empty is read whole, by plans that deciders keep while it fills."""
    url = named(postgres.url, fresh_name("new"))
    operator = await database.connect(postgres.url, None)
    name = url.rpartition("/")[2]
    try:
        await operator.execute(f'CREATE DATABASE "{name}"')
        await schema.migrate(url)
        connection = await database.connect(url, None)
        counted = await connection.fetch(
            "SELECT relname FROM pg_class WHERE relnamespace = 'ledger'::regnamespace"
            "   AND relkind = 'r' AND reltuples = 0"
        )
        await connection.close()
    finally:
        await operator.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        await operator.close()

    assert counted == []


def dumped(url: str) -> str:
    """The schema in pg_dump's words, without what differs from run to run."""
    program = binaries.find("18").prefix / "bin" / "pg_dump"
    spelled = subprocess.run(
        [program, "--schema-only", "--dbname", database.parse(url).dsn],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    kept = [
        line
        for line in spelled.splitlines()
        if not re.match(r"--|SET |SELECT pg_catalog|\\(un)?restrict ", line)
    ]
    return re.sub(r"\n{2,}", "\n\n", "\n".join(kept)).strip() + "\n"
