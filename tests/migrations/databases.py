"""Databases of a schema before."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from ledger.log import database, schema
from tests.postgres import Postgres, fresh_name, named


@asynccontextmanager
async def at_schema(postgres: Postgres, version: str) -> AsyncIterator[str]:
    """A database of this version of the schema; its address."""
    operator = await asyncpg.connect(database.parse(postgres.url).dsn)
    name = fresh_name("before")
    try:
        await operator.execute(f'CREATE DATABASE "{name}"')
        await schema.migrate(named(postgres.url, name), to=version)
        yield named(postgres.url, name)
    finally:
        await operator.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        await operator.close()
