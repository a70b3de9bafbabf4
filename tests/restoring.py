"""A database that can be put back to what it was, as a restore from a backup puts it back.

PostgreSQL copies a database file by file while nobody is connected to it. So a copy under another name is
a backup, and a copy of that under the old name the restore: the same URL leads to an earlier point, with
everything in it as it was, sequences and clocks included. Whoever was connected is cut off.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import asyncpg

from ledger.log import database
from tests.postgres import Postgres, fresh_name, named


@dataclass(slots=True)
class Restorable:
    """One database and its backups."""

    server: str
    name: str
    backups: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Where it is, before and after."""
        return named(self.server, self.name)

    async def back_up(self) -> str:
        """Copy the database as it is now; the name under which the copy is kept."""
        backup = fresh_name("backup")
        await self._administer(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self.name}'",
            f'CREATE DATABASE "{backup}" TEMPLATE "{self.name}"',
        )
        self.backups.append(backup)
        return backup

    async def restore(self, backup: str) -> None:
        """Put the database back to what it was; its name leads nowhere for a moment only."""
        again = fresh_name("again")
        await self._administer(
            f'CREATE DATABASE "{again}" TEMPLATE "{backup}"',
            f'DROP DATABASE IF EXISTS "{self.name}" WITH (FORCE)',
            f'ALTER DATABASE "{again}" RENAME TO "{self.name}"',
        )

    async def drop_only(self) -> None:
        """Let its name lead nowhere."""
        await self._administer(f'DROP DATABASE IF EXISTS "{self.name}" WITH (FORCE)')

    async def drop(self) -> None:
        """Leave nothing behind."""
        for name in (self.name, *self.backups):
            await self._administer(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    async def _administer(self, *statements: str) -> None:
        connection = await asyncpg.connect(database.parse(self.server).dsn)
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()


@asynccontextmanager
async def restorable(postgres: Postgres) -> AsyncIterator[Restorable]:
    """A migrated database of the test's own that can be put back."""
    made = Restorable(postgres.url, fresh_name("restored"))
    await made.restore(postgres.template)
    try:
        yield made
    finally:
        await made.drop()
