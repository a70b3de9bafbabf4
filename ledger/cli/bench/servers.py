"""The servers that benchmarks run against: started for them, or given.

Without an URL it is the embedded PostgreSQL in a temporary directory, with the settings every user
gets and with ``fsync`` on: a figure for data that may be lost is no figure. An URL names a server
whose user may create databases. Each measurement gets a migrated database of its own, so that no
measurement pays for the rows of another.

Kafka is one broker in a temporary directory, or the cluster that LEDGER_KAFKA_BOOTSTRAP names.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from ledger.cli.database import migrate
from ledger.errors import SetupProblem
from ledger.log.database import connect, parse, refusals_named
from ledger.log.embedded import server


@dataclass(frozen=True, slots=True)
class Postgres:
    """A server, and the migrated template on it."""

    url: str
    template: str
    version: str
    local: bool
    """Whether its processes are ours to look at."""

    @asynccontextmanager
    async def database(self) -> AsyncIterator[str]:
        """An empty, migrated database, by its URL; dropped afterwards."""
        name = fresh_name()
        await _administer(self.url, f'CREATE DATABASE "{name}" TEMPLATE "{self.template}"')
        try:
            await self.settle()
            yield _named(self.url, name)
        finally:
            await _administer(self.url, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    async def settle(self) -> None:
        """Let the server write down what it still owes, so that the next one does not pay for it."""
        try:
            await _administer(self.url, "CHECKPOINT")
        except SetupProblem:
            # A given user may not be allowed to. The rounds take turns, so this evens out.
            return


@asynccontextmanager
async def postgres(url: str | None) -> AsyncIterator[Postgres]:
    """The server of this URL, or one that exists as long as this does."""
    if url is not None:
        async with _prepared(url, local=False) as given:
            yield given
        return
    async with (
        server.temporary(settings={"fsync": "on"}) as own,
        _prepared(own.url, local=True) as prepared,
    ):
        yield prepared


@asynccontextmanager
async def kafka() -> AsyncIterator[str]:
    """The cluster of LEDGER_KAFKA_BOOTSTRAP, or a broker that exists as long as this does."""
    from consumers.local_kafka import brokers

    given = os.environ.get("LEDGER_KAFKA_BOOTSTRAP")
    if given:
        yield given
        return
    with TemporaryDirectory(prefix="ledger-bench-kafka-") as directory:
        cluster = await brokers.start(Path(directory, "cluster"))
        try:
            yield cluster.bootstrap
        finally:
            # Nobody reads this data again, so nobody waits until it is put away in good order.
            cluster.kill_all()


def fresh_name() -> str:
    """A name for a database or for topics that nobody else uses."""
    return f"ledger_bench_{uuid4().hex[:12]}"


@asynccontextmanager
async def _prepared(url: str, *, local: bool) -> AsyncIterator[Postgres]:
    template = fresh_name()
    await _administer(url, f'CREATE DATABASE "{template}"')
    try:
        await migrate(_named(url, template))
        connection = await connect(url, None)
        try:
            version: str = await connection.fetchval("SHOW server_version")
        finally:
            await connection.close()
        yield Postgres(url, template, version.split(maxsplit=1)[0], local)
    finally:
        await _administer(url, f'DROP DATABASE IF EXISTS "{template}" WITH (FORCE)')


async def _administer(url: str, statement: str) -> None:
    connection = await connect(url, None)
    try:
        with refusals_named():
            await connection.execute(statement)
    finally:
        await connection.close()


def _named(url: str, name: str) -> str:
    return parse(url).named(name).dsn
