"""Bring a database to the newest schema.

The migrations are Alembic's, forward only. They lie beside the package in a checkout and inside
it once installed; both places hold the same files. Which schema a database has is asked in
``ledger.log.database``, where it costs nothing.
"""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from ledger.log.database import CONNECT_SECONDS, parse, refusals_named


def folder() -> Path:
    """Where the migrations lie."""
    package = Path(__file__).parent.parent
    installed = package / "migrations"
    return installed if installed.is_dir() else package.parent / "migrations"


def _config() -> Config:
    return Config(folder() / "alembic.ini")


def newest() -> str:
    """The last migration there is."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    assert head is not None, "there is at least one migration"
    return head


async def migrate(url: str) -> str:
    """Bring the database to the newest schema; says which one that is. Safe to call again."""

    def upgrade(connection: Connection) -> None:
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")

    engine = create_async_engine(
        parse(url).dsn.replace("postgresql://", "postgresql+asyncpg://", 1),
        poolclass=NullPool,
        connect_args={"timeout": CONNECT_SECONDS},
    )
    try:
        with refusals_named():
            async with engine.begin() as connection:
                await connection.run_sync(upgrade)
    finally:
        await engine.dispose()
    return newest()
