"""The PostgreSQL that tests run against, or a plain word on why there is none.

``session_postgres`` is one server for a whole session: the embedded one, or the one that
``LEDGER_TEST_DATABASE_URL`` names, in which case nothing is started and the user in it must be
allowed to create databases and roles. The schema is migrated once, into a template; each test
takes a copy of its own, which costs a few hundredths of a second and is dropped after it.

Whether a missing server is a failure is said by ``LEDGER_REQUIRE_SERVICES``: with 1 it is, without
it the tests are skipped and name what is missing. Only the programs can be missing. A server that
was to be had and does not come up is a failure everywhere.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NoReturn
from uuid import uuid4

import asyncpg
import pytest

from ledger.errors import SetupProblem
from ledger.log import database, schema
from ledger.log.embedded import binaries, server


@dataclass(frozen=True, slots=True)
class Postgres:
    """A server that others use at the same time, and the migrated template on it."""

    url: str
    template: str

    @asynccontextmanager
    async def database(self) -> AsyncIterator[str]:
        """A migrated database that nobody else has, by its URL; dropped afterwards."""
        name = fresh_name("test")
        await _administer(self.url, f'CREATE DATABASE "{name}" TEMPLATE "{self.template}"')
        try:
            yield named(self.url, name)
        finally:
            await _administer(self.url, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def fresh_name(subject: str) -> str:
    """A name for a database that no other test uses."""
    return f"ledger_{subject}_{uuid4().hex[:12]}"


def named(url: str, name: str) -> str:
    """The same server, another database."""
    return database.parse(url).named(name).dsn


@asynccontextmanager
async def session_postgres() -> AsyncIterator[Postgres]:
    """The shared server: the one the environment names, else an embedded one."""
    given = os.environ.get("LEDGER_TEST_DATABASE_URL")
    if given:
        async with _with_template(given) as shared:
            yield shared
        return
    try:
        binaries.find("18")
    except SetupProblem as problem:
        refuse(str(problem))
    async with server.temporary() as own, _with_template(own.url) as shared:
        yield shared


@asynccontextmanager
async def _with_template(url: str) -> AsyncIterator[Postgres]:
    template = fresh_name("template")
    await _administer(url, f'CREATE DATABASE "{template}"')
    try:
        await migrate(named(url, template))
        yield Postgres(url, template)
    finally:
        await _administer(url, f'DROP DATABASE IF EXISTS "{template}" WITH (FORCE)')


async def migrate(url: str) -> None:
    """Bring the database to the newest schema, and leave no connection to it behind."""
    await schema.migrate(url)


async def _administer(url: str, statement: str) -> None:
    connection = await asyncpg.connect(database.parse(url).dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def refuse(reason: str) -> NoReturn:
    """Fail where services are required, skip where they are not."""
    said = f"no PostgreSQL can be had: {reason}"
    if os.environ.get("LEDGER_REQUIRE_SERVICES") == "1":
        pytest.fail(said, pytrace=False)
    pytest.skip(said)
