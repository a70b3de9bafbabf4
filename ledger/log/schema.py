"""Bring a database to the newest schema, or say which schema it has.

The migrations are Alembic's, forward only. They lie beside the package in a checkout and inside
it once installed; both places hold the same files.
"""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from ledger.errors import SetupProblem


def folder() -> Path:
    """Where the migrations lie."""
    package = Path(__file__).parent.parent
    installed = package / "migrations"
    return installed if installed.is_dir() else package.parent / "migrations"


def _config() -> Config:
    return Config(folder() / "alembic.ini")


def newest() -> str:
    """The newest schema version this release knows."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    assert head is not None, "there is at least one migration"
    return head


async def migrate(engine: AsyncEngine) -> str:
    """Bring the database to the newest schema; says which one that is. Safe to call again."""

    def upgrade(connection: Connection) -> None:
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")

    async with engine.begin() as connection:
        await connection.run_sync(upgrade)
    return newest()


async def version(engine: AsyncEngine) -> str | None:
    """The schema version a database has; None where there is no ledger yet."""
    async with engine.connect() as connection:
        there = await connection.scalar(text("SELECT to_regclass('ledger.schema_version')"))
        if there is None:
            return None
        try:
            found: str | None = await connection.scalar(
                text("SELECT version_num FROM ledger.schema_version")
            )
        except DBAPIError as error:
            raise SetupProblem(f"the schema version cannot be read: {error.orig}") from error
        return found
